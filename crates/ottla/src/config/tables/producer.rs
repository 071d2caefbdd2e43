//! Properties of producers, and a few of every client that stand behind them in the table.

/// Hands its rows on to the next table.
macro_rules! producer_rows {
    ($next:ident $($more:ident)* ; $($rows:tt)*) => { $next! { $($more)* ; $($rows)*

"transactional.id" transactional_id: String = text().producer().high() =>
    "Makes the producer transactional (KIP-98): messages and consumed offsets are committed together or not at all. The \
     id names the producer across restarts, and a newer producer with the same id fences the older one. Switches \
     `enable.idempotence` on.";
"transaction.timeout.ms" transaction_timeout_ms: u32 = int(1000, i32::MAX, 60_000).ms().producer().medium() =>
    "Time after which the coordinator aborts a transaction that is still open. Brokers bound it \
     (`transaction.max.timeout.ms`). Unless they are set, `message.timeout.ms` and `socket.timeout.ms` follow it; \
     they may not be larger.";
"enable.idempotence" enable_idempotence: bool = switch(false).producer().high() =>
    "Write each message exactly once and in order, whatever is retried (KIP-98). Needs `acks=all`, retries, \
     `queuing.strategy=fifo` and at most 5 requests in flight, which it sets where they are not set and refuses where \
     they are set otherwise.";
"enable.gapless.guarantee" enable_gapless_guarantee: bool = switch(false).producer().experimental() =>
    "Fail for good (`RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE`) when a message is lost that later ones have overtaken. \
     Needs `enable.idempotence`.";
"queue.buffering.max.messages" queue_buffering_max_messages: u32
    = int(0, i32::MAX, 100_000).count().producer().high() =>
    "Most messages waiting in the producer, over all topics; at the limit producing gives \
     `RD_KAFKA_RESP_ERR__QUEUE_FULL`. 0 leaves only the limit in bytes.";
"queue.buffering.max.kbytes" queue_buffering_max_kbytes: u32
    = int(1, i32::MAX, 1_048_576).kib().producer().high() =>
    "Most data waiting in the producer, over all topics; at the limit producing gives \
     `RD_KAFKA_RESP_ERR__QUEUE_FULL`.";
"queue.buffering.max.ms" linger_ms: f64 = float(0.0, 900_000.0, 5.0).ms().also(&["linger.ms"]).producer().high() =>
    "How long a message may wait for others to fill its batch. More means larger batches and less work a message; 0 \
     sends at once. Nothing waits during a flush, nor while the queue is full; while a broker is behind with its work, \
     batches that are not full wait for it. Fractions of a millisecond are allowed. Less than `message.timeout.ms`.";
"message.send.max.retries" message_send_max_retries: u32
    = int(0, i32::MAX, i32::MAX).count().also(&["retries"]).producer().high() =>
    "How often a failed produce request is sent again, within `message.timeout.ms`. Without `enable.idempotence` \
     retries may write a message twice or change the order.";
"retry.backoff.ms" retry_backoff_ms: u32 = int(1, 300_000, 100).ms().medium() =>
    "Pause before a failed request is sent again. It doubles with every failure up to `retry.backoff.max.ms` and varies \
     at random by 20% (KIP-580).";
"retry.backoff.max.ms" retry_backoff_max_ms: u32 = int(1, 300_000, 1000).ms().medium() =>
    "Longest pause before a failed request is sent again.";
"queue.buffering.backpressure.threshold" queue_buffering_backpressure_threshold: u32
    = int(1, 1_000_000, 1).count().producer() =>
    "Produce requests that may wait unsent for a broker before batches go on growing instead. Always 1 with \
     `enable.idempotence`.";
"compression.codec" compression_codec: Choice = choice(CODECS, 0).also(&["compression.type"]).producer().medium() =>
    "How batches are compressed. A topic's own `compression.codec` goes first.";
"batch.num.messages" batch_num_messages: u32 = int(1, 1_000_000, 10_000).count().producer().medium() =>
    "Most messages in one batch; `batch.size` and `message.max.bytes` bound it as well.";
"batch.size" batch_size: u32 = int(1, i32::MAX, 1_000_000).bytes().producer().medium() =>
    "Most data in one batch, before compression. A single larger message makes a batch of its own.";
"delivery.report.only.error" delivery_report_only_error: bool = switch(false).producer() =>
    "Report only messages that could not be delivered.";
"dr_cb" dr_cb: usize = pointer("rd_kafka_conf_set_dr_cb").producer() =>
    "Called with the fate of each message; the older form of `dr_msg_cb`.";
"dr_msg_cb" dr_msg_cb: usize = pointer("rd_kafka_conf_set_dr_msg_cb").producer() =>
    "Called with the fate of each message.";
"sticky.partitioning.linger.ms" sticky_partitioning_linger_ms: u32 = int(0, 900_000, 10).ms().producer() =>
    "How long messages without a key stay with one partition of a topic before another is drawn (KIP-480), which makes \
     larger batches; when a batch is full, the next one is drawn at once. Two are drawn, and the one with less on its way \
     is taken (KIP-794), so that slow brokers get less. Twice `linger.ms` unless set; 0 draws for each message.";
"client.dns.lookup" client_dns_lookup: Choice
    = choice(&[("use_all_dns_ips", 0), ("resolve_canonical_bootstrap_servers_only", 1)], 0) =>
    "What a host name stands for (KIP-302): `use_all_dns_ips` tries its addresses side by side; \
     `resolve_canonical_bootstrap_servers_only` turns each entry of `bootstrap.servers` into the canonical names of all its \
     addresses (reverse look-up; an address without a name stands for itself), and connects to those. Meant for Kerberos.";
"enable.metrics.push" enable_metrics_push: bool = switch(true) =>
    "Send the client's metrics to the cluster where the cluster asks for them (KIP-714).";

    } };
}
pub(super) use producer_rows;
