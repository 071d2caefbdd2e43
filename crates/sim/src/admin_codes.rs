//! The error codes that brokers return to admin requests. They are apart from the others, whose draws they would change.

use ottla_protocol::{ApiKey, ErrorCode};

use crate::error_codes::Codes;

type E = ErrorCode;

/// A code without a meaning in any release of Kafka.
const UNASSIGNED: ErrorCode = ErrorCode(999);
/// Errors that a broker may report after it has executed a request.
const AFTER: &[ErrorCode] = &[E::REQUEST_TIMED_OUT, E::UNKNOWN_SERVER_ERROR];
/// The error of a controller that is none any more.
const OF_CONTROLLERS: &[ErrorCode] = &[E::NOT_CONTROLLER];
const OF_COORDINATORS: &[ErrorCode] = &[
    E::COORDINATOR_NOT_AVAILABLE,
    E::COORDINATOR_LOAD_IN_PROGRESS,
    E::NOT_COORDINATOR,
];
const OF_LEADERS: &[ErrorCode] = &[
    E::NOT_LEADER_OR_FOLLOWER,
    E::LEADER_NOT_AVAILABLE,
    E::KAFKA_STORAGE_ERROR,
    E::UNKNOWN_TOPIC_OR_PARTITION,
];
const BY_CONTROLLERS: &[ErrorCode] = &[
    E::CLUSTER_AUTHORIZATION_FAILED,
    E::TOPIC_AUTHORIZATION_FAILED,
    E::POLICY_VIOLATION,
    E::INVALID_REQUEST,
    E::THROTTLING_QUOTA_EXCEEDED,
    UNASSIGNED,
];
const BY_BROKERS: &[ErrorCode] = &[
    E::CLUSTER_AUTHORIZATION_FAILED,
    E::SECURITY_DISABLED,
    E::INVALID_REQUEST,
    E::UNSUPPORTED_VERSION,
    UNASSIGNED,
];
const BY_COORDINATORS: &[ErrorCode] = &[E::GROUP_AUTHORIZATION_FAILED, E::INVALID_GROUP_ID, UNASSIGNED];

const fn row(
    api: ApiKey,
    passing: &'static [ErrorCode],
    fatal: &'static [ErrorCode],
    after: &'static [ErrorCode],
) -> Codes {
    Codes {
        api,
        passing,
        fatal,
        whole: &[],
        after,
    }
}

/// All error codes. An error in the column of those that pass has the client repeat the request.
pub(crate) const ADMIN_CODES: &[Codes] = &[
    row(ApiKey::CREATE_TOPICS, OF_CONTROLLERS, BY_CONTROLLERS, AFTER),
    row(ApiKey::DELETE_TOPICS, OF_CONTROLLERS, BY_CONTROLLERS, AFTER),
    row(ApiKey::CREATE_PARTITIONS, OF_CONTROLLERS, BY_CONTROLLERS, AFTER),
    row(ApiKey::ELECT_LEADERS, OF_CONTROLLERS, BY_CONTROLLERS, AFTER),
    row(
        ApiKey::ALTER_USER_SCRAM_CREDENTIALS,
        OF_CONTROLLERS,
        BY_CONTROLLERS,
        AFTER,
    ),
    row(ApiKey::DELETE_RECORDS, OF_LEADERS, BY_CONTROLLERS, AFTER),
    row(ApiKey::DESCRIBE_CONFIGS, BY_BROKERS, BY_BROKERS, &[]),
    row(ApiKey::ALTER_CONFIGS, BY_BROKERS, BY_BROKERS, AFTER),
    row(ApiKey::INCREMENTAL_ALTER_CONFIGS, BY_BROKERS, BY_BROKERS, AFTER),
    row(ApiKey::DESCRIBE_ACLS, BY_BROKERS, BY_BROKERS, &[]),
    row(ApiKey::CREATE_ACLS, BY_BROKERS, BY_BROKERS, AFTER),
    row(ApiKey::DELETE_ACLS, BY_BROKERS, BY_BROKERS, AFTER),
    row(ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS, BY_BROKERS, BY_BROKERS, &[]),
    row(ApiKey::DESCRIBE_CLUSTER, BY_BROKERS, BY_BROKERS, &[]),
    row(ApiKey::LIST_GROUPS, OF_COORDINATORS, BY_COORDINATORS, &[]),
    row(ApiKey::DESCRIBE_GROUPS, OF_COORDINATORS, BY_COORDINATORS, &[]),
    row(ApiKey::CONSUMER_GROUP_DESCRIBE, OF_COORDINATORS, BY_COORDINATORS, &[]),
    row(ApiKey::DELETE_GROUPS, OF_COORDINATORS, BY_COORDINATORS, AFTER),
    row(ApiKey::OFFSET_DELETE, OF_COORDINATORS, BY_COORDINATORS, AFTER),
];
