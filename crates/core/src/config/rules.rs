//! The rules between properties: adjustments and errors when a client or a topic is created.
//!
//! A rule adjusts only properties that the application has not set. A value that the application has set and that
//! conflicts with others is an error that names the property, the value and the allowed values.

use super::conf::{Conf, TopicConf};
use super::kind::ClientKind;
use super::refusal::refuse;
use super::tables::{ClientConfig, Prop, TopicConfig, TopicProp};
use super::unavailable;
use super::value::Value;
use super::{rules_security, rules_share};
use crate::error::{Error, ErrorCode};

/// Overhead of a fetch response besides its records, in bytes.
const FETCH_RESPONSE_OVERHEAD: i64 = 512;

/// The version that ApiVersions requests carry and `rd_kafka_version_str()` returns: that of the interface.
pub(super) const INTERFACE_VERSION: &str = "2.16.0";

impl Conf {
    /// Returns the effective settings of a client of this kind: adjusted by the rules, defaults for topics included.
    ///
    /// # Errors
    /// `_INVALID_ARG`: conflicting values.
    pub fn resolve(&self, kind: ClientKind) -> Result<Self, Error> {
        let mut conf = self.clone();
        conf.topic_defaults_mut();
        if kind == ClientKind::ShareConsumer {
            rules_share::check(&conf)?;
            rules_share::adjust_defaults(&mut conf);
        }
        adjust_any(&mut conf);
        check_any(&conf)?;
        rules_security::check(&conf)?;
        match kind {
            ClientKind::Producer => resolve_producer(&mut conf)?,
            ClientKind::Consumer | ClientKind::ShareConsumer => resolve_consumer(&mut conf)?,
        }
        let topic = conf.topic_defaults_mut().clone();
        let topic = resolve_topic(topic, &conf, kind)?;
        conf.set_topic_defaults(Some(topic));
        Ok(conf)
    }

    /// Returns the typed settings for a client of this kind and for its topics. `plugin.library.paths` is for the C
    /// interface, which loads them.
    ///
    /// # Errors
    /// `_INVALID_ARG`: conflicting values. `_UNSUPPORTED_FEATURE`: a value needs a feature that this
    /// version does not have (see [`Conf::refused`]).
    pub fn finalize(&self, kind: ClientKind) -> Result<(ClientConfig, TopicConfig), Error> {
        let conf = self.resolve(kind)?;
        if let Some(error) = conf.refused(kind) {
            return Err(error);
        }
        let plugins = conf.text(Prop::plugin_library_paths);
        if !plugins.is_empty() {
            let text = format!("plugin.library.paths={plugins}: only the C interface loads plugins");
            return Err(Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, text));
        }
        Ok((conf.client_config(), conf.topic_config()))
    }

    /// Returns the values as they are, typed. [`Self::finalize`] applies the rules first.
    pub fn client_config(&self) -> ClientConfig {
        ClientConfig::from_values(self.values())
    }

    /// Returns the default values for topics as they are, typed.
    pub fn topic_config(&self) -> TopicConfig {
        match self.topic_defaults() {
            Some(topic) => topic.topic_config(),
            None => TopicConf::new().topic_config(),
        }
    }

    /// Returns the error of a configuration that needs a feature that this version does not have. `self` should have been
    /// resolved.
    pub fn refused(&self, kind: ClientKind) -> Option<Error> {
        unavailable::refused(self, kind)
    }
}

impl TopicConf {
    /// Returns a topic's effective settings. `client` is the client's resolved configuration.
    ///
    /// # Errors
    /// `_INVALID_ARG`: conflicting values, also with the client's.
    pub fn resolve(&self, client: &Conf, kind: ClientKind) -> Result<Self, Error> {
        resolve_topic(self.clone(), client, kind)
    }

    /// Returns the typed settings of a topic. `client` is the client's resolved configuration.
    ///
    /// # Errors
    /// As [`Self::resolve`]; `_UNSUPPORTED_FEATURE`: a value needs a feature that this version does not have.
    pub fn finalize(&self, client: &Conf, kind: ClientKind) -> Result<TopicConfig, Error> {
        let topic = self.resolve(client, kind)?;
        match unavailable::refused_topic(&topic, kind) {
            Some(error) => Err(error),
            None => Ok(topic.topic_config()),
        }
    }

    /// Returns the values as they are, typed. [`Self::finalize`] applies the rules first.
    pub fn topic_config(&self) -> TopicConfig {
        TopicConfig::from_values(self.values())
    }
}

