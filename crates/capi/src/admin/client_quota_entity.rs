//! `rd_kafka_ClientQuotaEntity_t`: an entity with quotas, in results.

use std::ffi::{CString, c_char};

use ottla_core::admin::ClientQuotaEntity;

use super::common::text_address;
use crate::ffi::{Tag, Tagged, c_text, exports};

/// `rd_kafka_ClientQuotaEntity_t`
#[repr(C)]
pub struct EntityHandle {
    tag: Tag,
    /// The types with their names.
    parts: Vec<(CString, Option<CString>)>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for EntityHandle {
    const TAG: u32 = 0x0e44_1005;
}

impl From<&ClientQuotaEntity> for EntityHandle {
    fn from(entity: &ClientQuotaEntity) -> Self {
        let part = |(kind, name): (&String, &Option<String>)| (c_text(kind.as_str()), name.as_deref().map(c_text));
        EntityHandle {
            tag: Tag::new(Self::TAG),
            parts: entity.iter().map(part).collect(),
        }
    }
}

exports! {
    /// Returns the number of types that the entity has.
    fn rd_kafka_ClientQuotaEntity_cnt(entity: &EntityHandle) -> usize, or 0; {
        entity.parts.len()
    }

    /// Returns a type of the entity; NULL for an index out of range.
    fn rd_kafka_ClientQuotaEntity_type(entity: &EntityHandle, index: usize)
        -> *const c_char, or std::ptr::null();
    {
        text_address(entity.parts.get(index).map(|(kind, _)| kind))
    }

    /// Returns the name that belongs to a type of the entity; NULL for the default entity, and for an index out of range.
    fn rd_kafka_ClientQuotaEntity_name(entity: &EntityHandle, index: usize)
        -> *const c_char, or std::ptr::null();
    {
        text_address(entity.parts.get(index).and_then(|(_, name)| name.as_ref()))
    }
}
