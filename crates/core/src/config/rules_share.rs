//! The rules of share consumers (KIP-932): settings that they refuse, and their other defaults.

use super::conf::{Conf, TopicConf};
use super::refusal::refuse;
use super::tables::Prop;
use super::value::Value;
use crate::error::Error;

const DEFAULT_CONNECTIONS_MAX_IDLE_MS: i64 = 540_000;
const DEFAULT_RECONNECT_BACKOFF_MS: i64 = 50;
const DEFAULT_RECONNECT_BACKOFF_MAX_MS: i64 = 1_000;

/// `RD_KAFKA_EVENT_REBALANCE`
const EVENT_REBALANCE: i64 = 0x10;

const NO_OFFSETS: &str = "records are acknowledged, no offsets are committed";
const NO_REBALANCE: &str = "the group does not assign partitions exclusively, so nothing is revoked";
const OF_COORDINATOR: &str = "the group's coordinator decides it";
const NO_PREFETCH: &str = "acquired records are locked, so records are fetched when the application polls";

/// Properties of clients and of topics that an application must not set, each with the reason.
const REFUSED: &[(&str, &str)] = &[
    ("enable.auto.commit", NO_OFFSETS),
    ("offset_commit_cb", NO_OFFSETS),
    ("rebalance_cb", NO_REBALANCE),
    ("consume_cb", "records are returned by polls"),
    ("group.protocol", "share groups have a protocol of their own"),
    ("group.protocol.type", "share groups have a protocol of their own"),
    ("group.instance.id", "share groups have no static members"),
    ("group.remote.assignor", OF_COORDINATOR),
    ("partition.assignment.strategy", OF_COORDINATOR),
    (
        "session.timeout.ms",
        "it is group.share.session.timeout.ms of the brokers",
    ),
    (
        "heartbeat.interval.ms",
        "it is group.share.heartbeat.interval.ms of the brokers",
    ),
    ("isolation.level", "it is share.isolation.level of the group"),
    ("auto.offset.reset", "it is share.auto.offset.reset of the group"),
    ("allow.auto.create.topics", "share groups do not create topics"),
    ("queued.min.messages", NO_PREFETCH),
    ("queued.max.messages.kbytes", NO_PREFETCH),
    ("fetch.queue.backoff.ms", NO_PREFETCH),
    (
        "fetch.error.backoff.ms",
        "errors are followed by retry.backoff.ms or by a new session",
    ),
    (
        "enable.partition.eof",
        "members of a group share a partition, so none is at its end",
    ),
    ("message.copy.max.bytes", "it is for producers"),
    ("topic.blacklist", "a subscription has no patterns"),
    ("consume.callback.max.messages", "records are returned by polls"),
    ("socket.max.fails", "it is always 1"),
];

/// Consumer properties that a share consumer accepts and does not use.
const WITHOUT_EFFECT: &[&str] = &[
    "auto.commit.enable",
    "auto.commit.interval.ms",
    "enable.auto.offset.store",
    "fetch.message.max.bytes",
    "offset.store.method",
    "offset.store.path",
    "offset.store.sync.interval.ms",
];

/// Properties that only share consumers use.
const OWN: &[&str] = &["max.poll.records", "share.acknowledgement.mode", "share.acquire.mode"];

/// Returns the error for a setting that share consumers refuse.
pub(super) fn check(conf: &Conf) -> Result<(), Error> {
    let of_topics = conf.topic_defaults().into_iter().flat_map(TopicConf::explicit);
    for property in conf.explicit().chain(of_topics) {
        let name = property.name;
        if let Some((_, reason)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            let value = conf.get(name).unwrap_or_default();
            return Err(refuse(name, value, &format!("not with share consumers: {reason}")));
        }
    }
    match conf.int(Prop::enabled_events) & EVENT_REBALANCE {
        0 => Ok(()),
        _ => {
            let allowed = format!("not RD_KAFKA_EVENT_REBALANCE with share consumers: {NO_REBALANCE}");
            Err(refuse("enabled_events", conf.int(Prop::enabled_events), &allowed))
        }
    }
}

/// Sets the defaults that differ from other consumers'. A range of reconnection backoffs of which the application has set
/// one end includes that end.
pub(super) fn adjust_defaults(conf: &mut Conf) {
    if !conf.is_set(Prop::connections_max_idle_ms) {
        conf.adjust_int(Prop::connections_max_idle_ms, DEFAULT_CONNECTIONS_MAX_IDLE_MS);
    }
    let max = conf.int(Prop::reconnect_backoff_max_ms);
    match (
        conf.is_set(Prop::reconnect_backoff_ms),
        conf.is_set(Prop::reconnect_backoff_max_ms),
    ) {
        (true, true) => {}
        (true, false) => {
            let max = conf
                .int(Prop::reconnect_backoff_ms)
                .max(DEFAULT_RECONNECT_BACKOFF_MAX_MS);
            conf.adjust_int(Prop::reconnect_backoff_max_ms, max);
        }
        (false, true) => conf.adjust_int(Prop::reconnect_backoff_ms, DEFAULT_RECONNECT_BACKOFF_MS.min(max)),
        (false, false) => {
            conf.adjust_int(Prop::reconnect_backoff_ms, DEFAULT_RECONNECT_BACKOFF_MS);
            conf.adjust_int(Prop::reconnect_backoff_max_ms, DEFAULT_RECONNECT_BACKOFF_MAX_MS);
        }
    }
    if !conf.is_set(Prop::receive_message_max_bytes) {
        conf.adjust_int(Prop::receive_message_max_bytes, i32::MAX.into());
    }
    conf.adjust(Prop::enable_auto_commit, Value::Bool(false));
    conf.adjust_text(Prop::group_protocol, "consumer");
    conf.adjust_int(Prop::socket_max_fails, 1);
}

/// Returns whether only other consumers use the property.
pub(super) fn is_unused(name: &str) -> bool {
    WITHOUT_EFFECT.contains(&name)
}

/// Returns whether only share consumers use the property.
pub(super) fn is_own(name: &str) -> bool {
    OWN.contains(&name)
}

/// Returns the properties that share consumers refuse, with the reasons, for the manual.
pub(super) fn refused() -> &'static [(&'static str, &'static str)] {
    REFUSED
}

#[cfg(test)]
pub(super) fn all_names() -> impl Iterator<Item = &'static str> {
    let refused = REFUSED.iter().map(|(name, _)| *name);
    refused.chain(WITHOUT_EFFECT.iter().copied()).chain(OWN.iter().copied())
}
