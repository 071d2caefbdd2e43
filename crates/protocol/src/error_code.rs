//! Error codes: what a broker says went wrong.

use std::fmt;

/// The error code of a response. Codes that this crate has no name for are kept as they are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ErrorCode(pub i16);

struct Row {
    code: i16,
    name: &'static str,
    retriable: bool,
    refresh_metadata: bool,
}

macro_rules! error_codes {
    ($($code:literal $name:ident $($flag:ident)*;)*) => {
        impl ErrorCode {
            $(
                #[doc = concat!("Code ", $code, ".")]
                pub const $name: Self = Self($code);
            )*
        }

        /// By ascending code.
        const ROWS: &[Row] = &[$(Row::new($code, stringify!($name))$(.$flag())*),*];
    };
}

impl Row {
    const fn new(code: i16, name: &'static str) -> Self {
        Self {
            code,
            name,
            retriable: false,
            refresh_metadata: false,
        }
    }

    const fn retriable(self) -> Self {
        Self {
            retriable: true,
            ..self
        }
    }

    const fn refresh_metadata(self) -> Self {
        Self {
            refresh_metadata: true,
            ..self
        }
    }
}

// Number, name, and what Kafka's own client does about it: `retriable`, the same request may succeed later;
// `refresh_metadata`, the client's picture of the cluster is stale.
error_codes! {
    -1 UNKNOWN_SERVER_ERROR;
    0 NONE;
    1 OFFSET_OUT_OF_RANGE;
    2 CORRUPT_MESSAGE retriable;
    3 UNKNOWN_TOPIC_OR_PARTITION retriable refresh_metadata;
    4 INVALID_FETCH_SIZE;
    5 LEADER_NOT_AVAILABLE retriable refresh_metadata;
    6 NOT_LEADER_OR_FOLLOWER retriable refresh_metadata;
    7 REQUEST_TIMED_OUT retriable;
    8 BROKER_NOT_AVAILABLE;
    9 REPLICA_NOT_AVAILABLE retriable refresh_metadata;
    10 MESSAGE_TOO_LARGE;
    11 STALE_CONTROLLER_EPOCH;
    12 OFFSET_METADATA_TOO_LARGE;
    13 NETWORK_EXCEPTION retriable refresh_metadata;
    14 COORDINATOR_LOAD_IN_PROGRESS retriable;
    15 COORDINATOR_NOT_AVAILABLE retriable;
    16 NOT_COORDINATOR retriable;
    17 INVALID_TOPIC_EXCEPTION;
    18 RECORD_LIST_TOO_LARGE;
    19 NOT_ENOUGH_REPLICAS retriable;
    20 NOT_ENOUGH_REPLICAS_AFTER_APPEND retriable;
    21 INVALID_REQUIRED_ACKS;
    22 ILLEGAL_GENERATION;
    23 INCONSISTENT_GROUP_PROTOCOL;
    24 INVALID_GROUP_ID;
    25 UNKNOWN_MEMBER_ID;
    26 INVALID_SESSION_TIMEOUT;
    27 REBALANCE_IN_PROGRESS;
    28 INVALID_COMMIT_OFFSET_SIZE;
    29 TOPIC_AUTHORIZATION_FAILED;
    30 GROUP_AUTHORIZATION_FAILED;
    31 CLUSTER_AUTHORIZATION_FAILED;
    32 INVALID_TIMESTAMP;
    33 UNSUPPORTED_SASL_MECHANISM;
    34 ILLEGAL_SASL_STATE;
    35 UNSUPPORTED_VERSION;
    36 TOPIC_ALREADY_EXISTS;
    37 INVALID_PARTITIONS;
    38 INVALID_REPLICATION_FACTOR;
    39 INVALID_REPLICA_ASSIGNMENT;
    40 INVALID_CONFIG;
    41 NOT_CONTROLLER retriable;
    42 INVALID_REQUEST;
    43 UNSUPPORTED_FOR_MESSAGE_FORMAT;
    44 POLICY_VIOLATION;
    45 OUT_OF_ORDER_SEQUENCE_NUMBER;
    46 DUPLICATE_SEQUENCE_NUMBER;
    47 INVALID_PRODUCER_EPOCH;
    48 INVALID_TXN_STATE;
    49 INVALID_PRODUCER_ID_MAPPING;
    50 INVALID_TRANSACTION_TIMEOUT;
    51 CONCURRENT_TRANSACTIONS retriable;
    52 TRANSACTION_COORDINATOR_FENCED;
    53 TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    54 SECURITY_DISABLED;
    55 OPERATION_NOT_ATTEMPTED;
    56 KAFKA_STORAGE_ERROR retriable refresh_metadata;
    57 LOG_DIR_NOT_FOUND;
    58 SASL_AUTHENTICATION_FAILED;
    59 UNKNOWN_PRODUCER_ID;
    60 REASSIGNMENT_IN_PROGRESS;
    61 DELEGATION_TOKEN_AUTH_DISABLED;
    62 DELEGATION_TOKEN_NOT_FOUND;
    63 DELEGATION_TOKEN_OWNER_MISMATCH;
    64 DELEGATION_TOKEN_REQUEST_NOT_ALLOWED;
    65 DELEGATION_TOKEN_AUTHORIZATION_FAILED;
    66 DELEGATION_TOKEN_EXPIRED;
    67 INVALID_PRINCIPAL_TYPE;
    68 NON_EMPTY_GROUP;
    69 GROUP_ID_NOT_FOUND;
    70 FETCH_SESSION_ID_NOT_FOUND retriable;
    71 INVALID_FETCH_SESSION_EPOCH retriable;
    72 LISTENER_NOT_FOUND retriable refresh_metadata;
    73 TOPIC_DELETION_DISABLED;
    74 FENCED_LEADER_EPOCH retriable refresh_metadata;
    75 UNKNOWN_LEADER_EPOCH retriable;
    76 UNSUPPORTED_COMPRESSION_TYPE;
    77 STALE_BROKER_EPOCH;
    78 OFFSET_NOT_AVAILABLE retriable;
    79 MEMBER_ID_REQUIRED;
    80 PREFERRED_LEADER_NOT_AVAILABLE retriable refresh_metadata;
    81 GROUP_MAX_SIZE_REACHED;
    82 FENCED_INSTANCE_ID;
    83 ELIGIBLE_LEADERS_NOT_AVAILABLE retriable refresh_metadata;
    84 ELECTION_NOT_NEEDED retriable refresh_metadata;
    85 NO_REASSIGNMENT_IN_PROGRESS;
    86 GROUP_SUBSCRIBED_TO_TOPIC;
    87 INVALID_RECORD;
    88 UNSTABLE_OFFSET_COMMIT retriable;
    89 THROTTLING_QUOTA_EXCEEDED retriable;
    90 PRODUCER_FENCED;
    91 RESOURCE_NOT_FOUND;
    92 DUPLICATE_RESOURCE;
    93 UNACCEPTABLE_CREDENTIAL;
    94 INCONSISTENT_VOTER_SET;
    95 INVALID_UPDATE_VERSION;
    96 FEATURE_UPDATE_FAILED;
    97 PRINCIPAL_DESERIALIZATION_FAILURE;
    98 SNAPSHOT_NOT_FOUND;
    99 POSITION_OUT_OF_RANGE;
    100 UNKNOWN_TOPIC_ID retriable refresh_metadata;
    101 DUPLICATE_BROKER_REGISTRATION;
    102 BROKER_ID_NOT_REGISTERED;
    103 INCONSISTENT_TOPIC_ID retriable refresh_metadata;
    104 INCONSISTENT_CLUSTER_ID;
    105 TRANSACTIONAL_ID_NOT_FOUND;
    106 FETCH_SESSION_TOPIC_ID_ERROR retriable;
    107 INELIGIBLE_REPLICA;
    108 NEW_LEADER_ELECTED;
    109 OFFSET_MOVED_TO_TIERED_STORAGE;
    110 FENCED_MEMBER_EPOCH;
    111 UNRELEASED_INSTANCE_ID;
    112 UNSUPPORTED_ASSIGNOR;
    113 STALE_MEMBER_EPOCH;
    114 MISMATCHED_ENDPOINT_TYPE;
    115 UNSUPPORTED_ENDPOINT_TYPE;
    116 UNKNOWN_CONTROLLER_ID;
    117 UNKNOWN_SUBSCRIPTION_ID;
    118 TELEMETRY_TOO_LARGE;
    119 INVALID_REGISTRATION;
    120 TRANSACTION_ABORTABLE;
    121 INVALID_RECORD_STATE;
    122 SHARE_SESSION_NOT_FOUND retriable;
    123 INVALID_SHARE_SESSION_EPOCH retriable;
    124 FENCED_STATE_EPOCH;
    125 INVALID_VOTER_KEY;
    126 DUPLICATE_VOTER;
    127 VOTER_NOT_FOUND;
    128 INVALID_REGULAR_EXPRESSION;
    129 REBOOTSTRAP_REQUIRED;
    130 STREAMS_INVALID_TOPOLOGY;
    131 STREAMS_INVALID_TOPOLOGY_EPOCH;
    132 STREAMS_TOPOLOGY_FENCED;
    133 SHARE_SESSION_LIMIT_REACHED retriable;
}

