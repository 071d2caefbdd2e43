//! AddRaftVoter and RemoveRaftVoter: changes of the metadata quorum.

use ottla_core::admin::{AddRaftVoter, Operation, RemoveRaftVoter};
use ottla_core::error::Error;
use ottla_core::types::NodeId;
use ottla_protocol::Uuid;

use super::call::{begin, result_of};
use super::common::copy_array;
use super::options::AdminOptions;
use super::raft_endpoint::EndpointHandle;
use crate::event::EventHandle;
use crate::ffi::exports;
use crate::handle::Handle;
use crate::queue::QueueHandle;
use crate::uuid::UuidHandle;

fn directory(id: Option<&UuidHandle>) -> Result<Uuid, Error> {
    id.map(UuidHandle::to_core)
        .ok_or_else(|| Error::invalid_arg("The id of the voter's directory is NULL"))
}

exports! {
    /// Makes a controller a voter.
    fn rd_kafka_AddRaftVoter(
        rk: &Handle, voter_id: i32, directory_id: Option<&UuidHandle>, endpoints: *mut *mut EndpointHandle, count: usize,
        cluster_id: Option<&str>, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let endpoints = unsafe { copy_array(endpoints, count, EndpointHandle::to_core) };
        let operation = endpoints.and_then(|endpoints| Ok(AddRaftVoter {
            voter_id: NodeId(voter_id),
            directory_id: directory(directory_id)?,
            endpoints,
            cluster_id: cluster_id.map(str::to_owned),
        }));
        begin(rk, operation, options, queue);
    }

    /// Returns the event as the result of AddRaftVoter; NULL for other events.
    fn rd_kafka_event_AddRaftVoter_result(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
        result_of(event, AddRaftVoter::NAME)
    }

    /// Removes a voter.
    fn rd_kafka_RemoveRaftVoter(
        rk: &Handle, voter_id: i32, directory_id: Option<&UuidHandle>, cluster_id: Option<&str>,
        options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        let operation = directory(directory_id).map(|directory_id| RemoveRaftVoter {
            voter_id: NodeId(voter_id),
            directory_id,
            cluster_id: cluster_id.map(str::to_owned),
        });
        begin(rk, operation, options, queue);
    }

    /// Returns the event as the result of RemoveRaftVoter; NULL for other events.
    fn rd_kafka_event_RemoveRaftVoter_result(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
        result_of(event, RemoveRaftVoter::NAME)
    }
}
