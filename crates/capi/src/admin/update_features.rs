//! UpdateFeatures: changes of features' levels.

use std::ffi::{CString, c_char};

use ottla_core::admin::{FeatureResult, FeatureUpdate, FeatureUpgradeType, UpdateFeatures};
use ottla_core::error::Error;

use super::call::{begin, results};
use super::common::{copy_array, destroy_array, error_handle};
use super::options::AdminOptions;
use crate::errors::ErrorHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_FeatureUpdate_t`
#[repr(C)]
pub struct UpdateHandle {
    tag: Tag,
    feature: String,
    level: i32,
    /// `rd_kafka_FeatureUpgradeType_t`
    upgrade_type: i32,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for UpdateHandle {
    const TAG: u32 = 0x0e44_1011;
}

impl UpdateHandle {
    fn update(&self) -> Result<FeatureUpdate, Error> {
        let level = i16::try_from(self.level);
        let upgrade_type = match self.upgrade_type {
            1 => FeatureUpgradeType::Upgrade,
            2 => FeatureUpgradeType::SafeDowngrade,
            3 => FeatureUpgradeType::UnsafeDowngrade,
            other => return Err(Error::invalid_arg(format!("{other} is no upgrade type"))),
        };
        Ok(FeatureUpdate {
            feature: self.feature.clone(),
            max_level: level.map_err(|_| Error::invalid_arg(format!("The level {} is out of range", self.level)))?,
            upgrade_type,
        })
    }
}

/// `rd_kafka_FeatureResult_t`
#[repr(C)]
pub struct ResultHandle {
    tag: Tag,
    feature: CString,
    error: Option<Box<ErrorHandle>>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ResultHandle {
    const TAG: u32 = 0x0e44_1012;
}

impl From<&FeatureResult> for ResultHandle {
    fn from(result: &FeatureResult) -> Self {
        ResultHandle {
            tag: Tag::new(Self::TAG),
            feature: c_text(result.feature.as_str()),
            error: error_handle(result.error.as_ref()),
        }
    }
}

exports! {
    /// Returns a change of a feature's level.
    fn rd_kafka_FeatureUpdate_new(feature: &str, level: i32, upgrade_type: i32)
        -> Option<Owned<UpdateHandle>>, or None;
    {
        let feature = feature.to_owned();
        Some(boxed(UpdateHandle { tag: Tag::new(UpdateHandle::TAG), feature, level, upgrade_type }))
    }

    /// Frees a change; NULL is fine.
    fn rd_kafka_FeatureUpdate_destroy(update: *mut UpdateHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<UpdateHandle>>::from_c(update) });
    }

    /// Frees each of an array.
    fn rd_kafka_FeatureUpdate_destroy_array(updates: *mut *mut UpdateHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(updates, count) };
    }

    /// Changes the levels of features.
    fn rd_kafka_UpdateFeatures(
        rk: &Handle, updates: *mut *mut UpdateHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let updates = unsafe { copy_array(updates, count, UpdateHandle::update) };
        let updates = updates.and_then(|updates| updates.into_iter().collect());
        begin(rk, updates.map(UpdateFeatures), options, queue);
    }

    /// Returns the name of a result's feature.
    fn rd_kafka_FeatureResult_name(result: &ResultHandle) -> *const c_char, or std::ptr::null(); {
        result.feature.as_ptr()
    }

    /// Returns the error of a result; NULL for success.
    fn rd_kafka_FeatureResult_error(result: &ResultHandle) -> *const ErrorHandle, or std::ptr::null(); {
        result.error.as_deref().map_or(std::ptr::null(), std::ptr::from_ref)
    }
}

results! {
    UpdateFeatures: rd_kafka_event_UpdateFeatures_result,
        rd_kafka_UpdateFeatures_result_features: FeatureResult => ResultHandle;
}
