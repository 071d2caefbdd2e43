//! What a broker's error means for a transaction: the one table of it (KIP-98, KIP-360, KIP-447, KIP-588, KIP-890).
//!
//! `docs/ERRORS.md` tells applications. Where Kafka's Java client and librdkafka read a code differently, it takes what
//! keeps exactly-once and hurts least: an error after which an abort leads back to a known state is abortable.

use crate::error::ErrorCode;

/// What was asked of a broker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::producer) enum Ask {
    /// FindCoordinator, of the transactional id.
    FindCoordinator,
    /// FindCoordinator, of the consumer group whose offsets are committed.
    FindGroup,
    /// InitProducerId
    Init,
    /// AddPartitionsToTxn
    AddPartitions,
    /// AddOffsetsToTxn
    AddOffsets,
    /// TxnOffsetCommit
    CommitOffsets,
    /// EndTxn, to commit.
    Commit,
    /// EndTxn, to abort.
    Abort,
    /// Produce, once the batch is given up.
    Produce,
}

impl Ask {
    /// The request's name.
    pub(in crate::producer) fn name(self) -> &'static str {
        match self {
            Ask::FindCoordinator | Ask::FindGroup => "FindCoordinator",
            Ask::Init => "InitProducerId",
            Ask::AddPartitions => "AddPartitionsToTxn",
            Ask::AddOffsets => "AddOffsetsToTxn",
            Ask::CommitOffsets => "TxnOffsetCommit",
            Ask::Commit => "EndTxn (commit)",
            Ask::Abort => "EndTxn (abort)",
            Ask::Produce => "Produce",
        }
    }
}

/// What follows from an answer, mild ones first: of several, the last counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::producer) enum Consequence {
    /// It is done.
    Done,
    /// Ask again in a moment: the transaction before is about to end.
    RetrySoon,
    /// Ask again after a while.
    Retry,
    /// Look for the coordinator and ask again.
    FindAgain,
    /// The transaction can only be aborted.
    Abort,
    /// As `Abort`, and the coordinator no longer knows the producer: another id takes the place of the abort.
    Forgotten,
    /// Nothing can be done any more.
    Fatal,
    /// Nothing can be done any more: another producer has the transactional id now.
    Fenced,
}

/// Reads the answer to a request.
pub(in crate::producer) fn consequence(ask: Ask, code: ErrorCode) -> Consequence {
    use Ask::*;
    use Consequence::{Done, Fatal, Fenced, FindAgain, Forgotten, Retry, RetrySoon};
    match (ask, code) {
        (_, ErrorCode::NO_ERROR) => Done,
        // A partition's leader says so, too, when the coordinator has aborted a transaction that took too long. The
        // coordinator knows whether there is another producer, and the abort asks it.
        (Produce, ErrorCode::INVALID_PRODUCER_EPOCH) => Consequence::Abort,
        (_, ErrorCode::PRODUCER_FENCED | ErrorCode::INVALID_PRODUCER_EPOCH) => Fenced,
        (_, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED | ErrorCode::CLUSTER_AUTHORIZATION_FAILED) => Fatal,
        (_, ErrorCode::CONCURRENT_TRANSACTIONS) => RetrySoon,
        (_, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE) => FindAgain,
        // It answers so when it waited in vain for the offsets to be written, as when it has lost the partition.
        (CommitOffsets, ErrorCode::REQUEST_TIMED_OUT) => FindAgain,
        // Not tried because another partition of the request was refused, which decides.
        (AddPartitions, ErrorCode::OPERATION_NOT_ATTEMPTED) => Retry,
        (Init, ErrorCode::TRANSACTION_ABORTABLE) => Retry,
        (Abort, ErrorCode::TRANSACTION_ABORTABLE) => Forgotten,
        (Init, ErrorCode::INVALID_PRODUCER_ID_MAPPING | ErrorCode::UNKNOWN_PRODUCER_ID) => Fatal,
        (Produce, ErrorCode::UNKNOWN_PRODUCER_ID) => Consequence::Abort,
        (_, ErrorCode::INVALID_PRODUCER_ID_MAPPING | ErrorCode::UNKNOWN_PRODUCER_ID) => Forgotten,
        _ if code.action().is_retriable() && ask != Produce => Retry,
        // Beyond this nothing is known of where the coordinator stands. A commit that it finds impossible was not made,
        // and to abort is still possible.
        (Commit, ErrorCode::INVALID_TXN_STATE | ErrorCode::TRANSACTION_ABORTABLE) => Consequence::Abort,
        (FindCoordinator | Init | Commit | Abort, _) => Fatal,
        (FindGroup | AddPartitions | AddOffsets | CommitOffsets | Produce, _) => Consequence::Abort,
    }
}
