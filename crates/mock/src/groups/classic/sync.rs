//! Assignments: the leader brings them, everybody fetches their own.

use std::collections::BTreeMap;

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupResponse};

use super::{ClassicGroup, GroupState, SyncOutcome};
use crate::cluster::Cluster;
use crate::dispatch::Context;
use crate::handlers::k14_sync_group::{complete_sync, failed_sync};
use crate::purgatory::DelayedOperation;

impl ClassicGroup {
    pub(crate) fn sync(&mut self, cluster: &mut Cluster, context: &Context, request: SyncGroupRequest) -> SyncOutcome {
        match self.try_sync(cluster, context, request) {
            Ok(outcome) => outcome,
            Err(error) => SyncOutcome::Respond(failed_sync(context, error)),
        }
    }

    pub(super) fn try_sync(
        &mut self,
        cluster: &mut Cluster,
        context: &Context,
        request: SyncGroupRequest,
    ) -> Result<SyncOutcome, ErrorCode> {
        let id = request.member_id;
        self.check_member(&id, request.group_instance_id.as_deref())?;
        self.check_generation(request.generation_id)?;
        let differs = |told: &Option<String>, own: &Option<String>| told.is_some() && told != own;
        if context.version >= 5
            && (differs(&request.protocol_type, &self.protocol_type)
                || differs(&request.protocol_name, &self.protocol_name))
        {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        match self.state {
            GroupState::Empty => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
            GroupState::PreparingRebalance => return Err(ErrorCode::REBALANCE_IN_PROGRESS),
            GroupState::CompletingRebalance => {}
            GroupState::Stable => {
                self.synced(cluster, &id);
                self.schedule_session(cluster, &id);
                return Ok(SyncOutcome::Respond(self.sync_response(context, &id)));
            }
        }
        let token = cluster.park(context, DelayedOperation::SyncGroup, None);
        let earlier = self.members.get_mut(&id).and_then(|m| m.awaiting_sync.replace(token));
        if let Some(earlier) = earlier {
            complete_sync(cluster, earlier, |c| failed_sync(c, ErrorCode::REBALANCE_IN_PROGRESS));
        }
        self.synced(cluster, &id);
        if self.leader.as_ref() == Some(&id) {
            let mut assignments: BTreeMap<_, _> = request
                .assignments
                .into_iter()
                .map(|a| (a.member_id, a.assignment))
                .collect();
            for member in self.members.values_mut() {
                member.assignment = assignments.remove(&member.id).unwrap_or_default();
            }
            self.state = GroupState::Stable;
            self.answer_syncs(cluster);
        }
        Ok(SyncOutcome::Delayed)
    }

    /// A member has asked for its assignment in this generation.
    pub(super) fn synced(&mut self, cluster: &mut Cluster, id: &str) {
        self.pending_sync.remove(id);
        if self.pending_sync.is_empty()
            && let Some(timer) = self.sync_timer.take()
        {
            cluster.timers.cancel(timer);
        }
    }

    pub(super) fn answer_syncs(&mut self, cluster: &mut Cluster) {
        let ids: Vec<_> = self.members.keys().cloned().collect();
        for id in ids {
            let waiting = self.members.get_mut(&id).and_then(|m| m.awaiting_sync.take());
            if let Some(token) = waiting {
                complete_sync(cluster, token, |context| self.sync_response(context, &id));
                self.schedule_session(cluster, &id);
            }
        }
    }

    pub(super) fn sync_response(&self, context: &Context, id: &str) -> SyncGroupResponse {
        SyncGroupResponse {
            throttle_time_ms: context.throttle_time_ms,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            assignment: self.members.get(id).map_or_else(Bytes::new, |m| m.assignment.clone()),
            ..Default::default()
        }
    }

    /// Those who never asked for their assignment are out.
    pub(crate) fn sync_phase_due(&mut self, cluster: &mut Cluster) {
        self.sync_timer = None;
        let missing = std::mem::take(&mut self.pending_sync);
        for id in &missing {
            self.remove_member(cluster, id);
        }
        if !missing.is_empty() {
            self.rebalance(cluster);
        }
    }

    /// Assignments of this generation are void; who waits for one is sent away.
    pub(super) fn end_sync_phase(&mut self, cluster: &mut Cluster, error: ErrorCode) {
        if let Some(timer) = self.sync_timer.take() {
            cluster.timers.cancel(timer);
        }
        self.pending_sync.clear();
        if self.state != GroupState::CompletingRebalance {
            return;
        }
        let ids: Vec<_> = self.members.keys().cloned().collect();
        for id in ids {
            let Some(member) = self.members.get_mut(&id) else {
                continue;
            };
            member.assignment = Bytes::new();
            if let Some(token) = member.awaiting_sync.take() {
                complete_sync(cluster, token, |context| failed_sync(context, error));
                self.schedule_session(cluster, &id);
            }
        }
    }
}
