//! What a broker's answer means for a batch: whether it is sent again, and whether it may be in the log all the same.

use ottla_protocol::api::produce::PartitionProduceResponse;

use crate::error::ErrorCode;

/// So often a batch is made anew that brokers find damaged: what was damaged on its way arrives sound the next time, and
/// what brokers before Kafka 2.4 call damaged although only its records break a rule (no key in a compacted topic) never
/// does.
const REENCODE_MAX: u32 = 3;

/// What to do with a batch that was not acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RetryDecision {
    /// Send it again after a while; the attempt counts against `retries`.
    Retry,
    /// Send it again after a while, whatever `retries` says: it was refused for what the client did not know, and is in
    /// no log.
    RetryUncounted,
    /// Make it anew and send it again after a while, a few times; the attempt counts against `retries`.
    Reencode,
    /// Send it again as soon as there is a connection: no broker has seen it.
    Resend,
    /// It is too large: send it in two halves.
    Split,
    /// Give it up.
    Fail,
}

impl RetryDecision {
    /// Whether a batch that was sent again `retries` times may be sent once more.
    pub(super) fn allows(self, retries: u32, max_retries: u32) -> bool {
        match self {
            RetryDecision::Retry => retries < max_retries,
            RetryDecision::Reencode => retries < max_retries.min(REENCODE_MAX),
            RetryDecision::RetryUncounted | RetryDecision::Resend => true,
            RetryDecision::Split | RetryDecision::Fail => false,
        }
    }

    /// Whether sending it again counts.
    pub(super) fn counts(self) -> bool {
        matches!(self, RetryDecision::Retry | RetryDecision::Reencode)
    }
}

/// Reads what is said of a partition: what to do, and whether the records may be in the log all the same. `acks` is what
/// the request asked for.
pub(super) fn classify(code: ErrorCode, part: &PartitionProduceResponse, acks: i16) -> (RetryDecision, bool) {
    // A broker that stops to lead a partition, or that loses it, while it waits for followers (acks=all, or a number
    // above 1) says so with the same codes as one that never led it, but tells the offset to which it has appended.
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
        // The transaction before has not quite ended, of which nobody is at fault.
        ErrorCode::CONCURRENT_TRANSACTIONS => RetryDecision::RetryUncounted,
        _ if stale && !may_be_written => RetryDecision::RetryUncounted,
        _ if code.action().is_retriable() => RetryDecision::Retry,
        _ => RetryDecision::Fail,
    };
    (decision, may_be_written)
}

/// Whether the broker misses, or no longer knows, what goes before a numbered batch, or knows a later epoch.
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
    fn only_some_retries_count() {
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
    fn a_broker_that_appended_before_it_stopped_to_lead_tells_the_offset() {
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
