//! DescribeCluster: brokers, controller and id of the cluster.

use std::ffi::{CString, c_char};

use ottla_core::admin::{ClusterDescription, DescribeCluster, Operation};

use super::call::{begin, handles_of, nothing, result_of};
use super::common::{Pointers, address, text_address};
use super::node::NodeHandle;
use super::operations::{self, Operations};
use super::options::AdminOptions;
use crate::event::EventHandle;
use crate::ffi::{c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// The handles of a result.
struct Cluster {
    cluster_id: Option<CString>,
    controller: Option<NodeHandle>,
    nodes: Pointers<NodeHandle>,
    operations: Option<Operations>,
}

impl From<&ClusterDescription> for Cluster {
    fn from(cluster: &ClusterDescription) -> Self {
        Cluster {
            cluster_id: cluster.cluster_id.as_deref().map(c_text),
            controller: cluster.controller.as_ref().map(NodeHandle::from),
            nodes: cluster.nodes.iter().map(NodeHandle::from).collect(),
            operations: Operations::from_core(cluster.authorized_operations.as_ref()),
        }
    }
}

fn cluster(result: Option<&EventHandle>) -> Option<&Cluster> {
    handles_of::<ClusterDescription, Cluster>(result, DescribeCluster::NAME)
}

exports! {
    /// Describes the cluster.
    fn rd_kafka_DescribeCluster(rk: &Handle, options: Option<&AdminOptions>, queue: &QueueHandle) {
        begin(rk, Ok(DescribeCluster), options, queue);
    }

    /// Returns the event as the result of DescribeCluster; NULL for other events.
    fn rd_kafka_event_DescribeCluster_result(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
        result_of(event, DescribeCluster::NAME)
    }

    /// Returns the brokers, owned by the result.
    fn rd_kafka_DescribeCluster_result_nodes(result: Option<&EventHandle>, count: *mut usize)
        -> *mut *const NodeHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe {
            match cluster(result) {
                Some(cluster) => cluster.nodes.lend(count),
                None => nothing(count),
            }
        }
    }

    /// Returns the operations that the client may perform on the cluster.
    fn rd_kafka_DescribeCluster_result_authorized_operations(result: Option<&EventHandle>, count: *mut usize)
        -> *const i32, or std::ptr::null();
    {
        let operations = cluster(result).and_then(|cluster| cluster.operations.as_ref());
        // SAFETY: the caller's out-parameter.
        unsafe { operations::lend(operations, count) }
    }

    /// Returns the controller; NULL if it is unknown.
    fn rd_kafka_DescribeCluster_result_controller(result: Option<&EventHandle>)
        -> *const NodeHandle, or std::ptr::null();
    {
        address(cluster(result).and_then(|cluster| cluster.controller.as_ref()))
    }

    /// Returns the cluster's id; NULL if it is unknown.
    fn rd_kafka_DescribeCluster_result_cluster_id(result: Option<&EventHandle>)
        -> *const c_char, or std::ptr::null();
    {
        text_address(cluster(result).and_then(|cluster| cluster.cluster_id.as_ref()))
    }
}
