//! `rd_kafka_consumer_group_metadata_t`: a consumer's identity in its group, for a producer's transactions.

use std::ffi::{CStr, CString, c_char, c_void};

use ottla_core::error::{Error, ErrorCode};

use crate::errors::ErrorHandle;
use crate::ffi::{self, FromC, IntoC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::Handle;

/// `rd_kafka_consumer_group_metadata_t`
#[repr(C)]
pub struct GroupMetadata {
    tag: Tag,
    group_id: CString,
    generation: i32,
    member_id: CString,
    instance_id: Option<CString>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for GroupMetadata {
    const TAG: u32 = 0x0e44_0a0b;
}

/// The serialised form begins with it. After it come the generation in the machine's byte order, group id and member id
/// with a NUL after each, 1 for no instance id, else 0 and the instance id with a NUL: librdkafka's form, so that both
/// libraries read what either has written.
const MAGIC: &[u8] = b"CGMDv2:";
/// No form is shorter: magic, generation, two empty ids, the byte for the instance id.
const SHORTEST: usize = MAGIC.len() + size_of::<i32>() + 3;

fn bad(text: &str) -> Error {
    Error::new(ErrorCode::L_BAD_MSG, text)
}

/// Takes a string of printable ASCII characters and its NUL off the front.
fn take_text<'a>(from: &mut &'a [u8], what: &str) -> Result<&'a [u8], Error> {
    let end = from.iter().position(|b| *b == 0);
    let (text, rest) = end
        .and_then(|end| Some((from.get(..end)?, from.get(end + 1..)?)))
        .ok_or_else(|| bad("The buffer ends inside the group metadata"))?;
    if !text.iter().all(|b| (b' '..=b'~').contains(b)) {
        return Err(bad(&format!(
            "The {what} in the buffer has characters that do not print"
        )));
    }
    *from = rest;
    Ok(text)
}

impl GroupMetadata {
    fn new(group_id: &str, generation: i32, member_id: &str, instance_id: Option<&str>) -> Owned<Self> {
        boxed(GroupMetadata {
            tag: Tag::new(Self::TAG),
            group_id: c_text(group_id),
            generation,
            member_id: c_text(member_id),
            instance_id: instance_id.map(c_text),
        })
    }

    fn of(rk: &Handle) -> Result<Owned<Self>, Error> {
        let group = rk.need_group()?.group_metadata()?;
        let instance_id = group.group_instance_id.as_deref();
        Ok(Self::new(
            &group.group_id,
            group.generation,
            &group.member_id,
            instance_id,
        ))
    }

    /// As the core takes it.
    pub fn to_core(&self) -> ottla_core::types::GroupMetadata {
        let text = |t: &CString| t.to_string_lossy().into_owned();
        ottla_core::types::GroupMetadata {
            group_id: text(&self.group_id),
            generation: self.generation,
            member_id: text(&self.member_id),
            group_instance_id: self.instance_id.as_ref().map(text),
        }
    }

    fn write(&self) -> Vec<u8> {
        let mut out = Vec::from(MAGIC);
        out.extend(self.generation.to_ne_bytes());
        out.extend(self.group_id.to_bytes_with_nul());
        out.extend(self.member_id.to_bytes_with_nul());
        out.push(u8::from(self.instance_id.is_none()));
        out.extend(self.instance_id.iter().flat_map(|i| i.to_bytes_with_nul()));
        out
    }

    fn read(buffer: &[u8]) -> Result<Owned<Self>, Error> {
        if buffer.len() < SHORTEST {
            return Err(bad("The buffer is too short for group metadata"));
        }
        let foreign = || bad("The buffer does not hold group metadata");
        let rest = buffer.strip_prefix(MAGIC).ok_or_else(foreign)?;
        let (generation, mut rest) = rest.split_first_chunk().ok_or_else(foreign)?;
        let group_id = take_text(&mut rest, "group id")?;
        let member_id = take_text(&mut rest, "member id")?;
        let (no_instance, mut rest) = rest
            .split_first()
            .ok_or_else(|| bad("The buffer ends inside the group metadata"))?;
        let instance_id = match no_instance {
            0 => Some(take_text(&mut rest, "group instance id")?),
            _ => None,
        };
        if !rest.is_empty() {
            return Err(bad("The buffer goes on behind the group metadata"));
        }
        Ok(boxed(GroupMetadata {
            tag: Tag::new(Self::TAG),
            group_id: c_text(group_id),
            generation: i32::from_ne_bytes(*generation),
            member_id: c_text(member_id),
            instance_id: instance_id.map(c_text),
        }))
    }
}

fn text_of(text: &CStr) -> *const c_char {
    text.as_ptr()
}

