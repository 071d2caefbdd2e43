/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rdkafkacpp.h is the C++ interface of the library and, at the same time, its
 * users' manual. It is source- and binary-compatible with librdkafka 2.16: a
 * program that was written for, or linked against, librdkafka++ works with this
 * header and with the library behind it.
 *
 * The library librdkafka++ is a thin layer over the C interface. The details of a
 * subject (properties, groups, offsets, errors) are documented in rdkafka.h and
 * hold here too.
 */

#ifndef _RDKAFKACPP_H_
#define _RDKAFKACPP_H_

#include <cstdlib>
#include <cstring>
#include <list>
#include <string>
#include <vector>

#include <stdint.h>
#include <sys/types.h>

/* What c_ptr() functions return: the C interface's handles. */
struct rd_kafka_s;
struct rd_kafka_topic_s;
struct rd_kafka_message_s;
struct rd_kafka_conf_s;
struct rd_kafka_topic_conf_s;

/* The same words as in rdkafka.h, so that both can be included in either order. */
#undef RD_EXPORT
#if defined(__GNUC__)
#define RD_EXPORT __attribute__((__visibility__("default")))
#else
#define RD_EXPORT
#endif

/* ==========================================================================
 *
 *  CONTENTS
 *
 *   1. How to read this manual
 *   2. Version, memory, the whole process
 *   3. Error codes
 *   4. Error objects
 *   5. Callbacks
 *   6. Events
 *   7. Configuration
 *   8. The client: what producers and consumers share
 *   9. Partitions and topics
 *  10. Messages and their headers
 *  11. Queues
 *  12. The consumer
 *  13. The simple consumer
 *  14. The producer
 *  15. Metadata
 *
 * ==========================================================================
 *
 *  1. HOW TO READ THIS MANUAL
 *
 *  A minimal producer:
 *
 *      std::string errstr;
 *      std::unique_ptr<RdKafka::Conf> conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
 *      conf->set("bootstrap.servers", "localhost:9092", errstr);
 *      std::unique_ptr<RdKafka::Producer> producer(RdKafka::Producer::create(conf.get(), errstr));
 *      producer->produce("greetings", RdKafka::Topic::PARTITION_UA,
 *                        RdKafka::Producer::RK_MSG_COPY, text, text_size, NULL, 0, 0, NULL);
 *      producer->flush(10000);
 *
 *  and a minimal consumer of a group (`conf` has a "group.id", too):
 *
 *      std::unique_ptr<RdKafka::KafkaConsumer> consumer(
 *          RdKafka::KafkaConsumer::create(conf.get(), errstr));
 *      consumer->subscribe(topics);
 *      while (running) {
 *              std::unique_ptr<RdKafka::Message> m(consumer->consume(500));
 *              if (m->err() == RdKafka::ERR_NO_ERROR)
 *                      handle(*m);
 *      }
 *      consumer->close();
 *
 *  The folder examples/cpp of the sources holds complete programs.
 *
 *  Rules that hold for every class, unless its own text says otherwise:
 *
 *  - OBJECTS come from the static create() functions and from methods that
 *    return a pointer, and end with `delete`. What a create() or another method
 *    returns belongs to the caller, unless the method says that it belongs to
 *    the object. Delete topics, queues, messages and metadata before the
 *    client that they came from.
 *  - CALLBACK OBJECTS are classes of the application that derive from those of
 *    section 5. A configuration and the clients made from it keep the pointer
 *    only: the object must live as long as they do.
 *  - THREADS. Methods of clients, topics and queues may be called from any
 *    number of threads at the same time. Everything else (configurations,
 *    partitions, messages, headers, events, errors, metadata) has no lock: one
 *    thread at a time.
 *  - CALLBACKS run only inside a call that says so, on the thread that made it:
 *    Handle::poll(), KafkaConsumer::consume(), Producer::flush() and their
 *    like. The exceptions are named at the classes: log lines, the partitioner,
 *    sockets and files. A callback must not delete the client that calls it.
 *  - EXCEPTIONS. The library itself throws only the exceptions of the C++ library
 *    for a lack of memory. An exception that leaves a
 *    callback of the application is kept while the library finishes what it is
 *    doing, and is thrown again by the method that served the callback, on the same
 *    thread: a `throw` in dr_cb() leaves Handle::poll(), and the next poll serves the
 *    remaining reports. If several callbacks
 *    throw in one call, the first exception is thrown, the
 *    others are reported on stderr, with their what(). So are all exceptions that
 *    no caller can catch: on a thread of the library, in a destructor, where the
 *    application called the C interface itself. The library then continues as the
 *    callback documents. The client is usable afterwards in all cases.
 *  - TIMEOUTS are in milliseconds. 0 does not wait, -1 waits as long as it
 *    takes. A timeout bounds the whole call.
 *  - TIMESTAMPS are milliseconds since 1970-01-01 00:00 UTC.
 *  - ERRORS come as an ErrorCode (ERR_NO_ERROR is 0), or as an Error * that is
 *    NULL on success and else belongs to the caller. `errstr` arguments receive
 *    a text for people.
 *  - NOT IMPLEMENTED. Where the C library lacks a service, its method returns
 *    Conf::CONF_INVALID or ERR__NOT_IMPLEMENTED with a text that names it.
 *
 *  The classes are abstract, and their virtual methods have a fixed order:
 *  programs that were compiled with another version of this header depend on it.
 *  Do not derive from them, the callback classes apart.
 *
 * ========================================================================== */

namespace RdKafka {

class Conf;
class Error;
class Event;
class Handle;
class KafkaConsumer;
class Message;
class Metadata;
class Queue;
class Topic;
class TopicPartition;


/* ==========================================================================
 *  2. VERSION, MEMORY, THE WHOLE PROCESS
 * ========================================================================== */

/**
 * The version of the C++ interface that this header describes: 0xMMmmrrpp, that is
 * major, minor, revision, and 0xff for a release. librdkafka 2.16.0 has 2.15.0 here,
 * whose C++ interface it kept. Where rdkafka.h is included too, that header's
 * RD_KAFKA_VERSION, the library's version, is kept. Use version() at run time.
 */
#ifndef RD_KAFKA_VERSION
#define RD_KAFKA_VERSION 0x020f00ff
#endif

/**
 * Returns the interface version of the library that the program runs with, like RD_KAFKA_VERSION.
 */
RD_EXPORT int version();

/** Returns the interface version as text, for example "2.16.0". */
RD_EXPORT std::string version_str();

/** Returns the contexts that the property `debug` knows, with commas between them. */
RD_EXPORT std::string get_debug_contexts();

/**
 * Waits until all clients of the process are gone, their threads included. Deleting a client
 * has waited already; this is for programs that check for leaks.
 *
 * @return 0, or -1 if the time was over first.
 */
RD_EXPORT int wait_destroyed(int timeout_ms);

/**
 * malloc(3) as the library sees it: for payloads that Producer::produce() is to free, where
 * program and library may have different C libraries.
 */
RD_EXPORT void *mem_malloc(size_t size);

/** free(3) as the library sees it. */
RD_EXPORT void mem_free(void *ptr);


/* ==========================================================================
 *  3. ERROR CODES
 *
 *  Codes below zero (their names have a double underscore, ERR__) come from
 *  this library; zero is success; codes above zero come from the broker and
 *  carry Kafka's own numbers. A broker may send a code that is not listed
 *  here: it is passed on as its number.
 * ========================================================================== */

/** All error codes. */
enum ErrorCode {
        /* ---- from the client library -------------------------------------- */

        /** Lower end of the range of the library's own codes; never returned. */
        ERR__BEGIN = -200,
        /** A received message could not be decoded. */
        ERR__BAD_MSG = -199,
        /** Compressed data could not be decompressed, or its codec is not known. */
        ERR__BAD_COMPRESSION = -198,
        /** The client or the broker object is being destroyed. */
        ERR__DESTROY = -197,
        /** Failure that has no better code. */
        ERR__FAIL = -196,
        /** The connection to the broker broke or could not be made. */
        ERR__TRANSPORT = -195,
        /** The operating system refused something vital: memory, a thread, a socket. */
        ERR__CRIT_SYS_RESOURCE = -194,
        /** A broker's host name could not be resolved to an address. */
        ERR__RESOLVE = -193,
        /** The message was not delivered within `message.timeout.ms`. */
        ERR__MSG_TIMED_OUT = -192,
        /** The consumer reached the end of a partition. Information, not a failure. */
        ERR__PARTITION_EOF = -191,
        /** The partition does not exist in the cluster, permanently as far as is known. */
        ERR__UNKNOWN_PARTITION = -190,
        /** A file or folder could not be used. */
        ERR__FS = -189,
        /** The topic does not exist in the cluster, permanently as far as is known. */
        ERR__UNKNOWN_TOPIC = -188,
        /** No broker connection is up. The client keeps trying. */
        ERR__ALL_BROKERS_DOWN = -187,
        /** An argument or a configuration is not valid. */
        ERR__INVALID_ARG = -186,
        /** The operation did not finish in its time. */
        ERR__TIMED_OUT = -185,
        /** The producer's queue has no room for another message. */
        ERR__QUEUE_FULL = -184,
        /** Fewer replicas in sync than were asked for. */
        ERR__ISR_INSUFF = -183,
        /** A broker's address or id changed. */
        ERR__NODE_UPDATE = -182,
        /** TLS failure. */
        ERR__SSL = -181,
        /** The group coordinator is not known yet. */
        ERR__WAIT_COORD = -180,
        /** The client has no group, or the group is not known. */
        ERR__UNKNOWN_GROUP = -179,
        /** The operation has started and is not finished. */
        ERR__IN_PROGRESS = -178,
        /** An earlier operation of the same kind must finish first. */
        ERR__PREV_IN_PROGRESS = -177,
        /** The operation is not possible while the consumer has a subscription. */
        ERR__EXISTING_SUBSCRIPTION = -176,
        /** Rebalance callback and event: these partitions are to be assigned. */
        ERR__ASSIGN_PARTITIONS = -175,
        /** Rebalance callback and event: these partitions are to be given up. */
        ERR__REVOKE_PARTITIONS = -174,
        /** The call does not fit the way the object is being used. */
        ERR__CONFLICT = -173,
        /** The call is not allowed in the present state. */
        ERR__STATE = -172,
        /** The protocol is not known. */
        ERR__UNKNOWN_PROTOCOL = -171,
        /** The library does not implement this. */
        ERR__NOT_IMPLEMENTED = -170,
        /** Authentication with the broker failed. */
        ERR__AUTHENTICATION = -169,
        /** There is no offset to work with. */
        ERR__NO_OFFSET = -168,
        /** The request or answer belongs to a state that has passed. */
        ERR__OUTDATED = -167,
        /** The request timed out before it was sent. */
        ERR__TIMED_OUT_QUEUE = -166,
        /** The broker is too old for this, or has it switched off. */
        ERR__UNSUPPORTED_FEATURE = -165,
        /** Waiting for cached information to arrive. */
        ERR__WAIT_CACHE = -164,
        /** The operation was interrupted. */
        ERR__INTR = -163,
        /** For bindings: a key could not be serialized. */
        ERR__KEY_SERIALIZATION = -162,
        /** For bindings: a value could not be serialized. */
        ERR__VALUE_SERIALIZATION = -161,
        /** For bindings: a key could not be deserialized. */
        ERR__KEY_DESERIALIZATION = -160,
        /** For bindings: a value could not be deserialized. */
        ERR__VALUE_DESERIALIZATION = -159,
        /** Only a part of the data is there. */
        ERR__PARTIAL = -158,
        /** The object must not be changed. */
        ERR__READ_ONLY = -157,
        /** No such entry. */
        ERR__NOENT = -156,
        /** A value ends before its last byte. */
        ERR__UNDERFLOW = -155,
        /** The value has the wrong type. */
        ERR__INVALID_TYPE = -154,
        /** Try the operation again. */
        ERR__RETRY = -153,
        /** The message was purged from the producer's queue. */
        ERR__PURGE_QUEUE = -152,
        /** The message was purged while on its way to the broker; it may have arrived. */
        ERR__PURGE_INFLIGHT = -151,
        /** The client cannot go on; Handle::fatal_error() has the cause. */
        ERR__FATAL = -150,
        /** The parts of something do not agree. */
        ERR__INCONSISTENT = -149,
        /** `enable.gapless.guarantee` could not be kept. */
        ERR__GAPLESS_GUARANTEE = -148,
        /** The application did not poll within `max.poll.interval.ms`. */
        ERR__MAX_POLL_EXCEEDED = -147,
        /** The broker is not known. */
        ERR__UNKNOWN_BROKER = -146,
        /** The client is not configured for this. */
        ERR__NOT_CONFIGURED = -145,
        /** Another instance with the same identity took over. */
        ERR__FENCED = -144,
        /** An error that the application itself raised. */
        ERR__APPLICATION = -143,
        /** The group took the partitions away before they could be given up. */
        ERR__ASSIGNMENT_LOST = -142,
        /** Nothing was done because there was nothing to do. */
        ERR__NOOP = -141,
        /** There is no usable offset and `auto.offset.reset` is `error`. */
        ERR__AUTO_OFFSET_RESET = -140,
        /** The partition's log was truncated below the consumer's position (KIP-320). */
        ERR__LOG_TRUNCATION = -139,
        /** A record is in the way of the others of its batch; it alone is not at fault. */
        ERR__INVALID_DIFFERENT_RECORD = -138,
        /** The broker was removed from the cluster. */
        ERR__DESTROY_BROKER = -137,
        /** Upper end of the range of the library's own codes; never returned. */
        ERR__END = -100,

