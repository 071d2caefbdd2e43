//! Properties of consumers.

/// Hands its rows on to the next table.
macro_rules! consumer_rows {
    ($next:ident $($more:ident)* ; $($rows:tt)*) => { $next! { $($more)* ; $($rows)*

"group.id" group_id: String = text().consumer().high() =>
    "The consumer group. Needed to subscribe and to commit offsets.";
"group.instance.id" group_instance_id: String = text().consumer().medium() =>
    "Makes this member static (KIP-345): it keeps its partitions when it leaves and comes back within the session \
     timeout. Unique in the group.";
"partition.assignment.strategy" partition_assignment_strategy: String
    = text_or("range,roundrobin").consumer().medium() =>
    "Ways to divide partitions in a classic group, separated by commas, the preferred one first: `range`, \
     `roundrobin`, `sticky` (balanced, few partitions move; KIP-54), `cooperative-sticky` (the same, and partitions that \
     do not move are consumed throughout; KIP-429). The group uses one that all members support. `cooperative-sticky` \
     cannot be mixed with the others. `range` and the sticky ones prefer replicas in the member's `client.rack` \
     (KIP-881).";
"session.timeout.ms" session_timeout_ms: u32 = int(1, 3_600_000, 45_000).ms().consumer().high() =>
    "How long the group's coordinator waits for a heartbeat before it takes the member's partitions away. Brokers bound \
     it (`group.min.session.timeout.ms`, `group.max.session.timeout.ms`). Classic groups only.";
"heartbeat.interval.ms" heartbeat_interval_ms: u32 = int(1, 3_600_000, 3000).ms().consumer() =>
    "How often heartbeats are sent. At most a third of `session.timeout.ms`. Classic groups only.";
"group.protocol.type" group_protocol_type: String = exact_text_or("consumer").consumer() =>
    "Kind of group that the coordinator is told. Classic groups only.";
"group.protocol" group_protocol: Choice = choice(&[("classic", 0), ("consumer", 1)], 0).consumer().high() =>
    "How the group is run: by its members (`classic`) or by the coordinator (`consumer`, KIP-848, Kafka 4.0).";
"group.remote.assignor" group_remote_assignor: String = text().consumer().medium() =>
    "The coordinator's way to divide partitions, as in `uniform` or `range`; the coordinator's choice unless set. Only \
     with `group.protocol=consumer`.";
"coordinator.query.interval.ms" coordinator_query_interval_ms: u32 = int(1, 3_600_000, 600_000).ms().consumer() =>
    "How often to ask which broker is the group's coordinator, besides every time that an error shows it to have moved.";
"max.poll.interval.ms" max_poll_interval_ms: u32 = int(1, 86_400_000, 300_000).ms().consumer().high() =>
    "Longest time between two calls that consume messages (KIP-62). A member that is slower leaves the group, and the \
     next call gives `RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED`. Not less than `session.timeout.ms` in a classic group.";
"enable.auto.commit" enable_auto_commit: bool = switch(true).consumer().high() =>
    "Commit stored offsets every `auto.commit.interval.ms`, at rebalances and at close. See \
     `enable.auto.offset.store` for when an offset is stored.";
"auto.commit.interval.ms" auto_commit_interval_ms: u32 = int(0, 86_400_000, 5000).ms().consumer().medium() =>
    "How often stored offsets are committed; 0 does not. Used by the group's consumer.";
"enable.auto.offset.store" enable_auto_offset_store: bool = switch(true).consumer().high() =>
    "Store the offset of each message as it is handed to the application. Switch it off and call \
     `rd_kafka_offsets_store()` after the work on a message is done, to lose none when the application fails.";
"queued.min.messages" queued_min_messages: u32 = int(1, 10_000_000, 100_000).count().consumer().medium() =>
    "Messages that each partition tries to keep ready for the application.";
"queued.max.messages.kbytes" queued_max_messages_kbytes: u32
    = int(1, 2_097_151, 65_536).kib().consumer().medium() =>
    "Most data that is kept ready for the application or under way to it, over all partitions of the consumer, as \
     it is when it is decompressed. It is exceeded in two ways only. A single batch that is larger comes alone, while \
     nothing else is kept. And how large a compressed batch is shows when it was decompressed: one that does not fit \
     is held twice for that moment, and then waits compressed. One batch at a time is decompressed, to no more than the \
     larger of this and `receive.message.max.bytes`; of a batch that would come to more its offsets are skipped with \
     `RD_KAFKA_RESP_ERR__BAD_COMPRESSION`.";
"fetch.wait.max.ms" fetch_wait_max_ms: u32 = int(0, 300_000, 500).ms().consumer() =>
    "Longest time that a broker may wait for `fetch.min.bytes` of new messages before it answers.";
"fetch.queue.backoff.ms" fetch_queue_backoff_ms: u32 = int(0, 300_000, 1000).ms().consumer().medium() =>
    "Longest pause before fetching again after the queue was full. Ottla fetches again as soon as there is room, so \
     that a smaller value brings nothing.";
"fetch.message.max.bytes" fetch_message_max_bytes: u32
    = int(1, 1_000_000_000, 1_048_576).bytes().also(&["max.partition.fetch.bytes"]).consumer().medium() =>
    "How much to ask of one partition in one fetch. A larger batch is fetched nevertheless (KIP-74), so that no \
     message is too large to be read.";
"fetch.max.bytes" fetch_max_bytes: u32 = int(0, 2_147_483_135, 52_428_800).bytes().consumer().medium() =>
    "How much to ask of one broker in one fetch. Not less than `message.max.bytes`: unless set it is raised to it, and \
     lowered to `queued.max.messages.kbytes`.";
"fetch.min.bytes" fetch_min_bytes: u32 = int(0, i32::MAX, 1).bytes().consumer() =>
    "How much must be there before a broker answers a fetch, unless `fetch.wait.max.ms` ends first. A consumer is \
     created only with 1 to 100000000.";
"fetch.error.backoff.ms" fetch_error_backoff_ms: u32 = int(0, 300_000, 500).ms().consumer().medium() =>
    "Pause before a partition whose fetch failed is fetched again.";
"offset.store.method" offset_store_method: Choice
    = choice(&[("none", 0), ("file", 1), ("broker", 2)], 2).consumer().deprecated() =>
    "Where partitions of `rd_kafka_consume_start()` keep offsets, unless the property of the same name of their topic \
     says it: in the group (`broker`), in a local file (`file`), or nowhere (`none`: no automatic commits).";
"isolation.level" isolation_level: Choice
    = choice(&[("read_uncommitted", 0), ("read_committed", 1)], 1).consumer().high() =>
    "Which messages of transactions are read (KIP-98): those of committed ones only, up to the first transaction that \
     is still open, or all.";
"consume_cb" consume_cb: usize = pointer("rd_kafka_conf_set_consume_cb").consumer() =>
    "Called with each message by `rd_kafka_consumer_poll()`'s queue.";
"rebalance_cb" rebalance_cb: usize = pointer("rd_kafka_conf_set_rebalance_cb").consumer() =>
    "Called when the group gives or takes partitions; the application then assigns them itself.";
"offset_commit_cb" offset_commit_cb: usize = pointer("rd_kafka_conf_set_offset_commit_cb").consumer() =>
    "Called with the result of offset commits.";
"enable.partition.eof" enable_partition_eof: bool = switch(false).consumer() =>
    "Report `RD_KAFKA_RESP_ERR__PARTITION_EOF` each time the end of a partition is reached.";
"check.crcs" check_crcs: bool = switch(false).consumer().medium() =>
    "Verify the checksum of each record batch: damage on the way or on disk is found, at little cost of CPU time.";
"client.rack" client_rack: String = exact_text_or("") =>
    "Where this client stands, as in a rack or an availability zone, to be served by a replica nearby (KIP-392). \
     Compared with the brokers' `broker.rack`.";
"max.poll.records" max_poll_records: u32 = int(1, i32::MAX, 500).count().consumer() =>
    "Most messages that one poll of a share consumer gives (KIP-932). Other consumers do not look at it.";
"share.acknowledgement.mode" share_acknowledgement_mode: String = text_or("implicit").consumer().medium() =>
    "Whether a share consumer acknowledges messages by polling again (`implicit`) or one by one (`explicit`) \
     (KIP-932). Other consumers do not look at it.";

    } };
}
pub(super) use consumer_rows;
