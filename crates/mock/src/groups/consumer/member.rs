//! One member of a consumer group.

use std::collections::BTreeSet;

use ottla_protocol::ErrorCode;
use ottla_protocol::api::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;

use super::Partitions;
use crate::groups::classic::Protocol;
use crate::request::Context;
use crate::state::ClusterState;
use crate::timers::{MemberTimer, Timer, TimerId};

/// A static member that is away for a while (`member_epoch` of its last heartbeat).
pub(super) const STATIC_LEAVE_EPOCH: i32 = -2;

/// How far a member is on its way to the target assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberState {
    Stable,
    /// It has to give up partitions and has not said that it did.
    UnrevokedPartitions,
    /// Others still hold what it is to get.
    UnreleasedPartitions,
}

/// What a member of the classic protocol has besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClassicMember {
    pub(crate) session_timeout_ms: i32,
    /// Never empty.
    pub(crate) protocols: Vec<Protocol>,
}

impl ClassicMember {
    /// The assignor that the member is told, though none but the coordinator assigns.
    pub(crate) fn protocol_name(&self) -> Option<&str> {
        self.protocols.first().map(|p| p.name.as_str())
    }

    /// The version of the member's subscription, in which it gets its assignment, too.
    pub(crate) fn version(&self) -> i16 {
        let metadata = self.protocols.first().and_then(|p| p.metadata.first_chunk());
        metadata.map_or(0, |version| i16::from_be_bytes(*version))
    }
}

/// One member.
#[derive(Debug, Clone)]
pub(crate) struct ConsumerMember {
    pub(crate) id: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) rack_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) epoch: i32,
    /// The one before: a heartbeat with it is taken as long as the answer with the new one may have been lost.
    pub(crate) previous_epoch: i32,
    pub(crate) state: MemberState,
    pub(crate) topics: BTreeSet<String>,
    /// Empty for none.
    pub(crate) regex: String,
    /// The assignor that it asked for.
    pub(crate) assignor: Option<String>,
    pub(crate) assigned: Partitions,
    pub(crate) pending_revocation: Partitions,
    /// What the assignor wants it to have.
    pub(crate) target: Partitions,
    /// `None` for a member of the consumer protocol.
    pub(crate) classic: Option<ClassicMember>,
    pub(in crate::groups) timers: Vec<(MemberTimer, TimerId)>,
}

impl ConsumerMember {
    pub(crate) fn new(id: String) -> Self {
        Self {
            id,
            instance_id: None,
            rack_id: None,
            client_id: String::new(),
            rebalance_timeout_ms: 0,
            epoch: 0,
            previous_epoch: 0,
            state: MemberState::Stable,
            topics: BTreeSet::new(),
            regex: String::new(),
            assignor: None,
            assigned: Partitions::new(),
            pending_revocation: Partitions::new(),
            target: Partitions::new(),
            classic: None,
            timers: Vec::new(),
        }
    }

    /// This static member under the id with which it came back: it keeps what it had.
    pub(super) fn with_id(self, id: String) -> Self {
        Self {
            id,
            epoch: 0,
            previous_epoch: 0,
            ..self
        }
    }

    /// Takes over what a heartbeat says; what it leaves out has not changed.
    pub(super) fn take_request(&mut self, context: &Context, request: &ConsumerGroupHeartbeatRequest) {
        let keep = |old: &mut Option<String>, new: &Option<String>| {
            if new.is_some() {
                old.clone_from(new);
            }
        };
        keep(&mut self.instance_id, &request.instance_id);
        keep(&mut self.rack_id, &request.rack_id);
        keep(&mut self.assignor, &request.server_assignor);
        if request.rebalance_timeout_ms != -1 {
            self.rebalance_timeout_ms = request.rebalance_timeout_ms;
        }
        if let Some(topics) = &request.subscribed_topic_names {
            self.topics = topics.iter().cloned().collect();
        }
        if let Some(regex) = &request.subscribed_topic_regex {
            self.regex.clone_from(regex);
        }
        self.client_id.clone_from(&context.client_id);
        self.classic = None;
    }

    pub(crate) fn is_reconciled_to(&self, epoch: i32) -> bool {
        self.state == MemberState::Stable && self.epoch == epoch
    }

    /// What nobody else may have yet.
    pub(crate) fn held(&self) -> impl Iterator<Item = &(ottla_protocol::Uuid, i32)> {
        self.assigned.iter().chain(&self.pending_revocation)
    }

    /// Whether a heartbeat with this epoch is the member's: 0 joins anew, the one before counts while the answer to it
    /// may have been lost.
    pub(super) fn check_epoch(&self, epoch: i32, owned: Option<&Partitions>) -> Result<(), ErrorCode> {
        let has_not_heard =
            || epoch == self.previous_epoch && owned.is_some_and(|owned| owned.is_subset(&self.assigned));
        match epoch == 0 || epoch == self.epoch || epoch < self.epoch && has_not_heard() {
            true => Ok(()),
            false => Err(ErrorCode::FENCED_MEMBER_EPOCH),
        }
    }

    /// Whether a commit or a look at committed offsets with this epoch is the member's.
    pub(super) fn check_epoch_of_offsets(&self, epoch: i32) -> Result<(), ErrorCode> {
        match (epoch == self.epoch, &self.classic) {
            (true, _) => Ok(()),
            (false, Some(_)) => Err(ErrorCode::ILLEGAL_GENERATION),
            (false, None) => Err(ErrorCode::STALE_MEMBER_EPOCH),
        }
    }

    pub(super) fn is_timed(&self, timer: MemberTimer) -> bool {
        self.timers.iter().any(|(t, _)| *t == timer)
    }

    /// Begins to wait, or begins anew.
    pub(super) fn set_timer(&mut self, state: &mut ClusterState, group: &str, timer: MemberTimer, timeout_ms: i32) {
        self.cancel_timer(state, timer);
        let at = state.now.plus_ms(timeout_ms);
        let due = Timer::ConsumerMember {
            group: group.to_owned(),
            member: self.id.clone(),
            timer,
        };
        self.timers.push((timer, state.timers.set(at, due)));
    }

    pub(super) fn cancel_timer(&mut self, state: &mut ClusterState, timer: MemberTimer) {
        self.timers.retain(|(t, id)| {
            if *t == timer {
                state.timers.cancel(*id);
            }
            *t != timer
        });
    }

    pub(super) fn cancel_timers(&mut self, state: &mut ClusterState) {
        for (_, id) in self.timers.drain(..) {
            state.timers.cancel(id);
        }
    }

    /// The timers that run.
    pub(super) fn running(&self) -> Vec<MemberTimer> {
        self.timers.iter().map(|(t, _)| *t).collect()
    }

    /// Notes that a timer has fired.
    pub(super) fn timer_fired(&mut self, timer: MemberTimer) {
        self.timers.retain(|(t, _)| *t != timer);
    }
}
