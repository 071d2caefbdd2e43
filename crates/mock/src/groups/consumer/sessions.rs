//! Members that are waited for, and those who go.

use super::{ConsumerGroup, MemberTimer};
use crate::cluster::Cluster;

impl ConsumerGroup {
    pub(super) fn set_timer(&mut self, cluster: &mut Cluster, id: &str, timer: MemberTimer, timeout_ms: i32) {
        if let Some(member) = self.members.get_mut(id) {
            member.set_timer(cluster, &self.id, timer, timeout_ms);
        }
    }

    /// A member was waited for long enough: it is out. True when it was in.
    pub(crate) fn timer_due(&mut self, cluster: &mut Cluster, id: &str, timer: MemberTimer) -> bool {
        if let Some(member) = self.members.get_mut(id) {
            member.timer_fired(timer);
        }
        self.remove(cluster, id)
    }

    /// Takes a member out; what it held is free at once. True when it was in.
    pub(super) fn remove(&mut self, cluster: &mut Cluster, id: &str) -> bool {
        let Some(mut member) = self.members.remove(id) else {
            return false;
        };
        member.cancel_timers(cluster);
        if let Some(instance) = &member.instance_id {
            self.static_members.remove(instance);
        }
        self.drop_expressions();
        true
    }

    /// Members have gone: the others shall have what was theirs.
    pub(crate) fn members_gone(&mut self, cluster: &Cluster) {
        self.raise_epoch(cluster, true);
    }

    /// Begins to wait for the heartbeats of members that came from a classic group.
    pub(in crate::groups) fn begin_sessions(&mut self, cluster: &mut Cluster) {
        for member in self.members.values_mut() {
            if let Some(timeout_ms) = member.classic.as_ref().map(|c| c.session_timeout_ms) {
                member.set_timer(cluster, &self.id, MemberTimer::Session, timeout_ms);
            }
        }
    }

    /// Whatever members are waited for begins now: another coordinator counts anew.
    pub(crate) fn restart_timers(&mut self, cluster: &mut Cluster) {
        let session_timeout_ms = cluster.config.group_consumer_session_timeout_ms;
        for member in self.members.values_mut() {
            for timer in member.running() {
                let timeout_ms = match (timer, &member.classic) {
                    (MemberTimer::Session, None) => session_timeout_ms,
                    (MemberTimer::Session, Some(classic)) => classic.session_timeout_ms,
                    _ => member.rebalance_timeout_ms,
                };
                member.set_timer(cluster, &self.id, timer, timeout_ms);
            }
        }
    }

    /// Calls off all that is arranged for a group that is removed.
    pub(crate) fn discard(&mut self, cluster: &mut Cluster) {
        for member in self.members.values_mut() {
            member.cancel_timers(cluster);
        }
    }
}
