//! The client's place in its group, whichever protocol the group speaks.

use std::sync::Arc;

use ottla_protocol::api::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::api::heartbeat::HeartbeatRequest;
use ottla_protocol::api::join_group::JoinGroupRequest;
use ottla_protocol::api::metadata::MetadataRequest;
use ottla_protocol::api::sync_group::SyncGroupRequest;

use super::commits::Commits;
use super::committer::Committer;
use super::decode;
use super::interest::Interest;
use super::membership::{Membership, State};
use super::orders::{Order, RebalanceProtocol};
use super::reconcile::Reconciler;
use super::requests::Way;
use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, Outcome};
use crate::context::Ctx;
use crate::env::Instant;
use crate::error::Error;
use crate::sys::Instant;

/// A place in a group, by `group.protocol`.
#[derive(Debug)]
pub(super) enum Place {
    /// The members divide (`classic`).
    Classic(Box<Membership>),
    /// The coordinator divides (`consumer`, KIP-848).
    Consumer(Box<Reconciler>),
}

impl Place {
    pub(super) fn new(conf: &ClientConfig) -> Self {
        match conf.group_protocol.as_str() {
            "consumer" => Place::Consumer(Box::new(Reconciler::new(conf))),
            _ => Place::Classic(Box::new(Membership::new(conf))),
        }
    }

    // ---------------------------------------------------------------- what others may know

    /// Neither in a group nor on the way into or out of one.
    pub(super) fn is_out(&self) -> bool {
        match self {
            Place::Classic(m) => m.is_out(),
            Place::Consumer(r) => r.is_out(),
        }
    }

    /// Whether the member is in the group and knows what that gave it.
    pub(super) fn knows_its_assignment(&self) -> bool {
        match self {
            Place::Classic(m) => m.knows_its_assignment(),
            Place::Consumer(r) => r.is_in(),
        }
    }

