//! The consumer's group: its coordinator, this client's membership, and offsets kept with the coordinator.
//!
//! Commits work without membership as well: a client that assigns partitions itself commits outside any generation.

mod assignor;
mod commits;
mod committer;
mod handing_over;
mod interest;
mod leading;
mod member_messages;
mod membership;
mod offset_messages;
mod orders;
mod place;
mod poll_watch;
mod readings;
mod reconcile;
mod requests;
mod topic_errors;

use std::sync::Arc;

use ottla_protocol::Request;
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::api::offset_fetch::OffsetFetchRequest;

use super::positions::{Origin, Position};
use super::registry::Registry;
use super::{CommitTarget, OffsetsResult, int32, millis};
use crate::cluster::{Cluster, Coordinated, Coordinator};
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, ConnectionTable, Outcome, Owner};
use crate::context::Ctx;
use crate::env::{Instant, earliest};
use crate::error::{Error, ErrorCode};
use crate::event::{Interceptor, PartitionState, Queue, Reply};
use crate::sys::{Instant, earliest};
use crate::types::{PartitionOffset, TopicPartition};

use commits::{Commits, Consequences, Purpose};
use committer::Committer;
use place::Place;
use poll_watch::PollWatch;
use readings::{Reader, Readings};
use requests::Way;

pub use orders::RebalanceProtocol;
pub(super) use orders::{Order, rows};
pub(super) use readings::Found;

/// Who speaks to the coordinator.
#[derive(Debug, Clone, Copy)]
struct Identity<'a> {
    group_id: &'a str,
    member: &'a Committer,
    instance_id: Option<&'a str>,
}

/// The group of a consumer; does nothing without `group.id`.
#[derive(Debug)]
pub(super) struct Group {
    group_id: String,
    instance_id: Option<String>,
    auto_commit: bool,
    auto_commit_interval_ms: u64,
    /// Partitions of the simple API commit by themselves (`offset.store.method`).
    keeps_offsets: bool,
    registry: Arc<Registry>,
    coordinator: Coordinator,
    commits: Commits,
    readings: Readings,
    place: Place,
    poll_watch: PollWatch,
    next_id: u64,
    told: ErrorCode,
    failures: Vec<Error>,
}

impl Group {
    /// `events` is where commit results go that nobody waits for.
    pub(super) fn new(
        conf: &ClientConfig,
        registry: Arc<Registry>,
        events: Option<Arc<Queue>>,
        watcher: Option<Arc<dyn Interceptor>>,
    ) -> Self {
        Group {
            group_id: conf.group_id.clone(),
            instance_id: Some(conf.group_instance_id.clone()).filter(|i| !i.is_empty()),
            auto_commit: conf.enable_auto_commit,
            auto_commit_interval_ms: millis(conf.auto_commit_interval_ms),
            keeps_offsets: conf.offset_store_method != "none",
            registry,
            coordinator: Coordinator::new(Coordinated::Group, Owner::Group),
            commits: Commits::new(events, watcher),
            readings: Readings::default(),
            place: Place::new(conf),
            poll_watch: PollWatch::new(conf),
            next_id: 0,
            told: ErrorCode::NO_ERROR,
            failures: Vec::new(),
        }
    }

    /// Whether there is a group.
    pub(super) fn is_configured(&self) -> bool {
        !self.group_id.is_empty()
    }

    // ---------------------------------------------------------------- offsets

    /// A partition is consumed from now on.
    pub(super) fn adopt(&mut self, now: Instant, state: &Arc<PartitionState>, origin: Origin) {
        let topic = state.topic().conf();
        let (wanted, interval) = match origin {
            Origin::Assigned => (self.auto_commit, self.auto_commit_interval_ms),
            Origin::Started => (
                topic.auto_commit_enable && self.keeps_offsets,
                millis(topic.auto_commit_interval_ms),
            ),
        };
        if self.is_configured() {
            let interval = Some(interval).filter(|i| wanted && *i > 0);
            self.commits.track(now, state, interval);
        }
    }

