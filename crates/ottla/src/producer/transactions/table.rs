//! What a broker's error means for a transaction: the one table of it (KIP-98, KIP-360, KIP-447, KIP-588, KIP-890).
//!
//! `docs/ERRORS.md` tells applications. Where Kafka's Java client and librdkafka read a code differently, it takes what
//! keeps exactly-once and hurts least: an error after which an abort leads back to a known state is abortable.

use crate::error::ErrorCode;

/// What was asked of a broker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::producer) enum RequestKind {
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
    /// DescribeTransactions, after the end: nothing but the moment of what comes next depends on it.
    Describe,
    /// Produce, once the batch is given up.
    Produce,
}

impl RequestKind {
    /// The request's name.
    pub(in crate::producer) fn name(self) -> &'static str {
        match self {
            RequestKind::FindCoordinator | RequestKind::FindGroup => "FindCoordinator",
            RequestKind::Init => "InitProducerId",
            RequestKind::AddPartitions => "AddPartitionsToTxn",
            RequestKind::AddOffsets => "AddOffsetsToTxn",
            RequestKind::CommitOffsets => "TxnOffsetCommit",
            RequestKind::Commit => "EndTxn (commit)",
            RequestKind::Abort => "EndTxn (abort)",
            RequestKind::Describe => "DescribeTransactions",
            RequestKind::Produce => "Produce",
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
pub(in crate::producer) fn consequence(kind: RequestKind, code: ErrorCode) -> Consequence {
    use Consequence::{Abort, Done, Fatal, Fenced, FindAgain, Forgotten, Retry, RetrySoon};
    use RequestKind::{
        AddOffsets, AddPartitions, Commit, CommitOffsets, Describe, FindCoordinator, FindGroup, Init, Produce,
    };
    match (kind, code) {
        (_, ErrorCode::NO_ERROR) | (Describe, _) => Done,
        // What is worth trying again was tried again before.
        (FindCoordinator, _) => Fatal,
        (FindGroup, _) => Abort,
        // A partition's leader says so, too, when the coordinator has aborted a transaction that took too long. The
        // coordinator knows whether there is another producer, and the abort asks it.
        (Produce, ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::UNKNOWN_PRODUCER_ID) => Abort,
        (_, ErrorCode::PRODUCER_FENCED | ErrorCode::INVALID_PRODUCER_EPOCH) => Fenced,
        (_, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED | ErrorCode::CLUSTER_AUTHORIZATION_FAILED) => Fatal,
        (Init, ErrorCode::INVALID_PRODUCER_ID_MAPPING | ErrorCode::UNKNOWN_PRODUCER_ID) => Fatal,
        (_, ErrorCode::INVALID_PRODUCER_ID_MAPPING | ErrorCode::UNKNOWN_PRODUCER_ID) => Forgotten,
        (Produce, _) => Abort,
        (_, ErrorCode::CONCURRENT_TRANSACTIONS) => RetrySoon,
        (_, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE) => FindAgain,
        // The group's coordinator waited in vain for the offsets to be replicated, as when it has lost the partition.
        (CommitOffsets, ErrorCode::REQUEST_TIMED_OUT) => FindAgain,
        _ if code.action().is_retriable() => Retry,
        // Not tried because another partition of the request was refused, which decides.
        (AddPartitions, ErrorCode::OPERATION_NOT_ATTEMPTED) => Retry,
        (AddPartitions | AddOffsets | CommitOffsets, _) => Abort,
        (Init, ErrorCode::TRANSACTION_ABORTABLE) => Retry,
        (RequestKind::Abort, ErrorCode::TRANSACTION_ABORTABLE) => Forgotten,
        // A commit that the coordinator finds impossible was not made, and to abort is still possible.
        (Commit, ErrorCode::INVALID_TXN_STATE | ErrorCode::TRANSACTION_ABORTABLE) => Abort,
        // Beyond this nothing is known of where the coordinator stands.
        (Init | Commit | RequestKind::Abort, _) => Fatal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKS: [RequestKind; 7] = [
        RequestKind::Init,
        RequestKind::AddPartitions,
        RequestKind::AddOffsets,
        RequestKind::CommitOffsets,
        RequestKind::Commit,
        RequestKind::Abort,
        RequestKind::Produce,
    ];

    fn word(consequence: Consequence) -> &'static str {
        match consequence {
            Consequence::Done => "done",
            Consequence::RetrySoon => "soon",
            Consequence::Retry => "again",
            Consequence::FindAgain => "find",
            Consequence::Abort => "abort",
            Consequence::Forgotten => "forgotten",
            Consequence::Fatal => "fatal",
            Consequence::Fenced => "fenced",
        }
    }

    /// The table of the document: each code's row, and the last one for all codes without a row of their own.
    fn documented() -> Vec<(String, Vec<String>)> {
        let document = include_str!("../../../../../docs/ERRORS.md");
        let table = document
            .lines()
            .skip_while(|l| !l.starts_with("| code | InitProducerId |"))
            .skip(2)
            .take_while(|l| l.starts_with('|'));
        let cells = |line: &str| {
            let cells = line
                .trim_matches('|')
                .split('|')
                .map(|c| c.trim().trim_matches('`').to_owned());
            cells.collect::<Vec<String>>()
        };
        table
            .map(|line| {
                let mut cells = cells(line);
                (cells.remove(0), cells)
            })
            .collect()
    }

    #[test]
    fn every_code_is_read_as_the_document_says() {
        let rows = documented();
        let find = |name: &str| rows.iter().find(|r| r.0 == name).map(|r| &r.1);
        let codes = ErrorCode::listed().filter(|c| c.is_from_broker());
        let mut seen = 0;
        for code in codes {
            let of_code = find(&code.name());
            seen += usize::from(of_code.is_some());
            let other = match code.action().is_retriable() {
                true => "other retriable codes",
                false => "other codes",
            };
            let row = of_code.or_else(|| find(other)).unwrap();
            let read: Vec<&str> = ASKS.iter().map(|kind| word(consequence(*kind, code))).collect();
            assert_eq!(row, &read, "{}", code.name());
        }
        assert_eq!(seen + 2, rows.len(), "a row that no code has");
    }

    #[test]
    fn of_several_answers_the_worst_counts() {
        use Consequence::*;
        let all = [Done, RetrySoon, Retry, FindAgain, Abort, Forgotten, Fatal, Fenced];
        assert!(all.is_sorted());
    }

    #[test]
    fn a_group_that_cannot_be_found_concerns_the_transaction_alone() {
        assert_eq!(
            consequence(RequestKind::FindGroup, ErrorCode::GROUP_AUTHORIZATION_FAILED),
            Consequence::Abort
        );
        assert_eq!(
            consequence(
                RequestKind::FindCoordinator,
                ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            ),
            Consequence::Fatal
        );
    }
}
