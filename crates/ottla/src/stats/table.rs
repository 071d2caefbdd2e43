//! The table of statistics. Each section is an object of the document; its rows stand in the order in which they are
//! written:
//!
//! ```text
//! "name" field: type = kind(unit) => "meaning";
//! "name" ("another name") field: ...
//! ```
//!
//! From the rows come the types that hold the numbers, the JSON document, and `docs/STATISTICS.md`.

use std::collections::BTreeMap;

use serde_core::ser::{Serialize, SerializeStruct, Serializer};

/// How a field changes from document to document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// What is true at that moment, or of the last interval.
    Gauge,
    /// Counts up for as long as the client lives.
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
    /// Other names under which the same value stands, for programs that know only those.
    pub(super) also: &'static [&'static str],
    pub(super) type_name: &'static str,
    pub(super) shape: Shape,
    pub(super) meaning: &'static str,
}

/// An object of the document.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: &'static str,
    /// Where it stands, `*` for a key.
    pub(super) places: &'static [&'static str],
    pub(super) about: &'static str,
    pub(super) fields: &'static [Field],
}

/// A value that stands in the document under a name.
trait Member {
    const TYPE: &'static str;
    fn put<S: SerializeStruct>(&self, name: &'static str, to: &mut S) -> Result<(), S::Error>;

    /// The value, where it is one that may count.
    fn count(&self) -> Option<u64> {
        None
    }
}

/// An object of the document with its own counters, those of objects in it not among them.
pub(super) trait Counting {
    /// By their names.
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

/// Left out when there is none.
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
    "Client" Statistics [""], "One client at one moment: the whole document."; {
        "name" name: String = value("") => "The client's name in logs: `client.id`, `#`, `producer` or `consumer`, and a number.";
        "client_id" client_id: String = value("") => "`client.id`.";
        "type" kind: &'static str = value("") => "`producer` or `consumer`.";
        "ts" ts_us: u64 = value("us") => "The client's own monotonic clock, which begins when the client is created.";
        "time" time_s: i64 = value("s") => "The wall clock, seconds since the Unix epoch.";
        "age" age_us: u64 = gauge("us") => "Since the client was created.";
        "replyq" replyq: u64 = gauge("events") => "Events that wait to be served by `rd_kafka_poll()`: delivery reports, errors, earlier statistics.";
        "msg_cnt" msg_cnt: u64 = gauge("messages") => "Messages that a producer holds, from `produce()` until their delivery reports were handled.";
        "msg_size" msg_size: u64 = gauge("bytes") => "Keys, values and headers of those messages.";
        "msg_max" msg_max: u64 = value("messages") => "The most messages that a producer holds, `queue.buffering.max.messages`.";
        "msg_size_max" msg_size_max: u64 = value("bytes") => "The most bytes that a producer holds, `queue.buffering.max.kbytes`.";
        "simple_cnt" simple_cnt: u64 = gauge("partitions") => "Partitions that are consumed by the legacy API, `rd_kafka_consume_start()`.";
        "metadata_cache_cnt" metadata_cache_cnt: u64 = gauge("topics") => "Topics of which metadata is known.";
        "brokers" brokers: BTreeMap<String, Broker> = value("") => "Connections to brokers, by their names.";
        "topics" topics: BTreeMap<String, Topic> = value("") => "Topics that the client has used, by their names.";
        "cgrp" cgrp: Option<Group> = value("") => "The consumer group: of consumers with a `group.id`.";
        "eos" eos: Option<Eos> = value("") => "Exactly-once production: of idempotent and transactional producers.";
        "fatal" fatal: Option<Fatal> = value("") => "The fatal error, once there was one.";
        "tx" tx: u64 = counter("requests") => "Requests that were written to sockets, over all connections, those of brokers that are gone included.";
        "tx_bytes" tx_bytes: u64 = counter("bytes") => "Bytes of those requests.";
        "rx" rx: u64 = counter("responses") => "Responses that came.";
        "rx_bytes" rx_bytes: u64 = counter("bytes") => "Bytes of those responses.";
        "txmsgs" txmsgs: u64 = counter("messages") => "Messages that were put into Produce requests; each attempt counts.";
        "txmsg_bytes" txmsg_bytes: u64 = counter("bytes") => "Bytes of the record batches that carried them, as sent: compressed, with their headers.";
        "rxmsgs" rxmsgs: u64 = counter("messages") => "Messages that were fetched and put into the application's queues.";
        "rxmsg_bytes" rxmsg_bytes: u64 = counter("bytes") => "Bytes of their records, uncompressed.";
    }