fn adjust_any(conf: &mut Conf) {
    if !conf.is_set(Prop::metadata_max_age_ms) {
        let interval = conf.int(Prop::topic_metadata_refresh_interval_ms);
        if interval > 0 {
            conf.adjust_int(Prop::metadata_max_age_ms, 3 * interval);
        }
    }
    if !conf.is_set(Prop::topic_metadata_refresh_fast_interval_ms) {
        let backoff = conf.int(Prop::retry_backoff_ms);
        conf.adjust_int(Prop::topic_metadata_refresh_fast_interval_ms, backoff);
    }
    let brokers = conf.text(Prop::bootstrap_servers).to_ascii_lowercase();
    if !conf.is_set(Prop::connections_max_idle_ms) && brokers.contains("azure") {
        // Azure's load balancers drop connections that are idle for 4 minutes.
        conf.adjust_int(Prop::connections_max_idle_ms, 230_000);
    }
    for (property, default) in [
        (Prop::client_software_name, "librdkafka"),
        (Prop::client_software_version, INTERFACE_VERSION),
    ] {
        let cleaned = software_text(conf.text(property));
        conf.adjust_text(property, if cleaned.is_empty() { default } else { &cleaned });
    }
    if broker_asks_versions(conf.text(Prop::broker_version_fallback)) {
        conf.adjust(Prop::api_version_request, Value::Bool(true));
    }
    if conf.int(Prop::debug) != 0 {
        conf.adjust_int(Prop::log_level, 7);
    }
    if conf.int(Prop::test_mock_num_brokers) > 0 {
        let has_sasl = !conf.text(Prop::test_mock_sasl_mechanisms).is_empty();
        let protocol = match (conf.bool(Prop::test_mock_ssl), has_sasl) {
            (false, false) => "plaintext",
            (true, false) => "ssl",
            (false, true) => "sasl_plaintext",
            (true, true) => "sasl_ssl",
        };
        conf.adjust_text(Prop::security_protocol, protocol);
    }
}

/// Converts a name or version of the client's software to the form that brokers accept (KIP-511): letters, digits, `.`
/// and `-`, with a letter or digit at both ends.
fn software_text(text: &str) -> String {
    let cleaned: String = text
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' => c,
            _ => '-',
        })
        .collect();
    cleaned.trim_matches(['.', '-']).to_owned()
}

/// Returns whether brokers of this release support ApiVersions: from 0.10 on.
fn broker_asks_versions(release: &str) -> bool {
    let mut parts = release.split('.').map(|part| part.trim().parse::<u32>().unwrap_or(0));
    let first = parts.next().unwrap_or(0);
    first > 0 || parts.next().unwrap_or(0) >= 10
}

fn check_any(conf: &Conf) -> Result<(), Error> {
    let (backoff, max) = (
        conf.int(Prop::reconnect_backoff_ms),
        conf.int(Prop::reconnect_backoff_max_ms),
    );
    if max < backoff {
        let allowed = format!("not less than reconnect.backoff.ms={backoff}");
        return Err(refuse("reconnect.backoff.max.ms", max, &allowed));
    }
    check_assignors(conf.text(Prop::partition_assignment_strategy))
}

/// Assignors of a classic group: eager ones revoke every partition at a rebalance, cooperative ones only those that
/// move. Members of both kinds cannot share a group.
fn check_assignors(list: &str) -> Result<(), Error> {
    const NAME: &str = "partition.assignment.strategy";
    let (mut eager, mut cooperative) = (false, false);
    for assignor in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        match assignor {
            "range" | "roundrobin" | "sticky" => eager = true,
            "cooperative-sticky" => cooperative = true,
            _ => {
                let allowed = format!("{assignor:?} is none of range, roundrobin, sticky, cooperative-sticky");
                return Err(refuse(NAME, list, &allowed));
            }
        }
    }
    match eager && cooperative {
        true => Err(refuse(
            NAME,
            list,
            "eager assignors (range, roundrobin, sticky) and cooperative ones (cooperative-sticky) cannot be mixed",
        )),
        false => Ok(()),
    }
}

