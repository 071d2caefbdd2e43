//! The switch for caller polling: which threads send the requests of a program that produces one record at a time.
//!
//! A test program of its own, since callbacks of the application switch caller polling off in the whole process.

#![allow(clippy::unwrap_used, clippy::panic)] // clippy takes only the test functions themselves for tests

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use ottla_core::client::{CallerPolling, Client, ClientHooks, DeliveryMode};
use ottla_core::config::Conf;
use ottla_core::event::Event;
use ottla_core::interceptor::{Interceptor, RequestInfo};
use ottla_core::producer::{Payload, Record};
use ottla_core::types::{ClientKind, TopicHooks};

/// Collects the threads that send requests.
#[derive(Debug, Default)]
struct Senders(Mutex<BTreeSet<String>>);

fn name_of(id: ThreadId) -> String {
    format!("{id:?}")
}

impl Interceptor for Senders {
    fn on_request_sent(&self, _: &RequestInfo<'_>) {
        let id = thread::current().id();
        self.0.lock().unwrap().insert(name_of(id));
    }
}

/// Produces records one at a time, each after the delivery report of the one before. Returns the threads that sent.
fn produce_one_by_one(caller_polling: CallerPolling) -> BTreeSet<String> {
    let mut conf = Conf::new();
    conf.set("test.mock.num.brokers", "1").unwrap();
    conf.set("linger.ms", "0").unwrap();
    let (settings, topic_settings) = conf.finalize(ClientKind::Producer).unwrap();
    let senders = Arc::new(Senders::default());
    let hooks = ClientHooks {
        delivery: DeliveryMode::All,
        interceptor: Some(senders.clone()),
        caller_polling,
        ..ClientHooks::default()
    };
    let producer = Client::new(ClientKind::Producer, settings, topic_settings, hooks).unwrap();
    let topic = producer.topic("t", None, TopicHooks::default()).unwrap();
    for n in 0..200 {
        let record = Record {
            value: Payload::Copy(b"one at a time"),
            ..Record::default()
        };
        producer.produce(&topic, 0, record, true).unwrap();
        let timeout = Some(Duration::from_secs(60));
        producer.poll_inline(producer.main_queue(), timeout, &|| false);
        match producer.main_queue().pop(timeout) {
            Some(Event::Delivery(delivery)) => assert_eq!(delivery.error, None, "record {n}"),
            other => panic!("record {n}: {other:?}"),
        }
    }
    producer.destroy();
    let senders = senders.0.lock().unwrap();
    senders.clone()
}

#[test]
fn caller_polling_sends_on_the_callers_thread_unless_it_is_disabled() {
    let caller = name_of(thread::current().id());
    let enabled = produce_one_by_one(CallerPolling::Enabled);
    assert!(enabled.contains(&caller), "{enabled:?} without {caller}");
    let disabled = produce_one_by_one(CallerPolling::Disabled);
    assert!(!disabled.contains(&caller), "{disabled:?} with {caller}");
    assert!(!disabled.is_empty());
}
