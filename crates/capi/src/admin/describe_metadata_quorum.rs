//! DescribeMetadataQuorum: the voters and observers of the metadata log.

use ottla_core::admin::{DescribeMetadataQuorum, Operation, QuorumInfo, QuorumNode, QuorumReplica};

use super::call::{begin, handles_of, result_of};
use super::common::{Pointers, address};
use super::options::AdminOptions;
use super::raft_endpoint::EndpointHandle;
use crate::event::EventHandle;
use crate::ffi::{Tag, Tagged, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;
use crate::uuid::UuidHandle;

/// `rd_kafka_QuorumReplica_t`
#[repr(C)]
pub struct ReplicaHandle {
    tag: Tag,
    id: i32,
    directory_id: Option<UuidHandle>,
    log_end_offset: i64,
    last_fetch_ms: i64,
    last_caught_up_ms: i64,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ReplicaHandle {
    const TAG: u32 = 0x0e44_100d;
}

impl ReplicaHandle {
    fn from_core(replica: &QuorumReplica) -> Self {
        let directory_id = Some(replica.directory_id).filter(|id| !id.is_zero());
        ReplicaHandle {
            tag: Tag::new(Self::TAG),
            id: replica.id.0,
            directory_id: directory_id.map(UuidHandle::from_core),
            log_end_offset: replica.log_end_offset,
            last_fetch_ms: replica.last_fetch_ms.unwrap_or(-1),
            last_caught_up_ms: replica.last_caught_up_ms.unwrap_or(-1),
        }
    }
}

/// `rd_kafka_QuorumNode_t`
#[repr(C)]
pub struct NodeHandle {
    tag: Tag,
    id: i32,
    endpoints: Pointers<EndpointHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for NodeHandle {
    const TAG: u32 = 0x0e44_100e;
}

impl NodeHandle {
    fn from_core(node: &QuorumNode) -> Self {
        NodeHandle {
            tag: Tag::new(Self::TAG),
            id: node.id.0,
            endpoints: node.endpoints.iter().map(EndpointHandle::from_core).collect(),
        }
    }
}

/// The handles of a result.
struct Quorum {
    leader_id: i32,
    leader_epoch: i32,
    high_watermark: i64,
    voters: Pointers<ReplicaHandle>,
    observers: Pointers<ReplicaHandle>,
    nodes: Pointers<NodeHandle>,
}

impl From<&QuorumInfo> for Quorum {
    fn from(quorum: &QuorumInfo) -> Self {
        Quorum {
            leader_id: quorum.leader_id.0,
            leader_epoch: quorum.leader_epoch,
            high_watermark: quorum.high_watermark,
            voters: quorum.voters.iter().map(ReplicaHandle::from_core).collect(),
            observers: quorum.observers.iter().map(ReplicaHandle::from_core).collect(),
            nodes: quorum.nodes.iter().map(NodeHandle::from_core).collect(),
        }
    }
}

fn quorum(result: Option<&EventHandle>) -> Option<&Quorum> {
    handles_of::<QuorumInfo, Quorum>(result, DescribeMetadataQuorum::NAME)
}

exports! {
    /// Describes the metadata quorum.
    fn rd_kafka_DescribeMetadataQuorum(rk: &Handle, options: Option<&AdminOptions>, queue: &QueueHandle) {
        begin(rk, Ok(DescribeMetadataQuorum), options, queue);
    }

    /// Returns the event as the result of DescribeMetadataQuorum; NULL for other events.
    fn rd_kafka_event_DescribeMetadataQuorum_result(event: &EventHandle)
        -> *const EventHandle, or std::ptr::null();
    {
        result_of(event, DescribeMetadataQuorum::NAME)
    }

    /// Returns the leader's node id; -1 for no result.
    fn rd_kafka_DescribeMetadataQuorum_result_leader_id(result: Option<&EventHandle>) -> i32, or -1; {
        quorum(result).map_or(-1, |quorum| quorum.leader_id)
    }

    /// Returns the leader's epoch; -1 for no result.
    fn rd_kafka_DescribeMetadataQuorum_result_leader_epoch(result: Option<&EventHandle>) -> i32, or -1; {
        quorum(result).map_or(-1, |quorum| quorum.leader_epoch)
    }

    /// Returns the high watermark of the metadata log; -1 for no result.
    fn rd_kafka_DescribeMetadataQuorum_result_high_watermark(result: Option<&EventHandle>) -> i64, or -1; {
        quorum(result).map_or(-1, |quorum| quorum.high_watermark)
    }

    /// Returns the voters.
    fn rd_kafka_DescribeMetadataQuorum_result_voters(result: Option<&EventHandle>, count: *mut usize)
        -> *mut *const ReplicaHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { Pointers::lend_from(quorum(result).map(|quorum| &quorum.voters), count) }
    }

    /// Returns the observers.
    fn rd_kafka_DescribeMetadataQuorum_result_observers(result: Option<&EventHandle>, count: *mut usize)
        -> *mut *const ReplicaHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { Pointers::lend_from(quorum(result).map(|quorum| &quorum.observers), count) }
    }

    /// Returns the voters' addresses.
    fn rd_kafka_DescribeMetadataQuorum_result_nodes(result: Option<&EventHandle>, count: *mut usize)
        -> *mut *const NodeHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { Pointers::lend_from(quorum(result).map(|quorum| &quorum.nodes), count) }
    }

    /// Returns the replica's node id.
    fn rd_kafka_QuorumReplica_id(replica: &ReplicaHandle) -> i32, or -1; {
        replica.id
    }

    /// Returns the id of the replica's metadata directory; NULL if it is unknown.
    fn rd_kafka_QuorumReplica_directory_id(replica: &ReplicaHandle) -> *const UuidHandle, or std::ptr::null(); {
        address(replica.directory_id.as_ref())
    }

    /// Returns the end of the replica's log; -1 if it is unknown.
    fn rd_kafka_QuorumReplica_log_end_offset(replica: &ReplicaHandle) -> i64, or -1; {
        replica.log_end_offset
    }

    /// Returns the time of the replica's last fetch; -1 if it is unknown.
    fn rd_kafka_QuorumReplica_last_fetch_timestamp(replica: &ReplicaHandle) -> i64, or -1; {
        replica.last_fetch_ms
    }

    /// Returns the time when the replica last had all records; -1 if it is unknown.
    fn rd_kafka_QuorumReplica_last_caught_up_timestamp(replica: &ReplicaHandle) -> i64, or -1; {
        replica.last_caught_up_ms
    }

    /// Returns the voter's node id.
    fn rd_kafka_QuorumNode_id(node: &NodeHandle) -> i32, or -1; {
        node.id
    }

    /// Returns the voter's addresses.
    fn rd_kafka_QuorumNode_endpoints(node: Option<&NodeHandle>, count: *mut usize)
        -> *mut *const EndpointHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { Pointers::lend_from(node.map(|node| &node.endpoints), count) }
    }
}
