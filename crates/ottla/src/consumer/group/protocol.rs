//! The client's place in its group, whichever protocol the group speaks.

use std::sync::Arc;

use ottla_protocol::api::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::api::heartbeat::HeartbeatRequest;
use ottla_protocol::api::join_group::JoinGroupRequest;
use ottla_protocol::api::metadata::MetadataRequest;
use ottla_protocol::api::sync_group::SyncGroupRequest;

use super::actions::{GroupAction, RebalanceProtocol};
use super::classic::{ClassicMember, State};
use super::commit_identity::CommitIdentity;
use super::commits::Commits;
use super::consumer_protocol::ConsumerMember;
use super::decode;
use super::requests::CoordinatorConnection;
use super::subscription::Subscription;
use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, Outcome};
use crate::context::Ctx;
use crate::error::Error;
use crate::sys::Instant;

/// A place in a group, by `group.protocol`.
#[derive(Debug)]
pub(super) enum GroupProtocol {
    /// The members divide (`classic`).
    Classic(Box<ClassicMember>),
    /// The coordinator divides (`consumer`, KIP-848).
    Consumer(Box<ConsumerMember>),
}

impl GroupProtocol {
    pub(super) fn new(conf: &ClientConfig) -> Self {
        match conf.group_protocol.as_str() {
            "consumer" => GroupProtocol::Consumer(Box::new(ConsumerMember::new(conf))),
            _ => GroupProtocol::Classic(Box::new(ClassicMember::new(conf))),
        }
    }

    // ---------------------------------------------------------------- what others may know

    /// Neither in a group nor on the way into or out of one.
    pub(super) fn is_inactive(&self) -> bool {
        match self {
            GroupProtocol::Classic(m) => m.is_inactive(),
            GroupProtocol::Consumer(r) => r.is_inactive(),
        }
    }

    /// Whether the member is in the group and knows what that gave it.
    pub(super) fn has_assignment(&self) -> bool {
        match self {
            GroupProtocol::Classic(m) => m.has_assignment(),
            GroupProtocol::Consumer(r) => r.is_in(),
        }
    }

