//! The consumer's manager: executes commands, drives the parts, and passes results between them.

use std::sync::Arc;

use super::command::{Command, CommitTarget};
use super::consumption::Consumption;
use super::fetch::Origin;
use super::offsets::{FileAction, FileEvent};
use super::rebalancing::{Change, Rebalancing};
use super::shared_state::SharedState;
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
use crate::types::{PartitionOffset, TopicPartition, TopicSource, offset};
use crate::work::{Work, WorkDone, WorkRules};

/// The maximum time for which closing waits for the coordinator, in milliseconds.
const CLOSE_LIMIT_MS: u64 = 10_000;

/// The client's part of a consumer's configuration.
#[derive(Clone)]
pub struct Setup {
    /// Topics by name.
    pub topics: TopicSource,
    /// The application executes rebalances itself, on [`Event::Rebalance`].
    pub rebalance_event: bool,
    /// The application receives the results of commits, by [`Event::Commit`].
    pub commit_event: bool,
    /// Receives the result of every commit.
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

/// A close in progress.
#[derive(Debug)]
struct Closing {
    reply: Arc<Reply<Result<(), Error>>>,
    deadline: Instant,
}

/// The manager of a consumer. Order of calls as for every manager: events and commands in any order, then
/// [`poll`](Self::poll).
#[derive(Debug)]
pub struct Consumer {
    pub(super) shared: Arc<SharedState>,
    pub(super) consumption: Consumption,
    pub(super) rebalancing: Rebalancing,
    closing: Option<Closing>,
    closed: bool,
    /// The fatal error, until [`take_fatal`](Self::take_fatal).
    fatal: Option<Error>,
}

impl Consumer {
    /// Without partitions.
    pub fn new(shared: Arc<SharedState>, conf: &ClientConfig, setup: Setup) -> Self {
        let events = setup.commit_event.then(|| shared.consumer_queue().clone());
        Consumer {
            rebalancing: Rebalancing::new(shared.clone(), setup.rebalance_event),
            consumption: Consumption::new(shared.clone(), conf, setup.topics, events, setup.interceptor),
            shared,
            closing: None,
            closed: false,
            fatal: None,
        }
    }

    /// Returns the fatal error since the last call.
    pub fn take_fatal(&mut self) -> Option<Error> {
        self.fatal.take()
    }

    // ---------------------------------------------------------------- driver

    /// Sends what is due and executes the group's actions. Returns when to call it again if nothing else happens.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        // The results of one part are the input of another; two rounds process nearly all of them.
        for _ in 0..2 {
            let parts = &mut self.consumption;
            let mut wake = parts.fetcher.poll(ctx, cluster);
            parts.route_lookups(ctx, cluster);
            wake = earliest(wake, parts.offsets.poll(ctx, cluster));
            wake = earliest(wake, parts.files.poll(ctx.now));
            let states = parts.fetcher.positions().iter().map(|p| &p.state);
            parts.group.check_poll_interval(ctx, states);
            wake = earliest(wake, parts.group.poll(ctx, cluster));
            let actions = parts.group.take_actions();
            let again = parts.route_resolved(ctx, cluster) || !actions.is_empty();
            for action in actions {
                let parts = &mut self.consumption;
                if let Some((tp, error)) = self.rebalancing.execute(ctx, cluster, parts, action) {
                    self.report_error(tp, error);
                }
            }
            if !again {
                // A look-up that failed at once has started a backoff since the fetcher was polled.
                wake = earliest(wake, self.consumption.fetcher.next_timer());
                return earliest(wake, self.poll_closing(ctx));
            }
        }
        // Actions and look-ups of the second round must not wait for the next event.
        Some(ctx.now)
    }

    /// Returns the bytes of the fetch budget that are held or reserved.
    #[cfg(test)]
    pub(super) fn used_budget(&mut self) -> u64 {
        self.consumption.fetcher.used_budget()
    }

    /// Sets the rules for batches that are handed out as jobs from now on.
    pub fn set_work_rules(&mut self, rules: WorkRules) {
        self.consumption.fetcher.set_work_rules(rules);
    }

    /// Returns the next job for the driver.
    pub fn next_work(&mut self) -> Option<Work> {
        self.consumption.fetcher.next_work()
    }

    /// Handles the result of a job.
    pub fn on_work(&mut self, done: WorkDone) {
        self.consumption.fetcher.on_work(done);
    }

