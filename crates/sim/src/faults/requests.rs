//! Requests that are answered with errors, late, or not at all.

use ottla_mock::{Fault, FaultAction};
use ottla_protocol::{ApiKey, ErrorCode};

use super::FaultEvent;
use crate::trace::trace;
use crate::world::{Happening, World};

type E = ErrorCode;

/// Errors that pass: a broker may send these for the request, and the same request may succeed later.
const PASSING: &[(ApiKey, &[ErrorCode])] = &[
    (
        ApiKey::PRODUCE,
        &[
            E::NOT_LEADER_OR_FOLLOWER,
            E::LEADER_NOT_AVAILABLE,
            E::UNKNOWN_TOPIC_OR_PARTITION,
            E::NOT_ENOUGH_REPLICAS,
            E::REQUEST_TIMED_OUT,
            E::NETWORK_EXCEPTION,
            E::KAFKA_STORAGE_ERROR,
            E::FENCED_LEADER_EPOCH,
            E::UNKNOWN_TOPIC_ID,
            E::THROTTLING_QUOTA_EXCEEDED,
        ],
    ),
    (
        ApiKey::METADATA,
        &[
            E::LEADER_NOT_AVAILABLE,
            E::UNKNOWN_TOPIC_OR_PARTITION,
            E::REQUEST_TIMED_OUT,
        ],
    ),
    (
        ApiKey::FETCH,
        &[
            E::NOT_LEADER_OR_FOLLOWER,
            E::LEADER_NOT_AVAILABLE,
            E::REPLICA_NOT_AVAILABLE,
            E::UNKNOWN_TOPIC_OR_PARTITION,
            E::KAFKA_STORAGE_ERROR,
            E::FENCED_LEADER_EPOCH,
            E::UNKNOWN_LEADER_EPOCH,
            E::OFFSET_NOT_AVAILABLE,
            E::UNKNOWN_TOPIC_ID,
            E::UNKNOWN_SERVER_ERROR,
            E::CORRUPT_MESSAGE,
            E::FETCH_SESSION_ID_NOT_FOUND,
            E::INVALID_FETCH_SESSION_EPOCH,
        ],
    ),
    (
        ApiKey::LIST_OFFSETS,
        &[
            E::NOT_LEADER_OR_FOLLOWER,
            E::LEADER_NOT_AVAILABLE,
            E::UNKNOWN_TOPIC_OR_PARTITION,
            E::OFFSET_NOT_AVAILABLE,
            E::FENCED_LEADER_EPOCH,
            E::UNKNOWN_LEADER_EPOCH,
            E::REQUEST_TIMED_OUT,
        ],
    ),
    (
        ApiKey::API_VERSIONS,
        &[E::UNSUPPORTED_VERSION, E::REQUEST_TIMED_OUT, E::UNKNOWN_SERVER_ERROR],
    ),
];

/// Errors that no retry helps against.
const FATAL: &[(ApiKey, &[ErrorCode])] = &[
    (
        ApiKey::PRODUCE,
        &[
            E::TOPIC_AUTHORIZATION_FAILED,
            E::CLUSTER_AUTHORIZATION_FAILED,
            E::INVALID_RECORD,
            E::INVALID_TIMESTAMP,
            E::MESSAGE_TOO_LARGE,
            E::RECORD_LIST_TOO_LARGE,
            E::INVALID_REQUIRED_ACKS,
            E::CORRUPT_MESSAGE,
            E::UNSUPPORTED_FOR_MESSAGE_FORMAT,
            E::POLICY_VIOLATION,
            E::UNKNOWN_SERVER_ERROR,
            E::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            ErrorCode(999),
        ],
    ),
    (
        ApiKey::METADATA,
        &[
            E::TOPIC_AUTHORIZATION_FAILED,
            E::INVALID_TOPIC_EXCEPTION,
            E::UNKNOWN_SERVER_ERROR,
        ],
    ),
    (ApiKey::FETCH, &[E::TOPIC_AUTHORIZATION_FAILED, E::UNSUPPORTED_VERSION]),
    (
        ApiKey::LIST_OFFSETS,
        &[E::TOPIC_AUTHORIZATION_FAILED, E::UNSUPPORTED_FOR_MESSAGE_FORMAT],
    ),
    (
        ApiKey::API_VERSIONS,
        &[E::CLUSTER_AUTHORIZATION_FAILED, E::INVALID_REQUEST],
    ),
];

/// The requests that clients of a world make.
const APIS: &[ApiKey] = &[
    ApiKey::PRODUCE,
    ApiKey::METADATA,
    ApiKey::FETCH,
    ApiKey::LIST_OFFSETS,
    ApiKey::API_VERSIONS,
];

impl World {
    pub(super) fn push_request_error(&mut self) -> bool {
        let fatal = self.plan.faults.fatal_errors && self.faults.chance.hit(0.3);
        let table = if fatal { FATAL } else { PASSING };
        let (api, codes) = self.faults.chance.pick(table);
        let count = self.faults.chance.pick(&[1, 1, 1, 2, 5]);
        let errors: Vec<ErrorCode> = (0..count).map(|_| self.faults.chance.pick(codes)).collect();
        trace!(self.trace, "FAULT the next {api} requests get {errors:?}");
        for error in &errors {
            self.coverage.fault(error.name().unwrap_or("unknown error codes"));
        }
        self.cluster.push_request_errors(api, &errors);
        true
    }

    pub(super) fn push_disconnect(&mut self) -> bool {
        let api = self.faults.chance.pick(APIS);
        let action = match self.faults.chance.hit(0.5) {
            true => FaultAction::DisconnectBefore,
            false => FaultAction::DisconnectAfter,
        };
        trace!(self.trace, "FAULT the next {api} request meets {action:?}");
        self.cluster.push_fault(None, api, Fault { action, delay_us: 0 });
        true
    }

    pub(super) fn push_delay(&mut self) -> bool {
        let api = self.faults.chance.pick(APIS);
        let delay_us = self.faults.chance.spread(1000, 90_000_000);
        trace!(
            self.trace,
            "FAULT the next {api} request is answered {delay_us} us late"
        );
        self.cluster.push_fault(
            None,
            api,
            Fault {
                action: FaultAction::Serve,
                delay_us,
            },
        );
        true
    }

    pub(super) fn throttle(&mut self) -> bool {
        let api = self.faults.chance.pick(APIS);
        let millis = self.faults.chance.spread(1, 5000) as i32;
        trace!(self.trace, "FAULT {api} is throttled by {millis} ms");
        self.cluster.set_throttle_ms(api, millis);
        self.faults.throttled.push(api);
        let outage = self.outage_us();
        self.after_us(outage, Happening::Fault(FaultEvent::EndThrottle(api)));
        true
    }

    pub(super) fn heal_requests(&mut self) {
        for api in APIS {
            self.cluster.clear_request_errors(*api);
        }
        for api in std::mem::take(&mut self.faults.throttled) {
            self.cluster.set_throttle_ms(api, 0);
        }
    }
}