    /// Where the membership stands, by the name that programs know.
    pub(super) fn public_state(&self) -> &'static str {
        match self {
            GroupProtocol::Classic(m) => match m.state {
                State::Inactive | State::PreparingJoin | State::Leaving(_) => "init",
                State::Revoking => "wait-unassign-to-complete",
                State::Joining(_) => "wait-join",
                State::AwaitingMetadata { .. } => "wait-metadata",
                State::Syncing(_) => "wait-sync",
                State::Stable => "steady",
            },
            GroupProtocol::Consumer(r) => r.public_state(),
        }
    }

    /// The member id, empty outside of the group, and the generation or member epoch, -1 then.
    pub(super) fn who(&self) -> (&str, i32) {
        match self {
            GroupProtocol::Classic(m) => (&m.member_id, m.generation),
            GroupProtocol::Consumer(r) => r.who(),
        }
    }

    /// How the group hands partitions over.
    pub(super) fn rebalance_protocol(&self) -> RebalanceProtocol {
        match self {
            GroupProtocol::Classic(m) => m.protocol,
            GroupProtocol::Consumer(r) if r.is_inactive() => RebalanceProtocol::None,
            GroupProtocol::Consumer(_) => RebalanceProtocol::Cooperative,
        }
    }

    /// As whom offsets are committed and read.
    pub(super) fn identity(&self) -> CommitIdentity {
        match self {
            GroupProtocol::Classic(m) => CommitIdentity {
                member_id: m.member_id.clone(),
                generation: m.generation,
                incarnation: None,
            },
            GroupProtocol::Consumer(r) => r.identity(),
        }
    }

    /// The subscription.
    pub(super) fn topics(&self) -> Vec<String> {
        match self {
            GroupProtocol::Classic(m) => m.subscription.wanted().to_vec(),
            GroupProtocol::Consumer(r) => r.topics(),
        }
    }

    pub(super) fn take_actions(&mut self) -> Vec<GroupAction> {
        match self {
            GroupProtocol::Classic(m) => m.take_actions(),
            GroupProtocol::Consumer(r) => r.take_actions(),
        }
    }

    // ---------------------------------------------------------------- what the application wants

    /// Joins for these topics. Patterns are matched by this client in a classic group, and by the coordinator otherwise.
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

    /// What was to be revoked was given up.
    pub(super) fn on_revoked(&mut self, ctx: &Ctx<'_>, commits: &Commits) {
        match self {
            GroupProtocol::Classic(m) => m.on_revoked(ctx),
            GroupProtocol::Consumer(r) => r.on_revoked(commits.newest()),
        }
    }

    /// The application polls too rarely.
    pub(super) fn leave_on_max_poll(&mut self, ctx: &Ctx<'_>, over_ms: u64) {
        match self {
            GroupProtocol::Classic(m) => m.leave_on_max_poll(ctx, over_ms),
            GroupProtocol::Consumer(r) => r.leave_on_max_poll(ctx, over_ms),
        }
    }

    /// The application polls.
    pub(super) fn rejoin_on_poll(&mut self, ctx: &Ctx<'_>) {
        match self {
            GroupProtocol::Classic(m) => m.rejoin_on_poll(ctx),
            GroupProtocol::Consumer(r) => r.rejoin_on_poll(ctx.now),
        }
    }

    /// Ends membership without waiting for anybody.
    pub(super) fn abandon(&mut self) {
        match self {
            GroupProtocol::Classic(m) => m.abandon(),
            GroupProtocol::Consumer(r) => r.abandon(),
        }
    }

    // ---------------------------------------------------------------- driver

    /// Takes in the time that has passed and what became of commits.
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

    /// Whether a request is due.
    pub(super) fn has_work(&self, now: Instant) -> bool {
        match self {
            GroupProtocol::Classic(m) => m.has_work(now),
            GroupProtocol::Consumer(r) => r.has_work(now),
        }
    }

    /// When to be called again, if nothing else happens.
    pub(super) fn wake(&self, conf: &ClientConfig) -> Option<Instant> {
        match self {
            GroupProtocol::Classic(m) => m.wake(conf),
            GroupProtocol::Consumer(r) => r.wake(),
        }
    }

    /// Whether the connection to the coordinator is to be closed, so that the member does not wait behind a request that the
    /// coordinator holds back.
    pub(super) fn take_force_close(&mut self) -> bool {
        match self {
            GroupProtocol::Classic(m) => m.take_force_close(),
            GroupProtocol::Consumer(_) => false,
        }
    }

    /// Whether the coordinator holds back its answer until others have spoken; what is asked meanwhile waits behind it.
    pub(super) fn awaits_rebalance(&self) -> bool {
        match self {
            GroupProtocol::Classic(m) => m.awaits_rebalance(),
            GroupProtocol::Consumer(_) => false,
        }
    }

    /// Sends what is due.
    pub(super) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        to: &CoordinatorConnection<'_>,
        next_id: &mut u64,
    ) {
        match self {
            GroupProtocol::Classic(m) => m.send(ctx, cluster, to, next_id),
            GroupProtocol::Consumer(r) => r.send(ctx, to, next_id),
        }
    }

    /// What became of a request; true when the coordinator has to be looked for again.
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
                let result = decode::<JoinGroupRequest>(ctx, key, outcome);
                m.on_joined(ctx, cluster, result)
            }
            GroupProtocol::Classic(m) if m.is_sync(id) => {
                let result = decode::<SyncGroupRequest>(ctx, key, outcome);
                m.on_synced(ctx, cluster, result)
            }
            GroupProtocol::Classic(m) if m.is_heartbeat(id) => {
                let result = decode::<HeartbeatRequest>(ctx, key, outcome);
                m.on_heartbeat(ctx, result)
            }
            GroupProtocol::Classic(m) if m.is_leave(id) => {
                m.on_left(ctx);
                false
            }
            GroupProtocol::Consumer(r) if r.is_heartbeat(id) => {
                let result = decode::<ConsumerGroupHeartbeatRequest>(ctx, key, outcome);
                r.on_heartbeat(ctx, cluster, result)
            }
            GroupProtocol::Consumer(r) if r.is_lookup(id) => {
                let result = decode::<MetadataRequest>(ctx, key, outcome);
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

    /// The coordinator has news, or does not know this member: asks it at once how things are.
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
