//! Acknowledgements of applications, and their results.

use ottla_core::error::ErrorCode;
use ottla_core::event::OffsetRange;
use ottla_core::share::{AcknowledgeType, PartitionAcknowledgements};
use ottla_core::types::TopicPartition;

use super::vocabulary::{ShareAck, SharePartitionId};

/// Acknowledgements whose result was not reported.
#[derive(Debug)]
pub(super) struct Outstanding {
    pub(super) tp: TopicPartition,
    pub(super) partition: SharePartitionId,
    /// As in the result: neighbours are one range.
    pub(super) offsets: Vec<OffsetRange>,
    pub(super) acks: Vec<(i64, ShareAck)>,
    pub(super) at_us: u64,
    /// The synchronous commit that they belong to.
    pub(super) call: Option<u64>,
    /// A result of the same offsets may have been that of these acknowledgements or of others.
    pub(super) is_ambiguous: bool,
}

/// A result of a synchronous commit's partition that was reported as an event; true if it may have been that of other
/// acknowledgements of the same offsets.
pub(super) type Reported = (TopicPartition, ErrorCode, bool);

/// Errors of requests that were sent and not answered, or whose answer was not understood: the broker may have the
/// acknowledgements. UNKNOWN is the answer of a broker that has not.
pub(super) fn is_unknown(code: ErrorCode) -> bool {
    code.0 < ErrorCode::UNKNOWN.0
        || [
            ErrorCode::REQUEST_TIMED_OUT,
            ErrorCode::INVALID_MSG,
            ErrorCode::SASL_AUTHENTICATION_FAILED,
        ]
        .contains(&code)
}

pub(super) fn joined(acknowledgements: &PartitionAcknowledgements) -> Vec<OffsetRange> {
    let mut all: Vec<OffsetRange> = Vec::new();
    for range in &acknowledgements.ranges {
        match all.last_mut() {
            Some(last) if last.last + 1 == range.offsets.first => last.last = range.offsets.last,
            _ => all.push(range.offsets),
        }
    }
    all
}

pub(super) fn ack_of(ty: AcknowledgeType) -> ShareAck {
    match ty {
        AcknowledgeType::Accept => ShareAck::Accept,
        AcknowledgeType::Release => ShareAck::Release,
        AcknowledgeType::Reject => ShareAck::Reject,
        AcknowledgeType::Renew => ShareAck::Renew,
    }
}