fn resolve_producer(conf: &mut Conf) -> Result<(), Error> {
    if !conf.is_set(Prop::allow_auto_create_topics) {
        conf.adjust(Prop::allow_auto_create_topics, Value::Bool(true));
    }
    if !conf.text(Prop::transactional_id).is_empty() {
        resolve_transactional(conf)?;
    }
    if conf.bool(Prop::enable_idempotence) {
        resolve_idempotent(conf)?;
    } else if conf.bool(Prop::enable_gapless_guarantee) {
        return Err(refuse(
            "enable.gapless.guarantee",
            true,
            "only with enable.idempotence=true",
        ));
    }
    resolve_linger(conf);
    if !conf.is_set(Prop::sticky_partitioning_linger_ms) {
        let twice = (2.0 * conf.float(Prop::linger_ms)).clamp(0.0, 900_000.0);
        #[allow(clippy::cast_possible_truncation)] // clamped; the fraction is meant to go
        conf.adjust_int(Prop::sticky_partitioning_linger_ms, twice as i64);
    }
    Ok(())
}

fn resolve_transactional(conf: &mut Conf) -> Result<(), Error> {
    if !conf.is_set(Prop::enable_idempotence) {
        conf.adjust(Prop::enable_idempotence, Value::Bool(true));
    } else if !conf.bool(Prop::enable_idempotence) {
        return Err(refuse("enable.idempotence", false, "only true with transactional.id"));
    }
    let transaction = conf.int(Prop::transaction_timeout_ms);
    let socket = conf.int(Prop::socket_timeout_ms);
    if !conf.is_set(Prop::socket_timeout_ms) {
        conf.adjust_int(Prop::socket_timeout_ms, (transaction - 100).max(900));
    } else if socket > transaction + 100 {
        let allowed = format!("at most transaction.timeout.ms={transaction} + 100 with transactional.id");
        return Err(refuse("socket.timeout.ms", socket, &allowed));
    }
    Ok(())
}

/// Adjusts the settings of the idempotent producer. It has at most 5 batches of a partition in flight, because brokers
/// store the metadata of the last 5 of each producer (KIP-98).
fn resolve_idempotent(conf: &mut Conf) -> Result<(), Error> {
    const WITH: &str = "with enable.idempotence=true";
    let in_flight = conf.int(Prop::max_in_flight_requests_per_connection);
    if !conf.is_set(Prop::max_in_flight_requests_per_connection) {
        conf.adjust_int(Prop::max_in_flight_requests_per_connection, 5);
    } else if in_flight > 5 {
        let name = "max.in.flight.requests.per.connection";
        return Err(refuse(name, in_flight, &format!("at most 5 {WITH}")));
    }
    if !conf.is_set(Prop::message_send_max_retries) {
        conf.adjust_int(Prop::message_send_max_retries, i64::from(i32::MAX));
    } else if conf.int(Prop::message_send_max_retries) < 1 {
        return Err(refuse("message.send.max.retries", 0, &format!("at least 1 {WITH}")));
    }
    let threshold = conf.int(Prop::queue_buffering_backpressure_threshold);
    if conf.is_set(Prop::queue_buffering_backpressure_threshold) && threshold > 1 {
        let name = "queue.buffering.backpressure.threshold";
        return Err(refuse(name, threshold, &format!("only 1 {WITH}")));
    }
    conf.adjust_int(Prop::queue_buffering_backpressure_threshold, 1);
    Ok(())
}

/// Shortens a default linger time, so that a message has time left to be sent after its batch has lingered.
fn resolve_linger(conf: &mut Conf) {
    let timeout = conf
        .topic_defaults()
        .map_or(0, |topic| topic.int(TopicProp::message_timeout_ms));
    #[allow(clippy::cast_precision_loss)] // an i32
    let timeout = timeout as f64;
    if timeout > 0.0 && timeout <= conf.float(Prop::linger_ms) && !conf.is_set(Prop::linger_ms) {
        conf.adjust(Prop::linger_ms, Value::Float(timeout - 0.1));
    }
}

fn resolve_consumer(conf: &mut Conf) -> Result<(), Error> {
    if !conf.is_set(Prop::allow_auto_create_topics) {
        conf.adjust(Prop::allow_auto_create_topics, Value::Bool(false));
    }
    conf.adjust(Prop::enable_idempotence, Value::Bool(false));
    let min_bytes = conf.int(Prop::fetch_min_bytes);
    if !(1..=100_000_000).contains(&min_bytes) {
        return Err(refuse("fetch.min.bytes", min_bytes, "from 1 to 100000000"));
    }
    check_group(conf)?;
    resolve_fetch_sizes(conf)
}

