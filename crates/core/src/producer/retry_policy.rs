//! Decides for each error code whether a batch is sent again, and whether it may have been written.

use ottla_protocol::api::produce::PartitionProduceResponse;

use crate::error::ErrorCode;

/// Maximum re-encodings of a batch that brokers reject as corrupt. A batch corrupted in transit succeeds the next time;
/// one that brokers before Kafka 2.4 report as corrupt for an invalid record (no key in a compacted topic) never does.
const REENCODE_MAX: u32 = 3;

/// The decision on a batch that was not acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RetryDecision {
    /// Send it again after a backoff; the attempt counts against `retries`.
    Retry,
    /// Send it again after a backoff, regardless of `retries`: it was rejected because of outdated metadata, and was not
    /// written.
    RetryUncounted,
    /// Encode it again and send it after a backoff, a few times; the attempt counts against `retries`.
    Reencode,
    /// Send it again once there is a connection: no broker has received it.
    Resend,
    /// It is too large: send it in two halves.
    Split,
    /// Fail it.
    Fail,
}

impl RetryDecision {
    /// Returns whether a batch that was retried `retries` times may be sent again.
    pub(super) fn allows(self, retries: u32, max_retries: u32) -> bool {
        match self {
            RetryDecision::Retry => retries < max_retries,
            RetryDecision::Reencode => retries < max_retries.min(REENCODE_MAX),
            RetryDecision::RetryUncounted | RetryDecision::Resend => true,
            RetryDecision::Split | RetryDecision::Fail => false,
        }
    }

    /// Returns whether the retry counts against `retries`.
    pub(super) fn counts(self) -> bool {
        matches!(self, RetryDecision::Retry | RetryDecision::Reencode)
    }
}

/// Returns the decision on a partition's error code, and whether the records may have been written nevertheless. `acks`
/// is that of the request.
pub(super) fn classify(code: ErrorCode, part: &PartitionProduceResponse, acks: i16) -> (RetryDecision, bool) {
    // A broker that stops leading a partition while it waits for followers (acks=all, or a number above 1) returns the
    // same codes as one that never led it, but also the offset at which it has appended.
    let appended = !matches!(acks, 0 | 1) && part.base_offset >= 0;
    let stale = code.action().refreshes_metadata();
    let may_be_written = match code {
        ErrorCode::REQUEST_TIMED_OUT
        | ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND
        | ErrorCode::NETWORK_EXCEPTION
        | ErrorCode::KAFKA_STORAGE_ERROR
        | ErrorCode::UNKNOWN
        | ErrorCode::DUPLICATE_SEQUENCE_NUMBER => true,
        _ if stale => appended,
        _ => code.to_protocol().is_some_and(|c| c.name().is_none()),
    };
    let decision = match code {
        ErrorCode::MSG_SIZE_TOO_LARGE | ErrorCode::RECORD_LIST_TOO_LARGE => RetryDecision::Split,
        ErrorCode::INVALID_MSG => RetryDecision::Reencode,
        // The previous transaction is still ending, which is no failure.
        ErrorCode::CONCURRENT_TRANSACTIONS => RetryDecision::RetryUncounted,
        _ if stale && !may_be_written => RetryDecision::RetryUncounted,
        _ if code.action().is_retriable() => RetryDecision::Retry,
        _ => RetryDecision::Fail,
    };
    (decision, may_be_written)
}

/// Returns whether the broker lacks the batches before a numbered batch, or has a later epoch.
pub(super) fn is_sequence_error(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER
            | ErrorCode::UNKNOWN_PRODUCER_ID
            | ErrorCode::INVALID_PRODUCER_EPOCH
            | ErrorCode::PRODUCER_FENCED
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_respect_the_limit_of_retries() {
        for (decision, allowed) in [
            (RetryDecision::Retry, [true, true, true, true, false]),
            (RetryDecision::Reencode, [true, true, true, false, false]),
            (RetryDecision::RetryUncounted, [true; 5]),
            (RetryDecision::Resend, [true; 5]),
            (RetryDecision::Split, [false; 5]),
            (RetryDecision::Fail, [false; 5]),
        ] {
            assert_eq!([0, 1, 2, 3, 4].map(|n| decision.allows(n, 4)), allowed, "{decision:?}");
        }
        assert!(!RetryDecision::Reencode.allows(0, 0));
    }

    #[test]
    fn not_leader_with_a_base_offset_may_have_appended() {
        let not_leader = ErrorCode::NOT_LEADER_FOR_PARTITION;
        for (acks, base_offset, expected) in [
            (-1, -1, (RetryDecision::RetryUncounted, false)),
            (-1, 7, (RetryDecision::Retry, true)),
            (2, 0, (RetryDecision::Retry, true)),
            (1, -1, (RetryDecision::RetryUncounted, false)),
            (1, 0, (RetryDecision::RetryUncounted, false)),
        ] {
            let part = PartitionProduceResponse {
                base_offset,
                ..Default::default()
            };
            assert_eq!(
                classify(not_leader, &part, acks),
                expected,
                "acks={acks}, {base_offset}"
            );
        }
    }
}
