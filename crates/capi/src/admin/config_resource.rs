//! Configuration resources and their entries.

use std::ffi::{CStr, CString, c_char, c_int};

use ottla_core::admin::{
    AlterOp, ConfigChange, ConfigChanges, ConfigEntry, ConfigQuery, ConfigSource, ConfigSynonym, ResourceResult,
    ResourceType,
};
use ottla_core::error::ErrorCode;

use super::common::{Pointers, destroy_array, error_of, text_of};
use crate::errors::ErrorHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};

/// `rd_kafka_ResourceType_t` by its numbers.
const RESOURCE_TYPES: &[&CStr] = &[c"UNKNOWN", c"ANY", c"TOPIC", c"GROUP", c"BROKER", c"TRANSACTIONAL_ID"];
/// `RD_KAFKA_RESOURCE_GROUP`, whose number the protocol does not use for resources with settings.
const GROUP: i32 = 3;
/// The value of an unknown flag.
const UNKNOWN: c_int = -1;

/// `rd_kafka_ConfigEntry_t`
#[repr(C)]
pub struct ConfigEntryHandle {
    tag: Tag,
    name: CString,
    value: Option<CString>,
    /// The operation on it, in a request.
    op: AlterOp,
    source: i32,
    is_read_only: c_int,
    is_default: c_int,
    is_sensitive: c_int,
    is_synonym: c_int,
    synonyms: Pointers<ConfigEntryHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ConfigEntryHandle {
    const TAG: u32 = 0x0e44_0a10;
}

impl ConfigEntryHandle {
    fn new(name: &str, value: Option<&str>, source: ConfigSource) -> Self {
        ConfigEntryHandle {
            tag: Tag::new(Self::TAG),
            name: c_text(name),
            value: value.map(c_text),
            op: AlterOp::Set,
            source: source.0.into(),
            is_read_only: UNKNOWN,
            is_default: UNKNOWN,
            is_sensitive: UNKNOWN,
            is_synonym: 0,
            synonyms: Pointers::default(),
        }
    }

    fn described(entry: &ConfigEntry) -> Self {
        let synonym = |s: &ConfigSynonym| ConfigEntryHandle {
            is_default: (s.source == ConfigSource::DEFAULT).into(),
            is_synonym: 1,
            ..ConfigEntryHandle::new(&s.name, s.value.as_deref(), s.source)
        };
        ConfigEntryHandle {
            is_read_only: entry.is_read_only.into(),
            is_default: entry.is_default.into(),
            is_sensitive: entry.is_sensitive.into(),
            synonyms: entry.synonyms.iter().map(synonym).collect(),
            ..ConfigEntryHandle::new(&entry.name, entry.value.as_deref(), entry.source)
        }
    }

    fn change(&self) -> ConfigChange {
        ConfigChange {
            name: text_of(&self.name),
            op: self.op,
            value: self.value.as_deref().map(text_of),
        }
    }
}

/// `rd_kafka_ConfigResource_t`
#[repr(C)]
pub struct ConfigResourceHandle {
    tag: Tag,
    /// `rd_kafka_ResourceType_t`
    kind: i32,
    name: CString,
    entries: Pointers<ConfigEntryHandle>,
    code: ErrorCode,
    text: Option<CString>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ConfigResourceHandle {
    const TAG: u32 = 0x0e44_0a11;
}

impl ConfigResourceHandle {
    fn from_core(result: &ResourceResult) -> Self {
        let (code, text) = error_of(result.error.as_ref());
        let kind = i32::from(result.kind.0);
        ConfigResourceHandle {
            tag: Tag::new(Self::TAG),
            kind: match result.kind {
                ResourceType::GROUP => GROUP,
                _ if is_known(kind) => kind,
                _ => 0,
            },
            name: c_text(result.name.as_str()),
            entries: result.configs.iter().map(ConfigEntryHandle::described).collect(),
            code,
            text,
        }
    }

    fn kind(&self) -> ResourceType {
        match self.kind {
            GROUP => ResourceType::GROUP,
            kind => ResourceType(i8::try_from(kind).unwrap_or(0)),
        }
    }

    pub(super) fn query(&self) -> ConfigQuery {
        ConfigQuery {
            kind: self.kind(),
            name: text_of(&self.name),
            configs: self.entries.iter().map(|e| text_of(&e.name)).collect(),
        }
    }

    pub(super) fn changes(&self) -> ConfigChanges {
        ConfigChanges {
            kind: self.kind(),
            name: text_of(&self.name),
            changes: self.entries.iter().map(ConfigEntryHandle::change).collect(),
        }
    }

    fn set(&mut self, name: &str, value: &str) {
        let entry = ConfigEntryHandle::new(name, Some(value), ConfigSource::UNKNOWN);
        match self.entries.find_mut(|known| known.name == entry.name) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
    }
}

impl From<&ResourceResult> for ConfigResourceHandle {
    fn from(result: &ResourceResult) -> Self {
        ConfigResourceHandle::from_core(result)
    }
}

fn is_known(kind: i32) -> bool {
    usize::try_from(kind).is_ok_and(|kind| kind < RESOURCE_TYPES.len())
}

fn operation(number: i32) -> Option<AlterOp> {
    Some(match number {
        0 => AlterOp::Set,
        1 => AlterOp::Delete,
        2 => AlterOp::Append,
        3 => AlterOp::Subtract,
        _ => return None,
    })
}

fn incremental(name: &str, op: i32, value: Option<&str>) -> Result<ConfigEntryHandle, &'static str> {
    let op = operation(op).ok_or("The operation does not exist")?;
    if name.is_empty() {
        return Err("The setting has no name");
    }
    match (op, value) {
        (AlterOp::Set | AlterOp::Append | AlterOp::Subtract, None) => Err("The setting has no value"),
        (op, value) => Ok(ConfigEntryHandle {
            op,
            ..ConfigEntryHandle::new(name, value, ConfigSource::UNKNOWN)
        }),
    }
}

exports! {
    /// Returns the name of a kind of resource.
    fn rd_kafka_ResourceType_name(kind: i32) -> Option<&'static CStr>, or Some(c"UNSUPPORTED"); {
        let name = usize::try_from(kind).ok().and_then(|kind| RESOURCE_TYPES.get(kind));
        Some(name.copied().unwrap_or(c"UNSUPPORTED"))
    }