fn check_group(conf: &Conf) -> Result<(), Error> {
    if conf.choice(Prop::group_protocol) == "classic" {
        let (poll, session) = (conf.int(Prop::max_poll_interval_ms), conf.int(Prop::session_timeout_ms));
        return match poll < session {
            true => {
                let allowed = format!("not less than session.timeout.ms={session}");
                Err(refuse("max.poll.interval.ms", poll, &allowed))
            }
            false => Ok(()),
        };
    }
    for (property, name) in [
        (Prop::session_timeout_ms, "session.timeout.ms"),
        (Prop::partition_assignment_strategy, "partition.assignment.strategy"),
        (Prop::group_protocol_type, "group.protocol.type"),
        (Prop::heartbeat_interval_ms, "heartbeat.interval.ms"),
    ] {
        if conf.is_set(property) {
            let value = conf.get(name).unwrap_or_default();
            let instead = match property {
                Prop::partition_assignment_strategy => "use group.remote.assignor",
                _ => "the group's coordinator decides it",
            };
            let allowed = format!("not with group.protocol=consumer: {instead}");
            return Err(refuse(name, value, &allowed));
        }
    }
    Ok(())
}

/// Adjusts the sizes: a fetch must hold at least one message of the largest size, and a response must hold a fetch.
fn resolve_fetch_sizes(conf: &mut Conf) -> Result<(), Error> {
    let message = conf.int(Prop::message_max_bytes);
    let mut fetch = conf.int(Prop::fetch_max_bytes);
    if !conf.is_set(Prop::fetch_max_bytes) {
        let queued = conf.int(Prop::queued_max_messages_kbytes) * 1024;
        conf.adjust_int(Prop::fetch_max_bytes, fetch.min(queued).max(message));
        fetch = conf.int(Prop::fetch_max_bytes);
    } else if fetch < message {
        let allowed = format!("not less than message.max.bytes={message}");
        return Err(refuse("fetch.max.bytes", fetch, &allowed));
    }
    let receive = conf.int(Prop::receive_message_max_bytes);
    if !conf.is_set(Prop::receive_message_max_bytes) {
        conf.adjust_int(
            Prop::receive_message_max_bytes,
            receive.max(fetch + FETCH_RESPONSE_OVERHEAD),
        );
    } else if receive < fetch + FETCH_RESPONSE_OVERHEAD {
        let allowed = format!("not less than fetch.max.bytes={fetch} + {FETCH_RESPONSE_OVERHEAD}");
        return Err(refuse("receive.message.max.bytes", receive, &allowed));
    }
    Ok(())
}

fn resolve_topic(mut topic: TopicConf, client: &Conf, kind: ClientKind) -> Result<TopicConf, Error> {
    if kind != ClientKind::Producer {
        let file = client.choice(Prop::offset_store_method) == "file";
        if file && !topic.is_set(TopicProp::offset_store_method) {
            topic.adjust_text(TopicProp::offset_store_method, "file");
        }
        return Ok(topic);
    }
    if client.bool(Prop::enable_idempotence) {
        const WITH: &str = "with enable.idempotence=true";
        let acks = topic.int(TopicProp::request_required_acks);
        if !topic.is_set(TopicProp::request_required_acks) {
            topic.adjust_int(TopicProp::request_required_acks, -1);
        } else if acks != -1 {
            return Err(refuse("request.required.acks", acks, &format!("only all (-1) {WITH}")));
        }
        let strategy = topic.choice(TopicProp::queuing_strategy);
        if !topic.is_set(TopicProp::queuing_strategy) {
            topic.adjust_text(TopicProp::queuing_strategy, "fifo");
        } else if strategy != "fifo" {
            return Err(refuse("queuing.strategy", strategy, &format!("only fifo {WITH}")));
        }
    }
    if !client.text(Prop::transactional_id).is_empty() {
        let transaction = client.int(Prop::transaction_timeout_ms);
        let timeout = topic.int(TopicProp::message_timeout_ms);
        if !topic.is_set(TopicProp::message_timeout_ms) {
            topic.adjust_int(TopicProp::message_timeout_ms, transaction);
        } else if timeout > transaction {
            let allowed = format!("at most transaction.timeout.ms={transaction} with transactional.id");
            return Err(refuse("message.timeout.ms", timeout, &allowed));
        }
    }
    let timeout = topic.int(TopicProp::message_timeout_ms);
    let linger = client.float(Prop::linger_ms);
    #[allow(clippy::cast_precision_loss)] // an i32
    if timeout > 0 && timeout as f64 <= linger && client.is_set(Prop::linger_ms) {
        let allowed = format!("more than queue.buffering.max.ms (linger.ms)={linger}, or 0");
        return Err(refuse("message.timeout.ms", timeout, &allowed));
    }
    Ok(topic)
}