        /* ---- from the broker ------------------------------------------------ */

        /** The broker met an error that it has no code for. */
        ERR_UNKNOWN = -1,
        /** Success. */
        ERR_NO_ERROR = 0,
        /** The offset is before the start or after the end of the partition. */
        ERR_OFFSET_OUT_OF_RANGE = 1,
        /** The message is damaged: checksum, size or key do not fit. */
        ERR_INVALID_MSG = 2,
        /** The broker does not have this topic or partition. */
        ERR_UNKNOWN_TOPIC_OR_PART = 3,
        /** The fetch size is not valid. */
        ERR_INVALID_MSG_SIZE = 4,
        /** The partition has no leader at the moment. */
        ERR_LEADER_NOT_AVAILABLE = 5,
        /** The broker is not the partition's leader (or, for fetching, not a replica). */
        ERR_NOT_LEADER_FOR_PARTITION = 6,
        /** The broker gave up on the request in its own time. */
        ERR_REQUEST_TIMED_OUT = 7,
        /** The broker is not available. */
        ERR_BROKER_NOT_AVAILABLE = 8,
        /** A replica is not available. */
        ERR_REPLICA_NOT_AVAILABLE = 9,
        /** The batch is larger than the broker or the topic takes. */
        ERR_MSG_SIZE_TOO_LARGE = 10,
        /** The controller that made the request has been replaced. */
        ERR_STALE_CTRL_EPOCH = 11,
        /** The metadata text of a committed offset is too long. */
        ERR_OFFSET_METADATA_TOO_LARGE = 12,
        /** The broker lost its connection before it could answer. */
        ERR_NETWORK_EXCEPTION = 13,
        /** The coordinator is still loading its state. */
        ERR_COORDINATOR_LOAD_IN_PROGRESS = 14,
#define ERR_GROUP_LOAD_IN_PROGRESS ERR_COORDINATOR_LOAD_IN_PROGRESS
        /** There is no coordinator at the moment. */
        ERR_COORDINATOR_NOT_AVAILABLE = 15,
#define ERR_GROUP_COORDINATOR_NOT_AVAILABLE ERR_COORDINATOR_NOT_AVAILABLE
        /** The broker is not the coordinator of this group or transaction. */
        ERR_NOT_COORDINATOR = 16,
#define ERR_NOT_COORDINATOR_FOR_GROUP ERR_NOT_COORDINATOR
        /** The topic's name is not allowed, or the topic is internal. */
        ERR_TOPIC_EXCEPTION = 17,
        /** The batch is larger than a log segment. */
        ERR_RECORD_LIST_TOO_LARGE = 18,
        /** Fewer replicas in sync than `min.insync.replicas`; nothing was written. */
        ERR_NOT_ENOUGH_REPLICAS = 19,
        /** Written, but then fewer replicas in sync than `min.insync.replicas`. */
        ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20,
        /** The broker does not accept this value of `acks`. */
        ERR_INVALID_REQUIRED_ACKS = 21,
        /** The group has moved on to another generation. */
        ERR_ILLEGAL_GENERATION = 22,
        /** The member's assignors or protocol type do not fit the group's. */
        ERR_INCONSISTENT_GROUP_PROTOCOL = 23,
        /** The group id is not valid. */
        ERR_INVALID_GROUP_ID = 24,
        /** The coordinator does not know this member. */
        ERR_UNKNOWN_MEMBER_ID = 25,
        /** The session timeout is outside what the broker allows. */
        ERR_INVALID_SESSION_TIMEOUT = 26,
        /** The group is rebalancing; the member must join again. */
        ERR_REBALANCE_IN_PROGRESS = 27,
        /** The commit is too large. */
        ERR_INVALID_COMMIT_OFFSET_SIZE = 28,
        /** Not allowed to use the topic. */
        ERR_TOPIC_AUTHORIZATION_FAILED = 29,
        /** Not allowed to use the group. */
        ERR_GROUP_AUTHORIZATION_FAILED = 30,
        /** Not allowed to do this to the cluster. */
        ERR_CLUSTER_AUTHORIZATION_FAILED = 31,
        /** The message's timestamp is outside what the topic allows. */
        ERR_INVALID_TIMESTAMP = 32,
        /** The broker does not offer this SASL mechanism. */
        ERR_UNSUPPORTED_SASL_MECHANISM = 33,
        /** The request does not fit the state of the SASL authentication. */
        ERR_ILLEGAL_SASL_STATE = 34,
        /** The broker does not speak this version of the request. */
        ERR_UNSUPPORTED_VERSION = 35,
        /** A topic of this name exists already. */
        ERR_TOPIC_ALREADY_EXISTS = 36,
        /** The number of partitions is not valid. */
        ERR_INVALID_PARTITIONS = 37,
        /** The replication factor is not valid, or larger than the number of brokers. */
        ERR_INVALID_REPLICATION_FACTOR = 38,
        /** The assignment of replicas to brokers is not valid. */
        ERR_INVALID_REPLICA_ASSIGNMENT = 39,
        /** A broker or topic setting is not valid. */
        ERR_INVALID_CONFIG = 40,
        /** The broker is not the controller. */
        ERR_NOT_CONTROLLER = 41,
        /** The broker could not make sense of the request. */
        ERR_INVALID_REQUEST = 42,
        /** The message format on the broker is too old for this. */
        ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT = 43,
        /** A policy of the broker forbids this. */
        ERR_POLICY_VIOLATION = 44,
        /** The broker saw a gap in the producer's sequence numbers. */
        ERR_OUT_OF_ORDER_SEQUENCE_NUMBER = 45,
        /** The broker has this batch already. */
        ERR_DUPLICATE_SEQUENCE_NUMBER = 46,
        /** The producer's epoch is older than the one that the broker knows. */
        ERR_INVALID_PRODUCER_EPOCH = 47,
        /** The transaction's state does not allow this. */
        ERR_INVALID_TXN_STATE = 48,
        /** The producer id does not belong to this transactional id. */
        ERR_INVALID_PRODUCER_ID_MAPPING = 49,
        /** `transaction.timeout.ms` is larger than the broker allows. */
        ERR_INVALID_TRANSACTION_TIMEOUT = 50,
        /** An earlier operation on this transaction has not finished. */
        ERR_CONCURRENT_TRANSACTIONS = 51,
        /** The transaction coordinator was replaced by another. */
        ERR_TRANSACTION_COORDINATOR_FENCED = 52,
        /** Not allowed to use the transactional id. */
        ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53,
        /** The broker has security switched off. */
        ERR_SECURITY_DISABLED = 54,
        /** The broker did not try, because another part of the request failed. */
        ERR_OPERATION_NOT_ATTEMPTED = 55,
        /** The broker could not read or write its disk. */
        ERR_KAFKA_STORAGE_ERROR = 56,
        /** The log folder is not part of the broker's configuration. */
        ERR_LOG_DIR_NOT_FOUND = 57,
        /** SASL authentication failed. */
        ERR_SASL_AUTHENTICATION_FAILED = 58,
        /** The broker no longer knows the producer id. */
        ERR_UNKNOWN_PRODUCER_ID = 59,
        /** A reassignment of partitions is under way. */
        ERR_REASSIGNMENT_IN_PROGRESS = 60,
        /** Delegation tokens are switched off. */
        ERR_DELEGATION_TOKEN_AUTH_DISABLED = 61,
        /** The broker does not know the delegation token. */
        ERR_DELEGATION_TOKEN_NOT_FOUND = 62,
        /** The principal is neither the token's owner nor its renewer. */
        ERR_DELEGATION_TOKEN_OWNER_MISMATCH = 63,
        /** Delegation tokens cannot be requested over this connection. */
        ERR_DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64,
        /** Not allowed to use delegation tokens. */
        ERR_DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65,
        /** The delegation token has expired. */
        ERR_DELEGATION_TOKEN_EXPIRED = 66,
        /** The kind of principal is not supported. */
        ERR_INVALID_PRINCIPAL_TYPE = 67,
        /** The group still has members. */
        ERR_NON_EMPTY_GROUP = 68,
        /** The group does not exist. */
        ERR_GROUP_ID_NOT_FOUND = 69,
        /** The broker no longer has this fetch session. */
        ERR_FETCH_SESSION_ID_NOT_FOUND = 70,
        /** The fetch session is at another epoch. */
        ERR_INVALID_FETCH_SESSION_EPOCH = 71,
        /** The leader has no listener of the name that the client came by. */
        ERR_LISTENER_NOT_FOUND = 72,
        /** The cluster does not allow topics to be deleted. */
        ERR_TOPIC_DELETION_DISABLED = 73,
        /** The client's leader epoch is older than the broker's. */
        ERR_FENCED_LEADER_EPOCH = 74,
        /** The client's leader epoch is newer than the broker's. */
        ERR_UNKNOWN_LEADER_EPOCH = 75,
        /** The broker or the request version does not know this compression. */
        ERR_UNSUPPORTED_COMPRESSION_TYPE = 76,
        /** The broker's epoch has changed. */
        ERR_STALE_BROKER_EPOCH = 77,
        /** The new leader does not know its high watermark yet. */
        ERR_OFFSET_NOT_AVAILABLE = 78,
        /** The member must join again with the id that it was given (KIP-394). */
        ERR_MEMBER_ID_REQUIRED = 79,
        /** The preferred leader is not available. */
        ERR_PREFERRED_LEADER_NOT_AVAILABLE = 80,
        /** The group has as many members as the broker allows. */
        ERR_GROUP_MAX_SIZE_REACHED = 81,
        /** Another member uses the same `group.instance.id` (KIP-345). */
        ERR_FENCED_INSTANCE_ID = 82,
        /** No replica can be elected leader. */
        ERR_ELIGIBLE_LEADERS_NOT_AVAILABLE = 83,
        /** The partition has the leader that it should have. */
        ERR_ELECTION_NOT_NEEDED = 84,
        /** No reassignment of partitions is under way. */
        ERR_NO_REASSIGNMENT_IN_PROGRESS = 85,
        /** The group is subscribed to the topic. */
        ERR_GROUP_SUBSCRIBED_TO_TOPIC = 86,
        /** A record did not pass the broker's checks. */
        ERR_INVALID_RECORD = 87,
        /** Offsets of an open transaction are pending; try again. */
        ERR_UNSTABLE_OFFSET_COMMIT = 88,
        /** A quota is used up; try again later. */
        ERR_THROTTLING_QUOTA_EXCEEDED = 89,
        /** A newer producer with the same transactional id took over. */
        ERR_PRODUCER_FENCED = 90,
        /** The resource does not exist. */
        ERR_RESOURCE_NOT_FOUND = 91,
        /** The resource exists already. */
        ERR_DUPLICATE_RESOURCE = 92,
        /** The credential is not good enough. */
        ERR_UNACCEPTABLE_CREDENTIAL = 93,
        /** The set of voters is not the same on all controllers. */
        ERR_INCONSISTENT_VOTER_SET = 94,
        /** The version of the update is not valid. */
        ERR_INVALID_UPDATE_VERSION = 95,
        /** The cluster's features could not be updated. */
        ERR_FEATURE_UPDATE_FAILED = 96,
        /** A forwarded principal could not be decoded. */
        ERR_PRINCIPAL_DESERIALIZATION_FAILURE = 97,
        /** The broker does not know this topic id. */
        ERR_UNKNOWN_TOPIC_ID = 100,
        /** The group coordinator has moved the member to another epoch (KIP-848). */
        ERR_FENCED_MEMBER_EPOCH = 110,
        /** The previous member with this instance id has not left yet (KIP-848). */
        ERR_UNRELEASED_INSTANCE_ID = 111,
        /** The coordinator does not have this assignor (KIP-848). */
        ERR_UNSUPPORTED_ASSIGNOR = 112,
        /** The member's epoch is older than the coordinator's (KIP-848). */
        ERR_STALE_MEMBER_EPOCH = 113,
        /** The telemetry subscription is not the client's present one (KIP-714). */
        ERR_UNKNOWN_SUBSCRIPTION_ID = 117,
        /** The pushed telemetry is larger than the broker takes (KIP-714). */
        ERR_TELEMETRY_TOO_LARGE = 118,
        /** The client's knowledge is too old: start again from the bootstrap servers (KIP-1102). */
        ERR_REBOOTSTRAP_REQUIRED = 129
};

/**
 * Returns the meaning of a code, as text for people; "Err-<code>?" for a code that is not known.
 */
RD_EXPORT std::string err2str(RdKafka::ErrorCode err);

/** Conf::set_ssl_cert(): what a certificate is for. */
enum CertificateType {
        CERT_PUBLIC_KEY,  /**< The client's certificate. */
        CERT_PRIVATE_KEY, /**< The client's private key. */
        CERT_CA,          /**< Certificates of the authorities that brokers are checked with. */
        CERT__CNT         /**< Number of values. */
};

/** Conf::set_ssl_cert(): how a certificate is written. */
enum CertificateEncoding {
        CERT_ENC_PKCS12, /**< PKCS#12. */
        CERT_ENC_DER,    /**< DER, binary X.509. */
        CERT_ENC_PEM,    /**< PEM, text. */
        CERT_ENC__CNT    /**< Number of values. */
};


/* ==========================================================================
 *  4. ERROR OBJECTS
 * ========================================================================== */

/**
 * An error with a code, a text and advice. Methods that return an `Error *` return NULL on
 * success; anything else belongs to the caller, who deletes it.
 */
class RD_EXPORT Error {
       public:
        /**
         * Creates an error, for code that passes errors on.
         *
         * @param code    Its code.
         * @param errstr  Its text, or NULL: the meaning of its code.
         */
        static Error *create(ErrorCode code, const std::string *errstr);

