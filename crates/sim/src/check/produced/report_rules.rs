//! Rules that a delivery report fulfils by itself.

use ottla_core::error::ErrorCode;
use ottla_core::event::DeliveryMode;
use ottla_core::types::PersistStatus;
use ottla_protocol::compression::Codec;

use super::entry::{Accepted, Entry, Outcome, Promise, Refusal, Report, Wire};
use crate::error_codes;
use crate::message::DecodedMessage;

/// The tolerance for reports after `message.timeout.ms`: timers are not more precise.
const TIMEOUT_SLACK_US: u64 = 50_000;

/// A response that arrives this shortly before a report may not have been read by the client.
const UNREAD_US: u64 = 25_000;

/// Returns true when an error proves that this request did not write the message.
pub(super) fn is_definite(code: ErrorCode, offset: i64, acks: i16) -> bool {
    let may_be_written = matches!(
        code,
        ErrorCode::REQUEST_TIMED_OUT
            | ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND
            | ErrorCode::NETWORK_EXCEPTION
            | ErrorCode::KAFKA_STORAGE_ERROR
            | ErrorCode::UNKNOWN
            | ErrorCode(999)
    );
    // A leader that loses its leadership while waiting for followers has written the message, and returns its offset.
    let deposed = offset >= 0 && !matches!(acks, 0 | 1);
    !may_be_written && !deposed
}

/// Returns the difference between a stored message and the produced one. `plain`: message sets store no headers and
/// possibly no timestamp.
pub(super) fn same(accepted: &Accepted, found: DecodedMessage, timestamp_ms: i64, plain: bool) -> Option<String> {
    let (first, last) = accepted.timestamp_ms;
    let in_time = (first..=last).contains(&timestamp_ms) || (plain && timestamp_ms < 0);
    let same_headers = plain || found.headers == accepted.headers;
    if !found.intact || found.value_len != accepted.value_len || found.key != accepted.key || !same_headers {
        return Some("it is not what was produced".into());
    }
    (!in_time).then(|| format!("its timestamp is {timestamp_ms}"))
}

/// Returns the difference between a batch and the settings.
pub(super) fn wire(promise: &Promise, wire: &Wire) -> Option<&'static str> {
    let acks = if promise.acks > 1 { -1 } else { promise.acks };
    // Data that compression would enlarge is sent uncompressed, and so is data that brokers cannot decompress.
    let right_codec = wire.codec == promise.codec || wire.codec == Codec::None;
    let (records_max, bytes_max) = promise.batch_max;
    // Message sets are larger than the size that the client limits.
    let measured = wire.codec == Codec::None && wire.version >= 3;
    match () {
        () if wire.acks != acks => Some("other acks"),
        () if i64::from(wire.timeout_ms) != promise.request_timeout_ms => Some("another timeout"),
        () if !right_codec => Some("another codec"),
        () if wire.records > records_max => Some("too many records"),
        () if measured && wire.records > 1 && wire.bytes > bytes_max => Some("too many bytes"),
        () => None,
    }
}

/// Returns the error in a report.
pub(super) fn report(
    entry: &Entry,
    report: &Report,
    topic: usize,
    counts: impl Iterator<Item = i32>,
) -> Option<String> {
    let (accepted, promise) = (&entry.accepted, &entry.accepted.promise);
    if entry.topic != topic || (report.partition >= 0 && !is_right_place(entry, report, counts)) {
        return Some("reported for another partition".into());
    }
    let took_us = report.done_us.saturating_sub(accepted.at_us);
    if promise.timeout_ms > 0 && took_us > promise.timeout_ms * 1000 + TIMEOUT_SLACK_US {
        return Some(format!(
            "reported after {took_us} us, message.timeout.ms is {}",
            promise.timeout_ms
        ));
    }
    match (report.outcome, promise.delivery) {
        (_, DeliveryMode::None) => Some("reported although nothing is to be".into()),
        (Outcome::Delivered, DeliveryMode::ErrorsOnly) => {
            Some("a success was reported although only errors are".into())
        }
        (Outcome::Delivered, _) => delivered(entry, report),
        (Outcome::Failed(code), _) => failed(entry, report, code),
    }
}

/// Returns true when the report's partition is right. A message without a valid partition is reported for the requested
/// one.
fn is_right_place(entry: &Entry, report: &Report, counts: impl Iterator<Item = i32>) -> bool {
    entry.accepted.choice.may_be(report.partition, counts)
}

fn delivered(entry: &Entry, report: &Report) -> Option<String> {
    let promise = &entry.accepted.promise;
    if entry.sent == 0 {
        return Some("delivered, and was never sent".into());
    }
    if promise.acks == 0 {
        return (report.status == PersistStatus::NotPersisted).then(|| "delivered, and not persisted".into());
    }
    if report.status != PersistStatus::Persisted {
        return Some("delivered, and not reported as persisted".into());
    }
    if report.offset < 0 && !promise.idempotent {
        return Some("delivered without an offset".into());
    }
    let known = match report.offset {
        0.. => entry.acked.contains(&report.offset),
        _ => !entry.acked.is_empty(),
    };
    (!known).then(|| "delivered, and no broker has acknowledged it at this offset".into())
}

fn failed(entry: &Entry, report: &Report, code: ErrorCode) -> Option<String> {
    if report.status == PersistStatus::Persisted {
        return Some("failed, and persisted".into());
    }
    let reports_polled = |refusal: &&Refusal| refusal.definite && refusal.at_us + UNREAD_US < report.done_us;
    let refused = entry.refusals.iter().filter(reports_polled).count();
    if entry.sent as usize == refused && report.status != PersistStatus::NotPersisted {
        return Some("every broker has rejected it, and it is reported as possibly persisted".into());
    }
    let from_brokers = code.0 > 0 || code == ErrorCode::L_INVALID_DIFFERENT_RECORD;
    let said = entry.refusals.iter().any(|r| r.code == code);
    if from_brokers && !said && !error_codes::is_in_other_responses(code) {
        return Some("failed with an error that no broker has returned".into());
    }
    None
}
