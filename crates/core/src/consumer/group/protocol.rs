//! Membership of a group, with either group protocol.

use std::sync::Arc;

use ottla_protocol::api::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::api::heartbeat::HeartbeatRequest;
use ottla_protocol::api::join_group::JoinGroupRequest;
use ottla_protocol::api::metadata::MetadataRequest;
use ottla_protocol::api::sync_group::SyncGroupRequest;

use super::actions::GroupAction;
use super::classic::ClassicMember;
use super::consumer_protocol::ConsumerMember;
use super::subscription::Subscription;
use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, Outcome};
use crate::consumer::offsets::{CommitIdentity, Commits};
use crate::consumer::rebalance_protocol::RebalanceProtocol;
use crate::context::Ctx;
use crate::error::Error;
use crate::membership::CoordinatorConnection;
use crate::request::{RequestIds, response_of};
use crate::sys::Instant;

/// A member of a group, by `group.protocol`.
#[derive(Debug)]
pub(super) enum GroupProtocol {
    /// The leader among the members computes the assignment (`classic`).
    Classic(Box<ClassicMember>),
    /// The coordinator computes the assignment (`consumer`, KIP-848).
    Consumer(Box<ConsumerMember>),
}

impl GroupProtocol {
    pub(super) fn new(conf: &ClientConfig) -> Self {
        match conf.group_protocol.as_str() {
            "consumer" => GroupProtocol::Consumer(Box::new(ConsumerMember::new(conf))),
            _ => GroupProtocol::Classic(Box::new(ClassicMember::new(conf))),
        }
    }

    // ---------------------------------------------------------------- queries

    /// Returns true if the client is neither in a group nor joining or leaving one.
    pub(super) fn is_inactive(&self) -> bool {
        match self {
            GroupProtocol::Classic(m) => m.is_inactive(),
            GroupProtocol::Consumer(r) => r.is_inactive(),
        }
    }

    /// Returns true if the member is in the group and has received its assignment.
    pub(super) fn has_assignment(&self) -> bool {
        match self {
            GroupProtocol::Classic(m) => m.has_assignment(),
            GroupProtocol::Consumer(r) => r.is_in(),
        }
    }

