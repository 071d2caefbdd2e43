//! Look-ups of offsets at leaders: the start and the end of the log, and the first record of a timestamp.
//!
//! One ListOffsets request contains all queries for a leader. A query for a consumed partition is retried until it is
//! cancelled, a query for a call of the application until the call's deadline.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::ApiKey;
use ottla_protocol::api::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};

use super::lookup::FoundOffset;
use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::config::units::{int32, millis};
use crate::connection::{BrokerKey, Outcome, Owner, Ready};
use crate::consumer::command::{Command, OffsetsResult};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::reply::Reply;
use crate::request::{PendingRequest, ReadyBroker, RequestIds, decode, reply_of, unsupported};
use crate::sys::{Instant, earliest};
use crate::types::{NodeId, PartitionOffset, TopicPartition, offset};

/// The origin of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Requester {
    /// The fetcher's look-up with this number.
    Position { id: u32, lookup_id: u64 },
    /// A row of a call of the application.
    Call { call: u64, row: usize },
}

impl Requester {
    fn is_of_call(&self, id: u64) -> bool {
        matches!(self, Requester::Call { call, .. } if *call == id)
    }
}

#[derive(Debug)]
struct Query {
    requester: Requester,
    tp: TopicPartition,
    /// -2 for the start, -1 for the end, else milliseconds.
    timestamp: i64,
    since: Instant,
    /// Without a deadline: the call has it.
    pending: PendingRequest,
}

/// The reply of a call.
#[derive(Debug)]
enum CallReply {
    Watermarks(Arc<Reply<Result<(i64, i64), Error>>>),
    Rows(Arc<Reply<OffsetsResult>>),
}

#[derive(Debug)]
struct Call {
    rows: Vec<PartitionOffset>,
    left: usize,
    deadline: Instant,
    reply: CallReply,
}

/// Queries, requests in flight, calls. Part of a consumer; the core of a producer drives one for the calls of its
/// application.
#[derive(Debug)]
pub struct ListOffsets {
    queries: BTreeMap<u64, Query>,
    /// Queries that are in no request: an index, because a consumer may have thousands in flight.
    waiting: BTreeSet<u64>,
    calls: BTreeMap<u64, Call>,
    found: Vec<FoundOffset>,
    /// The numbers of queries, calls and requests.
    ids: RequestIds,
    read_committed: bool,
    timeout: Duration,
}

impl ListOffsets {
    /// Without queries.
    pub fn new(conf: &ClientConfig) -> Self {
        ListOffsets {
            queries: BTreeMap::new(),
            waiting: BTreeSet::new(),
            calls: BTreeMap::new(),
            found: Vec::new(),
            ids: RequestIds::default(),
            read_committed: conf.isolation_level == "read_committed",
            timeout: Duration::from_millis(millis(conf.socket_timeout_ms)),
        }
    }

    fn add(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster, requester: Requester, tp: TopicPartition, timestamp: i64) {
        cluster.watch(&tp.topic, ctx.now);
        let id = self.ids.next();
        self.waiting.insert(id);
        self.queries.insert(
            id,
            Query {
                requester,
                tp,
                timestamp,
                since: ctx.now,
                pending: PendingRequest::new(ctx.now, Instant::NEVER),
            },
        );
    }

    fn drop_query(&mut self, cluster: &mut Cluster, id: u64) -> Option<Query> {
        self.waiting.remove(&id);
        let query = self.queries.remove(&id)?;
        cluster.unwatch(&query.tp.topic);
        Some(query)
    }

    /// Looks up the start or the end of a consumed partition.
    pub(in crate::consumer) fn look_up(
        &mut self,
        ctx: &Ctx<'_>,
        cluster: &mut Cluster,
        (id, lookup_id): (u32, u64),
        tp: TopicPartition,
        logical: i64,
    ) {
        self.add(ctx, cluster, Requester::Position { id, lookup_id }, tp, logical);
    }

