//! A cluster on TCP ports that another program controls: it reads commands from its standard input, one JSON object a
//! line, and answers each with one line. It ends with its input.
//!
//! The first line is the configuration: `{"brokers": 2, "partitions": 1, "auto_create": true}`, all of it optional. With
//! `"share_earliest": true` share groups begin at the start of the log, and assign partitions at once. The answer has
//! `bootstrap`. After it, `do` names the command:
//!
//! | command | fields | effect |
//! |---|---|---|
//! | `topic` | `name`, `partitions`, `leaders` | creates a topic; `leaders` has the replicas of each partition |
//! | `delete_topic`, `add_partitions` | `name`, `total` | deletes a topic; raises the number of its partitions |
//! | `topic_error` | `name`, `error` | Metadata answers the error for the topic; 0 ends it |
//! | `partition_error` | `api`, `topic`, `partition`, `error` | requests for the partition fail; 0 ends it |
//! | `rule` | `api`, `broker`, `topic`, `partition`, `skip`, `times`, `action`, `error`, `delay_ms` | adds a rule, answers its `rule` |
//! | `remove_rule`, `clear_rules` | `rule` | removes one rule; all of them |
//! | `leader` | `topic`, `partition`, `broker` | moves the leader; broker -1 for none |
//! | `stop`, `crash`, `start` | `broker` | shuts a broker down, kills it, starts it |
//! | `reachable` | `broker`, `value` | refuses connections, or accepts them again |
//! | `close` | `broker` | closes the connections of a broker |
//! | `versions` | `api`, `min`, `max` | narrows an API's versions; without `max` hides it |
//! | `throttle` | `api`, `ms` | responses carry a throttle time |
//! | `round_trip` | `broker`, `ms` | answers of a broker leave later |
//! | `hold_metadata` | `broker`, `value` | a broker describes the cluster as it was |
//! | `seen`, `forget` | | the record of connections and requests; empties it |
//! | `log` | `topic`, `partition` | the `records` of a partition |
//! | `now` | | the cluster's clock |
//!
//! Actions of a rule are `serve`, `error`, `error_after`, `disconnect_before`, `disconnect_after`, `hang` and `ignore`.
//! APIs are named as in Kafka (`Produce`), error codes are numbers, times are milliseconds of the cluster's clock.

use std::io::{BufRead, Write};

use ottla_mock::{
    ApiError, BrokerId, ClientAction, Cluster, ClusterConfig, EmbeddedCluster, Fault, FaultAction, NewTopic, Recorded,
    RequestMatch, RequestPart, Rule, RuleId, ShareOffsetReset, Time,
};
use ottla_protocol::record::BatchIter;
use ottla_protocol::{ApiKey, ErrorCode};
use serde_json::{Map, Value, json};

/// The largest batch that `log` decompresses.
const BATCH_BYTES_MAX: usize = 64 << 20;

/// A command or the answer to one.
type Fields = Map<String, Value>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut lines = std::io::stdin().lock().lines();
    let Some(first) = lines.next() else {
        return Ok(());
    };
    let cluster = EmbeddedCluster::start(configuration(&Command::parse(&first?)?)?)?;
    cluster.with(Cluster::record);
    answer(&json!({ "bootstrap": cluster.bootstrap_servers() }))?;
    for line in lines {
        let done = Command::parse(&line?).and_then(|command| cluster.with(|c| execute(c, &command)));
        match done {
            Ok(fields) => answer(&Value::Object(fields))?,
            Err(text) => answer(&json!({ "failed": text }))?,
        }
    }
    Ok(())
}

fn answer(value: &Value) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{value}")?;
    out.flush()
}

/// One line of the input.
struct Command(Fields);