    /// Returns the state by its public name.
    pub(super) fn public_state(&self) -> &'static str {
        match self {
            GroupProtocol::Classic(m) => m.public_state(),
            GroupProtocol::Consumer(r) => r.public_state(),
        }
    }

    /// Returns the member id and the generation or member epoch; an empty id and -1 outside of the group.
    pub(super) fn member_id_and_epoch(&self) -> (&str, i32) {
        match self {
            GroupProtocol::Classic(m) => m.member_id_and_generation(),
            GroupProtocol::Consumer(r) => r.member_id_and_epoch(),
        }
    }

    /// Returns the way in which members exchange partitions.
    pub(super) fn rebalance_protocol(&self) -> RebalanceProtocol {
        match self {
            GroupProtocol::Classic(m) => m.rebalance_protocol(),
            GroupProtocol::Consumer(r) if r.is_inactive() => RebalanceProtocol::None,
            GroupProtocol::Consumer(_) => RebalanceProtocol::Cooperative,
        }
    }

    /// Returns the identity for commits and fetches of offsets.
    pub(super) fn commit_identity(&self) -> CommitIdentity {
        match self {
            GroupProtocol::Classic(m) => m.commit_identity(),
            GroupProtocol::Consumer(r) => r.commit_identity(),
        }
    }

    /// Returns the subscription.
    pub(super) fn topics(&self) -> Vec<String> {
        match self {
            GroupProtocol::Classic(m) => m.subscription().to_vec(),
            GroupProtocol::Consumer(r) => r.topics(),
        }
    }

    pub(super) fn take_actions(&mut self) -> Vec<GroupAction> {
        match self {
            GroupProtocol::Classic(m) => m.take_actions(),
            GroupProtocol::Consumer(r) => r.take_actions(),
        }
    }

    // ---------------------------------------------------------------- the application's calls

    /// Joins for these topics. The client matches patterns in a classic group, the coordinator does otherwise.
    ///
    /// # Errors
    /// `L_INVALID_ARG` for an invalid pattern in a classic group.
    pub(super) fn subscribe(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        topics: &[String],
    ) -> Result<(), Error> {
        match self {
            GroupProtocol::Classic(m) => m.subscribe(ctx, cluster, Subscription::new(topics)?),
            GroupProtocol::Consumer(r) => r.subscribe(ctx, cluster, topics),
        }
        Ok(())
    }

    pub(super) fn unsubscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        match self {
            GroupProtocol::Classic(m) => m.unsubscribe(ctx, cluster),
            GroupProtocol::Consumer(r) => r.unsubscribe(ctx, cluster),
        }
    }

    /// Handles the end of a revocation.
    pub(super) fn on_revoked(&mut self, ctx: &Ctx<'_>, commits: &Commits) {
        match self {
            GroupProtocol::Classic(m) => m.on_revoked(ctx),
            GroupProtocol::Consumer(r) => r.on_revoked(commits.newest()),
        }
    }

    /// Leaves the group because the application exceeded `max.poll.interval.ms`.
    pub(super) fn leave_on_max_poll(&mut self, ctx: &Ctx<'_>, over_ms: u64) {
        match self {
            GroupProtocol::Classic(m) => m.leave_on_max_poll(ctx, over_ms),
            GroupProtocol::Consumer(r) => r.leave_on_max_poll(ctx, over_ms),
        }
    }

    /// Joins again, if [`leave_on_max_poll`](Self::leave_on_max_poll) was called.
    pub(super) fn rejoin_on_poll(&mut self, ctx: &Ctx<'_>) {
        match self {
            GroupProtocol::Classic(m) => m.rejoin_on_poll(ctx),
            GroupProtocol::Consumer(r) => r.rejoin_on_poll(ctx.now),
        }
    }

    /// Ends membership at once.
    pub(super) fn abandon(&mut self) {
        match self {
            GroupProtocol::Classic(m) => m.abandon(),
            GroupProtocol::Consumer(r) => r.abandon(),
        }
    }

    // ---------------------------------------------------------------- driver

    /// Handles the end of sessions, new topic listings and answered commits.
    pub(super) fn prepare(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster, commits: &Commits) {
        match self {
            GroupProtocol::Classic(m) => {
                m.check_session(ctx);
                m.check_listing(ctx, cluster);
            }
            GroupProtocol::Consumer(r) => {
                if r.awaited_commit().is_some_and(|commit| commits.are_answered(commit)) {
                    r.on_commits_answered();
                }
            }
        }
    }

    /// Returns true if a request is due.
    pub(super) fn has_work(&self, now: Instant) -> bool {
        match self {
            GroupProtocol::Classic(m) => m.has_work(now),
            GroupProtocol::Consumer(r) => r.has_work(now),
        }
    }

    /// Returns when to call the member again if nothing else happens.
    pub(super) fn wake(&self, conf: &ClientConfig) -> Option<Instant> {
        match self {
            GroupProtocol::Classic(m) => m.wake(conf),
            GroupProtocol::Consumer(r) => r.wake(),
        }
    }

    /// Returns true, once, if the connection to the coordinator is to be closed because of a delayed response.
    pub(super) fn take_force_close(&mut self) -> bool {
        match self {
            GroupProtocol::Classic(m) => m.take_force_close(),
            GroupProtocol::Consumer(_) => false,
        }
    }

    /// Returns true if the coordinator delays a response until other members have joined: requests on the same connection
    /// wait for that.
    pub(super) fn awaits_rebalance(&self) -> bool {
        match self {
            GroupProtocol::Classic(m) => m.awaits_rebalance(),
            GroupProtocol::Consumer(_) => false,
        }
    }

    /// Sends the requests that are due.
    pub(super) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        to: &CoordinatorConnection<'_>,
        ids: &mut RequestIds,
    ) {
        match self {
            GroupProtocol::Classic(m) => m.send(ctx, cluster, to, ids),
            GroupProtocol::Consumer(r) => r.send(ctx, to, ids),
        }
    }

    /// Handles a request's outcome; returns true if the coordinator has to be looked up again.
    pub(super) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        id: u64,
        outcome: Outcome,
    ) -> bool {
        match self {
            GroupProtocol::Classic(m) if m.is_join(id) => {
                let result = response_of::<JoinGroupRequest>(ctx, key, outcome);
                m.on_joined(ctx, cluster, result)
            }
            GroupProtocol::Classic(m) if m.is_sync(id) => {
                let result = response_of::<SyncGroupRequest>(ctx, key, outcome);
                m.on_synced(ctx, cluster, result)
            }
            GroupProtocol::Classic(m) if m.is_heartbeat(id) => {
                let result = response_of::<HeartbeatRequest>(ctx, key, outcome);
                m.on_heartbeat(ctx, result)
            }
            GroupProtocol::Classic(m) if m.is_leave(id) => {
                m.on_left(ctx);
                false
            }
            GroupProtocol::Consumer(r) if r.is_heartbeat(id) => {
                let result = response_of::<ConsumerGroupHeartbeatRequest>(ctx, key, outcome);
                r.on_heartbeat(ctx, cluster, result)
            }
            GroupProtocol::Consumer(r) if r.is_lookup(id) => {
                let result = response_of::<MetadataRequest>(ctx, key, outcome);
                r.on_looked_up(ctx, result);
                false
            }
            GroupProtocol::Consumer(r) if r.is_leave(id) => {
                r.on_left();
                false
            }
            _ => false,
        }
    }

    /// Sends a heartbeat at once, because the coordinator may have removed this member.
    pub(super) fn heartbeat_now(&mut self, ctx: &Ctx<'_>) {
        match self {
            GroupProtocol::Classic(m) => m.heartbeat_now(ctx),
            GroupProtocol::Consumer(r) => r.heartbeat_now(ctx.now),
        }
    }

    pub(super) fn on_topic_changed(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster, name: &Arc<str>) {
        match self {
            GroupProtocol::Classic(m) => m.on_topic_changed(ctx, cluster, name),
            GroupProtocol::Consumer(r) => r.on_topic_changed(cluster, name),
        }
    }
}
