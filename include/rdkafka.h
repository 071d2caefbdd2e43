/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rdkafka.h is the C interface of the library and, at the same time, its
 * users' manual. It is source- and binary-compatible with librdkafka 2.16:
 * a program that was written for, or linked against, librdkafka works with
 * this header and with the library behind it.
 */

#ifndef _RDKAFKA_H_
#define _RDKAFKA_H_

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Only named in callback types; include <sys/socket.h> and <netdb.h> to use them. */
struct sockaddr;
struct addrinfo;

/* ==========================================================================
 *
 *  CONTENTS
 *
 *   1. How to read this manual
 *   2. Compiler helpers
 *   3. Version
 *   4. Handles and other basic types
 *   5. Error codes
 *   6. Error functions and error objects
 *   7. Configuration: global properties
 *   8. Configuration: callbacks
 *   9. Configuration: topic properties
 *  10. The client handle
 *  11. Topic handles
 *  12. Topic partition lists and offsets
 *  13. Messages
 *  14. Message headers
 *  15. Producing
 *  16. Transactions
 *  17. Partitioners
 *  18. Consuming: subscribe, assign, poll
 *  19. Consuming: positions, stored and committed offsets
 *  20. Consuming one partition at a time: the simple consumer
 *  21. Watermarks and offsets by time
 *  22. Queues
 *  23. Events
 *  24. Metadata and cluster information
 *  25. Groups of the cluster
 *  26. Logging
 *  27. Topic ids (UUIDs)
 *  28. Memory, diagnostics, shutdown
 *  29. Interceptors and plugins
 *  30. Administration: topics, settings, groups
 *  31. Share consumers (KIP-932)
 *  32. Vocabulary of further services
 *
 * ==========================================================================
 *
 *  1. HOW TO READ THIS MANUAL
 *
 *  A minimal producer:
 *
 *      char errstr[512];
 *      rd_kafka_conf_t *conf = rd_kafka_conf_new();
 *      rd_kafka_conf_set(conf, "bootstrap.servers", "localhost:9092", errstr, sizeof(errstr));
 *      rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
 *      rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("greetings"),
 *                        RD_KAFKA_V_VALUE("hello", 5),
 *                        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
 *      rd_kafka_flush(rk, 10000);
 *      rd_kafka_destroy(rk);
 *
 *  and a minimal consumer of a group:
 *
 *      rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, errstr, sizeof(errstr));
 *      rd_kafka_poll_set_consumer(rk);
 *      rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
 *      rd_kafka_topic_partition_list_add(topics, "greetings", RD_KAFKA_PARTITION_UA);
 *      rd_kafka_subscribe(rk, topics);
 *      rd_kafka_topic_partition_list_destroy(topics);
 *      while (running) {
 *              rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 500);
 *              if (m) {
 *                      if (!m->err) handle(m);
 *                      rd_kafka_message_destroy(m);
 *              }
 *      }
 *      rd_kafka_consumer_close(rk);
 *      rd_kafka_destroy(rk);
 *
 *  The folder examples/c of the sources holds complete programs.
 *
 *  Rules that hold for every function, unless its own text says otherwise:
 *
 *  - THREADS. Functions that take a client, topic or queue handle
 *    (rd_kafka_t, rd_kafka_topic_t, rd_kafka_queue_t) may be called from any
 *    number of threads at the same time. Objects that are plain data
 *    (configurations, partition lists, header lists, messages, error objects,
 *    events) have no lock: one thread at a time may change one.
 *  - CANCELLATION. A thread that is cancelled with pthread_cancel(3) while it is in the library is
 *    cancelled after the call has returned: by the thread's next cancellation point.
 *  - FORK. A client stays with the process that created it. In a child that is forked from it,
 *    calls with the client, its topics and queues do nothing and return an error at once:
 *    RD_KAFKA_RESP_ERR__STATE, as code, in an error object or a message, or where there is neither
 *    from rd_kafka_last_error(). What never changes can be read: rd_kafka_name(), _type(),
 *    _opaque(), _conf(), rd_kafka_topic_name() and _opaque(). rd_kafka_destroy() closes the child's
 *    copies of the connections, frees no memory, and nothing changes for the parent. A child may
 *    create other clients.
 *  - CALLBACKS run only inside a call that says so ("May call: ..."), on the
 *    thread that made that call. The exceptions are named at their setters:
 *    the log, socket, connect, close, resolve and partitioner callbacks, and
 *    the background event callback, which runs on a separate thread.
 *    A callback must not destroy the client that it was called for.
 *  - TIMEOUTS are in milliseconds. 0 does not wait, -1 waits as long as it
 *    takes. A timeout bounds the whole call.
 *  - TIMESTAMPS of messages are milliseconds since 1970-01-01 00:00 UTC.
 *  - STRINGS are zero-terminated and, where they go to the broker, UTF-8.
 *    Strings that are passed in are copied.
 *  - OWNERSHIP. What a function named *_new, *_dup or *_copy returns belongs to
 *    the caller, who frees it with the matching *_destroy. `const` results
 *    belong to the object that they were taken from and live as long as it.
 *    Destroying NULL is allowed for plain data objects.
 *  - ERROR BUFFERS (`errstr`, `errstr_size`) receive a text for people,
 *    cut to the size given and always zero-terminated. Pass NULL and 0 to do
 *    without. The text is not made for programs to compare with.
 *  - A NULL handle is answered with RD_KAFKA_RESP_ERR__INVALID_ARG, or NULL
 *    or -1, where the function has a way to say so.
 *  - A handle must not be used after it was destroyed.
 *
 * ========================================================================== */


/* ==========================================================================
 *  2. COMPILER HELPERS
 * ========================================================================== */

/** Marks something that may stay unused without a warning. */
#if defined(__GNUC__)
#define RD_UNUSED __attribute__((__unused__))
#else
#define RD_UNUSED
#endif

/** The compiler's word for an inline function. */
#if defined(__GNUC__)
#define RD_INLINE __inline__
#else
#define RD_INLINE inline
#endif

/** Marks a function that the shared library exports. */
#if defined(__GNUC__)
#define RD_EXPORT __attribute__((__visibility__("default")))
#else
#define RD_EXPORT
#endif

/** Marks a function that compiles with a warning because a better one exists. */
#if defined(__GNUC__)
#define RD_DEPRECATED __attribute__((__deprecated__))
#else
#define RD_DEPRECATED
#endif

/** Lets the compiler check a printf-like format: RD_FORMAT(printf, 2, 3). */
#if defined(__GNUC__)
#define RD_FORMAT(...) __attribute__((__format__(__VA_ARGS__)))
#else
#define RD_FORMAT(...)
#endif

/* _LRK_TYPECHECK(result, type, argument, ...) is `result`; on the way the
 * compiler compares each argument with its type as if it initialised a variable
 * of that type. Nothing is evaluated. C++ has no compound literals and
 * goes without; there the casts of the RD_KAFKA_V_ helpers decide. */
#if defined(__cplusplus) || !defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L
#define LIBRDKAFKA_TYPECHECKS 0
#define _LRK_TYPECHECK(RET, TYPE, ARG) RET
#define _LRK_TYPECHECK2(RET, TYPE, ARG, TYPE2, ARG2) RET
#define _LRK_TYPECHECK3(RET, TYPE, ARG, TYPE2, ARG2, TYPE3, ARG3) RET
#else
#define LIBRDKAFKA_TYPECHECKS 1
#define _LRK_TYPECHECK(RET, TYPE, ARG) ((void)sizeof((TYPE[1]) {(ARG)}), RET)
#define _LRK_TYPECHECK2(RET, TYPE, ARG, TYPE2, ARG2)                                               \
        ((void)sizeof((TYPE[1]) {(ARG)}), (void)sizeof((TYPE2[1]) {(ARG2)}), RET)
#define _LRK_TYPECHECK3(RET, TYPE, ARG, TYPE2, ARG2, TYPE3, ARG3)                                  \
        ((void)sizeof((TYPE[1]) {(ARG)}), (void)sizeof((TYPE2[1]) {(ARG2)}),                       \
         (void)sizeof((TYPE3[1]) {(ARG3)}), RET)
#endif


/* ==========================================================================
 *  3. VERSION
 * ========================================================================== */

/**
 * The interface version that this header describes: 0xMMmmrrpp, that is major,
 * minor, revision, and 0xff for a release. It is the librdkafka version whose
 * interface this is (2.16.0), so that programs which ask for a version keep
 * making the right choice.
 *
 * Use it for decisions at compile time; rd_kafka_version() returns the
 * version of the library that is loaded.
 */
#undef RD_KAFKA_VERSION /* that of rdkafkacpp.h, which stays behind */
#define RD_KAFKA_VERSION 0x021000ff

/**
 * Returns the interface version of the library that the program runs with, in the
 * form of RD_KAFKA_VERSION.
 */
RD_EXPORT int rd_kafka_version(void);

/**
 * Returns the same as text, for example "2.16.0". The string is constant.
 */
RD_EXPORT const char *rd_kafka_version_str(void);


/* ==========================================================================
 *  4. HANDLES AND OTHER BASIC TYPES
 *
 *  The structs behind most of these names are private to the library.
 * ========================================================================== */

/** A client: producer or consumer. See section 10. */
typedef struct rd_kafka_s rd_kafka_t;
/** A topic as seen by one client. See section 11. */
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
/** Global configuration of a client to be. See section 7. */
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
/** Topic-level configuration. See section 9. */
typedef struct rd_kafka_topic_conf_s rd_kafka_topic_conf_t;
/** A queue of events and messages. See section 22. */
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
/** One event taken from a queue. See section 23. */
typedef struct rd_kafka_op_s rd_kafka_event_t;
/** An error with a code, a text and advice. See section 6. */
typedef struct rd_kafka_error_s rd_kafka_error_t;
/** An ordered list of message headers. See section 14. */
typedef struct rd_kafka_headers_s rd_kafka_headers_t;
/** A 128 bit id, as Kafka gives to topics. See section 27. */
typedef struct rd_kafka_Uuid_s rd_kafka_Uuid_t;
/** A consumed message, or a delivery report. See section 13. */
typedef struct rd_kafka_message_s rd_kafka_message_t;
/** A partition with an offset and more. See section 12. */
typedef struct rd_kafka_topic_partition_s rd_kafka_topic_partition_t;
/** A list of partitions. See section 12. */
typedef struct rd_kafka_topic_partition_list_s rd_kafka_topic_partition_list_t;
/** A consumer's identity in its group, for transactions. */
typedef struct rd_kafka_consumer_group_metadata_s rd_kafka_consumer_group_metadata_t;

/** The type of a client. A client cannot be both. */
typedef enum rd_kafka_type_t {
        RD_KAFKA_PRODUCER, /**< Sends messages. */
        RD_KAFKA_CONSUMER  /**< Receives messages. */
} rd_kafka_type_t;

/** The meaning of a message's timestamp. Set by the topic's `message.timestamp.type`. */
typedef enum rd_kafka_timestamp_type_t {
        RD_KAFKA_TIMESTAMP_NOT_AVAILABLE,  /**< The message has no timestamp. */
        RD_KAFKA_TIMESTAMP_CREATE_TIME,    /**< When the producer made the message. */
        RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME /**< When the broker wrote it to its log. */
} rd_kafka_timestamp_type_t;


/* ==========================================================================
 *  5. ERROR CODES
 *
 *  Codes below zero (their names have a double underscore, ERR__) come from
 *  this library; zero is success; codes above zero come from the broker and
 *  carry Kafka's own numbers. A broker may send a code that is not listed
 *  here: it is passed on as its number.
 * ========================================================================== */

/** All error codes. */
typedef enum {
        /* ---- from the client library -------------------------------------- */

        /** Lower end of the range of the library's own codes; never returned. */
        RD_KAFKA_RESP_ERR__BEGIN = -200,
        /** A received message could not be decoded. */
        RD_KAFKA_RESP_ERR__BAD_MSG = -199,
        /** Compressed data could not be decompressed, or its codec is not known. */
        RD_KAFKA_RESP_ERR__BAD_COMPRESSION = -198,
        /** The client or the broker object is being destroyed. */
        RD_KAFKA_RESP_ERR__DESTROY = -197,
        /** Failure that has no better code. */
        RD_KAFKA_RESP_ERR__FAIL = -196,
        /** The connection to the broker broke or could not be made. */
        RD_KAFKA_RESP_ERR__TRANSPORT = -195,
        /** The operating system refused something vital: memory, a thread, a socket. */
        RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE = -194,
        /** A broker's host name could not be resolved to an address. */
        RD_KAFKA_RESP_ERR__RESOLVE = -193,
        /** The message was not delivered within `message.timeout.ms`. */
        RD_KAFKA_RESP_ERR__MSG_TIMED_OUT = -192,
        /** The consumer reached the end of a partition. Information, not a failure. */
        RD_KAFKA_RESP_ERR__PARTITION_EOF = -191,
        /** The partition does not exist in the cluster, permanently as far as is known. */
        RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION = -190,
        /** A file or folder could not be used. */
        RD_KAFKA_RESP_ERR__FS = -189,
        /** The topic does not exist in the cluster, permanently as far as is known. */
        RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC = -188,
        /** No broker connection is up. The client keeps trying. */
        RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN = -187,
        /** An argument or a configuration is not valid. */
        RD_KAFKA_RESP_ERR__INVALID_ARG = -186,
        /** The operation did not finish in its time. */
        RD_KAFKA_RESP_ERR__TIMED_OUT = -185,
        /** The producer's queue has no room for another message. */
        RD_KAFKA_RESP_ERR__QUEUE_FULL = -184,
        /** Fewer replicas in sync than were asked for. */
        RD_KAFKA_RESP_ERR__ISR_INSUFF = -183,
        /** A broker's address or id changed. */
        RD_KAFKA_RESP_ERR__NODE_UPDATE = -182,
        /** TLS failure. */
        RD_KAFKA_RESP_ERR__SSL = -181,
        /** The group coordinator is not known yet. */
        RD_KAFKA_RESP_ERR__WAIT_COORD = -180,
        /** The client has no group, or the group is not known. */
        RD_KAFKA_RESP_ERR__UNKNOWN_GROUP = -179,
        /** The operation has started and is not finished. */
        RD_KAFKA_RESP_ERR__IN_PROGRESS = -178,
        /** An earlier operation of the same kind must finish first. */
        RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS = -177,
        /** The operation is not possible while the consumer has a subscription. */
        RD_KAFKA_RESP_ERR__EXISTING_SUBSCRIPTION = -176,
        /** Rebalance callback and event: these partitions are to be assigned. */
        RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS = -175,
        /** Rebalance callback and event: these partitions are to be given up. */
        RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS = -174,
        /** The call does not fit the way the object is being used. */
        RD_KAFKA_RESP_ERR__CONFLICT = -173,
        /** The call is not allowed in the present state. */
        RD_KAFKA_RESP_ERR__STATE = -172,
        /** The protocol is not known. */
        RD_KAFKA_RESP_ERR__UNKNOWN_PROTOCOL = -171,
        /** The library does not implement this. */
        RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED = -170,
        /** Authentication with the broker failed. */
        RD_KAFKA_RESP_ERR__AUTHENTICATION = -169,
        /** There is no offset to work with. */
        RD_KAFKA_RESP_ERR__NO_OFFSET = -168,
        /** The request or answer belongs to a state that has passed. */
        RD_KAFKA_RESP_ERR__OUTDATED = -167,
        /** The request timed out before it was sent. */
        RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE = -166,
        /** The broker is too old for this, or has it switched off. */
        RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE = -165,
        /** Waiting for cached information to arrive. */
        RD_KAFKA_RESP_ERR__WAIT_CACHE = -164,
        /** The operation was interrupted. */
        RD_KAFKA_RESP_ERR__INTR = -163,
        /** For bindings: a key could not be serialized. */
        RD_KAFKA_RESP_ERR__KEY_SERIALIZATION = -162,
        /** For bindings: a value could not be serialized. */
        RD_KAFKA_RESP_ERR__VALUE_SERIALIZATION = -161,
        /** For bindings: a key could not be deserialized. */
        RD_KAFKA_RESP_ERR__KEY_DESERIALIZATION = -160,
        /** For bindings: a value could not be deserialized. */
        RD_KAFKA_RESP_ERR__VALUE_DESERIALIZATION = -159,
        /** Only a part of the data is there. */
        RD_KAFKA_RESP_ERR__PARTIAL = -158,
        /** The object must not be changed. */
        RD_KAFKA_RESP_ERR__READ_ONLY = -157,
        /** No such entry. */
        RD_KAFKA_RESP_ERR__NOENT = -156,
        /** A value ends before its last byte. */
        RD_KAFKA_RESP_ERR__UNDERFLOW = -155,
        /** The value has the wrong type. */
        RD_KAFKA_RESP_ERR__INVALID_TYPE = -154,
        /** Try the operation again. */
        RD_KAFKA_RESP_ERR__RETRY = -153,
        /** The message was purged from the producer's queue. */
        RD_KAFKA_RESP_ERR__PURGE_QUEUE = -152,
        /** The message was purged while on its way to the broker; it may have arrived. */
        RD_KAFKA_RESP_ERR__PURGE_INFLIGHT = -151,
        /** The client cannot go on; rd_kafka_fatal_error() has the cause. */
        RD_KAFKA_RESP_ERR__FATAL = -150,
        /** The parts of something do not agree. */
        RD_KAFKA_RESP_ERR__INCONSISTENT = -149,
        /** `enable.gapless.guarantee` could not be kept. */
        RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE = -148,
        /** The application did not poll within `max.poll.interval.ms`. */
        RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED = -147,
        /** The broker is not known. */
        RD_KAFKA_RESP_ERR__UNKNOWN_BROKER = -146,
        /** The client is not configured for this. */
        RD_KAFKA_RESP_ERR__NOT_CONFIGURED = -145,
        /** Another instance with the same identity took over. */
        RD_KAFKA_RESP_ERR__FENCED = -144,
        /** An error that the application itself raised. */
        RD_KAFKA_RESP_ERR__APPLICATION = -143,
        /** The group took the partitions away before they could be given up. */
        RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST = -142,
        /** Nothing was done because there was nothing to do. */
        RD_KAFKA_RESP_ERR__NOOP = -141,
        /** There is no usable offset and `auto.offset.reset` is `error`. */
        RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET = -140,
        /** The partition's log was truncated below the consumer's position (KIP-320). */
        RD_KAFKA_RESP_ERR__LOG_TRUNCATION = -139,
        /** A record is in the way of the others of its batch; it alone is not at fault. */
        RD_KAFKA_RESP_ERR__INVALID_DIFFERENT_RECORD = -138,
        /** The broker was removed from the cluster. */
        RD_KAFKA_RESP_ERR__DESTROY_BROKER = -137,
        /** Upper end of the range of the library's own codes; never returned. */
        RD_KAFKA_RESP_ERR__END = -100,

        /* ---- from the broker ---------------------------------------------- */

        /** The broker met an error that it has no code for. */
        RD_KAFKA_RESP_ERR_UNKNOWN = -1,
        /** Success. */
        RD_KAFKA_RESP_ERR_NO_ERROR = 0,
        /** The offset is before the start or after the end of the partition. */
        RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE = 1,
        /** The message is damaged: checksum, size or key do not fit. */
        RD_KAFKA_RESP_ERR_INVALID_MSG = 2,
        /** The broker does not have this topic or partition. */
        RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART = 3,
        /** The fetch size is not valid. */
        RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE = 4,
        /** The partition has no leader at the moment. */
        RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE = 5,
        /** The broker is not the partition's leader (or, for fetching, not a replica). */
        RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION = 6,
/** The present name of RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION. */
#define RD_KAFKA_RESP_ERR_NOT_LEADER_OR_FOLLOWER RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION
        /** The broker gave up on the request in its own time. */
        RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT = 7,
        /** The broker is not available. */
        RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE = 8,
        /** A replica is not available. */
        RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE = 9,
        /** The batch is larger than the broker or the topic takes. */
        RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE = 10,
        /** The controller that made the request has been replaced. */
        RD_KAFKA_RESP_ERR_STALE_CTRL_EPOCH = 11,
        /** The metadata text of a committed offset is too long. */
        RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE = 12,
        /** The broker lost its connection before it could answer. */
        RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION = 13,
        /** The coordinator is still loading its state. */
        RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS = 14,
/** The former name of RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS. */
#define RD_KAFKA_RESP_ERR_GROUP_LOAD_IN_PROGRESS RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS
        /** There is no coordinator at the moment. */
        RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE = 15,
/** The former name of RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE. */
#define RD_KAFKA_RESP_ERR_GROUP_COORDINATOR_NOT_AVAILABLE                                          \
        RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE
        /** The broker is not the coordinator of this group or transaction. */
        RD_KAFKA_RESP_ERR_NOT_COORDINATOR = 16,
/** The former name of RD_KAFKA_RESP_ERR_NOT_COORDINATOR. */
#define RD_KAFKA_RESP_ERR_NOT_COORDINATOR_FOR_GROUP RD_KAFKA_RESP_ERR_NOT_COORDINATOR
        /** The topic's name is not allowed, or the topic is internal. */
        RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION = 17,
        /** The batch is larger than a log segment. */
        RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE = 18,
        /** Fewer replicas in sync than `min.insync.replicas`; nothing was written. */
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS = 19,
        /** Written, but then fewer replicas in sync than `min.insync.replicas`. */
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20,
        /** The broker does not accept this value of `acks`. */
        RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS = 21,
        /** The group has moved on to another generation. */
        RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION = 22,
        /** The member's assignors or protocol type do not fit the group's. */
        RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL = 23,
        /** The group id is not valid. */
        RD_KAFKA_RESP_ERR_INVALID_GROUP_ID = 24,
        /** The coordinator does not know this member. */
        RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID = 25,
        /** The session timeout is outside what the broker allows. */
        RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT = 26,
        /** The group is rebalancing; the member must join again. */
        RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS = 27,
        /** The commit is too large. */
        RD_KAFKA_RESP_ERR_INVALID_COMMIT_OFFSET_SIZE = 28,
        /** Not allowed to use the topic. */
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED = 29,
        /** Not allowed to use the group. */
        RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED = 30,
        /** Not allowed to do this to the cluster. */
        RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED = 31,
        /** The message's timestamp is outside what the topic allows. */
        RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP = 32,
        /** The broker does not offer this SASL mechanism. */
        RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM = 33,
        /** The request does not fit the state of the SASL authentication. */
        RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE = 34,
        /** The broker does not speak this version of the request. */
        RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION = 35,
        /** A topic of this name exists already. */
        RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS = 36,
        /** The number of partitions is not valid. */
        RD_KAFKA_RESP_ERR_INVALID_PARTITIONS = 37,
        /** The replication factor is not valid, or larger than the number of brokers. */
        RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR = 38,
        /** The assignment of replicas to brokers is not valid. */
        RD_KAFKA_RESP_ERR_INVALID_REPLICA_ASSIGNMENT = 39,
        /** A broker or topic setting is not valid. */
        RD_KAFKA_RESP_ERR_INVALID_CONFIG = 40,
        /** The broker is not the controller. */
        RD_KAFKA_RESP_ERR_NOT_CONTROLLER = 41,
        /** The broker could not make sense of the request. */
        RD_KAFKA_RESP_ERR_INVALID_REQUEST = 42,
        /** The message format on the broker is too old for this. */
        RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT = 43,
        /** A policy of the broker forbids this. */
        RD_KAFKA_RESP_ERR_POLICY_VIOLATION = 44,
        /** The broker saw a gap in the producer's sequence numbers. */
        RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER = 45,
        /** The broker has this batch already. */
        RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER = 46,
        /** The producer's epoch is older than the one that the broker knows. */
        RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH = 47,
        /** The transaction's state does not allow this. */
        RD_KAFKA_RESP_ERR_INVALID_TXN_STATE = 48,
        /** The producer id does not belong to this transactional id. */
        RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING = 49,
        /** `transaction.timeout.ms` is larger than the broker allows. */
        RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT = 50,
        /** An earlier operation on this transaction has not finished. */
        RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS = 51,
        /** The transaction coordinator was replaced by another. */
        RD_KAFKA_RESP_ERR_TRANSACTION_COORDINATOR_FENCED = 52,
        /** Not allowed to use the transactional id. */
        RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53,
        /** The broker has security switched off. */
        RD_KAFKA_RESP_ERR_SECURITY_DISABLED = 54,
        /** The broker did not try, because another part of the request failed. */
        RD_KAFKA_RESP_ERR_OPERATION_NOT_ATTEMPTED = 55,
        /** The broker could not read or write its disk. */
        RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR = 56,
        /** The log folder is not part of the broker's configuration. */
        RD_KAFKA_RESP_ERR_LOG_DIR_NOT_FOUND = 57,
        /** SASL authentication failed. */
        RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED = 58,
        /** The broker no longer knows the producer id. */
        RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID = 59,
        /** A reassignment of partitions is under way. */
        RD_KAFKA_RESP_ERR_REASSIGNMENT_IN_PROGRESS = 60,
        /** Delegation tokens are switched off. */
        RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_AUTH_DISABLED = 61,
        /** The broker does not know the delegation token. */
        RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_NOT_FOUND = 62,
        /** The principal is neither the token's owner nor its renewer. */
        RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_OWNER_MISMATCH = 63,
        /** Delegation tokens cannot be requested over this connection. */
        RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64,
        /** Not allowed to use delegation tokens. */
        RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65,
        /** The delegation token has expired. */
        RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_EXPIRED = 66,
        /** The kind of principal is not supported. */
        RD_KAFKA_RESP_ERR_INVALID_PRINCIPAL_TYPE = 67,
        /** The group still has members. */
        RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP = 68,
        /** The group does not exist. */
        RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND = 69,
        /** The broker no longer has this fetch session. */
        RD_KAFKA_RESP_ERR_FETCH_SESSION_ID_NOT_FOUND = 70,
        /** The fetch session is at another epoch. */
        RD_KAFKA_RESP_ERR_INVALID_FETCH_SESSION_EPOCH = 71,
        /** The leader has no listener of the name that the client came by. */
        RD_KAFKA_RESP_ERR_LISTENER_NOT_FOUND = 72,
        /** The cluster does not allow topics to be deleted. */
        RD_KAFKA_RESP_ERR_TOPIC_DELETION_DISABLED = 73,
        /** The client's leader epoch is older than the broker's. */
        RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH = 74,
        /** The client's leader epoch is newer than the broker's. */
        RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH = 75,
        /** The broker or the request version does not know this compression. */
        RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE = 76,
        /** The broker's epoch has changed. */
        RD_KAFKA_RESP_ERR_STALE_BROKER_EPOCH = 77,
        /** The new leader does not know its high watermark yet. */
        RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE = 78,
        /** The member must join again with the id that it was given (KIP-394). */
        RD_KAFKA_RESP_ERR_MEMBER_ID_REQUIRED = 79,
        /** The preferred leader is not available. */
        RD_KAFKA_RESP_ERR_PREFERRED_LEADER_NOT_AVAILABLE = 80,
        /** The group has as many members as the broker allows. */
        RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED = 81,
        /** Another member uses the same `group.instance.id` (KIP-345). */
        RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID = 82,
        /** No replica can be elected leader. */
        RD_KAFKA_RESP_ERR_ELIGIBLE_LEADERS_NOT_AVAILABLE = 83,
        /** The partition has the leader that it should have. */
        RD_KAFKA_RESP_ERR_ELECTION_NOT_NEEDED = 84,
        /** No reassignment of partitions is under way. */
        RD_KAFKA_RESP_ERR_NO_REASSIGNMENT_IN_PROGRESS = 85,
        /** The group is subscribed to the topic. */
        RD_KAFKA_RESP_ERR_GROUP_SUBSCRIBED_TO_TOPIC = 86,
        /** A record did not pass the broker's checks. */
        RD_KAFKA_RESP_ERR_INVALID_RECORD = 87,
        /** Offsets of an open transaction are pending; try again. */
        RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT = 88,
        /** A quota is used up; try again later. */
        RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED = 89,
        /** A newer producer with the same transactional id took over. */
        RD_KAFKA_RESP_ERR_PRODUCER_FENCED = 90,
        /** The resource does not exist. */
        RD_KAFKA_RESP_ERR_RESOURCE_NOT_FOUND = 91,
        /** The resource exists already. */
        RD_KAFKA_RESP_ERR_DUPLICATE_RESOURCE = 92,
        /** The credential is not good enough. */
        RD_KAFKA_RESP_ERR_UNACCEPTABLE_CREDENTIAL = 93,
        /** The set of voters is not the same on all controllers. */
        RD_KAFKA_RESP_ERR_INCONSISTENT_VOTER_SET = 94,
        /** The version of the update is not valid. */
        RD_KAFKA_RESP_ERR_INVALID_UPDATE_VERSION = 95,
        /** The cluster's features could not be updated. */
        RD_KAFKA_RESP_ERR_FEATURE_UPDATE_FAILED = 96,
        /** A forwarded principal could not be decoded. */
        RD_KAFKA_RESP_ERR_PRINCIPAL_DESERIALIZATION_FAILURE = 97,
        /** The broker does not know this topic id. */
        RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_ID = 100,
        /** The topic has another id: it was deleted and made again. */
        RD_KAFKA_RESP_ERR_INCONSISTENT_TOPIC_ID = 103,
        /** The group coordinator has moved the member to another epoch (KIP-848). */
        RD_KAFKA_RESP_ERR_FENCED_MEMBER_EPOCH = 110,
        /** The previous member with this instance id has not left yet (KIP-848). */
        RD_KAFKA_RESP_ERR_UNRELEASED_INSTANCE_ID = 111,
        /** The coordinator does not have this assignor (KIP-848). */
        RD_KAFKA_RESP_ERR_UNSUPPORTED_ASSIGNOR = 112,
        /** The member's epoch is older than the coordinator's (KIP-848). */
        RD_KAFKA_RESP_ERR_STALE_MEMBER_EPOCH = 113,
        /** A controller was asked for what a broker does, or the other way round. */
        RD_KAFKA_RESP_ERR_MISMATCHED_ENDPOINT_TYPE = 114,
        /** The kind of endpoint is not supported. */
        RD_KAFKA_RESP_ERR_UNSUPPORTED_ENDPOINT_TYPE = 115,
        /** The controller's id is not known. */
        RD_KAFKA_RESP_ERR_UNKNOWN_CONTROLLER_ID = 116,
        /** The telemetry subscription is not the client's present one (KIP-714). */
        RD_KAFKA_RESP_ERR_UNKNOWN_SUBSCRIPTION_ID = 117,
        /** The pushed telemetry is larger than the broker takes (KIP-714). */
        RD_KAFKA_RESP_ERR_TELEMETRY_TOO_LARGE = 118,
        /** The controller found the broker's registration not valid. */
        RD_KAFKA_RESP_ERR_INVALID_REGISTRATION = 119,
        /** The transaction failed and can be aborted (KIP-890). */
        RD_KAFKA_RESP_ERR_TRANSACTION_ABORTABLE = 120,
        /** The record is not in a state that can be acknowledged (KIP-932). */
        RD_KAFKA_RESP_ERR_INVALID_RECORD_STATE = 121,
        /** The broker no longer has this share session (KIP-932). */
        RD_KAFKA_RESP_ERR_SHARE_SESSION_NOT_FOUND = 122,
        /** The share session is at another epoch (KIP-932). */
        RD_KAFKA_RESP_ERR_INVALID_SHARE_SESSION_EPOCH = 123,
        /** The share coordinator knows a newer state epoch (KIP-932). */
        RD_KAFKA_RESP_ERR_FENCED_STATE_EPOCH = 124,
        /** The voter's key is not the receiver's. */
        RD_KAFKA_RESP_ERR_INVALID_VOTER_KEY = 125,
        /** The voter is in the set already. */
        RD_KAFKA_RESP_ERR_DUPLICATE_VOTER = 126,
        /** The voter is not in the set. */
        RD_KAFKA_RESP_ERR_VOTER_NOT_FOUND = 127,
        /** The subscription's regular expression is not valid (KIP-848). */
        RD_KAFKA_RESP_ERR_INVALID_REGULAR_EXPRESSION = 128,
        /** The client's knowledge is too old: start again from the bootstrap servers (KIP-1102). */
        RD_KAFKA_RESP_ERR_REBOOTSTRAP_REQUIRED = 129,
        /** The streams topology is not valid (KIP-1071). */
        RD_KAFKA_RESP_ERR_STREAMS_INVALID_TOPOLOGY = 130,
        /** The epoch of the streams topology is not valid (KIP-1071). */
        RD_KAFKA_RESP_ERR_STREAMS_INVALID_TOPOLOGY_EPOCH = 131,
        /** The epoch of the streams topology is too old (KIP-1071). */
        RD_KAFKA_RESP_ERR_STREAMS_TOPOLOGY_FENCED = 132,
        /** The broker has as many share sessions as it allows (KIP-932). */
        RD_KAFKA_RESP_ERR_SHARE_SESSION_LIMIT_REACHED = 133,
        /** One more than the highest code known; never returned. */
        RD_KAFKA_RESP_ERR_END_ALL = 134
} rd_kafka_resp_err_t;


/* ==========================================================================
 *  6. ERROR FUNCTIONS AND ERROR OBJECTS
 * ========================================================================== */

/** One row of the table of error codes. */
struct rd_kafka_err_desc {
        rd_kafka_resp_err_t code; /**< The code. */
        /** Its name without "RD_KAFKA_RESP_ERR_", or NULL: no such code. */
        const char *name;
        /** Its meaning, as text for people; NULL for most codes without a name. */
        const char *desc;
};

/**
 * The whole table of error codes, for bindings that want to list them.
 *
 * The table runs from RD_KAFKA_RESP_ERR__BEGIN to RD_KAFKA_RESP_ERR_END_ALL - 1.
 * Rows without a name are gaps; skip them.
 *
 * @param errdescs  Receives the address of the first row. The table is constant.
 * @param cntp      Receives the number of rows.
 */
RD_EXPORT void rd_kafka_get_err_descs(const struct rd_kafka_err_desc **errdescs, size_t *cntp);

/**
 * Returns the meaning of an error code, as text for people.
 *
 * @return A string that stays valid; never NULL. For a code that is not known
 *         it is "Err-N?" in a buffer of the calling thread, which the next call
 *         may overwrite.
 */
RD_EXPORT const char *rd_kafka_err2str(rd_kafka_resp_err_t err);

/**
 * Returns the name of an error code without the prefix "RD_KAFKA_RESP_ERR_", for
 * example "_QUEUE_FULL" or "NOT_ENOUGH_REPLICAS". Good for logs and for counting.
 *
 * @return A string that stays valid; never NULL. For a code that is not known
 *         it is "ERR_N?" in a buffer of the calling thread, which the next call
 *         may overwrite.
 */
RD_EXPORT const char *rd_kafka_err2name(rd_kafka_resp_err_t err);

/**
 * Returns the error of the last call, on this thread, to one of the older functions
 * that report failure by a return value of NULL or -1 only: rd_kafka_new(),
 * rd_kafka_topic_new(), rd_kafka_produce(), rd_kafka_consume_start(),
 * rd_kafka_consume_start_queue(), rd_kafka_consume_stop(), rd_kafka_consume(),
 * rd_kafka_consume_batch(), rd_kafka_consume_batch_queue(),
 * rd_kafka_consume_callback(), rd_kafka_consume_callback_queue(),
 * rd_kafka_consume_queue() and rd_kafka_outq_len().
 *
 * Only meaningful directly after such a call failed. The value is kept for each
 * thread apart.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_last_error(void);

/**
 * Translates an `errno` value that one of the older functions left behind.
 *
 * @param errnox  The value: EINVAL, EBUSY, ENOENT, ESRCH, ETIMEDOUT, EMSGSIZE,
 *                ENOBUFS and ECANCELED have codes of their own, every other is
 *                RD_KAFKA_RESP_ERR__FAIL.
 *
 * Deprecated: use rd_kafka_last_error().
 */
