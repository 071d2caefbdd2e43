//! Properties of every client: identity, messages, metadata, connections, callbacks.

/// Passes its rows to the macro of the next table.
macro_rules! client_rows {
    ($next:ident $($more:ident)* ; $($rows:tt)*) => { $next! { $($more)* ; $($rows)*

"builtin.features" builtin_features: u32 = flags(FEATURES, BUILT_IN) =>
    "Features of this build, for reading. Setting it changes only the text that is read back.";
"client.id" client_id: String = text_or("rdkafka") =>
    "Name of this client in the brokers' logs, quotas and metrics, and in its own log lines.";
"client.software.name" client_software_name: String = text_or("librdkafka").hidden() =>
    "Name of the client software in ApiVersions requests (KIP-511). Meant for bindings. Characters other than \
     letters, digits, `.` and `-` become `-`.";
"client.software.version" client_software_version: String = text().hidden() =>
    "Version of the client software in ApiVersions requests (KIP-511). Meant for bindings; the library's version \
     unless set.";
"metadata.broker.list" bootstrap_servers: String = text().also(&["bootstrap.servers"]).high() =>
    "Brokers to connect to first, as a comma-separated list of `host`, `host:port`, `[ipv6]:port` or \
     `PLAINTEXT://host:port`; the default port is 9092. The client discovers the other brokers of the cluster through \
     them. `rd_kafka_brokers_add()` adds more.";
"message.max.bytes" message_max_bytes: u32 = int(1000, 1_000_000_000, 1_000_000).bytes().medium() =>
    "Largest produce request, and so largest message. A single message is accepted when its key, value, headers and \
     record overhead fit. Brokers and topics have their own limits (`max.message.bytes`). A consumer makes its \
     `fetch.max.bytes` at least this large.";
"message.copy.max.bytes" message_copy_max_bytes: u32 = int(0, 1_000_000_000, 65535).bytes() =>
    "Values up to this size are copied into the batch. A larger value whose ownership is passed on \
     (`RD_KAFKA_MSG_F_FREE`), or that is lent until the delivery report (neither flag), is sent from its memory \
     without a copy, unless the batch is compressed.";
"receive.message.max.bytes" receive_message_max_bytes: u32
    = int(1000, i32::MAX, 100_000_000).bytes().medium() =>
    "Largest response that is read. A broker that announces a larger one is disconnected. At least \
     `fetch.max.bytes` + 512 for a consumer: raised to that when it is not set, else a smaller value is refused.";
"max.in.flight.requests.per.connection" max_in_flight_requests_per_connection: u32
    = int(1, 1_000_000, 1_000_000).count().also(&["max.in.flight"]) =>
    "Requests sent to one broker and not yet answered. With retries, more than one lets messages change their order \
     unless `enable.idempotence` is on, which allows at most 5.";
"metadata.recovery.strategy" metadata_recovery_strategy: Choice
    = choice(&[("none", 0), ("rebootstrap", 1)], 1) =>
    "Action when no known broker can be reached (KIP-899): `rebootstrap` discards them and starts again with \
     `bootstrap.servers`, `none` keeps trying the known ones.";
"metadata.recovery.rebootstrap.trigger.ms" metadata_recovery_rebootstrap_trigger_ms: u32
    = int(0, i32::MAX, 300_000).ms() =>
    "Time without a metadata response, while metadata is needed, after which the client starts again with \
     `bootstrap.servers` (KIP-1102), if `metadata.recovery.strategy` is `rebootstrap`. 0 does so as soon as a \
     metadata request fails.";
"metadata.request.timeout.ms" metadata_request_timeout_ms: u32 = int(10, 900_000, 10).ms().deprecated().hidden() =>
    "Of old configurations; metadata requests obey `socket.timeout.ms`.";
"topic.metadata.refresh.interval.ms" topic_metadata_refresh_interval_ms: i32 = int(-1, 3_600_000, 300_000).ms() =>
    "Interval of metadata refreshes for the topics in use (and for all topics, with pattern subscriptions). An error \
     that shows outdated metadata causes a refresh at once. 0 and -1 leave it to `metadata.max.age.ms`.";
"metadata.max.age.ms" metadata_max_age_ms: u32 = int(1, 86_400_000, 900_000).ms() =>
    "Age at which metadata is refreshed regardless of `topic.metadata.refresh.interval.ms`, and time for which a \
     consumer fetches from a follower before it asks the leader for the nearest replica again. Three times \
     `topic.metadata.refresh.interval.ms` unless set.";
"topic.metadata.refresh.fast.interval.ms" topic_metadata_refresh_fast_interval_ms: u32 = int(1, 60_000, 100).ms() =>
    "First pause between metadata requests while a topic or a leader is missing; it doubles with every fourth \
     request, up to `retry.backoff.max.ms`. Also the first pause after the failure of a leader, until its successor \
     is known; there it doubles with every request, up to `retry.backoff.max.ms`, and beyond that after thirty \
     requests. `retry.backoff.ms` unless set.";
"topic.metadata.refresh.fast.cnt" topic_metadata_refresh_fast_cnt: u32 = int(0, 1000, 10).count().deprecated() =>
    "Of old configurations; fast refreshes continue, with backoff, while something is missing.";
"topic.metadata.refresh.sparse" topic_metadata_refresh_sparse: bool = switch(true) =>
    "Request metadata of the topics in use only; when off, the periodic refresh requests all topics of the cluster. \
     Urgent metadata, such as a partition's new leader, is always requested by topic name.";
"topic.metadata.propagation.max.ms" topic_metadata_propagation_max_ms: u32 = int(0, 3_600_000, 30_000).ms() =>
    "Time for which a topic that no broker knows may still be in creation; after that it counts as unknown and its \
     messages fail. Applies to topics of `rd_kafka_topic_new()` and of produce functions. Also the time for which a \
     response that seems older than the known metadata is not accepted while no other response confirms or \
     contradicts it: an older leader epoch from brokers before 2.8, the id of a topic that has been replaced.";
"topic.blacklist" topic_blacklist: PatternList = patterns() =>
    "Topics that are treated as if they did not exist: a comma-separated list of regular expressions, each of which \
     matches anywhere in the name unless anchored; a comma inside one is written `\\,`.";
"debug" debug: u32 = flags(DEBUG_CONTEXTS, 0).medium() =>
    "Contexts to log in detail, as a comma-separated list; `-name` removes one. Any context sets `log_level` to 7. \
     Useful: `broker,topic,msg` for a producer, `consumer,cgrp,topic,fetch` for a consumer.";
"socket.timeout.ms" socket_timeout_ms: u32 = int(10, 300_000, 60_000).ms() =>
    "Time from sending a request to its response. Produce requests wait up to `request.timeout.ms` at the broker and \
     up to this time in the client; for fetches `fetch.wait.max.ms` is added. With a transactional producer at most \
     `transaction.timeout.ms` + 100. A connection on which sent data is not acknowledged by TCP for half of it (5 \
     seconds at least) is closed, since the peer has vanished (`TCP_USER_TIMEOUT`, on Linux).";
"socket.blocking.max.ms" socket_blocking_max_ms: u32 = int(1, 60_000, 1000).ms().deprecated() =>
    "Of old configurations; nothing blocks on a socket.";
"socket.send.buffer.bytes" socket_send_buffer_bytes: u32 = int(0, 100_000_000, 0).bytes() =>
    "The socket's send buffer (`SO_SNDBUF`); 0 leaves the choice to the system.";
"socket.receive.buffer.bytes" socket_receive_buffer_bytes: u32 = int(0, 100_000_000, 0).bytes() =>
    "The socket's receive buffer (`SO_RCVBUF`); 0 leaves the choice to the system.";
"socket.keepalive.enable" socket_keepalive_enable: bool = switch(false) =>
    "Let TCP probe idle connections (`SO_KEEPALIVE`).";
"socket.nagle.disable" socket_nagle_disable: bool = switch(true) =>
    "Send at once instead of waiting for more data (`TCP_NODELAY`). Leave it on: `linger.ms` controls batching, and \
     Nagle's algorithm together with delayed acknowledgements costs 40 ms a request.";
"socket.max.fails" socket_max_fails: u32 = int(0, 1_000_000, 1).count() =>
    "Successive requests that may time out before the connection is closed; 0 never closes it. The connection to a \
     group's coordinator is closed after the first heartbeat that times out, before the member's session expires.";
"broker.address.ttl" broker_address_ttl: u32 = int(0, 86_400_000, 1000).ms() =>
    "Time for which the addresses of a host name are cached before the name is resolved again. After connection \
     attempts to all of them have failed it is resolved again at once, with `connect_cb` before every further \
     address.";
"broker.address.family" broker_address_family: Choice = choice(&[("any", 0), ("v4", 2), ("v6", 10)], 0) =>
    "Address families to use for brokers: IPv4, IPv6 or both.";
"socket.connection.setup.timeout.ms" socket_connection_setup_timeout_ms: u32
    = int(1000, i32::MAX, 30_000).ms().medium() =>
    "Time for a connection to become usable: TCP, and TLS and SASL where configured. Attempts at a host name's \
     addresses run side by side, alternating between families, each 250 ms after the previous one or as soon as that \
     has failed (RFC 8305); each has this time, and the first that connects is used. With `connect_cb` they run one \
     after another.";
"connections.max.idle.ms" connections_max_idle_ms: u32 = int(0, i32::MAX, 0).ms().medium() =>
    "Close a connection that was not used for this time; 0 never does. Set it a little below the brokers' own limit \
     (`connections.max.idle.ms`, 10 minutes) to see fewer disconnects. 230000 unless set when the bootstrap list \
     names Azure, whose load balancers drop connections after 4 minutes. A connection that the client has closed for \
     this reason is opened again when it is needed; one that the broker closes, to a leader that was produced to \
     within the last 30 minutes, is opened again after `reconnect.backoff.ms`.";
"enable.sparse.connections" enable_sparse_connections: bool = switch(true).medium().hidden() =>
    "Connect only to brokers that there is a request for; when off, to every known broker.";
"reconnect.backoff.jitter.ms" reconnect_backoff_jitter_ms: u32 = int(0, 3_600_000, 0).ms().deprecated() =>
    "Of old configurations; see `reconnect.backoff.ms`.";
"reconnect.backoff.ms" reconnect_backoff_ms: u32 = int(0, 3_600_000, 100).ms().medium() =>
    "Pause before a lost broker is connected to again. It doubles with every failure up to `reconnect.backoff.max.ms` \
     and varies at random by -25% to +50%; 0 reconnects at once.";
"reconnect.backoff.max.ms" reconnect_backoff_max_ms: u32 = int(0, 3_600_000, 10_000).ms().medium() =>
    "Longest pause before a broker is connected to again; not less than `reconnect.backoff.ms`.";
"io.threads.shared" io_threads_shared: u32 = int(0, 1024, 0).count() =>
    "Number of I/O threads that the clients of this process with a value above 0 share, for processes with many clients: \
     the largest value of their clients. 0 gives the client an I/O thread of its own. The threads are started when \
     there is work for them and end with the last client; one more thread watches them. A client whose callbacks block \
     a thread for more than 50 ms does not hold up the others: a further thread replaces it until it returns. A client \
     with interceptors of the start or the end of threads has a thread of its own. Not in librdkafka.";
"worker.threads" worker_threads: u32 = int(0, 256, 0).count() =>
    "Most threads that compress and decompress batches for this client besides its own thread. All clients of the process \
     share them. They start when the client's own thread has more such work than it can do in time, and end after 5 \
     seconds without work; an idle client, or one with small or uncompressed batches, has none. A producer holds at most \
     four batches for each of these threads that are compressed ahead of their request, none of them larger than its \
     records in `queue.buffering.max.kbytes`; what a consumer decompresses ahead is part of \
     `queued.max.messages.kbytes`. A share consumer decompresses on its own thread. 0 leaves all work to the client's \
     own thread. Not in librdkafka.";
"statistics.interval.ms" statistics_interval_ms: u32 = int(0, 86_400_000, 0).ms().high() =>
    "Interval of the statistics document for `stats_cb` or as an event; 0 disables it.";
"enabled_events" enabled_events: u32 = int(0, i32::MAX, 0) =>
    "Kinds of events that the application reads from queues, as the sum of `RD_KAFKA_EVENT_...`; see \
     `rd_kafka_conf_set_events()`.";
"error_cb" error_cb: usize = pointer("rd_kafka_conf_set_error_cb") =>
    "Called for errors that belong to no single message or call.";
"throttle_cb" throttle_cb: usize = pointer("rd_kafka_conf_set_throttle_cb") =>
    "Called when a broker delays this client because of a quota.";
"stats_cb" stats_cb: usize = pointer("rd_kafka_conf_set_stats_cb") =>
    "Called with the statistics document every `statistics.interval.ms`.";
"log_cb" log_cb: usize = pointer("rd_kafka_conf_set_log_cb") =>
    "Called with each log line, from any thread; unless set, lines go to standard error.";
"log_level" log_level: u32 = int(0, 7, 6) =>
    "Most detailed syslog level that is logged: 3 errors, 4 warnings, 5 notices, 6 information, 7 debugging.";
"log.queue" log_queue: bool = switch(false) =>
    "Put log lines on a queue (`rd_kafka_set_log_queue()`) instead of calling `log_cb` from the client's threads.";
"log.thread.name" log_thread_name: bool = switch(true) =>
    "Begin each log line with the name of the thread that wrote it.";
"enable.random.seed" enable_random_seed: bool = switch(true) =>
    "Seed the C library's `rand()` when the first client is created. Ottla draws its random numbers elsewhere.";
"log.connection.close" log_connection_close: bool = switch(true) =>
    "Log connections that brokers close. Switch it off where brokers close idle connections often and \
     `connections.max.idle.ms` is not an option.";
"background_event_cb" background_event_cb: usize = pointer("rd_kafka_conf_set_background_event_cb") =>
    "Called with events, from a separate thread of the client.";
"socket_cb" socket_cb: usize = pointer("rd_kafka_conf_set_socket_cb") =>
    "Called to create a socket, one for each address that is tried; two attempts may run at the same time.";
"connect_cb" connect_cb: usize = pointer("rd_kafka_conf_set_connect_cb") =>
    "Called to connect a socket: one address after another, each after its own look-up.";
"closesocket_cb" closesocket_cb: usize = pointer("rd_kafka_conf_set_closesocket_cb") =>
    "Called to close a socket.";
"open_cb" open_cb: usize = pointer("rd_kafka_conf_set_open_cb") =>
    "Called to open a file.";
"resolve_cb" resolve_cb: usize = pointer("rd_kafka_conf_set_resolve_cb") =>
    "Called to resolve a host name.";
"opaque" opaque: usize = pointer("rd_kafka_conf_set_opaque") =>
    "The application's pointer, passed to its callbacks.";
"default_topic_conf" default_topic_conf: usize = pointer("rd_kafka_conf_set_default_topic_conf") =>
    "Settings for topics without settings of their own.";
"internal.termination.signal" internal_termination_signal: u32 = int(0, 128, 0) =>
    "Signal that woke the threads of old clients at their end. No thread needs one here.";
"api.version.request" api_version_request: bool = switch(true).deprecated().high() =>
    "Request the API versions of each broker (KIP-35). It can be switched off only for brokers older than 0.10: it is \
     on if `broker.version.fallback` is 0.10 or later.";
"api.version.request.timeout.ms" api_version_request_timeout_ms: u32 = int(1, 300_000, 10_000).ms() =>
    "Time for a broker's response to the request for its API versions.";
"api.version.fallback.ms" api_version_fallback_ms: u32 = int(0, 604_800_000, 0).ms().deprecated().medium() =>
    "Time for which `broker.version.fallback` is assumed after a broker failed to return its API versions (it closed \
     the connection, did not respond within `api.version.request.timeout.ms`, or refused); 0 requests them again with \
     the next connection.";
"broker.version.fallback" broker_version_fallback: String
    = text_or("0.10.0").check(TextCheck::BrokerVersion).deprecated().medium() =>
    "Release to assume of a broker that cannot return its API versions, for example `0.9.0.1`; 0.8.0 or later.";
"allow.auto.create.topics" allow_auto_create_topics: bool = switch(false) =>
    "Let brokers create topics that this client requests and that do not exist, where the brokers allow it \
     (`auto.create.topics.enable`). On for producers and off for consumers unless set. Never for pattern \
     subscriptions.";

    } };
}
pub(super) use client_rows;