    "Broker" Broker ["brokers.*"], "One connection to a broker. `host:port/bootstrap` is an address of `bootstrap.servers` \
        whose broker is not known yet, `host:port/ID` a broker; `GroupCoordinator/ID` and `TxnCoordinator/ID` are second \
        connections to brokers that coordinate a group or transactions."; {
        "name" name: String = value("") => "The connection's name, as its key.";
        "nodeid" nodeid: i32 = value("id") => "The broker's id, -1 as long as it is not known.";
        "nodename" nodename: String = value("") => "`host:port` of the broker.";
        "source" source: &'static str = value("") => "`configured` (`bootstrap.servers`), `learned` (from metadata) or `logical` (a coordinator).";
        "state" state: &'static str = value("") => "`INIT` (not tried yet), `TRY_CONNECT` (name look-up), `CONNECT`, `APIVERSION_QUERY`, `UP`, or `DOWN` (not connected: it has failed, or nothing is to be sent).";
        "stateage" stateage_us: u64 = gauge("us") => "Since that state was entered.";
        "outbuf_cnt" outbuf_cnt: u64 = gauge("requests") => "Requests that are not wholly written yet.";
        "outbuf_msg_cnt" outbuf_msg_cnt: u64 = gauge("messages") => "Messages in those requests.";
        "waitresp_cnt" waitresp_cnt: u64 = gauge("requests") => "Requests that were written and wait for their responses.";
        "waitresp_msg_cnt" waitresp_msg_cnt: u64 = gauge("messages") => "Messages in those requests.";
        "tx" tx: u64 = counter("requests") => "Requests that were written.";
        "txbytes" txbytes: u64 = counter("bytes") => "Bytes of those requests.";
        "txerrs" txerrs: u64 = counter("requests") => "Requests that were not wholly written when their connection ended.";
        "txretries" txretries: u64 = counter("requests") => "Produce requests with messages that had been sent before.";
        "txidle" txidle_us: i64 = gauge("us") => "Since a request was last written, -1 when none was.";
        "req_timeouts" req_timeouts: u64 = counter("requests") => "Requests that were not answered in time.";
        "rx" rx: u64 = counter("responses") => "Responses that came.";
        "rxbytes" rxbytes: u64 = counter("bytes") => "Bytes of those responses.";
        "rxerrs" rxerrs: u64 = counter("errors") => "Connections that ended by an error of the system, in the middle of a response, or because what came was not Kafka's.";
        "rxcorriderrs" rxcorriderrs: u64 = counter("responses") => "Responses that belong to no request; each ends its connection.";
        "rxpartial" rxpartial: u64 = counter("batches") => "Batches of which a Fetch response had only the beginning, to be fetched again.";
        "rxidle" rxidle_us: i64 = gauge("us") => "Since a response last came, -1 when none did.";
        "zbuf_grow" zbuf_grow: u64 = counter("buffers") => "Always 0: buffers for decompression are not grown for each broker apart, and are used again.";
        "buf_grow" buf_grow: u64 = counter("buffers") => "Always 0: requests are made of parts that do not grow.";
        "wakeups" wakeups: u64 = counter("events") => "How often the client's thread had to do with this connection: something was written or came. There is one thread for all brokers.";
        "connects" connects: u64 = counter("attempts") => "Attempts to connect, those that failed included.";
        "disconnects" disconnects: u64 = counter("connections") => "Connections that ended, whoever ended them.";
        "int_latency" int_latency: Summary = gauge("us") => "From `produce()` until the message was put into its first request, for each message.";
        "outbuf_latency" outbuf_latency: Summary = gauge("us") => "From then until the request was written to the socket, for each request.";
        "rtt" rtt: Summary = gauge("us") => "From then until the response was there, for each request that has one.";
        "throttle" throttle: Summary = gauge("ms") => "For how long the broker asked to be left alone because of a quota (KIP-219), 0 included, for each Produce, Fetch and ListOffsets response.";
        "req" req: BTreeMap<&'static str, u64> = counter("requests") => "Requests that were handed to the connection, by their names: see below.";
        "toppars" toppars: BTreeMap<String, Toppar> = value("") => "Partitions that are sent to this broker or read from it, as `topic-partition`.";
    }

    "Window" Summary ["brokers.*.int_latency", "brokers.*.outbuf_latency", "brokers.*.rtt", "brokers.*.throttle",
        "topics.*.batchsize", "topics.*.batchcnt"], "What was measured since the last document. Percentiles come from a \
        histogram of fixed size with two significant figures: they are off by one part in a hundred at most. All is 0 \
        when nothing was measured."; {
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
        "outofrange" outofrange: i64 = gauge("values") => "Values above what the histogram holds: counted in `cnt`, `sum`, `avg`, `min` and `max`, but not in percentiles and `stddev`.";
        "hdrsize" hdrsize: i64 = gauge("bytes") => "Memory of the histogram.";
        "cnt" cnt: i64 = gauge("values") => "Values that were measured.";
    }