RD_EXPORT RD_DEPRECATED rd_kafka_resp_err_t rd_kafka_errno2err(int errnox);

/**
 * `errno` of the calling thread as the library sees it. It matters only where
 * program and library have C libraries of their own.
 *
 * Deprecated: use rd_kafka_last_error().
 */
RD_EXPORT RD_DEPRECATED int rd_kafka_errno(void);

/**
 * Returns whether the client has a fatal error: one after which it cannot keep
 * its promises, for example a producer with `enable.gapless.guarantee` that would have
 * to leave a gap, or a consumer whose `group.instance.id` was taken by another.
 *
 * The first fatal error of a client is kept for its life. The error callback
 * (or error event) announces it with the code RD_KAFKA_RESP_ERR__FATAL, and this
 * function then has the cause. The only thing left to do is to destroy the
 * client and, if it makes sense, to create another.
 *
 * @param rk      Client.
 * @param errstr  Receives the reason when there is one.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR if there is no fatal error, else its code.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_fatal_error(rd_kafka_t *rk, char *errstr, size_t errstr_size);

/**
 * Makes the client behave as if it had met a fatal error. For testing how an
 * application handles one.
 *
 * @param err     Code that rd_kafka_fatal_error() shall return.
 * @param reason  Text that it shall give.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS if
 *         the client has a fatal error already, which then stays.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_test_fatal_error(rd_kafka_t *rk, rd_kafka_resp_err_t err, const char *reason);

/* -- Error objects: newer functions return `rd_kafka_error_t *`. NULL means success;
 *    anything else belongs to the caller and ends with rd_kafka_error_destroy(). -- */

/** Returns the code of an error; RD_KAFKA_RESP_ERR_NO_ERROR for NULL. */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_error_code(const rd_kafka_error_t *error);

/** Returns the name of the error's code as rd_kafka_err2name() gives it; "" for NULL. */
RD_EXPORT const char *rd_kafka_error_name(const rd_kafka_error_t *error);

/**
 * Returns the error's text for people: its own or, if it has none, the
 * meaning of its code; "" for NULL. The string lives as long as the error.
 */
RD_EXPORT const char *rd_kafka_error_string(const rd_kafka_error_t *error);

/**
 * Returns 1 if the error is fatal for the client (see rd_kafka_fatal_error()), else 0. NULL gives
 * 0.
 */
RD_EXPORT int rd_kafka_error_is_fatal(const rd_kafka_error_t *error);

/** Returns 1 if the same call may succeed when it is made again, else 0. NULL gives 0. */
RD_EXPORT int rd_kafka_error_is_retriable(const rd_kafka_error_t *error);

/**
 * Returns 1 if the present transaction cannot be committed and must be aborted before
 * the producer can begin another (KIP-98, KIP-360), else 0. NULL gives 0.
 */
RD_EXPORT int rd_kafka_error_txn_requires_abort(const rd_kafka_error_t *error);

/** Frees an error. NULL is allowed. */
RD_EXPORT void rd_kafka_error_destroy(rd_kafka_error_t *error);

/**
 * Creates an error object, for bindings and for applications that want to pass
 * errors of their own through code that expects this type.
 *
 * @param code  Its code.
 * @param fmt   printf-like format of its text, or NULL for none.
 *
 * @return The error; free it with rd_kafka_error_destroy().
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_error_new(rd_kafka_resp_err_t code, const char *fmt, ...)
    RD_FORMAT(printf, 2, 3);


/* ==========================================================================
 *  7. CONFIGURATION: GLOBAL PROPERTIES
 *
 *  A configuration is a set of named properties, all of them text, plus
 *  callbacks. Fill one in, then give it to rd_kafka_new(). The properties, with
 *  their defaults and ranges, are listed in docs/CONFIGURATION.md and by
 *  rd_kafka_conf_properties_show().
 *
 *  How values are read:
 *  - boolean: true, t, 1, false, f, 0, in letters of any case;
 *  - integer: decimal, 0x hexadecimal or 0 octal, within its range;
 *  - one of a list of names: in letters of any case;
 *  - flags: names with commas between them; "+name" adds to, "-name" takes from
 *    the present set;
 *  - text: as it is, without its leading spaces; empty text gives the default.
 *
 *  Topic-level properties (section 9) may be set here as well: they are the
 *  default of every topic without a configuration of its own.
 * ========================================================================== */

/** Outcome of setting or reading a property. */
typedef enum {
        /** There is no property of this name. */
        RD_KAFKA_CONF_UNKNOWN = -2,
        /** The value is not allowed, or cannot be used in this build. */
        RD_KAFKA_CONF_INVALID = -1,
        /** Done. */
        RD_KAFKA_CONF_OK = 0
} rd_kafka_conf_res_t;

/**
 * Creates a configuration with every property at its default.
 *
 * @return The configuration. Give it to rd_kafka_new(), which then owns it, or
 *         free it with rd_kafka_conf_destroy().
 */
RD_EXPORT rd_kafka_conf_t *rd_kafka_conf_new(void);

/** Frees a configuration that no rd_kafka_new() has taken. NULL is allowed. */
RD_EXPORT void rd_kafka_conf_destroy(rd_kafka_conf_t *conf);

/**
 * Copies a configuration with its callbacks, opaque and default topic
 * configuration. Useful for several clients with almost the same settings.
 *
 * @return The copy, to be freed or given to rd_kafka_new().
 */
RD_EXPORT rd_kafka_conf_t *rd_kafka_conf_dup(const rd_kafka_conf_t *conf);

/**
 * Copies a configuration but leaves out the properties whose names start with
 * one of the given prefixes; these have their defaults in the copy.
 *
 * @param filter_cnt  Number of prefixes.
 * @param filter      The prefixes.
 */
RD_EXPORT rd_kafka_conf_t *
rd_kafka_conf_dup_filter(const rd_kafka_conf_t *conf, size_t filter_cnt, const char **filter);

/**
 * Returns the configuration that a client runs with, for reading: rd_kafka_conf_get(),
 * rd_kafka_conf_dup(). Values that the library adjusted in rd_kafka_new() show
 * as adjusted.
 *
 * @return Belongs to the client and lives as long as it.
 */
RD_EXPORT const rd_kafka_conf_t *rd_kafka_conf(rd_kafka_t *rk);

/**
 * Sets a property.
 *
 * rd_kafka_new() checks combinations of properties.
 *
 * @param name   Property, or one of the aliases that Kafka's Java clients use,
 *               for example "linger.ms". Global or topic-level.
 * @param value  Its value as text.
 *
 * @return RD_KAFKA_CONF_OK; else nothing is changed and `errstr` names the
 *         property, the value and what is allowed.
 */
RD_EXPORT rd_kafka_conf_res_t rd_kafka_conf_set(rd_kafka_conf_t *conf,
                                                const char *name,
                                                const char *value,
                                                char *errstr,
                                                size_t errstr_size);

/**
 * Reads a property.
 *
 * @param name       Property or alias, global or topic-level.
 * @param dest       Receives the value as text, zero-terminated. NULL: only ask for the size.
 * @param dest_size  In: the size of `dest`. Out: the size of the whole value with its
 *                   terminating zero. Larger than what went in means that `dest` was
 *                   too small and holds a cut value.
 *
 * @return RD_KAFKA_CONF_OK, or RD_KAFKA_CONF_UNKNOWN for a name that does not
 *         exist and RD_KAFKA_CONF_INVALID for a property that has no value to show.
 */
RD_EXPORT rd_kafka_conf_res_t
rd_kafka_conf_get(const rd_kafka_conf_t *conf, const char *name, char *dest, size_t *dest_size);

/**
 * Returns all properties that have a value, as an array of name, value, name, value, ...
 *
 * @param cntp  Receives the number of strings, which is twice that of properties.
 *
 * @return The array; free it with rd_kafka_conf_dump_free().
 */
RD_EXPORT const char **rd_kafka_conf_dump(rd_kafka_conf_t *conf, size_t *cntp);

/** Returns the same for a topic configuration; also freed with rd_kafka_conf_dump_free(). */
RD_EXPORT const char **rd_kafka_topic_conf_dump(rd_kafka_topic_conf_t *conf, size_t *cntp);

/** Frees what rd_kafka_conf_dump() or rd_kafka_topic_conf_dump() returned. */
RD_EXPORT void rd_kafka_conf_dump_free(const char **arr, size_t cnt);

/** Prints a table of all properties, with ranges, defaults and descriptions, to `fp`. */
RD_EXPORT void rd_kafka_conf_properties_show(FILE *fp);

/**
 * A pointer that the library hands to the callbacks of the client and that
 * rd_kafka_opaque() returns. The library does not look at it.
 */
RD_EXPORT void rd_kafka_conf_set_opaque(rd_kafka_conf_t *conf, void *opaque);

/**
 * Chooses what becomes an event (section 23) on the client's queues instead of
 * a callback: a sum of RD_KAFKA_EVENT_ constants, for example
 * RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR. Events are taken with
 * rd_kafka_queue_poll().
 *
 * Where both an event and a callback are asked for, rd_kafka_poll() and
 * rd_kafka_consumer_poll() call the callback, rd_kafka_queue_poll() returns the event. Without
 * a callback rd_kafka_poll() takes delivery reports off the queue all the same, and they are
 * lost: a program that takes events does not call it.
 */
RD_EXPORT void rd_kafka_conf_set_events(rd_kafka_conf_t *conf, int events);

/**
 * Makes `tconf` the configuration of all topics that have none of their own.
 * The library owns `tconf` afterwards. A former default is freed.
 *
 * Deprecated: set topic-level properties with rd_kafka_conf_set().
 */
RD_EXPORT void rd_kafka_conf_set_default_topic_conf(rd_kafka_conf_t *conf,
                                                    rd_kafka_topic_conf_t *tconf);

/**
 * Returns the default topic configuration inside `conf`, to be changed in place, for
 * example to set a partitioner callback for all topics.
 *
 * @return Belongs to `conf`. NULL as long as no topic-level property was set
 *         and no default topic configuration was given.
 */
RD_EXPORT rd_kafka_topic_conf_t *rd_kafka_conf_get_default_topic_conf(rd_kafka_conf_t *conf);


/* ==========================================================================
 *  8. CONFIGURATION: CALLBACKS
 *
 *  `opaque` is always what rd_kafka_conf_set_opaque() was given. Passing NULL
 *  for a callback takes it away.
 * ========================================================================== */

/**
 * Delivery reports: one call for each produced message, when the broker has
 * acknowledged it or when it has failed for good.
 *
 *   rkmessage->err        RD_KAFKA_RESP_ERR_NO_ERROR or the reason of the failure
 *   rkmessage->offset     its offset, if it was written and acks is not 0
 *   rkmessage->partition  where it went
 *   rkmessage->_private   the opaque that was given when it was produced
 *
 * rd_kafka_message_status() returns whether a failed message may be in the log
 * nevertheless; rd_kafka_message_produce_errstr() returns the broker's error text, if there is one.
 * The message belongs to the library and is valid during the call. Within a
 * partition the calls come in the order of produce, successes among each other.
 *
 * `delivery.report.only.error` limits the calls to failures.
 *
 * Called from rd_kafka_poll() and rd_kafka_flush(). Producing from it is allowed: the room of a
 * message is free again when its own call has returned.
 */
RD_EXPORT void rd_kafka_conf_set_dr_msg_cb(
    rd_kafka_conf_t *conf,
    void (*dr_msg_cb)(rd_kafka_t *rk, const rd_kafka_message_t *rkmessage, void *opaque));

/**
 * The older form of delivery report, without offset and partition.
 * `payload`, `len` and `msg_opaque` are those that were produced.
 *
 * Called from rd_kafka_poll() and rd_kafka_flush().
 * Deprecated: use rd_kafka_conf_set_dr_msg_cb(), which goes first if both are set.
 */
RD_EXPORT void rd_kafka_conf_set_dr_cb(rd_kafka_conf_t *conf,
                                       void (*dr_cb)(rd_kafka_t *rk,
                                                     void *payload,
                                                     size_t len,
                                                     rd_kafka_resp_err_t err,
                                                     void *opaque,
                                                     void *msg_opaque));

/**
 * Consumed messages by callback: rd_kafka_queue_poll_callback(), and rd_kafka_poll() once
 * rd_kafka_poll_set_consumer() was called, call this for them. rd_kafka_consumer_poll()
 * returns messages all the same.
 *
 * The message belongs to the library and is valid during the call. Its
 * errors come here too, in rkmessage->err.
 */
RD_EXPORT void
rd_kafka_conf_set_consume_cb(rd_kafka_conf_t *conf,
                             void (*consume_cb)(rd_kafka_message_t *rkmessage, void *opaque));

/**
 * Lets the application carry out the changes of its group's assignment.
 * Without it the library does so by itself.
 *
 * `err` is RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS or RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS;
 * any other value reports a failure and is to be treated like a revocation of
 * everything. What the callback must do depends on rd_kafka_rebalance_protocol():
 *
 *   "EAGER"        assign: rd_kafka_assign(rk, partitions)
 *                  revoke: rd_kafka_assign(rk, NULL)
 *   "COOPERATIVE"  assign: rd_kafka_incremental_assign(rk, partitions)
 *                  revoke: rd_kafka_incremental_unassign(rk, partitions)
 *
 * `partitions` are then only those that come or go. A revocation is followed by a call that
 * assigns, with an empty list where nothing came: it ends the rebalance.
 *
 * Before that it may look up start offsets in its own store and write
 * them into partitions->elems[].offset, or, on revocation, commit offsets,
 * unless rd_kafka_assignment_lost() says that others own the partitions already.
 * `partitions` belongs to the library and is valid during the call.
 *
 * Called from rd_kafka_consumer_poll() and rd_kafka_consumer_close().
 */
RD_EXPORT void rd_kafka_conf_set_rebalance_cb(rd_kafka_conf_t *conf,
                                              void (*rebalance_cb)(
                                                  rd_kafka_t *rk,
                                                  rd_kafka_resp_err_t err,
                                                  rd_kafka_topic_partition_list_t *partitions,
                                                  void *opaque));

/**
 * Outcome of commits, automatic ones and those of the application.
 *
 * `err` is the outcome as a whole (RD_KAFKA_RESP_ERR__NO_OFFSET: there was
 * nothing to commit), offsets->elems[].err that of each partition. `offsets`
 * belongs to the library and is valid during the call.
 *
 * Called from rd_kafka_consumer_poll() and rd_kafka_consumer_close().
 */
RD_EXPORT void rd_kafka_conf_set_offset_commit_cb(rd_kafka_conf_t *conf,
                                                  void (*offset_commit_cb)(
                                                      rd_kafka_t *rk,
                                                      rd_kafka_resp_err_t err,
                                                      rd_kafka_topic_partition_list_t *offsets,
                                                      void *opaque));

/**
 * Errors of the client as a whole: no broker reachable, authentication refused.
 * The library keeps trying; the calls are information, except for
 * RD_KAFKA_RESP_ERR__FATAL, where rd_kafka_fatal_error() has the cause.
 * Without this callback (and without the error event) errors are logged.
 *
 * Each cause is reported once: a broker that cannot be reached, once for each error code until it
 * has been up for ten seconds, however many attempts and connections fail (the log counts them);
 * RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, once until a broker is reached again. A connection that a
 * broker closes while no request is in flight is no error. With `log.connection.close=false`
 * neither are connections that break, only those that cannot be made.
 *
 * Called from rd_kafka_poll(), rd_kafka_consumer_poll() and rd_kafka_flush().
 */
RD_EXPORT void rd_kafka_conf_set_error_cb(
    rd_kafka_conf_t *conf,
    void (*error_cb)(rd_kafka_t *rk, int err, const char *reason, void *opaque));

/**
 * The broker slowed the client down because a quota was used up (KIP-13,
 * KIP-219). Called for each response of Produce, Fetch or ListOffsets with a throttle time,
 * and once, with 0, for the first response after it without one.
 *
 *   broker_name       `host:port` of the broker
 *   broker_id         its id
 *   throttle_time_ms  delay in milliseconds
 *
 * Called from rd_kafka_poll(), rd_kafka_consumer_poll() and rd_kafka_flush().
 */
RD_EXPORT void rd_kafka_conf_set_throttle_cb(rd_kafka_conf_t *conf,
                                             void (*throttle_cb)(rd_kafka_t *rk,
                                                                 const char *broker_name,
                                                                 int32_t broker_id,
                                                                 int throttle_time_ms,
                                                                 void *opaque));

/**
 * Log lines. `level` is a syslog severity (0 emergency ... 7 debug), `fac` a
 * short word for the kind of line, `buf` the line. Without a callback lines go
 * to stderr (rd_kafka_log_print()).
 *
 * Called at once, from any thread of the library or of the application: it must be
 * thread-safe, quick, and must not call back into the client. `rk` may be NULL.
 * With `log.queue` set to true lines go to a queue instead and the callback runs
 * in rd_kafka_poll(); see rd_kafka_set_log_queue().
 */
RD_EXPORT void rd_kafka_conf_set_log_cb(
    rd_kafka_conf_t *conf,
    void (*log_cb)(const rd_kafka_t *rk, int level, const char *fac, const char *buf));

/**
 * Statistics, every `statistics.interval.ms` milliseconds. docs/STATISTICS.md has their fields.
 * While ten of them wait to be served no more are made: the next one covers the whole time.
 *
 *   json      a JSON object in one line, zero-terminated
 *   json_len  its length without the zero
 *
 * The callback returns 0: the library frees `json` afterwards; or 1: it belongs to the
 * application, which frees it with rd_kafka_mem_free().
 *
 * Called from rd_kafka_poll(), rd_kafka_consumer_poll() and rd_kafka_flush().
 */
RD_EXPORT void rd_kafka_conf_set_stats_cb(
    rd_kafka_conf_t *conf,
    int (*stats_cb)(rd_kafka_t *rk, char *json, size_t json_len, void *opaque));

/**
 * Events on a thread of the library: with this set the client has a background
 * queue (rd_kafka_queue_get_background()) and a thread that hands its events
 * to the callback. What goes there are the results of requests that
 * name that queue, and what is forwarded to it with rd_kafka_queue_forward().
 *
 * The callback owns the event and must end it with rd_kafka_event_destroy().
 * It may block; it must not destroy the client.
 */
RD_EXPORT void rd_kafka_conf_set_background_event_cb(
    rd_kafka_conf_t *conf,
    void (*event_cb)(rd_kafka_t *rk, rd_kafka_event_t *rkev, void *opaque));

/**
 * Requests a token for SASL/OAUTHBEARER (KIP-255). The callback answers with
 * rd_kafka_oauthbearer_set_token() or rd_kafka_oauthbearer_set_token_failure(), before it returns
 * or later, from any thread. Connections wait until there is a token.
 *
 *   oauthbearer_config  the value of `sasl.oauthbearer.config`; NULL if it is not set
 *
 * It is called when the client starts, when 80 % of a token's life have passed, 10 s after a
 * failure, and again if a request was not answered in 30 s. Only a client with
 * `sasl.mechanisms=OAUTHBEARER` calls it; it precedes `sasl.oauthbearer.method=oidc`.
 *
 * Called from rd_kafka_poll(), rd_kafka_flush(), from rd_kafka_consumer_poll() after
 * rd_kafka_poll_set_consumer(), and from the calls that serve the main queue; with
 * rd_kafka_conf_enable_sasl_queue() from those that serve the SASL queue. Other calls that wait,
 * such as rd_kafka_metadata() or rd_kafka_committed(), call no callbacks: a client that has no
 * thread in one of the calls above needs rd_kafka_sasl_background_callbacks_enable().
 */
RD_EXPORT void rd_kafka_conf_set_oauthbearer_token_refresh_cb(
    rd_kafka_conf_t *conf,
    void (*oauthbearer_token_refresh_cb)(rd_kafka_t *rk,
                                         const char *oauthbearer_config,
                                         void *opaque));

/**
 * Enables (1) or disables (0) the SASL queue: requests for tokens of SASL/OAUTHBEARER then go to a
 * queue of their own, rd_kafka_queue_get_sasl(), in place of the main queue. Default: disabled.
 */
RD_EXPORT void rd_kafka_conf_enable_sasl_queue(rd_kafka_conf_t *conf, int enable);

/**
 * Opens the client's sockets in place of socket(2).
 *
 * The callback returns the file descriptor, or -1 with `errno` set. Set close-on-exec there if it
 * is wanted; everything else (`socket.*`, non-blocking) the library sets.
 *
 * Called from a thread of the library; it should not block.
 */
RD_EXPORT void rd_kafka_conf_set_socket_cb(
    rd_kafka_conf_t *conf, int (*socket_cb)(int domain, int type, int protocol, void *opaque));

/**
 * Connects the client's sockets in place of connect(2).
 *
 *   sockfd         non-blocking socket
 *   addr, addrlen  where to
 *   id             the broker, "host:port/id" or "host:port/bootstrap"
 *
 * The callback returns 0 on success, or an errno value; EINPROGRESS if the connection
 * is on its way.
 *
 * Called from a thread of the library; it should not block.
 */
RD_EXPORT void rd_kafka_conf_set_connect_cb(rd_kafka_conf_t *conf,
                                            int (*connect_cb)(int sockfd,
                                                              const struct sockaddr *addr,
                                                              int addrlen,
                                                              const char *id,
                                                              void *opaque));

/**
 * Closes the client's sockets in place of close(2), those too that socket_cb did not make.
 *
 * The callback returns 0; anything else is not looked at.
 *
 * Called from a thread of the library.
 */
RD_EXPORT void rd_kafka_conf_set_closesocket_cb(rd_kafka_conf_t *conf,
                                                int (*closesocket_cb)(int sockfd, void *opaque));

/**
 * Opens files in place of open(2): those of `offset.store.path`.
 *
 * The callback returns the file descriptor, or -1 with `errno` set.
 *
 * Called from a thread of the library, for which rd_kafka_destroy() waits 10 seconds at most.
 */
RD_EXPORT void rd_kafka_conf_set_open_cb(
    rd_kafka_conf_t *conf,
    int (*open_cb)(const char *pathname, int flags, mode_t mode, void *opaque));

/**
 * Resolves brokers' names in place of getaddrinfo(3), with the same arguments and
 * result. If `node`, `service` and `hints` are all NULL, `*res` is an earlier result
 * that is no longer needed: free it.
 *
 * The callback returns 0, or one of getaddrinfo's EAI_ codes.
 *
 * Called from a thread of the library, for addresses in digits as well; it may block, and
 * rd_kafka_destroy() waits for it.
 */
RD_EXPORT void rd_kafka_conf_set_resolve_cb(rd_kafka_conf_t *conf,
                                            int (*resolve_cb)(const char *node,
                                                              const char *service,
                                                              const struct addrinfo *hints,
                                                              struct addrinfo **res,
                                                              void *opaque));

/* -- Certificates (security.protocol=ssl) --
 *
 * Most programs set the properties `ssl.*`, which name files or contain PEM text. The functions
 * here are for certificates that the program holds in memory, and for programs that decide
 * themselves which brokers they trust. TLS is 1.2 or 1.3.
 */

/** The use of a certificate or key. */
typedef enum rd_kafka_cert_type_t {
        /** The client's certificate, followed by those of its issuers. */
        RD_KAFKA_CERT_PUBLIC_KEY = 0,
        /** The client's private key. */
        RD_KAFKA_CERT_PRIVATE_KEY = 1,
        /** Certificates of the authorities that brokers' certificates are verified with. */
        RD_KAFKA_CERT_CA = 2,
        /** Number of values. */
        RD_KAFKA_CERT__CNT = 3
} rd_kafka_cert_type_t;

/** How a certificate or key is encoded. */
typedef enum rd_kafka_cert_enc_t {
        /** PKCS#12, with the password in `ssl.key.password`. Of a store with a private key,
         * RD_KAFKA_CERT_CA takes only the certificates that do not belong to that key. */
        RD_KAFKA_CERT_ENC_PKCS12 = 0,
        /** DER: one certificate or one private key. */
        RD_KAFKA_CERT_ENC_DER = 1,
        /** PEM: one or more certificates, or one private key. */
        RD_KAFKA_CERT_ENC_PEM = 2,
        /** Number of values. */
        RD_KAFKA_CERT_ENC__CNT = 3
} rd_kafka_cert_enc_t;

/**
 * Sets a certificate or key from memory.
 *
 * It is read and checked at once: set `ssl.key.password` before, if it is encrypted. The buffer
 * is copied and may be freed when the call returns; copies of the configuration share what was
 * read. Each call replaces what an earlier one set for the same `cert_type`; a NULL buffer removes
 * it. The properties for files and texts take precedence over a certificate and a key from
 * memory; authorities from memory together with `ssl.ca.location` or `ssl.ca.pem` are refused by
 * rd_kafka_new().
 *
 * A running client's certificates are replaced with rd_kafka_ssl_certs_replace() (ottla.h).
 *
 * @return RD_KAFKA_CONF_OK; RD_KAFKA_CONF_INVALID with a text in `errstr`: the buffer cannot be
 *         read in that encoding, the password is missing or wrong, or an argument is not one of
 *         the constants.
 */
RD_EXPORT rd_kafka_conf_res_t rd_kafka_conf_set_ssl_cert(rd_kafka_conf_t *conf,
                                                         rd_kafka_cert_type_t cert_type,
                                                         rd_kafka_cert_enc_t cert_enc,
                                                         const void *buffer,
                                                         size_t size,
                                                         char *errstr,
                                                         size_t errstr_size);

/**
 * Checks brokers' certificates, in addition to the library's own verification.
 *
 *   broker_name          the broker, "host:port/id" or "host:port/bootstrap"
 *   broker_id            its id, -1 while it is not known
 *   x509_error           in: the library's finding, a number of OpenSSL (X509_V_ERR_), 0 for none.
 *                        The callback may set it to 0 to forgive the fault
 *   depth                position in the chain: 0 is the broker's own certificate
 *   buf, size            the certificate, DER
 *   errstr, errstr_size  buffer for the reason of a refusal
 *
 * The order of calls is OpenSSL's: first one call for each fault of the chain, then one for each
 * certificate from the root to the broker's own. A return value other than 0 accepts the
 * certificate, if the fault was forgiven as well; 0 refuses it and ends the connection. With
 * `enable.ssl.certificate.verification=false` the callback is called, and its result is ignored.
 *
 * Sessions are not resumed, so that each connection is checked.
 *
 * Called from a thread of the library; it must be thread-safe and should not block.
 *
 * @return RD_KAFKA_CONF_OK.
 */
RD_EXPORT rd_kafka_conf_res_t
rd_kafka_conf_set_ssl_cert_verify_cb(rd_kafka_conf_t *conf,
                                     int (*ssl_cert_verify_cb)(rd_kafka_t *rk,
                                                               const char *broker_name,
                                                               int32_t broker_id,
                                                               int *x509_error,
                                                               int depth,
                                                               const char *buf,
                                                               size_t size,
                                                               char *errstr,
                                                               size_t errstr_size,
                                                               void *opaque));

/**
 * Stores the argument of an OpenSSL engine.
 *
 * This library's TLS is not OpenSSL and has no engines: rd_kafka_new() refuses a configuration
 * with this argument, unless security.protocol excludes TLS.
 */
RD_EXPORT void rd_kafka_conf_set_engine_callback_data(rd_kafka_conf_t *conf, void *callback_data);


/* ==========================================================================
 *  9. CONFIGURATION: TOPIC PROPERTIES
 *
 *  Properties that may differ from topic to topic of a client: acks,
 *  message.timeout.ms, partitioner, compression.codec, auto.offset.reset and so
 *  on. Most programs set them with rd_kafka_conf_set() for all topics and need
 *  nothing of this section.
 * ========================================================================== */

/** Creates a topic configuration with every property at its default. */
RD_EXPORT rd_kafka_topic_conf_t *rd_kafka_topic_conf_new(void);

/** Copies a topic configuration with its callbacks and opaque. */
RD_EXPORT rd_kafka_topic_conf_t *rd_kafka_topic_conf_dup(const rd_kafka_topic_conf_t *conf);

/** Returns a copy of the default topic configuration that a client runs with. */
RD_EXPORT rd_kafka_topic_conf_t *rd_kafka_default_topic_conf_dup(rd_kafka_t *rk);

/** Frees a topic configuration that was not given away. NULL is allowed. */
RD_EXPORT void rd_kafka_topic_conf_destroy(rd_kafka_topic_conf_t *topic_conf);

/** Sets a topic-level property; otherwise as rd_kafka_conf_set(). */
RD_EXPORT rd_kafka_conf_res_t rd_kafka_topic_conf_set(rd_kafka_topic_conf_t *conf,
                                                      const char *name,
                                                      const char *value,
                                                      char *errstr,
                                                      size_t errstr_size);

/** Reads a topic-level property; otherwise as rd_kafka_conf_get(). */
RD_EXPORT rd_kafka_conf_res_t rd_kafka_topic_conf_get(const rd_kafka_topic_conf_t *conf,
                                                      const char *name,
                                                      char *dest,
                                                      size_t *dest_size);

/**
 * A pointer that partitioners get as `rkt_opaque` and that rd_kafka_topic_opaque()
 * returns.
 */
RD_EXPORT void rd_kafka_topic_conf_set_opaque(rd_kafka_topic_conf_t *conf, void *rkt_opaque);

/**
 * Chooses the partition of messages that were produced without one, in place
 * of the property `partitioner`.
 *
 *   rkt            topic
 *   keydata        key, or NULL
 *   keylen         its length in bytes
 *   partition_cnt  number of partitions of the topic, at least 1
 *   rkt_opaque     see rd_kafka_topic_conf_set_opaque()
 *   msg_opaque     the message's opaque
 *
 * The callback returns a partition from 0 to partition_cnt - 1, or RD_KAFKA_PARTITION_UA
 * if none can be chosen, which fails the message with RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION.
 *
 * It is called for messages without a key, too. (librdkafka chooses for these itself unless
 * `sticky.partitioning.linger.ms` is 0.)
 *
 * Called from the producing thread, or from a thread of the library for
 * messages that waited for the number of partitions. It must be thread-safe, must not
 * block and may call nothing of the library but rd_kafka_topic_partition_available()
 * and the partitioners of section 17.
 */
RD_EXPORT void rd_kafka_topic_conf_set_partitioner_cb(rd_kafka_topic_conf_t *topic_conf,
                                                      int32_t (*partitioner)(
                                                          const rd_kafka_topic_t *rkt,
                                                          const void *keydata,
                                                          size_t keylen,
                                                          int32_t partition_cnt,
                                                          void *rkt_opaque,
                                                          void *msg_opaque));

/**
 * Orders the messages that wait to be sent to a partition by something else than
 * the order of produce. The comparison returns less than, equal to or more than
 * zero as `a` goes before, with or after `b`.
 *
 * Experimental and deprecated in librdkafka. This library encodes messages into their batch as
 * they are produced and sends batches in that order, so it has no place for another: with a
 * comparison, as with `queuing.strategy=lifo`, rd_kafka_new() and rd_kafka_topic_new() fail
 * rather than keep an order that was not asked for. NULL takes the comparison back.
 */
RD_EXPORT void rd_kafka_topic_conf_set_msg_order_cmp(
    rd_kafka_topic_conf_t *topic_conf,
    int (*msg_order_cmp)(const rd_kafka_message_t *a, const rd_kafka_message_t *b));


/* ==========================================================================
 *  10. THE CLIENT HANDLE
 * ========================================================================== */

/**
 * Creates a client and starts its thread. It connects to brokers when it needs them;
 * that none can be reached shows later, in the error callback.
 *
 * All signals are blocked on the library's threads.
 *
 * @param type  RD_KAFKA_PRODUCER or RD_KAFKA_CONSUMER.
 * @param conf  Configuration, or NULL for the defaults. After success it belongs to the
 *              library; after failure it still belongs to the caller.
 *
 * @return The client; end it with rd_kafka_destroy(). NULL on failure, with a text in
 *         `errstr` and, from rd_kafka_last_error():
 *         - RD_KAFKA_RESP_ERR__INVALID_ARG: properties contradict each other;
 *         - RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE: they ask for something that this library
 *           cannot do;
 *         - RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE: the system refused a thread or a socket.
 */
RD_EXPORT rd_kafka_t *
rd_kafka_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *errstr, size_t errstr_size);

/**
 * Ends a client: rd_kafka_destroy_flags() without flags.
 *
 * Everything else that came from the client (topics, queues, messages, events)
 * should have been destroyed before.
 */
RD_EXPORT void rd_kafka_destroy(rd_kafka_t *rk);

/**
 * Ends a client and waits until its threads are gone.
 *
 * A producer does not wait for its messages: call rd_kafka_flush() first if
 * they matter. A consumer that has a group and was not closed is closed
 * first (rd_kafka_consumer_close()), which may take as long as the group's
 * coordinator takes to answer.
 *
 * @param flags  0, or RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE.
 *
 * Must not be called from a callback. May call: the rebalance and offset commit
 * callbacks, while a consumer is closed.
 */
RD_EXPORT void rd_kafka_destroy_flags(rd_kafka_t *rk, int flags);

/** rd_kafka_destroy_flags(): do not leave the group, do not commit; just stop. */
#define RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE 0x8

/**
 * Returns the client's name, unique in the process, for example "rdkafka#producer-1". Lives as long
 * as it.
 */
RD_EXPORT const char *rd_kafka_name(const rd_kafka_t *rk);

/** Returns the client's type: producer or consumer. */
RD_EXPORT rd_kafka_type_t rd_kafka_type(const rd_kafka_t *rk);

/** Returns the pointer that rd_kafka_conf_set_opaque() was called with. */
RD_EXPORT void *rd_kafka_opaque(const rd_kafka_t *rk);

/**
 * Serves the client's main queue: calls the callbacks of everything that
 * happened. A program must call it regularly, producers above all: delivery
 * reports hold on to memory and count as part of `queue.buffering.max.messages` until
 * they are served.
 *
 * @param timeout_ms  How long to wait for the first event: 0 not at all, -1 without limit.
 *
 * @return The number of events served.
 *
 * A consumer that called rd_kafka_poll_set_consumer() uses
 * rd_kafka_consumer_poll() instead. May call: all callbacks that say so.
 */
RD_EXPORT int rd_kafka_poll(rd_kafka_t *rk, int timeout_ms);

/**
 * From inside a callback: makes the function that called the callback (rd_kafka_poll()
 * or its like) return after this callback instead of serving further events.
 */
RD_EXPORT void rd_kafka_yield(rd_kafka_t *rk);

/**
 * Adds brokers to those that the client starts from, for programs that learn
 * addresses after the client was created.
 *
 * @param brokerlist  "host[:port],..." with the default port 9092; IPv6 addresses
 *                    as "[::1]:9092". "PLAINTEXT://" and its like may precede an address
 *                    if they agree with `security.protocol`.
 *
 * @return The number of addresses that were added; those that are there
 *         already count too. 0 if there is none that can be used.
 *
 * Deprecated: set `bootstrap.servers`.
 */
RD_EXPORT int rd_kafka_brokers_add(rd_kafka_t *rk, const char *brokerlist);