    /// Returns the name of a config source.
    fn rd_kafka_ConfigSource_name(source: i32) -> Option<&'static CStr>, or Some(c"UNSUPPORTED"); {
        Some(match source {
            0 => c"UNKNOWN_CONFIG",
            1 => c"DYNAMIC_TOPIC_CONFIG",
            2 => c"DYNAMIC_BROKER_CONFIG",
            3 => c"DYNAMIC_DEFAULT_BROKER_CONFIG",
            4 => c"STATIC_BROKER_CONFIG",
            5 => c"DEFAULT_CONFIG",
            8 => c"GROUP_CONFIG",
            _ => c"UNSUPPORTED",
        })
    }

    /// Returns a setting's name.
    fn rd_kafka_ConfigEntry_name(entry: &ConfigEntryHandle) -> *const c_char, or std::ptr::null(); {
        entry.name.as_ptr()
    }

    /// Returns its value; NULL for none, and for a secret one.
    fn rd_kafka_ConfigEntry_value(entry: &ConfigEntryHandle) -> *const c_char, or std::ptr::null(); {
        entry.value.as_ref().map_or(std::ptr::null(), |value| value.as_ptr())
    }

    /// Returns the value's source.
    fn rd_kafka_ConfigEntry_source(entry: &ConfigEntryHandle) -> i32, or 0; {
        entry.source
    }

    /// Returns whether it cannot be changed while the broker runs.
    fn rd_kafka_ConfigEntry_is_read_only(entry: &ConfigEntryHandle) -> i32, or UNKNOWN; {
        entry.is_read_only
    }

    /// Returns whether it was not set.
    fn rd_kafka_ConfigEntry_is_default(entry: &ConfigEntryHandle) -> i32, or UNKNOWN; {
        entry.is_default
    }

    /// Returns whether its value is kept secret.
    fn rd_kafka_ConfigEntry_is_sensitive(entry: &ConfigEntryHandle) -> i32, or UNKNOWN; {
        entry.is_sensitive
    }

    /// Returns whether it is a synonym of another one.
    fn rd_kafka_ConfigEntry_is_synonym(entry: &ConfigEntryHandle) -> i32, or UNKNOWN; {
        entry.is_synonym
    }

    /// Returns its synonyms, which stay the entry's.
    fn rd_kafka_ConfigEntry_synonyms(entry: &ConfigEntryHandle, count: *mut usize)
        -> *mut *const ConfigEntryHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { entry.synonyms.lend(count) }
    }

    /// Returns a resource; NULL for a kind that does not exist.
    fn rd_kafka_ConfigResource_new(kind: i32, name: &str) -> Option<Owned<ConfigResourceHandle>>, or None; {
        is_known(kind).then(|| {
            boxed(ConfigResourceHandle {
                tag: Tag::new(ConfigResourceHandle::TAG),
                kind,
                name: c_text(name),
                entries: Pointers::default(),
                code: ErrorCode::NO_ERROR,
                text: None,
            })
        })
    }

    /// Frees a resource; NULL is fine.
    fn rd_kafka_ConfigResource_destroy(resource: *mut ConfigResourceHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<ConfigResourceHandle>>::from_c(resource) });
    }

    /// Frees each of an array.
    fn rd_kafka_ConfigResource_destroy_array(resources: *mut *mut ConfigResourceHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(resources, count) };
    }

    /// Sets a setting's value in the request.
    fn rd_kafka_ConfigResource_set_config(resource: &mut ConfigResourceHandle, name: &str, value: &str)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        if name.is_empty() {
            return ErrorCode::L_INVALID_ARG;
        }
        resource.set(name, value);
        ErrorCode::NO_ERROR
    }

    /// Adds a change of one setting to the request.
    fn rd_kafka_ConfigResource_add_incremental_config(
        resource: &mut ConfigResourceHandle, name: &str, op: i32, value: Option<&str>,
    ) -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument(); {
        match incremental(name, op, value) {
            Ok(entry) => {
                resource.entries.push(entry);
                None
            }
            Err(why) => Some(ErrorHandle::new(ErrorCode::L_INVALID_ARG, why)),
        }
    }

    /// Returns the settings, which stay the resource's.
    fn rd_kafka_ConfigResource_configs(resource: &ConfigResourceHandle, count: *mut usize)
        -> *mut *const ConfigEntryHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { resource.entries.lend(count) }
    }

    /// Returns the kind of resource.
    fn rd_kafka_ConfigResource_type(resource: &ConfigResourceHandle) -> i32, or 0; {
        resource.kind
    }

    /// Returns its name.
    fn rd_kafka_ConfigResource_name(resource: &ConfigResourceHandle) -> *const c_char, or std::ptr::null(); {
        resource.name.as_ptr()
    }

    /// Returns the broker's error code for the resource.
    fn rd_kafka_ConfigResource_error(resource: &ConfigResourceHandle) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        resource.code
    }

    /// That in words; NULL when there is no error.
    fn rd_kafka_ConfigResource_error_string(resource: &ConfigResourceHandle)
        -> *const c_char, or std::ptr::null();
    {
        resource.text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
    }
}
