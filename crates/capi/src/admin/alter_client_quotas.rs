//! AlterClientQuotas: changes of entities' quotas.

use ottla_core::admin::{AlterClientQuotas, ClientQuotaAlteration, ClientQuotaResult};
use ottla_core::error::ErrorCode;

use super::call::{begin, results};
use super::client_quota_entity::EntityHandle;
use super::common::{copy_array, destroy_array, error_handle};
use super::options::AdminOptions;
use crate::errors::ErrorHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_ClientQuotaAlteration_t`
#[repr(C)]
pub struct AlterationHandle {
    tag: Tag,
    alteration: ClientQuotaAlteration,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for AlterationHandle {
    const TAG: u32 = 0x0e44_1008;
}

impl AlterationHandle {
    fn change(&mut self, quota: &str, value: Option<f64>) -> ErrorCode {
        if quota.is_empty() || value.is_some_and(|value| !value.is_finite()) {
            return ErrorCode::L_INVALID_ARG;
        }
        self.alteration.changes.insert(quota.to_owned(), value);
        ErrorCode::NO_ERROR
    }
}

/// `rd_kafka_ClientQuotaResult_t`
#[repr(C)]
pub struct ResultHandle {
    tag: Tag,
    entity: EntityHandle,
    error: Option<Box<ErrorHandle>>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ResultHandle {
    const TAG: u32 = 0x0e44_1009;
}

impl From<&ClientQuotaResult> for ResultHandle {
    fn from(result: &ClientQuotaResult) -> Self {
        ResultHandle {
            tag: Tag::new(Self::TAG),
            entity: EntityHandle::from(&result.entity),
            error: error_handle(result.error.as_ref()),
        }
    }
}

exports! {
    /// Returns changes, without entity and quotas as yet.
    fn rd_kafka_ClientQuotaAlteration_new() -> Option<Owned<AlterationHandle>>, or None; {
        let alteration = ClientQuotaAlteration::default();
        Some(boxed(AlterationHandle { tag: Tag::new(AlterationHandle::TAG), alteration }))
    }

    /// Frees changes; NULL is fine.
    fn rd_kafka_ClientQuotaAlteration_destroy(alteration: *mut AlterationHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<AlterationHandle>>::from_c(alteration) });
    }

    /// Frees each of an array.
    fn rd_kafka_ClientQuotaAlteration_destroy_array(alterations: *mut *mut AlterationHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(alterations, count) };
    }

    /// Adds a type with a name to the entity; without name the default entity of the type.
    fn rd_kafka_ClientQuotaAlteration_add_entity(
        alteration: &mut AlterationHandle, kind: &str, name: Option<&str>,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let entity = &mut alteration.alteration.entity;
        if kind.is_empty() || entity.contains_key(kind) {
            return ErrorCode::L_INVALID_ARG;
        }
        entity.insert(kind.to_owned(), name.map(str::to_owned));
        ErrorCode::NO_ERROR
    }

    /// Sets a quota.
    fn rd_kafka_ClientQuotaAlteration_set(alteration: &mut AlterationHandle, quota: &str, value: f64)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        alteration.change(quota, Some(value))
    }

    /// Removes a quota.
    fn rd_kafka_ClientQuotaAlteration_remove(alteration: &mut AlterationHandle, quota: &str)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        alteration.change(quota, None)
    }

    /// Changes quotas.
    fn rd_kafka_AlterClientQuotas(
        rk: &Handle, alterations: *mut *mut AlterationHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let alterations = unsafe { copy_array(alterations, count, |a: &AlterationHandle| a.alteration.clone()) };
        begin(rk, alterations.map(AlterClientQuotas), options, queue);
    }

    /// Returns the entity of a result.
    fn rd_kafka_ClientQuotaResult_entity(result: &ResultHandle) -> *const EntityHandle, or std::ptr::null(); {
        &raw const result.entity
    }

    /// Returns the error of a result; NULL for success.
    fn rd_kafka_ClientQuotaResult_error(result: &ResultHandle) -> *const ErrorHandle, or std::ptr::null(); {
        result.error.as_deref().map_or(std::ptr::null(), std::ptr::from_ref)
    }
}

results! {
    AlterClientQuotas: rd_kafka_event_AlterClientQuotas_result,
        rd_kafka_AlterClientQuotas_result_entities: ClientQuotaResult => ResultHandle;
}