/**
 * Sets the client's token for SASL/OAUTHBEARER (KIP-255): for new connections, and when a session
 * is renewed (KIP-368). The client requests the next one when 80 % of its remaining life have
 * passed. Thread-safe; all texts are copied.
 *
 * @param token_value        The token: printable ASCII, tab, CR and LF.
 * @param md_lifetime_ms     The end of its life, in milliseconds since 1970-01-01 UTC.
 * @param md_principal_name  The Kafka principal that it is for. Used in the log only.
 * @param extensions         Names and values of SASL extensions in turn (KIP-342), or NULL. A name
 *                           consists of ASCII letters and is not "auth"; a value of the characters
 *                           of a token.
 * @param extension_size     The number of names and values together: an even number.
 * @param errstr             Receives the reason; NULL is allowed.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR;
 *         RD_KAFKA_RESP_ERR__STATE: OAUTHBEARER is not the client's mechanism;
 *         RD_KAFKA_RESP_ERR__INVALID_ARG: NULL, a life that is over, an odd number of extensions, or
 *         characters that are not allowed. The token before stays in use.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_oauthbearer_set_token(rd_kafka_t *rk,
                                                             const char *token_value,
                                                             int64_t md_lifetime_ms,
                                                             const char *md_principal_name,
                                                             const char **extensions,
                                                             size_t extension_size,
                                                             char *errstr,
                                                             size_t errstr_size);

/**
 * Reports that no token could be obtained. The token before stays in use until its life is over,
 * and the client requests another one after 10 s. The first failure with a text raises
 * RD_KAFKA_RESP_ERR__AUTHENTICATION, to the error callback or as an event. Thread-safe.
 *
 * @param errstr  The reason.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR;
 *         RD_KAFKA_RESP_ERR__STATE: OAUTHBEARER is not the client's mechanism;
 *         RD_KAFKA_RESP_ERR__INVALID_ARG: `errstr` is NULL or empty.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_oauthbearer_set_token_failure(rd_kafka_t *rk,
                                                                     const char *errstr);

/**
 * Calls the token refresh callback of SASL/OAUTHBEARER on a thread of the library, so that the
 * application need not poll: forwards the SASL queue to the background queue
 * (rd_kafka_queue_get_background()). With rd_kafka_conf_set_background_event_cb() that callback
 * receives the requests as RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH. Thread-safe.
 *
 * @return NULL, or an error that the caller ends with rd_kafka_error_destroy():
 *         RD_KAFKA_RESP_ERR__NOT_CONFIGURED: rd_kafka_queue_get_sasl() is NULL;
 *         RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE: there is no thread to be had.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_sasl_background_callbacks_enable(rd_kafka_t *rk);

/**
 * Replaces user name and password of SASL PLAIN and SCRAM (`sasl.username`, `sasl.password`): for
 * new connections, and when a session is renewed (KIP-368). Connections that are up stay up, and
 * those that wait after a refusal are opened at once. With another mechanism it has no effect, and
 * a warning is logged. Thread-safe; both texts are copied.
 *
 * @return NULL, or an error that the caller ends with rd_kafka_error_destroy():
 *         RD_KAFKA_RESP_ERR__INVALID_ARG: a text is NULL, empty or not UTF-8.
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_sasl_set_credentials(rd_kafka_t *rk, const char *username, const char *password);


/* ==========================================================================
 *  11. TOPIC HANDLES
 *
 *  A topic handle is a local object: making one creates nothing on a broker.
 *  It is needed for rd_kafka_produce(), for the simple consumer, and for a topic
 *  with its own properties.
 * ========================================================================== */

/**
 * Returns a handle for a topic.
 *
 * Further calls for the same topic of the same client return the same handle;
 * each returned handle is destroyed once. A producer fetches the topic's metadata,
 * so that its partitions are soon known.
 *
 * @param topic  Name: 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-' are
 *               what brokers accept. A name that they refuse fails where it is used, a message
 *               with RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION in its delivery report.
 * @param conf   Properties of the topic, or NULL for the client's default. It belongs to
 *               the library afterwards, whatever the outcome. Ignored if the client
 *               has a handle for this topic already: the first configuration stays.
 *
 * @return The handle, or NULL; then rd_kafka_last_error() is
 *         RD_KAFKA_RESP_ERR__INVALID_ARG: no request can carry the name (it is empty or longer
 *         than 32,767 bytes), or the configuration is not valid; or
 *         RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE: it asks for what this library cannot do.
 */
RD_EXPORT rd_kafka_topic_t *
rd_kafka_topic_new(rd_kafka_t *rk, const char *topic, rd_kafka_topic_conf_t *conf);

/** Gives a topic handle back. Messages on their way are not touched. */
RD_EXPORT void rd_kafka_topic_destroy(rd_kafka_topic_t *rkt);

/** Returns the topic's name. Lives as long as the handle. */
RD_EXPORT const char *rd_kafka_topic_name(const rd_kafka_topic_t *rkt);

/** Returns the pointer that rd_kafka_topic_conf_set_opaque() was called with. */
RD_EXPORT void *rd_kafka_topic_opaque(const rd_kafka_topic_t *rkt);


/* ==========================================================================
 *  12. TOPIC PARTITION LISTS AND OFFSETS
 * ========================================================================== */

/** A partition that is not assigned: let the partitioner choose, or "any partition". */
#define RD_KAFKA_PARTITION_UA ((int32_t)-1)

/** Logical offset: the first message that the partition still has. */
#define RD_KAFKA_OFFSET_BEGINNING -2
/** Logical offset: the next message that will be written. */
#define RD_KAFKA_OFFSET_END -1
/** Logical offset: the group's committed offset, or `auto.offset.reset` if there is none. */
#define RD_KAFKA_OFFSET_STORED -1000
/** No offset: in assignments the same as RD_KAFKA_OFFSET_STORED. */
#define RD_KAFKA_OFFSET_INVALID -1001
/** Base of the offsets that count from the end; see RD_KAFKA_OFFSET_TAIL(). */
#define RD_KAFKA_OFFSET_TAIL_BASE -2000
/** Logical offset: CNT messages before the end, or the beginning if there are not as many. */
#define RD_KAFKA_OFFSET_TAIL(CNT) (RD_KAFKA_OFFSET_TAIL_BASE - (CNT))

/** One partition of a topic, with the fields that functions read or set. */
struct rd_kafka_topic_partition_s {
        char *topic;             /**< Topic name. */
        int32_t partition;       /**< Partition, or RD_KAFKA_PARTITION_UA. */
        /** Offset, absolute or logical. RD_KAFKA_OFFSET_INVALID at first. */
        int64_t offset;
        void *metadata;          /**< Text that goes with a committed offset. The element owns it;
                                  *   allocate it with malloc() or rd_kafka_mem_malloc(). */
        size_t metadata_size;    /**< Its length in bytes. */
        void *opaque;            /**< For the application; the library copies it along. */
        rd_kafka_resp_err_t err; /**< Outcome for this partition, where a function gives one. */
        /** The library's; set it to NULL in elements that you make yourself. */
        void *_private;
};

/**
 * A growing array of partitions. Read elems[0] to elems[cnt - 1]; change its
 * length with the functions below only. Adding may move the elements.
 */
struct rd_kafka_topic_partition_list_s {
        int cnt;                           /**< Number of elements. */
        int size;                          /**< Number of elements that there is room for. */
        rd_kafka_topic_partition_t *elems; /**< The elements. */
};

/**
 * Creates an empty list.
 *
 * @param size  Room to reserve, in elements. The list grows by itself beyond it.
 */
RD_EXPORT rd_kafka_topic_partition_list_t *rd_kafka_topic_partition_list_new(int size);

/** Frees a list with its elements. NULL is allowed. */
RD_EXPORT void
rd_kafka_topic_partition_list_destroy(rd_kafka_topic_partition_list_t *rkparlist);

/**
 * Frees a single partition that a function returned on its own, such as
 * rd_kafka_event_topic_partition(). Not for elements of a list.
 */
RD_EXPORT void rd_kafka_topic_partition_destroy(rd_kafka_topic_partition_t *rktpar);

/**
 * Appends a partition. The list may hold the same one more than once.
 *
 * @return The new element, valid until the list changes. Its offset is
 *         RD_KAFKA_OFFSET_INVALID.
 */
RD_EXPORT rd_kafka_topic_partition_t *rd_kafka_topic_partition_list_add(
    rd_kafka_topic_partition_list_t *rktparlist, const char *topic, int32_t partition);

/** Appends the partitions `start` to `stop`, both included, of a topic. */
RD_EXPORT void
rd_kafka_topic_partition_list_add_range(rd_kafka_topic_partition_list_t *rktparlist,
                                        const char *topic,
                                        int32_t start,
                                        int32_t stop);

/**
 * Removes the first element with this topic and partition; the others keep their order.
 *
 * @return 1 if there was one, else 0.
 */
RD_EXPORT int rd_kafka_topic_partition_list_del(rd_kafka_topic_partition_list_t *rktparlist,
                                                const char *topic,
                                                int32_t partition);

/**
 * Removes the element elems[idx]; the others keep their order.
 *
 * @return 1, or 0 if there is no such element.
 */
RD_EXPORT int
rd_kafka_topic_partition_list_del_by_idx(rd_kafka_topic_partition_list_t *rktparlist, int idx);

/** Copies a list with topics, offsets, metadata, opaques and errors of its elements. */
RD_EXPORT rd_kafka_topic_partition_list_t *
rd_kafka_topic_partition_list_copy(const rd_kafka_topic_partition_list_t *src);

/**
 * Sets the offset of the first element with this topic and partition.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION if
 *         there is no such element.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_topic_partition_list_set_offset(rd_kafka_topic_partition_list_t *rktparlist,
                                         const char *topic,
                                         int32_t partition,
                                         int64_t offset);

/**
 * Returns the first element with this topic and partition.
 *
 * @return The element, valid until the list changes, or NULL.
 */
RD_EXPORT rd_kafka_topic_partition_t *
rd_kafka_topic_partition_list_find(const rd_kafka_topic_partition_list_t *rktparlist,
                                   const char *topic,
                                   int32_t partition);

/**
 * Sorts a list.
 *
 * @param cmp         Compares two elements (const rd_kafka_topic_partition_t *) in the way
 *                    of qsort(3), with `cmp_opaque` as third argument. NULL sorts by topic
 *                    name and then partition.
 * @param cmp_opaque  Passed on to `cmp`.
 */
RD_EXPORT void rd_kafka_topic_partition_list_sort(
    rd_kafka_topic_partition_list_t *rktparlist,
    int (*cmp)(const void *a, const void *b, void *cmp_opaque),
    void *cmp_opaque);

/**
 * Notes the leader epoch of the record that precedes the element's offset, so that a
 * consumer starting there can notice a truncated log (KIP-320). -1: not known.
 */
RD_EXPORT void
rd_kafka_topic_partition_set_leader_epoch(rd_kafka_topic_partition_t *rktpar, int32_t leader_epoch);

/** Returns the leader epoch that goes with the element's offset, or -1. */
RD_EXPORT int32_t
rd_kafka_topic_partition_get_leader_epoch(const rd_kafka_topic_partition_t *rktpar);


/* ==========================================================================
 *  13. MESSAGES
 * ========================================================================== */

/**
 * A message that was consumed, or a produced one in its delivery report.
 *
 * In a consumer, `err` other than RD_KAFKA_RESP_ERR_NO_ERROR makes it an error or
 * a piece of news about the partition: look at rd_kafka_message_errstr(), not at the
 * payload.
 */
struct rd_kafka_message_s {
        rd_kafka_resp_err_t err; /**< Outcome; zero for a message proper. */
        rd_kafka_topic_t *rkt;   /**< Topic, or NULL for errors that are not about one. */
        int32_t partition;       /**< Partition. */
        void *payload;           /**< Value, or NULL if it has none ("tombstone"). */
        size_t len;              /**< Length of the value in bytes. */
        void *key;               /**< Key, or NULL if it has none. */
        size_t key_len;          /**< Length of the key in bytes. */
        int64_t offset;          /**< Offset. Consumer: of the message or, for an error, where it
                                  *   happened. Delivery report: where the message is, or
                                  *   RD_KAFKA_OFFSET_INVALID. */
        void *_private;          /**< Consumer: the library's. Producer: the message's opaque. */
};

/** State of a produced message in the partition's log. */
typedef enum {
        /** It was never sent, or the broker refused it: it is not there. */
        RD_KAFKA_MSG_STATUS_NOT_PERSISTED = 0,
        /** It was sent and no answer came (or acks is 0): it may be there. */
        RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED = 1,
        /** The broker acknowledged it: it is there. */
        RD_KAFKA_MSG_STATUS_PERSISTED = 2
} rd_kafka_msg_status_t;

/** Frees a message that a consumer function returned. */
RD_EXPORT void rd_kafka_message_destroy(rd_kafka_message_t *rkmessage);

/**
 * Returns the text for the error of a consumed message: what the library knows of it or, failing
 * that, rd_kafka_err2str(). NULL if `err` is RD_KAFKA_RESP_ERR_NO_ERROR. For a message of a
 * delivery report or of rd_kafka_produce_batch() it is rd_kafka_err2str() of `err`.
 *
 * @return Valid as long as the message.
 */
RD_EXPORT const char *rd_kafka_message_errstr(const rd_kafka_message_t *rkmessage);

/**
 * Returns the error of a message in its delivery report in words: the broker's own if it sent any
 * (KIP-467), else what the library knows of it.
 *
 * @return Valid as long as the message. NULL if there is no error. (librdkafka gives NULL also
 *         where the broker sent no text: a program that runs on both falls back on
 *         rd_kafka_err2str().)
 */
RD_EXPORT const char *rd_kafka_message_produce_errstr(const rd_kafka_message_t *rkmessage);

/**
 * Returns the message's timestamp (KIP-32). In a delivery report it is the one that the message was
 * produced with, or the broker's where the topic has `message.timestamp.type=LogAppendTime`.
 *
 * @param tstype  Receives the kind of timestamp; may be NULL.
 *
 * @return Milliseconds since 1970-01-01 00:00 UTC, or -1 if the message has none.
 */
RD_EXPORT int64_t rd_kafka_message_timestamp(const rd_kafka_message_t *rkmessage,
                                             rd_kafka_timestamp_type_t *tstype);

/**
 * In a delivery report: the time from the produce call to the broker's
 * answer (or the failure).
 *
 * @return Microseconds, or -1 if it is not known (consumed messages).
 */
RD_EXPORT int64_t rd_kafka_message_latency(const rd_kafka_message_t *rkmessage);

/** Returns the broker that the message came from or was acknowledged by, or -1 if not known. */
RD_EXPORT int32_t rd_kafka_message_broker_id(const rd_kafka_message_t *rkmessage);

/** In a delivery report: whether the message is in the log. Consumed messages are. */
RD_EXPORT rd_kafka_msg_status_t rd_kafka_message_status(const rd_kafka_message_t *rkmessage);

/**
 * Returns the leader epoch under which a consumed message was written (KIP-320), or -1 if the
 * broker or the message format is too old for it.
 */
RD_EXPORT int32_t rd_kafka_message_leader_epoch(const rd_kafka_message_t *rkmessage);


/* ==========================================================================
 *  14. MESSAGE HEADERS
 *
 *  An ordered list of names and values (KIP-82). Names may come more than once;
 *  values are bytes, or null. Broker 0.11 or later.
 * ========================================================================== */

/** Creates an empty list with room for `initial_count` headers; it grows as needed. */
RD_EXPORT rd_kafka_headers_t *rd_kafka_headers_new(size_t initial_count);

/** Frees a list that was not given to a message. */
RD_EXPORT void rd_kafka_headers_destroy(rd_kafka_headers_t *hdrs);

/** Copies a list. */
RD_EXPORT rd_kafka_headers_t *rd_kafka_headers_copy(const rd_kafka_headers_t *src);

/**
 * Appends a header. Name and value are copied.
 *
 * @param name        Name, UTF-8.
 * @param name_size   Its length in bytes, or -1: it is zero-terminated.
 * @param value       Value, or NULL for a null value.
 * @param value_size  Its length in bytes, or -1: it is zero-terminated text.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__READ_ONLY: the list belongs to
 *         a message that is already with the library.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_header_add(rd_kafka_headers_t *hdrs,
                                                  const char *name,
                                                  ssize_t name_size,
                                                  const void *value,
                                                  ssize_t value_size);

/**
 * Removes all headers of this name.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__NOENT: there was none;
 *         RD_KAFKA_RESP_ERR__READ_ONLY as for rd_kafka_header_add().
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_header_remove(rd_kafka_headers_t *hdrs, const char *name);

/**
 * Returns the value of the last header of this name.
 *
 * @param valuep  Receives the value, or NULL for a null value. It belongs to the list. The
 *                library puts a zero behind every value, so that text can be used as it is.
 * @param sizep   Receives its length in bytes.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR or RD_KAFKA_RESP_ERR__NOENT.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_header_get_last(const rd_kafka_headers_t *hdrs,
                                                       const char *name,
                                                       const void **valuep,
                                                       size_t *sizep);

/**
 * Returns the value of the (idx + 1)-th header of this name; `idx` counts from 0 among the headers
 * of the name. Otherwise as rd_kafka_header_get_last().
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_header_get(const rd_kafka_headers_t *hdrs,
                                                  size_t idx,
                                                  const char *name,
                                                  const void **valuep,
                                                  size_t *sizep);

/**
 * Reads name and value of the header at index `idx`, counting from 0, for walking through the list:
 * go on until RD_KAFKA_RESP_ERR__NOENT. Otherwise as rd_kafka_header_get_last().
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_header_get_all(const rd_kafka_headers_t *hdrs,
                                                      size_t idx,
                                                      const char **namep,
                                                      const void **valuep,
                                                      size_t *sizep);

/** Returns the number of headers in a list. */
RD_EXPORT size_t rd_kafka_header_cnt(const rd_kafka_headers_t *hdrs);

/**
 * Returns the headers of a message.
 *
 * @param hdrsp  Receives the list. It belongs to the message and lives as long as it.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__NOENT: the message has none;
 *         another code: they could not be decoded.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_message_headers(const rd_kafka_message_t *rkmessage,
                                                       rd_kafka_headers_t **hdrsp);

/**
 * Returns the headers of a message in a list that belongs to the caller. A consumed message makes
 * another list when it is asked again; a delivery report has none afterwards. Otherwise as
 * rd_kafka_message_headers().
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_message_detach_headers(rd_kafka_message_t *rkmessage,
                                                              rd_kafka_headers_t **hdrsp);

/** Gives `hdrs` to a message in place of its former headers, which are freed. NULL: no headers. */
RD_EXPORT void rd_kafka_message_set_headers(rd_kafka_message_t *rkmessage,
                                            rd_kafka_headers_t *hdrs);


/* ==========================================================================
 *  15. PRODUCING
 *
 *  Producing is asynchronous: a call puts the message into the client's queue,
 *  the client's thread sends it in a batch with others of its partition, and its
 *  outcome comes as a delivery report (rd_kafka_conf_set_dr_msg_cb(), or
 *  RD_KAFKA_EVENT_DR) out of rd_kafka_poll(). Only a message that was accepted gets a
 *  report, and it gets exactly one.
 *
 *  Retries, their backoff and the order of messages are the library's business. An
 *  `enable.idempotence` of true rules out duplicates and changes of order within a
 *  partition (KIP-98).
 *
 *  An idempotent producer recovers from every error of sequence numbers: where records
 *  failed, or a broker has lost acknowledged records, the partition begins
 *  a new epoch by itself (KIP-360) and the other partitions continue. A message that may or
 *  may not be in the log is reported with the broker's error, as
 *  RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED, and not sent again. (In librdkafka this error
 *  is fatal for the producer.) The only fatal errors are: no permission to use idempotence
 *  (RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED), brokers that do not have it, and,
 *  with `enable.gapless.guarantee`, any gap that no timeout or purge has made. A batch
 *  that was sent and times out fails as a whole, with its oldest message.
 * ========================================================================== */

/**
 * Flag: the library frees `payload` with free() after the last use, which may be at once:
 * the delivery report then shows a copy. Not with F_COPY.
 */
#define RD_KAFKA_MSG_F_FREE 0x1
/** Flag: the library copies `payload`; the caller may use its memory again at once. */
#define RD_KAFKA_MSG_F_COPY 0x2
/**
 * Flag: wait while the queue is full instead of failing with RD_KAFKA_RESP_ERR__QUEUE_FULL.
 * Another thread must serve delivery reports meanwhile, or the wait has no end (but for the room
 * of messages whose reports the calling thread has just handled, if it calls from a callback).
 */
#define RD_KAFKA_MSG_F_BLOCK 0x4
/** Flag of rd_kafka_produce_batch(): each message's own `partition` is used. */
#define RD_KAFKA_MSG_F_PARTITION 0x8

/**
 * Produces one message to a topic handle.
 *
 * @param rkt         Topic.
 * @param partition   Partition, or RD_KAFKA_PARTITION_UA: the partitioner chooses.
 * @param msgflags    RD_KAFKA_MSG_F_FREE, F_COPY or neither, with or without F_BLOCK. With
 *                    neither of the first two `payload` must stay as it is until the
 *                    delivery report.
 * @param payload     Value; may be NULL.
 * @param len         Its length in bytes.
 * @param key         Key; may be NULL. Always copied.
 * @param keylen      Its length in bytes.
 * @param msg_opaque  For the delivery report (`_private`).
 *
 * @return 0, or -1 and from rd_kafka_last_error():
 *         - RD_KAFKA_RESP_ERR__QUEUE_FULL: `queue.buffering.max.messages` or
 *           `queue.buffering.max.kbytes` is reached. Call rd_kafka_poll() and try again.
 *         - RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE: key, value and headers, and 36 bytes for what
 *           is around them, are more than `message.max.bytes`.
 *         - RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION: the topic has no such partition.
 *         - RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC: the cluster has no such topic.
 *         - RD_KAFKA_RESP_ERR__FATAL: an idempotent producer has met a fatal error, see
 *           rd_kafka_fatal_error().
 *         - RD_KAFKA_RESP_ERR__STATE: not in a transaction, in a transactional producer.
 *         - RD_KAFKA_RESP_ERR__INVALID_ARG: F_FREE together with F_COPY, or not a producer.
 *         After a failure `payload` is the caller's also with F_FREE. `errno` is set, too:
 *         ENOBUFS, EMSGSIZE, ESRCH, ENOENT, ECANCELED, ENOEXEC, EINVAL in this order. After a
 *         success rd_kafka_last_error() is RD_KAFKA_RESP_ERR_NO_ERROR.
 *
 * Partitions are checked as soon as the topic's metadata is there, for which
 * rd_kafka_topic_new() asks. What is produced before that gets its error as a delivery report.
 */
RD_EXPORT int rd_kafka_produce(rd_kafka_topic_t *rkt,
                               int32_t partition,
                               int msgflags,
                               void *payload,
                               size_t len,
                               const void *key,
                               size_t keylen,
                               void *msg_opaque);

/** The meaning of an argument of rd_kafka_producev() or rd_kafka_produceva(). */
typedef enum rd_kafka_vtype_t {
        RD_KAFKA_VTYPE_END,       /**< End of the arguments. */
        RD_KAFKA_VTYPE_TOPIC,     /**< (const char *) topic name. */
        RD_KAFKA_VTYPE_RKT,       /**< (rd_kafka_topic_t *) topic handle. */
        RD_KAFKA_VTYPE_PARTITION, /**< (int32_t) partition. */
        RD_KAFKA_VTYPE_VALUE,     /**< (void *, size_t) value. */
        RD_KAFKA_VTYPE_KEY,       /**< (void *, size_t) key. */
        RD_KAFKA_VTYPE_OPAQUE,    /**< (void *) for the delivery report. */
        RD_KAFKA_VTYPE_MSGFLAGS,  /**< (int) RD_KAFKA_MSG_F_ flags. */
        RD_KAFKA_VTYPE_TIMESTAMP, /**< (int64_t) milliseconds since 1970-01-01 UTC; 0: now. */
        RD_KAFKA_VTYPE_HEADER,    /**< (const char *, const void *, ssize_t) one header. */
        RD_KAFKA_VTYPE_HEADERS    /**< (rd_kafka_headers_t *) all headers. */
} rd_kafka_vtype_t;

/** One argument of rd_kafka_produceva(): its kind, and the member of `u` that goes with it. */
typedef struct rd_kafka_vu_s {
        rd_kafka_vtype_t vtype; /**< What it is. */
        union {
                const char *cstr;      /**< TOPIC. */
                rd_kafka_topic_t *rkt; /**< RKT. */
                int i;                 /**< MSGFLAGS. */
                int32_t i32;           /**< PARTITION. */
                int64_t i64;           /**< TIMESTAMP. */
                struct {
                        void *ptr;
                        size_t size;
                } mem; /**< VALUE, KEY. */
                struct {
                        const char *name;
                        const void *val;
                        ssize_t size;
                } header;                    /**< HEADER; a size of -1: zero-terminated text. */
                rd_kafka_headers_t *headers; /**< HEADERS. */
                void *ptr;                   /**< OPAQUE. */
                char _pad[64];               /**< Room for later kinds. */
        } u;                                 /**< The value. */
} rd_kafka_vu_t;

/* Arguments of rd_kafka_producev(). In C the compiler checks their types. */

/** The last argument of every rd_kafka_producev(). */
#define RD_KAFKA_V_END RD_KAFKA_VTYPE_END

/** Topic by name. This or RD_KAFKA_V_RKT() must be there; the last of them counts. */
#define RD_KAFKA_V_TOPIC(topic)                                                                    \
        _LRK_TYPECHECK(RD_KAFKA_VTYPE_TOPIC, const char *, topic), (const char *)topic

/** Topic by handle; needed for a topic with its own properties. */
#define RD_KAFKA_V_RKT(rkt)                                                                        \
        _LRK_TYPECHECK(RD_KAFKA_VTYPE_RKT, rd_kafka_topic_t *, rkt), (rd_kafka_topic_t *)rkt

/** Partition. Without it, the partitioner chooses. */
#define RD_KAFKA_V_PARTITION(partition)                                                            \
        _LRK_TYPECHECK(RD_KAFKA_VTYPE_PARTITION, int32_t, partition), (int32_t)partition

/** Value and its length. Without it, or with NULL, the message has no value. */
#define RD_KAFKA_V_VALUE(VALUE, LEN)                                                               \
        _LRK_TYPECHECK2(RD_KAFKA_VTYPE_VALUE, void *, VALUE, size_t, LEN), (void *)VALUE,          \
            (size_t)LEN

/** Key and its length. */
#define RD_KAFKA_V_KEY(KEY, LEN)                                                                   \
        _LRK_TYPECHECK2(RD_KAFKA_VTYPE_KEY, const void *, KEY, size_t, LEN), (void *)KEY,          \
            (size_t)LEN

/** The message's opaque, `_private` in its delivery report. */
#define RD_KAFKA_V_OPAQUE(msg_opaque)                                                              \
        _LRK_TYPECHECK(RD_KAFKA_VTYPE_OPAQUE, void *, msg_opaque), (void *)msg_opaque

/** RD_KAFKA_MSG_F_COPY, RD_KAFKA_MSG_F_FREE, RD_KAFKA_MSG_F_BLOCK. */
#define RD_KAFKA_V_MSGFLAGS(msgflags)                                                              \
        _LRK_TYPECHECK(RD_KAFKA_VTYPE_MSGFLAGS, int, msgflags), (int)msgflags

/** Timestamp in milliseconds since 1970-01-01 00:00 UTC. Without it, or with 0: now. */
#define RD_KAFKA_V_TIMESTAMP(timestamp)                                                            \
        _LRK_TYPECHECK(RD_KAFKA_VTYPE_TIMESTAMP, int64_t, timestamp), (int64_t)timestamp

/**
 * One header: name, value and its length, or -1 for zero-terminated text. May be given several
 * times, but not together with RD_KAFKA_V_HEADERS(). Copied.
 */
#define RD_KAFKA_V_HEADER(NAME, VALUE, LEN)                                                        \
        _LRK_TYPECHECK3(RD_KAFKA_VTYPE_HEADER, const char *, NAME, const void *, VALUE, ssize_t,   \
                        LEN),                                                                      \
            (const char *)NAME, (const void *)VALUE, (ssize_t)LEN

/**
 * All headers at once. After success the list belongs to the library, after failure to the
 * caller.
 */
#define RD_KAFKA_V_HEADERS(HDRS)                                                                   \
        _LRK_TYPECHECK(RD_KAFKA_VTYPE_HEADERS, rd_kafka_headers_t *, HDRS),                        \
            (rd_kafka_headers_t *)HDRS

/**
 * Produces one message that is described by RD_KAFKA_V_ arguments in any order:
 *
 *     err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("orders"),
 *                             RD_KAFKA_V_KEY(id, id_len), RD_KAFKA_V_VALUE(doc, doc_len),
 *                             RD_KAFKA_V_HEADER("type", "created", -1),
 *                             RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or as rd_kafka_last_error() after rd_kafka_produce(), and
 *         - RD_KAFKA_RESP_ERR__INVALID_ARG: no topic, or an argument that is not known;
 *         - RD_KAFKA_RESP_ERR__CONFLICT: single headers together with a list of headers.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_producev(rd_kafka_t *rk, ...);

/**
 * rd_kafka_producev() with its arguments in an array, for bindings.
 *
 * @param vus  Arguments. RD_KAFKA_VTYPE_END is not needed; what follows one is not looked at.
 * @param cnt  Their number.
 *
 * @return NULL on success, else an error that the caller owns. Its text says which argument
 *         was wrong. After a fatal error it is that error's code and is fatal, where
 *         rd_kafka_producev() returns RD_KAFKA_RESP_ERR__FATAL.
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_produceva(rd_kafka_t *rk, const rd_kafka_vu_t *vus, size_t cnt);

/**
 * Produces several messages to a topic. For each of them are read: payload, len, key, key_len,
 * _private (its opaque) and, with RD_KAFKA_MSG_F_PARTITION, partition.
 *
 * @param partition    Partition of all of them, or RD_KAFKA_PARTITION_UA.
 * @param msgflags     As for rd_kafka_produce(), and RD_KAFKA_MSG_F_PARTITION.
 * @param rkmessages   The messages. `err` of each receives its outcome.
 * @param message_cnt  Their number.
 *
 * @return The number of messages that were accepted. For the others see `err` and
 *         rd_kafka_produce(); they get no delivery report, and with F_FREE their payloads stay
 *         the caller's. After a message that met RD_KAFKA_RESP_ERR__QUEUE_FULL the rest of the
 *         array fails with it too, so that none overtakes another.
 */
RD_EXPORT int rd_kafka_produce_batch(rd_kafka_topic_t *rkt,
                                     int32_t partition,
                                     int msgflags,
                                     rd_kafka_message_t *rkmessages,
                                     int message_cnt);

/**
 * Waits until every message that was produced so far has been delivered or has failed, and its
 * delivery report was served. Batches are sent without waiting for `linger.ms`.
 *
 * If RD_KAFKA_EVENT_DR is enabled and there is no delivery report callback, delivery reports are
 * events, and this function calls nothing: take and destroy them on another thread meanwhile,
 * it waits until the last event with messages was destroyed.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__TIMED_OUT: not all are through yet;
 *         RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED: not a producer.
 *
 * May call: the callbacks of rd_kafka_poll().
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_flush(rd_kafka_t *rk, int timeout_ms);

/** rd_kafka_purge(): messages that were not sent yet. They fail with ERR__PURGE_QUEUE. */
#define RD_KAFKA_PURGE_F_QUEUE 0x1
/**
 * rd_kafka_purge(): messages that were sent and not answered. They fail with
 * ERR__PURGE_INFLIGHT and may be in the log all the same.
 */
#define RD_KAFKA_PURGE_F_INFLIGHT 0x2
/** rd_kafka_purge(): do not wait until the client's thread has done it. */
#define RD_KAFKA_PURGE_F_NON_BLOCKING 0x4

/**
 * Fails messages that are not delivered yet, for example to end a program without waiting for an
 * unreachable broker.
 * Every one of them gets its delivery report, so serve rd_kafka_poll() or rd_kafka_flush()
 * afterwards.
 *
 * Purging messages in flight from a transactional producer makes its transaction fail; it must
 * then be aborted.
 *
 * @param purge_flags  Sum of RD_KAFKA_PURGE_F_ flags.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__INVALID_ARG: a flag that does not exist;
 *         RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED: not a producer.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_purge(rd_kafka_t *rk, int purge_flags);

/**
 * Returns the length of the client's outgoing side: messages that wait to be sent or answered, and
 * events that wait to be served by rd_kafka_poll(). A producer that wants to end without loss waits
 * for 0, which is what rd_kafka_flush() does.
 */
RD_EXPORT int rd_kafka_outq_len(rd_kafka_t *rk);


/* ==========================================================================
 *  16. TRANSACTIONS
 *
 *  A producer with the property `transactional.id` writes in transactions (KIP-98): the messages of
 *  one, to whichever topics and partitions, and the consumed offsets that were added to it, are
 *  committed together or not at all. Consumers with `isolation.level=read_committed` (the default)
 *  read committed messages only.
 *
 *      rd_kafka_init_transactions(rk, -1);
 *      for (;;) {
 *              rd_kafka_begin_transaction(rk);
 *              rd_kafka_producev(rk, ...);                            // any number of times
 *              rd_kafka_send_offsets_to_transaction(rk, offsets, group, -1);
 *              rd_kafka_commit_transaction(rk, -1);
 *      }
 *
 *  The id names the producer across restarts and machines. Of two producers with the same id only
 *  the one that called rd_kafka_init_transactions() last can continue; the other is fenced: its
 *  next call fails with the fatal RD_KAFKA_RESP_ERR__FENCED. A coordinator aborts a transaction
 *  that is open for longer than `transaction.timeout.ms`.
 *
 *  Each of these functions returns NULL on success, else an error that the caller owns
 *  (rd_kafka_error_destroy()) and that implies the next step. Check in this order:
 *
 *  - rd_kafka_error_is_fatal(): this producer cannot continue. Destroy it; a new one with the same
 *    id aborts the transaction that it left open.
 *  - rd_kafka_error_txn_requires_abort(): the transaction can no longer be committed, since a
 *    message was not delivered or an offset not taken. Call rd_kafka_abort_transaction(), then
 *    begin again. rd_kafka_producev() fails with RD_KAFKA_RESP_ERR__STATE until then.
 *  - rd_kafka_error_is_retriable(): call the same function again. After
 *    RD_KAFKA_RESP_ERR__TIMED_OUT the operation continues, and the repeated call waits for its end
 *    or returns its result (rd_kafka_send_offsets_to_transaction() starts again). Until then the
 *    others fail with RD_KAFKA_RESP_ERR__CONFLICT, and the same function in another thread with
 *    RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS; both are retriable.
 *  - none of them: the call was wrong. RD_KAFKA_RESP_ERR__STATE: not in this state;
 *    RD_KAFKA_RESP_ERR__NOT_CONFIGURED: no `transactional.id`; RD_KAFKA_RESP_ERR__INVALID_ARG: an
 *    argument, or not a producer.
 *
 *  docs/ERRORS.md lists the kind of each broker error. The functions may be called from any
 *  thread, one at a time.
 * ========================================================================== */

