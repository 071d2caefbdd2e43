//! SyncGroup (key 14), versions 0 to 5.
//!
//! The leader brings the assignments, the others wait for theirs. From version 3 on static members are known by their
//! instance id, from 5 on the protocol is checked when it is given. In a group of the consumer protocol nobody waits:
//! the coordinator has assigned (KIP-848).
//! Errors: INVALID_GROUP_ID, NOT_COORDINATOR, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS,
//! INCONSISTENT_GROUP_PROTOCOL, FENCED_INSTANCE_ID.

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::api::sync_group::SyncGroupRequest;

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::groups::{SyncOutcome, failed_sync};
use crate::request::Context;

pub(crate) struct SyncGroup;

impl Handler for SyncGroup {
    type Request = SyncGroupRequest;

    fn handle(cluster: &mut Cluster, context: &Context, mut request: SyncGroupRequest) -> AnswerOf<Self> {
        let id = request.group_id.clone();
        let checked = match id.is_empty() {
            true => Err(ErrorCode::INVALID_GROUP_ID),
            false => cluster.state.check_group_coordinator(context.broker, &id),
        };
        if let Err(error) = checked {
            return Self::refuse(cluster, context, request, error);
        }
        for assignment in &mut request.assignments {
            // It stays as long as the generation and must not keep the whole input buffer.
            assignment.assignment = Bytes::copy_from_slice(&assignment.assignment);
        }
        let group = cluster.groups.get_mut(&id);
        match group.map(|group| group.sync(&mut cluster.state, context, request)) {
            Some(SyncOutcome::Respond(response)) => Answer::Respond(response),
            Some(SyncOutcome::Delayed) => Answer::Delayed,
            None => Answer::Respond(failed_sync(context, ErrorCode::UNKNOWN_MEMBER_ID)),
        }
    }

    fn refuse(_: &Cluster, context: &Context, _: SyncGroupRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(failed_sync(context, error))
    }
}