exports! {
    /// Returns the consumer's present identity in its group; NULL without a group.
    fn rd_kafka_consumer_group_metadata(rk: &Handle) -> Option<Owned<GroupMetadata>>, or None; {
        GroupMetadata::of(rk).ok()
    }

    /// Returns an identity that only names the group.
    fn rd_kafka_consumer_group_metadata_new(group_id: &str) -> Option<Owned<GroupMetadata>>, or None; {
        Some(GroupMetadata::new(group_id, -1, "", None))
    }

    /// Returns an identity from its parts.
    fn rd_kafka_consumer_group_metadata_new_with_genid(
        group_id: &str, generation: i32, member_id: &str, instance_id: Option<&str>,
    ) -> Option<Owned<GroupMetadata>>, or None; {
        Some(GroupMetadata::new(group_id, generation, member_id, instance_id))
    }

    /// Returns the group id, owned by the metadata.
    fn rd_kafka_consumer_group_metadata_group_id(metadata: &GroupMetadata) -> *const c_char, or std::ptr::null(); {
        text_of(&metadata.group_id)
    }

    /// Returns the instance id, owned by the metadata; NULL when there is none.
    fn rd_kafka_consumer_group_metadata_group_instance_id(metadata: &GroupMetadata)
        -> *const c_char, or std::ptr::null();
    {
        metadata.instance_id.as_deref().map_or(std::ptr::null(), text_of)
    }

    /// Returns the member id, owned by the metadata.
    fn rd_kafka_consumer_group_metadata_member_id(metadata: &GroupMetadata) -> *const c_char, or std::ptr::null(); {
        text_of(&metadata.member_id)
    }

    /// Returns the generation, -1 outside of one.
    fn rd_kafka_consumer_group_metadata_generation_id(metadata: &GroupMetadata) -> i32, or -1; {
        metadata.generation
    }

    /// Frees metadata; NULL is fine.
    fn rd_kafka_consumer_group_metadata_destroy(metadata: *mut GroupMetadata) {
        // SAFETY: NULL or the application's.
        drop(unsafe { <Owned<GroupMetadata>>::from_c(metadata) });
    }

    /// Returns the serialised form, malloc'ed.
    fn rd_kafka_consumer_group_metadata_write(metadata: &GroupMetadata, to: *mut *mut c_void, size: *mut usize)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        if to.is_null() || size.is_null() {
            return ErrorHandle::bad_argument();
        }
        let bytes = metadata.write();
        let copy = ffi::malloc_bytes(&bytes);
        if copy.is_null() {
            return Some(ErrorHandle::new(ErrorCode::L_CRIT_SYS_RESOURCE, "out of memory"));
        }
        // SAFETY: the caller's out-parameters.
        unsafe {
            ffi::put(to, copy.cast());
            ffi::put(size, bytes.len());
        }
        None
    }

    /// Metadata from its serialised form.
    fn rd_kafka_consumer_group_metadata_read(to: *mut *mut GroupMetadata, buffer: *const c_void, size: usize)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        // SAFETY: `size` bytes, by the API's contract.
        let (Some(bytes), false) = (unsafe { ffi::bytes(buffer, size) }, to.is_null()) else {
            return ErrorHandle::bad_argument();
        };
        ErrorHandle::from_result(GroupMetadata::read(bytes).map(|metadata| {
            // SAFETY: the caller's out-parameter.
            unsafe { ffi::put(to, metadata.into_c()) };
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_librdkafkas() {
        let generation = 0x0102_0304_i32.to_ne_bytes();
        let member = GroupMetadata::new("group", 0x0102_0304, "member", Some("inst"));
        let expected = [&b"CGMDv2:"[..], &generation, b"group\0member\0\0inst\0"].concat();
        assert_eq!(member.0.write(), expected);
        let outsider = GroupMetadata::new("group", -1, "", None);
        assert_eq!(outsider.0.write(), b"CGMDv2:\xff\xff\xff\xffgroup\0\0\x01");
    }

    #[test]
    fn every_damaged_form_is_refused() {
        for (instance, size) in [(Some("inst"), 30), (None, 25)] {
            let whole = GroupMetadata::new("group", 5, "member", instance).0.write();
            assert_eq!(whole.len(), size);
            assert_eq!(
                GroupMetadata::read(&whole).map(|m| m.0.write()).ok(),
                Some(whole.clone())
            );
            for end in 0..size {
                assert!(GroupMetadata::read(&whole[..end]).is_err(), "the first {end} bytes");
            }
            assert!(GroupMetadata::read(&[&whole[..], b"x"].concat()).is_err());
        }
        for text in [&b"CGMDv1:\x05\0\0\0g\0m\0\x01"[..], b"CGMDv2:\x05\0\0\0g\x07\0m\0\x01"] {
            assert!(GroupMetadata::read(text).is_err());
        }
    }
}