        virtual ~Error() {
        }

        /** Returns the code. */
        virtual ErrorCode code() const = 0;

        /** Returns the name of the code, for example "_QUEUE_FULL". */
        virtual std::string name() const = 0;

        /** Returns the error's text for people. */
        virtual std::string str() const = 0;

        /** Returns whether the client cannot continue, see Handle::fatal_error(). */
        virtual bool is_fatal() const = 0;

        /** Returns whether the same call may succeed when it is made again. */
        virtual bool is_retriable() const = 0;

        /**
         * Returns whether the present transaction cannot be committed and must be aborted with
         * Producer::abort_transaction() before the producer can begin another (KIP-98, KIP-360).
         */
        virtual bool txn_requires_abort() const = 0;
};


/* ==========================================================================
 *  5. CALLBACKS
 *
 *  Classes that the application derives from. An object is given to Conf::set()
 *  (or to a single call) and stays the application's. What a callback is handed
 *  belongs to the library and is valid during the call.
 *
 *  Section 1 describes exceptions that leave a callback.
 * ========================================================================== */

/** Delivery reports: Conf::set("dr_cb", ...). */
class RD_EXPORT DeliveryReportCb {
       public:
        /**
         * Called once for each produced message, when the broker has acknowledged it or when it
         * has failed for good: Message::err() says which, Message::status() whether a failed
         * message may be in the log all the same. Message::msg_opaque() is what was given when
         * it was produced. `delivery.report.only.error` limits the calls to failures.
         *
         * Called from Handle::poll() and Producer::flush(). Producing from it is allowed.
         */
        virtual void dr_cb(Message &message) = 0;

        virtual ~DeliveryReportCb() {
        }
};

/** Tokens for SASL/OAUTHBEARER: Conf::set("oauthbearer_token_refresh_cb", ...). */
class RD_EXPORT OAuthBearerTokenRefreshCb {
       public:
        /**
         * Called when the client needs a token: at its start, when 80 % of a token's life have
         * passed, 10 s after a failure, and again if a request was not answered in 30 s. It
         * answers with Handle::oauthbearer_set_token() or Handle::oauthbearer_set_token_failure(),
         * during the call or later, from any thread. Connections wait until there is a token.
         *
         * @param handle              Client that needs the token.
         * @param oauthbearer_config  The property `sasl.oauthbearer.config`.
         *
         * Called from Handle::poll(), Producer::flush() and KafkaConsumer::consume(). With
         * Conf::enable_sasl_queue() it is called from a thread of the library, after
         * Handle::sasl_background_callbacks_enable(), or from the calls that serve
         * Handle::get_sasl_queue().
         */
        virtual void oauthbearer_token_refresh_cb(RdKafka::Handle *handle,
                                                  const std::string &oauthbearer_config) = 0;

        virtual ~OAuthBearerTokenRefreshCb() {
        }
};

/** Chooses partitions: Conf::set("partitioner_cb", ...) of a topic configuration. */
class RD_EXPORT PartitionerCb {
       public:
        /**
         * Chooses the partition of a message that was produced without one.
         *
         * @param topic          Topic: the application's object where there is one. Only name()
         *                       and partition_available() may be called.
         * @param key            Key, or NULL.
         * @param partition_cnt  Number of the topic's partitions, at least 1.
         * @param msg_opaque     The message's opaque.
         *
         * @return A partition from 0 to partition_cnt - 1, or Topic::PARTITION_UA if none can be
         *         chosen, which fails the message with ERR__UNKNOWN_PARTITION.
         *
         * Called from the producing thread, or from a thread of the library for messages that
         * waited for the number of partitions. It must be thread-safe and must not block. An
         * exception counts as Topic::PARTITION_UA; it comes out of produce() if that has called,
         * and is reported on stderr otherwise.
         */
        virtual int32_t partitioner_cb(const Topic *topic,
                                       const std::string *key,
                                       int32_t partition_cnt,
                                       void *msg_opaque) = 0;

        virtual ~PartitionerCb() {
        }
};

/**
 * The same with the key as it lies in memory, which saves a string:
 * Conf::set("partitioner_key_pointer_cb", ...) of a topic configuration.
 */
class RD_EXPORT PartitionerKeyPointerCb {
       public:
        /** As PartitionerCb::partitioner_cb(). `key` is NULL where there is none. */
        virtual int32_t partitioner_cb(const Topic *topic,
                                       const void *key,
                                       size_t key_len,
                                       int32_t partition_cnt,
                                       void *msg_opaque) = 0;

        virtual ~PartitionerKeyPointerCb() {
        }
};

/** Errors, statistics, log lines, throttling: Conf::set("event_cb", ...). */
class RD_EXPORT EventCb {
       public:
        /**
         * Called for every event of section 6. Errors, statistics and throttling come from
         * Handle::poll(), KafkaConsumer::consume() and Producer::flush(). Log lines
         * (Event::EVENT_LOG) come at once and from any thread, of the library's too: what is done
         * with them must be thread-safe, quick, and must not call the client; with the property
         * `log.queue` they come from a queue instead, see Handle::set_log_queue(). An exception
         * that a log line has caused is reported on stderr and comes out of no method.
         */
        virtual void event_cb(Event &event) = 0;

        virtual ~EventCb() {
        }
};

/** Consumed messages by callback: Conf::set("consume_cb", ...), Consumer::consume_callback(). */
class RD_EXPORT ConsumeCb {
       public:
        /**
         * Called for each message; look at Message::err() first. The one of a configuration is
         * called by Handle::poll() and Queue::poll(), with the client, a `Handle *`, as its
         * `opaque`; KafkaConsumer::consume() returns messages all the same.
         *
         * After an exception no further message is taken. The message of that call counts as
         * consumed.
         */
        virtual void consume_cb(Message &message, void *opaque) = 0;

