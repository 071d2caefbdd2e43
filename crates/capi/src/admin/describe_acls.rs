//! DescribeAcls: the call and its result.

use ottla_core::admin::{AclBinding, DescribeAcls};

use super::acl::AclBindingHandle;
use super::call::{begin, results};
use super::options::AdminOptions;
use crate::ffi::exports;
use crate::handle::Handle;
use crate::queue::QueueHandle;

exports! {
    /// Describes the access control entries that match a filter.
    fn rd_kafka_DescribeAcls(
        rk: &Handle, filter: &AclBindingHandle, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        begin(rk, Ok(DescribeAcls(filter.filter())), options, queue);
    }
}

results! {
    DescribeAcls: rd_kafka_event_DescribeAcls_result,
        rd_kafka_DescribeAcls_result_acls: AclBinding => AclBindingHandle;
}
