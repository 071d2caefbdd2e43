//! The error codes that brokers return, by request.

use ottla_protocol::{ApiKey, ErrorCode};

type E = ErrorCode;

/// The errors with which a broker may answer requests of one API instead of serving them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Codes {
    pub(crate) api: ApiKey,
    /// Retriable errors, for parts of the request or for all of it.
    pub(crate) passing: &'static [ErrorCode],
    /// Errors that are not retriable.
    pub(crate) fatal: &'static [ErrorCode],
    /// Errors at the top level of the response.
    pub(crate) whole: &'static [ErrorCode],
    /// Errors that are returned after the request was carried out.
    pub(crate) after: &'static [ErrorCode],
}

/// A code without a meaning in any release of Kafka.
const UNASSIGNED: ErrorCode = ErrorCode(999);

/// All error codes. False statements are left out: a broker that reports a duplicate has the batch.
pub(crate) const CODES: &[Codes] = &[
    Codes {
        api: ApiKey::PRODUCE,
        passing: &[
            E::NOT_LEADER_OR_FOLLOWER,
            E::LEADER_NOT_AVAILABLE,
            E::UNKNOWN_TOPIC_OR_PARTITION,
            E::UNKNOWN_TOPIC_ID,
            E::NOT_ENOUGH_REPLICAS,
            E::REQUEST_TIMED_OUT,
            E::NETWORK_EXCEPTION,
            E::KAFKA_STORAGE_ERROR,
            E::FENCED_LEADER_EPOCH,
            E::THROTTLING_QUOTA_EXCEEDED,
        ],
        fatal: &[
            E::TOPIC_AUTHORIZATION_FAILED,
            E::CLUSTER_AUTHORIZATION_FAILED,
            E::OUT_OF_ORDER_SEQUENCE_NUMBER,
            E::UNKNOWN_PRODUCER_ID,
            E::INVALID_PRODUCER_EPOCH,
            E::INVALID_PRODUCER_ID_MAPPING,
            E::INVALID_RECORD,
            E::INVALID_TIMESTAMP,
            E::MESSAGE_TOO_LARGE,
            E::RECORD_LIST_TOO_LARGE,
            E::INVALID_REQUIRED_ACKS,
            E::CORRUPT_MESSAGE,
            E::INVALID_TOPIC_EXCEPTION,
            E::UNSUPPORTED_COMPRESSION_TYPE,
            E::UNSUPPORTED_FOR_MESSAGE_FORMAT,
            E::POLICY_VIOLATION,
            E::UNKNOWN_SERVER_ERROR,
            E::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            UNASSIGNED,
        ],
        whole: &[],
        after: &[
            E::REQUEST_TIMED_OUT,
            E::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            E::NETWORK_EXCEPTION,
            E::KAFKA_STORAGE_ERROR,
            E::UNKNOWN_SERVER_ERROR,
            UNASSIGNED,
        ],
    },
    Codes {
        api: ApiKey::METADATA,
        passing: &[
            E::LEADER_NOT_AVAILABLE,
            E::UNKNOWN_TOPIC_OR_PARTITION,
            E::UNKNOWN_TOPIC_ID,
            E::REQUEST_TIMED_OUT,
            E::INVALID_REPLICATION_FACTOR,
            E::KAFKA_STORAGE_ERROR,
        ],
        fatal: &[
            E::TOPIC_AUTHORIZATION_FAILED,
            E::CLUSTER_AUTHORIZATION_FAILED,
            E::INVALID_TOPIC_EXCEPTION,
            E::INVALID_REQUEST,
            E::UNKNOWN_SERVER_ERROR,
            UNASSIGNED,
        ],
        whole: &[E::REBOOTSTRAP_REQUIRED, E::UNKNOWN_SERVER_ERROR],
        after: &[],
    },
    Codes {
        api: ApiKey::FETCH,
        passing: &[
            E::NOT_LEADER_OR_FOLLOWER,
            E::LEADER_NOT_AVAILABLE,
            E::REPLICA_NOT_AVAILABLE,
            E::UNKNOWN_TOPIC_OR_PARTITION,
            E::UNKNOWN_TOPIC_ID,
            E::INCONSISTENT_TOPIC_ID,
            E::KAFKA_STORAGE_ERROR,
            E::FENCED_LEADER_EPOCH,
            E::UNKNOWN_LEADER_EPOCH,
            E::OFFSET_NOT_AVAILABLE,
            E::UNKNOWN_SERVER_ERROR,
            E::CORRUPT_MESSAGE,
        ],
        fatal: &[
            E::TOPIC_AUTHORIZATION_FAILED,
            E::UNSUPPORTED_COMPRESSION_TYPE,
            E::UNSUPPORTED_VERSION,
            UNASSIGNED,
        ],
        whole: &[
            E::FETCH_SESSION_ID_NOT_FOUND,
            E::INVALID_FETCH_SESSION_EPOCH,
            E::FETCH_SESSION_TOPIC_ID_ERROR,
            E::INCONSISTENT_TOPIC_ID,
            E::UNKNOWN_TOPIC_ID,
            E::UNKNOWN_SERVER_ERROR,
        ],
        after: &[],
    },
    Codes {
        api: ApiKey::LIST_OFFSETS,
        passing: &[
            E::NOT_LEADER_OR_FOLLOWER,
            E::LEADER_NOT_AVAILABLE,
            E::REPLICA_NOT_AVAILABLE,
            E::UNKNOWN_TOPIC_OR_PARTITION,
            E::OFFSET_NOT_AVAILABLE,
            E::FENCED_LEADER_EPOCH,
            E::UNKNOWN_LEADER_EPOCH,
            E::KAFKA_STORAGE_ERROR,
            E::REQUEST_TIMED_OUT,
        ],
        fatal: &[
            E::TOPIC_AUTHORIZATION_FAILED,
            E::UNSUPPORTED_FOR_MESSAGE_FORMAT,
            E::UNSUPPORTED_VERSION,
            E::INVALID_REQUEST,
            E::UNKNOWN_SERVER_ERROR,
            UNASSIGNED,
        ],
        whole: &[],
        after: &[],
    },
    Codes {
        api: ApiKey::OFFSET_FOR_LEADER_EPOCH,
        passing: &[
            E::NOT_LEADER_OR_FOLLOWER,
            E::LEADER_NOT_AVAILABLE,
            E::REPLICA_NOT_AVAILABLE,
            E::UNKNOWN_TOPIC_OR_PARTITION,
            E::OFFSET_NOT_AVAILABLE,
            E::FENCED_LEADER_EPOCH,
            E::UNKNOWN_LEADER_EPOCH,
            E::KAFKA_STORAGE_ERROR,
            E::REQUEST_TIMED_OUT,
        ],
        // A client that is not authorized cannot detect a truncation, and would skip the records written since.
        fatal: &[E::UNKNOWN_SERVER_ERROR, UNASSIGNED],
        whole: &[],
        after: &[],
    },
    Codes {
        api: ApiKey::API_VERSIONS,
        passing: &[E::UNSUPPORTED_VERSION, E::REQUEST_TIMED_OUT, E::UNKNOWN_SERVER_ERROR],
        fatal: &[E::CLUSTER_AUTHORIZATION_FAILED, E::INVALID_REQUEST, UNASSIGNED],
        whole: &[],
        after: &[],
    },
    Codes {
        api: ApiKey::FIND_COORDINATOR,
        passing: &[
            E::COORDINATOR_NOT_AVAILABLE,
            E::COORDINATOR_LOAD_IN_PROGRESS,
            E::UNKNOWN_SERVER_ERROR,
            E::REQUEST_TIMED_OUT,
        ],
        fatal: &[E::GROUP_AUTHORIZATION_FAILED, E::INVALID_GROUP_ID, E::INVALID_REQUEST],
        whole: &[],
        after: &[],
    },
    Codes {
        api: ApiKey::OFFSET_COMMIT,
        passing: &[
            E::COORDINATOR_NOT_AVAILABLE,
            E::COORDINATOR_LOAD_IN_PROGRESS,
            E::NOT_COORDINATOR,
            E::REQUEST_TIMED_OUT,
            E::UNKNOWN_TOPIC_OR_PARTITION,
            E::REBALANCE_IN_PROGRESS,
            E::ILLEGAL_GENERATION,
            E::STALE_MEMBER_EPOCH,
            E::UNKNOWN_MEMBER_ID,
        ],
        fatal: &[
            E::GROUP_AUTHORIZATION_FAILED,
            E::TOPIC_AUTHORIZATION_FAILED,
            E::OFFSET_METADATA_TOO_LARGE,
            E::INVALID_COMMIT_OFFSET_SIZE,
            E::UNKNOWN_SERVER_ERROR,
            E::FENCED_INSTANCE_ID,
            UNASSIGNED,
        ],
        whole: &[],
        after: &[E::REQUEST_TIMED_OUT, E::COORDINATOR_NOT_AVAILABLE, E::NOT_COORDINATOR],
    },
    Codes {
        api: ApiKey::OFFSET_FETCH,
        passing: &[
            E::COORDINATOR_NOT_AVAILABLE,
            E::COORDINATOR_LOAD_IN_PROGRESS,
            E::NOT_COORDINATOR,
            E::UNSTABLE_OFFSET_COMMIT,
        ],
        fatal: &[
            E::GROUP_AUTHORIZATION_FAILED,
            E::TOPIC_AUTHORIZATION_FAILED,
            E::UNKNOWN_SERVER_ERROR,
            UNASSIGNED,
        ],
        whole: &[],
        after: &[],
    },
    Codes {
        api: ApiKey::JOIN_GROUP,
        passing: &[
            E::COORDINATOR_NOT_AVAILABLE,
            E::COORDINATOR_LOAD_IN_PROGRESS,
            E::NOT_COORDINATOR,
            E::REBALANCE_IN_PROGRESS,
            E::UNKNOWN_MEMBER_ID,
        ],
        fatal: &[
            E::GROUP_AUTHORIZATION_FAILED,
            E::GROUP_MAX_SIZE_REACHED,
            E::INCONSISTENT_GROUP_PROTOCOL,
            E::INVALID_SESSION_TIMEOUT,
            E::UNKNOWN_SERVER_ERROR,
            E::FENCED_INSTANCE_ID,
            UNASSIGNED,
        ],
        whole: &[],
        after: &[E::COORDINATOR_NOT_AVAILABLE, E::NOT_COORDINATOR],
    },
    Codes {
        api: ApiKey::SYNC_GROUP,
        passing: &[
            E::COORDINATOR_NOT_AVAILABLE,
            E::COORDINATOR_LOAD_IN_PROGRESS,
            E::NOT_COORDINATOR,
            E::REBALANCE_IN_PROGRESS,
            E::ILLEGAL_GENERATION,
            E::UNKNOWN_MEMBER_ID,
        ],
        fatal: &[
            E::GROUP_AUTHORIZATION_FAILED,
            E::INCONSISTENT_GROUP_PROTOCOL,
            E::UNKNOWN_SERVER_ERROR,
            E::FENCED_INSTANCE_ID,
            UNASSIGNED,
        ],
        whole: &[],
        after: &[E::COORDINATOR_NOT_AVAILABLE, E::NOT_COORDINATOR],
    },
    Codes {
        api: ApiKey::HEARTBEAT,
        passing: &[
            E::COORDINATOR_NOT_AVAILABLE,
            E::COORDINATOR_LOAD_IN_PROGRESS,
            E::NOT_COORDINATOR,
            E::REBALANCE_IN_PROGRESS,
            E::ILLEGAL_GENERATION,
            E::UNKNOWN_MEMBER_ID,
        ],
        fatal: &[
            E::GROUP_AUTHORIZATION_FAILED,
            E::UNKNOWN_SERVER_ERROR,
            E::FENCED_INSTANCE_ID,
            UNASSIGNED,
        ],
        whole: &[],
        after: &[],
    },
    Codes {
        api: ApiKey::LEAVE_GROUP,
        passing: &[
            E::COORDINATOR_NOT_AVAILABLE,
            E::COORDINATOR_LOAD_IN_PROGRESS,
            E::NOT_COORDINATOR,
            E::UNKNOWN_MEMBER_ID,
        ],
        fatal: &[E::GROUP_AUTHORIZATION_FAILED, E::UNKNOWN_SERVER_ERROR],
        whole: &[],
        after: &[],
    },
    Codes {
        api: ApiKey::CONSUMER_GROUP_HEARTBEAT,
        passing: &[
            E::COORDINATOR_NOT_AVAILABLE,
            E::COORDINATOR_LOAD_IN_PROGRESS,
            E::NOT_COORDINATOR,
            E::UNKNOWN_MEMBER_ID,
            E::FENCED_MEMBER_EPOCH,
            E::GROUP_ID_NOT_FOUND,
        ],
        fatal: &[
            E::GROUP_AUTHORIZATION_FAILED,
            E::GROUP_MAX_SIZE_REACHED,
            E::UNSUPPORTED_ASSIGNOR,
            E::UNSUPPORTED_VERSION,
            E::UNRELEASED_INSTANCE_ID,
            E::FENCED_INSTANCE_ID,
            E::INVALID_REQUEST,
            E::UNKNOWN_SERVER_ERROR,
            UNASSIGNED,
        ],
        whole: &[],
        after: &[E::COORDINATOR_NOT_AVAILABLE, E::NOT_COORDINATOR],
    },
    Codes {
        api: ApiKey::SHARE_GROUP_HEARTBEAT,
        passing: &[
            E::COORDINATOR_NOT_AVAILABLE,
            E::COORDINATOR_LOAD_IN_PROGRESS,
            E::NOT_COORDINATOR,
            E::UNKNOWN_MEMBER_ID,
            E::FENCED_MEMBER_EPOCH,
        ],
        fatal: &[
            E::GROUP_AUTHORIZATION_FAILED,
            E::GROUP_MAX_SIZE_REACHED,
            E::INVALID_REQUEST,
            E::UNSUPPORTED_VERSION,
            E::UNKNOWN_SERVER_ERROR,
            UNASSIGNED,
        ],
        whole: &[],
        after: &[E::COORDINATOR_NOT_AVAILABLE, E::NOT_COORDINATOR],
    },
    Codes {
        api: ApiKey::SHARE_FETCH,
        passing: &[
            E::NOT_LEADER_OR_FOLLOWER,
            E::FENCED_LEADER_EPOCH,
            E::UNKNOWN_TOPIC_OR_PARTITION,
            E::UNKNOWN_TOPIC_ID,
            E::KAFKA_STORAGE_ERROR,
            E::COORDINATOR_NOT_AVAILABLE,
            E::COORDINATOR_LOAD_IN_PROGRESS,
            E::NOT_COORDINATOR,
            E::FENCED_STATE_EPOCH,
            E::UNKNOWN_SERVER_ERROR,
        ],
        fatal: &[E::TOPIC_AUTHORIZATION_FAILED, E::GROUP_AUTHORIZATION_FAILED, UNASSIGNED],
        whole: OF_SHARE_SESSIONS,
        after: &[],
    },
    Codes {
        api: ApiKey::SHARE_ACKNOWLEDGE,
        passing: &[
            E::NOT_LEADER_OR_FOLLOWER,
            E::FENCED_LEADER_EPOCH,
            E::UNKNOWN_TOPIC_OR_PARTITION,
            E::UNKNOWN_TOPIC_ID,
            E::KAFKA_STORAGE_ERROR,
            E::INVALID_RECORD_STATE,
            E::COORDINATOR_NOT_AVAILABLE,
            E::NOT_COORDINATOR,
            E::UNKNOWN_SERVER_ERROR,
        ],
        fatal: &[E::TOPIC_AUTHORIZATION_FAILED, E::GROUP_AUTHORIZATION_FAILED, UNASSIGNED],
        whole: OF_SHARE_SESSIONS,
        after: &[],
    },
    Codes {
        api: ApiKey::INIT_PRODUCER_ID,
        passing: &[
            E::COORDINATOR_NOT_AVAILABLE,
            E::COORDINATOR_LOAD_IN_PROGRESS,
            E::NOT_COORDINATOR,
            E::CONCURRENT_TRANSACTIONS,
            E::REQUEST_TIMED_OUT,
        ],
        fatal: &[
            E::CLUSTER_AUTHORIZATION_FAILED,
            E::UNKNOWN_SERVER_ERROR,
            E::TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            E::INVALID_PRODUCER_EPOCH,
            E::PRODUCER_FENCED,
            E::INVALID_REQUEST,
            UNASSIGNED,
        ],
        whole: &[],
        after: &[E::REQUEST_TIMED_OUT, E::UNKNOWN_SERVER_ERROR],
    },
    Codes {
        api: ApiKey::ADD_PARTITIONS_TO_TXN,
        passing: OF_TRANSACTIONS,
        fatal: &[E::TOPIC_AUTHORIZATION_FAILED, E::INVALID_TXN_STATE, UNASSIGNED],
        whole: &[],
        after: &[E::REQUEST_TIMED_OUT],
    },
    Codes {
        api: ApiKey::ADD_OFFSETS_TO_TXN,
        passing: OF_TRANSACTIONS,
        fatal: &[E::GROUP_AUTHORIZATION_FAILED, E::INVALID_TXN_STATE, UNASSIGNED],
        whole: &[],
        after: &[E::REQUEST_TIMED_OUT],
    },
    Codes {
        api: ApiKey::TXN_OFFSET_COMMIT,
        passing: &[
            E::COORDINATOR_NOT_AVAILABLE,
            E::COORDINATOR_LOAD_IN_PROGRESS,
            E::NOT_COORDINATOR,
            E::REQUEST_TIMED_OUT,
            E::UNKNOWN_TOPIC_OR_PARTITION,
        ],
        fatal: &[E::GROUP_AUTHORIZATION_FAILED, E::OFFSET_METADATA_TOO_LARGE, UNASSIGNED],
        whole: &[],
        after: &[E::REQUEST_TIMED_OUT],
    },
    Codes {
        api: ApiKey::END_TXN,
        passing: OF_TRANSACTIONS,
        fatal: &[E::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, UNASSIGNED],
        whole: &[],
        after: &[E::REQUEST_TIMED_OUT, E::COORDINATOR_NOT_AVAILABLE],
    },
];

