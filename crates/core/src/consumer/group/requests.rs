//! The requests of a classic member to its coordinator.

use std::collections::BTreeMap;

use ottla_protocol::EncodeError;
use ottla_protocol::api::heartbeat::HeartbeatRequest;
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupRequestProtocol};
use ottla_protocol::api::leave_group::{LeaveGroupRequest, MemberIdentity};
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};

use super::assignor::{Assignment, Strategy};
use super::member_messages::{MemberSubscription, write_assignment, write_subscription};
use crate::config::ClientConfig;
use crate::config::units::{int32, millis};

/// The member that sends a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender<'a> {
    pub(super) group_id: &'a str,
    pub(super) member_id: &'a str,
    pub(super) instance_id: Option<&'a str>,
    pub(super) generation: i32,
}

impl Sender<'_> {
    fn instance_id_from(&self, first: i16, version: i16) -> Option<String> {
        self.instance_id.filter(|_| version >= first).map(str::to_owned)
    }
}

/// Builds JoinGroup with one subscription for each of the member's strategies.
///
/// # Errors
/// A subscription that is too large to encode.
pub(super) fn join(
    conf: &ClientConfig,
    sender: &Sender<'_>,
    strategies: &[Strategy],
    subscription: &MemberSubscription,
    version: i16,
) -> Result<JoinGroupRequest, EncodeError> {
    let protocol = |strategy: &Strategy| {
        Ok(JoinGroupRequestProtocol {
            name: strategy.name().to_owned(),
            metadata: write_subscription(*strategy, subscription)?,
            ..Default::default()
        })
    };
    Ok(JoinGroupRequest {
        group_id: sender.group_id.to_owned(),
        session_timeout_ms: int32(millis(conf.session_timeout_ms)),
        rebalance_timeout_ms: int32(millis(conf.max_poll_interval_ms)),
        member_id: sender.member_id.to_owned(),
        group_instance_id: sender.instance_id_from(JoinGroupRequest::STATIC_MEMBERS_SINCE, version),
        protocol_type: conf.group_protocol_type.clone(),
        protocols: strategies.iter().map(protocol).collect::<Result<_, EncodeError>>()?,
        ..Default::default()
    })
}

/// Returns the time for which the coordinator may delay its JoinGroup response, in milliseconds.
pub(super) fn join_delay_ms(conf: &ClientConfig, version: i16) -> u64 {
    match version >= JoinGroupRequest::REBALANCE_TIMEOUT_SINCE {
        true => millis(conf.max_poll_interval_ms),
        false => millis(conf.session_timeout_ms),
    }
}

/// Builds SyncGroup with the assignments by member id; they are empty unless the member leads.
///
/// # Errors
/// An assignment that is too large to encode.
pub(super) fn sync(
    conf: &ClientConfig,
    sender: &Sender<'_>,
    strategy: Strategy,
    assignments: &BTreeMap<String, Assignment>,
    version: i16,
) -> Result<SyncGroupRequest, EncodeError> {
    let assignments = assignments.iter().map(|(member, assignment)| {
        Ok(SyncGroupRequestAssignment {
            member_id: member.clone(),
            assignment: write_assignment(assignment)?,
            ..Default::default()
        })
    });
    let named = version >= SyncGroupRequest::PROTOCOL_SINCE;
    Ok(SyncGroupRequest {
        group_id: sender.group_id.to_owned(),
        generation_id: sender.generation,
        member_id: sender.member_id.to_owned(),
        group_instance_id: sender.instance_id_from(SyncGroupRequest::STATIC_MEMBERS_SINCE, version),
        protocol_type: named.then(|| conf.group_protocol_type.clone()),
        protocol_name: named.then(|| strategy.name().to_owned()),
        assignments: assignments.collect::<Result<_, EncodeError>>()?,
        ..Default::default()
    })
}

/// Builds Heartbeat.
pub(super) fn heartbeat(sender: &Sender<'_>, version: i16) -> HeartbeatRequest {
    HeartbeatRequest {
        group_id: sender.group_id.to_owned(),
        generation_id: sender.generation,
        member_id: sender.member_id.to_owned(),
        group_instance_id: sender.instance_id_from(HeartbeatRequest::STATIC_MEMBERS_SINCE, version),
        ..Default::default()
    }
}

/// Builds LeaveGroup for a dynamic member.
pub(super) fn leave(group_id: &str, member_id: String, version: i16) -> LeaveGroupRequest {
    let group_id = group_id.to_owned();
    if version >= LeaveGroupRequest::MEMBER_LIST_SINCE {
        LeaveGroupRequest {
            group_id,
            members: vec![MemberIdentity {
                member_id,
                ..Default::default()
            }],
            ..Default::default()
        }
    } else {
        LeaveGroupRequest {
            group_id,
            member_id,
            ..Default::default()
        }
    }
}
