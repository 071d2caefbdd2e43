//! The table of statistics. Each section is an object of the document, with its rows in the order of the document:
//!
//! ```text
//! "name" field: type = kind(unit) => "meaning";
//! "name" ("another name") field: ...
//! ```
//!
//! The types that hold the numbers, the JSON document, and `docs/STATISTICS.md` are generated from the rows.

use std::collections::BTreeMap;

use serde_core::ser::{Serialize, SerializeStruct, Serializer};

/// How a field changes from document to document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A value of the moment or of the last interval.
    Gauge,
    /// Increases during the life of the client.
    Counter,
    /// Neither: a name, a time, an object.
    Value,
}

/// Kind and unit of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    pub(super) unit: &'static str,
}

const fn gauge(unit: &'static str) -> Shape {
    Shape {
        kind: Kind::Gauge,
        unit,
    }
}

const fn counter(unit: &'static str) -> Shape {
    Shape {
        kind: Kind::Counter,
        unit,
    }
}

const fn value(unit: &'static str) -> Shape {
    Shape {
        kind: Kind::Value,
        unit,
    }
}

/// A row of the table.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// Further names of the same value, for programs that read those.
    pub(super) also: &'static [&'static str],
    pub(super) type_name: &'static str,
    pub(super) shape: Shape,
    pub(super) meaning: &'static str,
}

/// An object of the document.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: &'static str,
    /// Its paths in the document, `*` for a key.
    pub(super) places: &'static [&'static str],
    pub(super) about: &'static str,
    pub(super) fields: &'static [Field],
}

/// A value of the document with a name.
trait Member {
    const TYPE: &'static str;
    fn put<S: SerializeStruct>(&self, name: &'static str, to: &mut S) -> Result<(), S::Error>;

    /// The value, if its type can hold a counter.
    fn count(&self) -> Option<u64> {
        None
    }
}

/// An object of the document with its own counters, without those of nested objects.
pub(super) trait Counting {
    /// Returns the counters by name.
    fn own_counters(&self) -> impl Iterator<Item = (&'static str, u64)>;
}

macro_rules! members {
    ($($name:literal: $($ty:ty),+;)+) => {
        $($(impl Member for $ty {
            const TYPE: &'static str = $name;
            fn put<S: SerializeStruct>(&self, name: &'static str, to: &mut S) -> Result<(), S::Error> {
                to.serialize_field(name, self)
            }
        })+)+
    };
}

members! {
    "text": String, &'static str;
    "integer": i64, i32;
    "boolean": bool;
    "window": Summary;
    "object": BTreeMap<String, Broker>, BTreeMap<String, Topic>, BTreeMap<String, Toppar>, BTreeMap<i32, Partition>,
        BTreeMap<&'static str, u64>;
}

impl Member for u64 {
    const TYPE: &'static str = "integer";

    fn put<S: SerializeStruct>(&self, name: &'static str, to: &mut S) -> Result<(), S::Error> {
        to.serialize_field(name, self)
    }

