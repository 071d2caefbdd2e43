//! The consumer's group: coordinator, membership, committed offsets.
//!
//! Commits work without membership, too: a client that assigns partitions itself commits outside of any generation.
//!
//! - `protocol`: membership with either group protocol;
//! - `classic`: the classic protocol, with `requests`, `member_messages`, `subscription` and `revocation`;
//! - `leader_assignment`, `assignor`: the assignment by the leader of a classic group;
//! - `consumer_protocol`: the consumer protocol (KIP-848);
//! - `actions`: what membership requires from the consumer.
//!
//! Parts that share groups use, too, are in [`membership`](crate::membership).

mod actions;
mod assignor;
mod classic;
mod consumer_protocol;
mod leader_assignment;
mod member_messages;
mod protocol;
mod requests;
mod revocation;
mod subscription;

use std::sync::Arc;

use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::api::offset_fetch::OffsetFetchRequest;

use super::command::{CommitTarget, OffsetsResult};
use super::offsets::{
    CommitIdentity, Commits, ErrorEffects, FoundOffset, GroupIdentity, OffsetFetches, Purpose, Requester,
};
use super::rebalance_protocol::RebalanceProtocol;
use super::shared_state::SharedState;
use crate::cluster::{Cluster, Coordinator};
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, ConnectionTable, Outcome, Owner};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{PartitionState, Queue};
use crate::interceptor::Interceptor;
use crate::membership::{CoordinatorConnection, PollWatch};
use crate::reply::Reply;
use crate::request::{CoordinatorType, RequestIds, response_of};
use crate::sys::{Instant, earliest};
use crate::types::{PartitionOffset, TopicPartition};

use protocol::GroupProtocol;

pub(super) use actions::{GroupAction, rows};

/// The group of a consumer; does nothing without `group.id`. Order of calls: events and calls of the application in any
/// order, then [`poll`](Self::poll), [`take_actions`](Self::take_actions) and [`take_found`](Self::take_found).
#[derive(Debug)]
pub(super) struct Group {
    group_id: String,
    instance_id: Option<String>,
    shared: Arc<SharedState>,
    coordinator: Coordinator,
    commits: Commits,
    offset_fetches: OffsetFetches,
    protocol: GroupProtocol,
    poll_watch: PollWatch,
    ids: RequestIds,
    reported_error: ErrorCode,
    failures: Vec<Error>,
}

impl Group {
    /// Without membership. `events` is the queue for results of commits without a waiting call.
    pub(super) fn new(
        conf: &ClientConfig,
        shared: Arc<SharedState>,
        events: Option<Arc<Queue>>,
        interceptor: Option<Arc<dyn Interceptor>>,
    ) -> Self {
        Group {
            group_id: conf.group_id.clone(),
            instance_id: Some(conf.group_instance_id.clone()).filter(|i| !i.is_empty()),
            shared,
            coordinator: Coordinator::new(CoordinatorType::Group, Owner::Group),
            commits: Commits::new(events, interceptor),
            offset_fetches: OffsetFetches::default(),
            protocol: GroupProtocol::new(conf),
            poll_watch: PollWatch::new(conf),
            ids: RequestIds::default(),
            reported_error: ErrorCode::NO_ERROR,
            failures: Vec::new(),
        }
    }

    /// Returns true if `group.id` is set.
    pub(super) fn is_configured(&self) -> bool {
        !self.group_id.is_empty()
    }

    // ---------------------------------------------------------------- offsets

    /// Tracks the commits of a consumed partition; commits its stored offset every `interval_ms`, if that is given.
    pub(super) fn track(&mut self, now: Instant, state: &Arc<PartitionState>, interval_ms: Option<u64>) {
        if self.is_configured() {
            self.commits.track(now, state, interval_ms);
        }
    }

    /// Commits the stored offsets of partitions that are about to be revoked.
    pub(super) fn commit_before_revocation(&mut self, ctx: &Ctx<'_>, ids: impl Iterator<Item = u32>) {
        if let Some(identity) = self.commit_identity() {
            self.commits.commit_tracked(ctx, &identity, ids, true);
        }
    }

    /// Returns the identity for commits; `None` while the member is joining or leaving: other members may own the
    /// partitions, which the coordinator cannot detect without a generation.
    fn commit_identity(&self) -> Option<CommitIdentity> {
        (self.protocol.is_inactive() || self.protocol.has_assignment()).then(|| self.protocol.commit_identity())
    }

