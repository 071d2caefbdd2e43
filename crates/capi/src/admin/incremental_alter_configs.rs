//! IncrementalAlterConfigs: the call and its result.

use ottla_core::admin::{IncrementalAlterConfigs, ResourceResult};

use super::call::{begin, results};
use super::common::copy_array;
use super::config_resource::ConfigResourceHandle;
use super::options::AdminOptions;
use crate::ffi::exports;
use crate::handle::Handle;
use crate::queue::QueueHandle;

exports! {
    /// Changes single settings.
    fn rd_kafka_IncrementalAlterConfigs(
        rk: &Handle, resources: *mut *mut ConfigResourceHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let changes = unsafe { copy_array(resources, count, ConfigResourceHandle::changes) };
        begin(rk, changes.map(IncrementalAlterConfigs), options, queue);
    }
}

results! {
    IncrementalAlterConfigs: rd_kafka_event_IncrementalAlterConfigs_result, rd_kafka_IncrementalAlterConfigs_result_resources: ResourceResult => ConfigResourceHandle;
}
