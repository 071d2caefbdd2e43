//! The consumer's group: its coordinator, this client's membership, and offsets kept with the coordinator.
//!
//! Commits work without membership as well: a client that assigns partitions itself commits outside any generation.

mod actions;
mod assignor;
mod classic;
mod commit_identity;
mod commits;
mod consumer_protocol;
mod leader_assignment;
mod member_messages;
mod offset_fetch;
mod offset_messages;
mod poll_watch;
mod protocol;
mod requests;
mod revocation;
mod subscription;
mod topic_errors;

use std::sync::Arc;

use ottla_protocol::Request;
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::api::offset_fetch::OffsetFetchRequest;

use super::positions::{Origin, Position};
use super::shared_state::SharedState;
use super::{CommitTarget, OffsetsResult, int32, millis};
use crate::cluster::{Cluster, Coordinator};
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, ConnectionTable, Outcome, Owner};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{PartitionState, Queue};
use crate::interceptor::Interceptor;
use crate::reply::Reply;
use crate::request::{CoordinatorType, ReadyBroker};
use crate::sys::{Instant, earliest};
use crate::types::{PartitionOffset, TopicPartition};

use commit_identity::CommitIdentity;
use commits::{Commits, ErrorEffects, Purpose};
use offset_fetch::{OffsetFetches, Requester};
use poll_watch::PollWatch;
use protocol::GroupProtocol;
use requests::CoordinatorConnection;

pub use actions::RebalanceProtocol;
pub(super) use actions::{GroupAction, rows};
pub(super) use offset_fetch::Found;

/// Who speaks to the coordinator.
#[derive(Debug, Clone, Copy)]
struct GroupIdentity<'a> {
    group_id: &'a str,
    member: &'a CommitIdentity,
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
    shared: Arc<SharedState>,
    coordinator: Coordinator,
    commits: Commits,
    offset_fetches: OffsetFetches,
    protocol: GroupProtocol,
    poll_watch: PollWatch,
    next_id: u64,
    reported_error: ErrorCode,
    failures: Vec<Error>,
}

