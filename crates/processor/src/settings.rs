//! The settings of the loop and of its two clients.

use std::time::Duration;

use ottla_core::config::{Applies, Conf};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::sys::Rng;

/// The processing guarantee (`processing.guarantee`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Guarantee {
    /// No input record is skipped; after a failure a record may have its effect again.
    #[default]
    AtLeastOnce,
    /// Each input record has its effect in the committed output exactly once.
    ExactlyOnce,
}

/// The settings of a [`Worker`](crate::Worker).
#[derive(Debug, Clone)]
pub struct LoopSettings {
    pub(crate) guarantee: Guarantee,
    pub(crate) commit_interval: Duration,
    pub(crate) inputs: Vec<String>,
    /// `instance.id`, if the application has set it.
    pub(crate) instance: Option<String>,
    pub(crate) transaction_timeout: Duration,
}

/// Defaults of `commit.interval.ms`, at least once and exactly once, as in Kafka Streams: readers of committed records wait
/// for the end of a transaction.
const COMMIT_INTERVAL_MS: (u32, u32) = (30_000, 100);
/// Default of `transaction.timeout.ms`: the output of a process that died blocks its readers for that long (KIP-447).
const TRANSACTION_TIMEOUT_MS: u32 = 10_000;

/// Properties of the clients that the loop sets itself, each with the reason or the alternative.
const LOOP_PROPERTIES: &[(&str, &str)] = &[
    ("group.id", "it is the application's id"),
    ("transactional.id", "it is made of the application's id and instance.id"),
    ("enable.auto.commit", "the loop commits, see commit.interval.ms"),
    ("enable.auto.offset.store", "the loop commits, see commit.interval.ms"),
];

/// Settings by name. Not shared between threads while they are changed; a clone is independent.
///
/// | property | values | default | |
/// |---|---|---|---|
/// | `processing.guarantee` | `at_least_once`, `exactly_once` | `at_least_once` | `exactly_once_v2`, the name of Kafka Streams, means the same as `exactly_once`. Brokers must be of 2.5 or newer (KIP-447). |
/// | `commit.interval.ms` | 1 .. 900000 | 100 with `exactly_once`, 30000 otherwise | Milliseconds from the first record to the commit. |
/// | `instance.id` | text | random | Identifies this instance of the application across restarts: a transaction that it left open is then ended immediately rather than after `transaction.timeout.ms`. Two instances must not have the same id at the same time: with `exactly_once` the older one ends with `L_FENCED` when both have work. |
/// | `consumer.NAME`, `producer.NAME` | | | A property of one of the clients. |
/// | any other | | | A property of both clients, or of the one to which it applies. |
///
/// Differing from the clients' own defaults, `auto.offset.reset` is `earliest`, `partition.assignment.strategy` is
/// `cooperative-sticky`, the producer is idempotent, and with `exactly_once` `transaction.timeout.ms` is 10000.
#[derive(Debug, Clone)]
pub struct ProcessorConf {
    application_id: String,
    instance_id: Option<String>,
    /// The application has set `instance_id`.
    is_named: bool,
    inputs: Vec<String>,
    guarantee: Guarantee,
    commit_interval_ms: Option<u32>,
    consumer: Conf,
    producer: Conf,
}

impl ProcessorConf {
    /// Creates default settings for the application `application_id` (its `group.id`), which reads the topics `inputs`; names
    /// that begin with `^` are patterns.
    pub fn new(application_id: &str, inputs: &[&str]) -> Self {
        ProcessorConf {
            application_id: application_id.to_owned(),
            instance_id: None,
            is_named: false,
            inputs: inputs.iter().map(|topic| (*topic).to_owned()).collect(),
            guarantee: Guarantee::default(),
            commit_interval_ms: None,
            consumer: Conf::new(),
            producer: Conf::new(),
        }
    }