    /// Cancels the look-ups of a partition.
    pub(in crate::consumer) fn cancel(&mut self, cluster: &mut Cluster, id: u32) {
        let gone: Vec<u64> = self
            .queries
            .iter()
            .filter(|(_, q)| matches!(q.requester, Requester::Position { id: i, .. } if i == id))
            .map(|(n, _)| *n)
            .collect();
        for query in gone {
            self.drop_query(cluster, query);
        }
    }

    /// Executes the look-ups among a consumer's commands for a producer; refuses other commands.
    pub fn on_command(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, command: Command) {
        match command {
            Command::QueryWatermarks { tp, deadline, reply } => self.watermarks(ctx, cluster, &tp, deadline, reply),
            Command::OffsetsForTimes {
                partitions,
                deadline,
                reply,
            } => self.for_times(ctx, cluster, partitions, deadline, reply),
            other => other.refuse(Error::new(
                ErrorCode::L_INVALID_ARG,
                "the client is a producer, not a consumer",
            )),
        }
    }

    /// Executes a query of both watermarks for the application.
    pub(in crate::consumer) fn watermarks(
        &mut self,
        ctx: &Ctx<'_>,
        cluster: &mut Cluster,
        tp: &TopicPartition,
        deadline: Instant,
        reply: Arc<Reply<Result<(i64, i64), Error>>>,
    ) {
        let rows = [offset::BEGINNING, offset::END]
            .map(|at| PartitionOffset::new(tp.clone(), at))
            .to_vec();
        self.call(ctx, cluster, rows, deadline, CallReply::Watermarks(reply));
    }

    /// Executes a query of offsets for timestamps for the application.
    pub(in crate::consumer) fn for_times(
        &mut self,
        ctx: &Ctx<'_>,
        cluster: &mut Cluster,
        rows: Vec<PartitionOffset>,
        deadline: Instant,
        reply: Arc<Reply<OffsetsResult>>,
    ) {
        if rows.is_empty() {
            return reply.fill(Ok(rows));
        }
        self.call(ctx, cluster, rows, deadline, CallReply::Rows(reply));
    }

    fn call(
        &mut self,
        ctx: &Ctx<'_>,
        cluster: &mut Cluster,
        rows: Vec<PartitionOffset>,
        deadline: Instant,
        reply: CallReply,
    ) {
        let call = self.ids.next();
        for (row, r) in rows.iter().enumerate() {
            self.add(ctx, cluster, Requester::Call { call, row }, r.tp.clone(), r.offset);
        }
        self.calls.insert(
            call,
            Call {
                left: rows.len(),
                rows,
                deadline,
                reply,
            },
        );
    }

    /// Returns the offsets of consumed partitions that were found since the last call.
    pub(in crate::consumer) fn take_found(&mut self) -> Vec<FoundOffset> {
        std::mem::take(&mut self.found)
    }

    // ---------------------------------------------------------------- driver