    /// Forgets a partition that is not consumed any more.
    pub(super) fn forget_partition(&mut self, state: &Arc<PartitionState>) {
        self.commits.untrack(state.id());
        self.offset_fetches.cancel(state.id());
    }

    /// Commits `rows`. A member commits only partitions that it owns: an application without a rebalance callback may
    /// be unaware of a lost partition, and would overwrite commits of the new owner.
    pub(super) fn commit(
        &mut self,
        ctx: &Ctx<'_>,
        mut rows: Vec<PartitionOffset>,
        target: CommitTarget,
        is_own: impl Fn(&TopicPartition) -> bool,
    ) {
        match self.commit_identity() {
            Some(identity) => {
                let outside = self.protocol.is_inactive();
                for row in &mut rows {
                    row.error = match outside || is_own(&row.tp) {
                        true => ErrorCode::NO_ERROR,
                        false => ErrorCode::L_ASSIGNMENT_LOST,
                    };
                }
                self.commits.push(ctx, identity, rows, Purpose::Call(target));
            }
            None => {
                let error = match self.shared.is_assignment_lost() {
                    true => Error::new(ErrorCode::L_ASSIGNMENT_LOST, "other members may own the partitions"),
                    false => Error::new(ErrorCode::REBALANCE_IN_PROGRESS, "the member is in no generation yet"),
                };
                self.commits.refuse(rows, Purpose::Call(target), error);
            }
        }
    }

    /// Completes a commit with an error, without trying it.
    pub(super) fn refuse_commit(&mut self, target: CommitTarget, error: Error) {
        self.commits.refuse(Vec::new(), Purpose::Call(target), error);
    }