    /// Sets a property of the table above.
    ///
    /// # Errors
    /// `L_INVALID_ARG`: the name is unknown, the value is invalid, or the loop sets the property itself. The settings are
    /// unchanged then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        match name {
            "processing.guarantee" => {
                self.guarantee = match value {
                    "at_least_once" => Guarantee::AtLeastOnce,
                    "exactly_once" | "exactly_once_v2" => Guarantee::ExactlyOnce,
                    _ => return Err(refused(name, "is at_least_once or exactly_once")),
                };
            }
            "commit.interval.ms" => {
                let ms = value.parse().ok().filter(|ms| (1..=900_000).contains(ms));
                self.commit_interval_ms = Some(ms.ok_or_else(|| refused(name, "is a number from 1 to 900000"))?);
            }
            "instance.id" if value.is_empty() => return Err(refused(name, "must not be empty")),
            "instance.id" => (self.instance_id, self.is_named) = (Some(value.to_owned()), true),
            _ => return self.set_of_clients(name, value),
        }
        Ok(())
    }

    fn set_of_clients(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let (own_name, of) = match (name.strip_prefix("consumer."), name.strip_prefix("producer.")) {
            (Some(own_name), _) => (own_name, Applies::Consumer),
            (_, Some(own_name)) => (own_name, Applies::Producer),
            _ => (name, Conf::applies(name).unwrap_or(Applies::Both)),
        };
        if let Some((_, instead)) = LOOP_PROPERTIES.iter().find(|(own, _)| *own == own_name) {
            return Err(refused(name, &format!("is the loop's to set: {instead}")));
        }
        let set = |conf: &mut Conf| {
            let result = conf.set(own_name, value);
            result.map_err(|e| Error::invalid_arg(e.message))
        };
        match of {
            Applies::Consumer => set(&mut self.consumer),
            Applies::Producer => set(&mut self.producer),
            Applies::Both => {
                set(&mut self.consumer)?;
                set(&mut self.producer)
            }
        }
    }

    /// Returns the settings of the loop itself.
    pub fn loop_settings(&self) -> LoopSettings {
        let (at_least_once, exactly_once) = COMMIT_INTERVAL_MS;
        let default = match self.guarantee {
            Guarantee::AtLeastOnce => at_least_once,
            Guarantee::ExactlyOnce => exactly_once,
        };
        LoopSettings {
            guarantee: self.guarantee,
            commit_interval: Duration::from_millis(self.commit_interval_ms.unwrap_or(default).into()),
            inputs: self.inputs.clone(),
            instance: self.instance_id.clone().filter(|_| self.is_named),
            transaction_timeout: Duration::from_millis(self.transaction_timeout_ms()),
        }
    }

    fn transaction_timeout_ms(&self) -> u64 {
        let set = self.producer.is_modified("transaction.timeout.ms");
        let value = set.then(|| value_of(&self.producer, "transaction.timeout.ms").parse().ok());
        value.flatten().unwrap_or(TRANSACTION_TIMEOUT_MS.into())
    }

    /// Sets a random `instance.id` unless the application has set one. Later copies of the settings have the same.
    pub(crate) fn name_instance(&mut self, rng: &mut Rng) {
        self.instance_id
            .get_or_insert_with(|| format!("{:016x}{:016x}", rng.next_u64(), rng.next_u64()));
    }

    /// Returns the settings of the consumer.
    ///
    /// # Errors
    /// `L_INVALID_ARG`: settings contradict each other or the guarantee.
    pub fn consumer(&self) -> Result<Conf, Error> {
        let mut conf = self.consumer.clone();
        if self.application_id.is_empty() {
            return Err(Error::invalid_arg("the application needs an id"));
        }
        if self.inputs.is_empty() {
            return Err(Error::invalid_arg("the application needs topics to read"));
        }
        let exactly_once = self.guarantee == Guarantee::ExactlyOnce;
        if exactly_once && conf.is_modified("isolation.level") && value_of(&conf, "isolation.level") != "read_committed"
        {
            return Err(refused(
                "isolation.level",
                "must be read_committed for exactly_once: aborted records would have an effect",
            ));
        }
        let own = [
            ("group.id", self.application_id.as_str()),
            ("enable.auto.commit", "false"),
            ("enable.auto.offset.store", "false"),
        ];
        put_all(&mut conf, &own)?;
        put_default(&mut conf, "auto.offset.reset", "earliest")?;
        if value_of(&conf, "group.protocol") != "consumer" {
            put_default(&mut conf, "partition.assignment.strategy", "cooperative-sticky")?;
        }
        Ok(conf)
    }

    /// Returns the settings of the producer, the same each time.
    ///
    /// # Errors
    /// `L_INVALID_ARG`: settings contradict each other or the guarantee.
    pub fn producer(&self) -> Result<Conf, Error> {
        let mut conf = self.producer.clone();
        if self.guarantee == Guarantee::AtLeastOnce {
            put_default(&mut conf, "enable.idempotence", "true")?;
            return Ok(conf);
        }
        let instance = self.instance_id.as_deref().unwrap_or("0");
        put_all(
            &mut conf,
            &[("transactional.id", &format!("{}-{instance}", self.application_id))],
        )?;
        put_default(&mut conf, "transaction.timeout.ms", &TRANSACTION_TIMEOUT_MS.to_string())?;
        let settings = self.loop_settings();
        if settings.commit_interval >= settings.transaction_timeout {
            return Err(refused("commit.interval.ms", "must be below transaction.timeout.ms"));
        }
        Ok(conf)
    }
}