/**
 * Acquires the producer's id and epoch from the coordinator of its `transactional.id`, fences older
 * producers with that id, and waits until the transactions that they left open have ended. Call it
 * once, before any other function of this section.
 *
 * @param timeout_ms  -1 waits for twice `transaction.timeout.ms`.
 *
 * @return NULL on success; see above.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_init_transactions(rd_kafka_t *rk, int timeout_ms);

/**
 * Begins a transaction: messages may be produced now. Does not wait for brokers; the transaction
 * begins there with its first message or offset.
 *
 * @return NULL on success; see above.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_begin_transaction(rd_kafka_t *rk);

/**
 * Adds consumed offsets to the transaction: the group's committed offsets change if and only if
 * the transaction is committed. To be called before the commit, once or more often. The consumer
 * must not commit by itself (`enable.auto.commit=false`).
 *
 * @param offsets     Offsets at which the group continues: the offset of the last processed message
 *                    plus one. Elements with a negative (logical) offset are left out; without any
 *                    other nothing is done. Stays the caller's.
 * @param cgmetadata  rd_kafka_consumer_group_metadata() of the consumer. When the group has given
 *                    the partitions to another member since, the error requires an abort (KIP-447).
 *                    Stays the caller's.
 * @param timeout_ms  -1 waits for `transaction.timeout.ms`.
 *
 * @return NULL on success; see above.
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_send_offsets_to_transaction(rd_kafka_t *rk,
                                     const rd_kafka_topic_partition_list_t *offsets,
                                     const rd_kafka_consumer_group_metadata_t *cgmetadata,
                                     int timeout_ms);

/**
 * Waits until every message of the transaction was written, whatever `linger.ms` says, then commits
 * it. If a message cannot be delivered the commit fails, and the transaction must be aborted.
 *
 * Delivery reports are served meanwhile as by rd_kafka_flush(), unless the application takes them
 * as events (RD_KAFKA_EVENT_DR).
 *
 * @param timeout_ms  -1 waits for `transaction.timeout.ms`, which is the best choice: what takes
 *                    longer the coordinator aborts anyway.
 *
 * @return NULL: it is committed; else see above.
 *
 * May call: the callbacks of rd_kafka_poll().
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_commit_transaction(rd_kafka_t *rk, int timeout_ms);

/**
 * Aborts the transaction. Messages that were not sent fail with RD_KAFKA_RESP_ERR__PURGE_QUEUE
 * (KIP-654), those in flight are waited for. Afterwards another transaction may be begun, also
 * after an error that required the abort (KIP-360).
 *
 * Delivery reports are served meanwhile as by rd_kafka_commit_transaction().
 *
 * @param timeout_ms  -1 waits for `transaction.timeout.ms`.
 *
 * @return NULL: it is aborted; else see above.
 *
 * May call: the callbacks of rd_kafka_poll().
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_abort_transaction(rd_kafka_t *rk, int timeout_ms);


/* ==========================================================================
 *  17. PARTITIONERS
 *
 *  The ones that the property `partitioner` names, for use inside a partitioner
 *  callback. `msg_opaque` and `rkt_opaque` are not looked at. Each returns a partition from 0 to
 *  partition_cnt - 1. They may be called from any thread.
 * ========================================================================== */

/**
 * Returns whether a partition has a leader, so that a message for it can be sent at once.
 * For partitioner callbacks only.
 *
 * @return 1 if it has, else 0.
 */
RD_EXPORT int rd_kafka_topic_partition_available(const rd_kafka_topic_t *rkt, int32_t partition);

/** "random": any partition, those with a leader first. */
RD_EXPORT int32_t rd_kafka_msg_partitioner_random(const rd_kafka_topic_t *rkt,
                                                  const void *key,
                                                  size_t keylen,
                                                  int32_t partition_cnt,
                                                  void *rkt_opaque,
                                                  void *msg_opaque);

/** "consistent": CRC-32 of the key; an empty or missing key always gives the same partition. */
RD_EXPORT int32_t rd_kafka_msg_partitioner_consistent(const rd_kafka_topic_t *rkt,
                                                      const void *key,
                                                      size_t keylen,
                                                      int32_t partition_cnt,
                                                      void *rkt_opaque,
                                                      void *msg_opaque);

/** "consistent_random", the default: CRC-32 of the key, random for an empty or missing one. */
RD_EXPORT int32_t rd_kafka_msg_partitioner_consistent_random(const rd_kafka_topic_t *rkt,
                                                             const void *key,
                                                             size_t keylen,
                                                             int32_t partition_cnt,
                                                             void *rkt_opaque,
                                                             void *msg_opaque);

/** "murmur2": the hash of Kafka's Java producer; a missing key always gives the same partition. */
RD_EXPORT int32_t rd_kafka_msg_partitioner_murmur2(const rd_kafka_topic_t *rkt,
                                                   const void *key,
                                                   size_t keylen,
                                                   int32_t partition_cnt,
                                                   void *rkt_opaque,
                                                   void *msg_opaque);

/** "murmur2_random": as the Java producer does; random for a missing key. */
RD_EXPORT int32_t rd_kafka_msg_partitioner_murmur2_random(const rd_kafka_topic_t *rkt,
                                                          const void *key,
                                                          size_t keylen,
                                                          int32_t partition_cnt,
                                                          void *rkt_opaque,
                                                          void *msg_opaque);

/** "fnv1a": FNV-1a of the key, as Sarama does; a missing key always gives the same partition. */
RD_EXPORT int32_t rd_kafka_msg_partitioner_fnv1a(const rd_kafka_topic_t *rkt,
                                                 const void *key,
                                                 size_t keylen,
                                                 int32_t partition_cnt,
                                                 void *rkt_opaque,
                                                 void *msg_opaque);

/** "fnv1a_random": FNV-1a of the key, random for a missing one. */
RD_EXPORT int32_t rd_kafka_msg_partitioner_fnv1a_random(const rd_kafka_topic_t *rkt,
                                                        const void *key,
                                                        size_t keylen,
                                                        int32_t partition_cnt,
                                                        void *rkt_opaque,
                                                        void *msg_opaque);


/* ==========================================================================
 *  18. CONSUMING: SUBSCRIBE, ASSIGN, POLL
 *
 *  A consumer either subscribes to topics, and its group (`group.id`) distributes the
 *  partitions among the members, or assigns partitions to itself. rd_kafka_consumer_poll() returns
 *  the messages of all its partitions.
 *
 *  The application must poll at least every `max.poll.interval.ms`, or the group revokes
 *  its partitions (KIP-62).
 * ========================================================================== */

/**
 * Redirects the client's main queue to its consumer queue, so that one function,
 * rd_kafka_consumer_poll(), serves callbacks as well as messages. Call it once, after
 * rd_kafka_new(). rd_kafka_poll() is not to be used afterwards.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__UNKNOWN_GROUP: not a consumer that
 *         has a `group.id`.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_poll_set_consumer(rd_kafka_t *rk);

/**
 * Subscribes to topics. The former subscription is replaced. The partitions come later, while
 * polling, when the group has settled.
 *
 * A name that starts with '^' is a regular expression, matched against all topics of the
 * cluster, topics to come included. Topics that do not exist are waited for, and reported once as
 * RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART.
 *
 * With `group.protocol=consumer` (KIP-848) the group's coordinator does the matching: the
 * expression is in RE2's form and has to fit the whole name ("^logs.*", not "^logs"); one that it
 * cannot parse is reported as RD_KAFKA_RESP_ERR_INVALID_REGULAR_EXPRESSION while polling, and topics
 * that do not exist are waited for without an error.
 *
 * @param topics  Topics; the elements' partitions and offsets are not looked at. Copied.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__INVALID_ARG: an empty list, an empty
 *         name or a bad expression; RD_KAFKA_RESP_ERR__UNKNOWN_GROUP: no `group.id`;
 *         RD_KAFKA_RESP_ERR__FATAL: see rd_kafka_fatal_error().
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_subscribe(rd_kafka_t *rk,
                                                 const rd_kafka_topic_partition_list_t *topics);

/** Ends the subscription and revokes the group's partitions. */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_unsubscribe(rd_kafka_t *rk);

/**
 * Returns the present subscription, as it was given.
 *
 * @param topics  Receives a list that the caller frees; an empty one if there is no subscription.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_subscription(rd_kafka_t *rk,
                                                    rd_kafka_topic_partition_list_t **topics);

/**
 * Takes the next message.
 *
 * @return The message, to be freed with rd_kafka_message_destroy(), or NULL if none came in time
 *         or a callback called rd_kafka_yield(). Look at `err` first: besides messages proper
 *         there are
 *         - RD_KAFKA_RESP_ERR__PARTITION_EOF: the end of the partition was reached
 *           (only with `enable.partition.eof`);
 *         - RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED: the previous poll was too long ago;
 *         - errors of a topic or partition, or of the consumer as a whole (`rkt` NULL).
 *         After an error just poll again, unless it is fatal.
 *
 * Events that belong to no place in a partition (rebalances, commit results, errors of the client,
 * statistics, throttling, logs) are served before all fetched messages, however many wait. An
 * application that takes long for each message takes part in its group's rebalance at its next
 * call. The same holds for every call that serves a queue.
 *
 * May call: rebalance, offset commit, consume, error, statistics, throttle and log callbacks.
 */
RD_EXPORT rd_kafka_message_t *rd_kafka_consumer_poll(rd_kafka_t *rk, int timeout_ms);

/**
 * Closes the consumer: revokes its partitions (with the rebalance callback), commits the stored
 * offsets if `enable.auto.commit` is true, leaves the group (unless it is a static member,
 * KIP-345). Afterwards no messages are delivered, and the only remaining call is
 * rd_kafka_destroy().
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR when the consumer is closed, even if the group coordinator has not
 *         answered; the offset commit callback has the error of the commit.
 *         RD_KAFKA_RESP_ERR__UNKNOWN_GROUP: not a consumer with a `group.id`.
 *         RD_KAFKA_RESP_ERR__DESTROY: it is closed already.
 *
 * Waits for the group coordinator for 10 seconds at most. May call: rebalance and
 * offset commit callbacks, and the others of rd_kafka_consumer_poll(). Where the consumer queue is
 * forwarded to the background queue, all of them, and the event of the revocation, arrive there as
 * before (librdkafka unassigns the partitions itself, without a callback).
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_consumer_close(rd_kafka_t *rk);

/**
 * Starts closing the consumer and returns at once. The events of the closing, rebalances above
 * all, go to `rkqu`, which must be served until rd_kafka_consumer_closed() returns 1; the end of the
 * closing ends a poll of it without an event. Messages that wait are dropped.
 *
 * @return NULL on success, else an error that the caller owns: RD_KAFKA_RESP_ERR__UNKNOWN_GROUP:
 *         not a consumer with a `group.id`; RD_KAFKA_RESP_ERR__DESTROY: it is closed already.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_consumer_close_queue(rd_kafka_t *rk, rd_kafka_queue_t *rkqu);

/**
 * Returns 1 if the consumer is closed and the results of commits in its queue have been served, else 0
 * (librdkafka does not wait for these results).
 */
RD_EXPORT int rd_kafka_consumer_closed(rd_kafka_t *rk);

/**
 * Replaces the assignment: the consumer fetches exactly these partitions. Used without a
 * subscription to choose partitions oneself, and in a rebalance callback of the "EAGER" protocol.
 *
 * @param partitions  Partitions with the offsets to start from, absolute or logical;
 *                    RD_KAFKA_OFFSET_INVALID and RD_KAFKA_OFFSET_STORED mean the committed
 *                    offset or else `auto.offset.reset`. NULL or empty: fetch nothing. Copied.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__UNKNOWN_GROUP: not a consumer with a
 *         `group.id`, which is needed even where no group is joined;
 *         RD_KAFKA_RESP_ERR__INVALID_ARG: a partition twice, or not valid;
 *         RD_KAFKA_RESP_ERR__STATE: the rebalance protocol is "COOPERATIVE", where partitions are
 *         only added and removed (except while the consumer is being closed, when this empties
 *         the assignment whatever is in the list);
 *         RD_KAFKA_RESP_ERR__FATAL: see rd_kafka_fatal_error().
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_assign(rd_kafka_t *rk,
                                              const rd_kafka_topic_partition_list_t *partitions);

/**
 * Adds partitions to the assignment (KIP-429, "COOPERATIVE"). Otherwise as rd_kafka_assign().
 *
 * @return NULL on success, else an error that the caller owns: RD_KAFKA_RESP_ERR__CONFLICT: one
 *         is assigned already; RD_KAFKA_RESP_ERR__STATE: the rebalance protocol is "EAGER".
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_incremental_assign(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *partitions);

/**
 * Removes partitions from the assignment (KIP-429). Offsets in the list are not looked at.
 *
 * @return NULL on success, else an error that the caller owns: RD_KAFKA_RESP_ERR__INVALID_ARG:
 *         one is not assigned; RD_KAFKA_RESP_ERR__STATE: the rebalance protocol is "EAGER".
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_incremental_unassign(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *partitions);

/**
 * Returns the present assignment.
 *
 * @param partitions  Receives a list that the caller frees; empty if nothing is assigned.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_assignment(rd_kafka_t *rk,
                                                  rd_kafka_topic_partition_list_t **partitions);

/**
 * Returns, in a rebalance callback that revokes, 1 if the group has already assigned the partitions
 * to others (session timeout, member fenced), so that their offsets can no longer be committed.
 * Else 0.
 */
RD_EXPORT int rd_kafka_assignment_lost(rd_kafka_t *rk);

/**
 * Returns the group's rebalance protocol: "EAGER" (all are revoked before any is assigned),
 * "COOPERATIVE" (changes only), or "NONE" before the consumer has joined and after it has left.
 * NULL if the client has no group.
 *
 * @return Constant.
 */
RD_EXPORT const char *rd_kafka_rebalance_protocol(rd_kafka_t *rk);

/**
 * Returns the id that the group coordinator gave to this member.
 *
 * @return A string that the caller frees with rd_kafka_mem_free(), empty as long as there is no
 *         membership; NULL if the client has no group.
 */
RD_EXPORT char *rd_kafka_memberid(const rd_kafka_t *rk);

/**
 * Returns the consumer's present identity in its group: group id, generation, member id, instance
 * id. A producer needs it to commit the consumer's offsets within a transaction (KIP-447). It is a
 * snapshot: get another one for each transaction.
 *
 * A member that the group has removed has no id until it has joined again, and brokers accept
 * offsets without a member id, whichever member owns the partitions. So call
 * rd_kafka_assignment_lost() afterwards, and abort the transaction when it returns 1.
 *
 * @return To be freed with rd_kafka_consumer_group_metadata_destroy(). NULL if the client is not a
 *         consumer with a `group.id`.
 */
RD_EXPORT rd_kafka_consumer_group_metadata_t *rd_kafka_consumer_group_metadata(rd_kafka_t *rk);

/**
 * Creates group metadata with a group id only, generation -1 and an empty member id: the
 * coordinator then cannot check whether the consumer still owns its partitions.
 */
RD_EXPORT rd_kafka_consumer_group_metadata_t *
rd_kafka_consumer_group_metadata_new(const char *group_id);

/**
 * Creates group metadata from its parts.
 *
 * @param generation_id      Generation, or member epoch (KIP-848); -1 for none.
 * @param member_id          Member id, empty for none.
 * @param group_instance_id  Of a static member (KIP-345), else NULL.
 *
 * @return NULL if an id is NULL where that is not allowed, or not UTF-8.
 */
RD_EXPORT rd_kafka_consumer_group_metadata_t *
rd_kafka_consumer_group_metadata_new_with_genid(const char *group_id,
                                                int32_t generation_id,
                                                const char *member_id,
                                                const char *group_instance_id);

/** Returns the group id. Belongs to the metadata. */
RD_EXPORT const char *rd_kafka_consumer_group_metadata_group_id(
    const rd_kafka_consumer_group_metadata_t *group_metadata);

/** Returns the instance id, NULL if there is none. Belongs to the metadata. */
RD_EXPORT const char *rd_kafka_consumer_group_metadata_group_instance_id(
    const rd_kafka_consumer_group_metadata_t *group_metadata);

/** Returns the member id, empty if there is none. Belongs to the metadata. */
RD_EXPORT const char *rd_kafka_consumer_group_metadata_member_id(
    const rd_kafka_consumer_group_metadata_t *group_metadata);

/** Returns the generation, -1 if there is none. */
RD_EXPORT int32_t rd_kafka_consumer_group_metadata_generation_id(
    const rd_kafka_consumer_group_metadata_t *group_metadata);

/** Frees group metadata. NULL is fine. */
RD_EXPORT void rd_kafka_consumer_group_metadata_destroy(rd_kafka_consumer_group_metadata_t *);

/**
 * Serialises group metadata, for bindings that pass it on. Read it on the same kind of machine: the
 * generation is in the machine's byte order.
 *
 * @param bufferp  Receives the bytes, to be freed with rd_kafka_mem_free().
 * @param sizep    Receives their number.
 *
 * @return NULL on success, else an error that the caller owns.
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_consumer_group_metadata_write(const rd_kafka_consumer_group_metadata_t *cgmd,
                                       void **bufferp,
                                       size_t *sizep);

/**
 * Creates group metadata from the bytes of rd_kafka_consumer_group_metadata_write().
 *
 * @param cgmdp  Receives the metadata, to be freed with
 *               rd_kafka_consumer_group_metadata_destroy().
 *
 * @return NULL on success, else an error that the caller owns: RD_KAFKA_RESP_ERR__BAD_MSG: the
 *         bytes are no group metadata.
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_consumer_group_metadata_read(rd_kafka_consumer_group_metadata_t **cgmdp,
                                      const void *buffer,
                                      size_t size);

/**
 * Stops fetching and delivering messages of some partitions, in a consumer; or stops sending,
 * in a producer. What was fetched already is dropped and fetched again after the resume.
 * Positions stay. The consumer must still be polled. A paused producer takes messages as before;
 * they wait, and message.timeout.ms counts on.
 *
 * @param partitions  Partitions. `err` of each element receives its outcome:
 *                    RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION for one that is not consumed, or in a
 *                    producer for a topic without a handle or a number that it does not have.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; see also the elements.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_pause_partitions(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *partitions);

/** Resumes the partitions that rd_kafka_pause_partitions() paused. Same arguments and result. */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_resume_partitions(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *partitions);


/* ==========================================================================
 *  19. CONSUMING: POSITIONS, STORED AND COMMITTED OFFSETS
 *
 *  The position is the offset of the next message that the application will get. The stored
 *  offset is the one that the next commit takes, by default the position. The committed offset is
 *  kept by the group's coordinator; a consumer starts there after a restart.
 *
 *  All of them are offsets of the next message to be consumed: last offset + 1.
 * ========================================================================== */

/**
 * Reads the positions of partitions.
 *
 * @param partitions  Partitions; `offset` of each receives its position, or
 *                    RD_KAFKA_OFFSET_INVALID if no message was consumed since it was assigned;
 *                    `err` its outcome.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; see also the elements.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_position(rd_kafka_t *rk,
                                                rd_kafka_topic_partition_list_t *partitions);

/**
 * Moves the positions of assigned partitions. Messages that were fetched from the old positions
 * are not delivered any more.
 *
 * @param partitions  Partitions with their new offsets, absolute or logical. `err` of each
 *                    receives its outcome: RD_KAFKA_RESP_ERR__STATE: not assigned or started;
 *                    RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION: the topic has no such partition;
 *                    RD_KAFKA_RESP_ERR__INVALID_ARG: not an offset.
 * @param timeout_ms  Time to wait for the outcome, which needs no response of a broker. A logical
 *                    offset is resolved afterwards.
 *
 * @return NULL on success (see the elements for that of each partition), else an error that the
 *         caller owns: RD_KAFKA_RESP_ERR__INVALID_ARG: no partitions.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_seek_partitions(rd_kafka_t *rk,
                                                     rd_kafka_topic_partition_list_t *partitions,
                                                     int timeout_ms);

/**
 * Stores the offset after a message, so that the next commit takes it. For applications that set
 * `enable.auto.offset.store` to false and decide themselves when a message is done.
 *
 * @param rkmessage  A message proper of an assigned partition.
 *
 * @return NULL on success, else an error that the caller owns: RD_KAFKA_RESP_ERR__STATE: the
 *         partition is not assigned any more; RD_KAFKA_RESP_ERR__INVALID_ARG: the message is an
 *         error. With `enable.auto.offset.store` the next message undoes it.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_offset_store_message(rd_kafka_message_t *rkmessage);

/**
 * Stores offsets, as given: last consumed offset + 1. Otherwise as
 * rd_kafka_offset_store_message().
 *
 * @param offsets  Partitions with offsets; `err` of each receives its outcome. Metadata and
 *                 leader epoch are stored along.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR if at least one was stored, else the error of one of them:
 *         RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, RD_KAFKA_RESP_ERR__STATE;
 *         RD_KAFKA_RESP_ERR__INVALID_ARG: `enable.auto.offset.store` is true.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_offsets_store(rd_kafka_t *rk,
                                                     rd_kafka_topic_partition_list_t *offsets);

/**
 * Stores `offset` + 1 for a partition: here, unlike everywhere else, the argument is the offset
 * of the last message that was consumed. Works with `enable.auto.offset.store` as well, until
 * the next message.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__STATE: the partition is not assigned or
 *         started; RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION: it never was.
 *
 * Deprecated: use rd_kafka_offset_store_message() or rd_kafka_offsets_store().
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_offset_store(rd_kafka_topic_t *rkt, int32_t partition, int64_t offset);

/**
 * Commits offsets to the group.
 *
 * @param offsets  Partitions with offsets (last consumed + 1), with metadata if wanted; they are
 *                 committed as they are, also when that goes back. NULL: the stored offsets of the
 *                 whole assignment, as far as they are greater than what is committed.
 * @param async    0: wait for the outcome, and return it; 1: return at once, the outcome goes
 *                 to the offset commit callback or event. The callback, if there is one, is
 *                 called for both when the consumer is polled.
 *
 * A member of a group commits only what its generation has given it, and in that generation only:
 * it cannot undo what the next owner of a partition has committed. Commits keep their order.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__NO_OFFSET: nothing to commit;
 *         RD_KAFKA_RESP_ERR__UNKNOWN_GROUP: no `group.id`; RD_KAFKA_RESP_ERR__WAIT_COORD: no
 *         coordinator; RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST: a partition is not the member's any
 *         more; RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS: the member is in no generation now;
 *         or an error of the broker.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_commit(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *offsets, int async);

/** Commits the offset after a message; otherwise as rd_kafka_commit(). */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_commit_message(rd_kafka_t *rk, const rd_kafka_message_t *rkmessage, int async);

/**
 * Commits offsets; the outcome goes to a queue.
 *
 * @param offsets        As for rd_kafka_commit().
 * @param rkqu           Queue to be served by the application. NULL: wait for the outcome here,
 *                       with `cb` called before the return.
 * @param cb             Called with the outcome when the queue is served; `offsets` belongs to
 *                       the library and is valid during the call. NULL: an event
 *                       RD_KAFKA_EVENT_OFFSET_COMMIT; the configuration's callback, if there is
 *                       one, is called as well when the consumer is polled.
 * @param commit_opaque  For `cb`, or for rd_kafka_event_opaque().
 *
 * @return As rd_kafka_commit(), for errors that are found before the request is sent.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_commit_queue(rd_kafka_t *rk,
                      const rd_kafka_topic_partition_list_t *offsets,
                      rd_kafka_queue_t *rkqu,
                      void (*cb)(rd_kafka_t *rk,
                                 rd_kafka_resp_err_t err,
                                 rd_kafka_topic_partition_list_t *offsets,
                                 void *commit_opaque),
                      void *commit_opaque);

/**
 * Fetches committed offsets from the group's coordinator.
 *
 * @param partitions  Partitions; `offset` of each receives its committed offset, or
 *                    RD_KAFKA_OFFSET_INVALID if there is none; `metadata` its metadata; `err` its
 *                    outcome.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR (see the elements too); RD_KAFKA_RESP_ERR__UNKNOWN_GROUP: no
 *         `group.id`; RD_KAFKA_RESP_ERR__TIMED_OUT; RD_KAFKA_RESP_ERR__WAIT_COORD: no coordinator
 *         in time; or an error of the broker.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_committed(rd_kafka_t *rk,
                                                 rd_kafka_topic_partition_list_t *partitions,
                                                 int timeout_ms);


/* ==========================================================================
 *  20. CONSUMING ONE PARTITION AT A TIME: THE SIMPLE CONSUMER
 *
 *  The older interface: start a partition, consume from it, stop it. There is no group; the
 *  application keeps track of offsets. It cannot be mixed with section 18 in
 *  one client.
 * ========================================================================== */

/**
 * Starts fetching a partition into its own queue.
 *
 * @param partition  Partition, 0 or higher.
 * @param offset     Where to start: an absolute offset, RD_KAFKA_OFFSET_BEGINNING,
 *                   RD_KAFKA_OFFSET_END, RD_KAFKA_OFFSET_TAIL(), or RD_KAFKA_OFFSET_STORED
 *                   (needs a `group.id`). An offset that the partition does not have is treated
 *                   by `auto.offset.reset`.
 *
 * @return 0, or -1 and from rd_kafka_last_error() RD_KAFKA_RESP_ERR__INVALID_ARG: not a
 *         consumer, or an offset that is not valid; RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION: a
 *         partition below 0; RD_KAFKA_RESP_ERR__CONFLICT: the client is used with section 18.
 *         `errno` is EINVAL, ESRCH or EBUSY. That a partition does not exist in the cluster
 *         shows when consuming.
 */
RD_EXPORT int rd_kafka_consume_start(rd_kafka_topic_t *rkt, int32_t partition, int64_t offset);

/**
 * Starts fetching a partition; messages go to `rkqu`, so that several partitions can be consumed
 * together, with rd_kafka_consume_queue() and its like.
 */
RD_EXPORT int rd_kafka_consume_start_queue(rd_kafka_topic_t *rkt,
                                           int32_t partition,
                                           int64_t offset,
                                           rd_kafka_queue_t *rkqu);

/**
 * Stops fetching a partition and drops what was fetched. Waits until that is done, and with
 * offset.store.method=file until the stored offset is in its file (an error there is reported to
 * the error callback); afterwards it can be started again.
 *
 * @return 0, or -1 and from rd_kafka_last_error() RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION: it was
 *         not started, or RD_KAFKA_RESP_ERR__INVALID_ARG.
 */
RD_EXPORT int rd_kafka_consume_stop(rd_kafka_topic_t *rkt, int32_t partition);

/**
 * Moves a started (or assigned) partition to another offset.
 *
 * @param offset      Absolute or logical.
 * @param timeout_ms  As for rd_kafka_seek_partitions().
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION: the topic has no such
 *         partition; RD_KAFKA_RESP_ERR__STATE: not started; RD_KAFKA_RESP_ERR__INVALID_ARG: not a
 *         partition or not an offset.
 *
 * Deprecated: use rd_kafka_seek_partitions().
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_seek(rd_kafka_topic_t *rkt, int32_t partition, int64_t offset, int timeout_ms);

/**
 * Takes the next message of a started partition.
 *
 * @return The message, to be freed with rd_kafka_message_destroy(); look at its `err`. NULL: none
 *         came in time (rd_kafka_last_error() is RD_KAFKA_RESP_ERR__TIMED_OUT, `errno`
 *         ETIMEDOUT), or the partition was not started (RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
 *         ENOENT).
 *
 * Error and other callbacks are served by rd_kafka_poll(), which the application must call as
 * well.
 */
RD_EXPORT rd_kafka_message_t *
rd_kafka_consume(rd_kafka_topic_t *rkt, int32_t partition, int timeout_ms);

/**
 * Takes up to `rkmessages_size` messages at once, waiting until there are as many or the
 * timeout has expired.
 *
 * @param rkmessages  Receives the messages; free each with rd_kafka_message_destroy().
 *
 * @return Their number, 0 if none came; -1 as rd_kafka_consume().
 */
RD_EXPORT ssize_t rd_kafka_consume_batch(rd_kafka_topic_t *rkt,
                                         int32_t partition,
                                         int timeout_ms,
                                         rd_kafka_message_t **rkmessages,
                                         size_t rkmessages_size);

/**
 * Calls `consume_cb` for each message that is there. Waits for the first one only.
 *
 * @param consume_cb     Gets a message that belongs to the library and is valid during the call.
 *                       rd_kafka_yield() ends the run after it.
 * @param commit_opaque  Passed on to it.
 *
 * @return The number of messages; -1 as rd_kafka_consume().
 *
 * `consume.callback.max.messages` limits the run. Deprecated: use rd_kafka_consume_batch().
 */
RD_EXPORT int
rd_kafka_consume_callback(rd_kafka_topic_t *rkt,
                          int32_t partition,
                          int timeout_ms,
                          void (*consume_cb)(rd_kafka_message_t *rkmessage, void *commit_opaque),
                          void *commit_opaque);

/** rd_kafka_consume() from a queue. */
RD_EXPORT rd_kafka_message_t *rd_kafka_consume_queue(rd_kafka_queue_t *rkqu, int timeout_ms);

/**
 * rd_kafka_consume_batch() from a queue; also works on the consumer queue of section 18
 * (rd_kafka_queue_get_consumer()). May call: callbacks of events in the queue.
 */
RD_EXPORT ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *rkqu,
                                               int timeout_ms,
                                               rd_kafka_message_t **rkmessages,
                                               size_t rkmessages_size);

/** rd_kafka_consume_callback() from a queue. Deprecated: use rd_kafka_consume_batch_queue(). */
RD_EXPORT int
rd_kafka_consume_callback_queue(rd_kafka_queue_t *rkqu,
                                int timeout_ms,
                                void (*consume_cb)(rd_kafka_message_t *rkmessage,
                                                   void *commit_opaque),
                                void *commit_opaque);


/* ==========================================================================
 *  21. WATERMARKS AND OFFSETS BY TIME
 * ========================================================================== */

/**
 * Queries the partition's leader for its first offset and its high watermark, that is the offset
 * that the next message will get.
 *
 * @param low   Receives the first offset.
 * @param high  Receives the high watermark; with `isolation.level=read_committed` the last stable
 *              offset.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__TIMED_OUT or
 *         RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN: no answer in time;
 *         RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION or RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC; or an error
 *         of the broker.
 *
 * Consumers and producers.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_query_watermark_offsets(rd_kafka_t *rk,
                                                               const char *topic,
                                                               int32_t partition,
                                                               int64_t *low,
                                                               int64_t *high,
                                                               int timeout_ms);

/**
 * Returns the last known watermarks without a request. Each Fetch response carries them, so they
 * are as recent as the last fetch of the partition.
 *
 * @param low   Receives the first offset, or RD_KAFKA_OFFSET_INVALID if not known yet.
 * @param high  Receives the high watermark (or last stable offset), or
 *              RD_KAFKA_OFFSET_INVALID if not known yet.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION: the client cannot
 *         have such a partition.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_get_watermark_offsets(rd_kafka_t *rk,
                                                             const char *topic,
                                                             int32_t partition,
                                                             int64_t *low,
                                                             int64_t *high);

/**
 * Looks up offsets by time (KIP-79): for each partition the first message whose timestamp is the
 * given one or later.
 *
 * @param offsets  Partitions; `offset` of each says the time in milliseconds since 1970-01-01
 *                 UTC and receives the offset, or RD_KAFKA_OFFSET_END if there is no message
 *                 that late; `err` its outcome.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR (see the elements too); RD_KAFKA_RESP_ERR__TIMED_OUT;
 *         RD_KAFKA_RESP_ERR__INVALID_ARG: no partitions; RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
 *         none of them exists; RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE: none of them has a
 *         leader.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_offsets_for_times(rd_kafka_t *rk,
                                                         rd_kafka_topic_partition_list_t *offsets,
                                                         int timeout_ms);


/* ==========================================================================
 *  22. QUEUES
 *
 *  Everything that a client reports waits in a queue: messages, delivery reports, errors,
 *  statistics. The functions of the previous sections serve the standard queues, which is enough
 *  for most programs. Queues themselves are for programs that want events instead of callbacks,
 *  that wake up by a file descriptor, or that consume partitions on separate threads.
 *
 *  Each queue that a function here returns is released with rd_kafka_queue_destroy().
 * ========================================================================== */

/** Creates a queue that belongs to the application. */
RD_EXPORT rd_kafka_queue_t *rd_kafka_queue_new(rd_kafka_t *rk);

/**
 * Releases a queue. A queue that the application created is destroyed with its contents; do this
 * before rd_kafka_destroy().
 */
RD_EXPORT void rd_kafka_queue_destroy(rd_kafka_queue_t *rkqu);

/** Returns the client's main queue, which rd_kafka_poll() serves. */
RD_EXPORT rd_kafka_queue_t *rd_kafka_queue_get_main(rd_kafka_t *rk);

/**
 * Returns the consumer's queue, which rd_kafka_consumer_poll() serves. Polling it counts for
 * `max.poll.interval.ms`.
 *
 * @return NULL if the client is not a consumer with a `group.id`.
 */
RD_EXPORT rd_kafka_queue_t *rd_kafka_queue_get_consumer(rd_kafka_t *rk);

/**
 * Returns the queue of one partition. It is forwarded to the consumer's queue; take that away with
 * rd_kafka_queue_forward(queue, NULL) to consume the partition apart from the others. The
 * consumer's queue must still be polled, for rebalances. The partition need not be assigned yet: a
 * later assignment leaves its queue as the application has forwarded it.
 *
 * @return NULL if the client is not a consumer, or there cannot be such a partition.
 */
RD_EXPORT rd_kafka_queue_t *
rd_kafka_queue_get_partition(rd_kafka_t *rk, const char *topic, int32_t partition);

/**
 * Returns the SASL queue: requests for tokens of SASL/OAUTHBEARER, which rd_kafka_queue_poll()
 * returns as RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH and rd_kafka_queue_poll_callback() passes to
 * the token refresh callback.
 *
 * @return A new reference, to be ended with rd_kafka_queue_destroy(). NULL unless
 *         rd_kafka_conf_enable_sasl_queue() was called and OAUTHBEARER is the client's mechanism.
 */
RD_EXPORT rd_kafka_queue_t *rd_kafka_queue_get_sasl(rd_kafka_t *rk);

/**
 * Returns the background queue: what is forwarded to it goes to the callback of
 * rd_kafka_conf_set_background_event_cb(), on a thread of the library; without that callback to
 * those that rd_kafka_poll() would call. The thread is started when it is first asked for.
 *
 * @return NULL if there is no thread to be had.
 */
RD_EXPORT rd_kafka_queue_t *rd_kafka_queue_get_background(rd_kafka_t *rk);

/**
 * Forwards a queue: what is in `src`, and what comes, is served from `dst`. NULL ends the
 * forwarding.
 */
RD_EXPORT void rd_kafka_queue_forward(rd_kafka_queue_t *src, rd_kafka_queue_t *dst);

/** Returns the number of entries that wait in a queue (in the one it is forwarded to, if so). */
RD_EXPORT size_t rd_kafka_queue_length(rd_kafka_queue_t *rkqu);

/**
 * Writes to a file descriptor when the queue stops being empty, so that a loop around poll(2)
 * or epoll(7) can wait for Kafka together with other things. When it fires, serve the queue
 * until it is empty.
 *
 * @param fd       Non-blocking pipe, socket or eventfd; -1 ends it. End it before closing a pipe's
 *                 reading end: a write to a pipe without a reader raises SIGPIPE, one to a socket
 *                 whose peer is gone does not.
 * @param payload  Bytes to write. Copied.
 * @param size     Their number; 8 for an eventfd.
 *
 * Excludes rd_kafka_queue_cb_event_enable() on the same queue.
 */
RD_EXPORT void rd_kafka_queue_io_event_enable(rd_kafka_queue_t *rkqu,
                                              int fd,
                                              const void *payload,
                                              size_t size);

/**
 * Calls a function when the queue stops being empty. NULL ends it.
 *
 * The call comes from a thread of the library: only wake another thread in it, call nothing of
 * the library.
 */
RD_EXPORT void rd_kafka_queue_cb_event_enable(rd_kafka_queue_t *rkqu,
                                              void (*event_cb)(rd_kafka_t *rk, void *qev_opaque),
                                              void *qev_opaque);

/**
 * Makes one waiting (or the next) poll of the queue return at once, from any thread, as if its
 * time were over.
 */
RD_EXPORT void rd_kafka_queue_yield(rd_kafka_queue_t *rkqu);