/// Errors of share sessions.
const OF_SHARE_SESSIONS: &[ErrorCode] = &[
    E::SHARE_SESSION_NOT_FOUND,
    E::INVALID_SHARE_SESSION_EPOCH,
    E::UNKNOWN_SERVER_ERROR,
    E::COORDINATOR_NOT_AVAILABLE,
];

/// Retriable errors of transaction coordinators.
const OF_TRANSACTIONS: &[ErrorCode] = &[
    E::COORDINATOR_NOT_AVAILABLE,
    E::COORDINATOR_LOAD_IN_PROGRESS,
    E::NOT_COORDINATOR,
    E::CONCURRENT_TRANSACTIONS,
    E::REQUEST_TIMED_OUT,
];

/// The requests whose responses have errors by partition.
pub(crate) const BY_PARTITION: &[ApiKey] = &[
    ApiKey::PRODUCE,
    ApiKey::FETCH,
    ApiKey::LIST_OFFSETS,
    ApiKey::METADATA,
    ApiKey::OFFSET_COMMIT,
    ApiKey::OFFSET_FETCH,
];

/// Returns the errors of single partitions, where they differ from the errors of the whole response: a group has one
/// coordinator for all partitions.
pub(crate) fn of_partitions(api: ApiKey) -> Option<&'static [ErrorCode]> {
    match api {
        ApiKey::METADATA => Some(&[
            E::LEADER_NOT_AVAILABLE,
            E::REPLICA_NOT_AVAILABLE,
            E::LISTENER_NOT_FOUND,
            E::KAFKA_STORAGE_ERROR,
        ]),
        ApiKey::OFFSET_COMMIT => Some(&[
            E::UNKNOWN_TOPIC_OR_PARTITION,
            E::TOPIC_AUTHORIZATION_FAILED,
            E::OFFSET_METADATA_TOO_LARGE,
            E::INVALID_COMMIT_OFFSET_SIZE,
            E::UNKNOWN_SERVER_ERROR,
            UNASSIGNED,
        ]),
        ApiKey::OFFSET_FETCH => Some(&[
            E::UNSTABLE_OFFSET_COMMIT,
            E::TOPIC_AUTHORIZATION_FAILED,
            E::UNKNOWN_TOPIC_OR_PARTITION,
            UNASSIGNED,
        ]),
        _ => None,
    }
}

/// Returns true when clients may get a code from responses to other requests than Produce.
pub(crate) fn is_in_other_responses(code: ottla_core::error::ErrorCode) -> bool {
    let rows = [ApiKey::METADATA, ApiKey::INIT_PRODUCER_ID].into_iter().filter_map(of);
    let mut codes = rows.flat_map(|row| [row.passing, row.fatal, row.whole].concat());
    codes.any(|reported| ottla_core::error::ErrorCode::from(reported.0) == code)
}

/// Returns the error codes of an API.
pub(crate) fn of(api: ApiKey) -> Option<&'static Codes> {
    CODES.iter().find(|c| c.api == api)
}