    /// Returns the next action on an offset file. The last ones follow [`close`](Self::close).
    pub fn next_file_action(&mut self) -> Option<FileAction> {
        self.consumption.files.next_action()
    }

    /// Handles the result of an action on an offset file.
    pub fn on_file(&mut self, event: FileEvent) {
        self.consumption.files.on_event(event);
    }

    /// Returns errors of the client as a whole since the last call.
    pub fn take_reports(&mut self) -> Vec<Error> {
        self.consumption.files.take_reports()
    }

    /// Handles a request's outcome.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, key: BrokerKey, tag: Tag, outcome: Outcome) {
        match tag.owner {
            Owner::Fetcher => self.consumption.fetcher.on_outcome(ctx, cluster, key, tag.id, outcome),
            Owner::Offsets => self.consumption.offsets.on_outcome(ctx, cluster, key, tag.id, outcome),
            Owner::Group => self.consumption.group.on_outcome(ctx, cluster, key, tag.id, outcome),
            _ => {}
        }
    }

    /// Handles a connection that accepts requests.
    pub fn on_connection_up(&mut self, _ctx: &mut Ctx<'_>, _cluster: &mut Cluster, key: BrokerKey) {
        self.consumption.fetcher.on_connection_up(key);
    }

    /// Handles a closed connection or a failed attempt to connect.
    pub fn on_connection_down(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        error: Option<&Error>,
    ) {
        self.consumption.fetcher.on_connection_down(ctx, cluster, key, error);
        if error.is_some() {
            self.consumption.offsets.on_connection_down(cluster, key, ctx.now);
        }
        self.consumption.group.on_connection_down(ctx, key, error);
    }

    /// Handles the end of a broker's throttling.
    pub fn on_unthrottled(&mut self, key: BrokerKey) {
        self.consumption.fetcher.on_connection_up(key);
    }

    /// Handles changed metadata of a topic.
    pub fn on_topic_changed(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, name: &Arc<str>) {
        self.consumption.fetcher.on_topic_changed(ctx, cluster, name);
        self.consumption.offsets.on_topic_changed(ctx.now, cluster, name);
        self.consumption.group.on_topic_changed(ctx, cluster, name);
    }

    // ---------------------------------------------------------------- commands

    /// Executes a command.
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
            Command::Assignment { reply } => reply.fill(Ok(self.consumption.assignment())),
            Command::Subscribe { topics, reply } => reply.fill(self.subscribe(ctx, cluster, &topics)),
            Command::Unsubscribe { reply } => {
                self.consumption.group.unsubscribe(ctx, cluster);
                reply.fill(Ok(()));
            }
            Command::Subscription { reply } => reply.fill(Ok(self.consumption.group.subscription())),
            Command::Start {
                topic,
                partition,
                offset,
                queue,
                reply,
            } => {
                reply.fill(self.consumption.start(ctx, cluster, (&topic, partition), offset, queue));
            }
            Command::Stop {
                topic,
                partition,
                reply,
            } => match self.consumption.stop(ctx, cluster, &topic, partition) {
                Ok(id) => self.consumption.files.answer_when_written(id, reply),
                Err(error) => reply.fill(Err(error)),
            },
            Command::Seek { partitions, reply } => reply.fill(Ok(self.consumption.seek(ctx, cluster, partitions))),
            Command::Pause { partitions, reply } => reply.fill(Ok(self.consumption.pause(cluster, partitions))),
            Command::Resume { partitions, reply } => reply.fill(Ok(self.consumption.resume(ctx, cluster, partitions))),
            Command::Commit { offsets, target } => self.commit(ctx, offsets, target),
            Command::Committed {
                partitions,
                deadline,
                reply,
            } => match self.consumption.require_group() {
                Ok(()) => self.consumption.group.committed(ctx.now, partitions, deadline, reply),
                Err(error) => reply.fill(Err(error)),
            },
            Command::QueryWatermarks { tp, deadline, reply } => {
                self.consumption.offsets.watermarks(ctx, cluster, &tp, deadline, reply);
            }
            Command::OffsetsForTimes {
                partitions,
                deadline,
                reply,
            } => {
                self.consumption
                    .offsets
                    .for_times(ctx, cluster, partitions, deadline, reply);
            }
            Command::Close { reply } => self.begin_close(ctx, cluster, reply),
        }
    }

    fn subscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, topics: &[String]) -> Result<(), Error> {
        self.consumption.require_group()?;
        ctx.log
            .debug(DebugContexts::CONSUMER.with(DebugContexts::CGRP), "SUBSCRIBE", || {
                format!("subscription: [{}]", topics.join(", "))
            });
        for name in topics.iter().filter(|name| !name.starts_with('^')) {
            self.consumption.topic(name)?;
        }
        if topics.is_empty() {
            self.consumption.group.unsubscribe(ctx, cluster);
            return Ok(());
        }
        self.consumption.group.subscribe(ctx, cluster, topics)
    }

    fn commit(&mut self, ctx: &mut Ctx<'_>, offsets: Option<Vec<PartitionOffset>>, target: CommitTarget) {
        if let Err(error) = self.consumption.require_group() {
            return target.refuse(error);
        }
        let states = self.consumption.fetcher.positions().iter().map(|p| &p.state);
        let mut rows = offsets.unwrap_or_else(|| self.consumption.group.uncommitted_rows(states));
        rows.retain(|row| row.offset >= 0);
        if rows.is_empty() {
            let error = Error::new(ErrorCode::L_NO_OFFSET, "there is no offset to commit");
            return self.consumption.group.refuse_commit(target, error);
        }
        let (positions, rebalancing) = (self.consumption.fetcher.positions(), &self.rebalancing);
        ctx.log.debug(DebugContexts::CONSUMER, "COMMIT", || {
            let rows: Vec<String> = rows.iter().map(|r| format!("{}@{}", r.tp, r.offset)).collect();
            format!("committing {}", rows.join(", "))
        });
        self.consumption.group.commit(ctx, rows, target, |tp| {
            positions.find(&tp.topic, tp.partition).is_some() || rebalancing.is_assigned(tp)
        });
    }

    /// Reports an error of a topic, whose partition is -1, or of the consumer as a whole to the application.
    fn report_error(&mut self, tp: Option<TopicPartition>, error: Error) {
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

    /// Changes the assignment for the application.
    fn change(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, change: Change) -> Result<(), Error> {
        let closing = self.closing.is_some();
        self.rebalancing
            .change(ctx, cluster, &mut self.consumption, change, closing)
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
                "closing: revoking the assignment, leaving the group".into()
            });
        // Delivery ends: waiting records would precede the revocation in the queue.
        let tps = self
            .consumption
            .fetcher
            .positions()
            .iter()
            .map(|p| p.state.tp())
            .collect();
        self.consumption.pause(cluster, tps);
        // A member gets a revocation as in any rebalance; a manual assignment is only dropped.
        let member = !self.consumption.group.is_inactive();
        self.consumption.group.unsubscribe(ctx, cluster);
        if !member {
            self.consumption.unassign(ctx, cluster);
        }
    }

    fn poll_closing(&mut self, ctx: &mut Ctx<'_>) -> Option<Instant> {
        let closing = self.closing.as_ref()?;
        if !self.consumption.group.is_idle() && closing.deadline > ctx.now {
            return Some(closing.deadline);
        }
        let late = !self.consumption.group.is_idle();
        let closing = self.closing.take()?;
        self.consumption
            .group
            .close(&Error::new(ErrorCode::L_DESTROY, "the consumer was closed"));
        self.closed = true;
        closing.reply.fill(match late {
            true => Err(Error::new(
                ErrorCode::L_TIMED_OUT,
                "the group's coordinator did not answer in time",
            )),
            false => Ok(()),
        });
        self.shared.set_closed();
        None
    }

    /// Fails waiting calls and drops fetched records.
    pub fn close(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        let error = Error::new(ErrorCode::L_DESTROY, "the client is being destroyed");
        self.closed = true;
        self.consumption.unassign(ctx, cluster);
        let started = self
            .consumption
            .fetcher
            .positions()
            .iter()
            .filter(|p| p.origin == Origin::Started);
        let ids: Vec<u32> = started.map(|p| p.state.id()).collect();
        self.consumption.stop_partitions(ctx, cluster, &ids);
        self.consumption.files.close();
        self.consumption.offsets.close(cluster, &error);
        self.consumption.group.close(&error);
        if let Some(closing) = self.closing.take() {
            closing.reply.fill(Err(error));
        }
        self.shared.set_closed();
    }
}

/// Returns true for the commands by which an application answers a revocation, and commits.
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