    fn count(&self) -> Option<u64> {
        Some(*self)
    }
}

/// Omitted when `None`.
impl<T: Serialize> Member for Option<T> {
    const TYPE: &'static str = "object";
    fn put<S: SerializeStruct>(&self, name: &'static str, to: &mut S) -> Result<(), S::Error> {
        match self {
            Some(value) => to.serialize_field(name, value),
            None => to.skip_field(name),
        }
    }
}

macro_rules! sections {
    ($($title:literal $section:ident $place:expr, $about:literal; {
        $($name:literal $(($also:literal))? $field:ident: $ty:ty = $shape:expr => $meaning:literal;)+
    })+) => {
        $(
            #[doc = $about]
            #[derive(Debug, Clone, Default, PartialEq)]
            pub struct $section {
                $(#[doc = $meaning] pub $field: $ty,)+
            }

            impl Serialize for $section {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    let mut to = serializer.serialize_struct($title, [$($name),+].len())?;
                    $(
                        Member::put(&self.$field, $name, &mut to)?;
                        $(Member::put(&self.$field, $also, &mut to)?;)?
                    )+
                    to.end()
                }
            }

            impl Counting for $section {
                fn own_counters(&self) -> impl Iterator<Item = (&'static str, u64)> {
                    let all = [$(($name, $shape, Member::count(&self.$field))),+];
                    let counters = all.into_iter().filter(|(_, shape, _)| shape.kind == Kind::Counter);
                    counters.filter_map(|(name, _, count)| Some((name, count?)))
                }
            }
        )+

        /// Every section, the document as a whole first.
        pub(super) const SECTIONS: &[Section] = &[$(Section {
            title: $title,
            places: &$place,
            about: $about,
            fields: &[$(Field {
                name: $name,
                also: &[$($also)?],
                type_name: <$ty as Member>::TYPE,
                shape: $shape,
                meaning: $meaning,
            },)+],
        },)+];
    };
}

sections! {
    "Client" Statistics [""], "The whole document: one client at one moment."; {
        "name" name: String = value("") => "The client's name in logs: `client.id`, `#`, `producer` or `consumer`, and a number.";
        "client_id" client_id: String = value("") => "`client.id`.";
        "type" kind: &'static str = value("") => "`producer` or `consumer`.";
        "ts" ts_us: u64 = value("us") => "The client's monotonic clock, which starts at the client's creation.";
        "time" time_s: i64 = value("s") => "The wall clock, seconds since the Unix epoch.";
        "age" age_us: u64 = gauge("us") => "Time since the client was created.";
        "replyq" replyq: u64 = gauge("events") => "Events waiting to be served by `rd_kafka_poll()`: delivery reports, errors, earlier statistics.";
        "msg_cnt" msg_cnt: u64 = gauge("messages") => "Messages that a producer holds, from `produce()` until their delivery reports were served.";
        "msg_size" msg_size: u64 = gauge("bytes") => "Bytes of their keys, values and headers.";
        "msg_max" msg_max: u64 = value("messages") => "Maximum number of messages that a producer holds, `queue.buffering.max.messages`.";
        "msg_size_max" msg_size_max: u64 = value("bytes") => "Maximum number of bytes that a producer holds, `queue.buffering.max.kbytes`.";
        "simple_cnt" simple_cnt: u64 = gauge("partitions") => "Partitions consumed by the legacy API, `rd_kafka_consume_start()`.";
        "metadata_cache_cnt" metadata_cache_cnt: u64 = gauge("topics") => "Topics in the metadata cache.";
        "brokers" brokers: BTreeMap<String, Broker> = value("") => "Connections to brokers, by their names.";
        "topics" topics: BTreeMap<String, Topic> = value("") => "Topics that the client has used, by their names.";
        "cgrp" cgrp: Option<Group> = value("") => "The consumer group; only for consumers with a `group.id`.";
        "eos" eos: Option<Eos> = value("") => "Exactly-once production; only for idempotent and transactional producers.";
        "fatal" fatal: Option<Fatal> = value("") => "The fatal error, once one was raised.";
        "tx" tx: u64 = counter("requests") => "Requests written to sockets, over all connections, including those of removed brokers.";
        "tx_bytes" tx_bytes: u64 = counter("bytes") => "Bytes of those requests.";
        "rx" rx: u64 = counter("responses") => "Responses received.";
        "rx_bytes" rx_bytes: u64 = counter("bytes") => "Bytes of those responses.";
        "txmsgs" txmsgs: u64 = counter("messages") => "Messages sent in Produce requests; each attempt counts.";
        "txmsg_bytes" txmsg_bytes: u64 = counter("bytes") => "Bytes of the record batches that contained them, as sent: compressed, with batch headers.";
        "rxmsgs" rxmsgs: u64 = counter("messages") => "Messages fetched and added to the application's queues.";
        "rxmsg_bytes" rxmsg_bytes: u64 = counter("bytes") => "Bytes of their records, uncompressed.";
    }

    "Broker" Broker ["brokers.*"], "One connection to a broker. `host:port/bootstrap` is an address of `bootstrap.servers` \
        whose broker is not known yet, `host:port/ID` a broker; `GroupCoordinator/ID` and `TxnCoordinator/ID` are second \
        connections to the brokers that coordinate the group or transactions."; {
        "name" name: String = value("") => "The connection's name, equal to its key.";
        "nodeid" nodeid: i32 = value("id") => "The broker's id, -1 while it is not known.";
        "nodename" nodename: String = value("") => "`host:port` of the broker.";
        "source" source: &'static str = value("") => "`configured` (`bootstrap.servers`), `learned` (from metadata) or `logical` (a coordinator).";
        "state" state: &'static str = value("") => "`INIT` (not tried yet), `TRY_CONNECT` (name look-up), `CONNECT`, `APIVERSION_QUERY`, `UP`, or `DOWN` (not connected: the connection failed, or there is nothing to send).";
        "stateage" stateage_us: u64 = gauge("us") => "Time since that state was entered.";
        "outbuf_cnt" outbuf_cnt: u64 = gauge("requests") => "Requests not completely written yet.";
        "outbuf_msg_cnt" outbuf_msg_cnt: u64 = gauge("messages") => "Messages in those requests.";
        "waitresp_cnt" waitresp_cnt: u64 = gauge("requests") => "Requests written and waiting for their responses.";
        "waitresp_msg_cnt" waitresp_msg_cnt: u64 = gauge("messages") => "Messages in those requests.";
        "tx" tx: u64 = counter("requests") => "Requests written.";
        "txbytes" txbytes: u64 = counter("bytes") => "Bytes of those requests.";
        "txerrs" txerrs: u64 = counter("requests") => "Requests not completely written when their connection closed.";
        "txretries" txretries: u64 = counter("requests") => "Produce requests with messages that had been sent before.";
        "txidle" txidle_us: i64 = gauge("us") => "Time since the last request was written, -1 before the first.";
        "req_timeouts" req_timeouts: u64 = counter("requests") => "Requests that timed out.";
        "rx" rx: u64 = counter("responses") => "Responses received.";
        "rxbytes" rxbytes: u64 = counter("bytes") => "Bytes of those responses.";
        "rxerrs" rxerrs: u64 = counter("errors") => "Connections closed because of a system error, in the middle of a response, or because of an invalid frame.";
        "rxcorriderrs" rxcorriderrs: u64 = counter("responses") => "Responses that match no request; each closes its connection.";
        "rxpartial" rxpartial: u64 = counter("batches") => "Batches truncated by the size limit of a Fetch response, to be fetched again.";
        "rxidle" rxidle_us: i64 = gauge("us") => "Time since the last response, -1 before the first.";
        "zbuf_grow" zbuf_grow: u64 = counter("buffers") => "Always 0: decompression buffers are reused and do not belong to brokers.";
        "buf_grow" buf_grow: u64 = counter("buffers") => "Always 0: requests consist of segments that do not grow.";
        "wakeups" wakeups: u64 = counter("events") => "Wake-ups of the client's thread for reads and writes of this connection. One thread serves all brokers.";
        "connects" connects: u64 = counter("attempts") => "Connection attempts, including failed ones.";
        "disconnects" disconnects: u64 = counter("connections") => "Connections closed by either side.";
        "int_latency" int_latency: Summary = gauge("us") => "Time from `produce()` until the message was added to its first request, per message.";
        "outbuf_latency" outbuf_latency: Summary = gauge("us") => "Time from the request's creation until it was written to the socket, per request.";
        "rtt" rtt: Summary = gauge("us") => "Time from the write until the response was received, per request that has one.";
        "throttle" throttle: Summary = gauge("ms") => "Throttle time of a broker's quota (KIP-219), including 0, per Produce, Fetch and ListOffsets response.";
        "req" req: BTreeMap<&'static str, u64> = counter("requests") => "Requests passed to the connection, by name: see below.";
        "toppars" toppars: BTreeMap<String, Toppar> = value("") => "Partitions produced to this broker or fetched from it, as `topic-partition`.";
    }

    "Window" Summary ["brokers.*.int_latency", "brokers.*.outbuf_latency", "brokers.*.rtt", "brokers.*.throttle",
        "topics.*.batchsize", "topics.*.batchcnt"], "Measurements since the last document. Percentiles come from a histogram of fixed size with two \
        significant figures: their error is at most one percent. All fields are 0 when nothing was measured."; {
        "min" min: i64 = gauge("that of the window") => "The smallest value.";
        "max" max: i64 = gauge("that of the window") => "The largest value.";
        "avg" avg: i64 = gauge("that of the window") => "The mean.";
        "sum" sum: i64 = gauge("that of the window") => "The sum.";
        "stddev" stddev: i64 = gauge("that of the window") => "The standard deviation.";
        "p50" p50: i64 = gauge("that of the window") => "The median.";
        "p75" p75: i64 = gauge("that of the window") => "75 of 100 values are no larger.";
        "p90" p90: i64 = gauge("that of the window") => "90 of 100 values are no larger.";
        "p95" p95: i64 = gauge("that of the window") => "95 of 100 values are no larger.";
        "p99" p99: i64 = gauge("that of the window") => "99 of 100 values are no larger.";
        "p99_99" p99_99: i64 = gauge("that of the window") => "9999 of 10000 values are no larger.";
        "outofrange" outofrange: i64 = gauge("values") => "Values above the histogram's range: counted in `cnt`, `sum`, `avg`, `min` and `max`, but not in percentiles and `stddev`.";
        "hdrsize" hdrsize: i64 = gauge("bytes") => "Memory of the histogram.";
        "cnt" cnt: i64 = gauge("values") => "Number of values.";
    }

    "Partition of a broker" Toppar ["brokers.*.toppars.*"], "A partition produced to a broker or fetched from it."; {
        "topic" topic: String = value("") => "The topic.";
        "partition" partition: i32 = value("id") => "The partition.";
    }

    "Topic" Topic ["topics.*"], "A topic that the client has used."; {
        "topic" topic: String = value("") => "The topic's name, equal to its key.";
        "age" age_ms: u64 = gauge("ms") => "Time since the client first used it.";
        "metadata_age" metadata_age_ms: i64 = gauge("ms") => "Time since the last metadata response for it, -1 before the first.";
        "batchsize" batchsize: Summary = gauge("bytes") => "Bytes of the record batches sent, compressed, with batch headers.";
        "batchcnt" batchcnt: Summary = gauge("messages") => "Messages in the record batches sent.";
        "partitions" partitions: BTreeMap<i32, Partition> = value("") => "The partitions, by number. -1 holds a producer's messages that have no partition yet.";
    }

    "Partition" Partition ["topics.*.partitions.*"], "A partition. Fields of producers are 0 in consumers, and vice versa; unknown \
        offsets are -1001."; {
        "partition" partition: i32 = value("id") => "The partition's number, equal to its key.";
        "broker" broker: i32 = value("id") => "The broker that it is produced to or fetched from, -1 for none. A consumer may read from a follower (KIP-392).";
        "leader" leader: i32 = value("id") => "The leader in the metadata, -1 without one.";
        "desired" desired: bool = value("") => "The application consumes it.";
        "unknown" unknown: bool = value("") => "Metadata does not contain it.";
        "msgq_cnt" msgq_cnt: u64 = gauge("messages") => "Producer: messages in the open batch and in full batches that the client's thread has not processed yet.";
        "msgq_bytes" msgq_bytes: u64 = gauge("bytes") => "Bytes of their keys, values and headers.";
        "xmit_msgq_cnt" xmit_msgq_cnt: u64 = gauge("messages") => "Producer: messages in batches ready to be sent or retried.";
        "xmit_msgq_bytes" xmit_msgq_bytes: u64 = gauge("bytes") => "Bytes of their keys, values and headers.";
        "fetchq_cnt" fetchq_cnt: u64 = gauge("messages") => "Consumer: fetched messages waiting for the application.";
        "fetchq_size" fetchq_size: u64 = gauge("bytes") => "Bytes that they occupy, uncompressed.";
        "fetch_state" fetch_state: &'static str = value("") => "Consumer: `none` (not consumed), `stopped` (paused, or until the application seeks), `offset-query` (its offset is being looked up or validated by the leader), `offset-wait` (backoff before the next look-up), `active`.";
        "query_offset" query_offset: i64 = gauge("offset") => "The logical offset at which consuming started: -2 beginning, -1 end, -1000 stored, -2000-N the Nth from the end; -1001 for none.";
        "next_offset" next_offset: i64 = gauge("offset") => "The next offset to fetch.";
        "app_offset" app_offset: i64 = gauge("offset") => "The offset after the last message delivered to the application.";
        "stored_offset" stored_offset: i64 = gauge("offset") => "The stored offset, which the next commit uses.";
        "stored_leader_epoch" stored_leader_epoch: i32 = value("epoch") => "The leader epoch of the message before it, -1 if unknown.";
        "committed_offset" ("commited_offset") committed_offset: i64 = gauge("offset") => "The last committed offset known to this client.";
        "committed_leader_epoch" committed_leader_epoch: i32 = value("epoch") => "The leader epoch committed with it, -1 if unknown.";
        "eof_offset" eof_offset: i64 = gauge("offset") => "The last end of partition reported to the application (`enable.partition.eof`).";
        "lo_offset" lo_offset: i64 = gauge("offset") => "The log start offset in the last response.";
        "hi_offset" hi_offset: i64 = gauge("offset") => "The high watermark in the last response.";
        "ls_offset" ls_offset: i64 = gauge("offset") => "The last stable offset (KIP-98) in the last response.";
        "consumer_lag" consumer_lag: i64 = gauge("messages") => "Messages between the committed offset and the end, which is `ls_offset` with `isolation.level=read_committed` and `hi_offset` otherwise; -1 if unknown.";
        "consumer_lag_stored" consumer_lag_stored: i64 = gauge("messages") => "Messages between the stored offset and the end; -1 if unknown.";
        "leader_epoch" leader_epoch: i32 = value("epoch") => "The leader's epoch in the metadata, -1 if unknown.";
        "txmsgs" txmsgs: u64 = counter("messages") => "Messages sent in Produce requests; each attempt counts.";
        "txbytes" txbytes: u64 = counter("bytes") => "Bytes of the record batches that contained them, as sent.";
        "rxmsgs" rxmsgs: u64 = counter("messages") => "Messages fetched and added to the application's queue.";
        "rxbytes" rxbytes: u64 = counter("bytes") => "Bytes of their records, uncompressed.";
        "msgs" msgs: u64 = counter("messages") => "Producer: messages produced, sent or not. Consumer: as `rxmsgs`.";
        "rx_ver_drops" rx_ver_drops: u64 = counter("messages") => "Messages fetched and dropped because of a seek, a pause or a revocation in the meantime.";
        "msgs_inflight" msgs_inflight: u64 = gauge("messages") => "Producer: messages in requests without a response yet.";
        "next_ack_seq" next_ack_seq: i32 = gauge("sequence") => "Idempotent producer: the sequence number after the last acknowledged message.";
        "next_err_seq" next_err_seq: i32 = gauge("sequence") => "Idempotent producer: the sequence number after the last message that was acknowledged or failed.";
        "acked_msgid" acked_msgid: u64 = counter("id") => "Idempotent producer: the number of the last acknowledged message, counted from 1 within the partition.";
    }

    "Consumer group" Group ["cgrp"], "The group of a consumer."; {
        "state" state: &'static str = value("") => "The connection to the coordinator: `init` (not needed yet), `query-coord` (look-up pending), `wait-coord` (look-up in progress), `wait-broker-transport` (connecting), `up`.";
        "stateage" stateage_ms: u64 = gauge("ms") => "Time since the last change of that state.";
        "join_state" join_state: &'static str = value("") => "The membership: `init` (not a member), `wait-join`, `wait-metadata`, `wait-sync`, `wait-assign-call` and `wait-unassign-call` (waiting for the application to assign or unassign partitions), `wait-unassign-to-complete` (committing offsets before the partitions are released to the coordinator), `steady`.";
        "rebalance_age" rebalance_age_ms: u64 = gauge("ms") => "Time since the last rebalance, or since the client was created.";
        "rebalance_cnt" rebalance_cnt: u64 = counter("rebalances") => "Rebalances: partitions were assigned or revoked.";
        "rebalance_reason" rebalance_reason: String = value("") => "The reason of the last rebalance, empty before the first.";
        "assignment_size" assignment_size: u64 = gauge("partitions") => "Assigned partitions.";
    }

    "Exactly-once production" Eos ["eos"], "An idempotent or transactional producer."; {
        "idemp_state" idemp_state: &'static str = value("") => "The producer id: `Init` (not needed yet), `RequestPID` (to be requested), `WaitPID` (requested), `Assigned`, `FatalError`.";
        "idemp_stateage" idemp_stateage_ms: u64 = gauge("ms") => "Time since the last change of that state.";
        "txn_state" txn_state: &'static str = value("") => "The transaction: `Init` (also without a `transactional.id`), `WaitPID`, `Ready`, `InTransaction`, `BeginCommit` and `BeginAbort` (waiting for messages), `CommittingTransaction` and `AbortingTransaction` (EndTxn was sent to the coordinator), `ReadyNotAcked`, `CommitNotAcked` and `AbortedNotAcked` (done, but the call had timed out), `AbortableError`, `FatalError`.";
        "txn_stateage" txn_stateage_ms: u64 = gauge("ms") => "Time since the last change of that state.";
        "txn_may_enq" txn_may_enq: bool = value("") => "`produce()` accepts messages of a transaction.";
        "producer_id" producer_id: i64 = gauge("id") => "The producer id, -1 without one.";
        "producer_epoch" producer_epoch: i32 = gauge("epoch") => "The producer epoch, -1 without one. Without transactions each partition has its own epoch; this is the highest.";
        "epoch_cnt" epoch_cnt: u64 = counter("ids") => "Producer ids and epochs assigned by brokers.";
    }

    "Fatal error" Fatal ["fatal"], "The error that made the client unusable."; {
        "error" error: String = value("") => "The error's name, as `rd_kafka_err2name()` returns it.";
        "reason" reason: String = value("") => "The error's description.";
        "cnt" cnt: u64 = counter("errors") => "Fatal errors raised; `error` and `reason` are those of the first.";
    }
}

impl Broker {
    /// Creates a row with only a name.
    pub fn named(name: String) -> Self {
        Broker {
            name,
            nodeid: -1,
            txidle_us: -1,
            rxidle_us: -1,
            ..Default::default()
        }
    }
}

/// An unknown offset.
const NO_OFFSET: i64 = crate::types::offset::INVALID;

impl Partition {
    /// Creates a row with only a partition number.
    pub fn numbered(partition: i32) -> Self {
        Partition {
            partition,
            broker: -1,
            leader: -1,
            unknown: true,
            fetch_state: "none",
            query_offset: NO_OFFSET,
            next_offset: NO_OFFSET,
            app_offset: NO_OFFSET,
            stored_offset: NO_OFFSET,
            stored_leader_epoch: -1,
            committed_offset: NO_OFFSET,
            committed_leader_epoch: -1,
            eof_offset: NO_OFFSET,
            lo_offset: NO_OFFSET,
            hi_offset: NO_OFFSET,
            ls_offset: NO_OFFSET,
            consumer_lag: -1,
            consumer_lag_stored: -1,
            leader_epoch: -1,
            ..Default::default()
        }
    }
}