/**
 * Takes the next event from a queue.
 *
 * @return The event, to be freed with rd_kafka_event_destroy(), or NULL if none came in time.
 *
 * Throttling has no event type: its callback is called during the call. All else is returned,
 * also where a callback is set. The client reports only the kinds that have a callback or are
 * enabled (rd_kafka_conf_set_events()). Messages are RD_KAFKA_EVENT_FETCH events, one at a time.
 */
RD_EXPORT rd_kafka_event_t *rd_kafka_queue_poll(rd_kafka_queue_t *rkqu, int timeout_ms);

/**
 * Serves a queue by callbacks only, as rd_kafka_poll() does for the main queue.
 *
 * @return The number of events served.
 */
RD_EXPORT int rd_kafka_queue_poll_callback(rd_kafka_queue_t *rkqu, int timeout_ms);


/* ==========================================================================
 *  23. EVENTS
 *
 *  An event belongs to the thread that took it and ends with rd_kafka_event_destroy(). What its
 *  accessors return belongs to the event, unless said otherwise. An accessor that does not fit
 *  the event's type returns NULL, 0 or -1.
 * ========================================================================== */

/** Type of an event: one of the constants below. */
typedef int rd_kafka_event_type_t;

#define RD_KAFKA_EVENT_NONE 0x0             /**< No event; the type of NULL. */
#define RD_KAFKA_EVENT_DR 0x1               /**< Delivery reports of one or more messages. */
#define RD_KAFKA_EVENT_FETCH 0x2            /**< A consumed message. */
#define RD_KAFKA_EVENT_LOG 0x4              /**< A log line. */
/** An error of the client or, consuming, of a partition. */
#define RD_KAFKA_EVENT_ERROR 0x8
#define RD_KAFKA_EVENT_REBALANCE 0x10       /**< The group's assignment changes. */
#define RD_KAFKA_EVENT_OFFSET_COMMIT 0x20   /**< Outcome of a commit. */
#define RD_KAFKA_EVENT_STATS 0x40           /**< Statistics. */
#define RD_KAFKA_EVENT_CREATETOPICS_RESULT 100               /**< Admin result. */
#define RD_KAFKA_EVENT_DELETETOPICS_RESULT 101               /**< Admin result. */
#define RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT 102           /**< Admin result. */
#define RD_KAFKA_EVENT_ALTERCONFIGS_RESULT 103               /**< Admin result. */
#define RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT 104            /**< Admin result. */
#define RD_KAFKA_EVENT_DELETERECORDS_RESULT 105              /**< Admin result. */
#define RD_KAFKA_EVENT_DELETEGROUPS_RESULT 106               /**< Admin result. */
#define RD_KAFKA_EVENT_DELETECONSUMERGROUPOFFSETS_RESULT 107 /**< Admin result. */
/** A token of SASL/OAUTHBEARER is needed, see rd_kafka_oauthbearer_set_token(). */
#define RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH 0x100
#define RD_KAFKA_EVENT_BACKGROUND 0x200                      /**< For the background callback. */
#define RD_KAFKA_EVENT_CREATEACLS_RESULT 0x400               /**< Admin result. */
#define RD_KAFKA_EVENT_DESCRIBEACLS_RESULT 0x800             /**< Admin result. */
#define RD_KAFKA_EVENT_DELETEACLS_RESULT 0x1000              /**< Admin result. */
#define RD_KAFKA_EVENT_LISTCONSUMERGROUPS_RESULT 0x2000      /**< Admin result. */
#define RD_KAFKA_EVENT_DESCRIBECONSUMERGROUPS_RESULT 0x4000  /**< Admin result. */
#define RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT 0x8000      /**< Admin result. */
#define RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT 0x10000    /**< Admin result. */
#define RD_KAFKA_EVENT_INCREMENTALALTERCONFIGS_RESULT 0x20000      /**< Admin result. */
#define RD_KAFKA_EVENT_DESCRIBEUSERSCRAMCREDENTIALS_RESULT 0x40000 /**< Admin result. */
#define RD_KAFKA_EVENT_ALTERUSERSCRAMCREDENTIALS_RESULT 0x80000    /**< Admin result. */
#define RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT 0x100000              /**< Admin result. */
#define RD_KAFKA_EVENT_DESCRIBECLUSTER_RESULT 0x200000             /**< Admin result. */
#define RD_KAFKA_EVENT_LISTOFFSETS_RESULT 0x400000                 /**< Admin result. */
#define RD_KAFKA_EVENT_ELECTLEADERS_RESULT 0x800000                /**< Admin result. */

/** Returns the type of an event; RD_KAFKA_EVENT_NONE for NULL. */
RD_EXPORT rd_kafka_event_type_t rd_kafka_event_type(const rd_kafka_event_t *rkev);

/** Returns the name of an event's type, for logs: "DeliveryReport", "Fetch" and so on. Constant. */
RD_EXPORT const char *rd_kafka_event_name(const rd_kafka_event_t *rkev);

/** Frees an event and the messages in it. NULL is allowed. */
RD_EXPORT void rd_kafka_event_destroy(rd_kafka_event_t *rkev);

/**
 * RD_KAFKA_EVENT_DR, RD_KAFKA_EVENT_FETCH: the next message. Call it until NULL comes; a DR
 * event holds many, a FETCH event one. The message belongs to the event: do not destroy it.
 */
RD_EXPORT const rd_kafka_message_t *rd_kafka_event_message_next(rd_kafka_event_t *rkev);

/**
 * Returns several messages at once: copies up to `size` addresses into `rkmessages`.
 *
 * @return Their number; 0: there are no more.
 */
RD_EXPORT size_t rd_kafka_event_message_array(rd_kafka_event_t *rkev,
                                              const rd_kafka_message_t **rkmessages,
                                              size_t size);

/** Returns the number of messages in a DR or FETCH event that were not taken yet. */
RD_EXPORT size_t rd_kafka_event_message_count(rd_kafka_event_t *rkev);

/**
 * Returns the error of an event: of any type, RD_KAFKA_RESP_ERR_NO_ERROR if all is well. A fatal
 * error (rd_kafka_event_error_is_fatal()) has its own code here, where callbacks are given
 * RD_KAFKA_RESP_ERR__FATAL.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_event_error(rd_kafka_event_t *rkev);

/** Returns the text for that error; never NULL: "Success" if there is none. */
RD_EXPORT const char *rd_kafka_event_error_string(rd_kafka_event_t *rkev);

/** RD_KAFKA_EVENT_ERROR: 1 if the error is fatal (see rd_kafka_fatal_error()), else 0. */
RD_EXPORT int rd_kafka_event_error_is_fatal(rd_kafka_event_t *rkev);

/**
 * The opaque of the request whose result this is, for example that of rd_kafka_commit_queue();
 * else NULL. (Messages have their own, `_private`; the client's is rd_kafka_opaque().)
 */
RD_EXPORT void *rd_kafka_event_opaque(rd_kafka_event_t *rkev);

/**
 * RD_KAFKA_EVENT_LOG: the log line.
 *
 * @param fac    Receives the kind of line.
 * @param str    Receives the line.
 * @param level  Receives the syslog severity, 0 to 7.
 *
 * @return 0, or -1: not a log event.
 */
RD_EXPORT int
rd_kafka_event_log(rd_kafka_event_t *rkev, const char **fac, const char **str, int *level);

/**
 * RD_KAFKA_EVENT_LOG: the debug contexts of the line, with commas between them.
 *
 * @param dst      Receives the text, cut to `dstsize`.
 *
 * @return 0, or -1: not a log event.
 */
RD_EXPORT int rd_kafka_event_debug_contexts(rd_kafka_event_t *rkev, char *dst, size_t dstsize);

/** RD_KAFKA_EVENT_STATS: the statistics, a JSON object. Else NULL. */
RD_EXPORT const char *rd_kafka_event_stats(rd_kafka_event_t *rkev);

/**
 * RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH: the value of `sasl.oauthbearer.config`, NULL if it is not
 * set. Else NULL.
 */
RD_EXPORT const char *rd_kafka_event_config_string(rd_kafka_event_t *rkev);

/**
 * RD_KAFKA_EVENT_REBALANCE, RD_KAFKA_EVENT_OFFSET_COMMIT: the partitions. Else NULL. For a
 * rebalance rd_kafka_event_error() says what to do with them; see
 * rd_kafka_conf_set_rebalance_cb().
 */
RD_EXPORT rd_kafka_topic_partition_list_t *
rd_kafka_event_topic_partition_list(rd_kafka_event_t *rkev);

/**
 * RD_KAFKA_EVENT_ERROR: the partition that the error is about, or NULL if it is not about one.
 *
 * @return The caller frees it with rd_kafka_topic_partition_destroy().
 */
RD_EXPORT rd_kafka_topic_partition_t *rd_kafka_event_topic_partition(rd_kafka_event_t *rkev);


/* ==========================================================================
 *  24. METADATA AND CLUSTER INFORMATION
 * ========================================================================== */

/** A broker. */
typedef struct rd_kafka_metadata_broker {
        int32_t id; /**< Its id. */
        char *host; /**< The host name or address that it advertises. */
        int port;   /**< The port that it advertises. */
} rd_kafka_metadata_broker_t;

/** A partition. */
typedef struct rd_kafka_metadata_partition {
        int32_t id;              /**< Partition number. */
        rd_kafka_resp_err_t err; /**< Its error, for example that it has no leader. */
        int32_t leader;          /**< Its leader's broker id, or -1. */
        int replica_cnt;         /**< Number of replicas. */
        int32_t *replicas;       /**< Broker ids of the replicas. */
        int isr_cnt;             /**< Number of replicas in sync. */
        int32_t *isrs;           /**< Broker ids of the replicas in sync. */
} rd_kafka_metadata_partition_t;

/** A topic. */
typedef struct rd_kafka_metadata_topic {
        char *topic;                                    /**< Topic name. */
        int partition_cnt;                              /**< Number of partitions. */
        struct rd_kafka_metadata_partition *partitions; /**< The partitions. */
        /** Its error, for example that it is not there. */
        rd_kafka_resp_err_t err;
} rd_kafka_metadata_topic_t;

/** A broker's description of the cluster. */
typedef struct rd_kafka_metadata {
        int broker_cnt;                          /**< Number of brokers. */
        struct rd_kafka_metadata_broker *brokers; /**< The brokers. */
        int topic_cnt;                           /**< Number of topics. */
        struct rd_kafka_metadata_topic *topics;  /**< The topics. */
        int32_t orig_broker_id;                  /**< Id of the broker that answered. */
        char *orig_broker_name;                  /**< Its name. */
} rd_kafka_metadata_t;

/**
 * Requests metadata from a broker: the cluster's brokers, topics and partitions.
 *
 * @param all_topics  1: all topics; 0: those that the client uses.
 * @param only_rkt    This topic only (with all_topics 0), or NULL.
 * @param metadatap   Receives the answer; free it with rd_kafka_metadata_destroy().
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__TIMED_OUT;
 *         RD_KAFKA_RESP_ERR__TRANSPORT: no broker could be reached; or an error of the broker.
 *         A topic's own error is in the answer.
 *
 * Asking for a topic that does not exist may create it, where broker and
 * `allow.auto.create.topics` let it (producers do).
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_metadata(rd_kafka_t *rk,
                                                int all_topics,
                                                rd_kafka_topic_t *only_rkt,
                                                const struct rd_kafka_metadata **metadatap,
                                                int timeout_ms);

/** Frees what rd_kafka_metadata() returned. */
RD_EXPORT void rd_kafka_metadata_destroy(const struct rd_kafka_metadata *metadata);

/**
 * Returns the cluster's id (KIP-78), waiting for the first metadata if need be.
 *
 * @return A string that the caller frees with rd_kafka_mem_free(), or NULL if none came in time.
 */
RD_EXPORT char *rd_kafka_clusterid(rd_kafka_t *rk, int timeout_ms);

/**
 * Returns the broker id of the cluster's controller, waiting for the first metadata if need be.
 *
 * @return The id, or -1 if none came in time.
 */
RD_EXPORT int32_t rd_kafka_controllerid(rd_kafka_t *rk, int timeout_ms);

/**
 * Returns the ids of the brokers that the client knows from the cluster (bootstrap addresses
 * without an id are left out). Sends no request.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that the caller frees with rd_kafka_mem_free(), or NULL if there are none.
 */
RD_EXPORT int32_t *rd_kafka_brokers_learned_ids(rd_kafka_t *rk, size_t *cntp);


/* ==========================================================================
 *  25. GROUPS OF THE CLUSTER
 * ========================================================================== */

/** State of a group. */
typedef enum {
        RD_KAFKA_CONSUMER_GROUP_STATE_UNKNOWN = 0,              /**< Not known. */
        RD_KAFKA_CONSUMER_GROUP_STATE_PREPARING_REBALANCE = 1,  /**< Members are joining. */
        RD_KAFKA_CONSUMER_GROUP_STATE_COMPLETING_REBALANCE = 2, /**< Waiting for the assignment. */
        RD_KAFKA_CONSUMER_GROUP_STATE_STABLE = 3,               /**< Settled. */
        /** It has no members and will be forgotten. */
        RD_KAFKA_CONSUMER_GROUP_STATE_DEAD = 4,
        /** It has no members, but committed offsets. */
        RD_KAFKA_CONSUMER_GROUP_STATE_EMPTY = 5,
        RD_KAFKA_CONSUMER_GROUP_STATE__CNT = 6                  /**< Number of values. */
} rd_kafka_consumer_group_state_t;

/** Protocol of a group. */
typedef enum {
        RD_KAFKA_CONSUMER_GROUP_TYPE_UNKNOWN = 0,  /**< Not known. */
        /** The newer one, where the broker assigns (KIP-848). */
        RD_KAFKA_CONSUMER_GROUP_TYPE_CONSUMER = 1,
        RD_KAFKA_CONSUMER_GROUP_TYPE_CLASSIC = 2,  /**< The older one, where a member assigns. */
        RD_KAFKA_CONSUMER_GROUP_TYPE__CNT = 3      /**< Number of values. */
} rd_kafka_consumer_group_type_t;

/**
 * Returns the name of a group state, as brokers write it: "Stable", "Empty" and so on.
 *
 * @return Constant; NULL for other numbers.
 */
RD_EXPORT const char *rd_kafka_consumer_group_state_name(rd_kafka_consumer_group_state_t state);

/** Returns the group state of a name, in upper or lower case; 0 (UNKNOWN) for other names. */
RD_EXPORT rd_kafka_consumer_group_state_t rd_kafka_consumer_group_state_code(const char *name);

/**
 * Returns the name of a group type: "Unknown", "Consumer" or "Classic".
 *
 * @return Constant; NULL for other numbers.
 */
RD_EXPORT const char *rd_kafka_consumer_group_type_name(rd_kafka_consumer_group_type_t type);

/** Returns the group type of a name, in upper or lower case; 0 (UNKNOWN) for other names. */
RD_EXPORT rd_kafka_consumer_group_type_t rd_kafka_consumer_group_type_code(const char *name);

/** A member in the older listing of groups. */
struct rd_kafka_group_member_info {
        char *member_id;            /**< The id that the coordinator gave. */
        char *client_id;            /**< The member's `client.id`. */
        char *client_host;          /**< Where it connects from. */
        void *member_metadata;      /**< Its subscription, in the group protocol's own form. */
        int member_metadata_size;   /**< Length in bytes. */
        void *member_assignment;    /**< Its assignment, in the group protocol's own form. */
        int member_assignment_size; /**< Length in bytes. */
};

/** A group in the older listing of groups. */
struct rd_kafka_group_info {
        struct rd_kafka_metadata_broker broker;     /**< The broker that listed it. */
        char *group;                                /**< The group's id. */
        rd_kafka_resp_err_t err;                    /**< Its error. */
        char *state;                                /**< Its state, as the broker names it. */
        char *protocol_type;                        /**< "consumer" for consumers. */
        char *protocol;                             /**< Its assignor. */
        struct rd_kafka_group_member_info *members; /**< Its members. */
        int member_cnt;                             /**< Their number. */
};

/** The older listing of groups. */
struct rd_kafka_group_list {
        struct rd_kafka_group_info *groups; /**< The groups. */
        int group_cnt;                      /**< Their number. */
};

/**
 * Lists the groups that the brokers coordinate, and describes them. Consumers and
 * producers.
 *
 * @param group       Only this group; NULL: all. A group that does not exist is left out.
 * @param grplistp    Receives the list, to be freed with rd_kafka_group_list_destroy(). Left as it
 *                    is if there is none.
 * @param timeout_ms  How long to wait; at most `socket.timeout.ms` is waited.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__PARTIAL: not all brokers answered in
 *         time, and the list holds the groups of the others; RD_KAFKA_RESP_ERR__TIMED_OUT: not all
 *         answered in time, and the others have no group, or the brokers are not known; or an
 *         error of a broker.
 *
 * A group of the newer protocol (KIP-848) has no members here: brokers do not list them in
 * this form. An element's `err` is the reason when a group could not be described.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_list_groups(rd_kafka_t *rk,
                                                   const char *group,
                                                   const struct rd_kafka_group_list **grplistp,
                                                   int timeout_ms);

/** Frees a list of groups, with all that it points to. NULL is fine. */
RD_EXPORT void rd_kafka_group_list_destroy(const struct rd_kafka_group_list *grplist);


/* ==========================================================================
 *  26. LOGGING
 *
 *  Levels are syslog's: 0 emergency, 1 alert, 2 critical, 3 error, 4 warning, 5 notice,
 *  6 information, 7 debug. `log_level` is the least urgent one that is written; `debug` adds
 *  contexts, at level 7.
 * ========================================================================== */

/** Deprecated: the contexts of the property `debug`; use rd_kafka_get_debug_contexts(). */
#define RD_KAFKA_DEBUG_CONTEXTS                                                                    \
        "all,generic,broker,topic,metadata,feature,queue,msg,protocol,cgrp,security,fetch,"        \
        "interceptor,plugin,consumer,admin,eos,mock,assignor,conf"

/** Returns the contexts that the property `debug` knows, with commas between them. Constant. */
RD_EXPORT const char *rd_kafka_get_debug_contexts(void);

/**
 * Sends log lines to a queue, as events of type RD_KAFKA_EVENT_LOG. Needs `log.queue` set to
 * true; until this is called lines are kept in the client.
 *
 * @param rkqu  Queue, or NULL for the main queue.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__NOT_CONFIGURED: `log.queue` is not
 *          true.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_set_log_queue(rd_kafka_t *rk, rd_kafka_queue_t *rkqu);

/**
 * Sets the log callback of a client that is running; NULL switches logging off.
 * Deprecated: use rd_kafka_conf_set_log_cb().
 */
RD_EXPORT RD_DEPRECATED void
rd_kafka_set_logger(rd_kafka_t *rk,
                    void (*func)(const rd_kafka_t *rk, int level, const char *fac, const char *buf));

/**
 * Sets the least urgent level that is written, 0 to 7. A client with contexts in `debug` begins
 * with 7; below that they are silent. May be called at any time.
 * Deprecated: set `log_level`.
 */
RD_EXPORT void rd_kafka_set_log_level(rd_kafka_t *rk, int level);

/** Returns a log callback that writes lines to stderr; the default. */
RD_EXPORT void
rd_kafka_log_print(const rd_kafka_t *rk, int level, const char *fac, const char *buf);

/** Returns a log callback that hands lines to syslog(3). Call openlog() before. */
RD_EXPORT void
rd_kafka_log_syslog(const rd_kafka_t *rk, int level, const char *fac, const char *buf);


/* ==========================================================================
 *  27. TOPIC IDS (UUIDs)
 * ========================================================================== */

/** Creates an id from its two halves. Free it with rd_kafka_Uuid_destroy(). */
RD_EXPORT rd_kafka_Uuid_t *rd_kafka_Uuid_new(int64_t most_significant_bits,
                                             int64_t least_significant_bits);

/** Copies an id. */
RD_EXPORT rd_kafka_Uuid_t *rd_kafka_Uuid_copy(const rd_kafka_Uuid_t *uuid);

/** Frees an id. */
RD_EXPORT void rd_kafka_Uuid_destroy(rd_kafka_Uuid_t *uuid);

/**
 * Returns the id as Kafka writes it: 22 characters of URL-safe base64 without padding. Lives as
 * long as the id.
 */
RD_EXPORT const char *rd_kafka_Uuid_base64str(const rd_kafka_Uuid_t *uuid);

/** Returns the id's upper 64 bits. */
RD_EXPORT int64_t rd_kafka_Uuid_most_significant_bits(const rd_kafka_Uuid_t *uuid);

/** Returns the id's lower 64 bits. */
RD_EXPORT int64_t rd_kafka_Uuid_least_significant_bits(const rd_kafka_Uuid_t *uuid);


/* ==========================================================================
 *  28. MEMORY, DIAGNOSTICS, SHUTDOWN
 *
 *  Memory that changes hands comes from the C library's malloc(). Where program and library may
 *  have different C libraries, use these functions instead of malloc() and free().
 * ========================================================================== */

/**
 * malloc(3) as the library sees it.
 *
 * @param rk  Client; may be NULL.
 */
RD_EXPORT void *rd_kafka_mem_malloc(rd_kafka_t *rk, size_t size);

/** calloc(3) as the library sees it. `rk` may be NULL. */
RD_EXPORT void *rd_kafka_mem_calloc(rd_kafka_t *rk, size_t num, size_t size);

/** free(3) as the library sees it, for what functions say to free with it. `rk` may be NULL. */
RD_EXPORT void rd_kafka_mem_free(rd_kafka_t *rk, void *ptr);

/** Prints the state of a client, for debugging. The form may change. */
RD_EXPORT void rd_kafka_dump(FILE *fp, rd_kafka_t *rk);

/** Returns the number of threads that all clients of the process have at the moment. */
RD_EXPORT int rd_kafka_thread_cnt(void);

/**
 * Waits until all clients of the process are gone, their threads included. For programs that
 * check for leaks; rd_kafka_destroy() has waited already.
 *
 * @return 0, or -1 if the time was over first.
 */
RD_EXPORT int rd_kafka_wait_destroyed(int timeout_ms);

/**
 * Checks that the library computes right on this machine: checksums, hashes and integers against
 * known answers, every codec there and back, and records through an embedded cluster to a
 * consumer. Takes a second or so, opens local sockets, and says on stderr what is wrong.
 *
 * @return The number of checks that failed, 0 if all is well.
 */
RD_EXPORT int rd_kafka_unittest(void);


/* ==========================================================================
 *  29. INTERCEPTORS AND PLUGINS
 *
 *  An interceptor is a set of functions that see what a client does: messages on their way,
 *  commits, requests, connections, threads. It has a name, and a pointer (`ic_opaque`) that each of
 *  its functions gets. Monitoring and tracing are done so without a change to the application.
 *
 *  Functions are added in two steps: to the configuration, before a client is there, those that
 *  concern the configuration and on_new(); and in on_new(), to the new client, all others:
 *
 *      static rd_kafka_resp_err_t on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf,
 *                                        void *ic_opaque, char *errstr, size_t errstr_size) {
 *              return rd_kafka_interceptor_add_on_send(rk, "trace", on_send, ic_opaque);
 *      }
 *      ...
 *      rd_kafka_conf_interceptor_add_on_new(conf, "trace", on_new, my_state);
 *
 *  On each occasion the functions are called in the order in which they were added. An error that
 *  one returns is logged as a warning (facility ICFAIL) and changes nothing, except with
 *  on_conf_set().
 *
 *  The functions of a client are called on the thread that the occasion belongs to, which their
 *  types name. On the client's own thread ("main") nothing else is done meanwhile: return soon,
 *  wait for nothing that the client does, and call nothing of this library but what reads from the
 *  arguments (the functions of a message, a topic's name, rd_kafka_name()).
 *  A client without interceptors spends nothing on them.
 *
 *  A function that is already there under the same interceptor's name is refused with
 *  RD_KAFKA_RESP_ERR__CONFLICT.
 * ========================================================================== */

/** A thread of the library. */
typedef enum rd_kafka_thread_type_t {
        RD_KAFKA_THREAD_MAIN = 0,       /**< The one that runs the client, named "main". */
        RD_KAFKA_THREAD_BACKGROUND = 1, /**< The one that serves the background queue. */
        RD_KAFKA_THREAD_BROKER = 2      /**< Not used: one thread serves all brokers. */
} rd_kafka_thread_type_t;

/* -- Of a configuration -- */

/**
 * A property is being set with rd_kafka_conf_set(). Called before the library looks at it, so that
 * an interceptor can have its own properties. Runs on the application's thread.
 *
 * @param val     Value, or NULL.
 * @param errstr  Receives the reason for RD_KAFKA_CONF_INVALID; NULL while a configuration is
 *                copied.
 *
 * @return RD_KAFKA_CONF_OK: the property is the interceptor's, and is passed on to no other;
 *         RD_KAFKA_CONF_INVALID: it is, but the value is not valid; RD_KAFKA_CONF_UNKNOWN: it is
 *         not; the next interceptor and at last the library receive it.
 */
typedef rd_kafka_conf_res_t (rd_kafka_interceptor_f_on_conf_set_t)(
    rd_kafka_conf_t *conf, const char *name, const char *val, char *errstr, size_t errstr_size,
    void *ic_opaque);

/**
 * A configuration is being copied with rd_kafka_conf_dup() or rd_kafka_conf_dup_filter().
 * Interceptors are not copied: this is where one adds itself to the copy, with the same pointer or
 * another. Called before anything else is copied. Afterwards the properties that the old
 * configuration's on_conf_set() was offered are offered to the new one's, and those that it took
 * are set there, less those that the filter leaves out.
 * The application's thread.
 *
 * @param filter  `filter_cnt` beginnings of names that are not copied.
 *
 * @return Not looked at: a configuration has no log.
 */
typedef rd_kafka_resp_err_t (rd_kafka_interceptor_f_on_conf_dup_t)(
    rd_kafka_conf_t *new_conf, const rd_kafka_conf_t *old_conf, size_t filter_cnt,
    const char **filter, void *ic_opaque);

/**
 * A configuration is being freed: by rd_kafka_conf_destroy(), or when the client that it went into
 * is destroyed. The application's thread.
 *
 * @return Not looked at.
 */
typedef rd_kafka_resp_err_t (rd_kafka_interceptor_f_on_conf_destroy_t)(void *ic_opaque);

/**
 * A client is being created with rd_kafka_new(). It has no thread and no name yet: nothing but
 * rd_kafka_interceptor_add_on_...() may be called with it, and only here. The application's thread.
 *
 * @param conf    The client's configuration.
 * @param errstr  Receives the reason for an error, for the log.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or an error to be logged; the client is created all the same.
 */
typedef rd_kafka_resp_err_t (rd_kafka_interceptor_f_on_new_t)(
    rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *ic_opaque, char *errstr, size_t errstr_size);

/**
 * Adds a function that is offered every property.
 *
 * @param ic_name      Name of the interceptor. Copied.
 * @param on_conf_set  Function.
 * @param ic_opaque    Pointer for the function.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__CONFLICT: it is there already;
 *         RD_KAFKA_RESP_ERR__INVALID_ARG: an argument is NULL. The same for all that follow.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_conf_interceptor_add_on_conf_set(rd_kafka_conf_t *conf,
                                          const char *ic_name,
                                          rd_kafka_interceptor_f_on_conf_set_t *on_conf_set,
                                          void *ic_opaque);

/** Adds a function that is called when the configuration is copied. */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_conf_interceptor_add_on_conf_dup(rd_kafka_conf_t *conf,
                                          const char *ic_name,
                                          rd_kafka_interceptor_f_on_conf_dup_t *on_conf_dup,
                                          void *ic_opaque);

/**
 * Adds a function that is called when the configuration is destroyed. It is never refused as a
 * duplicate: an interceptor may have several things to free.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_conf_interceptor_add_on_conf_destroy(rd_kafka_conf_t *conf,
                                              const char *ic_name,
                                              rd_kafka_interceptor_f_on_conf_destroy_t *on_conf_destroy,
                                              void *ic_opaque);

/** Adds a function that is called when a client is created. */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_conf_interceptor_add_on_new(rd_kafka_conf_t *conf,
                                     const char *ic_name,
                                     rd_kafka_interceptor_f_on_new_t *on_new,
                                     void *ic_opaque);

/* -- Of a client -- */

/**
 * The client is destroyed: its threads have ended and nothing else is called any more with this
 * `rk`, which serves as an identity only. Called in rd_kafka_destroy(), or in rd_kafka_new()
 * if that fails after on_new().
 */
typedef rd_kafka_resp_err_t (rd_kafka_interceptor_f_on_destroy_t)(rd_kafka_t *rk, void *ic_opaque);

/**
 * A message is being produced, before its partition is chosen. Its headers may be changed:
 * rd_kafka_message_headers() returns the present ones, rd_kafka_message_set_headers() sets others.
 * Nothing else may be changed. Runs on the thread of the producing call.
 *
 * on_acknowledgement() is called for each message that was passed to this function; for one that is
 * refused, for example with RD_KAFKA_RESP_ERR__QUEUE_FULL, before the producing call returns.
 *
 * @param rkmessage  Lives during the call only.
 */
typedef rd_kafka_resp_err_t (rd_kafka_interceptor_f_on_send_t)(
    rd_kafka_t *rk, rd_kafka_message_t *rkmessage, void *ic_opaque);

/**
 * A message was delivered, or has failed for good (`err`), whether or not the application wants
 * delivery reports, which come later. The client's thread, or that of a producing call that fails.
 *
 * @param rkmessage  As in a delivery report, its functions included. Lives during the call only.
 */
typedef rd_kafka_resp_err_t (rd_kafka_interceptor_f_on_acknowledgement_t)(
    rd_kafka_t *rk, rd_kafka_message_t *rkmessage, void *ic_opaque);

/**
 * A message, not an error, is about to be handed to the application by whatever function. The
 * thread of the polling call.
 *
 * @param rkmessage  The one that the application gets.
 */
typedef rd_kafka_resp_err_t (rd_kafka_interceptor_f_on_consume_t)(
    rd_kafka_t *rk, rd_kafka_message_t *rkmessage, void *ic_opaque);

/**
 * Offsets of the group were committed, or the commit has failed. The client's thread.
 *
 * @param offsets  What was to be committed, each element with its own error. Lives during the call.
 * @param err      The first error, or RD_KAFKA_RESP_ERR_NO_ERROR.
 */
typedef rd_kafka_resp_err_t (rd_kafka_interceptor_f_on_commit_t)(
    rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *offsets, rd_kafka_resp_err_t err,
    void *ic_opaque);

/**
 * A request was handed to the operating system as a whole. The client's thread.
 *
 * @param sockfd      Descriptor of the connection.
 * @param brokername  "host:port/id", "host:port/bootstrap" as long as the id is not known.
 * @param brokerid    Broker id, -1 as long as it is not known.
 * @param ApiKey      Kind of request; https://kafka.apache.org/protocol#protocol_api_keys
 * @param ApiVersion  Its version.
 * @param CorrId      Correlation id, which its response has, too.
 * @param size        Bytes, the length prefix included.
 */
typedef rd_kafka_resp_err_t (rd_kafka_interceptor_f_on_request_sent_t)(
    rd_kafka_t *rk, int sockfd, const char *brokername, int32_t brokerid, int16_t ApiKey,
    int16_t ApiVersion, int32_t CorrId, size_t size, void *ic_opaque);

/**
 * A response is there as a whole and was not read yet. The client's thread. Arguments as in
 * on_request_sent(), and
 *
 * @param rtt  Microseconds since the request was handed over for sending.
 * @param err  RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__NOENT for a response that no request
 *             waits for, which ends the connection: `ApiKey`, `ApiVersion` and `rtt` are -1 then.
 */
typedef rd_kafka_resp_err_t (rd_kafka_interceptor_f_on_response_received_t)(
    rd_kafka_t *rk, int sockfd, const char *brokername, int32_t brokerid, int16_t ApiKey,
    int16_t ApiVersion, int32_t CorrId, size_t size, int64_t rtt, rd_kafka_resp_err_t err,
    void *ic_opaque);

/**
 * A thread of the client starts; called on it, first of all. Threads that exist only while a name
 * is looked up or an offset file is written are not reported.
 *
 * @param thread_name  "main" or "background".
 */
typedef rd_kafka_resp_err_t (rd_kafka_interceptor_f_on_thread_start_t)(
    rd_kafka_t *rk, rd_kafka_thread_type_t thread_type, const char *thread_name, void *ic_opaque);

/** A thread of the client ends; called on it, last of all. Arguments as above. */
typedef rd_kafka_resp_err_t (rd_kafka_interceptor_f_on_thread_exit_t)(
    rd_kafka_t *rk, rd_kafka_thread_type_t thread_type, const char *thread_name, void *ic_opaque);

/**
 * A connection to a broker changed its state. The client's thread.
 *
 * @param broker_id  Broker id, -1 as long as it is not known.
 * @param secproto   `security.protocol`.
 * @param name       Host name.
 * @param port       Port.
 * @param state      "DOWN", "TRY_CONNECT", "CONNECT", "APIVERSION_QUERY" or "UP".
 */
typedef rd_kafka_resp_err_t (rd_kafka_interceptor_f_on_broker_state_change_t)(
    rd_kafka_t *rk, int32_t broker_id, const char *secproto, const char *name, int port,
    const char *state, void *ic_opaque);

/**
 * Adds a function that is called when the client is destroyed. This one and all that follow are for
 * on_new().
 *
 * @param ic_name     Name of the interceptor. Copied.
 * @param on_destroy  Function.
 * @param ic_opaque   Pointer for the function.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__CONFLICT: it is there already;
 *         RD_KAFKA_RESP_ERR__STATE: the client is created already, only on_new() can add functions;
 *         RD_KAFKA_RESP_ERR__INVALID_ARG: an argument is NULL. The same for all that follow.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_interceptor_add_on_destroy(rd_kafka_t *rk,
                                    const char *ic_name,
                                    rd_kafka_interceptor_f_on_destroy_t *on_destroy,
                                    void *ic_opaque);

/** Adds a function for messages that are produced. */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_interceptor_add_on_send(rd_kafka_t *rk,
                                 const char *ic_name,
                                 rd_kafka_interceptor_f_on_send_t *on_send,
                                 void *ic_opaque);

/** Adds a function for messages that were delivered or have failed. */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_interceptor_add_on_acknowledgement(
    rd_kafka_t *rk,
    const char *ic_name,
    rd_kafka_interceptor_f_on_acknowledgement_t *on_acknowledgement,
    void *ic_opaque);

/** Adds a function for messages that are consumed. */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_interceptor_add_on_consume(rd_kafka_t *rk,
                                    const char *ic_name,
                                    rd_kafka_interceptor_f_on_consume_t *on_consume,
                                    void *ic_opaque);

/** Adds a function for results of commits. */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_interceptor_add_on_commit(rd_kafka_t *rk,
                                   const char *ic_name,
                                   rd_kafka_interceptor_f_on_commit_t *on_commit,
                                   void *ic_opaque);

/** Adds a function for requests. */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_interceptor_add_on_request_sent(rd_kafka_t *rk,
                                         const char *ic_name,
                                         rd_kafka_interceptor_f_on_request_sent_t *on_request_sent,
                                         void *ic_opaque);

/** Adds a function for responses. */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_interceptor_add_on_response_received(
    rd_kafka_t *rk,
    const char *ic_name,
    rd_kafka_interceptor_f_on_response_received_t *on_response_received,
    void *ic_opaque);

/** Adds a function that each thread calls first. */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_interceptor_add_on_thread_start(rd_kafka_t *rk,
                                         const char *ic_name,
                                         rd_kafka_interceptor_f_on_thread_start_t *on_thread_start,
                                         void *ic_opaque);

/** Adds a function that each thread calls last. */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_interceptor_add_on_thread_exit(rd_kafka_t *rk,
                                        const char *ic_name,
                                        rd_kafka_interceptor_f_on_thread_exit_t *on_thread_exit,
                                        void *ic_opaque);