    /// Sends the queries that are due. Returns when to call it again if nothing else happens.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        if self.calls.is_empty() && self.waiting.is_empty() {
            return None;
        }
        self.expire(ctx.now, cluster);
        let mut groups: BTreeMap<(NodeId, usize), Vec<u64>> = BTreeMap::new();
        let mut named: HashMap<TopicPartition, usize> = HashMap::new();
        let due: Vec<u64> = self.waiting.iter().copied().collect();
        for id in due {
            let Some(query) = self.queries.get(&id).filter(|q| q.pending.may_send(ctx.now)) else {
                continue;
            };
            if let Some(error) = unknown_partition(cluster, query) {
                self.finish(cluster, id, Err(error));
                continue;
            }
            let Some(query) = self.queries.get(&id) else { continue };
            match cluster.leader(&query.tp.topic, query.tp.partition) {
                // A request can name a partition only once.
                Some(node) => {
                    let turn = named.entry(query.tp.clone()).or_default();
                    groups.entry((node, *turn)).or_default().push(id);
                    *turn += 1;
                }
                None => self.await_leader(ctx, cluster, id),
            }
        }
        for ((node, _), queries) in groups {
            self.send(ctx, cluster, node, queries);
        }
        let waiting = self
            .waiting
            .iter()
            .filter_map(|id| self.queries.get(id)?.pending.next_at());
        let retry = waiting.filter(|at| *at > ctx.now).min();
        earliest(retry, self.calls.values().map(|c| c.deadline).min())
    }

    fn expire(&mut self, now: Instant, cluster: &mut Cluster) {
        let late: Vec<u64> = self
            .calls
            .iter()
            .filter(|(_, c)| c.deadline <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            let Some(call) = self.calls.remove(&id) else { continue };
            let queries = self.queries.values().filter(|q| q.requester.is_of_call(id));
            let last = queries.max_by_key(|q| q.pending.last_error().is_some());
            let text = "no response from the leader in time";
            let timeout = || Error::new(ErrorCode::L_TIMED_OUT, text);
            let error = last.map_or_else(timeout, |q| q.pending.timeout_error(text));
            self.forget_queries_of(cluster, id);
            call.fail(error);
        }
    }

    /// Handles a closed connection or a failed attempt to connect: requests metadata, as leaders may have changed.
    pub fn on_connection_down(&mut self, cluster: &mut Cluster, key: BrokerKey, now: Instant) {
        if key != BrokerKey::general(key.node) {
            return;
        }
        let waiting = self.waiting.iter().filter_map(|id| self.queries.get(id));
        for query in waiting {
            if cluster.leader(&query.tp.topic, query.tp.partition) == Some(key.node) {
                cluster.request_refresh(&query.tp.topic, now);
            }
        }
    }

    fn forget_queries_of(&mut self, cluster: &mut Cluster, call: u64) {
        let gone: Vec<u64> = self
            .queries
            .iter()
            .filter(|(_, q)| q.requester.is_of_call(call))
            .map(|(n, _)| *n)
            .collect();
        for query in gone {
            self.drop_query(cluster, query);
        }
    }

    fn send(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId, queries: Vec<u64>) {
        let key = BrokerKey::general(node);
        let broker = match ctx.connections.ready(key, ctx.now) {
            Ready::Yes(versions) => ReadyBroker { key, versions },
            // An event of the connection causes the next poll.
            Ready::Busy | Ready::Connecting => return,
            Ready::Unknown => return queries.into_iter().for_each(|id| self.await_leader(ctx, cluster, id)),
        };
        let version = match broker.version::<ListOffsetsRequest>() {
            Ok(version) => version,
            Err(error) => {
                let failed = queries.into_iter();
                return failed.for_each(|id| self.finish(cluster, id, Err(error.clone())));
            }
        };
        let mut topics: BTreeMap<Arc<str>, Vec<ListOffsetsPartition>> = BTreeMap::new();
        let mut sent = Vec::new();
        for id in queries {
            let Some(query) = self.queries.get(&id) else { continue };
            if version < ListOffsetsRequest::TIMESTAMPS_SINCE && query.timestamp >= 0 {
                // It has timestamps of log segments only.
                let error = unsupported("the broker is too old to look up offsets by time");
                self.finish(cluster, id, Err(error));
                continue;
            }
            let epoch = cluster
                .topic(&query.tp.topic)
                .and_then(|t| t.partition(query.tp.partition));
            topics
                .entry(query.tp.topic.clone())
                .or_default()
                .push(ListOffsetsPartition {
                    partition_index: query.tp.partition,
                    current_leader_epoch: epoch.map_or(-1, |m| m.leader_epoch),
                    timestamp: query.timestamp,
                    ..Default::default()
                });
            sent.push(id);
        }
        if sent.is_empty() {
            return;
        }
        let topics = topics.into_iter().map(|(name, partitions)| ListOffsetsTopic {
            name: name.to_string(),
            partitions,
            ..Default::default()
        });
        let request = ListOffsetsRequest {
            replica_id: -1,
            isolation_level: i8::from(self.read_committed && version >= ListOffsetsRequest::ISOLATION_LEVEL_SINCE),
            topics: topics.collect(),
            timeout_ms: int32(self.timeout.as_millis()),
            ..Default::default()
        };
        let tag = self.ids.next_tag(Owner::Offsets);
        match broker.send(ctx, tag, &request, version, self.timeout) {
            Ok(()) => {
                for id in &sent {
                    self.waiting.remove(id);
                    if let Some(query) = self.queries.get_mut(id) {
                        query.pending.on_sent(key, tag.id);
                    }
                }
            }
            Err(error) => sent.into_iter().for_each(|id| self.retry(ctx, id, error.clone())),
        }
    }

    /// Handles a request's outcome.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, key: BrokerKey, id: u64, outcome: Outcome) {
        let result = reply_of(outcome).and_then(|reply| {
            let response = decode::<ListOffsetsRequest>(ctx, key, &reply)?;
            let api = (ApiKey::LIST_OFFSETS, reply.version);
            ctx.connections
                .on_throttle_time(key, api, response.throttle_time_ms, ctx.now);
            Ok(response)
        });
        let queries = self.queries.iter().filter(|(_, q)| q.pending.is_in_flight(id));
        let queries: Vec<u64> = queries.map(|(id, _)| *id).collect();
        let (answers, error) = match result {
            Ok(response) => (
                index(response),
                Error::new(ErrorCode::L_BAD_MSG, "the broker's response lacks the partition"),
            ),
            Err(error) => (HashMap::new(), error),
        };
        for id in queries {
            let Some(query) = self.queries.get_mut(&id) else {
                continue;
            };
            let name = query.tp.topic.clone();
            match answers.get(&(query.tp.topic.to_string(), query.tp.partition)) {
                Some(answer) if answer.error_code == 0 => {
                    let found = (found_offset(answer), answer.leader_epoch);
                    self.finish(cluster, id, Ok(found));
                }
                Some(answer) => {
                    let code: ErrorCode = answer.error_code.into();
                    let text = format!("{}: offset look-up failed: {}", query.tp, code.description());
                    let error = Error::new(code, text);
                    // The broker may lag behind, or the topic was created again, with new epochs.
                    let unknown_epoch = code == ErrorCode::UNKNOWN_LEADER_EPOCH;
                    if code.action().refreshes_metadata() || unknown_epoch {
                        cluster.request_refresh(&name, ctx.now);
                    }
                    if code.action().is_retriable() || unknown_epoch {
                        self.retry(ctx, id, error);
                    } else {
                        self.finish(cluster, id, Err(error));
                    }
                }
                None => {
                    cluster.request_refresh(&name, ctx.now);
                    self.retry(ctx, id, error.clone());
                }
            }
        }
    }

    fn retry(&mut self, ctx: &mut Ctx<'_>, id: u64, error: Error) {
        if let Some(query) = self.queries.get_mut(&id) {
            query.pending.retry(ctx, error);
            self.waiting.insert(id);
        }
    }

    /// Requests metadata for a query whose leader is not known.
    fn await_leader(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u64) {
        if let Some(query) = self.queries.get_mut(&id) {
            cluster.request_refresh(&query.tp.topic, ctx.now);
            query.pending.postpone(ctx);
        }
    }

    /// Handles changed metadata of a topic: its queries are retried at once.
    pub fn on_topic_changed(&mut self, now: Instant, cluster: &Cluster, name: &str) {
        for id in &self.waiting {
            if let Some(query) = self.queries.get_mut(id).filter(|q| &*q.tp.topic == name)
                && cluster.leader(name, query.tp.partition).is_some()
            {
                query.pending.hasten(now);
            }
        }
    }

    fn finish(&mut self, cluster: &mut Cluster, id: u64, result: Result<(i64, i32), Error>) {
        let Some(query) = self.drop_query(cluster, id) else {
            return;
        };
        match query.requester {
            Requester::Position { id, lookup_id } => self.found.push(FoundOffset { id, lookup_id, result }),
            Requester::Call { call, row } => self.finish_row(cluster, call, row, result),
        }
    }

    fn finish_row(&mut self, cluster: &mut Cluster, id: u64, row: usize, result: Result<(i64, i32), Error>) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.left = call.left.saturating_sub(1);
        match result {
            Ok((found, epoch)) => {
                if let Some(row) = call.rows.get_mut(row) {
                    // No record has such a timestamp: the logical end.
                    row.offset = if found < 0 { offset::END } else { found };
                    row.leader_epoch = epoch;
                    row.error = ErrorCode::NO_ERROR;
                }
            }
            Err(error) if matches!(call.reply, CallReply::Watermarks(_)) => {
                if let Some(call) = self.calls.remove(&id) {
                    call.fail(error);
                }
                return self.forget_queries_of(cluster, id);
            }
            Err(error) => {
                if let Some(row) = call.rows.get_mut(row) {
                    row.error = error.code;
                }
            }
        }
        if call.left == 0
            && let Some(call) = self.calls.remove(&id)
        {
            call.succeed();
        }
    }

    /// Fails every call.
    pub fn close(&mut self, cluster: &mut Cluster, error: &Error) {
        for (_, call) in std::mem::take(&mut self.calls) {
            call.fail(error.clone());
        }
        let all: Vec<u64> = self.queries.keys().copied().collect();
        for id in all {
            self.drop_query(cluster, id);
        }
    }
}

