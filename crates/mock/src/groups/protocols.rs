//! What is asked of a group, led to the protocol that it speaks.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use ottla_protocol::api::join_group::JoinGroupRequest;
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::api::sync_group::SyncGroupRequest;
use ottla_protocol::api::txn_offset_commit::TxnOffsetCommitRequest;

use super::consumer::PROTOCOL_TYPE;
use super::{
    ClassicGroup, CommitRecord, ConsumerGroup, Group, GroupState, JoinOutcome, MemberTimer, Membership, SyncOutcome,
};
use crate::cluster::Cluster;
use crate::dispatch::Context;
use crate::handlers::k11_join_group::failed_join;
use crate::handlers::k14_sync_group::failed_sync;

impl Group {
    pub(crate) fn is_empty(&self) -> bool {
        match &self.membership {
            Membership::Classic(group) => group.state() == GroupState::Empty,
            Membership::Consumer(group) => group.is_empty(),
        }
    }

    /// The state under Kafka's name.
    pub(crate) fn state_name(&self) -> &'static str {
        match &self.membership {
            Membership::Classic(group) => group.state().name(),
            Membership::Consumer(group) => group.state_name(),
        }
    }

    /// The group's type as ListGroups names it.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.membership {
            Membership::Classic(_) => "classic",
            Membership::Consumer(_) => "consumer",
        }
    }

    pub(crate) fn protocol_type(&self) -> &str {
        match &self.membership {
            Membership::Classic(group) => group.protocol_type(),
            Membership::Consumer(_) => PROTOCOL_TYPE,
        }
    }

    /// The generation or, in the consumer protocol, the group's epoch.
    pub(crate) fn generation(&self) -> i32 {
        match &self.membership {
            Membership::Classic(group) => group.generation(),
            Membership::Consumer(group) => group.epoch(),
        }
    }

    // ---------------------------------------------------------------- classic protocol

    pub(crate) fn join(&mut self, cluster: &mut Cluster, context: &Context, request: JoinGroupRequest) -> JoinOutcome {
        // What nobody is in any more takes any protocol.
        if matches!(&self.membership, Membership::Consumer(group) if group.is_empty()) {
            self.discard(cluster);
            self.membership = Membership::Classic(ClassicGroup::new(&self.id));
        }
        let joined = match &mut self.membership {
            Membership::Classic(group) => return group.join(cluster, context, request),
            Membership::Consumer(group) => group.join_classic(cluster, context, &request),
        };
        JoinOutcome::Respond(match joined {
            Ok(joined) => {
                if joined.replaces {
                    self.static_member_replaced(cluster, joined.subscription_changed);
                }
                joined.response
            }
            Err(error) => failed_join(context, &request.member_id, error),
        })
    }

    pub(crate) fn sync(&mut self, cluster: &mut Cluster, context: &Context, request: SyncGroupRequest) -> SyncOutcome {
        match &mut self.membership {
            Membership::Classic(group) => group.sync(cluster, context, request),
            Membership::Consumer(group) => {
                let synced = group.sync_classic(cluster, context, &request);
                SyncOutcome::Respond(synced.unwrap_or_else(|error| failed_sync(context, error)))
            }
        }
    }

    pub(crate) fn heartbeat(
        &mut self,
        cluster: &mut Cluster,
        member: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Result<(), ErrorCode> {
        match &mut self.membership {
            Membership::Classic(group) => group.heartbeat(cluster, member, instance, generation),
            Membership::Consumer(group) => group.heartbeat_classic(cluster, member, instance, generation),
        }
    }

    pub(crate) fn leave(
        &mut self,
        cluster: &mut Cluster,
        member: &str,
        instance: Option<&str>,
    ) -> Result<(), ErrorCode> {
        match &mut self.membership {
            Membership::Classic(group) => group.leave(cluster, member, instance),
            Membership::Consumer(group) => {
                group.leave_classic(cluster, member, instance)?;
                self.consumer_members_gone(cluster);
                Ok(())
            }
        }
    }

    // ---------------------------------------------------------------- consumer protocol

    /// A heartbeat of the consumer protocol that stays or joins; the latter turns a classic group into one of that
    /// protocol where it can.
    pub(crate) fn consumer_heartbeat(
        &mut self,
        cluster: &mut Cluster,
        context: &Context,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<ConsumerGroupHeartbeatResponse, ErrorCode> {
        if matches!(self.membership, Membership::Classic(_)) {
            match (request.member_epoch, self.is_empty()) {
                (0, true) => {
                    self.discard(cluster);
                    self.membership = Membership::Consumer(ConsumerGroup::new(&self.id));
                }
                (0, false) => self.upgrade(cluster)?,
                _ => return Err(ErrorCode::GROUP_ID_NOT_FOUND),
            }
        }
        match &mut self.membership {
            Membership::Consumer(group) => group.heartbeat(cluster, context, request),
            Membership::Classic(_) => Err(ErrorCode::GROUP_ID_NOT_FOUND),
        }
    }

    /// A heartbeat of the consumer protocol that leaves.
    pub(crate) fn consumer_leave(
        &mut self,
        cluster: &mut Cluster,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<(), ErrorCode> {
        let Membership::Consumer(group) = &mut self.membership else {
            return Err(ErrorCode::GROUP_ID_NOT_FOUND);
        };
        if group.leave(cluster, request)? {
            self.consumer_members_gone(cluster);
        }
        Ok(())
    }

    // ---------------------------------------------------------------- offsets

    /// Whether a commit from outside of transactions may be taken.
    pub(crate) fn check_commit(
        &mut self,
        cluster: &mut Cluster,
        version: i16,
        request: &OffsetCommitRequest,
    ) -> Result<(), ErrorCode> {
        let (member, generation) = (&request.member_id, request.generation_id_or_member_epoch);
        let instance = request.group_instance_id.as_deref();
        match &mut self.membership {
            Membership::Classic(group) => group.check_commit(cluster, member, instance, generation),
            Membership::Consumer(group) => group.check_commit(member, generation, version),
        }
    }

    /// Whether a commit as part of a transaction may be taken.
    pub(crate) fn check_transactional_commit(
        &mut self,
        cluster: &mut Cluster,
        request: &TxnOffsetCommitRequest,
    ) -> Result<(), ErrorCode> {
        let (member, generation) = (&request.member_id, request.generation_id);
        let instance = request.group_instance_id.as_deref();
        match &mut self.membership {
            Membership::Classic(group) => group.check_transactional_commit(cluster, member, instance, generation),
            Membership::Consumer(group) => group.check_transactional_commit(member, instance, generation),
        }
    }

    /// A producer's transaction has ended: the offsets that it committed count, or are forgotten.
    pub(crate) fn end_transaction(&mut self, cluster: &mut Cluster, producer_id: i64, epoch: i16, commits: bool) {
        let ended = self.offsets.end_transaction(producer_id, epoch, commits);
        if let Some(log) = &mut cluster.groups.commit_log {
            log.extend(
                ended
                    .into_iter()
                    .map(|(topic, partition, pending, before)| CommitRecord {
                        group: self.id.clone(),
                        member: pending.committer.member,
                        generation: pending.committer.generation,
                        topic,
                        partition,
                        offset: pending.committed.offset,
                        before,
                        broker: pending.committer.broker,
                        connection: pending.committer.connection,
                        producer_id: Some(producer_id),
                    }),
            );
        }
    }

    /// Whether committed offsets may be told; the classic protocol has no conditions.
    pub(crate) fn check_fetch(&self, member: Option<&str>, epoch: i32) -> Result<(), ErrorCode> {
        match &self.membership {
            Membership::Classic(_) => Ok(()),
            Membership::Consumer(group) => group.check_fetch(member, epoch),
        }
    }

    // ---------------------------------------------------------------- time and coordinators

    /// The group has another coordinator.
    pub(crate) fn coordinator_moved(&mut self, cluster: &mut Cluster) {
        match &mut self.membership {
            Membership::Classic(group) => group.coordinator_moved(cluster),
            Membership::Consumer(group) => group.restart_timers(cluster),
        }
    }

    /// Every member's session begins now.
    pub(crate) fn restart_sessions(&mut self, cluster: &mut Cluster) {
        match &mut self.membership {
            Membership::Classic(group) => group.restart_sessions(cluster),
            Membership::Consumer(group) => group.restart_timers(cluster),
        }
    }

    /// Calls off all that is arranged for a group that is removed.
    pub(crate) fn discard(&mut self, cluster: &mut Cluster) {
        match &mut self.membership {
            Membership::Classic(group) => group.discard(cluster),
            Membership::Consumer(group) => group.discard(cluster),
        }
    }
}

impl Cluster {
    /// Something that a classic group waits for has not come in time.
    pub(crate) fn classic_group_due(&mut self, group: &str, due: impl FnOnce(&mut ClassicGroup, &mut Self)) {
        self.with_group(group, |cluster, group| {
            if let Membership::Classic(group) = &mut group.membership {
                due(group, cluster);
            }
        });
    }

    pub(crate) fn consumer_member_due(&mut self, group: &str, member: &str, timer: MemberTimer) {
        self.with_group(group, |cluster, group| {
            if let Membership::Consumer(consumer) = &mut group.membership
                && consumer.timer_due(cluster, member, timer)
            {
                group.consumer_members_gone(cluster);
            }
        });
    }
}
