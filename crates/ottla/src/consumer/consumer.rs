//! The manager that the core drives: hands every matter to the part that owns it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::fetcher::Fetcher;
use super::group::Group;
use super::list_offsets::ListOffsets;
use super::offset_files::OffsetFiles;
use super::positions::Origin;
use super::rebalancing::{Change, RebalanceCallback};
use super::statistics::Rebalances;
use super::{Command, CommitTarget, FileAction, FileEvent, SharedState};
use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, Outcome, Owner, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, PartitionNotice};
use crate::interceptor::Interceptor;
use crate::log::DebugContexts;
use crate::reply::Reply;
use crate::sys::{Instant, earliest};
use crate::types::{PartitionOffset, Topic, TopicPartition, offset};

/// Gets a topic by its name, or makes it known.
pub type TopicSource = Arc<dyn Fn(&str) -> Result<Arc<Topic>, Error> + Send + Sync>;

/// How long closing waits for the coordinator's answers at most, in milliseconds.
const CLOSE_LIMIT_MS: u64 = 10_000;

/// What a consumer is made with besides its settings.
#[derive(Clone)]
pub struct Setup {
    /// Topics by name, for those that assignments name.
    pub topics: TopicSource,
    /// The application carries out rebalances itself, on [`Event::Rebalance`].
    pub rebalance_event: bool,
    /// The application hears of commit results, by [`Event::Commit`].
    pub commit_event: bool,
    /// Hears of every commit's result.
    pub interceptor: Option<Arc<dyn Interceptor>>,
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup")
            .field("rebalance_event", &self.rebalance_event)
            .field("commit_event", &self.commit_event)
            .finish_non_exhaustive()
    }
}

/// The end of consumption, under way.
#[derive(Debug)]
struct Closing {
    reply: Arc<Reply<Result<(), Error>>>,
    deadline: Instant,
}

/// The consumer's decisions. Order of calls as for every manager: events and commands in any order, then
/// [`poll`](Self::poll).
#[derive(Debug)]
pub struct Consumer {
    pub(super) shared: Arc<SharedState>,
    pub(super) setup: Setup,
    pub(super) fetcher: Fetcher,
    pub(super) offsets: ListOffsets,
    pub(super) files: OffsetFiles,
    pub(super) group: Group,
    /// The partitions that the group gave.
    pub(super) assigned: BTreeSet<TopicPartition>,
    /// What the application was asked to do, the first one, and is to be asked when it has.
    pub(super) callbacks: VecDeque<RebalanceCallback>,
    pub(super) rebalances: Rebalances,
    closing: Option<Closing>,
    closed: bool,
    /// The fatal error, until the client was told.
    fatal: Option<Error>,
}

impl Consumer {
    /// A consumer of nothing.
    pub fn new(shared: Arc<SharedState>, conf: &ClientConfig, setup: Setup) -> Self {
        let events = setup.commit_event.then(|| shared.consumer_queue().clone());
        Consumer {
            fetcher: Fetcher::new(conf, shared.budget().clone()),
            offsets: ListOffsets::new(conf),
            files: OffsetFiles::new(&conf.group_id),
            group: Group::new(conf, shared.clone(), events, setup.interceptor.clone()),
            shared,
            setup,
            assigned: BTreeSet::new(),
            callbacks: VecDeque::new(),
            rebalances: Rebalances::default(),
            closing: None,
            closed: false,
            fatal: None,
        }
    }

    /// The fatal error that came up since the last call.
    pub fn take_fatal(&mut self) -> Option<Error> {
        self.fatal.take()
    }

    // ---------------------------------------------------------------- driver