    "Partition of a broker" Toppar ["brokers.*.toppars.*"], "A partition that is sent to a broker or read from it."; {
        "topic" topic: String = value("") => "The topic.";
        "partition" partition: i32 = value("id") => "The partition.";
    }

    "Topic" Topic ["topics.*"], "A topic that the client has used."; {
        "topic" topic: String = value("") => "The topic's name, as its key.";
        "age" age_ms: u64 = gauge("ms") => "Since the client first used it.";
        "metadata_age" metadata_age_ms: i64 = gauge("ms") => "Since its metadata was last told by a broker, -1 when it never was.";
        "batchsize" batchsize: Summary = gauge("bytes") => "Bytes of the record batches that were sent, compressed and with their headers.";
        "batchcnt" batchcnt: Summary = gauge("messages") => "Messages in the record batches that were sent.";
        "partitions" partitions: BTreeMap<i32, Partition> = value("") => "The partitions, by their numbers. -1 has a producer's messages for which none could be chosen yet.";
    }

    "Partition" Partition ["topics.*.partitions.*"], "A partition. What only producers have is 0 in consumers, and the other \
        way round; offsets that are not known are -1001."; {
        "partition" partition: i32 = value("id") => "The partition's number, as its key.";
        "broker" broker: i32 = value("id") => "The broker that it is sent to or read from, -1 for none. A consumer may read from a follower (KIP-392).";
        "leader" leader: i32 = value("id") => "The leader as of metadata, -1 when there is none.";
        "desired" desired: bool = value("") => "The application consumes it.";
        "unknown" unknown: bool = value("") => "Metadata does not name it.";
        "msgq_cnt" msgq_cnt: u64 = gauge("messages") => "Producer: messages in the open batch and in full ones that the client's thread has not taken yet.";
        "msgq_bytes" msgq_bytes: u64 = gauge("bytes") => "Keys, values and headers of those.";
        "xmit_msgq_cnt" xmit_msgq_cnt: u64 = gauge("messages") => "Producer: messages in batches that are ready to be sent or sent again.";
        "xmit_msgq_bytes" xmit_msgq_bytes: u64 = gauge("bytes") => "Keys, values and headers of those.";
        "fetchq_cnt" fetchq_cnt: u64 = gauge("messages") => "Consumer: messages that wait for the application.";
        "fetchq_size" fetchq_size: u64 = gauge("bytes") => "Bytes held for those, uncompressed.";
        "fetch_state" fetch_state: &'static str = value("") => "Consumer: `none` (not consumed), `stopped` (paused, or until the application seeks), `offset-query` (its offset is being looked up, or whether the leader has what was read), `offset-wait` (waits before it is looked up again), `active`.";
        "query_offset" query_offset: i64 = gauge("offset") => "The logical offset that consuming began with: -2 beginning, -1 end, -1000 stored, -2000-N the Nth from the end; -1001 for none.";
        "next_offset" next_offset: i64 = gauge("offset") => "The next offset to be fetched.";
        "app_offset" app_offset: i64 = gauge("offset") => "Behind the last message that the application was given.";
        "stored_offset" stored_offset: i64 = gauge("offset") => "The offset that is committed next.";
        "stored_leader_epoch" stored_leader_epoch: i32 = value("epoch") => "The leader epoch of the message before it, -1 when not known.";
        "committed_offset" ("commited_offset") committed_offset: i64 = gauge("offset") => "The offset that is committed, as far as this client knows.";
        "committed_leader_epoch" committed_leader_epoch: i32 = value("epoch") => "The leader epoch that was committed with it, -1 when not known.";
        "eof_offset" eof_offset: i64 = gauge("offset") => "The end of the partition of which the application was last told (`enable.partition.eof`).";
        "lo_offset" lo_offset: i64 = gauge("offset") => "The log's start, as the broker last told.";
        "hi_offset" hi_offset: i64 = gauge("offset") => "The high watermark, as the broker last told.";
        "ls_offset" ls_offset: i64 = gauge("offset") => "The last stable offset (KIP-98), as the broker last told.";
        "consumer_lag" consumer_lag: i64 = gauge("messages") => "From the committed offset to the end, which is `ls_offset` with `isolation.level=read_committed` and else `hi_offset`; -1 when not known.";
        "consumer_lag_stored" consumer_lag_stored: i64 = gauge("messages") => "From the stored offset to the end; -1 when not known.";
        "leader_epoch" leader_epoch: i32 = value("epoch") => "The leader's epoch as of metadata, -1 when not known.";
        "txmsgs" txmsgs: u64 = counter("messages") => "Messages that were put into Produce requests; each attempt counts.";
        "txbytes" txbytes: u64 = counter("bytes") => "Bytes of the record batches that carried them, as sent.";
        "rxmsgs" rxmsgs: u64 = counter("messages") => "Messages that were fetched and put into the application's queue.";
        "rxbytes" rxbytes: u64 = counter("bytes") => "Bytes of their records, uncompressed.";
        "msgs" msgs: u64 = counter("messages") => "Producer: messages that were produced, sent or not. Consumer: as `rxmsgs`.";
        "rx_ver_drops" rx_ver_drops: u64 = counter("messages") => "Messages that were fetched and then dropped: the application had sought, paused or given up the partition meanwhile.";
        "msgs_inflight" msgs_inflight: u64 = gauge("messages") => "Producer: messages in requests that are not answered yet.";
        "next_ack_seq" next_ack_seq: i32 = gauge("sequence") => "Idempotent producer: the sequence number behind the last acknowledged message.";
        "next_err_seq" next_err_seq: i32 = gauge("sequence") => "Idempotent producer: the sequence number behind the last message that was acknowledged or has failed.";
        "acked_msgid" acked_msgid: u64 = counter("id") => "Idempotent producer: the last acknowledged message, counted from 1 within the partition.";
    }