        virtual ~ConsumeCb() {
        }
};

/** Changes of a group's assignment: Conf::set("rebalance_cb", ...). */
class RD_EXPORT RebalanceCb {
       public:
        /**
         * Lets the application carry out the changes of its group's assignment. Without this
         * callback the library does so by itself.
         *
         * @param consumer    The consumer.
         * @param err         ERR__ASSIGN_PARTITIONS or ERR__REVOKE_PARTITIONS; any other value
         *                    reports a failure and is to be treated like a revocation of all.
         * @param partitions  Partitions that come or go.
         *
         * Its duties depend on KafkaConsumer::rebalance_protocol():
         *
         *   "EAGER"        assign: consumer->assign(partitions)
         *                  revoke: consumer->unassign()
         *   "COOPERATIVE"  assign: consumer->incremental_assign(partitions)
         *                  revoke: consumer->incremental_unassign(partitions)
         *
         * Before that it may set start offsets in `partitions`, or, on revocation, commit,
         * unless KafkaConsumer::assignment_lost().
         *
         * Called from KafkaConsumer::consume() and close(). A callback that throws before it has
         * assigned or unassigned leaves that undone: the code that catches the exception does it,
         * or closes the consumer.
         */
        virtual void rebalance_cb(RdKafka::KafkaConsumer *consumer,
                                  RdKafka::ErrorCode err,
                                  std::vector<TopicPartition *> &partitions) = 0;

        virtual ~RebalanceCb() {
        }
};

/** Outcome of commits: Conf::set("offset_commit_cb", ...), KafkaConsumer::commitSync(). */
class RD_EXPORT OffsetCommitCb {
       public:
        /**
         * Called for each commit, automatic ones included.
         *
         * @param err      Outcome as a whole; ERR__NO_OFFSET: there was nothing to commit.
         * @param offsets  Partitions with the offsets and their own outcome,
         *                 TopicPartition::err().
         *
         * Called from KafkaConsumer::consume() and close(), or from commitSync() that it was
         * given to.
         */
        virtual void offset_commit_cb(RdKafka::ErrorCode err,
                                      std::vector<TopicPartition *> &offsets) = 0;

        virtual ~OffsetCommitCb() {
        }
};

/** Checks brokers' certificates: Conf::set("ssl_cert_verify_cb", ...). */
class RD_EXPORT SslCertificateVerifyCb {
       public:
        /**
         * Called for each fault of a broker's chain, and then for each of its certificates from
         * the root to the broker's own.
         *
         * @param broker_name  Broker as "host:port/id" or "host:port/bootstrap".
         * @param broker_id    Its id, or -1 if it is not known yet.
         * @param x509_error   In: the finding of the library's own verification, a number of
         *                     OpenSSL (X509_V_ERR_), 0 for none. The callback may set it to 0 to
         *                     forgive the fault.
         * @param depth        Position in the chain, 0 for the broker's own certificate.
         * @param buf, size    The certificate, DER.
         * @param errstr       Receives the reason of a refusal.
         *
         * @return Whether the certificate is accepted.
         *
         * Called from a thread of the library; it must be thread-safe. An exception refuses.
         */
        virtual bool ssl_cert_verify_cb(const std::string &broker_name,
                                        int32_t broker_id,
                                        int *x509_error,
                                        int depth,
                                        const char *buf,
                                        size_t size,
                                        std::string &errstr) = 0;

        virtual ~SslCertificateVerifyCb() {
        }
};

/** Opens sockets in place of socket(2): Conf::set("socket_cb", ...). */
class RD_EXPORT SocketCb {
       public:
        /**
         * @return The file descriptor, or -1 with `errno` set.
         *
         * Called from a thread of the library. An exception counts as -1 with ECANCELED.
         */
        virtual int socket_cb(int domain, int type, int protocol) = 0;

        virtual ~SocketCb() {
        }
};

/** Opens files in place of open(2): Conf::set("open_cb", ...). */
class RD_EXPORT OpenCb {
       public:
        /**
         * @return The file descriptor, or -1 with `errno` set.
         *
         * May be called from a thread of the library. An exception counts as -1 with ECANCELED.
         */
        virtual int open_cb(const std::string &path, int flags, int mode) = 0;

        virtual ~OpenCb() {
        }
};


/* ==========================================================================
 *  6. EVENTS
 * ========================================================================== */

/** The argument of EventCb. Belongs to the library. */
class RD_EXPORT Event {
       public:
        /** Kinds of event. */
        enum Type {
                EVENT_ERROR,   /**< An error: err(), str(), fatal(). */
                EVENT_STATS,   /**< Statistics: str() is the JSON document. */
                EVENT_LOG,     /**< A log line: severity(), fac(), str(). */
                EVENT_THROTTLE /**< Throttling: throttle_time(), broker_name(), broker_id(). */
        };

        /** Severities, syslog's. */
        enum Severity {
                EVENT_SEVERITY_EMERG = 0,    /**< Emergency. */
                EVENT_SEVERITY_ALERT = 1,    /**< Alert. */
                EVENT_SEVERITY_CRITICAL = 2, /**< Critical. */
                EVENT_SEVERITY_ERROR = 3,    /**< Error. */
                EVENT_SEVERITY_WARNING = 4,  /**< Warning. */
                EVENT_SEVERITY_NOTICE = 5,   /**< Notice. */
                EVENT_SEVERITY_INFO = 6,     /**< Information. */
                EVENT_SEVERITY_DEBUG = 7     /**< Debugging. */
        };

        virtual ~Event() {
        }

        /** Returns the kind of event. */
        virtual Type type() const = 0;

        /**
         * Returns the error of EVENT_ERROR, else ERR_NO_ERROR. The library keeps trying after
         * errors; they are information, except where fatal() is true: the code is then that of
         * Handle::fatal_error(), not ERR__FATAL.
         */
        virtual ErrorCode err() const = 0;

        /** Returns the severity of EVENT_LOG. */
        virtual Severity severity() const = 0;

        /** Returns a short word for the kind of line, of EVENT_LOG; else empty. */
        virtual std::string fac() const = 0;

        /** EVENT_ERROR: the reason. EVENT_STATS: the JSON document. EVENT_LOG: the line. */
        virtual std::string str() const = 0;

        /** EVENT_THROTTLE: the delay in milliseconds; 0: the throttling ended. */
        virtual int throttle_time() const = 0;

        /** EVENT_THROTTLE: the broker as "host:port". */
        virtual std::string broker_name() const = 0;

        /** EVENT_THROTTLE: the broker's id; else -1. */
        virtual int broker_id() const = 0;

        /** EVENT_ERROR: whether the client cannot continue, see Handle::fatal_error(). */
        virtual bool fatal() const = 0;
};


/* ==========================================================================
 *  7. CONFIGURATION
 * ========================================================================== */

/**
 * A set of properties and callbacks, from which clients and topics are created. The properties,
 * their defaults and ranges are listed in docs/CONFIGURATION.md; how values are read, in section
 * 7 of rdkafka.h.
 *
 * create() functions copy what they need: a configuration may be used several times, changed, and
 * deleted at any time. The callback objects in it are not copied.
 */
class RD_EXPORT Conf {
       public:
        /** The object that is configured. */
        enum ConfType {
                CONF_GLOBAL, /**< A client. Topic-level properties are defaults of its topics. */
                CONF_TOPIC   /**< One topic. */
        };

        /** Outcome of setting or reading. */
        enum ConfResult {
                CONF_UNKNOWN = -2, /**< There is no property of this name. */
                CONF_INVALID = -1, /**< The value is not allowed or cannot be used. */
                CONF_OK = 0        /**< Done. */
        };

        /** Returns a configuration with every property at its default. Delete it. */
        static Conf *create(ConfType type);

        virtual ~Conf() {
        }

        /**
         * Sets a property.
         *
         * @param name    Property or alias.
         * @param value   Its value as text.
         * @param errstr  Receives what is wrong, if something is.
         *
         * @return CONF_OK; else nothing is changed.
         */
        virtual Conf::ConfResult
        set(const std::string &name, const std::string &value, std::string &errstr) = 0;

        /* -- Callbacks. Each has the one name that is given here; another name, or a
         *    configuration of the wrong type, is CONF_INVALID. NULL takes a callback back. -- */

        /** "dr_cb": delivery reports. Global. */
        virtual Conf::ConfResult
        set(const std::string &name, DeliveryReportCb *dr_cb, std::string &errstr) = 0;

        /** "oauthbearer_token_refresh_cb": tokens. Global. */
        virtual Conf::ConfResult set(const std::string &name,
                                     OAuthBearerTokenRefreshCb *oauthbearer_token_refresh_cb,
                                     std::string &errstr) = 0;

        /** "event_cb": errors, statistics, log lines, throttling. Global. */
        virtual Conf::ConfResult
        set(const std::string &name, EventCb *event_cb, std::string &errstr) = 0;

        /**
         * "default_topic_conf": the configuration of all topics that have none of their own; it
         * is copied. Topic-level properties that were set before in the global configuration are
         * replaced. Global.
         */
        virtual Conf::ConfResult
        set(const std::string &name, const Conf *topic_conf, std::string &errstr) = 0;

        /** "partitioner_cb". Topic. It goes first where both are set. */
        virtual Conf::ConfResult
        set(const std::string &name, PartitionerCb *partitioner_cb, std::string &errstr) = 0;

        /** "partitioner_key_pointer_cb". Topic. */
        virtual Conf::ConfResult set(const std::string &name,
                                     PartitionerKeyPointerCb *partitioner_kp_cb,
                                     std::string &errstr) = 0;

        /** "socket_cb": opening sockets. Global. */
        virtual Conf::ConfResult
        set(const std::string &name, SocketCb *socket_cb, std::string &errstr) = 0;

        /** "open_cb": opening files. Global. */
        virtual Conf::ConfResult
        set(const std::string &name, OpenCb *open_cb, std::string &errstr) = 0;

        /** "rebalance_cb": changes of the assignment. Global. */
        virtual Conf::ConfResult
        set(const std::string &name, RebalanceCb *rebalance_cb, std::string &errstr) = 0;

        /** "offset_commit_cb": outcome of commits. Global. */
        virtual Conf::ConfResult
        set(const std::string &name, OffsetCommitCb *offset_commit_cb, std::string &errstr) = 0;

        /** "ssl_cert_verify_cb": checking certificates. Global. */
        virtual Conf::ConfResult set(const std::string &name,
                                     SslCertificateVerifyCb *ssl_cert_verify_cb,
                                     std::string &errstr) = 0;

        /**
         * Sets a certificate or key from memory, in place of the properties that name files.
         *
         * @param buffer, size  The certificate in that encoding; NULL removes it. Copied.
         */
        virtual Conf::ConfResult set_ssl_cert(RdKafka::CertificateType cert_type,
                                              RdKafka::CertificateEncoding cert_enc,
                                              const void *buffer,
                                              size_t size,
                                              std::string &errstr) = 0;

        /**
         * Reads a property.
         *
         * @return CONF_OK; CONF_UNKNOWN: there is none of this name; CONF_INVALID: it has no
         *         value that could be shown.
         */
        virtual Conf::ConfResult get(const std::string &name, std::string &value) const = 0;

        /* -- Reading callbacks: NULL where none is set. CONF_INVALID: a configuration of the
         *    wrong type. -- */

        /** Returns the delivery report callback. */
        virtual Conf::ConfResult get(DeliveryReportCb *&dr_cb) const = 0;

        /** Returns the token callback. */
        virtual Conf::ConfResult
        get(OAuthBearerTokenRefreshCb *&oauthbearer_token_refresh_cb) const = 0;

        /** Returns the event callback. */
        virtual Conf::ConfResult get(EventCb *&event_cb) const = 0;