/** Adds a function for the states of connections. */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_interceptor_add_on_broker_state_change(
    rd_kafka_t *rk,
    const char *ic_name,
    rd_kafka_interceptor_f_on_broker_state_change_t *on_broker_state_change,
    void *ic_opaque);


/* -- Plugins -- */

/**
 * The type of the function `conf_init`, which a plugin exports.
 *
 * A plugin is a shared library with interceptors, which programs load without knowing it: the
 * property `plugin.library.paths` names one or several, separated by ';'. Each is loaded when the
 * property is set (see dlopen(3) for where; ".so" is added to a name without an extension), and its
 * conf_init() adds interceptors to the configuration. The same happens for each copy of that
 * configuration, after on_conf_dup(). A library stays loaded until the process ends.
 * examples/c/plugins has one.
 *
 * @param conf          Configuration.
 * @param plug_opaquep  Receives a pointer for the plugin's own use; the library does not read it.
 * @param errstr        Receives the reason for an error, for the caller that sets the property.
 * @param errstr_size   Its size.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or an error: the property is not set then. What was added
 *         before stays.
 */
typedef rd_kafka_resp_err_t (rd_kafka_plugin_f_conf_init_t)(
    rd_kafka_conf_t *conf, void **plug_opaquep, char *errstr, size_t errstr_size);


/* ==========================================================================
 *  30. ADMINISTRATION: TOPICS, SETTINGS, GROUPS
 *
 *      rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
 *      rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new("greetings", 6, 3, errstr, sizeof(errstr));
 *      rd_kafka_CreateTopics(rk, &topic, 1, NULL, queue);
 *      rd_kafka_NewTopic_destroy(topic);
 *      rd_kafka_event_t *event = rd_kafka_queue_poll(queue, -1);
 *      if (rd_kafka_event_error(event)) {
 *              failed(rd_kafka_event_error_string(event));
 *      } else {
 *              const rd_kafka_CreateTopics_result_t *result = rd_kafka_event_CreateTopics_result(event);
 *              size_t cnt;
 *              const rd_kafka_topic_result_t **topics = rd_kafka_CreateTopics_result_topics(result, &cnt);
 *              if (rd_kafka_topic_result_error(topics[0]))
 *                      failed(rd_kafka_topic_result_error_string(topics[0]));
 *      }
 *      rd_kafka_event_destroy(event);
 *      rd_kafka_queue_destroy(queue);
 *
 *  Producers and consumers can make these calls, any number at the same time. A call returns at
 *  once; its arguments are copied, and stay the caller's. Its result is put into the queue as one
 *  event, exactly once, when the request timeout expires at the latest
 *  (rd_kafka_AdminOptions_set_request_timeout()). The queue must be served by events
 *  (rd_kafka_queue_poll(), or the background event callback); rd_kafka_poll() drops such an event
 *  and logs that.
 *
 *  Each operation has its broker: the controller for topics, the broker itself for its settings,
 *  every broker for a listing of groups, any broker otherwise. While it is unknown or cannot be
 *  reached, the call waits, until the request timeout expires. A broker's answer that another broker
 *  is responsible is not reported: the call asks that one for what is open.
 *
 *  rd_kafka_event_error() of the event says whether the call failed as a whole, because no broker
 *  has answered for any of its parts:
 *
 *  - RD_KAFKA_RESP_ERR__TIMED_OUT: no response in time, or no broker to send the request to; the
 *    text names the case.
 *  - RD_KAFKA_RESP_ERR__TRANSPORT and the like: the connection was lost before the answer came. The
 *    broker may have carried the request out; only requests that change nothing are sent again.
 *  - RD_KAFKA_RESP_ERR__INVALID_ARG: an empty array, NULL in it, or an object that makes no sense.
 *  - RD_KAFKA_RESP_ERR__CONFLICT: settings of two brokers in one call.
 *  - RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE: the broker is too old for the request.
 *  - RD_KAFKA_RESP_ERR__BAD_MSG: the response is malformed.
 *  - RD_KAFKA_RESP_ERR__DESTROY: the client was destroyed meanwhile.
 *
 *  Otherwise the result has a row for each topic or resource, in the order of the call, with the
 *  broker's error for that one, or one of these errors if only some parts were answered. Rows, and
 *  all strings and arrays in them, belong to the event.
 *
 *  Objects are plain data: one thread at a time may change one. The functions that destroy one
 *  allow NULL; those that destroy an array free its elements only.
 * ========================================================================== */

/* -- Options -- */

/** An admin request, for making options that fit it. */
typedef enum rd_kafka_admin_op_t {
        RD_KAFKA_ADMIN_OP_ANY = 0,                           /**< Any request. */
        RD_KAFKA_ADMIN_OP_CREATETOPICS = 1,                  /**< Create topics. */
        RD_KAFKA_ADMIN_OP_DELETETOPICS = 2,                  /**< Delete topics. */
        RD_KAFKA_ADMIN_OP_CREATEPARTITIONS = 3,              /**< Add partitions. */
        RD_KAFKA_ADMIN_OP_ALTERCONFIGS = 4,                  /**< Replace settings. */
        RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS = 5,               /**< Describe settings. */
        RD_KAFKA_ADMIN_OP_DELETERECORDS = 6,                 /**< Delete records. */
        RD_KAFKA_ADMIN_OP_DELETEGROUPS = 7,                  /**< Delete groups. */
        RD_KAFKA_ADMIN_OP_DELETECONSUMERGROUPOFFSETS = 8,    /**< Delete committed offsets. */
        RD_KAFKA_ADMIN_OP_CREATEACLS = 9,                    /**< Create access control entries. */
        /** Describe access control entries. */
        RD_KAFKA_ADMIN_OP_DESCRIBEACLS = 10,
        RD_KAFKA_ADMIN_OP_DELETEACLS = 11,                   /**< Delete access control entries. */
        RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS = 12,           /**< List groups. */
        RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS = 13,       /**< Describe groups. */
        RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS = 14,     /**< List committed offsets. */
        RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS = 15,    /**< Alter committed offsets. */
        RD_KAFKA_ADMIN_OP_INCREMENTALALTERCONFIGS = 16,      /**< Change settings one by one. */
        RD_KAFKA_ADMIN_OP_DESCRIBEUSERSCRAMCREDENTIALS = 17, /**< Describe SCRAM credentials. */
        RD_KAFKA_ADMIN_OP_ALTERUSERSCRAMCREDENTIALS = 18,    /**< Alter SCRAM credentials. */
        RD_KAFKA_ADMIN_OP_DESCRIBETOPICS = 19,               /**< Describe topics. */
        RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER = 20,              /**< Describe the cluster. */
        RD_KAFKA_ADMIN_OP_LISTOFFSETS = 21,                  /**< List offsets. */
        RD_KAFKA_ADMIN_OP_ELECTLEADERS = 22,                 /**< Elect leaders. */
        RD_KAFKA_ADMIN_OP__CNT = 23                          /**< Number of values. */
} rd_kafka_admin_op_t;

/** Options of an admin request: timeouts, validation only and the like. */
typedef struct rd_kafka_AdminOptions_s rd_kafka_AdminOptions_t;

/**
 * Creates options, all at their defaults. A call that is given NULL in their place uses the
 * defaults.
 *
 * @param for_api  The request that they are for; RD_KAFKA_ADMIN_OP_ANY allows all options, of which
 *                 a request uses those that it has.
 *
 * @return The caller frees it with rd_kafka_AdminOptions_destroy(), when the calls that use it have
 *         returned; it can be used for several. NULL: there is no such request.
 */
RD_EXPORT rd_kafka_AdminOptions_t *rd_kafka_AdminOptions_new(rd_kafka_t *rk,
                                                             rd_kafka_admin_op_t for_api);

/** Frees options. */
RD_EXPORT void rd_kafka_AdminOptions_destroy(rd_kafka_AdminOptions_t *options);

/**
 * Sets the timeout of the call, which includes the search for the broker. All requests.
 *
 * @param timeout_ms  Milliseconds, 0 to 3600000. Default: `socket.timeout.ms`.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__INVALID_ARG with a text in `errstr`
 *         (NULL is allowed).
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_AdminOptions_set_request_timeout(rd_kafka_AdminOptions_t *options,
                                          int timeout_ms,
                                          char *errstr,
                                          size_t errstr_size);

/**
 * Sets the time for which the controller waits until topics or partitions have been created or
 * deleted on the brokers, and a leader until records have been deleted. CreateTopics, DeleteTopics,
 * CreatePartitions, DeleteRecords, ListOffsets, ElectLeaders. An operation that takes
 * longer continues, and has the error RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT in the result.
 *
 * @param timeout_ms  Milliseconds, up to 3600000. 0 or -1: the controller answers when it has
 *                    started, and there is no such error. (KRaft controllers always answer when
 *                    they have decided; the timeout bounds the time until then.) Default:
 *                    `socket.timeout.ms`.
 *
 * @return As rd_kafka_AdminOptions_set_request_timeout(); RD_KAFKA_RESP_ERR__INVALID_ARG also if
 *         the request does not have this option.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_AdminOptions_set_operation_timeout(rd_kafka_AdminOptions_t *options,
                                            int timeout_ms,
                                            char *errstr,
                                            size_t errstr_size);

/**
 * Sets whether the broker only validates the request and answers as it would otherwise.
 * CreateTopics, CreatePartitions, AlterConfigs, IncrementalAlterConfigs.
 *
 * @param true_or_false  1 or 0. Default: 0.
 *
 * @return As rd_kafka_AdminOptions_set_operation_timeout().
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_AdminOptions_set_validate_only(rd_kafka_AdminOptions_t *options,
                                        int true_or_false,
                                        char *errstr,
                                        size_t errstr_size);

/**
 * Sets the broker that receives the request, in place of the controller or any. The settings of a
 * broker are asked of that broker nevertheless. All requests.
 *
 * @param broker_id  0 or more.
 *
 * @return As rd_kafka_AdminOptions_set_request_timeout().
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_AdminOptions_set_broker(rd_kafka_AdminOptions_t *options,
                                                               int32_t broker_id,
                                                               char *errstr,
                                                               size_t errstr_size);

/**
 * Sets whether committed offsets that belong to open transactions are awaited (KIP-447, Kafka 2.5).
 * ListConsumerGroupOffsets.
 *
 * @param true_or_false  1 or 0. Default: 0.
 *
 * @return NULL, or RD_KAFKA_RESP_ERR__INVALID_ARG, which the caller frees with
 *         rd_kafka_error_destroy(): another value, or the request does not have this option.
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_AdminOptions_set_require_stable_offsets(rd_kafka_AdminOptions_t *options,
                                                 int true_or_false);

/**
 * Sets whether the broker returns the operations that the client may perform on each topic or group,
 * or on the cluster (KIP-430, Kafka 2.3). DescribeTopics, DescribeConsumerGroups, DescribeCluster.
 *
 * @param true_or_false  1 or 0. Default: 0.
 *
 * @return As rd_kafka_AdminOptions_set_require_stable_offsets().
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_AdminOptions_set_include_authorized_operations(rd_kafka_AdminOptions_t *options,
                                                        int true_or_false);

/** Which records count. */
typedef enum rd_kafka_IsolationLevel_t {
        /** All, those of open and aborted transactions too. */
        RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED = 0,
        RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED = 1    /**< Committed ones. */
} rd_kafka_IsolationLevel_t;

/**
 * Sets which records count. ListOffsets.
 *
 * @param value  With RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED the latest offset is the last stable
 *               one. Default: RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED.
 *
 * @return As rd_kafka_AdminOptions_set_require_stable_offsets().
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_AdminOptions_set_isolation_level(rd_kafka_AdminOptions_t *options,
                                          rd_kafka_IsolationLevel_t value);

/**
 * Sets the pointer that rd_kafka_event_opaque() returns for the result. All requests. Default:
 * NULL.
 */
RD_EXPORT void rd_kafka_AdminOptions_set_opaque(rd_kafka_AdminOptions_t *options, void *ev_opaque);

/* -- Parts of results that several operations share -- */

/** A broker in an admin result. */
typedef struct rd_kafka_Node_s rd_kafka_Node_t;

/** Returns the broker's id; -1 for NULL. */
RD_EXPORT int rd_kafka_Node_id(const rd_kafka_Node_t *node);

/** Returns its host, which belongs to the node; NULL if only the broker's id is known. */
RD_EXPORT const char *rd_kafka_Node_host(const rd_kafka_Node_t *node);

/** Returns its port; 0 if only the broker's id is known. */
RD_EXPORT uint16_t rd_kafka_Node_port(const rd_kafka_Node_t *node);

/** Returns its rack, which belongs to the node; NULL if it has none. */
RD_EXPORT const char *rd_kafka_Node_rack(const rd_kafka_Node_t *node);

/** Outcome for one group. */
typedef struct rd_kafka_group_result_s rd_kafka_group_result_t;

/** Returns the group's error, which belongs to the result; NULL for none. */
RD_EXPORT const rd_kafka_error_t *rd_kafka_group_result_error(const rd_kafka_group_result_t *groupres);

/** Returns the group's id, which belongs to the result. */
RD_EXPORT const char *rd_kafka_group_result_name(const rd_kafka_group_result_t *groupres);

/**
 * Returns the group's partitions with their offsets and errors. They belong to the result. NULL: the
 * group has an error, or the operation has no partitions (DeleteGroups).
 */
RD_EXPORT const rd_kafka_topic_partition_list_t *
rd_kafka_group_result_partitions(const rd_kafka_group_result_t *groupres);

/** An operation that access control allows or denies. */
typedef enum rd_kafka_AclOperation_t {
        RD_KAFKA_ACL_OPERATION_UNKNOWN = 0,           /**< Not known. */
        RD_KAFKA_ACL_OPERATION_ANY = 1,               /**< In filters: any. */
        RD_KAFKA_ACL_OPERATION_ALL = 2,               /**< Everything. */
        RD_KAFKA_ACL_OPERATION_READ = 3,              /**< Read. */
        RD_KAFKA_ACL_OPERATION_WRITE = 4,             /**< Write. */
        RD_KAFKA_ACL_OPERATION_CREATE = 5,            /**< Create. */
        RD_KAFKA_ACL_OPERATION_DELETE = 6,            /**< Delete. */
        RD_KAFKA_ACL_OPERATION_ALTER = 7,             /**< Alter. */
        RD_KAFKA_ACL_OPERATION_DESCRIBE = 8,          /**< Describe. */
        RD_KAFKA_ACL_OPERATION_CLUSTER_ACTION = 9,    /**< Operations between brokers. */
        RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS = 10, /**< Describe settings. */
        RD_KAFKA_ACL_OPERATION_ALTER_CONFIGS = 11,    /**< Alter settings. */
        RD_KAFKA_ACL_OPERATION_IDEMPOTENT_WRITE = 12, /**< Write idempotently. */
        RD_KAFKA_ACL_OPERATION__CNT = 13              /**< Number of values. */
} rd_kafka_AclOperation_t;

/* -- Outcome for one topic -- */

/** Outcome for one topic. */
typedef struct rd_kafka_topic_result_s rd_kafka_topic_result_t;

/** Returns the broker's error for this topic, or RD_KAFKA_RESP_ERR_NO_ERROR. */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_topic_result_error(const rd_kafka_topic_result_t *topicres);

/** Returns the error in words, the broker's own where it has some; NULL if there is none. */
RD_EXPORT const char *rd_kafka_topic_result_error_string(const rd_kafka_topic_result_t *topicres);

/** Returns the topic's name. */
RD_EXPORT const char *rd_kafka_topic_result_name(const rd_kafka_topic_result_t *topicres);

/* -- Creating topics (KIP-4) -- */

/** A topic to create. */
typedef struct rd_kafka_NewTopic_s rd_kafka_NewTopic_t;
/** Result of rd_kafka_CreateTopics(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_CreateTopics_result_t;

/**
 * Creates the description of a topic to create.
 *
 * @param num_partitions      Up to 100000; -1: the broker's default (KIP-464, Kafka 2.4).
 * @param replication_factor  Replicas of each partition, up to 10000; -1: the broker's default
 *                            (KIP-464), or they are assigned one by one.
 *
 * @return The caller frees it with rd_kafka_NewTopic_destroy(). NULL with a text in `errstr` (NULL
 *         is allowed): the name is empty or a number out of range.
 */
RD_EXPORT rd_kafka_NewTopic_t *rd_kafka_NewTopic_new(const char *topic,
                                                     int num_partitions,
                                                     int replication_factor,
                                                     char *errstr,
                                                     size_t errstr_size);

/** Frees the description of a topic. */
RD_EXPORT void rd_kafka_NewTopic_destroy(rd_kafka_NewTopic_t *new_topic);

/** Frees each of an array. */
RD_EXPORT void rd_kafka_NewTopic_destroy_array(rd_kafka_NewTopic_t **new_topics,
                                               size_t new_topic_cnt);

/**
 * Sets the brokers that have the replicas of a partition. If it is set for one partition, it must
 * be set for all, in their order from 0 on. Needs a replication_factor of -1 and a number of
 * partitions.
 *
 * @param broker_ids     The brokers, the preferred leader first. Copied.
 * @param broker_id_cnt  Their number, 1 to 10000.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__INVALID_ARG with a text in `errstr`
 *         (NULL is allowed).
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_NewTopic_set_replica_assignment(rd_kafka_NewTopic_t *new_topic,
                                         int32_t partition,
                                         int32_t *broker_ids,
                                         size_t broker_id_cnt,
                                         char *errstr,
                                         size_t errstr_size);

/**
 * Sets a property of the topic; a second value replaces the first. The broker checks it.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__INVALID_ARG: NULL or an empty name.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_NewTopic_set_config(rd_kafka_NewTopic_t *new_topic,
                                                           const char *name,
                                                           const char *value);

/**
 * Creates topics. Options: all timeouts, validate_only, broker, opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_CREATETOPICS_RESULT.
 *
 * Errors of a topic are for example RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS, _TOPIC_EXCEPTION (its
 * name), _INVALID_PARTITIONS, _INVALID_REPLICATION_FACTOR, _INVALID_CONFIG, _POLICY_VIOLATION,
 * _TOPIC_AUTHORIZATION_FAILED.
 *
 * A broker may learn of a new topic a little later than the controller: until then a producer waits
 * for it, and a consumer is told that it is not there.
 */
RD_EXPORT void rd_kafka_CreateTopics(rd_kafka_t *rk,
                                     rd_kafka_NewTopic_t **new_topics,
                                     size_t new_topic_cnt,
                                     const rd_kafka_AdminOptions_t *options,
                                     rd_kafka_queue_t *rkqu);

/** Returns the event as the result of CreateTopics; NULL for other events. */
RD_EXPORT const rd_kafka_CreateTopics_result_t *
rd_kafka_event_CreateTopics_result(rd_kafka_event_t *rkev);

/**
 * Returns the outcome for each topic.
 *
 * @param cntp  Receives their number; 0 if the call failed as a whole.
 *
 * @return An array that belongs to the result; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_topic_result_t **
rd_kafka_CreateTopics_result_topics(const rd_kafka_CreateTopics_result_t *result, size_t *cntp);

/* -- Deleting topics (KIP-4) -- */

/** A topic to delete. */
typedef struct rd_kafka_DeleteTopic_s rd_kafka_DeleteTopic_t;
/** Result of rd_kafka_DeleteTopics(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DeleteTopics_result_t;

/**
 * Creates the description of a topic to delete. The caller frees it with
 * rd_kafka_DeleteTopic_destroy().
 */
RD_EXPORT rd_kafka_DeleteTopic_t *rd_kafka_DeleteTopic_new(const char *topic);

/** Frees the name of a topic to delete. */
RD_EXPORT void rd_kafka_DeleteTopic_destroy(rd_kafka_DeleteTopic_t *del_topic);

/** Frees each of an array. */
RD_EXPORT void rd_kafka_DeleteTopic_destroy_array(rd_kafka_DeleteTopic_t **del_topics,
                                                  size_t del_topic_cnt);

/**
 * Deletes topics with all their records. Options: all timeouts, broker, opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_DELETETOPICS_RESULT.
 *
 * Errors of a topic are for example RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
 * _TOPIC_DELETION_DISABLED, _TOPIC_AUTHORIZATION_FAILED.
 */
