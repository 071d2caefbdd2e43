//! Properties of consumers.

/// Passes its rows to the macro of the next table.
macro_rules! consumer_rows {
    ($next:ident $($more:ident)* ; $($rows:tt)*) => { $next! { $($more)* ; $($rows)*

"group.id" group_id: String = text().consumer().high() =>
    "The consumer group. Needed to subscribe and to commit offsets.";
"group.instance.id" group_instance_id: String = text().consumer().medium() =>
    "Static membership (KIP-345): the member keeps its partitions when it leaves and rejoins within the session \
     timeout. Unique in the group.";
"partition.assignment.strategy" partition_assignment_strategy: String
    = text_or("range,roundrobin").consumer().medium() =>
    "Assignors of a classic group, separated by commas, the preferred one first: `range`, `roundrobin`, `sticky` \
     (balanced, few partitions move; KIP-54), `cooperative-sticky` (the same, and partitions that do not move are \
     consumed throughout; KIP-429). The group uses one that all members support. `cooperative-sticky` cannot be mixed \
     with the others. `range` and the sticky ones prefer replicas in the member's `client.rack` (KIP-881).";
"session.timeout.ms" session_timeout_ms: u32 = int(1, 3_600_000, 45_000).ms().consumer().high() =>
    "Time without a heartbeat after which the group's coordinator removes the member and revokes its partitions. \
     Brokers bound it (`group.min.session.timeout.ms`, `group.max.session.timeout.ms`). Classic groups only.";
"heartbeat.interval.ms" heartbeat_interval_ms: u32 = int(1, 3_600_000, 3000).ms().consumer() =>
    "Interval of heartbeats. At most a third of `session.timeout.ms`. Classic groups only.";
"group.protocol.type" group_protocol_type: String = exact_text_or("consumer").consumer() =>
    "Protocol type of the group in requests to the coordinator. Classic groups only.";
"group.protocol" group_protocol: Choice = choice(&[("classic", 0), ("consumer", 1)], 0).consumer().high() =>
    "Group protocol: rebalances are run by the members (`classic`) or by the coordinator (`consumer`, KIP-848, Kafka \
     4.0).";
"group.remote.assignor" group_remote_assignor: String = text().consumer().medium() =>
    "Assignor of the coordinator, for example `uniform` or `range`; the coordinator's choice unless set. Only with \
     `group.protocol=consumer`.";
"coordinator.query.interval.ms" coordinator_query_interval_ms: u32 = int(1, 3_600_000, 600_000).ms().consumer() =>
    "Interval of requests for the group's coordinator. An error that shows that it has moved causes a request at \
     once.";
"max.poll.interval.ms" max_poll_interval_ms: u32 = int(1, 86_400_000, 300_000).ms().consumer().high() =>
    "Longest time between two calls that consume messages (KIP-62). A member that exceeds it leaves the group, and \
     the next call returns `RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED`. Not less than `session.timeout.ms` in a classic \
     group.";
"enable.auto.commit" enable_auto_commit: bool = switch(true).consumer().high() =>
    "Commit stored offsets every `auto.commit.interval.ms`, at rebalances and at close. `enable.auto.offset.store` \
     controls when an offset is stored.";
"auto.commit.interval.ms" auto_commit_interval_ms: u32 = int(0, 86_400_000, 5000).ms().consumer().medium() =>
    "Interval of automatic commits of stored offsets; 0 disables them. Used by the group's consumer.";
"enable.auto.offset.store" enable_auto_offset_store: bool = switch(true).consumer().high() =>
    "Store the offset of each message when it is delivered to the application. Switch it off and call \
     `rd_kafka_offsets_store()` after a message is processed, to lose none when the application fails.";
"queued.min.messages" queued_min_messages: u32 = int(1, 10_000_000, 100_000).count().consumer().medium() =>
    "Messages that each partition tries to keep ready for the application.";
"queued.max.messages.kbytes" queued_max_messages_kbytes: u32
    = int(1, 2_097_151, 65_536).kib().consumer().medium() =>
    "Limit for data that is ready for the application or in flight to it, over all partitions of the consumer, \
     counted decompressed. It is exceeded in two cases only. A single larger batch is fetched alone, while nothing \
     else is held. The size of a compressed batch is known only after its decompression: one that does not fit is \
     held twice for that moment, and then waits compressed. One batch at a time is decompressed, to at most the \
     larger of this limit and `receive.message.max.bytes`; the offsets of a batch that would exceed that are skipped \
     with `RD_KAFKA_RESP_ERR__BAD_COMPRESSION`.";
"fetch.wait.max.ms" fetch_wait_max_ms: u32 = int(0, 300_000, 500).ms().consumer() =>
    "Longest time that a broker waits for `fetch.min.bytes` of new messages before it responds.";
"fetch.queue.backoff.ms" fetch_queue_backoff_ms: u32 = int(0, 300_000, 1000).ms().consumer().medium() =>
    "Longest pause before fetching again after the queue was full. Ottla fetches again as soon as there is space, so \
     a smaller value has no effect.";
"fetch.message.max.bytes" fetch_message_max_bytes: u32
    = int(1, 1_000_000_000, 1_048_576).bytes().also(&["max.partition.fetch.bytes"]).consumer().medium() =>
    "Limit for one partition in one fetch. A larger batch is fetched nevertheless (KIP-74), so that no message is too \
     large to be consumed.";
"fetch.max.bytes" fetch_max_bytes: u32 = int(0, 2_147_483_135, 52_428_800).bytes().consumer().medium() =>
    "Limit for one broker in one fetch. Not less than `message.max.bytes`: unless set it is raised to it, and lowered \
     to `queued.max.messages.kbytes`.";
"fetch.min.bytes" fetch_min_bytes: u32 = int(0, i32::MAX, 1).bytes().consumer() =>
    "Amount of data for which a broker waits before it responds to a fetch, for `fetch.wait.max.ms` at most. A \
     consumer is created only with 1 to 100000000.";
"fetch.error.backoff.ms" fetch_error_backoff_ms: u32 = int(0, 300_000, 500).ms().consumer().medium() =>
    "Pause before a partition whose fetch failed is fetched again.";
"offset.store.method" offset_store_method: Choice
    = choice(&[("none", 0), ("file", 1), ("broker", 2)], 2).consumer().deprecated() =>
    "Place where partitions of `rd_kafka_consume_start()` keep offsets, unless the topic property of the same name \
     sets it: the group (`broker`), a local file (`file`), or none (`none`: no automatic commits).";
"isolation.level" isolation_level: Choice
    = choice(&[("read_uncommitted", 0), ("read_committed", 1)], 1).consumer().high() =>
    "Transactional messages to return (KIP-98): `read_committed`, those of committed transactions, up to the first \
     transaction that is still open; `read_uncommitted`, all.";
"consume_cb" consume_cb: usize = pointer("rd_kafka_conf_set_consume_cb").consumer() =>
    "Called with each message by `rd_kafka_consumer_poll()`'s queue.";
"rebalance_cb" rebalance_cb: usize = pointer("rd_kafka_conf_set_rebalance_cb").consumer() =>
    "Called when the group assigns or revokes partitions; the application then assigns them itself.";
"offset_commit_cb" offset_commit_cb: usize = pointer("rd_kafka_conf_set_offset_commit_cb").consumer() =>
    "Called with the result of offset commits.";
"enable.partition.eof" enable_partition_eof: bool = switch(false).consumer() =>
    "Report `RD_KAFKA_RESP_ERR__PARTITION_EOF` each time the end of a partition is reached.";
"check.crcs" check_crcs: bool = switch(false).consumer().medium() =>
    "Verify the checksum of each record batch: this detects corruption on the network or on disk, at a small cost of \
     CPU time.";
"client.rack" client_rack: String = exact_text_or("") =>
    "Location of this client, for example a rack or an availability zone, to be served by a replica nearby (KIP-392). \
     Compared with the brokers' `broker.rack`.";
"max.poll.records" max_poll_records: u32 = int(1, i32::MAX, 500).count().consumer() =>
    "Records that one poll of a share consumer returns (KIP-932). The limit is soft: the broker completes the last record \
     batch, see `share.acquire.mode`. Other consumers ignore it.";
"share.acknowledgement.mode" share_acknowledgement_mode: String
    = text_or("implicit").check(TextCheck::OneOf(&["implicit", "explicit"])).consumer().medium() =>
    "Acknowledgement of a share consumer: of all records of the previous poll by the next poll or commit (`implicit`), or \
     one by one (`explicit`) (KIP-932). Other consumers ignore it.";
"share.acquire.mode" share_acquire_mode: Choice
    = choice(&[("batch_optimized", 0), ("record_limit", 1)], 0).consumer() =>
    "Records that a share consumer acquires with one poll (KIP-1206): whole record batches, so that a poll may return more \
     than `max.poll.records` (`batch_optimized`), or at most `max.poll.records` (`record_limit`), which needs Kafka 4.2 and \
     costs the broker more. With older brokers `batch_optimized` applies. Other consumers ignore it. Not in librdkafka.";

    } };
}
pub(super) use consumer_rows;