        /** Returns the partitioner. */
        virtual Conf::ConfResult get(PartitionerCb *&partitioner_cb) const = 0;

        /** Returns the partitioner with key pointer. */
        virtual Conf::ConfResult get(PartitionerKeyPointerCb *&partitioner_kp_cb) const = 0;

        /** Returns the socket callback. */
        virtual Conf::ConfResult get(SocketCb *&socket_cb) const = 0;

        /** Returns the file callback. */
        virtual Conf::ConfResult get(OpenCb *&open_cb) const = 0;

        /** Returns the rebalance callback. */
        virtual Conf::ConfResult get(RebalanceCb *&rebalance_cb) const = 0;

        /** Returns the commit callback. */
        virtual Conf::ConfResult get(OffsetCommitCb *&offset_commit_cb) const = 0;

        /** Returns the certificate callback. */
        virtual Conf::ConfResult get(SslCertificateVerifyCb *&ssl_cert_verify_cb) const = 0;

        /**
         * Returns all properties that have a value: name, value, name, value, ... Delete the list.
         */
        virtual std::list<std::string> *dump() = 0;

        /** "consume_cb": messages by callback. Global. */
        virtual Conf::ConfResult
        set(const std::string &name, ConsumeCb *consume_cb, std::string &errstr) = 0;

        /**
         * Returns the C interface's object behind a global configuration, for what only that
         * offers; NULL for a topic configuration. It belongs to this object. Its opaque and the
         * callbacks that this class has setters for are this library's.
         */
        virtual struct rd_kafka_conf_s *c_ptr_global() = 0;

        /** Returns the C interface's object behind a topic configuration; NULL for a global one. */
        virtual struct rd_kafka_topic_conf_s *c_ptr_topic() = 0;

        /**
         * Stores the argument of an OpenSSL engine. This library's TLS is not OpenSSL: a client
         * with such an argument is refused, unless security.protocol excludes TLS. Global.
         */
        virtual Conf::ConfResult set_engine_callback_data(void *value, std::string &errstr) = 0;

        /**
         * Sends requests for tokens to a queue of their own instead of the client's, see
         * Handle::get_sasl_queue() and Handle::sasl_background_callbacks_enable(). Global.
         */
        virtual Conf::ConfResult enable_sasl_queue(bool enable, std::string &errstr) = 0;
};


/* ==========================================================================
 *  8. THE CLIENT: WHAT PRODUCERS AND CONSUMERS SHARE
 * ========================================================================== */

/** Base of Producer, Consumer and KafkaConsumer. Thread-safe. */
class RD_EXPORT Handle {
       public:
        virtual ~Handle() {
        }

        /** Returns the client's name, unique in the process, for example "rdkafka#producer-1". */
        virtual std::string name() const = 0;

        /**
         * Returns the id that the group coordinator gave to this member; empty where there is no
         * membership.
         */
        virtual std::string memberid() const = 0;

        /**
         * Serves what happened: calls the callbacks. A program must call it regularly, producers
         * above all: delivery reports count as part of `queue.buffering.max.messages` until they
         * are served. A KafkaConsumer uses consume() instead.
         *
         * @param timeout_ms  How long to wait for the first event.
         *
         * @return The number of events served.
         *
         * Throws what a callback has thrown.
         */
        virtual int poll(int timeout_ms) = 0;

        /**
         * Returns the number of messages that wait to be sent or answered, and events that wait to
         * be served.
         */
        virtual int outq_len() = 0;

        /**
         * Requests metadata from a broker: the cluster's brokers, topics and partitions.
         *
         * @param all_topics  All topics, or those that the client uses.
         * @param only_rkt    This topic only (with all_topics false), or NULL.
         * @param metadatap   Receives the answer, which the caller deletes; NULL after an error.
         *
         * @return ERR_NO_ERROR; ERR__TIMED_OUT; ERR__TRANSPORT: no broker could be reached; or an
         *         error of the broker. A topic's own error is in the answer.
         */
        virtual ErrorCode metadata(bool all_topics,
                                   const Topic *only_rkt,
                                   Metadata **metadatap,
                                   int timeout_ms) = 0;

        /**
         * Stops fetching (in a producer: sending) messages of some partitions. Positions stay. A
         * consumer must still be polled.
         *
         * @param partitions  Each one's outcome is in its err() afterwards.
         */
        virtual ErrorCode pause(std::vector<TopicPartition *> &partitions) = 0;

        /** Resumes partitions that pause() paused. Same argument and result. */
        virtual ErrorCode resume(std::vector<TopicPartition *> &partitions) = 0;

        /**
         * Queries the partition's leader for its first offset and its high watermark (the offset
         * that the next message will get).
         *
         * @return ERR_NO_ERROR; ERR__TIMED_OUT; ERR__UNKNOWN_PARTITION or ERR__UNKNOWN_TOPIC; or an
         *         error of the broker.
         */
        virtual ErrorCode query_watermark_offsets(const std::string &topic,
                                                  int32_t partition,
                                                  int64_t *low,
                                                  int64_t *high,
                                                  int timeout_ms) = 0;

        /**
         * Returns the last known watermarks without a request;
         * Topic::OFFSET_INVALID where one is not known yet.
         */
        virtual ErrorCode get_watermark_offsets(const std::string &topic,
                                                int32_t partition,
                                                int64_t *low,
                                                int64_t *high) = 0;

        /**
         * Looks up offsets by time (KIP-79): for each partition the first message whose timestamp
         * is the given one or later.
         *
         * @param offsets  offset() of each says the time and receives the offset, or
         *                 Topic::OFFSET_END if there is no message that late; err() its outcome.
         *
         * @return ERR_NO_ERROR (see the elements too); ERR__TIMED_OUT; or an error.
         */
        virtual ErrorCode offsetsForTimes(std::vector<TopicPartition *> &offsets,
                                          int timeout_ms) = 0;

        /**
         * Returns the queue of one partition. It is forwarded to the consumer's; forward(NULL) ends
         * that, to consume the partition apart from the others.
         *
         * @return A queue that the caller deletes; NULL if there cannot be such a partition.
         */
        virtual Queue *get_partition_queue(const TopicPartition *partition) = 0;

        /**
         * Sends log lines to a queue (NULL: the main queue, which poll() serves). Needs the
         * property `log.queue`; until this is called lines are kept in the client.
         *
         * @return ERR_NO_ERROR, or ERR__NOT_CONFIGURED: `log.queue` is not true.
         */
        virtual ErrorCode set_log_queue(Queue *queue) = 0;

        /**
         * From inside a callback: makes the method that called the callback return after it
         * instead of serving further events.
         */
        virtual void yield() = 0;

        /**
         * Returns the cluster's id (KIP-78), waiting for it if need be; empty if none came in time.
         */
        virtual std::string clusterid(int timeout_ms) = 0;

        /**
         * Returns the client's handle in the C interface, for what only that offers. It belongs to
         * this object. Its opaque is this library's; what its functions call does not throw.
         */
        virtual struct rd_kafka_s *c_ptr() = 0;

        /**
         * Returns the cluster's controller as a broker id, waiting if need be; -1 if none came in
         * time.
         */
        virtual int32_t controllerid(int timeout_ms) = 0;

        /**
         * Returns the error that ended the client, if one did. EventCb receives it with
         * Event::fatal(). All that is left to do then is to delete the client.
         *
         * @param errstr  Receives the reason when there is one.
         *
         * @return ERR_NO_ERROR if there is no fatal error, else its code.
         */
        virtual ErrorCode fatal_error(std::string &errstr) const = 0;

        /**
         * Sets the client's token for SASL/OAUTHBEARER (KIP-255): for new connections, and when a
         * session is renewed (KIP-368). Thread-safe.
         *
         * @param token_value        Token.
         * @param md_lifetime_ms     The end of its life, in milliseconds since 1970-01-01 UTC.
         * @param md_principal_name  The Kafka principal of the token, for the log.
         * @param extensions         SASL extensions (KIP-342): name, value, name, value, ...
         * @param errstr             Receives the reason of an error.
         *
         * @return ERR_NO_ERROR; ERR__STATE: OAUTHBEARER is not the client's mechanism;
         *         ERR__INVALID_ARG: a life that is over, an odd number of extensions, or characters
         *         that are not allowed in a token or an extension.
         */
        virtual ErrorCode oauthbearer_set_token(const std::string &token_value,
                                                int64_t md_lifetime_ms,
                                                const std::string &md_principal_name,
                                                const std::list<std::string> &extensions,
                                                std::string &errstr) = 0;

        /**
         * Reports that no token could be obtained: the client requests one again after 10 s.
         *
         * @return ERR_NO_ERROR; ERR__STATE: OAUTHBEARER is not the client's mechanism;
         *         ERR__INVALID_ARG: `errstr` is empty.
         */
        virtual ErrorCode oauthbearer_set_token_failure(const std::string &errstr) = 0;

        /**
         * Calls the callback for tokens on a thread of the library (Conf::enable_sasl_queue()). An
         * exception that the callback throws there is logged.
         *
         * @return NULL, or an error that the caller deletes: ERR__NOT_CONFIGURED: get_sasl_queue()
         *         is NULL.
         */
        virtual Error *sasl_background_callbacks_enable() = 0;

        /**
         * Returns the SASL queue, which the caller deletes; NULL unless Conf::enable_sasl_queue() was
         * called and OAUTHBEARER is the client's mechanism.
         */
        virtual Queue *get_sasl_queue() = 0;

        /**
         * Returns the background queue: what is forwarded to it is served by a thread of the
         * library, which then calls the callbacks. The caller deletes it. NULL if there is no
         * thread to be had.
         */
        virtual Queue *get_background_queue() = 0;

        /** RdKafka::mem_malloc() of this client. */
        virtual void *mem_malloc(size_t size) = 0;

        /** RdKafka::mem_free() of this client. */
        virtual void mem_free(void *ptr) = 0;

        /**
         * Replaces user name and password of SASL PLAIN and SCRAM: for new connections, and when a
         * session is renewed (KIP-368). Connections that are up stay up. Thread-safe.
         *
         * @return NULL, or an error that the caller deletes: ERR__INVALID_ARG: a text is empty.
         */
        virtual Error *sasl_set_credentials(const std::string &username,
                                            const std::string &password) = 0;
};


/* ==========================================================================
 *  9. PARTITIONS AND TOPICS
 * ========================================================================== */

/** A topic and partition with an offset, an error, a leader epoch and metadata. Plain data. */
class RD_EXPORT TopicPartition {
       public:
        /** Creates a partition without an offset (Topic::OFFSET_INVALID). Delete it. */
        static TopicPartition *create(const std::string &topic, int partition);

        /** Creates a partition with an offset, absolute or logical. Delete it. */
        static TopicPartition *create(const std::string &topic, int partition, int64_t offset);

        virtual ~TopicPartition() = 0;

        /** Deletes all elements of a vector and empties it. */
        static void destroy(std::vector<TopicPartition *> &partitions);

        /** Returns the topic's name. Belongs to the object. */
        virtual const std::string &topic() const = 0;

        /** Returns the partition. */
        virtual int partition() const = 0;

        /** Returns the offset. */
        virtual int64_t offset() const = 0;

