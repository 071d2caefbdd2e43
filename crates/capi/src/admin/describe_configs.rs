//! DescribeConfigs: the call and its result.

use ottla_core::admin::{DescribeConfigs, ResourceResult};

use super::call::{begin, results};
use super::common::copy_array;
use super::config_resource::ConfigResourceHandle;
use super::options::AdminOptions;
use crate::ffi::exports;
use crate::handle::Handle;
use crate::queue::QueueHandle;

exports! {
    /// Describes settings.
    fn rd_kafka_DescribeConfigs(
        rk: &Handle, resources: *mut *mut ConfigResourceHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let queries = unsafe { copy_array(resources, count, ConfigResourceHandle::query) };
        begin(rk, queries.map(DescribeConfigs), options, queue);
    }
}

results! {
    DescribeConfigs: rd_kafka_event_DescribeConfigs_result, rd_kafka_DescribeConfigs_result_resources: ResourceResult => ConfigResourceHandle;
}
