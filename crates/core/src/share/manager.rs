//! The manager of a share consumer: commands, membership, sessions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::command::{Command, PartitionAcknowledgements};
use super::member::{MemberAction, ShareMember};
use super::sessions::{Received, Sessions, Verdict};
use super::settings::Settings;
use super::shared_state::SharedState;
use crate::cluster::{Cluster, Coordinator, Survey};
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, ConnectionTable, Outcome, Owner, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, PartitionNotice};
use crate::log::DebugContexts;
use crate::membership::{CoordinatorConnection, PollWatch};
use crate::reply::Reply;
use crate::request::{CoordinatorType, RequestIds};
use crate::sys::{Instant, earliest};
use crate::types::{PARTITION_UA, TopicPartition, TopicSource, offset};

/// A close in progress.
#[derive(Debug)]
struct Closing {
    reply: Arc<Reply<Result<(), Error>>>,
    deadline: Instant,
}

/// The manager of a share consumer (KIP-932). Order of calls as for every manager: events and commands in any order, then
/// [`poll`](Self::poll).
#[derive(Debug)]
pub struct ShareConsumer {
    shared: Arc<SharedState>,
    settings: Settings,
    coordinator: Coordinator,
    member: ShareMember,
    poll_watch: PollWatch,
    sessions: Sessions,
    ids: RequestIds,
    reported_error: ErrorCode,
    closing: Option<Closing>,
    closed: bool,
    /// The fatal error, until [`take_fatal`](Self::take_fatal).
    fatal: Option<Error>,
}

impl ShareConsumer {
    /// Without a subscription. `topics` returns a topic by its name, and creates it if it is unknown.
    pub fn new(shared: Arc<SharedState>, conf: &ClientConfig, topics: TopicSource) -> Self {
        ShareConsumer {
            settings: Settings::new(conf),
            coordinator: Coordinator::new(CoordinatorType::Group, Owner::ShareGroup),
            member: ShareMember::new(conf),
            poll_watch: PollWatch::new(conf),
            sessions: Sessions::new(conf, shared.clone(), topics),
            shared,
            ids: RequestIds::default(),
            reported_error: ErrorCode::NO_ERROR,
            closing: None,
            closed: false,
            fatal: None,
        }
    }

    /// Returns the fatal error since the last call.
    pub fn take_fatal(&mut self) -> Option<Error> {
        self.fatal.take()
    }

    /// Returns the states of the coordinator's look-up and of the membership by their public names, and the number of
    /// assigned partitions.
    pub fn group_state(&self, connections: &ConnectionTable) -> (&'static str, &'static str, usize) {
        let coordinator = self.coordinator.public_state(connections);
        (coordinator, self.member.public_state(), self.sessions.assigned_count())
    }

    /// Returns the number of assigned partitions.
    pub fn assigned_count(&self) -> usize {
        self.sessions.assigned_count()
    }

    /// Returns the numbers of received records and bytes.
    pub fn received(&self) -> Received {
        self.sessions.received()
    }

    /// Writes the statistics of partitions.
    pub fn statistics(&self, survey: &mut Survey) {
        self.sessions.statistics(survey);
    }

    // ---------------------------------------------------------------- commands

    /// Executes a command.
    pub fn on_command(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, command: Command) {
        if self.closed || self.closing.is_some() {
            return command.refuse(Error::new(ErrorCode::L_STATE, "the consumer is closed"));
        }
        match command {
            Command::Subscribe { topics, reply } => {
                self.subscribe(ctx, cluster, &topics);
                reply.fill(Ok(()));
            }
            Command::Unsubscribe { reply } => {
                self.unsubscribe(ctx, cluster);
                reply.fill(Ok(()));
            }
            Command::Subscription { reply } => reply.fill(Ok(self.member.subscription())),
            Command::Poll {
                acknowledgements,
                wait_until,
                busy_us,
            } => {
                self.sessions.acknowledge(acknowledgements, None);
                let wait_until = wait_until.filter(|_| !self.member.is_inactive());
                let busy = busy_us.map(Duration::from_micros);
                self.sessions.demand.on_poll(ctx.now, wait_until, busy);
            }
            Command::Commit { acknowledgements, call } => self.sessions.acknowledge(acknowledgements, call),
            Command::Close {
                acknowledgements,
                reply,
            } => self.begin_close(ctx, cluster, acknowledgements, reply),
        }
    }