impl Call {
    fn fail(self, error: Error) {
        match self.reply {
            CallReply::Watermarks(reply) => reply.fill(Err(error)),
            CallReply::Rows(reply) => reply.fill(Err(error)),
        }
    }

    fn succeed(self) {
        match self.reply {
            CallReply::Watermarks(reply) => {
                let mut offsets = self.rows.iter().map(|r| r.offset);
                reply.fill(Ok((offsets.next().unwrap_or(0), offsets.next().unwrap_or(0))));
            }
            CallReply::Rows(reply) => {
                // Failed rows have their errors; the call only fails if all rows did.
                match self.rows.iter().find(|r| !r.error.is_ok()).map(|r| r.error) {
                    Some(error) if self.rows.iter().all(|r| !r.error.is_ok()) => reply.fill(Err(error.into())),
                    _ => reply.fill(Ok(self.rows)),
                }
            }
        }
    }
}

/// Returns the error of a call's query for a partition that newer metadata lacks.
fn unknown_partition(cluster: &Cluster, query: &Query) -> Option<Error> {
    if matches!(query.requester, Requester::Position { .. }) {
        return None;
    }
    let meta = cluster.topic(&query.tp.topic).filter(|m| m.fetched_at >= query.since)?;
    if !meta.error.is_ok() && !matches!(meta.error, ErrorCode::LEADER_NOT_AVAILABLE) {
        let text = format!("{}: {}", query.tp.topic, meta.error.description());
        return Some(Error::new(meta.error, text));
    }
    if meta.is_usable() && query.tp.partition >= meta.partition_count() || query.tp.partition < 0 {
        let text = format!("{}: the topic has {} partitions", query.tp, meta.partition_count());
        return Some(Error::new(ErrorCode::L_UNKNOWN_PARTITION, text));
    }
    None
}

fn index(response: ListOffsetsResponse) -> HashMap<(String, i32), ListOffsetsPartitionResponse> {
    let mut answers = HashMap::new();
    for topic in response.topics {
        for partition in topic.partitions {
            answers.insert((topic.name.clone(), partition.partition_index), partition);
        }
    }
    answers
}

fn found_offset(answer: &ListOffsetsPartitionResponse) -> i64 {
    answer.old_style_offsets.first().copied().unwrap_or(answer.offset)
}

#[cfg(test)]
mod tests;
