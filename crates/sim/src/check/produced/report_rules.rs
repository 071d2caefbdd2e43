//! What must be true of a report by itself.

use ottla::error::ErrorCode;
use ottla::event::DeliveryMode;
use ottla::types::PersistStatus;
use ottla_protocol::compression::Codec;

use super::{Accepted, Entry, Outcome, Promise, Refusal, Report, Wire};
use crate::faults;
use crate::message::DecodedMessage;

/// A report may be made this much after the message's time was up: timers have no finer promise.
const TIMEOUT_SLACK_US: u64 = 50_000;

/// What reached a client so shortly before it made a report may not have been read by then.
const UNREAD_US: u64 = 25_000;

/// Whether a refusal says that the message was not written by this request.
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
    // A leader that waits for its followers and loses its office has written before, and says where.
    let deposed = offset >= 0 && !matches!(acks, 0 | 1);
    !may_be_written && !deposed
}

/// What of a message is not as it was produced. `plain`: as far as message sets carry it.
pub(super) fn same(accepted: &Accepted, found: DecodedMessage, timestamp_ms: i64, plain: bool) -> Option<String> {
    let (first, last) = accepted.timestamp_ms;
    let in_time = (first..=last).contains(&timestamp_ms) || (plain && timestamp_ms < 0);
    let same_headers = plain || found.headers == accepted.headers;
    if !found.intact || found.value_len != accepted.value_len || found.key != accepted.key || !same_headers {
        return Some("it is not what was produced".into());
    }
    (!in_time).then(|| format!("it bears the time {timestamp_ms}"))
}

/// What of a batch is not as the settings have it.
pub(super) fn wire(promise: &Promise, wire: &Wire) -> Option<&'static str> {
    let acks = if promise.acks > 1 { -1 } else { promise.acks };
    // What compression makes larger goes uncompressed, as does what brokers cannot read.
    let right_codec = wire.codec == promise.codec || wire.codec == Codec::None;
    let (records_max, bytes_max) = promise.batch_max;
    // Message sets take more than what they are measured by.
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

/// What is wrong with a report.
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

/// What was refused because it belongs nowhere is reported for the partition that was asked for.
fn is_right_place(entry: &Entry, report: &Report, counts: impl Iterator<Item = i32>) -> bool {
    entry.accepted.place.may_be(report.partition, counts)
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
        return Some("delivered, and not said to be persisted".into());
    }
    if report.offset < 0 && !promise.idempotent {
        return Some("delivered without an offset".into());
    }
    let known = match report.offset {
        0.. => entry.acked.contains(&report.offset),
        _ => !entry.acked.is_empty(),
    };
    (!known).then(|| "delivered, and no broker has acknowledged it so".into())
}

fn failed(entry: &Entry, report: &Report, code: ErrorCode) -> Option<String> {
    if report.status == PersistStatus::Persisted {
        return Some("failed, and persisted".into());
    }
    let reports_polled = |refusal: &&Refusal| refusal.definite && refusal.at_us + UNREAD_US < report.done_us;
    let refused = entry.refusals.iter().filter(reports_polled).count();
    if entry.sent as usize == refused && report.status != PersistStatus::NotPersisted {
        return Some("every broker that it was sent to has refused it, and it may be persisted".into());
    }
    let from_brokers = code.0 > 0 || code == ErrorCode::L_INVALID_DIFFERENT_RECORD;
    let said = entry.refusals.iter().any(|r| r.code == code);
    if from_brokers && !said && !faults::is_in_other_responses(code) {
        return Some("failed with what no broker has said".into());
    }
    None
}