impl ErrorCode {
    fn row(self) -> Option<&'static Row> {
        let index = ROWS.binary_search_by_key(&self.0, |row| row.code).ok()?;
        ROWS.get(index)
    }

    /// True for [`ErrorCode::NONE`].
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// `Ok` for [`ErrorCode::NONE`], else this code as the error.
    ///
    /// # Errors
    /// The code itself.
    pub const fn ok(self) -> Result<(), Self> {
        match self.is_ok() {
            true => Ok(()),
            false => Err(self),
        }
    }

    /// Kafka's name of the code, as in `NOT_LEADER_OR_FOLLOWER`; `None` for a code that Kafka 4.3 does not use.
    pub fn name(self) -> Option<&'static str> {
        self.row().map(|row| row.name)
    }

    /// Returns whether the same request may succeed later. False for unknown codes.
    pub fn is_retriable(self) -> bool {
        self.row().is_some_and(|row| row.retriable)
    }

    /// Returns whether the code shows that the client's metadata is stale. False for unknown codes.
    pub fn refreshes_metadata(self) -> bool {
        self.row().is_some_and(|row| row.refresh_metadata)
    }

    /// Returns every code with a name, ascending.
    pub fn known() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| Self(row.code))
    }
}

impl From<i16> for ErrorCode {
    fn from(code: i16) -> Self {
        Self(code)
    }
}