fn refused(name: &str, why: &str) -> Error {
    Error::new(ErrorCode::L_INVALID_ARG, format!("{name} {why}"))
}

fn value_of(conf: &Conf, name: &str) -> String {
    conf.get(name).unwrap_or_default()
}

fn put_all(conf: &mut Conf, rows: &[(&str, &str)]) -> Result<(), Error> {
    for (name, value) in rows {
        conf.set(name, *value).map_err(|e| Error::invalid_arg(e.message))?;
    }
    Ok(())
}

fn put_default(conf: &mut Conf, name: &str, value: &str) -> Result<(), Error> {
    match conf.is_modified(name) {
        true => Ok(()),
        false => put_all(conf, &[(name, value)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conf() -> ProcessorConf {
        ProcessorConf::new("app", &["in"])
    }

    #[test]
    fn processing_guarantee_sets_exactly_once() {
        let mut conf = conf();
        conf.set("bootstrap.servers", "h:1").unwrap();
        assert!(!conf.producer().unwrap().is_modified("transactional.id"));
        assert_eq!(conf.loop_settings().commit_interval, Duration::from_secs(30));
        conf.set("processing.guarantee", "exactly_once").unwrap();
        conf.name_instance(&mut Rng::from_seed(1));
        assert_eq!(conf.loop_settings().commit_interval, Duration::from_millis(100));
        let (consumer, producer) = (conf.consumer().unwrap(), conf.producer().unwrap());
        let id = value_of(&producer, "transactional.id");
        assert!(id.starts_with("app-") && id.len() == 36, "{id}");
        assert_eq!(value_of(&conf.producer().unwrap(), "transactional.id"), id);
        for (name, value) in [
            ("group.id", "app"),
            ("enable.auto.commit", "false"),
            ("auto.offset.reset", "smallest"),
            ("partition.assignment.strategy", "cooperative-sticky"),
            ("bootstrap.servers", "h:1"),
        ] {
            assert_eq!(value_of(&consumer, name), value, "{name}");
        }
        assert_eq!(value_of(&producer, "bootstrap.servers"), "h:1");
    }

    #[test]
    fn properties_are_set_on_the_clients_they_apply_to() {
        let mut conf = conf();
        conf.set("linger.ms", "7").unwrap();
        conf.set("fetch.wait.max.ms", "9").unwrap();
        conf.set("consumer.client.id", "reader").unwrap();
        conf.set("auto.offset.reset", "latest").unwrap();
        let (consumer, producer) = (conf.consumer().unwrap(), conf.producer().unwrap());
        assert!(producer.is_modified("linger.ms") && !consumer.is_modified("linger.ms"));
        assert!(consumer.is_modified("fetch.wait.max.ms") && !producer.is_modified("fetch.wait.max.ms"));
        assert!(consumer.is_modified("client.id") && !producer.is_modified("client.id"));
        assert_eq!(value_of(&consumer, "auto.offset.reset"), "largest");
    }

    #[test]
    fn settings_that_contradict_the_guarantee_are_rejected() {
        let mut c = conf();
        for (name, value) in [
            ("group.id", "x"),
            ("producer.transactional.id", "x"),
            ("consumer.enable.auto.commit", "true"),
            ("processing.guarantee", "at_most_once"),
            ("commit.interval.ms", "0"),
            ("instance.id", ""),
            ("no.such.property", "1"),
        ] {
            let error = c.set(name, value).unwrap_err();
            assert_eq!(error.code, ErrorCode::L_INVALID_ARG, "{name}");
        }
        c.set("processing.guarantee", "exactly_once_v2").unwrap();
        c.set("isolation.level", "read_uncommitted").unwrap();
        assert!(c.consumer().unwrap_err().message.contains("isolation.level"));
        c.set("commit.interval.ms", "10000").unwrap();
        assert!(c.producer().unwrap_err().message.contains("transaction.timeout.ms"));
        assert!(ProcessorConf::new("", &["in"]).consumer().is_err());
        assert!(ProcessorConf::new("app", &[]).consumer().is_err());
    }
}