    "Consumer group" Group ["cgrp"], "The group of a consumer."; {
        "state" state: &'static str = value("") => "The way to the coordinator: `init` (not needed yet), `query-coord` (to be looked up), `wait-coord` (being looked up), `wait-broker-transport` (being connected), `up`.";
        "stateage" stateage_ms: u64 = gauge("ms") => "Since that changed.";
        "join_state" join_state: &'static str = value("") => "The membership: `init` (no member), `wait-join`, `wait-metadata`, `wait-sync`, `wait-assign-call` and `wait-unassign-call` (the application was asked to take up or give up partitions), `wait-unassign-to-complete` (offsets are committed before the coordinator is told), `steady`.";
        "rebalance_age" rebalance_age_ms: u64 = gauge("ms") => "Since partitions were last given or taken, or since the client was created.";
        "rebalance_cnt" rebalance_cnt: u64 = counter("rebalances") => "How often partitions were given or taken.";
        "rebalance_reason" rebalance_reason: String = value("") => "What the last of them was, empty before the first.";
        "assignment_size" assignment_size: u64 = gauge("partitions") => "Partitions that are assigned.";
    }

    "Exactly-once production" Eos ["eos"], "An idempotent or transactional producer."; {
        "idemp_state" idemp_state: &'static str = value("") => "The producer id: `Init` (not needed yet), `RequestPID` (to be asked for), `WaitPID` (being asked for), `Assigned`, `FatalError`.";
        "idemp_stateage" idemp_stateage_ms: u64 = gauge("ms") => "Since that changed.";
        "txn_state" txn_state: &'static str = value("") => "The transaction: `Init` (also without a `transactional.id`), `WaitPID`, `Ready`, `InTransaction`, `BeginCommit` and `BeginAbort` (messages are waited for), `CommittingTransaction` and `AbortingTransaction` (the coordinator was told), `ReadyNotAcked`, `CommitNotAcked` and `AbortedNotAcked` (done, but the call had timed out), `AbortableError`, `FatalError`.";
        "txn_stateage" txn_stateage_ms: u64 = gauge("ms") => "Since that changed.";
        "txn_may_enq" txn_may_enq: bool = value("") => "Messages of a transaction are taken.";
        "producer_id" producer_id: i64 = gauge("id") => "The producer id, -1 when there is none.";
        "producer_epoch" producer_epoch: i32 = gauge("epoch") => "The producer epoch, -1 when there is none. Without transactions epochs are each partition's own: the highest.";
        "epoch_cnt" epoch_cnt: u64 = counter("ids") => "How often a producer id or an epoch was given by a broker.";
    }

    "Fatal error" Fatal ["fatal"], "What made the client useless."; {
        "error" error: String = value("") => "The error's name, as `rd_kafka_err2name()` gives it.";
        "reason" reason: String = value("") => "What happened, in words.";
        "cnt" cnt: u64 = counter("errors") => "Fatal errors that were raised; the first one is told of.";
    }
}

impl Broker {
    /// A connection of which nothing is known.
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

/// Not an offset.
const NO_OFFSET: i64 = crate::types::offset::INVALID;

impl Partition {
    /// A partition of which nothing is known.
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