        /** Sets the offset. */
        virtual void set_offset(int64_t offset) = 0;

        /** Returns its outcome in the last call that it was an argument of. */
        virtual ErrorCode err() const = 0;

        /** Returns the leader epoch of the offset (KIP-320), -1 if it is not known. */
        virtual int32_t get_leader_epoch() = 0;

        /** Sets the leader epoch; -1: not known. */
        virtual void set_leader_epoch(int32_t leader_epoch) = 0;

        /** Returns the metadata that is committed with the offset; empty if there is none. */
        virtual std::vector<unsigned char> get_metadata() = 0;

        /** Sets the metadata. Copied. */
        virtual void set_metadata(std::vector<unsigned char> &metadata) = 0;
};

/**
 * A topic of a client: a local object that is needed for properties of its own, for the simple
 * consumer and for produce() by topic. Making one creates nothing on a broker. Thread-safe.
 */
class RD_EXPORT Topic {
       public:
        /** A partition that is not chosen: let the partitioner choose. */
        static const int32_t PARTITION_UA;

        /** Logical offset: the first message that the partition still has. */
        static const int64_t OFFSET_BEGINNING;
        /** Logical offset: the next message that will be written. */
        static const int64_t OFFSET_END;
        /** Logical offset: the group's committed one, or `auto.offset.reset` without one. */
        static const int64_t OFFSET_STORED;
        /** No offset. In assignments the same as OFFSET_STORED. */
        static const int64_t OFFSET_INVALID;

        /**
         * Creates a topic of a client.
         *
         * @param base       Client.
         * @param topic_str  Name.
         * @param conf       Topic configuration, or NULL for the client's default. Not looked at if
         *                   the client uses the topic already: what it began with stays.
         *
         * @return The topic, to be deleted before the client; NULL with `errstr` set.
         */
        static Topic *create(Handle *base,
                             const std::string &topic_str,
                             const Conf *conf,
                             std::string &errstr);

        virtual ~Topic() = 0;

        /** Returns the name. */
        virtual std::string name() const = 0;

        /** Returns whether a partition has a leader. For partitioners only. */
        virtual bool partition_available(int32_t partition) const = 0;

        /**
         * Stores `offset` + 1 for a partition, so that the next commit takes it: the argument is
         * the offset of the last message that was consumed.
         *
         * Deprecated: use Message::offset_store() or KafkaConsumer::offsets_store(), which know
         * leader epochs.
         */
        virtual ErrorCode offset_store(int32_t partition, int64_t offset) = 0;

        /** Returns the topic's handle in the C interface. Belongs to this object. */
        virtual struct rd_kafka_topic_s *c_ptr() = 0;
};


/* ==========================================================================
 *  10. MESSAGES AND THEIR HEADERS
 * ========================================================================== */

/** When a message was made or written (KIP-32). */
class RD_EXPORT MessageTimestamp {
       public:
        /** The source of the timestamp. */
        enum MessageTimestampType {
                MSG_TIMESTAMP_NOT_AVAILABLE,  /**< The message has none. */
                MSG_TIMESTAMP_CREATE_TIME,    /**< The producer, when it made the message. */
                MSG_TIMESTAMP_LOG_APPEND_TIME /**< The broker, when it wrote it to its log. */
        };

        MessageTimestampType type; /**< Its source. */
        int64_t timestamp;         /**< Milliseconds since 1970-01-01 00:00 UTC; -1: none. */
};

/**
 * An ordered list of message headers; names may come several times.
 *
 * A list that create() made belongs to the application until Producer::produce() has taken it.
 * One that Message::headers() returned belongs to the message.
 */
class RD_EXPORT Headers {
       public:
        virtual ~Headers() = 0;

        /** A name and a value, or, where a look-up failed, the error. A value type. */
        class Header {
               public:
                /** Constructs a header; the value is copied. NULL is a null value. */
                Header(const std::string &key, const void *value, size_t value_size)
                    : key_(key), err_(ERR_NO_ERROR), value_(copy(value, value_size)),
                      value_size_(value_size) {
                }

                /**
                 * Constructs a header with an error; the value is left out unless that is
                 * ERR_NO_ERROR.
                 */
                Header(const std::string &key,
                       const void *value,
                       size_t value_size,
                       const RdKafka::ErrorCode err)
                    : key_(key), err_(err),
                      value_(err == ERR_NO_ERROR ? copy(value, value_size) : NULL),
                      value_size_(value_size) {
                }

                Header(const Header &other)
                    : key_(other.key_), err_(other.err_),
                      value_(copy(other.value_, other.value_size_)),
                      value_size_(other.value_size_) {
                }

                Header &operator=(const Header &other) {
                        if (this != &other) {
                                char *value = copy(other.value_, other.value_size_);
                                RdKafka::mem_free(value_);
                                value_ = value;
                                key_ = other.key_;
                                err_ = other.err_;
                                value_size_ = other.value_size_;
                        }
                        return *this;
                }

                ~Header() {
                        RdKafka::mem_free(value_);
                }

                /** Returns the name. */
                std::string key() const {
                        return key_;
                }

                /** Returns the value; NULL for a null value. Belongs to the header. */
                const void *value() const {
                        return value_;
                }

                /** Returns the value as text: every value is followed by a zero byte. */
                const char *value_string() const {
                        return value_;
                }

                /** Returns the length of the value in bytes. */
                size_t value_size() const {
                        return value_size_;
                }

                /** ERR_NO_ERROR, or why there is no header: ERR__NOENT, see get_last(). */
                RdKafka::ErrorCode err() const {
                        return err_;
                }

               private:
                /* A copy with a zero behind it, of the library's memory: program and library
                 * hand these objects to each other. */
                static char *copy(const void *value, size_t size) {
                        char *to;
                        if (!value)
                                return NULL;
                        to = static_cast<char *>(RdKafka::mem_malloc(size + 1));
                        memcpy(to, value, size);
                        to[size] = '\0';
                        return to;
                }

                std::string key_;
                RdKafka::ErrorCode err_;
                char *value_;
                size_t value_size_;
        };

        /** Creates an empty list. */
        static Headers *create();

        /** Creates a list of copies. */
        static Headers *create(const std::vector<Header> &headers);

        /**
         * Appends a header. Name and value are copied.
         *
         * @param value  Value, or NULL for a null value.
         *
         * @return ERR_NO_ERROR, or ERR__READ_ONLY.
         */
        virtual ErrorCode add(const std::string &key, const void *value, size_t value_size) = 0;

        /** Appends a header with text as its value. */
        virtual ErrorCode add(const std::string &key, const std::string &value) = 0;

        /** Appends a copy of a header. */
        virtual ErrorCode add(const Header &header) = 0;

        /**
         * Removes all headers of this name.
         *
         * @return ERR_NO_ERROR; ERR__NOENT: there was none; ERR__READ_ONLY.
         */
        virtual ErrorCode remove(const std::string &key) = 0;

        /** Returns all headers of this name, in order. */
        virtual std::vector<Header> get(const std::string &key) const = 0;

        /** Returns the last header of this name; one whose err() is ERR__NOENT if there is none. */
        virtual Header get_last(const std::string &key) const = 0;

        /** Returns all headers, in order. */
        virtual std::vector<Header> get_all() const = 0;

        /** Returns the number of headers. */
        virtual size_t size() const = 0;
};

/**
 * A message that was consumed, or a produced one in its delivery report.
 *
 * Consumed messages belong to the caller of consume(), which deletes them; those that a callback is
 * handed belong to the library. What a message returns by pointer lives as long as it.
 */
class RD_EXPORT Message {
       public:
        /** State of a produced message in the partition's log. */
        enum Status {
                /** It was never sent, or the broker refused it: it is not there. */
                MSG_STATUS_NOT_PERSISTED = 0,
                /** It was sent and no answer came (or acks is 0): it may be there. */
                MSG_STATUS_POSSIBLY_PERSISTED = 1,
                /** The broker acknowledged it: it is there. */
                MSG_STATUS_PERSISTED = 2
        };

        /**
         * Returns the error's text for people; the broker's own text where it sent one (KIP-467).
         * For a consumed message without an error it is empty.
         */
        virtual std::string errstr() const = 0;

        /**
         * ERR_NO_ERROR for a message proper. In a consumer another code makes it an error or a
         * piece of news: ERR__TIMED_OUT (nothing came in time), ERR__PARTITION_EOF, ... The
         * payload is then not to be looked at.
         */
        virtual ErrorCode err() const = 0;

        /**
         * Returns the application's topic object, or NULL if Topic::create() was not called for the
         * topic before the client first used it, or the object was deleted.
         */
        virtual Topic *topic() const = 0;

        /** Returns the topic's name; empty for errors that are not about a topic. */
        virtual std::string topic_name() const = 0;

        /** Returns the partition. */
        virtual int32_t partition() const = 0;

        /** The value, or NULL if it has none ("tombstone"). */
        virtual void *payload() const = 0;

        /** Returns the length of the value in bytes. */
        virtual size_t len() const = 0;

        /** Returns the key as a string, made by the first call; NULL if there is none. */
        virtual const std::string *key() const = 0;

        /** Returns the key as it lies in memory; NULL if there is none. */
        virtual const void *key_pointer() const = 0;

        /** Returns the length of the key in bytes. */
        virtual size_t key_len() const = 0;

        /** Returns the offset; Topic::OFFSET_INVALID in a delivery report where it is not known. */
        virtual int64_t offset() const = 0;

        /** Returns the timestamp. */
        virtual MessageTimestamp timestamp() const = 0;

        /** Delivery reports: what produce() was given for the message. Else NULL. */
        virtual void *msg_opaque() const = 0;

        virtual ~Message() = 0;

        /** Delivery reports: microseconds from produce() to the outcome. Else -1. */
        virtual int64_t latency() const = 0;

        /** Returns the message in the C interface. Belongs to this object. */
        virtual struct rd_kafka_message_s *c_ptr() = 0;

        /** Delivery reports: whether it is in the log. */
        virtual Status status() const = 0;

        /** Returns the headers, or NULL if it has none. */
        virtual RdKafka::Headers *headers() = 0;

        /**
         * Returns the headers. `err` receives ERR__NOENT where there are none, another code if they
         * cannot be decoded.
         */
        virtual RdKafka::Headers *headers(RdKafka::ErrorCode *err) = 0;

        /** Returns the broker that it came from or was acknowledged by; -1 if not known. */
        virtual int32_t broker_id() const = 0;

        /** Returns the leader epoch that a consumed message was written under (KIP-320), or -1. */
        virtual int32_t leader_epoch() const = 0;

        /**
         * Stores the offset after this message, so that the next commit takes it. For programs that
         * set `enable.auto.offset.store` to false.
         *
         * @return NULL, or an error: ERR__STATE: the partition is not assigned any more;
         *         ERR__INVALID_ARG: not a message proper.
         */
        virtual Error *offset_store() = 0;
};


/* ==========================================================================
 *  11. QUEUES
 * ========================================================================== */

/**
 * A queue of messages and events, for programs that consume partitions apart from each other or
 * wait by a file descriptor. Delete it before the client. Thread-safe.
 */
class RD_EXPORT Queue {
       public:
        /** Creates a queue that belongs to the application. */
        static Queue *create(Handle *handle);

