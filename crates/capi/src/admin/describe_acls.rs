//! DescribeAcls: the call and its result.

use ottla_core::admin::{AclBinding, DescribeAcls};
use ottla_core::error::Error;

use super::acl::AclBindingHandle;
use super::call::{begin, results};
use super::options::AdminOptions;
use crate::ffi::exports;
use crate::handle::Handle;
use crate::queue::QueueHandle;

exports! {
    /// Describes the access control entries that match a filter.
    fn rd_kafka_DescribeAcls(
        rk: &Handle, filter: Option<&AclBindingHandle>, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        let filter = filter.map(AclBindingHandle::filter).ok_or_else(|| Error::invalid_arg("The filter is NULL"));
        begin(rk, filter.map(DescribeAcls), options, queue);
    }
}

results! {
    DescribeAcls: rd_kafka_event_DescribeAcls_result,
        rd_kafka_DescribeAcls_result_acls: AclBinding => AclBindingHandle;
}
