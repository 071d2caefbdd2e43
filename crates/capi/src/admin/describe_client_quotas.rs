//! DescribeClientQuotas: filters of entities, and the entities with their quotas.

use std::ffi::{CString, c_char};

use ottla_core::admin::{ClientQuotaEntry, DescribeClientQuotas, QuotaMatch};
use ottla_core::error::ErrorCode;

use super::call::{begin, results};
use super::client_quota_entity::EntityHandle;
use super::common::text_address;
use super::options::AdminOptions;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_ClientQuotaFilter_t`
#[repr(C)]
pub struct FilterHandle {
    tag: Tag,
    filter: DescribeClientQuotas,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for FilterHandle {
    const TAG: u32 = 0x0e44_1006;
}

impl FilterHandle {
    fn add(&mut self, kind: &str, expected: QuotaMatch) -> ErrorCode {
        let components = &mut self.filter.components;
        if kind.is_empty() || components.iter().any(|(known, _)| known == kind) {
            return ErrorCode::L_INVALID_ARG;
        }
        components.push((kind.to_owned(), expected));
        ErrorCode::NO_ERROR
    }
}

/// `rd_kafka_ClientQuotaEntry_t`
#[repr(C)]
pub struct EntryHandle {
    tag: Tag,
    entity: EntityHandle,
    quotas: Vec<(CString, f64)>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for EntryHandle {
    const TAG: u32 = 0x0e44_1007;
}

impl From<&ClientQuotaEntry> for EntryHandle {
    fn from(entry: &ClientQuotaEntry) -> Self {
        let quotas = entry.quotas.iter();
        EntryHandle {
            tag: Tag::new(Self::TAG),
            entity: EntityHandle::from(&entry.entity),
            quotas: quotas.map(|(name, value)| (c_text(name.as_str()), *value)).collect(),
        }
    }
}

exports! {
    /// Returns a filter that matches all entities, until types are added.
    fn rd_kafka_ClientQuotaFilter_new() -> Option<Owned<FilterHandle>>, or None; {
        Some(boxed(FilterHandle { tag: Tag::new(FilterHandle::TAG), filter: DescribeClientQuotas::default() }))
    }

    /// Frees a filter; NULL is fine.
    fn rd_kafka_ClientQuotaFilter_destroy(filter: *mut FilterHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<FilterHandle>>::from_c(filter) });
    }

    /// Requires a type with this name.
    fn rd_kafka_ClientQuotaFilter_match_name(filter: &mut FilterHandle, kind: &str, name: &str)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        filter.add(kind, QuotaMatch::Name(name.to_owned()))
    }

    /// Requires the default entity of a type.
    fn rd_kafka_ClientQuotaFilter_match_default(filter: &mut FilterHandle, kind: &str)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        filter.add(kind, QuotaMatch::Default)
    }

    /// Requires a type with any name.
    fn rd_kafka_ClientQuotaFilter_match_any(filter: &mut FilterHandle, kind: &str)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        filter.add(kind, QuotaMatch::Any)
    }

    /// Sets whether entities with further types are excluded.
    fn rd_kafka_ClientQuotaFilter_set_strict(filter: &mut FilterHandle, strict: i32)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        if !(0..=1).contains(&strict) {
            return ErrorCode::L_INVALID_ARG;
        }
        filter.filter.is_strict = strict == 1;
        ErrorCode::NO_ERROR
    }

    /// Describes quotas, those of all entities without a filter.
    fn rd_kafka_DescribeClientQuotas(
        rk: &Handle, filter: Option<&FilterHandle>, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        let operation = filter.map(|filter| filter.filter.clone()).unwrap_or_default();
        begin(rk, Ok(operation), options, queue);
    }

    /// Returns the entity, owned by the result.
    fn rd_kafka_ClientQuotaEntry_entity(entry: &EntryHandle) -> *const EntityHandle, or std::ptr::null(); {
        &raw const entry.entity
    }

    /// Returns the number of the entity's quotas.
    fn rd_kafka_ClientQuotaEntry_quota_cnt(entry: &EntryHandle) -> usize, or 0; {
        entry.quotas.len()
    }

    /// Returns the name of a quota; NULL for an index out of range.
    fn rd_kafka_ClientQuotaEntry_quota_name(entry: &EntryHandle, index: usize)
        -> *const c_char, or std::ptr::null();
    {
        text_address(entry.quotas.get(index).map(|(name, _)| name))
    }

    /// Returns the value of a quota; 0 for an index out of range.
    fn rd_kafka_ClientQuotaEntry_quota_value(entry: &EntryHandle, index: usize) -> f64, or 0.0; {
        entry.quotas.get(index).map_or(0.0, |(_, value)| *value)
    }
}

results! {
    DescribeClientQuotas: rd_kafka_event_DescribeClientQuotas_result,
        rd_kafka_DescribeClientQuotas_result_entries: ClientQuotaEntry => EntryHandle;
}