        /**
         * Forwards this queue: what is in it, and what comes, is served from `dst`. NULL ends it.
         *
         * @return ERR_NO_ERROR.
         */
        virtual ErrorCode forward(Queue *dst) = 0;

        /**
         * Takes the next message; callbacks of other events are called on the way.
         *
         * @return A message that the caller deletes, never NULL; err() is ERR__TIMED_OUT if none
         *         came in time.
         *
         * Throws what a callback has thrown.
         */
        virtual Message *consume(int timeout_ms) = 0;

        /**
         * Serves the queue by callbacks only.
         *
         * @return The number of events served.
         *
         * Throws what a callback has thrown.
         */
        virtual int poll(int timeout_ms) = 0;

        virtual ~Queue() = 0;

        /**
         * Writes to a file descriptor when the queue stops being empty, so that a loop around
         * poll(2) or epoll(7) can wait for it. When it fires, serve the queue until it is empty.
         *
         * @param fd       Non-blocking pipe, socket or eventfd; -1 ends it.
         * @param payload  Bytes to write. Copied.
         * @param size     Their number; 8 for an eventfd.
         */
        virtual void io_event_enable(int fd, const void *payload, size_t size) = 0;
};


/* ==========================================================================
 *  12. THE CONSUMER
 * ========================================================================== */

/**
 * A consumer's identity in its group at one moment, for Producer::send_offsets_to_transaction()
 * (KIP-447). It is a snapshot: get another one for each transaction.
 */
class RD_EXPORT ConsumerGroupMetadata {
       public:
        virtual ~ConsumerGroupMetadata() = 0;
};

/**
 * A consumer that subscribes to topics as a member of a group (`group.id`), or assigns partitions
 * to itself. All its messages come out of consume().
 *
 * consume() must be called at least every `max.poll.interval.ms`, or the group takes the
 * partitions away (KIP-62). Thread-safe.
 */
class RD_EXPORT KafkaConsumer : public virtual Handle {
       public:
        /**
         * Creates a consumer.
         *
         * @param conf    Global configuration with a `group.id`. Copied.
         * @param errstr  Receives what is wrong, if something is.
         *
         * @return The consumer, or NULL.
         */
        static KafkaConsumer *create(const Conf *conf, std::string &errstr);

        /**
         * Ends the consumer and waits until its threads are gone. It does not leave the group and
         * commits nothing: call close() first.
         */
        virtual ~KafkaConsumer() = 0;

        /** Replaces the contents of the vector by the assignment; TopicPartition::destroy() it. */
        virtual ErrorCode assignment(std::vector<RdKafka::TopicPartition *> &partitions) = 0;

        /** Replaces the contents of the vector by the subscription, as it was given. */
        virtual ErrorCode subscription(std::vector<std::string> &topics) = 0;

        /**
         * Subscribes to topics. The former subscription is replaced. A name that starts with '^'
         * is a regular expression, matched against all topics of the cluster, topics to come
         * included.
         *
         * @return ERR_NO_ERROR; ERR__INVALID_ARG: no topics, an empty name or a bad expression;
         *         ERR__FATAL: see fatal_error().
         */
        virtual ErrorCode subscribe(const std::vector<std::string> &topics) = 0;

        /** Ends the subscription and revokes the group's partitions. */
        virtual ErrorCode unsubscribe() = 0;

        /**
         * Replaces the assignment: the consumer fetches exactly these partitions, from their
         * offsets; without an offset, from the committed one or `auto.offset.reset`.
         *
         * @return ERR_NO_ERROR; ERR__INVALID_ARG: a partition twice, or not valid; ERR__STATE: the
         *         rebalance protocol is "COOPERATIVE"; ERR__FATAL.
         */
        virtual ErrorCode assign(const std::vector<TopicPartition *> &partitions) = 0;

        /** Empties the assignment. */
        virtual ErrorCode unassign() = 0;

        /**
         * Takes the next message.
         *
         * @return A message that the caller deletes, never NULL. Look at err(): ERR_NO_ERROR: a
         *         message proper; ERR__TIMED_OUT: none came in time, or a callback called yield();
         *         ERR__PARTITION_EOF (with `enable.partition.eof`); ERR__MAX_POLL_EXCEEDED; or
         *         another error, after which the caller continues, unless it is fatal.
         *
         * Calls callbacks, and throws what one has thrown. No message is lost by that.
         */
        virtual Message *consume(int timeout_ms) = 0;

        /* -- Commits. What is not given is the stored offsets of the whole assignment.
         *    Sync waits for the outcome and returns it; Async returns at once. The outcome of
         *    both goes to the OffsetCommitCb of the configuration. Outcomes: ERR_NO_ERROR;
         *    ERR__NO_OFFSET: nothing to commit; ERR__ASSIGNMENT_LOST; ERR__WAIT_COORD: no
         *    coordinator; or an error of the broker. -- */

        /** Commits the stored offsets. */
        virtual ErrorCode commitSync() = 0;

        /** Commits the stored offsets. */
        virtual ErrorCode commitAsync() = 0;

        /** Commits the offset after this message. */
        virtual ErrorCode commitSync(Message *message) = 0;

        /** Commits the offset after this message. */
        virtual ErrorCode commitAsync(Message *message) = 0;

        /** Commits these offsets (last consumed + 1); err() of each receives its outcome. */
        virtual ErrorCode commitSync(std::vector<TopicPartition *> &offsets) = 0;

        /** Commits these offsets (last consumed + 1). */
        virtual ErrorCode commitAsync(const std::vector<TopicPartition *> &offsets) = 0;

        /** Commits the stored offsets; the callback is called before the return. */
        virtual ErrorCode commitSync(OffsetCommitCb *offset_commit_cb) = 0;

        /** Commits these offsets; the callback is called before the return. */
        virtual ErrorCode commitSync(std::vector<TopicPartition *> &offsets,
                                     OffsetCommitCb *offset_commit_cb) = 0;

        /**
         * Fetches committed offsets from the group's coordinator.
         *
         * @param partitions  offset() of each receives its committed offset, or
         *                    Topic::OFFSET_INVALID if there is none; err() its outcome.
         */
        virtual ErrorCode committed(std::vector<TopicPartition *> &partitions, int timeout_ms) = 0;

        /**
         * Positions: offset() of each receives the offset after the last message that the
         * application got, or Topic::OFFSET_INVALID if there was none.
         */
        virtual ErrorCode position(std::vector<TopicPartition *> &partitions) = 0;

        /**
         * Closes the consumer: revokes its partitions (calling RebalanceCb), commits the stored
         * offsets if `enable.auto.commit` is true, leaves the group (unless it is a static member,
         * KIP-345). All that is left to do afterwards is to delete it.
         *
         * @return ERR_NO_ERROR when the consumer is closed, even if the group coordinator has not answered
         *         within 10 seconds; OffsetCommitCb has the error of the commit. ERR__DESTROY: it is
         *         closed already.
         *
         * Throws what a callback has thrown; the consumer is closed all the same.
         */
        virtual ErrorCode close() = 0;

        /**
         * Moves the position of an assigned partition to partition.offset(), absolute or logical.
         *
         * @return ERR_NO_ERROR; ERR__STATE: not assigned; ERR__UNKNOWN_PARTITION; ERR__INVALID_ARG.
         */
        virtual ErrorCode seek(const TopicPartition &partition, int timeout_ms) = 0;

        /**
         * Stores offsets (last consumed + 1), so that the next commit takes them. For programs that
         * set `enable.auto.offset.store` to false. err() of each receives its outcome.
         *
         * @return ERR_NO_ERROR if at least one was stored, else the error of one of them.
         */
        virtual ErrorCode offsets_store(std::vector<TopicPartition *> &offsets) = 0;

        /** Returns the consumer's present identity in its group. Delete it. */
        virtual ConsumerGroupMetadata *groupMetadata() = 0;

        /** Returns, in a RebalanceCb that revokes, whether others own the partitions already. */
        virtual bool assignment_lost() = 0;

        /** Returns "EAGER", "COOPERATIVE", or "NONE" while there is no membership. */
        virtual std::string rebalance_protocol() = 0;

        /**
         * Adds partitions to the assignment (KIP-429, "COOPERATIVE").
         *
         * @return NULL, or an error: ERR__CONFLICT: one is assigned already; ERR__STATE: the
         *         protocol is "EAGER".
         */
        virtual Error *incremental_assign(const std::vector<TopicPartition *> &partitions) = 0;

        /**
         * Removes partitions from the assignment (KIP-429).
         *
         * @return NULL, or an error: ERR__INVALID_ARG: one is not assigned; ERR__STATE: the
         *         protocol is "EAGER".
         */
        virtual Error *incremental_unassign(const std::vector<TopicPartition *> &partitions) = 0;

        /**
         * Starts closing and returns at once. The events of the closing, rebalances above all, go
         * to `queue`, which must be served with Queue::poll() until closed().
         *
         * @return NULL, or an error: ERR__DESTROY: it is closed already.
         */
        virtual Error *close(Queue *queue) = 0;

        /** Returns whether the consumer is closed. */
        virtual bool closed() = 0;
};


/* ==========================================================================
 *  13. THE SIMPLE CONSUMER
 * ========================================================================== */

/**
 * The older consumer: start a partition, consume from it, stop it. There is no group, and the
 * application keeps track of offsets. Callbacks are served by poll(), which must be called as
 * well. Thread-safe.
 */
class RD_EXPORT Consumer : public virtual Handle {
       public:
        /** Creates a consumer. Parameters and result as KafkaConsumer::create(). */
        static Consumer *create(const Conf *conf, std::string &errstr);

        /** Ends the consumer and waits until its threads are gone. */
        virtual ~Consumer() = 0;

        /**
         * Starts fetching a partition into its own queue.
         *
         * @param offset  Absolute, Topic::OFFSET_BEGINNING, OFFSET_END, OFFSET_STORED (needs a
         *                `group.id`) or OffsetTail().
         *
         * @return ERR_NO_ERROR; ERR__INVALID_ARG; ERR__UNKNOWN_PARTITION: below 0. That a
         *         partition does not exist in the cluster shows when consuming.
         */
        virtual ErrorCode start(Topic *topic, int32_t partition, int64_t offset) = 0;

        /**
         * Starts fetching a partition into a queue, so that several partitions can be consumed
         * together.
         */
        virtual ErrorCode start(Topic *topic, int32_t partition, int64_t offset, Queue *queue) = 0;

        /** Stops fetching a partition and drops what was fetched. */
        virtual ErrorCode stop(Topic *topic, int32_t partition) = 0;

        /** Moves a started partition to another offset. ERR__STATE: it was not started. */
        virtual ErrorCode seek(Topic *topic, int32_t partition, int64_t offset, int timeout_ms) = 0;

        /**
         * Takes the next message of a started partition.
         *
         * @return A message that the caller deletes, never NULL; see KafkaConsumer::consume().
         *         ERR__UNKNOWN_PARTITION: it was not started.
         */
        virtual Message *consume(Topic *topic, int32_t partition, int timeout_ms) = 0;

        /** Takes the next message of a queue. */
        virtual Message *consume(Queue *queue, int timeout_ms) = 0;

