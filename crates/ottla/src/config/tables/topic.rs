//! Properties of topics.

/// Hands its rows on to the next table.
macro_rules! topic_rows {
    ($next:ident $($more:ident)* ; $($rows:tt)*) => { $next! { $($more)* ; $($rows)*

"request.required.acks" request_required_acks: i16
    = int(-1, 1000, -1).names(&[("all", -1)]).also(&["acks"]).producer().high() =>
    "When a produced message counts as written: 0 when it was sent, with no answer from the broker; 1 when the leader \
     has it; -1 or `all` when all in-sync replicas have it, of which the topic's `min.insync.replicas` must be there.";
"request.timeout.ms" request_timeout_ms: u32 = int(1, 900_000, 30_000).ms().producer().medium() =>
    "How long the leader may wait for the other replicas (`acks=all`).";
"message.timeout.ms" message_timeout_ms: u32
    = int(0, i32::MAX, 300_000).ms().also(&["delivery.timeout.ms"]).producer().high() =>
    "Time from producing a message to its delivery, retries included; then it fails. 0 waits for ever. A message that \
     times out in flight has its connection closed, and what else was in flight there is sent again. More than \
     `linger.ms`. With `transactional.id` at most `transaction.timeout.ms`, and that unless set.";
"queuing.strategy" queuing_strategy: Choice
    = choice(&[("fifo", 0), ("lifo", 1)], 0).producer().deprecated().experimental() =>
    "Which message is sent first: the oldest or the newest.";
"produce.offset.report" produce_offset_report: bool = switch(false).producer().deprecated() =>
    "Of old configurations; delivery reports always say the offset.";
"partitioner" partitioner: String
    = text_or("consistent_random").check(TextCheck::OneOf(PARTITIONERS)).producer().high() =>
    "How a message without a partition gets one. By the key's hash: `consistent` (CRC32), `murmur2` (as Kafka's own \
     client), `fnv1a` (as the Go client Sarama); the forms with `_random` spread messages without a key, of which the \
     plain ones put all into one partition (`consistent` an empty key too). `random` looks at no key.";
"partitioner_cb" partitioner_cb: usize = pointer("rd_kafka_topic_conf_set_partitioner_cb").producer() =>
    "Called to choose a message's partition.";
"msg_order_cmp" msg_order_cmp: usize
    = pointer("rd_kafka_topic_conf_set_msg_order_cmp").producer().deprecated().experimental() =>
    "Called to choose the order in which messages are sent.";
"opaque" opaque: usize = pointer("rd_kafka_topic_conf_set_opaque") =>
    "The application's own pointer, handed to its callbacks.";
"compression.codec" compression_codec: Choice = choice(TOPIC_CODECS, 5).also(&["compression.type"]).producer().high() =>
    "How batches of this topic are compressed; `inherit` takes the client's `compression.codec`.";
"compression.level" compression_level: i32 = int(-1, 12, -1).producer().medium() =>
    "How hard to compress; larger is smaller and slower. gzip 0 to 9, lz4 0 to 12, zstd 1 to 12, snappy has none; a \
     value beyond a codec's range is its nearest, -1 its default.";
"auto.commit.enable" auto_commit_enable: bool
    = switch(true).also(&["enable.auto.commit"]).consumer().deprecated() =>
    "The simple consumer's `enable.auto.commit`: commit the offset of the last message of each partition. The group's \
     consumer does not look at it.";
"auto.commit.interval.ms" auto_commit_interval_ms: u32 = int(10, 86_400_000, 60_000).ms().consumer().high() =>
    "How often the simple consumer commits offsets. The group's consumer does not look at it.";
"auto.offset.reset" auto_offset_reset: Choice = choice(OFFSET_RESETS, -1).consumer().high() =>
    "Where to begin when there is no committed offset or it lies outside the log: at the first message (`smallest`, \
     `earliest`, `beginning`), behind the last (`largest`, `latest`, `end`), or report \
     `RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET` (`error`).";
"offset.store.path" offset_store_path: String = text_or(".").consumer().deprecated() =>
    "File for `offset.store.method=file`, or folder for one file of each partition: `topic-partition.offset`, \
     with `group.id` `topic-partition-group.offset`.";
"offset.store.sync.interval.ms" offset_store_sync_interval_ms: i32
    = int(-1, 86_400_000, -1).ms().consumer().deprecated() =>
    "How often the offset file is forced to disk; 0 after every write, -1 never. It is written every \
     `auto.commit.interval.ms` of the topic, and when the partition is stopped.";
"offset.store.method" offset_store_method: Choice = choice(&[("file", 1), ("broker", 2)], 2).consumer().deprecated() =>
    "Where partitions of `rd_kafka_consume_start()` keep offsets: in the group (`broker`, needs `group.id`) or in a local \
     file. Those of `rd_kafka_subscribe()` and `rd_kafka_assign()` always keep them in the group.";
"consume.callback.max.messages" consume_callback_max_messages: u32 = int(0, 1_000_000, 0).count().consumer() =>
    "Most messages that one `rd_kafka_consume_callback...()` call hands out; 0 is without limit.";

    } };
}
pub(super) use topic_rows;
