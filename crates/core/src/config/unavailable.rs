//! Features that this version does not have, as data: a configuration that needs one is refused when the client is
//! created, and the manual lists them. Nothing is silently ignored: a setting without effect logs a warning.

use super::conf::{Conf, TopicConf};
use super::kind::ClientKind;
use super::property::{Applies, Property};
use super::rules_share;
use crate::error::{Error, ErrorCode};

/// The settings of a property that need the missing feature. Only a value that the application has set counts, and only
/// if it differs from the default, except for [`Asks::Exactly`].
#[derive(Debug, Clone, Copy)]
pub(super) enum Asks {
    /// Every value.
    Any,
    /// These values; among them also a default that the application has set explicitly.
    Exactly(&'static [&'static str]),
}

/// A missing feature, and the settings that need it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing {
    /// The name of a property of topics.
    pub(super) property: &'static str,
    pub(super) asks: Asks,
    /// The missing feature, as a noun.
    pub(super) feature: &'static str,
}

const fn missing(property: &'static str, asks: Asks, feature: &'static str) -> Missing {
    Missing {
        property,
        asks,
        feature,
    }
}

/// The missing features that properties of topics need.
pub(super) const MISSING: &[Missing] = &[
    missing(
        "queuing.strategy",
        Asks::Exactly(&["lifo"]),
        "sending the newest message first",
    ),
    missing(
        "msg_order_cmp",
        Asks::Any,
        "an order of sending chosen by the application",
    ),
];

/// Properties that are accepted but have no effect, each with the reason.
pub(super) const WITHOUT_EFFECT: &[(&str, &str)] = &[
    (
        "metadata.request.timeout.ms",
        "metadata requests obey socket.timeout.ms",
    ),
    (
        "topic.metadata.refresh.fast.cnt",
        "fast refreshes continue while metadata is missing",
    ),
    ("socket.blocking.max.ms", "nothing blocks on a socket"),
    ("reconnect.backoff.jitter.ms", "see reconnect.backoff.ms"),
    ("enable.random.seed", "the C library's rand() is not used"),
    (
        "fetch.queue.backoff.ms",
        "fetching resumes as soon as the queue has space",
    ),
    (
        "coordinator.query.interval.ms",
        "the coordinator is looked up when it is lost, not at intervals",
    ),
    ("produce.offset.report", "delivery reports always carry the offset"),
    ("ssl.providers", "OpenSSL is not used"),
    ("builtin.features", "it describes this build"),
];

impl Missing {
    /// Returns whether the value, set by the application, needs the missing feature.
    fn is_asked_by(&self, value: &str, is_default: bool) -> bool {
        match self.asks {
            Asks::Any => !is_default,
            Asks::Exactly(values) => values.contains(&value),
        }
    }

    /// Returns the values that are not available, for the manual.
    pub(super) fn values(&self) -> String {
        let quote = |values: &[&str]| {
            let quoted: Vec<String> = values.iter().map(|v| format!("`{v}`")).collect();
            quoted.join(", ")
        };
        match self.asks {
            Asks::Any => "any but the default".to_owned(),
            Asks::Exactly(values) => quote(values),
        }
    }
}

/// Returns whether a client of this kind uses the property.
fn is_for(property: &Property, kind: ClientKind) -> bool {
    match property.applies {
        Applies::Both => true,
        Applies::Producer => kind == ClientKind::Producer,
        Applies::Consumer => kind.is_consumer(),
    }
}

/// Returns the error for a client's configuration whose defaults for topics need a missing feature.
pub(super) fn refused(conf: &Conf, kind: ClientKind) -> Option<Error> {
    refused_topic(conf.topic_defaults()?, kind)
}

/// Returns the error for a topic's configuration that needs a missing feature.
pub(super) fn refused_topic(topic: &TopicConf, kind: ClientKind) -> Option<Error> {
    let defaults = TopicConf::new();
    for property in topic.explicit().filter(|p| is_for(p, kind)) {
        let name = property.name;
        let (Some(row), Ok(value)) = (MISSING.iter().find(|row| row.property == name), topic.get(name)) else {
            continue;
        };
        let is_default = defaults.get(name).is_ok_and(|default| default == value);
        if row.is_asked_by(&value, is_default) {
            let feature = row.feature;
            let message = format!("{name}={value}: {feature} is not supported by this version of Ottla");
            return Some(Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, message));
        }
    }
    None
}

impl Conf {
    /// Returns warnings about settings that have no effect on a client of this kind: those of the other kind, those
    /// without effect, and deprecated ones. One line each, to be logged.
    pub fn warnings(&self, kind: ClientKind) -> Vec<String> {
        // The embedded cluster determines the protocol.
        let resolved = self.resolve(kind);
        let effective = resolved.as_ref().unwrap_or(self);
        let protocol = effective.get("security.protocol").unwrap_or_default();
        let of_topics = self.topic_defaults().into_iter().flat_map(TopicConf::explicit);
        let mut warnings: Vec<String> = self
            .explicit()
            .chain(of_topics)
            .filter_map(|p| warning(p, kind, &protocol))
            .collect();
        let is_classic = self.get("group.protocol").is_ok_and(|protocol| protocol == "classic");
        if kind == ClientKind::Consumer && is_classic && self.is_modified("group.remote.assignor") {
            warnings.push(
                "Configuration property group.remote.assignor has no effect in a group of the classic protocol: its \
                 members divide the partitions, see partition.assignment.strategy"
                    .to_owned(),
            );
        }
        warnings
    }
}

impl TopicConf {
    /// Returns warnings about a topic's settings, like [`Conf::warnings`].
    pub fn warnings(&self, kind: ClientKind) -> Vec<String> {
        self.explicit().filter_map(|p| warning(p, kind, "")).collect()
    }
}

/// Returns whether a property is of use with that `security.protocol`.
fn applies_to(protocol: &str, name: &str) -> bool {
    const TLS: &[&str] = &["ssl.", "ssl_", "enable.ssl."];
    const SASL: &[&str] = &["sasl.", "enable.sasl."];
    let is_one_of = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    (protocol.ends_with("ssl") || !is_one_of(TLS)) && (protocol.starts_with("sasl") || !is_one_of(SASL))
}

fn warning(property: &Property, kind: ClientKind, protocol: &str) -> Option<String> {
    let name = property.name;
    if !is_for(property, kind) {
        let other = match kind {
            ClientKind::Producer => ClientKind::Consumer,
            ClientKind::Consumer | ClientKind::ShareConsumer => ClientKind::Producer,
        };
        return Some(format!(
            "Configuration property {name} is a {other} property and means nothing to this {kind}"
        ));
    }
    if !applies_to(protocol, name) {
        return Some(format!(
            "Configuration property {name} has no effect with security.protocol={protocol}"
        ));
    }
    if let Some((_, why)) = WITHOUT_EFFECT.iter().find(|(known, _)| *known == name) {
        return Some(format!("Configuration property {name} has no effect: {why}"));
    }
    if kind == ClientKind::Consumer && rules_share::is_own(name) {
        return Some(format!(
            "Configuration property {name} has no effect: only share consumers use it"
        ));
    }
    if kind == ClientKind::ShareConsumer && rules_share::is_unused(name) {
        return Some(format!(
            "Configuration property {name} has no effect on a share consumer"
        ));
    }
    property
        .deprecated
        .then(|| format!("Configuration property {name} is deprecated"))
}