RD_EXPORT void rd_kafka_DeleteTopics(rd_kafka_t *rk,
                                     rd_kafka_DeleteTopic_t **del_topics,
                                     size_t del_topic_cnt,
                                     const rd_kafka_AdminOptions_t *options,
                                     rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DeleteTopics; NULL for other events. */
RD_EXPORT const rd_kafka_DeleteTopics_result_t *
rd_kafka_event_DeleteTopics_result(rd_kafka_event_t *rkev);

/** Returns the outcome for each topic; see rd_kafka_CreateTopics_result_topics(). */
RD_EXPORT const rd_kafka_topic_result_t **
rd_kafka_DeleteTopics_result_topics(const rd_kafka_DeleteTopics_result_t *result, size_t *cntp);

/* -- Adding partitions (KIP-195) -- */

/** Partitions to add to a topic. */
typedef struct rd_kafka_NewPartitions_s rd_kafka_NewPartitions_t;
/** Result of rd_kafka_CreatePartitions(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_CreatePartitions_result_t;

/**
 * Describes the partitions to add to a topic.
 *
 * @param new_total_cnt  How many partitions it shall have in all, 1 to 100000.
 *
 * @return The caller frees it with rd_kafka_NewPartitions_destroy(). NULL with a text in `errstr`
 *         (NULL is allowed): the number is out of range.
 */
RD_EXPORT rd_kafka_NewPartitions_t *rd_kafka_NewPartitions_new(const char *topic,
                                                               size_t new_total_cnt,
                                                               char *errstr,
                                                               size_t errstr_size);

/** Frees the description of partitions to add. */
RD_EXPORT void rd_kafka_NewPartitions_destroy(rd_kafka_NewPartitions_t *new_parts);

/** Frees each of an array. */
RD_EXPORT void rd_kafka_NewPartitions_destroy_array(rd_kafka_NewPartitions_t **new_parts,
                                                    size_t new_parts_cnt);

/**
 * Sets the brokers that have the replicas of a new partition. If it is set for one, it must be set
 * for all new ones.
 *
 * @param new_partition_idx  0 for the first new one and so on, in order.
 * @param broker_ids         The brokers, the preferred leader first. Copied.
 * @param broker_id_cnt      Their number, 1 to 10000.
 *
 * @return As rd_kafka_NewTopic_set_replica_assignment().
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_NewPartitions_set_replica_assignment(rd_kafka_NewPartitions_t *new_parts,
                                              int32_t new_partition_idx,
                                              int32_t *broker_ids,
                                              size_t broker_id_cnt,
                                              char *errstr,
                                              size_t errstr_size);

/**
 * Adds partitions to topics. Options: all timeouts, validate_only, broker, opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT.
 *
 * Records with a key may go to another partition than before from then on. Errors of a topic are
 * for example RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, _INVALID_PARTITIONS (it has as many or
 * more), _INVALID_REPLICA_ASSIGNMENT.
 */
RD_EXPORT void rd_kafka_CreatePartitions(rd_kafka_t *rk,
                                         rd_kafka_NewPartitions_t **new_parts,
                                         size_t new_parts_cnt,
                                         const rd_kafka_AdminOptions_t *options,
                                         rd_kafka_queue_t *rkqu);

/** Returns the event as the result of CreatePartitions; NULL for other events. */
RD_EXPORT const rd_kafka_CreatePartitions_result_t *
rd_kafka_event_CreatePartitions_result(rd_kafka_event_t *rkev);

/** Returns the outcome for each topic; see rd_kafka_CreateTopics_result_topics(). */
RD_EXPORT const rd_kafka_topic_result_t **
rd_kafka_CreatePartitions_result_topics(const rd_kafka_CreatePartitions_result_t *result,
                                        size_t *cntp);

/* -- Settings -- */

/** Where the value of a setting comes from. */
typedef enum rd_kafka_ConfigSource_t {
        RD_KAFKA_CONFIG_SOURCE_UNKNOWN_CONFIG = 0,                /**< Not known. */
        RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG = 1,          /**< The topic's own. */
        /** One broker's, changed while running. */
        RD_KAFKA_CONFIG_SOURCE_DYNAMIC_BROKER_CONFIG = 2,
        /** All brokers, changed while running. */
        RD_KAFKA_CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER_CONFIG = 3,
        /** The broker's configuration file. */
        RD_KAFKA_CONFIG_SOURCE_STATIC_BROKER_CONFIG = 4,
        RD_KAFKA_CONFIG_SOURCE_DEFAULT_CONFIG = 5,                /**< Kafka's default. */
        RD_KAFKA_CONFIG_SOURCE_GROUP_CONFIG = 8,                  /**< The group's own. */
        RD_KAFKA_CONFIG_SOURCE__CNT = 9                           /**< Number of values. */
} rd_kafka_ConfigSource_t;

/**
 * Returns the name of a source: "DYNAMIC_TOPIC_CONFIG" and so on; "UNSUPPORTED" for other numbers.
 * Constant.
 */
RD_EXPORT const char *rd_kafka_ConfigSource_name(rd_kafka_ConfigSource_t confsource);

/** The type of the resource of a setting or of an access control entry. */
typedef enum rd_kafka_ResourceType_t {
        RD_KAFKA_RESOURCE_UNKNOWN = 0,          /**< Not known. */
        RD_KAFKA_RESOURCE_ANY = 1,              /**< In filters: anything. */
        RD_KAFKA_RESOURCE_TOPIC = 2,            /**< A topic. */
        RD_KAFKA_RESOURCE_GROUP = 3,            /**< A group. */
        RD_KAFKA_RESOURCE_BROKER = 4,           /**< A broker. */
        RD_KAFKA_RESOURCE_TRANSACTIONAL_ID = 5, /**< A transactional id. */
        RD_KAFKA_RESOURCE__CNT = 6              /**< Number of values. */
} rd_kafka_ResourceType_t;

/** Returns the name of a type: "TOPIC" and so on; "UNSUPPORTED" for other numbers. Constant. */
RD_EXPORT const char *rd_kafka_ResourceType_name(rd_kafka_ResourceType_t restype);

/** Change to a setting (KIP-339). */
typedef enum rd_kafka_AlterConfigOpType_t {
        RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET = 0,      /**< Set it. */
        RD_KAFKA_ALTER_CONFIG_OP_TYPE_DELETE = 1,   /**< Give it its default. */
        RD_KAFKA_ALTER_CONFIG_OP_TYPE_APPEND = 2,   /**< Add to a list. */
        RD_KAFKA_ALTER_CONFIG_OP_TYPE_SUBTRACT = 3, /**< Take from a list. */
        RD_KAFKA_ALTER_CONFIG_OP_TYPE__CNT = 4      /**< Number of values. */
} rd_kafka_AlterConfigOpType_t;

/** One setting of a broker or topic. */
typedef struct rd_kafka_ConfigEntry_s rd_kafka_ConfigEntry_t;
/** A broker, topic or group with its settings. */
typedef struct rd_kafka_ConfigResource_s rd_kafka_ConfigResource_t;

/** Returns the setting's name. */
RD_EXPORT const char *rd_kafka_ConfigEntry_name(const rd_kafka_ConfigEntry_t *entry);

/**
 * Returns its value. NULL: it has none, it is kept secret, or it is that of a request to delete it.
 */
RD_EXPORT const char *rd_kafka_ConfigEntry_value(const rd_kafka_ConfigEntry_t *entry);

/**
 * Returns the source of the value (KIP-226). Only in results of DescribeConfigs. A source that this
 * header does not know keeps its number.
 */
RD_EXPORT rd_kafka_ConfigSource_t rd_kafka_ConfigEntry_source(const rd_kafka_ConfigEntry_t *entry);

/**
 * Returns 1 if it cannot be changed while the broker runs, 0 if it can, -1 if not known. Only in
 * results.
 */
RD_EXPORT int rd_kafka_ConfigEntry_is_read_only(const rd_kafka_ConfigEntry_t *entry);

/** Returns 1 if the value is Kafka's default, 0 if it was set, -1 if not known. Only in results. */
RD_EXPORT int rd_kafka_ConfigEntry_is_default(const rd_kafka_ConfigEntry_t *entry);

/**
 * Returns 1 if the value is a secret, which is not returned, 0 if it is none, -1 if not known. Only
 * in results.
 */
RD_EXPORT int rd_kafka_ConfigEntry_is_sensitive(const rd_kafka_ConfigEntry_t *entry);

/** Returns 1 if this is one of rd_kafka_ConfigEntry_synonyms(), else 0. */
RD_EXPORT int rd_kafka_ConfigEntry_is_synonym(const rd_kafka_ConfigEntry_t *entry);

/**
 * Returns the names under which the value is looked up, in order of precedence (KIP-226). Of a
 * synonym only name, value, source and is_default are known.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the entry; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_ConfigEntry_t **
rd_kafka_ConfigEntry_synonyms(const rd_kafka_ConfigEntry_t *entry, size_t *cntp);

/**
 * Creates a resource, to describe its settings or to change them.
 *
 * @param restype  RD_KAFKA_RESOURCE_TOPIC, _BROKER or _GROUP (Kafka 4.0).
 * @param resname  The topic, the group, or the broker's id in decimal; for a broker "": the
 *                 settings that all brokers have in common (KIP-226).
 *
 * @return The caller frees it with rd_kafka_ConfigResource_destroy(). NULL: there is no such type.
 */
RD_EXPORT rd_kafka_ConfigResource_t *rd_kafka_ConfigResource_new(rd_kafka_ResourceType_t restype,
                                                                 const char *resname);

/** Frees a resource that was made by rd_kafka_ConfigResource_new(). */
RD_EXPORT void rd_kafka_ConfigResource_destroy(rd_kafka_ConfigResource_t *config);

/** Frees each of an array. */
RD_EXPORT void rd_kafka_ConfigResource_destroy_array(rd_kafka_ConfigResource_t **config,
                                                     size_t config_cnt);

/**
 * Sets a value for rd_kafka_AlterConfigs(); a second one replaces the first. For
 * rd_kafka_DescribeConfigs(): names a setting to describe; without any, all are described, and the
 * value does not matter.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__INVALID_ARG: NULL or an empty name.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_ConfigResource_set_config(rd_kafka_ConfigResource_t *config,
                                                                 const char *name,
                                                                 const char *value);

/**
 * Adds a change of one setting for rd_kafka_IncrementalAlterConfigs(). Brokers refuse two changes
 * of the same setting.
 *
 * @param value  The new value, or what is added to the list or taken out of it; NULL is allowed for
 *               RD_KAFKA_ALTER_CONFIG_OP_TYPE_DELETE only.
 *
 * @return NULL, or RD_KAFKA_RESP_ERR__INVALID_ARG, which the caller frees with
 *         rd_kafka_error_destroy(): an empty name, an unknown operation or no value.
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_ConfigResource_add_incremental_config(rd_kafka_ConfigResource_t *config,
                                               const char *name,
                                               rd_kafka_AlterConfigOpType_t op_type,
                                               const char *value);

/**
 * Returns the settings: those described in a result of DescribeConfigs, or those of the request.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the resource, until it is changed; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_ConfigEntry_t **
rd_kafka_ConfigResource_configs(const rd_kafka_ConfigResource_t *config, size_t *cntp);

/** Returns the type of the resource; RD_KAFKA_RESOURCE_UNKNOWN for a type without a value here. */
RD_EXPORT rd_kafka_ResourceType_t
rd_kafka_ConfigResource_type(const rd_kafka_ConfigResource_t *config);

/** Returns its name. */
RD_EXPORT const char *rd_kafka_ConfigResource_name(const rd_kafka_ConfigResource_t *config);

/** In results: the broker's error for this resource, or RD_KAFKA_RESP_ERR_NO_ERROR. */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_ConfigResource_error(const rd_kafka_ConfigResource_t *config);

/** Returns the error in words, the broker's own where it has some; NULL if there is none. */
RD_EXPORT const char *rd_kafka_ConfigResource_error_string(const rd_kafka_ConfigResource_t *config);

/** Result of rd_kafka_DescribeConfigs(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DescribeConfigs_result_t;
/** Result of rd_kafka_AlterConfigs(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_AlterConfigs_result_t;
/** Result of rd_kafka_IncrementalAlterConfigs(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_IncrementalAlterConfigs_result_t;

/**
 * Describes the settings of topics, groups and one broker (KIP-133), with their synonyms. Options:
 * request_timeout, broker, opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT.
 *
 * A broker learns of a change a little later than the caller that made it: it may answer with the
 * former value for a moment.
 */
RD_EXPORT void rd_kafka_DescribeConfigs(rd_kafka_t *rk,
                                        rd_kafka_ConfigResource_t **configs,
                                        size_t config_cnt,
                                        const rd_kafka_AdminOptions_t *options,
                                        rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DescribeConfigs; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeConfigs_result_t *
rd_kafka_event_DescribeConfigs_result(rd_kafka_event_t *rkev);

/**
 * Returns the resources with their settings.
 *
 * @param cntp  Receives their number; 0 if the call failed as a whole.
 *
 * @return An array that belongs to the result; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_ConfigResource_t **
rd_kafka_DescribeConfigs_result_resources(const rd_kafka_DescribeConfigs_result_t *result,
                                          size_t *cntp);

/**
 * Replaces all settings of resources (KIP-133): those that are not named get their defaults.
 * Options: request_timeout, validate_only, broker, opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_ALTERCONFIGS_RESULT.
 *
 * Since Kafka 2.3 there is rd_kafka_IncrementalAlterConfigs(), which leaves settings unchanged that
 * it does not name. Errors of a resource are for example RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
 * _INVALID_CONFIG, _POLICY_VIOLATION.
 */
RD_EXPORT void rd_kafka_AlterConfigs(rd_kafka_t *rk,
                                     rd_kafka_ConfigResource_t **configs,
                                     size_t config_cnt,
                                     const rd_kafka_AdminOptions_t *options,
                                     rd_kafka_queue_t *rkqu);

/** Returns the event as the result of AlterConfigs; NULL for other events. */
RD_EXPORT const rd_kafka_AlterConfigs_result_t *
rd_kafka_event_AlterConfigs_result(rd_kafka_event_t *rkev);

/** Returns the resources, without settings; see rd_kafka_DescribeConfigs_result_resources(). */
RD_EXPORT const rd_kafka_ConfigResource_t **
rd_kafka_AlterConfigs_result_resources(const rd_kafka_AlterConfigs_result_t *result, size_t *cntp);

/**
 * Changes single settings of resources (KIP-339, Kafka 2.3): those added with
 * rd_kafka_ConfigResource_add_incremental_config(). Options: request_timeout, validate_only,
 * broker, opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_INCREMENTALALTERCONFIGS_RESULT.
 */
RD_EXPORT void rd_kafka_IncrementalAlterConfigs(rd_kafka_t *rk,
                                                rd_kafka_ConfigResource_t **configs,
                                                size_t config_cnt,
                                                const rd_kafka_AdminOptions_t *options,
                                                rd_kafka_queue_t *rkqu);

/** Returns the event as the result of IncrementalAlterConfigs; NULL for other events. */
RD_EXPORT const rd_kafka_IncrementalAlterConfigs_result_t *
rd_kafka_event_IncrementalAlterConfigs_result(rd_kafka_event_t *rkev);

/** Returns the resources, without settings; see rd_kafka_DescribeConfigs_result_resources(). */
RD_EXPORT const rd_kafka_ConfigResource_t **rd_kafka_IncrementalAlterConfigs_result_resources(
    const rd_kafka_IncrementalAlterConfigs_result_t *result,
    size_t *cntp);

/* -- Listing groups -- */

/** One group in a listing. */
typedef struct rd_kafka_ConsumerGroupListing_s rd_kafka_ConsumerGroupListing_t;
/** Result of rd_kafka_ListConsumerGroups(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_ListConsumerGroups_result_t;

/**
 * Sets the states of the groups to list (KIP-518, Kafka 2.6). ListConsumerGroups.
 *
 * @param consumer_group_states      The states, copied; each once.
 *                                   RD_KAFKA_CONSUMER_GROUP_STATE_UNKNOWN is none.
 * @param consumer_group_states_cnt  Their number; 0 is all states, the default.
 *
 * @return NULL, or RD_KAFKA_RESP_ERR__INVALID_ARG, which the caller frees with
 *         rd_kafka_error_destroy().
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_AdminOptions_set_match_consumer_group_states(
    rd_kafka_AdminOptions_t *options,
    const rd_kafka_consumer_group_state_t *consumer_group_states,
    size_t consumer_group_states_cnt);

/**
 * Sets the types of the groups to list (KIP-848, Kafka 3.8). ListConsumerGroups.
 *
 * @param consumer_group_types      The types, copied; each once.
 *                                  RD_KAFKA_CONSUMER_GROUP_TYPE_UNKNOWN is none.
 * @param consumer_group_types_cnt  Their number; 0 is all types, the default.
 *
 * @return As rd_kafka_AdminOptions_set_match_consumer_group_states().
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_AdminOptions_set_match_consumer_group_types(
    rd_kafka_AdminOptions_t *options,
    const rd_kafka_consumer_group_type_t *consumer_group_types,
    size_t consumer_group_types_cnt);

/**
 * Asks every broker for its groups: those that consumers have made, of both protocols, and those
 * that have committed offsets only. Options: request_timeout, match_consumer_group_states and
 * _types, broker (the only one that is asked), opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_LISTCONSUMERGROUPS_RESULT.
 *
 * The result has the groups of the brokers that answered, each group once and ordered by id, and an
 * error for each other broker. If the brokers could not be learned in time, there is one error,
 * RD_KAFKA_RESP_ERR__TIMED_OUT.
 */
RD_EXPORT void rd_kafka_ListConsumerGroups(rd_kafka_t *rk,
                                           const rd_kafka_AdminOptions_t *options,
                                           rd_kafka_queue_t *rkqu);

/** Returns the event as the result of ListConsumerGroups; NULL for other events. */
RD_EXPORT const rd_kafka_ListConsumerGroups_result_t *
rd_kafka_event_ListConsumerGroups_result(rd_kafka_event_t *rkev);

/**
 * Returns the groups.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_ConsumerGroupListing_t **
rd_kafka_ListConsumerGroups_result_valid(const rd_kafka_ListConsumerGroups_result_t *result,
                                         size_t *cntp);

/**
 * Returns the reasons why groups may be missing: the error of each broker that did not answer, for
 * example RD_KAFKA_RESP_ERR__TIMED_OUT.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result, its errors too; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_error_t **
rd_kafka_ListConsumerGroups_result_errors(const rd_kafka_ListConsumerGroups_result_t *result,
                                          size_t *cntp);

/** Returns the group's id. */
RD_EXPORT const char *
rd_kafka_ConsumerGroupListing_group_id(const rd_kafka_ConsumerGroupListing_t *grplist);

/**
 * Returns 1 if the group has no protocol: offsets were committed to it, and it has no members; else
 * 0.
 */
RD_EXPORT int rd_kafka_ConsumerGroupListing_is_simple_consumer_group(
    const rd_kafka_ConsumerGroupListing_t *grplist);

/**
 * Returns its state; RD_KAFKA_CONSUMER_GROUP_STATE_UNKNOWN for one that this header does not know.
 */
RD_EXPORT rd_kafka_consumer_group_state_t
rd_kafka_ConsumerGroupListing_state(const rd_kafka_ConsumerGroupListing_t *grplist);

/**
 * Returns its type; RD_KAFKA_CONSUMER_GROUP_TYPE_UNKNOWN for one that this header does not know.
 */
RD_EXPORT rd_kafka_consumer_group_type_t
rd_kafka_ConsumerGroupListing_type(const rd_kafka_ConsumerGroupListing_t *grplist);

/* -- Deleting groups -- */

/** A group to delete. */
typedef struct rd_kafka_DeleteGroup_s rd_kafka_DeleteGroup_t;

/** Result of rd_kafka_DeleteGroups(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DeleteGroups_result_t;

/**
 * Creates a group to delete.
 *
 * @return The caller frees it with rd_kafka_DeleteGroup_destroy(). NULL: the id is NULL or not UTF-8.
 */
RD_EXPORT rd_kafka_DeleteGroup_t *rd_kafka_DeleteGroup_new(const char *group);

/** Frees one. */
RD_EXPORT void rd_kafka_DeleteGroup_destroy(rd_kafka_DeleteGroup_t *del_group);

/** Frees each element of an array, not the array. */
RD_EXPORT void rd_kafka_DeleteGroup_destroy_array(rd_kafka_DeleteGroup_t **del_groups,
                                           size_t del_group_cnt);

/**
 * Deletes groups without members, with their committed offsets (KIP-229, Kafka 1.1), at their
 * coordinators. Options: request_timeout, broker, opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_DELETEGROUPS_RESULT.
 *
 * Each group has its error: RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP, RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND,
 * or RD_KAFKA_RESP_ERR__TIMED_OUT. The call fails as a whole with RD_KAFKA_RESP_ERR__INVALID_ARG for
 * no groups and for a group that is named twice.
 */
RD_EXPORT void rd_kafka_DeleteGroups(rd_kafka_t *rk,
                                     rd_kafka_DeleteGroup_t **del_groups,
                                     size_t del_group_cnt,
                                     const rd_kafka_AdminOptions_t *options,
                                     rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DeleteGroups; NULL for other events. */
RD_EXPORT const rd_kafka_DeleteGroups_result_t *
rd_kafka_event_DeleteGroups_result(rd_kafka_event_t *rkev);

/**
 * Returns the groups in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_group_result_t **
rd_kafka_DeleteGroups_result_groups(const rd_kafka_DeleteGroups_result_t *result, size_t *cntp);

/* -- Describing groups -- */

/** Description of a group. */
typedef struct rd_kafka_ConsumerGroupDescription_s rd_kafka_ConsumerGroupDescription_t;
/** A member in the description of a group. */
typedef struct rd_kafka_MemberDescription_s rd_kafka_MemberDescription_t;
/** A member's partitions. */
typedef struct rd_kafka_MemberAssignment_s rd_kafka_MemberAssignment_t;

/** Result of rd_kafka_DescribeConsumerGroups(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DescribeConsumerGroups_result_t;

/**
 * Describes groups of consumers, of both protocols, at their coordinators. Options: request_timeout,
 * include_authorized_operations, broker, opaque.
 *
 * @param groups   The ids of groups, each once.
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_DESCRIBECONSUMERGROUPS_RESULT.
 *
 * Each group has its error: one of the broker, RD_KAFKA_RESP_ERR__TIMED_OUT, or
 * RD_KAFKA_RESP_ERR__INVALID_ARG for a group of another protocol type. A group that does not exist has
 * no error and the state RD_KAFKA_CONSUMER_GROUP_STATE_DEAD. The call fails as a whole with
 * RD_KAFKA_RESP_ERR__INVALID_ARG for no groups and for a group that is named twice.
 */
RD_EXPORT void rd_kafka_DescribeConsumerGroups(rd_kafka_t *rk,
                                               const char **groups,
                                               size_t groups_cnt,
                                               const rd_kafka_AdminOptions_t *options,
                                               rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DescribeConsumerGroups; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeConsumerGroups_result_t *
rd_kafka_event_DescribeConsumerGroups_result(rd_kafka_event_t *rkev);

/**
 * Returns the groups in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_ConsumerGroupDescription_t **rd_kafka_DescribeConsumerGroups_result_groups(
    const rd_kafka_DescribeConsumerGroups_result_t *result,
    size_t *cntp);

/** Returns the group's id, which belongs to the result. */
RD_EXPORT const char *rd_kafka_ConsumerGroupDescription_group_id(
    const rd_kafka_ConsumerGroupDescription_t *grpdesc);

/** Returns the group's error, which belongs to the result; NULL for none. */
RD_EXPORT const rd_kafka_error_t *rd_kafka_ConsumerGroupDescription_error(
    const rd_kafka_ConsumerGroupDescription_t *grpdesc);

/** Returns 1 if the group has no protocol: it has only committed offsets, or does not exist; else 0. */
RD_EXPORT int rd_kafka_ConsumerGroupDescription_is_simple_consumer_group(
    const rd_kafka_ConsumerGroupDescription_t *grpdesc);

/** Returns the name of the group's assignor, which belongs to the result; empty for none. */
RD_EXPORT const char *rd_kafka_ConsumerGroupDescription_partition_assignor(
    const rd_kafka_ConsumerGroupDescription_t *grpdesc);

/**
 * Returns the operations that the client may perform on the group.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if they were not requested.
 */
RD_EXPORT const rd_kafka_AclOperation_t *rd_kafka_ConsumerGroupDescription_authorized_operations(
    const rd_kafka_ConsumerGroupDescription_t *grpdesc,
    size_t *cntp);

/**
 * Returns the group's state; RD_KAFKA_CONSUMER_GROUP_STATE_UNKNOWN for one that this header does not
 * know.
 */
RD_EXPORT rd_kafka_consumer_group_state_t rd_kafka_ConsumerGroupDescription_state(
    const rd_kafka_ConsumerGroupDescription_t *grpdesc);

/** Returns the coordinator, which belongs to the result; NULL for a group with an error. */
RD_EXPORT const rd_kafka_Node_t *rd_kafka_ConsumerGroupDescription_coordinator(
    const rd_kafka_ConsumerGroupDescription_t *grpdesc);

/** Returns the group's type; RD_KAFKA_CONSUMER_GROUP_TYPE_UNKNOWN for a group with an error. */
RD_EXPORT rd_kafka_consumer_group_type_t rd_kafka_ConsumerGroupDescription_type(
    const rd_kafka_ConsumerGroupDescription_t *grpdesc);

/** Returns the number of members. */
RD_EXPORT size_t rd_kafka_ConsumerGroupDescription_member_count(
    const rd_kafka_ConsumerGroupDescription_t *grpdesc);

/** Returns a member, which belongs to the result; NULL for an index beyond the last. */
RD_EXPORT const rd_kafka_MemberDescription_t *rd_kafka_ConsumerGroupDescription_member(
    const rd_kafka_ConsumerGroupDescription_t *grpdesc,
    size_t idx);

/** Returns the `client.id` of the member, which belongs to the result. */
RD_EXPORT const char *
rd_kafka_MemberDescription_client_id(const rd_kafka_MemberDescription_t *member);

/** Returns the `group.instance.id` of the member, which belongs to the result; NULL for none. */
RD_EXPORT const char *
rd_kafka_MemberDescription_group_instance_id(const rd_kafka_MemberDescription_t *member);

/** Returns the member's id, which belongs to the result. */
RD_EXPORT const char *
rd_kafka_MemberDescription_consumer_id(const rd_kafka_MemberDescription_t *member);

/** Returns the member's host, which belongs to the result. */
RD_EXPORT const char *rd_kafka_MemberDescription_host(const rd_kafka_MemberDescription_t *member);

/** Returns the partitions that the member has; they belong to the result. */
RD_EXPORT const rd_kafka_MemberAssignment_t *
rd_kafka_MemberDescription_assignment(const rd_kafka_MemberDescription_t *member);

/** Returns the partitions of an assignment, which belong to the result. */
RD_EXPORT const rd_kafka_topic_partition_list_t *
rd_kafka_MemberAssignment_partitions(const rd_kafka_MemberAssignment_t *assignment);

/**
 * Returns the partitions that the member is to have (KIP-848); they belong to the result. NULL for a
 * group of the classic protocol.
 */
RD_EXPORT const rd_kafka_MemberAssignment_t *
rd_kafka_MemberDescription_target_assignment(const rd_kafka_MemberDescription_t *member);

/* -- Committed offsets -- */

/** A group whose committed offsets are asked for. */
typedef struct rd_kafka_ListConsumerGroupOffsets_s rd_kafka_ListConsumerGroupOffsets_t;
/** A group with the committed offsets that it shall have. */
typedef struct rd_kafka_AlterConsumerGroupOffsets_s rd_kafka_AlterConsumerGroupOffsets_t;
/** A group with the partitions whose committed offsets are to be deleted. */
typedef struct rd_kafka_DeleteConsumerGroupOffsets_s rd_kafka_DeleteConsumerGroupOffsets_t;

/** Result of rd_kafka_ListConsumerGroupOffsets(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_ListConsumerGroupOffsets_result_t;

/** Result of rd_kafka_AlterConsumerGroupOffsets(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_AlterConsumerGroupOffsets_result_t;

/** Result of rd_kafka_DeleteConsumerGroupOffsets(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DeleteConsumerGroupOffsets_result_t;

/**
 * Creates a group whose committed offsets are listed.
 *
 * @param partitions  The partitions, copied; NULL for all that have a committed offset.
 *
 * @return The caller frees it with rd_kafka_ListConsumerGroupOffsets_destroy(). NULL: the id is NULL,
 *         or a name is not UTF-8.
 */
RD_EXPORT rd_kafka_ListConsumerGroupOffsets_t *
rd_kafka_ListConsumerGroupOffsets_new(const char *group_id,
                                      const rd_kafka_topic_partition_list_t *partitions);

/** Frees one. */
RD_EXPORT void rd_kafka_ListConsumerGroupOffsets_destroy(rd_kafka_ListConsumerGroupOffsets_t *list_grpoffset);

/** Frees each element of an array, not the array. */
RD_EXPORT void rd_kafka_ListConsumerGroupOffsets_destroy_array(
    rd_kafka_ListConsumerGroupOffsets_t **list_grpoffsets,
    size_t list_grpoffset_cnt);

/**
 * Lists committed offsets of groups, at their coordinators. Options: request_timeout,
 * require_stable_offsets, broker, opaque.
 *
 * @param list_grpoffsets      One group or more, each once. (librdkafka accepts one only.)
 * @param list_grpoffsets_cnt  Their number.
 * @param options              May be NULL.
 * @param rkqu                 Gets the result, RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT.
 *
 * A partition without a committed offset has the offset RD_KAFKA_OFFSET_INVALID. The call fails as a
 * whole with RD_KAFKA_RESP_ERR__INVALID_ARG for no group, for an empty list of partitions, and for a
 * group or partition that is named twice.
 */
RD_EXPORT void rd_kafka_ListConsumerGroupOffsets(
    rd_kafka_t *rk,
    rd_kafka_ListConsumerGroupOffsets_t **list_grpoffsets,
    size_t list_grpoffsets_cnt,
    const rd_kafka_AdminOptions_t *options,
    rd_kafka_queue_t *rkqu);

/** Returns the event as the result of ListConsumerGroupOffsets; NULL for other events. */
RD_EXPORT const rd_kafka_ListConsumerGroupOffsets_result_t *
rd_kafka_event_ListConsumerGroupOffsets_result(rd_kafka_event_t *rkev);

/**
 * Returns the groups in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_group_result_t **
rd_kafka_ListConsumerGroupOffsets_result_groups(
    const rd_kafka_ListConsumerGroupOffsets_result_t *result,
    size_t *cntp);

/**
 * Creates a group with offsets to commit.
 *
 * @param partitions  The partitions with their offsets, leader epochs and metadata, copied.
 *
 * @return The caller frees it with rd_kafka_AlterConsumerGroupOffsets_destroy(). NULL: an argument is
 *         NULL, or a name is not UTF-8.
 */
RD_EXPORT rd_kafka_AlterConsumerGroupOffsets_t *
rd_kafka_AlterConsumerGroupOffsets_new(const char *group_id,
                                       const rd_kafka_topic_partition_list_t *partitions);

/** Frees one. */
RD_EXPORT void rd_kafka_AlterConsumerGroupOffsets_destroy(
    rd_kafka_AlterConsumerGroupOffsets_t *alter_grpoffset);

/** Frees each element of an array, not the array. */
RD_EXPORT void rd_kafka_AlterConsumerGroupOffsets_destroy_array(
    rd_kafka_AlterConsumerGroupOffsets_t **alter_grpoffsets,
    size_t alter_grpoffset_cnt);

/**
 * Commits offsets for groups, as no member of them, at their coordinators. Options: request_timeout,
 * broker, opaque.
 *
 * @param alter_grpoffsets      One group or more, each once. (librdkafka accepts one only.)
 * @param alter_grpoffsets_cnt  Their number.
 * @param options               May be NULL.
 * @param rkqu                  Gets the result, RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT.
 *
 * Each partition has its error: RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID while the group has members, for
 * example. The call fails as a whole with RD_KAFKA_RESP_ERR__INVALID_ARG for no group, for an empty
 * list of partitions, for an offset below 0, and for a group or partition that is named twice.
 */
RD_EXPORT void rd_kafka_AlterConsumerGroupOffsets(
    rd_kafka_t *rk,
    rd_kafka_AlterConsumerGroupOffsets_t **alter_grpoffsets,
    size_t alter_grpoffsets_cnt,
    const rd_kafka_AdminOptions_t *options,
    rd_kafka_queue_t *rkqu);

/** Returns the event as the result of AlterConsumerGroupOffsets; NULL for other events. */
RD_EXPORT const rd_kafka_AlterConsumerGroupOffsets_result_t *
rd_kafka_event_AlterConsumerGroupOffsets_result(rd_kafka_event_t *rkev);

/**
 * Returns the groups in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_group_result_t **
rd_kafka_AlterConsumerGroupOffsets_result_groups(
    const rd_kafka_AlterConsumerGroupOffsets_result_t *result,
    size_t *cntp);

/**
 * Creates a group with partitions whose committed offsets are deleted.
 *
 * @param partitions  The partitions, copied.
 *
 * @return The caller frees it with rd_kafka_DeleteConsumerGroupOffsets_destroy(). NULL: an argument is
 *         NULL, or a name is not UTF-8.
 */
RD_EXPORT rd_kafka_DeleteConsumerGroupOffsets_t *
rd_kafka_DeleteConsumerGroupOffsets_new(const char *group,
                                        const rd_kafka_topic_partition_list_t *partitions);

/** Frees one. */
RD_EXPORT void rd_kafka_DeleteConsumerGroupOffsets_destroy(
    rd_kafka_DeleteConsumerGroupOffsets_t *del_grpoffset);

/** Frees each element of an array, not the array. */
RD_EXPORT void rd_kafka_DeleteConsumerGroupOffsets_destroy_array(
    rd_kafka_DeleteConsumerGroupOffsets_t **del_grpoffsets,
    size_t del_grpoffset_cnt);

/**
 * Deletes committed offsets of groups (KIP-496, Kafka 2.4), at their coordinators. Options:
 * request_timeout, broker, opaque.
 *
 * @param del_grpoffsets      One group or more, each once. (librdkafka accepts one only.)
 * @param del_grpoffsets_cnt  Their number.
 * @param options             May be NULL.
 * @param rkqu                Gets the result, RD_KAFKA_EVENT_DELETECONSUMERGROUPOFFSETS_RESULT.
 *
 * Each partition has its error: RD_KAFKA_RESP_ERR_GROUP_SUBSCRIBED_TO_TOPIC while members of the group
 * consume it, for example. The error of a group, such as RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND, is that
 * of the call if the group is the only one. The call fails as a whole with
 * RD_KAFKA_RESP_ERR__INVALID_ARG for no group and for a group that is named twice.
 */
RD_EXPORT void rd_kafka_DeleteConsumerGroupOffsets(
    rd_kafka_t *rk,
    rd_kafka_DeleteConsumerGroupOffsets_t **del_grpoffsets,
    size_t del_grpoffsets_cnt,
    const rd_kafka_AdminOptions_t *options,
    rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DeleteConsumerGroupOffsets; NULL for other events. */
RD_EXPORT const rd_kafka_DeleteConsumerGroupOffsets_result_t *
rd_kafka_event_DeleteConsumerGroupOffsets_result(rd_kafka_event_t *rkev);

/**
 * Returns the groups in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_group_result_t **
rd_kafka_DeleteConsumerGroupOffsets_result_groups(
    const rd_kafka_DeleteConsumerGroupOffsets_result_t *result,
    size_t *cntp);

/* -- Deleting records -- */

/** Partitions with the offsets below which records are to be deleted. */
typedef struct rd_kafka_DeleteRecords_s rd_kafka_DeleteRecords_t;

/** Result of rd_kafka_DeleteRecords(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DeleteRecords_result_t;

/**
 * Creates partitions with the offsets before which their records are deleted.
 *
 * @param before_offsets  The partitions and offsets, copied. RD_KAFKA_OFFSET_END deletes all records
 *                        before the high watermark.
 *
 * @return The caller frees it with rd_kafka_DeleteRecords_destroy(). NULL: the list is NULL, or a name
 *         is not UTF-8.
 */
RD_EXPORT rd_kafka_DeleteRecords_t *
rd_kafka_DeleteRecords_new(const rd_kafka_topic_partition_list_t *before_offsets);

/** Frees one. */
RD_EXPORT void rd_kafka_DeleteRecords_destroy(rd_kafka_DeleteRecords_t *del_records);

/** Frees each element of an array, not the array. */
RD_EXPORT void rd_kafka_DeleteRecords_destroy_array(rd_kafka_DeleteRecords_t **del_records,
                                           size_t del_record_cnt);

/**
 * Deletes records (KIP-107, Kafka 0.11), at each partition's leader. Options: request_timeout,
 * operation_timeout (the time for which a leader waits for its followers), broker, opaque.
 *
 * @param del_records     Exactly one object.
 * @param del_record_cnt  1.
 * @param options         May be NULL.
 * @param rkqu            Gets the result, RD_KAFKA_EVENT_DELETERECORDS_RESULT.
 *
 * Topics are not created. The call fails as a whole with RD_KAFKA_RESP_ERR__INVALID_ARG for another
 * number of objects, for no partitions, and for a partition that is named twice.
 */
RD_EXPORT void rd_kafka_DeleteRecords(rd_kafka_t *rk,
                                      rd_kafka_DeleteRecords_t **del_records,
                                      size_t del_record_cnt,
                                      const rd_kafka_AdminOptions_t *options,
                                      rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DeleteRecords; NULL for other events. */
RD_EXPORT const rd_kafka_DeleteRecords_result_t *
rd_kafka_event_DeleteRecords_result(rd_kafka_event_t *rkev);

/**
 * Returns the partitions in the order of the call, with their new low watermarks as offsets and their
 * errors: RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
 * RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, RD_KAFKA_RESP_ERR__TIMED_OUT for one without a leader, and so
 * on.
 *
 * @return A list that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_topic_partition_list_t *
rd_kafka_DeleteRecords_result_offsets(const rd_kafka_DeleteRecords_result_t *result);

/* -- Listing offsets -- */

/** An offset with its timestamp. */
typedef struct rd_kafka_ListOffsetsResultInfo_s rd_kafka_ListOffsetsResultInfo_t;

/** In place of a time, when offsets are listed. */
typedef enum rd_kafka_OffsetSpec_t {
        /** The record with the largest timestamp (KIP-734). */
        RD_KAFKA_OFFSET_SPEC_MAX_TIMESTAMP = -3,
        RD_KAFKA_OFFSET_SPEC_EARLIEST = -2,      /**< The first offset. */
        RD_KAFKA_OFFSET_SPEC_LATEST = -1         /**< The high watermark. */
} rd_kafka_OffsetSpec_t;

/** Result of rd_kafka_ListOffsets(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_ListOffsets_result_t;

/**
 * Looks up offsets, at each partition's leader. Options: request_timeout, isolation_level,
 * operation_timeout, broker, opaque.
 *
 * @param topic_partitions  The partitions, copied. The offset of each is a rd_kafka_OffsetSpec_t, or a
 *                          timestamp in milliseconds: the offset of the first record with that
 *                          timestamp or a later one is returned.
 * @param options           May be NULL.
 * @param rkqu              Gets the result, RD_KAFKA_EVENT_LISTOFFSETS_RESULT.
 *
 * Topics are not created. The call fails as a whole with RD_KAFKA_RESP_ERR__INVALID_ARG for an offset
 * below RD_KAFKA_OFFSET_SPEC_MAX_TIMESTAMP and for a partition that is named twice.
 */
RD_EXPORT void rd_kafka_ListOffsets(rd_kafka_t *rk,
                                    rd_kafka_topic_partition_list_t *topic_partitions,
                                    const rd_kafka_AdminOptions_t *options,
                                    rd_kafka_queue_t *rkqu);

/** Returns the event as the result of ListOffsets; NULL for other events. */
RD_EXPORT const rd_kafka_ListOffsets_result_t *
rd_kafka_event_ListOffsets_result(rd_kafka_event_t *rkev);

/**
 * Returns the offsets in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty or the call failed.
 */
RD_EXPORT const rd_kafka_ListOffsetsResultInfo_t **
rd_kafka_ListOffsets_result_infos(const rd_kafka_ListOffsets_result_t *result, size_t *cntp);

/**
 * Returns the partition with its offset, leader epoch and error; it belongs to the result. The offset
 * is -1 if there is no record at the timestamp or later.
 */
RD_EXPORT const rd_kafka_topic_partition_t *
rd_kafka_ListOffsetsResultInfo_topic_partition(const rd_kafka_ListOffsetsResultInfo_t *result_info);

/** Returns the record's timestamp in milliseconds; -1 for the ends of the log. */
RD_EXPORT int64_t
rd_kafka_ListOffsetsResultInfo_timestamp(const rd_kafka_ListOffsetsResultInfo_t *result_info);

/* -- Describing topics -- */

/** Topics to describe. */
typedef struct rd_kafka_TopicCollection_s rd_kafka_TopicCollection_t;
/** A partition in the description of a topic. */
typedef struct rd_kafka_TopicPartitionInfo_s rd_kafka_TopicPartitionInfo_t;
/** Description of a topic. */
typedef struct rd_kafka_TopicDescription_s rd_kafka_TopicDescription_t;

/** Result of rd_kafka_DescribeTopics(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DescribeTopics_result_t;

/**
 * Creates a collection of topics, by name.
 *
 * @param topics      The names, copied.
 * @param topics_cnt  Their number.
 *
 * @return The caller frees it with rd_kafka_TopicCollection_destroy(). NULL: a name is NULL or not
 *         UTF-8.
 */
RD_EXPORT rd_kafka_TopicCollection_t *rd_kafka_TopicCollection_of_topic_names(const char **topics,
                                                                              size_t topics_cnt);

/** Frees a collection. */
RD_EXPORT void rd_kafka_TopicCollection_destroy(rd_kafka_TopicCollection_t *topics);

/**
 * Describes topics, at any broker. Options: request_timeout, include_authorized_operations, broker,
 * opaque.
 *
 * @param topics   The topics, copied.
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT.
 *
 * Topics are not created. The call fails as a whole with RD_KAFKA_RESP_ERR__INVALID_ARG for an empty
 * name and for a topic that is named twice.
 */
RD_EXPORT void rd_kafka_DescribeTopics(rd_kafka_t *rk,
                                       const rd_kafka_TopicCollection_t *topics,
                                       const rd_kafka_AdminOptions_t *options,
                                       rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DescribeTopics; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeTopics_result_t *
rd_kafka_event_DescribeTopics_result(rd_kafka_event_t *rkev);

/**
 * Returns the topics in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty or the call failed.
 */
RD_EXPORT const rd_kafka_TopicDescription_t **
rd_kafka_DescribeTopics_result_topics(const rd_kafka_DescribeTopics_result_t *result, size_t *cntp);

/**
 * Returns the topic's partitions, by number.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL for a topic with an error.
 */
RD_EXPORT const rd_kafka_TopicPartitionInfo_t **
rd_kafka_TopicDescription_partitions(const rd_kafka_TopicDescription_t *topicdesc, size_t *cntp);

/** Returns the partition's number. */
RD_EXPORT int
rd_kafka_TopicPartitionInfo_partition(const rd_kafka_TopicPartitionInfo_t *partition);

/** Returns the partition's leader, which belongs to the result; NULL for none. */
RD_EXPORT const rd_kafka_Node_t *
rd_kafka_TopicPartitionInfo_leader(const rd_kafka_TopicPartitionInfo_t *partition);

/**
 * Returns the replicas that are in sync.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_Node_t **
rd_kafka_TopicPartitionInfo_isr(const rd_kafka_TopicPartitionInfo_t *partition, size_t *cntp);

/** Returns all replicas, as rd_kafka_TopicPartitionInfo_isr() does. */
RD_EXPORT const rd_kafka_Node_t **
rd_kafka_TopicPartitionInfo_replicas(const rd_kafka_TopicPartitionInfo_t *partition, size_t *cntp);

/**
 * Returns the operations that the client may perform on the topic.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if they were not requested.
 */
RD_EXPORT const rd_kafka_AclOperation_t *
rd_kafka_TopicDescription_authorized_operations(const rd_kafka_TopicDescription_t *topicdesc,
                                                size_t *cntp);

/** Returns the topic's name, which belongs to the result. */
RD_EXPORT const char *rd_kafka_TopicDescription_name(const rd_kafka_TopicDescription_t *topicdesc);

/** Returns the topic's id, which belongs to the result; zero from brokers before Kafka 2.8. */
RD_EXPORT const rd_kafka_Uuid_t *
rd_kafka_TopicDescription_topic_id(const rd_kafka_TopicDescription_t *topicdesc);

/** Returns 1 if the topic belongs to Kafka itself; else 0. */
RD_EXPORT int
rd_kafka_TopicDescription_is_internal(const rd_kafka_TopicDescription_t *topicdesc);

/** Returns the topic's error, which belongs to the result; NULL for none. */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_TopicDescription_error(const rd_kafka_TopicDescription_t *topicdesc);

/* -- Describing the cluster -- */

/** Result of rd_kafka_DescribeCluster(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DescribeCluster_result_t;

/**
 * Describes the cluster: its brokers, controller and id, from any broker. Options: request_timeout,
 * include_authorized_operations, broker, opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_DESCRIBECLUSTER_RESULT.
 */
RD_EXPORT void rd_kafka_DescribeCluster(rd_kafka_t *rk,
                                        const rd_kafka_AdminOptions_t *options,
                                        rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DescribeCluster; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeCluster_result_t *
rd_kafka_event_DescribeCluster_result(rd_kafka_event_t *rkev);

/**
 * Returns the brokers, by id.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_Node_t **
rd_kafka_DescribeCluster_result_nodes(const rd_kafka_DescribeCluster_result_t *result, size_t *cntp);

/**
 * Returns the operations that the client may perform on the cluster.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if they were not requested.
 */
RD_EXPORT const rd_kafka_AclOperation_t *rd_kafka_DescribeCluster_result_authorized_operations(
    const rd_kafka_DescribeCluster_result_t *result,
    size_t *cntp);

/**
 * Returns the controller, which belongs to the result; NULL if it is unknown. In a KRaft cluster it is
 * a broker that forwards requests to the controller.
 */
RD_EXPORT const rd_kafka_Node_t *
rd_kafka_DescribeCluster_result_controller(const rd_kafka_DescribeCluster_result_t *result);

/** Returns the cluster's id, which belongs to the result; NULL if it is unknown. */
RD_EXPORT const char *
rd_kafka_DescribeCluster_result_cluster_id(const rd_kafka_DescribeCluster_result_t *result);

/* -- Electing leaders -- */

/** Outcome for one partition. */
typedef struct rd_kafka_topic_partition_result_s rd_kafka_topic_partition_result_t;

/** Returns the partition with its error; it belongs to the result. */
RD_EXPORT const rd_kafka_topic_partition_t *rd_kafka_topic_partition_result_partition(
    const rd_kafka_topic_partition_result_t *partition_result);

/** Returns the error, which belongs to the result; its code is 0 for success. */
RD_EXPORT const rd_kafka_error_t *rd_kafka_topic_partition_result_error(
    const rd_kafka_topic_partition_result_t *partition_result);

/** The replica that becomes leader. */
typedef enum rd_kafka_ElectionType_t {
        RD_KAFKA_ELECTION_TYPE_PREFERRED = 0, /**< The preferred one. */
        /** One that is not in sync, if no other is there: may lose records. */
        RD_KAFKA_ELECTION_TYPE_UNCLEAN = 1
} rd_kafka_ElectionType_t;

/** Partitions whose leaders are elected. */
typedef struct rd_kafka_ElectLeaders_s rd_kafka_ElectLeaders_t;

/** Result of rd_kafka_ElectLeaders(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_ElectLeaders_result_t;

/**
 * Creates an election.
 *
 * @param partitions  The partitions, copied; NULL for all of the cluster.
 *
 * @return The caller frees it with rd_kafka_ElectLeaders_destroy(). NULL: a name is not UTF-8.
 */
RD_EXPORT rd_kafka_ElectLeaders_t *
rd_kafka_ElectLeaders_new(rd_kafka_ElectionType_t election_type,
                          rd_kafka_topic_partition_list_t *partitions);

/** Frees an election. */
RD_EXPORT void rd_kafka_ElectLeaders_destroy(rd_kafka_ElectLeaders_t *elect_leaders);

/**
 * Elects leaders (KIP-183, Kafka 2.2; unclean elections: KIP-460, Kafka 2.4), at the controller.
 * Options: request_timeout, operation_timeout, broker, opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_ELECTLEADERS_RESULT.
 *
 * Each partition has its error: RD_KAFKA_RESP_ERR_ELECTION_NOT_NEEDED, for example. The call fails as
 * a whole with RD_KAFKA_RESP_ERR__INVALID_ARG for a partition that is named twice and for another type
 * of election.
 */
RD_EXPORT void rd_kafka_ElectLeaders(rd_kafka_t *rk,
                                     rd_kafka_ElectLeaders_t *elect_leaders,
                                     const rd_kafka_AdminOptions_t *options,
                                     rd_kafka_queue_t *rkqu);

/** Returns the event as the result of ElectLeaders; NULL for other events. */
RD_EXPORT const rd_kafka_ElectLeaders_result_t *
rd_kafka_event_ElectLeaders_result(rd_kafka_event_t *rkev);

/**
 * Returns the partitions in the order of the call; for all of the cluster, those whose leader
 * changed or could not be elected.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty or the call failed.
 */
RD_EXPORT const rd_kafka_topic_partition_result_t **rd_kafka_ElectLeaders_result_partitions(
    const rd_kafka_ElectLeaders_result_t *result,
    size_t *cntp);

/* -- Access control -- */

/** The meaning of a resource's name in an access control entry (KIP-290). */
typedef enum rd_kafka_ResourcePatternType_t {
        RD_KAFKA_RESOURCE_PATTERN_UNKNOWN = 0,  /**< Not known. */
        RD_KAFKA_RESOURCE_PATTERN_ANY = 1,      /**< In filters: any. */
        RD_KAFKA_RESOURCE_PATTERN_MATCH = 2,    /**< In filters: entries that apply to the name. */
        RD_KAFKA_RESOURCE_PATTERN_LITERAL = 3,  /**< Exactly this name, or "*" for all. */
        RD_KAFKA_RESOURCE_PATTERN_PREFIXED = 4, /**< Names that start with it. */
        RD_KAFKA_RESOURCE_PATTERN_TYPE__CNT = 5 /**< Number of values. */
} rd_kafka_ResourcePatternType_t;

/** Returns the name of a type of patterns, "UNSUPPORTED" for other numbers. */
RD_EXPORT const char *
rd_kafka_ResourcePatternType_name(rd_kafka_ResourcePatternType_t resource_pattern_type);

/** Returns the name of an operation, "UNSUPPORTED" for other numbers. */
RD_EXPORT const char *rd_kafka_AclOperation_name(rd_kafka_AclOperation_t acl_operation);

/** The effect of an access control entry. */
typedef enum rd_kafka_AclPermissionType_t {
        RD_KAFKA_ACL_PERMISSION_TYPE_UNKNOWN = 0, /**< Not known. */
        RD_KAFKA_ACL_PERMISSION_TYPE_ANY = 1,     /**< In filters: any. */
        RD_KAFKA_ACL_PERMISSION_TYPE_DENY = 2,    /**< Deny. */
        RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW = 3,   /**< Allow. */
        RD_KAFKA_ACL_PERMISSION_TYPE__CNT = 4     /**< Number of values. */
} rd_kafka_AclPermissionType_t;

/** Returns the name of an effect, "UNSUPPORTED" for other numbers. */
RD_EXPORT const char *
rd_kafka_AclPermissionType_name(rd_kafka_AclPermissionType_t acl_permission_type);

/** An access control entry. */
typedef struct rd_kafka_AclBinding_s rd_kafka_AclBinding_t;
/** A filter for access control entries. */
typedef rd_kafka_AclBinding_t rd_kafka_AclBindingFilter_t;
/** Outcome for one access control entry. */
typedef struct rd_kafka_acl_result_s rd_kafka_acl_result_t;
/** Outcome for one filter. */
typedef struct rd_kafka_DeleteAcls_result_response_s rd_kafka_DeleteAcls_result_response_t;

/** Result of rd_kafka_CreateAcls(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_CreateAcls_result_t;

/** Result of rd_kafka_DescribeAcls(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DescribeAcls_result_t;

/** Result of rd_kafka_DeleteAcls(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DeleteAcls_result_t;

/**
 * Creates an access control entry.
 *
 * @param restype                The type of the resource; RD_KAFKA_RESOURCE_BROKER is the cluster.
 * @param name                   The resource's name; "kafka-cluster" for the cluster.
 * @param resource_pattern_type  RD_KAFKA_RESOURCE_PATTERN_LITERAL or _PREFIXED.
 * @param principal              The principal, such as "User:alice".
 * @param host                   The client's host; "*" for any.
 * @param operation              The operation, not RD_KAFKA_ACL_OPERATION_ANY.
 * @param permission_type        RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW or _DENY.
 *
 * @return The caller frees it with rd_kafka_AclBinding_destroy(). NULL with a text in `errstr` (NULL is
 *         allowed): a text is NULL, or a number is none of its type.
 */
RD_EXPORT rd_kafka_AclBinding_t *
rd_kafka_AclBinding_new(rd_kafka_ResourceType_t restype,
                        const char *name,
                        rd_kafka_ResourcePatternType_t resource_pattern_type,
                        const char *principal,
                        const char *host,
                        rd_kafka_AclOperation_t operation,
                        rd_kafka_AclPermissionType_t permission_type,
                        char *errstr,
                        size_t errstr_size);

/**
 * Creates a filter for access control entries, as rd_kafka_AclBinding_new() does. A NULL text and the
 * number "any" of each type match any.
 */
RD_EXPORT rd_kafka_AclBindingFilter_t *
rd_kafka_AclBindingFilter_new(rd_kafka_ResourceType_t restype,
                              const char *name,
                              rd_kafka_ResourcePatternType_t resource_pattern_type,
                              const char *principal,
                              const char *host,
                              rd_kafka_AclOperation_t operation,
                              rd_kafka_AclPermissionType_t permission_type,
                              char *errstr,
                              size_t errstr_size);

/** Returns the type of the resource. */
RD_EXPORT rd_kafka_ResourceType_t rd_kafka_AclBinding_restype(const rd_kafka_AclBinding_t *acl);

/** Returns the resource's name, which belongs to the entry; NULL for any. */
RD_EXPORT const char *rd_kafka_AclBinding_name(const rd_kafka_AclBinding_t *acl);

/** Returns the principal, which belongs to the entry; NULL for any. */
RD_EXPORT const char *rd_kafka_AclBinding_principal(const rd_kafka_AclBinding_t *acl);

/** Returns the client's host, which belongs to the entry; NULL for any. */
RD_EXPORT const char *rd_kafka_AclBinding_host(const rd_kafka_AclBinding_t *acl);

/** Returns the operation; also numbers of later brokers that have no name here. */
RD_EXPORT rd_kafka_AclOperation_t
rd_kafka_AclBinding_operation(const rd_kafka_AclBinding_t *acl);

/** Returns the effect. */
RD_EXPORT rd_kafka_AclPermissionType_t
rd_kafka_AclBinding_permission_type(const rd_kafka_AclBinding_t *acl);

/** Returns the meaning of the resource's name. */
RD_EXPORT rd_kafka_ResourcePatternType_t
rd_kafka_AclBinding_resource_pattern_type(const rd_kafka_AclBinding_t *acl);

/** Returns the error of an entry in a result, which belongs to it; NULL for none. */
RD_EXPORT const rd_kafka_error_t *rd_kafka_AclBinding_error(const rd_kafka_AclBinding_t *acl);

/** Frees an entry or a filter. */
RD_EXPORT void rd_kafka_AclBinding_destroy(rd_kafka_AclBinding_t *acl_binding);

/** Frees each element of an array, not the array. */
RD_EXPORT void rd_kafka_AclBinding_destroy_array(rd_kafka_AclBinding_t **acl_bindings,
                                                 size_t acl_bindings_cnt);

/**
 * Creates access control entries (KIP-140, Kafka 0.11), at any broker. Options: request_timeout,
 * broker, opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_CREATEACLS_RESULT.
 *
 * An entry that exists already has no error.
 */
RD_EXPORT void rd_kafka_CreateAcls(rd_kafka_t *rk,
                                   rd_kafka_AclBinding_t **new_acls,
                                   size_t new_acls_cnt,
                                   const rd_kafka_AdminOptions_t *options,
                                   rd_kafka_queue_t *rkqu);

/** Returns the event as the result of CreateAcls; NULL for other events. */
RD_EXPORT const rd_kafka_CreateAcls_result_t *
rd_kafka_event_CreateAcls_result(rd_kafka_event_t *rkev);

/**
 * Returns the results of the entries in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty or the call failed.
 */
RD_EXPORT const rd_kafka_acl_result_t **rd_kafka_CreateAcls_result_acls(
    const rd_kafka_CreateAcls_result_t *result,
    size_t *cntp);

/** Returns the error of an entry, which belongs to the result; NULL for none. */
RD_EXPORT const rd_kafka_error_t *rd_kafka_acl_result_error(const rd_kafka_acl_result_t *aclres);

/**
 * Describes the access control entries that match a filter (KIP-140, Kafka 0.11), at any broker.
 * Options: request_timeout, broker, opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_DESCRIBEACLS_RESULT.
 *
 * The call fails as a whole with the broker's error: RD_KAFKA_RESP_ERR_SECURITY_DISABLED without an
 * authorizer, for example.
 */
RD_EXPORT void rd_kafka_DescribeAcls(rd_kafka_t *rk,
                                     rd_kafka_AclBindingFilter_t *acl_filter,
                                     const rd_kafka_AdminOptions_t *options,
                                     rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DescribeAcls; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeAcls_result_t *
rd_kafka_event_DescribeAcls_result(rd_kafka_event_t *rkev);

/**
 * Returns the entries.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty or the call failed.
 */
RD_EXPORT const rd_kafka_AclBinding_t **rd_kafka_DescribeAcls_result_acls(
    const rd_kafka_DescribeAcls_result_t *result,
    size_t *cntp);

/**
 * Deletes the access control entries that match filters (KIP-140, Kafka 0.11), at any broker. Options:
 * request_timeout, broker, opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_DELETEACLS_RESULT.
 */
RD_EXPORT void rd_kafka_DeleteAcls(rd_kafka_t *rk,
                                   rd_kafka_AclBindingFilter_t **del_acls,
                                   size_t del_acls_cnt,
                                   const rd_kafka_AdminOptions_t *options,
                                   rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DeleteAcls; NULL for other events. */
RD_EXPORT const rd_kafka_DeleteAcls_result_t *
rd_kafka_event_DeleteAcls_result(rd_kafka_event_t *rkev);

/**
 * Returns the results of the filters in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty or the call failed.
 */
RD_EXPORT const rd_kafka_DeleteAcls_result_response_t **rd_kafka_DeleteAcls_result_responses(
    const rd_kafka_DeleteAcls_result_t *result,
    size_t *cntp);

/** Returns the error of a filter, which belongs to the result; NULL for none. */
RD_EXPORT const rd_kafka_error_t *rd_kafka_DeleteAcls_result_response_error(
    const rd_kafka_DeleteAcls_result_response_t *result_response);

/**
 * Returns the entries that matched a filter, each with its error (rd_kafka_AclBinding_error()) if it
 * was not deleted.
 *
 * @param matching_acls_cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_AclBinding_t **rd_kafka_DeleteAcls_result_response_matching_acls(
    const rd_kafka_DeleteAcls_result_response_t *result_response,
    size_t *matching_acls_cntp);

/* -- SCRAM credentials of users -- */

/** SCRAM mechanism. */
typedef enum rd_kafka_ScramMechanism_t {
        RD_KAFKA_SCRAM_MECHANISM_UNKNOWN = 0, /**< Not known. */
        RD_KAFKA_SCRAM_MECHANISM_SHA_256 = 1, /**< SCRAM-SHA-256. */
        RD_KAFKA_SCRAM_MECHANISM_SHA_512 = 2, /**< SCRAM-SHA-512. */
        RD_KAFKA_SCRAM_MECHANISM__CNT = 3     /**< Number of values. */
} rd_kafka_ScramMechanism_t;

/** Mechanism and iterations of a SCRAM credential. */
typedef struct rd_kafka_ScramCredentialInfo_s rd_kafka_ScramCredentialInfo_t;
/** A user's SCRAM credentials. */
typedef struct rd_kafka_UserScramCredentialsDescription_s rd_kafka_UserScramCredentialsDescription_t;
/** A SCRAM credential to set or delete. */
typedef struct rd_kafka_UserScramCredentialAlteration_s rd_kafka_UserScramCredentialAlteration_t;
/** Outcome for one user. */
typedef struct rd_kafka_AlterUserScramCredentials_result_response_s rd_kafka_AlterUserScramCredentials_result_response_t;

/** Result of rd_kafka_DescribeUserScramCredentials(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DescribeUserScramCredentials_result_t;

/** Result of rd_kafka_AlterUserScramCredentials(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_AlterUserScramCredentials_result_t;

/** Returns the mechanism; RD_KAFKA_SCRAM_MECHANISM_UNKNOWN for NULL. */
RD_EXPORT rd_kafka_ScramMechanism_t rd_kafka_ScramCredentialInfo_mechanism(
    const rd_kafka_ScramCredentialInfo_t *scram_credential_info);

/** Returns the number of iterations; -1 for NULL. */
RD_EXPORT int32_t rd_kafka_ScramCredentialInfo_iterations(
    const rd_kafka_ScramCredentialInfo_t *scram_credential_info);

/** Returns the user, which belongs to the description. */
RD_EXPORT const char *rd_kafka_UserScramCredentialsDescription_user(
    const rd_kafka_UserScramCredentialsDescription_t *description);

/**
 * Returns the user's error, which belongs to the description; its code is 0 for none.
 * RD_KAFKA_RESP_ERR_RESOURCE_NOT_FOUND: the user has no credentials.
 */
RD_EXPORT const rd_kafka_error_t *rd_kafka_UserScramCredentialsDescription_error(
    const rd_kafka_UserScramCredentialsDescription_t *description);

/** Returns the number of credentials. */
RD_EXPORT size_t rd_kafka_UserScramCredentialsDescription_scramcredentialinfo_count(
    const rd_kafka_UserScramCredentialsDescription_t *description);

/** Returns a credential, which belongs to the description; NULL for an index beyond the last. */
RD_EXPORT const rd_kafka_ScramCredentialInfo_t *
rd_kafka_UserScramCredentialsDescription_scramcredentialinfo(
    const rd_kafka_UserScramCredentialsDescription_t *description,
    size_t idx);

/**
 * Describes the SCRAM credentials of users, without secrets (KIP-554, Kafka 2.7), at any broker.
 * Options: request_timeout, broker, opaque.
 *
 * @param users     The users, each once.
 * @param user_cnt  Their number; 0 for all users that have a credential.
 * @param options   May be NULL.
 * @param rkqu      Gets the result, RD_KAFKA_EVENT_DESCRIBEUSERSCRAMCREDENTIALS_RESULT.
 *
 * The call fails as a whole with RD_KAFKA_RESP_ERR__INVALID_ARG for an empty user and for one that is
 * named twice.
 */
RD_EXPORT void rd_kafka_DescribeUserScramCredentials(rd_kafka_t *rk,
                                                     const char **users,
                                                     size_t user_cnt,
                                                     const rd_kafka_AdminOptions_t *options,
                                                     rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DescribeUserScramCredentials; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeUserScramCredentials_result_t *
rd_kafka_event_DescribeUserScramCredentials_result(rd_kafka_event_t *rkev);

/**
 * Returns the users in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty or the call failed.
 */
RD_EXPORT const rd_kafka_UserScramCredentialsDescription_t **rd_kafka_DescribeUserScramCredentials_result_descriptions(
    const rd_kafka_DescribeUserScramCredentials_result_t *result,
    size_t *cntp);

/**
 * Creates a credential to set.
 *
 * @param username       The user, copied.
 * @param iterations     The number of iterations; brokers accept 4096 to 16384.
 * @param password       The password, copied; it may contain NUL.
 * @param salt           The salt, copied.
 * @param salt_size      Its size; 0 for a random salt of 64 bytes.
 *
 * @return The caller frees it with rd_kafka_UserScramCredentialAlteration_destroy(), which overwrites
 *         the password. NULL: the user is NULL or not UTF-8. Other arguments are checked by the call.
 */
RD_EXPORT rd_kafka_UserScramCredentialAlteration_t *
rd_kafka_UserScramCredentialUpsertion_new(const char *username,
                                          rd_kafka_ScramMechanism_t mechanism,
                                          int32_t iterations,
                                          const unsigned char *password,
                                          size_t password_size,
                                          const unsigned char *salt,
                                          size_t salt_size);

/**
 * Creates a credential to remove.
 *
 * @return As rd_kafka_UserScramCredentialUpsertion_new().
 */
RD_EXPORT rd_kafka_UserScramCredentialAlteration_t *
rd_kafka_UserScramCredentialDeletion_new(const char *username,
                                         rd_kafka_ScramMechanism_t mechanism);

/** Frees one. */
RD_EXPORT void rd_kafka_UserScramCredentialAlteration_destroy(
    rd_kafka_UserScramCredentialAlteration_t *alteration);

/** Frees each element of an array, not the array. */
RD_EXPORT void rd_kafka_UserScramCredentialAlteration_destroy_array(
    rd_kafka_UserScramCredentialAlteration_t **alterations,
    size_t alteration_cnt);

/**
 * Sets and removes SCRAM credentials (KIP-554, Kafka 2.7), at the controller. Options:
 * request_timeout, broker, opaque.
 *
 * @param options  May be NULL.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_ALTERUSERSCRAMCREDENTIALS_RESULT.
 *
 * Passwords are not sent: the call derives the salted password of each credential, which takes
 * milliseconds. It fails as a whole with RD_KAFKA_RESP_ERR__INVALID_ARG for no alterations, and for an
 * alteration without a user or mechanism, or one that sets an empty password or iterations out of
 * range.
 */
RD_EXPORT void
rd_kafka_AlterUserScramCredentials(rd_kafka_t *rk,
                                   rd_kafka_UserScramCredentialAlteration_t **alterations,
                                   size_t alteration_cnt,
                                   const rd_kafka_AdminOptions_t *options,
                                   rd_kafka_queue_t *rkqu);

/** Returns the event as the result of AlterUserScramCredentials; NULL for other events. */
RD_EXPORT const rd_kafka_AlterUserScramCredentials_result_t *
rd_kafka_event_AlterUserScramCredentials_result(rd_kafka_event_t *rkev);

/**
 * Returns a result for each user, in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty or the call failed.
 */
RD_EXPORT const rd_kafka_AlterUserScramCredentials_result_response_t **rd_kafka_AlterUserScramCredentials_result_responses(
    const rd_kafka_AlterUserScramCredentials_result_t *result,
    size_t *cntp);

/** Returns the user, which belongs to the result. */
RD_EXPORT const char *rd_kafka_AlterUserScramCredentials_result_response_user(
    const rd_kafka_AlterUserScramCredentials_result_response_t *response);

/** Returns the user's error, which belongs to the result; its code is 0 for success. */
RD_EXPORT const rd_kafka_error_t *rd_kafka_AlterUserScramCredentials_result_response_error(
    const rd_kafka_AlterUserScramCredentials_result_response_t *response);


/* ==========================================================================
 *  31. SHARE CONSUMERS (KIP-932)
 *
 *  The members of a share group read the same partitions together. A broker hands each record to one
 *  member and locks it for that member for a time (group.share.record.lock.duration.ms, 30 s). The
 *  member acknowledges each record:
 *
 *  - ACCEPT: processed, it is not delivered again;
 *  - RELEASE: not processed, it is available for another delivery to any member;
 *  - REJECT: it cannot be processed, it is not delivered again.
 *
 *  A record whose lock ends without an acknowledgement is available again, until it was delivered
 *  group.share.delivery.count.limit times (5). Requires Kafka 4.2; works with the preview of 4.1.
 *
 *      rd_kafka_share_t *rkshare = rd_kafka_share_consumer_new(conf, errstr, sizeof(errstr));
 *      rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
 *      rd_kafka_topic_partition_list_add(topics, "orders", RD_KAFKA_PARTITION_UA);
 *      rd_kafka_share_subscribe(rkshare, topics);
 *      rd_kafka_topic_partition_list_destroy(topics);
 *      while (running) {
 *              rd_kafka_messages_t *batch;
 *              rd_kafka_error_t *error = rd_kafka_share_poll(rkshare, 1000, &batch);
 *              if (error) {
 *                      complain(rd_kafka_error_string(error));
 *                      rd_kafka_error_destroy(error);
 *              }
 *              for (size_t i = 0; i < rd_kafka_messages_count(batch); i++)
 *                      handle(rd_kafka_messages_get(batch, i));
 *              rd_kafka_messages_destroy(batch);
 *      }
 *      rd_kafka_share_consumer_close(rkshare);
 *      rd_kafka_share_destroy(rkshare);
 *
 *  Acknowledgement mode (`share.acknowledgement.mode`). With `implicit` the next poll or commit accepts
 *  all records of the last poll that could be read. With `explicit` the application acknowledges each
 *  record with the functions below, and the next poll is refused until it has done so.
 *
 *  One thread at a time. Unlike other handles, a share consumer is used by one thread at a time, which
 *  need not always be the same. A call while another thread is in a call returns
 *  RD_KAFKA_RESP_ERR__CONFLICT. Exceptions, which are thread-safe: rd_kafka_share_consumer_closed(),
 *  rd_kafka_share_set_log_queue() and the functions for SASL.
 *
 *  Errors of all functions:
 *  - RD_KAFKA_RESP_ERR__CONFLICT: another thread is in a call with this share consumer;
 *  - RD_KAFKA_RESP_ERR__STATE: the call was made from a callback that a call with this share consumer
 *    is serving; or the share consumer is closed; or the handle is NULL or belongs to the process
 *    before a fork;
 *  - RD_KAFKA_RESP_ERR__INVALID_ARG: an argument is NULL, out of range or not UTF-8;
 *  - RD_KAFKA_RESP_ERR__FATAL, or an error object with rd_kafka_error_is_fatal(): the client cannot
 *    continue.
 *  Error objects are freed by the caller with rd_kafka_error_destroy().
 *
 *  Callbacks. A share consumer has no rd_kafka_poll(): rd_kafka_share_poll() also serves the callbacks
 *  for errors, logs, statistics, throttling and tokens. They receive an rd_kafka_t, which stays the
 *  library's, and on which functions that read, rd_kafka_yield(), and those of section 26 and of SASL
 *  can be called. The others refuse it.
 * ========================================================================== */

/** A share consumer: a member of a share group. */
typedef struct rd_kafka_share_s rd_kafka_share_t;
/** The messages of one poll of a share consumer. */
typedef struct rd_kafka_messages_s rd_kafka_messages_t;
/** A partition and offsets of it that were acknowledged. */
typedef struct rd_kafka_share_partition_offsets_s rd_kafka_share_partition_offsets_t;
/** A list of partitions with offsets. */
typedef struct rd_kafka_share_partition_offsets_list_s rd_kafka_share_partition_offsets_list_t;

/** The acknowledgement of a record. */
typedef enum rd_kafka_share_AcknowledgeType_s {
        /** The record was processed. It is not delivered again. */
        RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT = 1,
        /** The record was not processed. It is available for another delivery. */
        RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_RELEASE = 2,
        /** The record cannot be processed. It is not delivered again. */
        RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_REJECT = 3
} rd_kafka_share_AcknowledgeType_t;

/* -- Creation -- */

/**
 * Creates a share consumer.
 *
 * `group.id` is required. Refused when they are set, also to their default, with
 * RD_KAFKA_RESP_ERR__INVALID_ARG: the properties that docs/CONFIGURATION.md lists under "Refused by
 * share consumers", the callbacks for rebalances, offset commits and consumed messages, the event
 * RD_KAFKA_EVENT_REBALANCE, and interceptors.
 *
 * @param conf         The configuration. The share consumer owns it afterwards; the caller keeps it when
 *                     the call fails. NULL is an error.
 * @param errstr       Receives the cause of a failure as text; may be NULL.
 * @param errstr_size  The size of `errstr` in bytes.
 *
 * @return The share consumer, which the caller must destroy with rd_kafka_share_destroy(); NULL on
 *         failure, with the error code in rd_kafka_last_error().
 */
RD_EXPORT rd_kafka_share_t *
rd_kafka_share_consumer_new(rd_kafka_conf_t *conf, char *errstr, size_t errstr_size);

/* -- Subscription -- */

/**
 * Joins the group for these topics, or replaces the topics of the subscription.
 *
 * Names are literal: a leading `^` starts no pattern. Topics that do not exist are read once they are
 * created. Records of the last poll can still be acknowledged.
 *
 * @param topics  The topics. Only names are read; the list stays the caller's. An empty list is
 *                rd_kafka_share_unsubscribe().
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__INVALID_ARG for an empty name and for a name
 *         that is in the list twice; RD_KAFKA_RESP_ERR__FATAL; else as all functions.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_share_subscribe(rd_kafka_share_t *rkshare, const rd_kafka_topic_partition_list_t *topics);

/**
 * Leaves the group. Without a subscription it does nothing.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, else as all functions.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_share_unsubscribe(rd_kafka_share_t *rkshare);

/**
 * Returns the subscription.
 *
 * @param topics  Receives the topics; empty without a subscription, NULL after an error. The caller must
 *                free the list with rd_kafka_topic_partition_list_destroy().
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, else as all functions.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_share_subscription(rd_kafka_share_t *rkshare,
                                                          rd_kafka_topic_partition_list_t **topics);

/* -- Messages -- */

/**
 * Waits for records and returns those that one broker has handed out.
 *
 * The call sends the acknowledgements of the last poll; in implicit mode it first accepts its records
 * that have none. It serves all callbacks. A callback that calls rd_kafka_yield() ends the wait. The
 * time between two polls is limited to `max.poll.interval.ms`: a share consumer that exceeds it leaves
 * the group, and joins it again with the poll after the one that returns
 * RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED.
 *
 * Records that cannot be read are returned as messages with an error, one for each range of offsets;
 * the library has acknowledged them: RELEASE for records that cannot be decompressed, REJECT for
 * records with a wrong checksum or an unknown format.
 *
 * @param timeout_ms  The time to wait in milliseconds; 0 does not wait, -1 waits without limit.
 * @param rkmessages  Receives the messages, about `max.poll.records` of them or more (see
 *                    `share.acquire.mode`): for each partition the records in the order of offsets, and
 *                    then the errors. The caller must free them with rd_kafka_messages_destroy(). NULL at
 *                    the timeout and after an error.
 *
 * @return NULL on success and at the timeout, else an error:
 *         RD_KAFKA_RESP_ERR__STATE: there is no subscription; or, in explicit mode, records of the last
 *         poll are not acknowledged;
 *         RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED: see above;
 *         errors of the group and of topics, for example
 *         RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
 *         a fatal error, after which only acknowledging, committing and closing are of use;
 *         else as all functions.
 *
 * May call: all callbacks of the configuration, the acknowledgement commit callback.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_share_poll(rd_kafka_share_t *rkshare,
                                                int timeout_ms,
                                                rd_kafka_messages_t **rkmessages);

/** Returns the number of messages; 0 for NULL. */
RD_EXPORT size_t rd_kafka_messages_count(const rd_kafka_messages_t *messages);

/**
 * Returns a message.
 *
 * @param index  The message's index, from 0 to rd_kafka_messages_count() - 1.
 *
 * @return The message, valid until rd_kafka_messages_destroy(): rd_kafka_message_destroy() has no effect
 *         on it. NULL if the index is out of range.
 */
RD_EXPORT rd_kafka_message_t *rd_kafka_messages_get(const rd_kafka_messages_t *messages, size_t index);

/** Frees the messages. Does not acknowledge them. NULL is allowed. */
RD_EXPORT void rd_kafka_messages_destroy(rd_kafka_messages_t *messages);

/**
 * Returns how often the broker has handed out the record to a member of the share group, this time
 * included: 1 for the first delivery. 0 for messages that are not from a share consumer and for errors.
 */
RD_EXPORT int16_t rd_kafka_message_delivery_count(const rd_kafka_message_t *rkmessage);

/* -- Acknowledgements (explicit mode) -- */

/**
 * Acknowledges a record as processed: rd_kafka_share_acknowledge_type() with
 * RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_share_acknowledge(rd_kafka_share_t *rkshare,
                                                         const rd_kafka_message_t *rkmessage);

/**
 * Acknowledges a record of the last poll. Sends nothing: the next poll or commit does. Until then the
 * acknowledgement can be changed with another call.
 *
 * @param rkmessage  A message of the last poll. It stays the caller's.
 * @param type       The acknowledgement.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR;
 *         RD_KAFKA_RESP_ERR__STATE: implicit mode, or the record is not of the last poll, or its
 *         acknowledgement was committed, or the message is an error;
 *         RD_KAFKA_RESP_ERR__INVALID_ARG: `rkmessage` is NULL, or another type; else as all functions.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_share_acknowledge_type(rd_kafka_share_t *rkshare,
                                                              const rd_kafka_message_t *rkmessage,
                                                              rd_kafka_share_AcknowledgeType_t type);

/**
 * Acknowledges a record of the last poll by its offset; works also after the messages were freed.
 *
 * @param topic      The topic's name.
 * @param partition  The partition, 0 or more.
 * @param offset     The offset, 0 or more.
 * @param type       The acknowledgement.
 *
 * @return As rd_kafka_share_acknowledge_type().
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_share_acknowledge_offset(rd_kafka_share_t *rkshare,
                                                                const char *topic,
                                                                int32_t partition,
                                                                int64_t offset,
                                                                rd_kafka_share_AcknowledgeType_t type);

/* -- Commits -- */

/**
 * Sends acknowledgements to the brokers without waiting for the results, which are reported to the
 * acknowledgement commit callback. In implicit mode it first accepts the records of the last poll.
 *
 * @return NULL, else an error as all functions.
 *
 * May call: the acknowledgement commit callback, with results of earlier polls and commits.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_share_commit_async(rd_kafka_share_t *rkshare);

/**
 * Sends acknowledgements to the brokers and waits for the results. In implicit mode it first accepts the
 * records of the last poll. Failed acknowledgements are not repeated: after an error the records are
 * delivered again, to any member.
 *
 * @param timeout_ms  The time to wait in milliseconds; negative waits without limit. Partitions without
 *                    a result at the timeout have RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT.
 * @param partitions  Receives the partitions with their results in `err`, or NULL if there was nothing to
 *                    send. The caller must free the list with rd_kafka_topic_partition_list_destroy().
 *                    Results are, for example:
 *                    RD_KAFKA_RESP_ERR_INVALID_RECORD_STATE: a record's lock has ended;
 *                    RD_KAFKA_RESP_ERR_NOT_LEADER_OR_FOLLOWER: the partition has moved to another broker;
 *                    RD_KAFKA_RESP_ERR_SHARE_SESSION_NOT_FOUND,
 *                    RD_KAFKA_RESP_ERR_INVALID_SHARE_SESSION_EPOCH, RD_KAFKA_RESP_ERR__TRANSPORT: the
 *                    session with the broker was lost.
 *
 * @return NULL if the call was carried out, also with errors of partitions; else an error as all
 *         functions.
 *
 * May call: the acknowledgement commit callback.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_share_commit_sync(rd_kafka_share_t *rkshare,
                                                       int timeout_ms,
                                                       rd_kafka_topic_partition_list_t **partitions);

/**
 * Sets the callback for results of acknowledgements, also of those that polls and implicit mode send. It
 * is called once for each partition of a broker's response, from rd_kafka_share_poll(),
 * rd_kafka_share_commit_async(), rd_kafka_share_commit_sync(), rd_kafka_share_consumer_close() and
 * rd_kafka_share_destroy().
 *
 * @param share_acknowledgement_commit_cb  The callback; NULL ends the calls. Its arguments are:
 *               `rkshare`: this share consumer, whose functions return RD_KAFKA_RESP_ERR__STATE during
 *               the call;
 *               `partitions`: the partition with the acknowledged offsets, owned by the library and valid
 *               during the call;
 *               `err`: the result, see rd_kafka_share_commit_sync();
 *               `opaque`: the pointer that was set here.
 * @param opaque  A pointer for the callback.
 *
 * @return NULL, else an error as all functions.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_share_set_acknowledgement_commit_cb(
    rd_kafka_share_t *rkshare,
    void (*share_acknowledgement_commit_cb)(rd_kafka_share_t *rkshare,
                                            rd_kafka_share_partition_offsets_list_t *partitions,
                                            rd_kafka_resp_err_t err,
                                            void *opaque),
    void *opaque);

/** Returns the number of partitions in the list; 0 for NULL. */
RD_EXPORT size_t
rd_kafka_share_partition_offsets_list_count(const rd_kafka_share_partition_offsets_list_t *list);

/** Returns the entry with this index, owned by the list; NULL if the index is out of range. */
RD_EXPORT const rd_kafka_share_partition_offsets_t *
rd_kafka_share_partition_offsets_list_get(const rd_kafka_share_partition_offsets_list_t *list,
                                          size_t index);

/**
 * Has no effect: the library frees the lists that it passes to the callback. It is here for programs that
 * call it outside of the callback with NULL.
 */
RD_EXPORT void
rd_kafka_share_partition_offsets_list_destroy(rd_kafka_share_partition_offsets_list_t *list);

/** Returns the partition, owned by the list: its topic, number, and result in `err`. */
RD_EXPORT const rd_kafka_topic_partition_t *rd_kafka_share_partition_offsets_partition(
    const rd_kafka_share_partition_offsets_t *partition_offsets);

/** Returns the offsets in ascending order, owned by the list. */
RD_EXPORT const int64_t *rd_kafka_share_partition_offsets_offsets(
    const rd_kafka_share_partition_offsets_t *partition_offsets);

/** Returns the number of offsets; 0 for NULL. */
RD_EXPORT size_t rd_kafka_share_partition_offsets_offsets_cnt(
    const rd_kafka_share_partition_offsets_t *partition_offsets);

/* -- The end -- */

/**
 * Closes the share consumer: sends acknowledgements, closes its sessions with the brokers, which makes
 * records without an acknowledgement available to other members, and leaves the group. Takes about
 * `socket.timeout.ms` at most.
 *
 * In implicit mode, records of the last poll that no later poll or commit has accepted are not accepted.
 *
 * @return NULL; RD_KAFKA_RESP_ERR__TIMED_OUT if brokers did not answer, after which the share consumer is
 *         closed nevertheless; RD_KAFKA_RESP_ERR__STATE if it was closed before; else as all functions.
 *
 * May call: the acknowledgement commit callback, the callback for tokens.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_share_consumer_close(rd_kafka_share_t *rkshare);

/**
 * Begins to close the share consumer, without waiting. Its events go to `rkqu`, which the application
 * serves with rd_kafka_queue_poll() or rd_kafka_queue_poll_callback() until
 * rd_kafka_share_consumer_closed() returns 1; the end of the closing ends a poll of it without an event.
 * Serving the queue calls the acknowledgement commit callback.
 *
 * @return NULL, else an error as all functions.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_share_consumer_close_queue(rd_kafka_share_t *rkshare,
                                                                rd_kafka_queue_t *rkqu);

/**
 * Returns 1 if the share consumer is closed and the results of its acknowledgements have been served, else 0;
 * 0 for NULL. Thread-safe.
 */
RD_EXPORT int rd_kafka_share_consumer_closed(rd_kafka_share_t *rkshare);

/**
 * Destroys the share consumer, and closes it before unless it is closed. Message batches that were not
 * freed stay valid.
 *
 * @return NULL on success. RD_KAFKA_RESP_ERR__CONFLICT and RD_KAFKA_RESP_ERR__STATE as all functions;
 *         then nothing is destroyed. Closed share consumers are destroyed.
 *
 * May call: the acknowledgement commit callback.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_share_destroy(rd_kafka_share_t *rkshare);

/**
 * Destroys the share consumer as rd_kafka_share_destroy().
 *
 * @param flags  RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE: does not close it before. The group notices its end
 *               when its session with the coordinator ends, and locks of records last until their time is
 *               up.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_share_destroy_flags(rd_kafka_share_t *rkshare, int flags);

/* -- Log and authentication, as for other clients -- */

/** rd_kafka_set_log_queue() for a share consumer. Thread-safe. */
RD_EXPORT rd_kafka_error_t *rd_kafka_share_set_log_queue(rd_kafka_share_t *rkshare,
                                                         rd_kafka_queue_t *rkqu);

/** rd_kafka_queue_get_sasl() for a share consumer. Thread-safe. */
RD_EXPORT rd_kafka_queue_t *rd_kafka_share_queue_get_sasl(rd_kafka_share_t *rkshare);

/** rd_kafka_sasl_background_callbacks_enable() for a share consumer. Thread-safe. */
RD_EXPORT rd_kafka_error_t *
rd_kafka_share_sasl_background_callbacks_enable(rd_kafka_share_t *rkshare);

/** rd_kafka_sasl_set_credentials() for a share consumer. Thread-safe. */
RD_EXPORT rd_kafka_error_t *rd_kafka_share_sasl_set_credentials(rd_kafka_share_t *rkshare,
                                                                const char *username,
                                                                const char *password);

/** rd_kafka_oauthbearer_set_token() for a share consumer. Thread-safe. */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_share_oauthbearer_set_token(rd_kafka_share_t *rkshare,
                                                                   const char *token_value,
                                                                   int64_t md_lifetime_ms,
                                                                   const char *md_principal_name,
                                                                   const char **extensions,
                                                                   size_t extension_size,
                                                                   char *errstr,
                                                                   size_t errstr_size);

/** rd_kafka_oauthbearer_set_token_failure() for a share consumer. Thread-safe. */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_share_oauthbearer_set_token_failure(rd_kafka_share_t *rkshare,
                                                                           const char *errstr);


/* ==========================================================================
 *  32. VOCABULARY OF FURTHER SERVICES
 *
 *  Types of services that the library does not offer. They are here so that programs that mention them
 *  compile. What is not declared in this header cannot be called.
 * ========================================================================== */

/** A listing of groups. */
typedef struct rd_kafka_ListConsumerGroupsResult_s rd_kafka_ListConsumerGroupsResult_t;

#ifdef __cplusplus
}
#endif

#endif /* _RDKAFKA_H_ */
