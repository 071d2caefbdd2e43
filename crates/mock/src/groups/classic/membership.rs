//! Staying and leaving: heartbeats, sessions, commits, and members that go.

use ottla_protocol::ErrorCode;

use super::{ClassicGroup, GroupState, Member};
use crate::cluster::Cluster;
use crate::handlers::k11_join_group::{complete_join, failed_join};
use crate::handlers::k14_sync_group::{complete_sync, failed_sync};
use crate::timers::Timer;

impl ClassicGroup {
    pub(crate) fn heartbeat(
        &mut self,
        cluster: &mut Cluster,
        member: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Result<(), ErrorCode> {
        self.check_member(member, instance)?;
        self.check_generation(generation)?;
        match self.state {
            GroupState::Empty => Err(ErrorCode::UNKNOWN_MEMBER_ID),
            GroupState::PreparingRebalance => {
                self.schedule_session(cluster, member);
                Err(ErrorCode::REBALANCE_IN_PROGRESS)
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                self.schedule_session(cluster, member);
                Ok(())
            }
        }
    }

    /// Takes a member out: a dynamic one by its id, a static one by its instance id, with or without its id.
    pub(crate) fn leave(
        &mut self,
        cluster: &mut Cluster,
        member: &str,
        instance: Option<&str>,
    ) -> Result<(), ErrorCode> {
        if let Some(timer) = self.pending.remove(member) {
            cluster.timers.cancel(timer);
            if self.state == GroupState::PreparingRebalance {
                self.maybe_complete_join(cluster);
            }
            return Ok(());
        }
        let id = match instance.and_then(|i| self.static_members.get(i)) {
            Some(holder) if member.is_empty() => holder.clone(),
            _ => member.to_owned(),
        };
        self.check_member(&id, instance)?;
        self.remove_member(cluster, &id);
        self.rebalance(cluster);
        Ok(())
    }

    /// Whether a commit from outside of transactions may be taken.
    pub(crate) fn check_commit(
        &mut self,
        cluster: &mut Cluster,
        member: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Result<(), ErrorCode> {
        // A consumer that assigns itself has neither member id nor generation.
        if generation < 0 && self.state == GroupState::Empty {
            return Ok(());
        }
        self.check_member(member, instance)?;
        self.check_generation(generation)?;
        if self.state == GroupState::CompletingRebalance {
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        self.schedule_session(cluster, member);
        Ok(())
    }

    /// Whether a commit as part of a transaction may be taken. A producer that does not say whose offsets it commits may
    /// always (KIP-447).
    pub(crate) fn check_transactional_commit(
        &mut self,
        cluster: &mut Cluster,
        member: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Result<(), ErrorCode> {
        let says_nothing = generation < 0 && member.is_empty() && instance.is_none();
        if says_nothing || generation < 0 && self.state == GroupState::Empty {
            return Ok(());
        }
        self.check_member(member, instance)?;
        self.check_generation(generation)?;
        self.schedule_session(cluster, member);
        Ok(())
    }

    /// A member's session has ended, or that of an id which was never used.
    pub(crate) fn session_due(&mut self, cluster: &mut Cluster, id: &str) {
        if self.pending.remove(id).is_some() {
            if self.state == GroupState::PreparingRebalance {
                self.maybe_complete_join(cluster);
            }
            return;
        }
        let Some(member) = self.members.get_mut(id) else {
            return;
        };
        member.session_timer = None;
        // Who waits for the coordinator is not late.
        if !member.is_waiting() {
            self.remove_member(cluster, id);
            self.rebalance(cluster);
        }
    }

    pub(super) fn schedule_session(&mut self, cluster: &mut Cluster, id: &str) {
        if let Some(timeout_ms) = self.members.get(id).map(|m| m.session_timeout_ms) {
            self.set_session_timer(cluster, id, timeout_ms);
        }
    }

    pub(super) fn set_session_timer(&mut self, cluster: &mut Cluster, id: &str, timeout_ms: i32) {
        let Some(member) = self.members.get_mut(id) else {
            return;
        };
        if let Some(timer) = member.session_timer.take() {
            cluster.timers.cancel(timer);
        }
        let at = cluster.now.plus_ms(timeout_ms);
        let timer = Timer::MemberSession {
            group: self.id.clone(),
            member: id.to_owned(),
        };
        member.session_timer = Some(cluster.timers.set(at, timer));
    }

    pub(super) fn remove_member(&mut self, cluster: &mut Cluster, id: &str) {
        let Some(mut member) = self.members.remove(id) else {
            return;
        };
        self.fail_pending(cluster, &mut member, ErrorCode::UNKNOWN_MEMBER_ID);
        self.pending_sync.remove(id);
        if let Some(instance) = &member.instance_id {
            self.static_members.remove(instance);
        }
        if self.leader.as_deref() == Some(id) {
            self.leader = self.members.keys().next().cloned();
        }
    }

    /// Ends a member's timer and answers what it waits for with `error`.
    pub(super) fn fail_pending(&self, cluster: &mut Cluster, member: &mut Member, error: ErrorCode) {
        if let Some(timer) = member.session_timer.take() {
            cluster.timers.cancel(timer);
        }
        let id = &member.id;
        if let Some(token) = member.awaiting_join.take() {
            complete_join(cluster, token, |context| failed_join(context, id, error));
        }
        if let Some(token) = member.awaiting_sync.take() {
            complete_sync(cluster, token, |context| failed_sync(context, error));
        }
    }

    /// The group has another coordinator: whoever waits at the old one has to find it. Members stay, as they are in
    /// the group's log, with a new session each.
    pub(crate) fn coordinator_moved(&mut self, cluster: &mut Cluster) {
        self.fail_all_pending(cluster, ErrorCode::NOT_COORDINATOR);
        self.restart_sessions(cluster);
    }

    /// Ends all members' timers and answers what they wait for with `error`.
    pub(in crate::groups) fn fail_all_pending(&mut self, cluster: &mut Cluster, error: ErrorCode) {
        let mut members = std::mem::take(&mut self.members);
        for member in members.values_mut() {
            self.fail_pending(cluster, member, error);
        }
        self.members = members;
    }

    /// Every member's session begins now.
    pub(crate) fn restart_sessions(&mut self, cluster: &mut Cluster) {
        let ids: Vec<_> = self.members.keys().cloned().collect();
        for id in ids {
            self.schedule_session(cluster, &id);
        }
    }

    /// Calls off all that is arranged for a group that is removed.
    pub(crate) fn discard(&mut self, cluster: &mut Cluster) {
        self.cancel_join_timer(cluster);
        if let Some(timer) = self.sync_timer.take() {
            cluster.timers.cancel(timer);
        }
        for timer in std::mem::take(&mut self.pending).into_values() {
            cluster.timers.cancel(timer);
        }
    }
}
