//! The consequences of broker errors for a transaction (KIP-98, KIP-360, KIP-447, KIP-588, KIP-890).
//!
//! `docs/ERRORS.md` documents the table. Where Kafka's Java client and librdkafka treat a code differently, it uses the
//! mildest consequence that keeps exactly-once: an error after which an abort restores a known state is abortable.

use crate::error::ErrorCode;

/// The kind of a request.
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
    /// DescribeTransactions, after the end: its result affects only the time of the next request.
    Describe,
    /// Produce, once the batch has failed.
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

/// The consequence of a response, in ascending severity: of several, the last counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::producer) enum Consequence {
    /// The request succeeded.
    Done,
    /// Retry after a short backoff: the previous transaction is ending.
    RetrySoon,
    /// Retry after a backoff.
    Retry,
    /// Find the coordinator and retry.
    FindAgain,
    /// The transaction can only be aborted.
    Abort,
    /// Like `Abort`, and the coordinator has lost the producer's state: a new id replaces the abort.
    Forgotten,
    /// A fatal error.
    Fatal,
    /// A fatal error: another producer has the transactional id.
    Fenced,
}

/// Returns the consequence of an error code in a response.
pub(in crate::producer) fn consequence(kind: RequestKind, code: ErrorCode) -> Consequence {
    use Consequence::{Abort, Done, Fatal, Fenced, FindAgain, Forgotten, Retry, RetrySoon};
    use RequestKind::{
        AddOffsets, AddPartitions, Commit, CommitOffsets, Describe, FindCoordinator, FindGroup, Init, Produce,
    };
    match (kind, code) {
        (_, ErrorCode::NO_ERROR) | (Describe, _) => Done,
        // Retriable errors were retried before.
        (FindCoordinator, _) => Fatal,
        (FindGroup, _) => Abort,
        // A partition's leader returns these also after the coordinator has aborted a transaction that timed out. The
        // abort shows whether there is another producer.
        (Produce, ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::UNKNOWN_PRODUCER_ID) => Abort,
        (_, ErrorCode::PRODUCER_FENCED | ErrorCode::INVALID_PRODUCER_EPOCH) => Fenced,
        (_, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED | ErrorCode::CLUSTER_AUTHORIZATION_FAILED) => Fatal,
        (Init, ErrorCode::INVALID_PRODUCER_ID_MAPPING | ErrorCode::UNKNOWN_PRODUCER_ID) => Fatal,
        (_, ErrorCode::INVALID_PRODUCER_ID_MAPPING | ErrorCode::UNKNOWN_PRODUCER_ID) => Forgotten,
        (Produce, _) => Abort,
        (_, ErrorCode::CONCURRENT_TRANSACTIONS) => RetrySoon,
        (_, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE) => FindAgain,
        // The offsets were not replicated in time, for instance because the coordinator has lost the partition.
        (CommitOffsets, ErrorCode::REQUEST_TIMED_OUT) => FindAgain,
        _ if code.action().is_retriable() => Retry,
        // Not attempted because another partition of the request was rejected, whose code counts.
        (AddPartitions, ErrorCode::OPERATION_NOT_ATTEMPTED) => Retry,
        (AddPartitions | AddOffsets | CommitOffsets, _) => Abort,
        (Init, ErrorCode::TRANSACTION_ABORTABLE) => Retry,
        (RequestKind::Abort, ErrorCode::TRANSACTION_ABORTABLE) => Forgotten,
        // The coordinator has rejected the commit; an abort is still possible.
        (Commit, ErrorCode::INVALID_TXN_STATE | ErrorCode::TRANSACTION_ABORTABLE) => Abort,
        // The coordinator's state is unknown.
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

    /// Returns the table of the document: the rows of single codes, and the last rows for all other codes.
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
    fn consequences_are_those_of_the_document() {
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
        assert_eq!(seen + 2, rows.len(), "a row without a code");
    }

    #[test]
    fn consequences_are_in_order_of_severity() {
        use Consequence::*;
        let all = [Done, RetrySoon, Retry, FindAgain, Abort, Forgotten, Fatal, Fenced];
        assert!(all.is_sorted());
    }

    #[test]
    fn find_coordinator_error_of_a_group_is_abortable() {
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