    /// Partitions are about to be given up: commits what they have stored.
    pub(super) fn commit_before_loss<'a>(&mut self, ctx: &Ctx<'_>, positions: impl Iterator<Item = &'a Position>) {
        if let Some(who) = self.committer() {
            self.commits
                .commit_tracked(ctx, &who, positions.map(|p| p.state.id()), true);
        }
    }

    /// As whom offsets are committed now; `None` while the client has or wants a place in the group and is in no
    /// generation: the partitions may be others', and without a generation the coordinator could not tell.
    fn committer(&self) -> Option<Committer> {
        (self.place.is_out() || self.place.knows_its_assignment()).then(|| self.place.identity())
    }

    /// A partition is not consumed any more.
    pub(super) fn forget_partition(&mut self, state: &Arc<PartitionState>) {
        self.commits.untrack(state.id());
        self.readings.cancel(state.id());
    }

    /// Commits `rows`. A member commits only what is its own: an application that does not hear of rebalances may not
    /// know yet what it has lost, and would take back what the new owners committed.
    pub(super) fn commit(
        &mut self,
        ctx: &Ctx<'_>,
        mut rows: Vec<PartitionOffset>,
        target: CommitTarget,
        is_own: impl Fn(&TopicPartition) -> bool,
    ) {
        match self.committer() {
            Some(who) => {
                let outside = self.place.is_out();
                for row in &mut rows {
                    row.error = match outside || is_own(&row.tp) {
                        true => ErrorCode::NO_ERROR,
                        false => ErrorCode::L_ASSIGNMENT_LOST,
                    };
                }
                self.commits.push(ctx, who, rows, Purpose::Call(target));
            }
            None => {
                let error = match self.registry.is_assignment_lost() {
                    true => Error::new(ErrorCode::L_ASSIGNMENT_LOST, "the partitions may be others' by now"),
                    false => Error::new(ErrorCode::REBALANCE_IN_PROGRESS, "the member is in no generation yet"),
                };
                self.commits.refuse(rows, Purpose::Call(target), error);
            }
        }
    }

    /// Reports a commit that was not tried.
    pub(super) fn refuse_commit(&mut self, target: CommitTarget, error: Error) {
        self.commits.refuse(Vec::new(), Purpose::Call(target), error);
    }

    /// What the partitions have stored beyond what is committed, for a commit of the application.
    pub(super) fn uncommitted_rows<'a>(&self, positions: impl Iterator<Item = &'a Position>) -> Vec<PartitionOffset> {
        positions.filter_map(|p| self.commits.uncommitted(&p.state)).collect()
    }

    /// Reads committed offsets for the application.
    pub(super) fn committed(
        &mut self,
        now: Instant,
        tps: Vec<TopicPartition>,
        deadline: Instant,
        reply: Arc<Reply<OffsetsResult>>,
    ) {
        self.readings.read(now, tps, Reader::Call(reply), deadline);
    }

    /// Reads the committed offset of a consumed partition.
    pub(super) fn ask_committed(&mut self, now: Instant, (id, ask): (u32, u64), tp: TopicPartition) {
        self.readings
            .read(now, vec![tp], Reader::Position { id, ask }, Instant::NEVER);
    }

    /// Committed offsets that were found for consumed partitions since the last call.
    pub(super) fn take_found(&mut self) -> Vec<Found> {
        let found = self.readings.take_found();
        for one in &found {
            if let Ok(committed) = one.result {
                self.commits.note_committed(one.id, committed);
            }
        }
        found
    }

    /// The partitions may be others' by now: nothing of them is committed any more.
    pub(super) fn forget_stored_of<'a>(&mut self, positions: impl Iterator<Item = &'a Position>) {
        for position in positions.filter(|p| p.origin == Origin::Assigned) {
            self.commits.untrack(position.state.id());
        }
    }

    /// The offset last known to be committed of a partition that is consumed, with its leader epoch.
    pub(super) fn committed_of(&self, id: u32) -> Option<(i64, i32)> {
        self.commits.committed(id)
    }

    /// How far the way to the coordinator and the membership are, by the names that programs know.
    pub(super) fn public_states(&self, connections: &ConnectionTable) -> (&'static str, &'static str) {
        (self.coordinator.public_state(connections), self.place.public_state())
    }

    // ---------------------------------------------------------------- membership

    /// Whether the client is not in the group.
    pub(super) fn is_out(&self) -> bool {
        self.place.is_out()
    }

    /// Joins the group for these topics, or changes them.
    ///
    /// # Errors
    /// `L_INVALID_ARG` for a pattern that is not valid, where this client matches patterns.
    pub(super) fn subscribe(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        topics: &[String],
    ) -> Result<(), Error> {
        self.poll_watch.restart(ctx.now);
        self.place.subscribe(ctx, cluster, topics)
    }

    pub(super) fn unsubscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        self.place.unsubscribe(ctx, cluster);
    }

    /// How the group hands partitions over.
    pub(super) fn protocol(&self) -> RebalanceProtocol {
        self.place.protocol()
    }

    pub(super) fn subscription(&self) -> Vec<String> {
        self.place.topics()
    }

    /// The partitions that an order revoked were given up.
    pub(super) fn on_revoked(&mut self, ctx: &Ctx<'_>) {
        self.place.on_revoked(ctx, &self.commits);
    }

    /// What is to be done with the partitions, and what the application is to be told.
    pub(super) fn take_orders(&mut self) -> Vec<Order> {
        let mut orders = self.place.take_orders();
        orders.extend(self.failures.drain(..).map(Order::Tell));
        orders
    }

    /// Whether nothing is left to be done before the client can end: membership is over and commits are answered.
    pub(super) fn is_quiet(&self) -> bool {
        self.place.is_out() && self.commits.is_idle()
    }

    /// Gives up whatever is under way.
    pub(super) fn close(&mut self, error: &Error) {
        self.place.abandon();
        self.commits.close(error);
        self.readings.close(error);
    }

    // ---------------------------------------------------------------- driver

    /// Leaves the group while the application does not take what it is given: others can have its partitions.
    pub(super) fn watch_application<'a>(&mut self, ctx: &mut Ctx<'_>, positions: impl Iterator<Item = &'a Position>) {
        if self.place.is_out() || !self.poll_watch.is_due(ctx.now) {
            return;
        }
        let own = std::iter::once(self.registry.consumer_queue().attention());
        let apart = positions.map(|p| p.state.queue().attention());
        if self.poll_watch.look(ctx.now, own.chain(apart)) {
            self.place.unpark(ctx);
        } else {
            self.place.park(ctx, self.poll_watch.overdue_ms(ctx.now));
            self.publish();
        }
    }

    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        if !self.is_configured() {
            return None;
        }
        if self.place.take_hang_up() {
            self.coordinator.force_close(ctx);
        }
        if self.commits.has_news(ctx.now) {
            let who = self.committer();
            self.commits.prepare(ctx, who.as_ref());
        }
        self.readings.prepare(ctx.now);
        self.place.prepare(ctx, cluster, &self.commits);
        // Commits go first: those of a revocation must reach the coordinator before the member joins anew or leaves.
        if self.has_work(ctx.now) {
            let connection = self
                .coordinator
                .connection(ctx, cluster, &self.group_id, &mut self.next_id);
            if let Some((key, versions)) = connection {
                let who = Identity {
                    group_id: &self.group_id,
                    member: &self.place.identity(),
                    instance_id: self.instance_id.as_deref(),
                };
                self.commits.send(ctx, (key, &versions), &who, &mut self.next_id);
                let aside = match self.place.waits_for_others() && self.readings.has_work(ctx.now) {
                    true => self.coordinator.connection_aside(ctx, (key, versions.clone())),
                    false => Some((key, versions.clone())),
                };
                if let Some((key, versions)) = aside {
                    self.readings.send(ctx, (key, &versions), &who, &mut self.next_id);
                }
                let way = Way {
                    key,
                    versions: &versions,
                    group_id: &self.group_id,
                    commits_first: self.commits.has_untried(),
                };
                self.place.send(ctx, cluster, &way, &mut self.next_id);
            }
        }
        if let Some(error) = self.coordinator.take_failure().filter(|e| e.code != self.told) {
            self.told = error.code;
            self.failures.push(error);
        }
        self.publish();
        let search = if self.has_work(ctx.now) {
            self.coordinator.wake(ctx.now)
        } else {
            None
        };
        let later = |at: &Instant| *at > ctx.now;
        let member = self.place.wake(ctx.conf).filter(later);
        let watch = (!self.place.is_out()).then(|| self.poll_watch.next_look());
        let offsets = earliest(self.commits.wake(ctx.now), self.readings.wake(ctx.now)).filter(later);
        earliest(earliest(search, member), earliest(watch, offsets))
    }

    /// Tells the application's threads who this client is in its group.
    fn publish(&self) {
        let (member_id, generation) = self.place.who();
        self.registry.set_member(member_id, generation, self.place.protocol());
    }

    /// Whether something is due to be sent.
    fn has_work(&self, now: Instant) -> bool {
        self.commits.has_work(now) || self.readings.has_work(now) || self.place.has_work(now)
    }

    pub(super) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        id: u64,
        outcome: Outcome,
    ) {
        if self.coordinator.on_outcome(ctx, key, id, &outcome) {
            return;
        }
        let lost;
        if self.commits.is_commit(id) {
            let result = decode::<OffsetCommitRequest>(ctx, key, outcome);
            let consequences = self.commits.on_committed(ctx, result);
            lost = self.draw(ctx, consequences);
        } else if self.readings.is_sent(id) {
            let result = decode::<OffsetFetchRequest>(ctx, key, outcome);
            let consequences = self.readings.on_read(ctx, id, result);
            lost = self.draw(ctx, consequences);
        } else {
            // Silence puts the membership at risk, and the other end may be gone: `socket.max.fails` is not waited for.
            if matches!(&outcome, Outcome::Failed(failure) if failure.error.code == ErrorCode::L_TIMED_OUT) {
                ctx.connections.force_close(key, ctx.now);
            }
            lost = self.place.on_outcome(ctx, cluster, key, id, outcome);
        }
        if lost {
            self.coordinator.forget(ctx);
        } else {
            self.told = ErrorCode::NO_ERROR;
        }
        self.publish();
    }

    /// Draws the consequences of an answer about offsets; true when the coordinator has to be looked for again.
    fn draw(&mut self, ctx: &Ctx<'_>, consequences: Consequences) -> bool {
        if consequences.member_unknown {
            self.place.ask_at_once(ctx);
        }
        consequences.coordinator_lost
    }

    pub(super) fn on_connection_down(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, error: Option<&Error>) {
        self.coordinator.on_connection_down(ctx, key, error);
    }

    pub(super) fn on_topic_changed(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster, name: &Arc<str>) {
        self.place.on_topic_changed(ctx, cluster, name);
    }
}

fn decode<R: Request>(ctx: &mut Ctx<'_>, key: BrokerKey, outcome: Outcome) -> Result<R::Response, Error> {
    match outcome {
        Outcome::Reply(reply) => reply
            .decode::<R>()
            .map_err(|e| ctx.connections.fail_unreadable(key, R::KEY, e, ctx.now)),
        Outcome::Sent => Err(Error::new(ErrorCode::L_FAIL, "no response")),
        Outcome::Failed(failure) => Err(failure.error),
    }
}