    /// Where the membership stands, by the name that programs know.
    pub(super) fn public_state(&self) -> &'static str {
        match self {
            Place::Classic(m) => match m.state {
                State::Out | State::Wanting | State::Leaving(_) => "init",
                State::Revoking => "wait-unassign-to-complete",
                State::Joining(_) => "wait-join",
                State::Dividing { .. } => "wait-metadata",
                State::Syncing(_) => "wait-sync",
                State::Stable => "steady",
            },
            Place::Consumer(r) => r.public_state(),
        }
    }

    /// The member id, empty outside of the group, and the generation or member epoch, -1 then.
    pub(super) fn who(&self) -> (&str, i32) {
        match self {
            Place::Classic(m) => (&m.member_id, m.generation),
            Place::Consumer(r) => r.who(),
        }
    }

    /// How the group hands partitions over.
    pub(super) fn protocol(&self) -> RebalanceProtocol {
        match self {
            Place::Classic(m) => m.protocol,
            Place::Consumer(r) if r.is_out() => RebalanceProtocol::None,
            Place::Consumer(_) => RebalanceProtocol::Cooperative,
        }
    }

    /// As whom offsets are committed and read.
    pub(super) fn identity(&self) -> Committer {
        match self {
            Place::Classic(m) => Committer {
                member_id: m.member_id.clone(),
                generation: m.generation,
                life: None,
            },
            Place::Consumer(r) => r.identity(),
        }
    }

    /// The subscription.
    pub(super) fn topics(&self) -> Vec<String> {
        match self {
            Place::Classic(m) => m.interest.wanted().to_vec(),
            Place::Consumer(r) => r.topics(),
        }
    }

    pub(super) fn take_orders(&mut self) -> Vec<Order> {
        match self {
            Place::Classic(m) => m.take_orders(),
            Place::Consumer(r) => r.take_orders(),
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
            Place::Classic(m) => m.subscribe(ctx, cluster, Interest::new(topics)?),
            Place::Consumer(r) => r.subscribe(ctx, cluster, topics),
        }
        Ok(())
    }

    pub(super) fn unsubscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        match self {
            Place::Classic(m) => m.unsubscribe(ctx, cluster),
            Place::Consumer(r) => r.unsubscribe(ctx, cluster),
        }
    }

    /// What was to be revoked was given up.
    pub(super) fn on_revoked(&mut self, ctx: &Ctx<'_>, commits: &Commits) {
        match self {
            Place::Classic(m) => m.on_revoked(ctx),
            Place::Consumer(r) => r.on_revoked(commits.newest()),
        }
    }

    /// The application polls too rarely.
    pub(super) fn park(&mut self, ctx: &Ctx<'_>, over_ms: u64) {
        match self {
            Place::Classic(m) => m.park(ctx, over_ms),
            Place::Consumer(r) => r.park(ctx, over_ms),
        }
    }

    /// The application polls.
    pub(super) fn unpark(&mut self, ctx: &Ctx<'_>) {
        match self {
            Place::Classic(m) => m.unpark(ctx),
            Place::Consumer(r) => r.unpark(ctx.now),
        }
    }

    /// Ends membership without waiting for anybody.
    pub(super) fn abandon(&mut self) {
        match self {
            Place::Classic(m) => m.abandon(),
            Place::Consumer(r) => r.abandon(),
        }
    }

    // ---------------------------------------------------------------- driver

    /// Takes in the time that has passed and what became of commits.
    pub(super) fn prepare(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster, commits: &Commits) {
        match self {
            Place::Classic(m) => {
                m.check_session(ctx);
                m.check_listing(ctx, cluster);
            }
            Place::Consumer(r) => {
                if r.settling().is_some_and(|commit| commits.are_settled(commit)) {
                    r.on_settled();
                }
            }
        }
    }

    /// Whether a request is due.
    pub(super) fn has_work(&self, now: Instant) -> bool {
        match self {
            Place::Classic(m) => m.has_work(now),
            Place::Consumer(r) => r.has_work(now),
        }
    }

    /// When to be called again, if nothing else happens.
    pub(super) fn wake(&self, conf: &ClientConfig) -> Option<Instant> {
        match self {
            Place::Classic(m) => m.wake(conf),
            Place::Consumer(r) => r.wake(),
        }
    }

    /// Whether the connection to the coordinator is to be closed, so that the member does not wait behind a request that the
    /// coordinator holds back.
    pub(super) fn take_hang_up(&mut self) -> bool {
        match self {
            Place::Classic(m) => m.take_hang_up(),
            Place::Consumer(_) => false,
        }
    }

    /// Whether the coordinator holds back its answer until others have spoken; what is asked meanwhile waits behind it.
    pub(super) fn waits_for_others(&self) -> bool {
        match self {
            Place::Classic(m) => m.waits_for_others(),
            Place::Consumer(_) => false,
        }
    }

    /// Sends what is due.
    pub(super) fn send(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, way: &Way<'_>, next_id: &mut u64) {
        match self {
            Place::Classic(m) => m.send(ctx, cluster, way, next_id),
            Place::Consumer(r) => r.send(ctx, way, next_id),
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
            Place::Classic(m) if m.is_join(id) => {
                let result = decode::<JoinGroupRequest>(ctx, key, outcome);
                m.on_joined(ctx, cluster, result)
            }
            Place::Classic(m) if m.is_sync(id) => {
                let result = decode::<SyncGroupRequest>(ctx, key, outcome);
                m.on_synced(ctx, cluster, result)
            }
            Place::Classic(m) if m.is_heartbeat(id) => {
                let result = decode::<HeartbeatRequest>(ctx, key, outcome);
                m.on_heartbeat(ctx, result)
            }
            Place::Classic(m) if m.is_leave(id) => {
                m.on_left(ctx);
                false
            }
            Place::Consumer(r) if r.is_heartbeat(id) => {
                let result = decode::<ConsumerGroupHeartbeatRequest>(ctx, key, outcome);
                r.on_heartbeat(ctx, cluster, result)
            }
            Place::Consumer(r) if r.is_lookup(id) => {
                let result = decode::<MetadataRequest>(ctx, key, outcome);
                r.on_looked_up(ctx, result);
                false
            }
            Place::Consumer(r) if r.is_leave(id) => {
                r.on_left();
                false
            }
            _ => false,
        }
    }

    /// The coordinator has news, or does not know this member: asks it at once how things are.
    pub(super) fn ask_at_once(&mut self, ctx: &Ctx<'_>) {
        match self {
            Place::Classic(m) => m.ask_at_once(ctx),
            Place::Consumer(r) => r.ask_at_once(ctx.now),
        }
    }

    pub(super) fn on_topic_changed(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster, name: &Arc<str>) {
        match self {
            Place::Classic(m) => m.on_topic_changed(ctx, cluster, name),
            Place::Consumer(r) => r.on_topic_changed(cluster, name),
        }
    }
}
