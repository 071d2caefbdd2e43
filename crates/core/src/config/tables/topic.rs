//! Properties of topics.

/// Passes its rows to the macro of the next table.
macro_rules! topic_rows {
    ($next:ident $($more:ident)* ; $($rows:tt)*) => { $next! { $($more)* ; $($rows)*

"request.required.acks" request_required_acks: i16
    = int(-1, 1000, -1).names(&[("all", -1)]).also(&["acks"]).producer().high() =>
    "Acknowledgement of a produced message: 0 when it is sent, without a response; 1 when the leader has written it; \
     -1 or `all` when all in-sync replicas have it, of which there must be at least the topic's \
     `min.insync.replicas`.";
"request.timeout.ms" request_timeout_ms: u32 = int(1, 900_000, 30_000).ms().producer().medium() =>
    "Time for which the leader may wait for the other replicas (`acks=all`).";
"message.timeout.ms" message_timeout_ms: u32
    = int(0, i32::MAX, 300_000).ms().also(&["delivery.timeout.ms"]).producer().high() =>
    "Time from producing a message to its delivery, retries included; then it fails. 0 waits for ever. When a message \
     times out in flight its connection is closed, and the other requests in flight on it are sent again. More than \
     `linger.ms`. With `transactional.id` at most `transaction.timeout.ms`, which is also the default then.";
"queuing.strategy" queuing_strategy: Choice
    = choice(&[("fifo", 0), ("lifo", 1)], 0).producer().deprecated().experimental() =>
    "Order of sending: the oldest message first or the newest.";
"produce.offset.report" produce_offset_report: bool = switch(false).producer().deprecated() =>
    "Of old configurations; delivery reports always carry the offset.";
"partitioner" partitioner: String
    = text_or("consistent_random").check(TextCheck::OneOf(PARTITIONERS)).producer().high() =>
    "Choice of the partition of a message that names none. By the key's hash: `consistent` (CRC32), `murmur2` (as \
     Kafka's Java client), `fnv1a` (as the Go client Sarama); the variants with `_random` distribute messages without \
     a key, which the plain ones put into one partition (`consistent` does the same with an empty key). `random` \
     ignores the key.";
"partitioner_cb" partitioner_cb: usize = pointer("rd_kafka_topic_conf_set_partitioner_cb").producer() =>
    "Called to choose a message's partition.";
"msg_order_cmp" msg_order_cmp: usize
    = pointer("rd_kafka_topic_conf_set_msg_order_cmp").producer().deprecated().experimental() =>
    "Called to choose the order in which messages are sent.";
"opaque" opaque: usize = pointer("rd_kafka_topic_conf_set_opaque") =>
    "The application's pointer, passed to its callbacks.";
"compression.codec" compression_codec: Choice = choice(TOPIC_CODECS, 5).also(&["compression.type"]).producer().high() =>
    "Compression of this topic's batches; `inherit` uses the client's `compression.codec`.";
"compression.level" compression_level: i32 = int(-1, 12, -1).producer().medium() =>
    "Compression level; higher means smaller and slower. gzip 0 to 9, lz4 0 to 12, zstd 1 to 12, snappy has none; a \
     value beyond a codec's range is replaced by the nearest, -1 is the codec's default.";
"auto.commit.enable" auto_commit_enable: bool
    = switch(true).also(&["enable.auto.commit"]).consumer().deprecated() =>
    "The simple consumer's `enable.auto.commit`: commit the offset of the last message of each partition. The group's \
     consumer ignores it.";
"auto.commit.interval.ms" auto_commit_interval_ms: u32 = int(10, 86_400_000, 60_000).ms().consumer().high() =>
    "Interval of the simple consumer's commits. The group's consumer ignores it.";
"auto.offset.reset" auto_offset_reset: Choice = choice(OFFSET_RESETS, -1).consumer().high() =>
    "Start of consumption without a committed offset, or with one that is out of range: the first message \
     (`smallest`, `earliest`, `beginning`), the end (`largest`, `latest`, `end`), or the error \
     `RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET` (`error`).";
"offset.store.path" offset_store_path: String = text_or(".").consumer().deprecated() =>
    "File for `offset.store.method=file`, or folder for one file of each partition: `topic-partition.offset`, \
     with `group.id` `topic-partition-group.offset`.";
"offset.store.sync.interval.ms" offset_store_sync_interval_ms: i32
    = int(-1, 86_400_000, -1).ms().consumer().deprecated() =>
    "Interval at which the offset file is synchronised to disk; 0 after every write, -1 never. It is written every \
     `auto.commit.interval.ms` of the topic, and when the partition is stopped.";
"offset.store.method" offset_store_method: Choice = choice(&[("file", 1), ("broker", 2)], 2).consumer().deprecated() =>
    "Place where partitions of `rd_kafka_consume_start()` keep offsets: the group (`broker`, needs `group.id`) or a \
     local file. Those of `rd_kafka_subscribe()` and `rd_kafka_assign()` always keep them in the group.";
"consume.callback.max.messages" consume_callback_max_messages: u32 = int(0, 1_000_000, 0).count().consumer() =>
    "Most messages that one `rd_kafka_consume_callback...()` call delivers; 0 is without limit.";

    } };
}
pub(super) use topic_rows;