    fn subscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, topics: &[String]) {
        ctx.log
            .debug(DebugContexts::CONSUMER.with(DebugContexts::CGRP), "SUBSCRIBE", || {
                format!("subscription: [{}]", topics.join(", "))
            });
        if topics.is_empty() {
            return self.unsubscribe(ctx, cluster);
        }
        self.poll_watch.restart(ctx.now);
        let topics: BTreeSet<Arc<str>> = topics.iter().map(|t| Arc::from(t.as_str())).collect();
        self.member.subscribe(ctx, cluster, topics);
    }

    fn unsubscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        self.sessions.demand.clear();
        self.sessions.release_batches(|_| true);
        self.sessions.assign(Vec::new());
        self.member.unsubscribe(ctx, cluster);
    }

    fn begin_close(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        acknowledgements: Vec<PartitionAcknowledgements>,
        reply: Arc<Reply<Result<(), Error>>>,
    ) {
        ctx.log
            .debug(DebugContexts::CONSUMER.with(DebugContexts::CGRP), "CLOSE", || {
                "closing: sending acknowledgements, closing share sessions, leaving the group".into()
            });
        self.sessions.acknowledge(acknowledgements, None);
        self.closing = Some(Closing {
            reply,
            deadline: ctx.now + self.settings.close_timeout,
        });
        self.sessions.begin_close();
        self.unsubscribe(ctx, cluster);
    }

    fn poll_closing(&mut self, ctx: &mut Ctx<'_>) -> Option<Instant> {
        let closing = self.closing.as_ref()?;
        let is_done = self.sessions.is_closed() && self.member.is_inactive();
        if !is_done && closing.deadline > ctx.now {
            return Some(closing.deadline);
        }
        let closing = self.closing.take()?;
        self.end(&Error::new(ErrorCode::L_DESTROY, "the consumer was closed"));
        closing.reply.fill(match is_done {
            true => Ok(()),
            false => Err(Error::new(
                ErrorCode::L_TIMED_OUT,
                "the brokers did not answer in time: records that are not acknowledged return when their locks run out",
            )),
        });
        None
    }

    fn end(&mut self, error: &Error) {
        self.sessions.abandon(error);
        self.member.abandon();
        self.closed = true;
        self.shared.set_closed();
    }

    /// Ends the consumer at once, when the client is destroyed.
    pub fn close(&mut self) {
        let error = Error::new(ErrorCode::L_DESTROY, "the client is being destroyed");
        self.end(&error);
        if let Some(closing) = self.closing.take() {
            closing.reply.fill(Err(error));
        }
    }

    // ---------------------------------------------------------------- driver

    /// Sends what is due. Returns when to call it again if nothing else happens.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        if self.closed {
            return None;
        }
        self.check_poll_interval(ctx);
        self.poll_member(ctx, cluster);
        self.execute_actions();
        let mut wake = self.sessions.poll(ctx, cluster);
        let later = |at: &Instant| *at > ctx.now;
        if self.member.has_work(ctx.now) {
            wake = earliest(wake, self.coordinator.wake(ctx.now));
        }
        wake = earliest(wake, self.member.wake().filter(later));
        if self.watches_polls() {
            wake = earliest(wake, Some(self.poll_watch.next_check()));
        }
        earliest(wake, self.poll_closing(ctx))
    }

    /// Returns whether the application must poll within `max.poll.interval.ms`.
    fn watches_polls(&self) -> bool {
        !self.member.is_inactive() && self.closing.is_none()
    }

    /// Leaves the group when the application exceeds `max.poll.interval.ms`; joins again when it polls.
    fn check_poll_interval(&mut self, ctx: &mut Ctx<'_>) {
        if !self.watches_polls() || !self.poll_watch.is_due(ctx.now) {
            return;
        }
        let activity = self.shared.queue().activity();
        match self.poll_watch.check(ctx.now, std::iter::once(activity)) {
            true => self.member.rejoin_on_poll(ctx),
            false => {
                let overdue_ms = self.poll_watch.overdue_ms(ctx.now);
                self.member.leave_on_max_poll(ctx, overdue_ms);
            }
        }
    }

    fn poll_member(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        if self.member.has_work(ctx.now) {
            let group_id = self.settings.group_id.clone();
            let connection = self.coordinator.connection(ctx, cluster, &group_id, &mut self.ids);
            if let Some(broker) = connection {
                let to = CoordinatorConnection {
                    broker: &broker,
                    group_id: &group_id,
                    commits_first: false,
                };
                self.member.send(ctx, &to, &mut self.ids);
            }
        }
        let failure = self.coordinator.take_failure();
        if let Some(error) = failure.filter(|e| e.code != self.reported_error) {
            self.reported_error = error.code;
            self.report(None, error);
        }
        self.shared.set_member_id(self.member.member_id());
    }

    fn execute_actions(&mut self) {
        for action in self.member.take_actions() {
            match action {
                MemberAction::Assigned(partitions) => self.sessions.assign(partitions),
                MemberAction::ReportError(error) => self.report(None, error),
                MemberAction::ReportTopicError(topic, error) => {
                    self.report(Some(TopicPartition::new(topic, PARTITION_UA)), error);
                }
            }
        }
    }

    /// Reports an error of a topic or of the consumer as a whole to the application.
    fn report(&mut self, tp: Option<TopicPartition>, error: Error) {
        if error.fatal {
            self.fatal = Some(error.clone());
        }
        self.shared.queue().push(Event::Partition(PartitionNotice {
            partition: None,
            tp,
            fetch_generation: 0,
            error,
            offset: offset::INVALID,
        }));
    }

    /// Handles a request's outcome.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, key: BrokerKey, tag: Tag, outcome: Outcome) {
        if tag.owner == Owner::ShareFetch {
            match self.sessions.on_outcome(ctx, cluster, key, tag.id, outcome) {
                Verdict::Continue => {}
                Verdict::CheckMembership => self.member.heartbeat_now(ctx.now),
                Verdict::Report(error) => self.report(None, error),
            }
            return;
        }
        if self.coordinator.on_outcome(ctx, key, tag.id, &outcome) {
            return;
        }
        // A connection without responses risks the membership: close it without waiting for `socket.max.fails`.
        if matches!(&outcome, Outcome::Failed(failure) if failure.error.code == ErrorCode::L_TIMED_OUT) {
            ctx.connections.force_close(key, ctx.now);
        }
        match self.member.on_outcome(ctx, cluster, key, tag.id, outcome) {
            true => self.coordinator.forget(ctx),
            false => self.reported_error = ErrorCode::NO_ERROR,
        }
    }

    /// Handles a closed connection or a failed attempt to connect.
    pub fn on_connection_down(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, error: Option<&Error>) {
        self.sessions.on_connection_down(ctx, key, error);
        self.coordinator.on_connection_down(ctx, key, error);
    }

    /// Handles changed metadata of a topic.
    pub fn on_topic_changed(&mut self, cluster: &mut Cluster, name: &Arc<str>) {
        self.sessions.on_topic_changed();
        self.member.on_topic_changed(cluster, name);
    }
}