impl Group {
    /// `events` is where commit results go that nobody waits for.
    pub(super) fn new(
        conf: &ClientConfig,
        shared: Arc<SharedState>,
        events: Option<Arc<Queue>>,
        interceptor: Option<Arc<dyn Interceptor>>,
    ) -> Self {
        Group {
            group_id: conf.group_id.clone(),
            instance_id: Some(conf.group_instance_id.clone()).filter(|i| !i.is_empty()),
            auto_commit: conf.enable_auto_commit,
            auto_commit_interval_ms: millis(conf.auto_commit_interval_ms),
            keeps_offsets: conf.offset_store_method != "none",
            shared,
            coordinator: Coordinator::new(CoordinatorType::Group, Owner::Group),
            commits: Commits::new(events, interceptor),
            offset_fetches: OffsetFetches::default(),
            protocol: GroupProtocol::new(conf),
            poll_watch: PollWatch::new(conf),
            next_id: 0,
            reported_error: ErrorCode::NO_ERROR,
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
        if let Some(who) = self.commit_identity() {
            self.commits
                .commit_tracked(ctx, &who, positions.map(|p| p.state.id()), true);
        }
    }

    /// As whom offsets are committed now; `None` while the client has or wants a place in the group and is in no
    /// generation: the partitions may be others', and without a generation the coordinator could not tell.
    fn commit_identity(&self) -> Option<CommitIdentity> {
        (self.protocol.is_inactive() || self.protocol.has_assignment()).then(|| self.protocol.identity())
    }

    /// A partition is not consumed any more.
    pub(super) fn forget_partition(&mut self, state: &Arc<PartitionState>) {
        self.commits.untrack(state.id());
        self.offset_fetches.cancel(state.id());
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
        match self.commit_identity() {
            Some(who) => {
                let outside = self.protocol.is_inactive();
                for row in &mut rows {
                    row.error = match outside || is_own(&row.tp) {
                        true => ErrorCode::NO_ERROR,
                        false => ErrorCode::L_ASSIGNMENT_LOST,
                    };
                }
                self.commits.push(ctx, who, rows, Purpose::Call(target));
            }
            None => {
                let error = match self.shared.is_assignment_lost() {
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
        self.offset_fetches.fetch(now, tps, Requester::Call(reply), deadline);
    }

    /// Reads the committed offset of a consumed partition.
    pub(super) fn look_up_committed(&mut self, now: Instant, (id, lookup_id): (u32, u64), tp: TopicPartition) {
        self.offset_fetches
            .fetch(now, vec![tp], Requester::Position { id, lookup_id }, Instant::NEVER);
    }

    /// Committed offsets that were found for consumed partitions since the last call.
    pub(super) fn take_found(&mut self) -> Vec<Found> {
        let found = self.offset_fetches.take_found();
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
        (self.coordinator.public_state(connections), self.protocol.public_state())
    }

    // ---------------------------------------------------------------- membership

    /// Whether the client is not in the group.
    pub(super) fn is_inactive(&self) -> bool {
        self.protocol.is_inactive()
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
        self.protocol.subscribe(ctx, cluster, topics)
    }

    pub(super) fn unsubscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        self.protocol.unsubscribe(ctx, cluster);
    }

    /// How the group hands partitions over.
    pub(super) fn rebalance_protocol(&self) -> RebalanceProtocol {
        self.protocol.rebalance_protocol()
    }

    pub(super) fn subscription(&self) -> Vec<String> {
        self.protocol.topics()
    }

    /// The partitions that an order revoked were given up.
    pub(super) fn on_revoked(&mut self, ctx: &Ctx<'_>) {
        self.protocol.on_revoked(ctx, &self.commits);
    }

    /// What is to be done with the partitions, and what the application is to be told.
    pub(super) fn take_actions(&mut self) -> Vec<GroupAction> {
        let mut actions = self.protocol.take_actions();
        actions.extend(self.failures.drain(..).map(GroupAction::ReportError));
        actions
    }

    /// Whether nothing is left to be done before the client can end: membership is over and commits are answered.
    pub(super) fn is_idle(&self) -> bool {
        self.protocol.is_inactive() && self.commits.is_idle()
    }

    /// Gives up whatever is under way.
    pub(super) fn close(&mut self, error: &Error) {
        self.protocol.abandon();
        self.commits.close(error);
        self.offset_fetches.close(error);
    }

    // ---------------------------------------------------------------- driver

    /// Leaves the group while the application does not take what it is given: others can have its partitions.
    pub(super) fn check_poll_interval<'a>(&mut self, ctx: &mut Ctx<'_>, positions: impl Iterator<Item = &'a Position>) {
        if self.protocol.is_inactive() || !self.poll_watch.is_due(ctx.now) {
            return;
        }
        let own = std::iter::once(self.shared.consumer_queue().activity());
        let apart = positions.map(|p| p.state.queue().activity());
        if self.poll_watch.look(ctx.now, own.chain(apart)) {
            self.protocol.rejoin_on_poll(ctx);
        } else {
            self.protocol
                .leave_on_max_poll(ctx, self.poll_watch.overdue_ms(ctx.now));
            self.publish();
        }
    }

    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        if !self.is_configured() {
            return None;
        }
        if self.protocol.take_force_close() {
            self.coordinator.force_close(ctx);
        }
        if self.commits.needs_prepare(ctx.now) {
            let who = self.commit_identity();
            self.commits.prepare(ctx, who.as_ref());
        }
        self.offset_fetches.prepare(ctx.now);
        self.protocol.prepare(ctx, cluster, &self.commits);
        // Commits go first: those of a revocation must reach the coordinator before the member joins anew or leaves.
        if self.has_work(ctx.now) {
            let connection = self
                .coordinator
                .connection(ctx, cluster, &self.group_id, &mut self.next_id);
            if let Some(broker) = connection {
                let ReadyBroker { key, versions } = broker.clone();
                let who = GroupIdentity {
                    group_id: &self.group_id,
                    member: &self.protocol.identity(),
                    instance_id: self.instance_id.as_deref(),
                };
                self.commits.send(ctx, (key, &versions), &who, &mut self.next_id);
                let aside = match self.protocol.awaits_rebalance() && self.offset_fetches.has_work(ctx.now) {
                    true => self.coordinator.connection_aside(ctx, broker),
                    false => Some(broker),
                };
                if let Some(ReadyBroker { key, versions }) = aside {
                    self.offset_fetches.send(ctx, (key, &versions), &who, &mut self.next_id);
                }
                let to = CoordinatorConnection {
                    key,
                    versions: &versions,
                    group_id: &self.group_id,
                    commits_first: self.commits.has_unsent(),
                };
                self.protocol.send(ctx, cluster, &to, &mut self.next_id);
            }
        }
        if let Some(error) = self
            .coordinator
            .take_failure()
            .filter(|e| e.code != self.reported_error)
        {
            self.reported_error = error.code;
            self.failures.push(error);
        }
        self.publish();
        let search = if self.has_work(ctx.now) {
            self.coordinator.wake(ctx.now)
        } else {
            None
        };
        let later = |at: &Instant| *at > ctx.now;
        let member = self.protocol.wake(ctx.conf).filter(later);
        let watch = (!self.protocol.is_inactive()).then(|| self.poll_watch.next_look());
        let offsets = earliest(self.commits.wake(ctx.now), self.offset_fetches.wake(ctx.now)).filter(later);
        earliest(earliest(search, member), earliest(watch, offsets))
    }

    /// Tells the application's threads who this client is in its group.
    fn publish(&self) {
        let (member_id, generation) = self.protocol.who();
        self.shared
            .set_member(member_id, generation, self.protocol.rebalance_protocol());
    }

    /// Whether something is due to be sent.
    fn has_work(&self, now: Instant) -> bool {
        self.commits.has_work(now) || self.offset_fetches.has_work(now) || self.protocol.has_work(now)
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
            let effects = self.commits.on_committed(ctx, result);
            lost = self.apply_effects(ctx, effects);
        } else if self.offset_fetches.is_in_flight(id) {
            let result = decode::<OffsetFetchRequest>(ctx, key, outcome);
            let effects = self.offset_fetches.on_response(ctx, id, result);
            lost = self.apply_effects(ctx, effects);
        } else {
            // Silence puts the membership at risk, and the other end may be gone: `socket.max.fails` is not waited for.
            if matches!(&outcome, Outcome::Failed(failure) if failure.error.code == ErrorCode::L_TIMED_OUT) {
                ctx.connections.force_close(key, ctx.now);
            }
            lost = self.protocol.on_outcome(ctx, cluster, key, id, outcome);
        }
        if lost {
            self.coordinator.forget(ctx);
        } else {
            self.reported_error = ErrorCode::NO_ERROR;
        }
        self.publish();
    }

    /// Draws the consequences of an answer about offsets; true when the coordinator has to be looked for again.
    fn apply_effects(&mut self, ctx: &Ctx<'_>, effects: ErrorEffects) -> bool {
        if effects.member_unknown {
            self.protocol.heartbeat_now(ctx);
        }
        effects.coordinator_lost
    }

    pub(super) fn on_connection_down(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, error: Option<&Error>) {
        self.coordinator.on_connection_down(ctx, key, error);
    }

    pub(super) fn on_topic_changed(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster, name: &Arc<str>) {
        self.protocol.on_topic_changed(ctx, cluster, name);
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