impl Command {
    fn parse(line: &str) -> Result<Self, String> {
        match serde_json::from_str(line) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(other) => Err(format!("not an object: {other}")),
            Err(error) => Err(error.to_string()),
        }
    }

    fn optional_number<T: TryFrom<i64>>(&self, name: &str) -> Result<Option<T>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let number = value.as_i64().and_then(|n| T::try_from(n).ok());
                number
                    .map(Some)
                    .ok_or_else(|| format!("{name}: {value} is no number or out of range"))
            }
        }
    }

    fn number<T: TryFrom<i64>>(&self, name: &str) -> Result<T, String> {
        self.optional_number(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    fn optional_text(&self, name: &str) -> Result<Option<&str>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value
                .as_str()
                .map(Some)
                .ok_or_else(|| format!("{name}: {value} is no text")),
        }
    }

    fn text(&self, name: &str) -> Result<&str, String> {
        self.optional_text(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    fn flag(&self, name: &str) -> Result<bool, String> {
        let value = self.0.get(name).and_then(Value::as_bool);
        value.ok_or_else(|| format!("{name} is neither true nor false"))
    }

    fn optional_broker(&self) -> Result<Option<BrokerId>, String> {
        Ok(self.optional_number("broker")?.map(BrokerId))
    }

    fn broker(&self) -> Result<BrokerId, String> {
        self.number("broker").map(BrokerId)
    }

    fn optional_api(&self) -> Result<Option<ApiKey>, String> {
        let Some(name) = self.optional_text("api")? else {
            return Ok(None);
        };
        let mut keys = (0..=i16::from(u8::MAX)).map(ApiKey);
        let key = keys.find(|key| key.name() == Some(name));
        key.map(Some).ok_or_else(|| format!("api: there is no {name}"))
    }

    fn api(&self) -> Result<ApiKey, String> {
        self.optional_api()?.ok_or_else(|| "api is missing".to_owned())
    }

    /// Returns the error code; `None` for 0.
    fn error(&self) -> Result<Option<ErrorCode>, String> {
        let code: i16 = self.number("error")?;
        Ok((code != 0).then_some(ErrorCode(code)))
    }
}

fn configuration(command: &Command) -> Result<ClusterConfig, String> {
    let mut config = ClusterConfig {
        // librdkafka 2.16 sends some with Metadata.
        ignore_trailing_bytes: true,
        // Tests of timeouts need short ones.
        group_min_session_timeout_ms: 100,
        ..ClusterConfig::default()
    };
    if let Some(brokers) = command.optional_number("brokers")? {
        config.brokers = brokers;
    }
    if let Some(partitions) = command.optional_number("partitions")? {
        config.default_partitions = partitions;
    }
    if command.0.contains_key("auto_create") {
        config.auto_create_topics = command.flag("auto_create")?;
    }
    if let Some(millis) = command.optional_number::<u64>("topic_creation_delay_ms")? {
        config.topic_creation_delay_us = millis.saturating_mul(1000);
    }
    if let Some(bytes) = command.optional_number("message_max_bytes")? {
        config.message_max_bytes = bytes;
    }
    if command.0.contains_key("share_earliest") && command.flag("share_earliest")? {
        config.share_groups.offset_reset = ShareOffsetReset::Earliest;
        config.share_groups.state_initialization_us = None;
    }
    Ok(config)
}

/// Executes a command and returns the fields of its answer.
fn execute(cluster: &mut Cluster, command: &Command) -> Result<Fields, String> {
    match command.text("do")? {
        "rule" => {
            let id = cluster.add_rule(rule(command)?);
            return Ok(Map::from_iter([("rule".to_owned(), json!(id.0))]));
        }
        "remove_rule" => _ = cluster.remove_rule(RuleId(command.number("rule")?)),
        "clear_rules" => cluster.clear_rules(),
        "seen" => {
            let seen = cluster.recorded().iter().map(recorded).collect();
            return Ok(Map::from_iter([("seen".to_owned(), Value::Array(seen))]));
        }
        "forget" => cluster.clear_record(),
        "log" => return log(cluster, command),
        "now" => {
            let now = millis(cluster.now());
            return Ok(Map::from_iter([("now".to_owned(), now)]));
        }
        _ => change(cluster, command)?,
    }
    Ok(Map::new())
}

/// Executes a command that changes the cluster from outside.
fn change(cluster: &mut Cluster, command: &Command) -> Result<(), String> {
    match command.text("do")? {
        "topic" => cluster.create(topic(command)?).map(drop).map_err(refused)?,
        "delete_topic" => cluster.delete_topic(command.text("name")?).map_err(failed)?,
        "add_partitions" => {
            let total = command.number("total")?;
            let added = cluster.create_partitions(command.text("name")?, total, Vec::new());
            added.map_err(refused)?;
        }
        "topic_error" => {
            let set = cluster.set_topic_error(command.text("name")?, command.error()?);
            set.map_err(failed)?;
        }
        "partition_error" => {
            let (topic, partition) = (command.text("topic")?, command.number("partition")?);
            cluster.set_partition_error(command.api()?, topic, partition, command.error()?);
        }
        "leader" => {
            let leader = Some(command.broker()?).filter(|b| b.0 >= 0);
            let moved = cluster.set_leader(command.text("topic")?, command.number("partition")?, leader);
            moved.map_err(failed)?;
        }
        "stop" => cluster.stop_broker(command.broker()?),
        "crash" => cluster.crash_broker(command.broker()?),
        "start" => cluster.start_broker(command.broker()?),
        "reachable" => cluster.set_reachable(command.broker()?, command.flag("value")?),
        "close" => cluster.close_connections(command.broker()?),
        "versions" => {
            let newest: Option<i16> = command.optional_number("max")?;
            let oldest = command.optional_number("min")?.unwrap_or(0);
            cluster.set_api_versions(command.api()?, newest.map(|newest| (oldest, newest)));
        }
        "throttle" => cluster.set_throttle_ms(command.api()?, command.number("ms")?),
        "round_trip" => {
            let millis: u64 = command.number("ms")?;
            cluster.set_round_trip_us(command.broker()?, millis.saturating_mul(1000));
        }
        "hold_metadata" => cluster.hold_metadata(command.broker()?, command.flag("value")?),
        other => return Err(format!("there is no command {other}")),
    }
    Ok(())
}

fn failed(error: ErrorCode) -> String {
    error.name().unwrap_or("unknown error").to_owned()
}

fn refused(refusal: ApiError) -> String {
    format!("{}: {}", failed(refusal.error), refusal.message)
}

fn topic(command: &Command) -> Result<NewTopic, String> {
    let mut topic = NewTopic {
        name: command.text("name")?.to_owned(),
        partitions: command.optional_number("partitions")?.unwrap_or(-1),
        replication_factor: -1,
        ..NewTopic::default()
    };
    if let Some(leaders) = command.0.get("leaders").and_then(Value::as_array) {
        for replicas in leaders {
            let ids = replicas.as_array().into_iter().flatten().filter_map(Value::as_i64);
            let ids = ids.filter_map(|id| i32::try_from(id).ok()).map(BrokerId);
            topic.assignments.push(ids.collect());
        }
    }
    Ok(topic)
}

fn rule(command: &Command) -> Result<Rule, String> {
    let error = || command.error().map(|e| e.unwrap_or(ErrorCode::NONE));
    let action = match command.optional_text("action")?.unwrap_or("serve") {
        "serve" => FaultAction::Serve,
        "error" => FaultAction::Error(error()?),
        "error_after" => FaultAction::ErrorAfter(error()?),
        "disconnect_before" => FaultAction::DisconnectBefore,
        "disconnect_after" => FaultAction::DisconnectAfter,
        "hang" => FaultAction::Hang,
        "ignore" => FaultAction::Ignore,
        other => return Err(format!("there is no action {other}")),
    };
    let delay_ms: u64 = command.optional_number("delay_ms")?.unwrap_or(0);
    Ok(Rule {
        on: RequestMatch {
            api: command.optional_api()?,
            broker: command.optional_broker()?,
            topic: command.optional_text("topic")?.map(str::to_owned),
            partition: command.optional_number("partition")?,
        },
        skip: command.optional_number("skip")?.unwrap_or(0),
        times: command.optional_number("times")?,
        fault: Fault {
            action,
            delay_us: delay_ms.saturating_mul(1000),
        },
    })
}

fn millis(time: Time) -> Value {
    json!(time.0 as f64 / 1000.0)
}

fn recorded(entry: &Recorded) -> Value {
    let (event, more) = match &entry.what {
        ClientAction::Connected => ("connected", json!({})),
        ClientAction::Disconnected { by_broker } => ("disconnected", json!({ "by_broker": by_broker })),
        ClientAction::Request {
            api,
            version,
            correlation_id,
            client_id,
            parts,
        } => {
            let parts: Vec<_> = parts.iter().map(part).collect();
            let more = json!({
                "api": api.to_string(), "version": version, "correlation_id": correlation_id,
                "client_id": client_id, "parts": parts,
            });
            ("request", more)
        }
    };
    let mut value = json!({
        "event": event, "at": millis(entry.at), "broker": entry.broker.0, "connection": entry.connection.0,
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut value, more) {
        all.extend(more);
    }
    value
}

fn part(part: &RequestPart) -> Value {
    json!({
        "topic": part.topic, "partition": part.partition, "offset": part.offset, "records": part.records,
        "bytes": part.bytes, "producer_id": part.producer_id, "epoch": part.producer_epoch,
        "sequence": part.base_sequence, "acks": part.acks, "timeout_ms": part.timeout_ms,
    })
}

/// Lists the records of a partition: offset, timestamp, and key and value as text.
fn log(cluster: &Cluster, command: &Command) -> Result<Fields, String> {
    let (topic, partition) = (command.text("topic")?, command.number("partition")?);
    let batches = cluster.partition_batches(topic, partition);
    let mut records = Vec::new();
    for stored in batches.ok_or("there is no such partition")? {
        for batch in BatchIter::new(stored.into_bytes()) {
            let batch = batch.map_err(|e| e.to_string())?;
            let data = batch.decompress(BATCH_BYTES_MAX).map_err(|e| e.to_string())?;
            for record in data.iter() {
                let record = record.map_err(|e| e.to_string())?;
                let text = |bytes: Option<&[u8]>| bytes.map(|b| String::from_utf8_lossy(b).into_owned());
                records.push(json!({
                    "offset": record.offset, "timestamp": record.timestamp,
                    "key": text(record.key), "value": text(record.value),
                }));
            }
        }
    }
    Ok(Map::from_iter([("records".to_owned(), Value::Array(records))]))
}