    /// Does what is due; gives when to be called again if nothing else happens.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        // What one part finds is news to another; two rounds bring nearly everything where it belongs.
        for _ in 0..2 {
            let mut wake = self.fetcher.poll(ctx, cluster);
            self.route_lookups(ctx, cluster);
            wake = earliest(wake, self.offsets.poll(ctx, cluster));
            wake = earliest(wake, self.files.poll(ctx.now));
            self.group.check_poll_interval(ctx, self.fetcher.positions.iter());
            wake = earliest(wake, self.group.poll(ctx, cluster));
            let actions = self.group.take_actions();
            let again = self.route_resolved(ctx, cluster) || !actions.is_empty();
            for action in actions {
                self.execute(ctx, cluster, action);
            }
            if !again {
                // A look-up that failed at once has put its partition off since the fetcher was polled.
                wake = earliest(wake, self.fetcher.next_timer());
                return earliest(wake, self.poll_closing(ctx));
            }
        }
        // Orders and look-ups of the second round must not wait for the next event.
        Some(ctx.now)
    }

    fn route_lookups(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        for lookup in self.fetcher.take_lookups() {
            let (id, tp) = (lookup.state.id(), lookup.state.tp());
            if lookup.offset != offset::STORED {
                self.offsets
                    .look_up(ctx, cluster, (id, lookup.lookup_id), tp, lookup.offset);
            } else if self.files.keeps(id) {
                self.files.read(id, lookup.lookup_id);
            } else if self.group.is_configured() {
                self.group.look_up_committed(ctx.now, (id, lookup.lookup_id), tp);
            } else {
                let error = Error::new(ErrorCode::L_UNKNOWN_GROUP, "there is no stored offset without group.id");
                self.fetcher.on_resolved(ctx, cluster, id, lookup.lookup_id, Err(error));
            }
        }
    }

    /// Brings found offsets to the fetcher; false when there were none.
    fn route_resolved(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> bool {
        let listed = self.offsets.take_found();
        let mut committed = self.group.take_found();
        committed.extend(self.files.take_found());
        let any = !listed.is_empty() || !committed.is_empty();
        for found in listed {
            self.fetcher
                .on_resolved(ctx, cluster, found.id, found.lookup_id, found.result);
        }
        for found in committed {
            self.fetcher
                .on_resolved(ctx, cluster, found.id, found.lookup_id, found.result);
        }
        any
    }

    /// What is to be done with files. Those of the end come after [`close`](Self::close).
    pub fn next_file_action(&mut self) -> Option<FileAction> {
        self.files.next_action()
    }

    /// What came of an action on a file.
    pub fn on_file(&mut self, event: FileEvent) {
        self.files.on_event(event);
    }

    /// Errors of the client as a whole, to be told.
    pub fn take_reports(&mut self) -> Vec<Error> {
        self.files.take_reports()
    }

    /// What became of a request.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, key: BrokerKey, tag: Tag, outcome: Outcome) {
        match tag.owner {
            Owner::Fetcher => self.fetcher.on_outcome(ctx, cluster, key, tag.id, outcome),
            Owner::Offsets => self.offsets.on_outcome(ctx, cluster, key, tag.id, outcome),
            Owner::Group => self.group.on_outcome(ctx, cluster, key, tag.id, outcome),
            Owner::BrokerConnection | Owner::Cluster | Owner::Producer | Owner::Admin | Owner::Telemetry => {}
        }
    }

    /// A connection takes requests.
    pub fn on_connection_up(&mut self, _ctx: &mut Ctx<'_>, _cluster: &mut Cluster, key: BrokerKey) {
        self.fetcher.on_connection_up(key);
    }

    /// A connection is gone, or an attempt failed.
    pub fn on_connection_down(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        error: Option<&Error>,
    ) {
        self.fetcher.on_connection_down(ctx, cluster, key, error);
        if error.is_some() {
            self.offsets.on_connection_down(cluster, key, ctx.now);
        }
        self.group.on_connection_down(ctx, key, error);
    }

    /// A pause that a broker asked for is over.
    pub fn on_unthrottled(&mut self, key: BrokerKey) {
        self.fetcher.on_connection_up(key);
    }

    /// Metadata of a watched topic changed.
    pub fn on_topic_changed(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, name: &Arc<str>) {
        self.fetcher.on_topic_changed(ctx, cluster, name);
        self.offsets.on_topic_changed(ctx.now, cluster, name);
        self.group.on_topic_changed(ctx, cluster, name);
    }

    // ---------------------------------------------------------------- commands

    /// Carries out a command.
    pub fn on_command(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, command: Command) {
        if self.closed || self.closing.is_some() && !allowed_while_closing(&command) {
            return command.refuse(Error::new(ErrorCode::L_STATE, "the consumer is closed"));
        }
        match command {
            Command::Assign { partitions, reply } => {
                reply.fill(self.change(ctx, cluster, Change::Assign(partitions)));
            }
            Command::IncrementalAssign { partitions, reply } => {
                reply.fill(self.change(ctx, cluster, Change::Add(partitions)));
            }
            Command::IncrementalUnassign { partitions, reply } => {
                reply.fill(self.change(ctx, cluster, Change::Remove(partitions)));
            }
            Command::Unassign { reply } => reply.fill(self.change(ctx, cluster, Change::Unassign)),
            Command::Assignment { reply } => reply.fill(Ok(self.assignment())),
            Command::Subscribe { topics, reply } => reply.fill(self.subscribe(ctx, cluster, &topics)),
            Command::Unsubscribe { reply } => {
                self.group.unsubscribe(ctx, cluster);
                reply.fill(Ok(()));
            }
            Command::Subscription { reply } => reply.fill(Ok(self.group.subscription())),
            Command::Start {
                topic,
                partition,
                offset,
                queue,
                reply,
            } => {
                reply.fill(self.start(ctx, cluster, (&topic, partition), offset, queue));
            }
            Command::Stop {
                topic,
                partition,
                reply,
            } => match self.stop(ctx, cluster, &topic, partition) {
                Ok(id) => self.files.answer_when_written(id, reply),
                Err(error) => reply.fill(Err(error)),
            },
            Command::Seek { partitions, reply } => reply.fill(Ok(self.seek(ctx, cluster, partitions))),
            Command::Pause { partitions, reply } => reply.fill(Ok(self.pause(cluster, partitions))),
            Command::Resume { partitions, reply } => reply.fill(Ok(self.resume(ctx, cluster, partitions))),
            Command::Commit { offsets, target } => self.commit(ctx, offsets, target),
            Command::Committed {
                partitions,
                deadline,
                reply,
            } => match self.require_group() {
                Ok(()) => self.group.committed(ctx.now, partitions, deadline, reply),
                Err(error) => reply.fill(Err(error)),
            },
            Command::QueryWatermarks { tp, deadline, reply } => {
                self.offsets.watermarks(ctx, cluster, &tp, deadline, reply);
            }
            Command::OffsetsForTimes {
                partitions,
                deadline,
                reply,
            } => {
                self.offsets.for_times(ctx, cluster, partitions, deadline, reply);
            }
            Command::Close { reply } => self.begin_close(ctx, cluster, reply),
        }
    }

    pub(super) fn require_group(&self) -> Result<(), Error> {
        match self.group.is_configured() {
            true => Ok(()),
            false => Err(Error::new(ErrorCode::L_UNKNOWN_GROUP, "group.id is not set")),
        }
    }

    fn subscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, topics: &[String]) -> Result<(), Error> {
        self.require_group()?;
        ctx.log
            .debug(DebugContexts::CONSUMER.with(DebugContexts::CGRP), "SUBSCRIBE", || {
                format!("subscription: [{}]", topics.join(", "))
            });
        for name in topics.iter().filter(|name| !name.starts_with('^')) {
            (self.setup.topics)(name)?;
        }
        if topics.is_empty() {
            self.group.unsubscribe(ctx, cluster);
            return Ok(());
        }
        self.group.subscribe(ctx, cluster, topics)
    }

    fn commit(&mut self, ctx: &mut Ctx<'_>, offsets: Option<Vec<PartitionOffset>>, target: CommitTarget) {
        if let Err(error) = self.require_group() {
            return target.refuse(error);
        }
        let mut rows = offsets.unwrap_or_else(|| self.group.uncommitted_rows(self.fetcher.positions.iter()));
        rows.retain(|row| row.offset >= 0);
        if rows.is_empty() {
            let error = Error::new(ErrorCode::L_NO_OFFSET, "there is no offset to commit");
            return self.group.refuse_commit(target, error);
        }
        let (positions, assigned) = (&self.fetcher.positions, &self.assigned);
        ctx.log.debug(DebugContexts::CONSUMER, "COMMIT", || {
            let rows: Vec<String> = rows.iter().map(|r| format!("{}@{}", r.tp, r.offset)).collect();
            format!("committing {}", rows.join(", "))
        });
        self.group.commit(ctx, rows, target, |tp| {
            positions.find(&tp.topic, tp.partition).is_some() || assigned.contains(tp)
        });
    }

    /// Tells the application of an error of the consumer as a whole.
    pub(super) fn report_error(&mut self, error: Error) {
        self.report_error_of(None, error);
    }

    /// Tells the application of an error of a topic, whose partition is -1, or of the consumer as a whole.
    pub(super) fn report_error_of(&mut self, tp: Option<TopicPartition>, error: Error) {
        if error.fatal {
            self.fatal = Some(error.clone());
        }
        self.shared.consumer_queue().push(Event::Partition(PartitionNotice {
            partition: None,
            tp,
            fetch_generation: 0,
            error,
            offset: offset::INVALID,
        }));
    }

    // ---------------------------------------------------------------- the end

    fn begin_close(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, reply: Arc<Reply<Result<(), Error>>>) {
        if self.closing.is_some() {
            return reply.fill(Err(Error::new(
                ErrorCode::L_PREV_IN_PROGRESS,
                "the consumer is being closed already",
            )));
        }
        self.closing = Some(Closing {
            reply,
            deadline: ctx.now.plus_ms(CLOSE_LIMIT_MS),
        });
        ctx.log
            .debug(DebugContexts::CONSUMER.with(DebugContexts::CGRP), "CLOSE", || {
                "closing: giving up the assignment, leaving the group".into()
            });
        // No record is handed out any more: those that wait would stand in front of the revocation.
        let tps = self.fetcher.positions.iter().map(|p| p.state.tp()).collect();
        self.pause(cluster, tps);
        // A member hears of the revocation as in any rebalance; what was assigned by hand is just dropped.
        let member = !self.group.is_inactive();
        self.group.unsubscribe(ctx, cluster);
        if !member {
            self.unassign(ctx, cluster);
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    fn poll_closing(&mut self, ctx: &mut Ctx<'_>) -> Option<Instant> {
        let closing = self.closing.as_ref()?;
        if !self.group.is_idle() && closing.deadline > ctx.now {
            return Some(closing.deadline);
        }
        let late = !self.group.is_idle();
        let closing = self.closing.take()?;
        self.group
            .close(&Error::new(ErrorCode::L_DESTROY, "the consumer was closed"));
        self.closed = true;
        closing.reply.fill(match late {
            true => Err(Error::new(
                ErrorCode::L_TIMED_OUT,
                "the group's coordinator did not answer in time",
            )),
            false => Ok(()),
        });
        None
    }

    /// Fails what the application still waits for and drops what was fetched.
    pub fn close(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        let error = Error::new(ErrorCode::L_DESTROY, "the client is being destroyed");
        self.closed = true;
        self.unassign(ctx, cluster);
        let started = self.fetcher.positions.iter().filter(|p| p.origin == Origin::Started);
        let ids: Vec<u32> = started.map(|p| p.state.id()).collect();
        self.stop_partitions(ctx, cluster, &ids);
        self.files.close();
        self.offsets.close(cluster, &error);
        self.group.close(&error);
        if let Some(closing) = self.closing.take() {
            closing.reply.fill(Err(error));
        }
    }
}

/// While the consumer is being closed the application still answers a revocation and commits.
fn allowed_while_closing(command: &Command) -> bool {
    matches!(
        command,
        Command::Assign { .. }
            | Command::Unassign { .. }
            | Command::IncrementalAssign { .. }
            | Command::IncrementalUnassign { .. }
            | Command::Assignment { .. }
            | Command::Commit { .. }
            | Command::Committed { .. }
            | Command::Close { .. }
    )
}