impl From<ErrorCode> for i16 {
    fn from(code: ErrorCode) -> Self {
        code.0
    }
}

impl fmt::Display for ErrorCode {
    /// Returns the name, or the number where there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "ErrorCode({})", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for ErrorCode {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_come_from_the_table() {
        assert!(ErrorCode::NOT_LEADER_OR_FOLLOWER.is_retriable());
        assert!(ErrorCode::NOT_LEADER_OR_FOLLOWER.refreshes_metadata());
        assert!(ErrorCode::CORRUPT_MESSAGE.is_retriable());
        assert!(!ErrorCode::CORRUPT_MESSAGE.refreshes_metadata());
        assert!(!ErrorCode::OFFSET_OUT_OF_RANGE.is_retriable());
        assert_eq!(ErrorCode::UNKNOWN_SERVER_ERROR.0, -1);
        assert_eq!(ErrorCode(0).ok(), Ok(()));
    }

    #[test]
    fn unknown_codes_survive() {
        let code = ErrorCode(12345);
        assert_eq!(code.name(), None);
        assert_eq!(code.to_string(), "ErrorCode(12345)");
        assert_eq!(i16::from(code), 12345);
        assert!(!code.is_retriable());
    }

    #[test]
    fn table_is_sorted() {
        assert!(ROWS.windows(2).all(|pair| pair[0].code < pair[1].code));
        assert!(ErrorCode::known().all(|code| code.name().is_some()));
    }
}