    /// Returns the partitions' stored offsets beyond the committed ones.
    pub(super) fn uncommitted_rows<'a>(
        &self,
        states: impl Iterator<Item = &'a Arc<PartitionState>>,
    ) -> Vec<PartitionOffset> {
        states.filter_map(|state| self.commits.uncommitted(state)).collect()
    }

    /// Fetches committed offsets for the application.
    pub(super) fn committed(
        &mut self,
        now: Instant,
        tps: Vec<TopicPartition>,
        deadline: Instant,
        reply: Arc<Reply<OffsetsResult>>,
    ) {
        self.offset_fetches.fetch(now, tps, Requester::Call(reply), deadline);
    }

    /// Fetches the committed offset of a consumed partition.
    pub(super) fn look_up_committed(&mut self, now: Instant, (id, lookup_id): (u32, u64), tp: TopicPartition) {
        self.offset_fetches
            .fetch(now, vec![tp], Requester::Position { id, lookup_id }, Instant::NEVER);
    }

    /// Returns the committed offsets of consumed partitions that were fetched since the last call.
    pub(super) fn take_found(&mut self) -> Vec<FoundOffset> {
        let found = self.offset_fetches.take_found();
        for one in &found {
            if let Ok(committed) = one.result {
                self.commits.note_committed(one.id, committed);
            }
        }
        found
    }

    /// Ends automatic commits of partitions that other members may own.
    pub(super) fn untrack(&mut self, ids: impl Iterator<Item = u32>) {
        for id in ids {
            self.commits.untrack(id);
        }
    }

    /// Returns the last known committed offset of a consumed partition, with its leader epoch.
    pub(super) fn committed_of(&self, id: u32) -> Option<(i64, i32)> {
        self.commits.committed(id)
    }

    /// Returns the states of the coordinator's look-up and of the membership by their public names.
    pub(super) fn public_states(&self, connections: &ConnectionTable) -> (&'static str, &'static str) {
        (self.coordinator.public_state(connections), self.protocol.public_state())
    }

    // ---------------------------------------------------------------- membership

    /// Returns true if the client is neither in the group nor joining or leaving it.
    pub(super) fn is_inactive(&self) -> bool {
        self.protocol.is_inactive()
    }

    /// Joins the group for these topics, or changes the topics.
    ///
    /// # Errors
    /// `L_INVALID_ARG` for an invalid pattern in a classic group.
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

    /// Returns the way in which members exchange partitions.
    pub(super) fn rebalance_protocol(&self) -> RebalanceProtocol {
        self.protocol.rebalance_protocol()
    }

    pub(super) fn subscription(&self) -> Vec<String> {
        self.protocol.topics()
    }

    /// Handles the end of a revocation.
    pub(super) fn on_revoked(&mut self, ctx: &Ctx<'_>) {
        self.protocol.on_revoked(ctx, &self.commits);
    }

    /// Returns the actions to execute since the last call.
    pub(super) fn take_actions(&mut self) -> Vec<GroupAction> {
        let mut actions = self.protocol.take_actions();
        actions.extend(self.failures.drain(..).map(GroupAction::ReportError));
        actions
    }

    /// Returns true if the client can end: membership has ended and every commit is answered.
    pub(super) fn is_idle(&self) -> bool {
        self.protocol.is_inactive() && self.commits.is_idle()
    }

    /// Ends membership and fails commits and fetches of offsets.
    pub(super) fn close(&mut self, error: &Error) {
        self.protocol.abandon();
        self.commits.close(error);
        self.offset_fetches.close(error);
    }

    // ---------------------------------------------------------------- driver

    /// Leaves the group when the application exceeds `max.poll.interval.ms`, so that other members get its partitions; joins
    /// again when it polls. `states` are the consumed partitions, whose queues the application may poll.
    pub(super) fn check_poll_interval<'a>(
        &mut self,
        ctx: &mut Ctx<'_>,
        states: impl Iterator<Item = &'a Arc<PartitionState>>,
    ) {
        if self.protocol.is_inactive() || !self.poll_watch.is_due(ctx.now) {
            return;
        }
        let own = std::iter::once(self.shared.consumer_queue().activity());
        let separate = states.map(|state| state.queue().activity());
        if self.poll_watch.check(ctx.now, own.chain(separate)) {
            self.protocol.rejoin_on_poll(ctx);
        } else {
            self.protocol
                .leave_on_max_poll(ctx, self.poll_watch.overdue_ms(ctx.now));
            self.publish();
        }
    }

    /// Sends the requests that are due. Returns when to call it again if nothing else happens.
    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        if !self.is_configured() {
            return None;
        }
        if self.protocol.take_force_close() {
            self.coordinator.force_close(ctx);
        }
        if self.commits.needs_prepare(ctx.now) {
            let identity = self.commit_identity();
            self.commits.prepare(ctx, identity.as_ref());
        }
        self.offset_fetches.prepare(ctx.now);
        self.protocol.prepare(ctx, cluster, &self.commits);
        // Commits go first: those of a revocation must reach the coordinator before the member joins again or leaves.
        if self.has_work(ctx.now) {
            let connection = self.coordinator.connection(ctx, cluster, &self.group_id, &mut self.ids);
            if let Some(broker) = connection {
                let identity = GroupIdentity {
                    group_id: &self.group_id,
                    member: &self.protocol.commit_identity(),
                    instance_id: self.instance_id.as_deref(),
                };
                self.commits.send(ctx, &broker, &identity, &mut self.ids);
                let aside = match self.protocol.awaits_rebalance() && self.offset_fetches.has_work(ctx.now) {
                    true => self.coordinator.connection_aside(ctx, &broker),
                    false => Some(broker.clone()),
                };
                if let Some(aside) = aside {
                    self.offset_fetches.send(ctx, &aside, &identity, &mut self.ids);
                }
                let to = CoordinatorConnection {
                    broker: &broker,
                    group_id: &self.group_id,
                    commits_first: self.commits.has_unsent(),
                };
                self.protocol.send(ctx, cluster, &to, &mut self.ids);
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
        let watch = (!self.protocol.is_inactive()).then(|| self.poll_watch.next_check());
        let offsets = earliest(self.commits.wake(ctx.now), self.offset_fetches.wake(ctx.now)).filter(later);
        earliest(earliest(search, member), earliest(watch, offsets))
    }

    /// Updates the member's identity in the state that is shared with the application's threads.
    fn publish(&self) {
        let (member_id, generation) = self.protocol.member_id_and_epoch();
        self.shared
            .set_member(member_id, generation, self.protocol.rebalance_protocol());
    }

    /// Returns true if a request is due.
    fn has_work(&self, now: Instant) -> bool {
        self.commits.has_work(now) || self.offset_fetches.has_work(now) || self.protocol.has_work(now)
    }

    /// Handles a request's outcome.
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
            let result = response_of::<OffsetCommitRequest>(ctx, key, outcome);
            let effects = self.commits.on_committed(ctx, result);
            lost = self.apply_effects(ctx, effects);
        } else if self.offset_fetches.is_in_flight(id) {
            let result = response_of::<OffsetFetchRequest>(ctx, key, outcome);
            let effects = self.offset_fetches.on_response(ctx, id, result);
            lost = self.apply_effects(ctx, effects);
        } else {
            // A connection without responses risks the membership: close it without waiting for `socket.max.fails`.
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

    /// Handles the errors in a response about offsets; returns true if the coordinator has to be looked up again.
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