        /**
         * Calls `consume_cb` for each message that is there; waits for the first one only.
         * `consume.callback.max.messages` limits the run.
         *
         * @return The number of messages, or -1: the partition was not started.
         *
         * Throws what the callback has thrown.
         */
        virtual int consume_callback(Topic *topic,
                                     int32_t partition,
                                     int timeout_ms,
                                     ConsumeCb *consume_cb,
                                     void *opaque) = 0;

        /** Calls `consume_cb` for each message of a queue; waits for the first one only. */
        virtual int consume_callback(Queue *queue,
                                     int timeout_ms,
                                     RdKafka::ConsumeCb *consume_cb,
                                     void *opaque) = 0;

        /** Logical offset: this many messages before the end. */
        static int64_t OffsetTail(int64_t offset);
};


/* ==========================================================================
 *  14. THE PRODUCER
 * ========================================================================== */

/**
 * A producer. Producing is asynchronous: the outcome of each message comes as a delivery report
 * (DeliveryReportCb) out of poll() or flush(). Thread-safe.
 */
class RD_EXPORT Producer : public virtual Handle {
       public:
        /** Creates a producer. Parameters and result as KafkaConsumer::create(). */
        static Producer *create(const Conf *conf, std::string &errstr);

        /**
         * Ends the producer and waits until its threads are gone. It does not wait for messages:
         * call flush() first if they matter.
         */
        virtual ~Producer() = 0;

        /** produce(): what is done with the payload. */
        enum {
                /** The library frees the payload with free() when it has done with it. */
                RK_MSG_FREE = 0x1,
                /** The library copies the payload. Not with RK_MSG_FREE. */
                RK_MSG_COPY = 0x2,
                /** Wait while the queue is full. Another thread must poll() meanwhile. */
                RK_MSG_BLOCK = 0x4
#ifndef MSG_FREE
                /** Older name. <sys/msg.h> and others have macros of these names. */
                ,
                MSG_FREE = RK_MSG_FREE
#endif
#ifndef MSG_COPY
                /** Older name. */
                ,
                MSG_COPY = RK_MSG_COPY
#endif
        };

        /**
         * Produces one message.
         *
         * @param topic       Topic.
         * @param partition   Partition, or Topic::PARTITION_UA: the partitioner chooses.
         * @param msgflags    RK_MSG_FREE, RK_MSG_COPY or neither, with or without RK_MSG_BLOCK.
         *                    With neither of the first two the payload must stay as it is until
         *                    the delivery report.
         * @param payload     Value; may be NULL.
         * @param len         Its length in bytes.
         * @param key         Key, or NULL. Always copied.
         * @param msg_opaque  For the delivery report, Message::msg_opaque().
         *
         * @return ERR_NO_ERROR: the message was accepted, and gets exactly one delivery report.
         *         Else it was not, and the payload is the caller's also with RK_MSG_FREE:
         *         ERR__QUEUE_FULL: poll() and try again; ERR_MSG_SIZE_TOO_LARGE;
         *         ERR__UNKNOWN_PARTITION; ERR__UNKNOWN_TOPIC; ERR__FATAL; ERR__STATE: not in a
         *         transaction; ERR__INVALID_ARG.
         *
         * Throws what a partitioner has thrown; the message was not accepted then.
         */
        virtual ErrorCode produce(Topic *topic,
                                  int32_t partition,
                                  int msgflags,
                                  void *payload,
                                  size_t len,
                                  const std::string *key,
                                  void *msg_opaque) = 0;

        /** Produces one message whose key is a block of memory. */
        virtual ErrorCode produce(Topic *topic,
                                  int32_t partition,
                                  int msgflags,
                                  void *payload,
                                  size_t len,
                                  const void *key,
                                  size_t key_len,
                                  void *msg_opaque) = 0;

        /**
         * Produces one message to a topic by name, with a timestamp.
         *
         * @param timestamp  Milliseconds since 1970-01-01 UTC; 0: now.
         */
        virtual ErrorCode produce(const std::string topic_name,
                                  int32_t partition,
                                  int msgflags,
                                  void *payload,
                                  size_t len,
                                  const void *key,
                                  size_t key_len,
                                  int64_t timestamp,
                                  void *msg_opaque) = 0;

        /**
         * Produces one message with headers.
         *
         * @param headers  Headers, or NULL. After success they belong to the library, which
         *                 has deleted the object; after failure they are the caller's. The
         *                 headers of another message (Message::headers()) are copied and stay
         *                 that message's.
         */
        virtual ErrorCode produce(const std::string topic_name,
                                  int32_t partition,
                                  int msgflags,
                                  void *payload,
                                  size_t len,
                                  const void *key,
                                  size_t key_len,
                                  int64_t timestamp,
                                  RdKafka::Headers *headers,
                                  void *msg_opaque) = 0;

        /** Produces one message from vectors, which are copied. NULL: no value, no key. */
        virtual ErrorCode produce(Topic *topic,
                                  int32_t partition,
                                  const std::vector<char> *payload,
                                  const std::vector<char> *key,
                                  void *msg_opaque) = 0;

        /**
         * Waits until every message that was produced so far has been delivered or has failed, and
         * its delivery report was served.
         *
         * @return ERR_NO_ERROR, or ERR__TIMED_OUT: not all are through yet.
         *
         * Throws the first exception that a callback has thrown, after the same wait.
         */
        virtual ErrorCode flush(int timeout_ms) = 0;

        /** Flags of purge(). */
        enum {
                PURGE_QUEUE = 0x1,       /**< Messages not sent yet: ERR__PURGE_QUEUE. */
                PURGE_INFLIGHT = 0x2,    /**< Messages sent, not answered: ERR__PURGE_INFLIGHT. */
                PURGE_NON_BLOCKING = 0x4 /**< Do not wait until it is done. */
        };

        /**
         * Fails messages that are not delivered yet. Each of them gets its delivery report: serve
         * poll() or flush() afterwards.
         *
         * @return ERR_NO_ERROR, or ERR__INVALID_ARG: a flag that does not exist.
         */
        virtual ErrorCode purge(int purge_flags) = 0;

        /* -- Transactions (KIP-98, KIP-447, KIP-890): a producer with a `transactional.id`.
         *    Each method returns NULL on success, else an error that the caller deletes and that
         *    says what to do, to be asked in this order:
         *
         *    Error::is_fatal()            delete the producer; a new one with the same id aborts
         *                                 the transaction that it left open
         *    Error::txn_requires_abort()  abort_transaction(), and begin again
         *    Error::is_retriable()        call the same method again
         *    none of them                 the call was wrong: ERR__STATE (not now),
         *                                 ERR__NOT_CONFIGURED (no `transactional.id`),
         *                                 ERR__INVALID_ARG
         *
         *    They may be called from any thread, one at a time. A timeout of -1 waits for
         *    `transaction.timeout.ms`. Delivery reports are served by commit and abort; what they
         *    throw is reported on stderr, so that the outcome of the transaction is not lost. -- */

        /**
         * Acquires the producer's id, fences older producers with this transactional id, and waits
         * until what they have left open was ended. Once, before the other methods.
         */
        virtual Error *init_transactions(int timeout_ms) = 0;

        /** Begins a transaction. What is produced from now on belongs to it. */
        virtual Error *begin_transaction() = 0;

        /**
         * Adds a consumer's offsets to the transaction: they are committed if and only if it
         * is.
         *
         * @param offsets         What the group is to go on with: last processed offset + 1.
         *                        Logical offsets are left out. The consumer must not commit by
         *                        itself: `enable.auto.commit` false.
         * @param group_metadata  KafkaConsumer::groupMetadata().
         */
        virtual Error *send_offsets_to_transaction(const std::vector<TopicPartition *> &offsets,
                                                   const ConsumerGroupMetadata *group_metadata,
                                                   int timeout_ms) = 0;

        /**
         * Waits until every message of the transaction was written, then commits it. If a message
         * cannot be delivered, the commit fails and the transaction must be aborted.
         */
        virtual Error *commit_transaction(int timeout_ms) = 0;

        /** Purges what was not sent yet, waits for the rest, and aborts the transaction. */
        virtual Error *abort_transaction(int timeout_ms) = 0;
};


/* ==========================================================================
 *  15. METADATA
 *
 *  The result of Handle::metadata(). The parts belong to the whole and live as
 *  long as it.
 * ========================================================================== */

/** A broker. */
class RD_EXPORT BrokerMetadata {
       public:
        /** Returns its id. */
        virtual int32_t id() const = 0;

        /** Returns the host name or address that it advertises. */
        virtual std::string host() const = 0;

        /** Returns the port that it advertises. */
        virtual int port() const = 0;

        virtual ~BrokerMetadata() = 0;
};

/** A partition. */
class RD_EXPORT PartitionMetadata {
       public:
        /** Broker ids of replicas. */
        typedef std::vector<int32_t> ReplicasVector;
        /** Broker ids of replicas in sync. */
        typedef std::vector<int32_t> ISRSVector;
        /** Walks through the replicas. */
        typedef ReplicasVector::const_iterator ReplicasIterator;
        /** Walks through the replicas in sync. */
        typedef ISRSVector::const_iterator ISRSIterator;

        /** Returns the partition's number. */
        virtual int32_t id() const = 0;

        /** Returns its error, for example that it has no leader. */
        virtual ErrorCode err() const = 0;

        /** Returns its leader's broker id, or -1. */
        virtual int32_t leader() const = 0;

        /** Returns its replicas. */
        virtual const std::vector<int32_t> *replicas() const = 0;

        /** Returns its replicas in sync. */
        virtual const std::vector<int32_t> *isrs() const = 0;

        virtual ~PartitionMetadata() = 0;
};

/** A topic. */
class RD_EXPORT TopicMetadata {
       public:
        /** Partitions. */
        typedef std::vector<const PartitionMetadata *> PartitionMetadataVector;
        /** Walks through them. */
        typedef PartitionMetadataVector::const_iterator PartitionMetadataIterator;

        /** Returns its name. */
        virtual std::string topic() const = 0;

        /** Returns its partitions. */
        virtual const PartitionMetadataVector *partitions() const = 0;

        /** Returns its error, for example that it is not there. */
        virtual ErrorCode err() const = 0;

        virtual ~TopicMetadata() = 0;
};

/** A broker's description of the cluster. */
class RD_EXPORT Metadata {
       public:
        /** Brokers. */
        typedef std::vector<const BrokerMetadata *> BrokerMetadataVector;
        /** Topics. */
        typedef std::vector<const TopicMetadata *> TopicMetadataVector;
        /** Walks through the brokers. */
        typedef BrokerMetadataVector::const_iterator BrokerMetadataIterator;
        /** Walks through the topics. */
        typedef TopicMetadataVector::const_iterator TopicMetadataIterator;

        /** Returns the brokers. */
        virtual const BrokerMetadataVector *brokers() const = 0;

        /** Returns the topics. */
        virtual const TopicMetadataVector *topics() const = 0;

        /** Returns the id of the broker that answered. */
        virtual int32_t orig_broker_id() const = 0;

        /** Returns its name. */
        virtual std::string orig_broker_name() const = 0;

        virtual ~Metadata() = 0;
};

}  // namespace RdKafka

#endif /* _RDKAFKACPP_H_ */
