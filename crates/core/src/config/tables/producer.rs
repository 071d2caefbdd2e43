//! Properties of producers, and a few of every client that follow them in the table.

/// Passes its rows to the macro of the next table.
macro_rules! producer_rows {
    ($next:ident $($more:ident)* ; $($rows:tt)*) => { $next! { $($more)* ; $($rows)*

"transactional.id" transactional_id: String = text().producer().high() =>
    "Transactional id of the producer (KIP-98): messages and consumed offsets are committed together or not at all. \
     The id identifies the producer across restarts, and a newer producer with the same id fences the older one. \
     Switches `enable.idempotence` on.";
"transaction.timeout.ms" transaction_timeout_ms: u32 = int(1000, i32::MAX, 60_000).ms().producer().medium() =>
    "Time after which the coordinator aborts a transaction that is still open. Brokers bound it \
     (`transaction.max.timeout.ms`). Unless they are set, `message.timeout.ms` and `socket.timeout.ms` follow it; \
     they may not be larger.";
"enable.idempotence" enable_idempotence: bool = switch(false).producer().high() =>
    "Write each message exactly once and in order, in spite of retries (KIP-98). Needs `acks=all`, retries, \
     `queuing.strategy=fifo` and at most 5 requests in flight; it sets those that are not set and refuses other \
     values.";
"enable.gapless.guarantee" enable_gapless_guarantee: bool = switch(false).producer().experimental() =>
    "Raise a fatal error (`RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE`) when a message is lost that later ones have \
     overtaken. Needs `enable.idempotence`.";
"queue.buffering.max.messages" queue_buffering_max_messages: u32
    = int(0, i32::MAX, 100_000).count().producer().high() =>
    "Most messages waiting in the producer, over all topics; at the limit produce functions fail with \
     `RD_KAFKA_RESP_ERR__QUEUE_FULL`. 0 leaves only the limit in bytes.";
"queue.buffering.max.kbytes" queue_buffering_max_kbytes: u32
    = int(1, i32::MAX, 1_048_576).kib().producer().high() =>
    "Most data waiting in the producer, over all topics; at the limit produce functions fail with \
     `RD_KAFKA_RESP_ERR__QUEUE_FULL`.";
"queue.buffering.max.ms" linger_ms: f64 = float(0.0, 900_000.0, 5.0).ms().also(&["linger.ms"]).producer().high() =>
    "Longest time that a message waits for its batch to fill. More means larger batches and less work a message; 0 \
     sends at once. Nothing waits during a flush, nor while the queue is full; while a broker is behind, batches that \
     are not full wait for it. Fractions of a millisecond are allowed. Less than `message.timeout.ms`.";
"message.send.max.retries" message_send_max_retries: u32
    = int(0, i32::MAX, i32::MAX).count().also(&["retries"]).producer().high() =>
    "Most retries of a failed produce request, within `message.timeout.ms`. Without `enable.idempotence` retries may \
     write a message twice or change the order.";
"retry.backoff.ms" retry_backoff_ms: u32 = int(1, 300_000, 100).ms().medium() =>
    "Pause before a failed request is sent again. It doubles with every failure up to `retry.backoff.max.ms` and varies \
     at random by 20% (KIP-580).";
"retry.backoff.max.ms" retry_backoff_max_ms: u32 = int(1, 300_000, 1000).ms().medium() =>
    "Longest pause before a failed request is sent again.";
"queue.buffering.backpressure.threshold" queue_buffering_backpressure_threshold: u32
    = int(1, 1_000_000, 1).count().producer() =>
    "Produce requests that may wait unsent for a broker before batches keep growing instead. Always 1 with \
     `enable.idempotence`.";
"compression.codec" compression_codec: Choice = choice(CODECS, 0).also(&["compression.type"]).producer().medium() =>
    "Compression of batches. A topic's `compression.codec` takes precedence.";
"batch.num.messages" batch_num_messages: u32 = int(1, 1_000_000, 10_000).count().producer().medium() =>
    "Most messages in one batch; `batch.size` and `message.max.bytes` bound it as well.";
"batch.size" batch_size: u32 = int(1, i32::MAX, 1_000_000).bytes().producer().medium() =>
    "Most data in one batch, before compression. A single larger message is a batch of its own.";
"delivery.report.only.error" delivery_report_only_error: bool = switch(false).producer() =>
    "Report only messages that could not be delivered.";
"dr_cb" dr_cb: usize = pointer("rd_kafka_conf_set_dr_cb").producer() =>
    "Called with the outcome of each message; the older form of `dr_msg_cb`.";
"dr_msg_cb" dr_msg_cb: usize = pointer("rd_kafka_conf_set_dr_msg_cb").producer() =>
    "Called with the outcome of each message.";
"sticky.partitioning.linger.ms" sticky_partitioning_linger_ms: u32 = int(0, 900_000, 10).ms().producer() =>
    "Time for which messages without a key stay with one partition of a topic before another is drawn (KIP-480), \
     which makes larger batches; when a batch is full, the next one is drawn at once. Two are drawn, and the one with \
     the smaller backlog is used (KIP-794), so that slow brokers receive less. Threads share the partition; those that \
     wait for each other to add to it get partitions of their own. Twice `linger.ms` unless set; 0 draws for each \
     message.";
"client.dns.lookup" client_dns_lookup: Choice
    = choice(&[("use_all_dns_ips", 0), ("resolve_canonical_bootstrap_servers_only", 1)], 0) =>
    "Use of host names (KIP-302): `use_all_dns_ips` tries all addresses of a name side by side; \
     `resolve_canonical_bootstrap_servers_only` replaces each entry of `bootstrap.servers` by the canonical names of \
     all its addresses (reverse look-up; an address without a name remains) and connects to those. Meant for \
     Kerberos.";
"enable.metrics.push" enable_metrics_push: bool = switch(true) =>
    "Push the client's metrics to the cluster where the cluster requests them (KIP-714).";

    } };
}
pub(super) use producer_rows;
