//! Log lines under each context of `debug`, over real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed expectation ends a test

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ottla_core::client::{Client, ClientHooks, DeliveryMode};
use ottla_core::config::{Conf, DEBUG_CONTEXTS};
use ottla_core::event::Event;
use ottla_core::log::{LogLine, level};
use ottla_core::producer::{Payload, Record, TransactionCall};
use ottla_core::types::{ClientKind, TopicHooks};
use ottla_mock::BrokerId;

type Lines = Arc<Mutex<Vec<LogLine>>>;

fn client(kind: ClientKind, settings: &[(&str, &str)]) -> (Client, Lines) {
    let mut conf = Conf::new();
    for (name, value) in settings {
        conf.set(name, *value).unwrap();
    }
    let (client, topic) = conf.finalize(kind).unwrap();
    let lines = Lines::default();
    let to = lines.clone();
    let hooks = ClientHooks {
        log: Some(Arc::new(move |line| to.lock().unwrap().push(line))),
        delivery: DeliveryMode::All,
        ..ClientHooks::default()
    };
    (Client::new(kind, client, topic, hooks).unwrap(), lines)
}

fn produce(client: &Client, topic: &str, n: usize) {
    let topic = client.topic(topic, None, TopicHooks::default()).unwrap();
    for _ in 0..n {
        let record = Record {
            value: Payload::Copy(b"value"),
            ..Record::default()
        };
        client.produce(&topic, 0, record, true).unwrap();
    }
    wait(|| {
        while client.main_queue().pop(Some(Duration::from_millis(10))).is_some() {}
        client.outq_len() == 0
    });
}

fn wait(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < end, "timeout");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns `CONTEXTS FACILITY text` of each line.
fn texts(lines: &Lines) -> Vec<String> {
    let lines = lines.lock().unwrap();
    let text = |l: &LogLine| format!("{} {} {}", l.contexts.names(), l.facility, l.message);
    lines.iter().map(text).collect()
}

fn expect(lines: &Lines, fragments: &[&str]) {
    let said = texts(lines);
    for fragment in fragments {
        let (start, rest) = fragment.split_once('…').unwrap_or((fragment, ""));
        let found = said.iter().any(|l| l.starts_with(start) && l.contains(rest));
        assert!(found, "nobody said {fragment:?}:\n{}", said.join("\n"));
    }
}

#[test]
fn each_context_logs_its_lines() {
    let settings = [
        ("test.mock.num.brokers", "2"),
        ("debug", "all"),
        ("transactional.id", "t"),
    ];
    let (p, lines) = client(ClientKind::Producer, &settings);
    let timeout = Some(Duration::from_secs(30));
    for call in [TransactionCall::Init, TransactionCall::Begin] {
        p.shared().transact(call, timeout).wait(timeout).unwrap().unwrap();
    }
    produce(&p, "logged", 3);
    p.shared()
        .transact(TransactionCall::Commit, timeout)
        .wait(timeout)
        .unwrap()
        .unwrap();
    p.list_groups(None, timeout).unwrap();
    let servers = p.with_embedded(|e| e.bootstrap_servers()).unwrap();

    let settings = [
        ("bootstrap.servers", servers.as_str()),
        ("group.id", "readers"),
        ("auto.offset.reset", "earliest"),
        ("debug", "all"),
    ];
    let (c, read) = client(ClientKind::Consumer, &settings);
    c.subscribe(vec!["logged".to_owned()]).unwrap();
    wait(|| {
        let event = c.consumer_queue().pop(Some(Duration::from_millis(100)));
        matches!(event, Some(Event::Records(_)))
    });
    c.close_consumer().unwrap().wait(timeout);
    drop(c);
    drop(p);

    expect(
        &lines,
        &[
            "generic INIT producer…bootstrap.servers",
            "generic TERMINATE ",
            "broker STATE …/bootstrap: Broker changed state RESOLVE -> CONNECT",
            "broker BROKERS the cluster has 2 broker(s)",
            "topic TOPIC logged: …logged [0]: leader is ",
            "metadata METADATA metadata of broker …: 2 broker(s)",
            "feature APIVERSION …Produce 0-",
            "queue DEQUEUE logged [0]: …leave the queue after ",
            "msg PRODUCE logged [0]: MessageSet with …acks=-1",
            "msg MSGSET logged [0]: MessageSet with …message(s) delivered at offset 0",
            "protocol SEND …Sent ProduceRequest (v",
            "protocol RECV …Received ProduceResponse (v",
            "security CONNECTED …without authentication",
            "admin ADMIN ListAndDescribeGroups: 1 key(s) to broker ",
            "eos TXN …InitProducerId",
            "mock MOCK an embedded cluster listens at ",
            "mock MOCK broker …ProduceRequest (v",
        ],
    );
    expect(
        &read,
        &[
            "cgrp,consumer SUBSCRIBE subscription: [logged]",
            "cgrp CGRPCOORD Group coordinator is 127.0.0.1:… id ",
            "cgrp JOINGROUP joined generation 1 …leader of 1 members",
            "assignor ASSIGN assigning ",
            "assignor ASSIGN range: …logged [0",
            "cgrp,consumer REBALANCE the group assigns all of ",
            "fetch,consumer POSITION logged [0]: starts at offset 0",
            "fetch FETCH requesting ",
            "fetch FETCHED logged [0]: …bytes from offset 0",
            "cgrp,consumer CLOSE closing",
            "cgrp LEAVEGROUP left the group",
        ],
    );
}

/// `interceptor`, `plugin` and `conf` are tested in the C library.
#[test]
fn the_manual_has_a_row_for_each_context() {
    let manual = include_str!("../../../docs/LOGS.md");
    let rows = manual.lines().filter_map(|l| l.strip_prefix("| `")?.split('`').next());
    let documented: BTreeSet<&str> = rows.collect();
    for (name, _) in DEBUG_CONTEXTS {
        assert!(documented.contains(name), "docs/LOGS.md has no row for {name}");
    }
}

#[test]
fn disabled_contexts_log_nothing() {
    let settings = [("test.mock.num.brokers", "1"), ("debug", "msg")];
    let (p, lines) = client(ClientKind::Producer, &settings);
    produce(&p, "t", 2);
    drop(p);
    let said = lines.lock().unwrap();
    assert!(!said.is_empty());
    assert!(said.iter().all(|l| l.contexts.names() == "msg"), "{said:?}");
}

#[test]
fn outage_of_a_broker_is_few_lines() {
    let settings = [
        ("test.mock.num.brokers", "1"),
        ("reconnect.backoff.ms", "5"),
        ("reconnect.backoff.max.ms", "10"),
        ("connections.max.idle.ms", "0"),
    ];
    let (p, lines) = client(ClientKind::Producer, &settings);
    produce(&p, "t", 1);
    let reach = |reachable| {
        p.with_embedded(|e| e.with(|c| c.set_reachable(BrokerId(1), reachable)))
            .unwrap();
    };
    reach(false);
    // A queued record causes dozens of connection attempts.
    let topic = p.find_topic("t").unwrap();
    p.produce(&topic, 0, Record::default(), true).unwrap();
    wait(|| texts(&lines).iter().any(|l| l.contains("brokers are down")));
    std::thread::sleep(Duration::from_millis(300));
    reach(true);
    wait(|| p.main_queue().pop(Some(Duration::from_millis(10))).is_some());
    wait(|| texts(&lines).iter().any(|l| l.contains(" UP ")));
    let said = texts(&lines);
    assert!(said.len() <= 4, "{}", said.join("\n"));
    let up = said.iter().find(|l| l.contains(" UP ")).unwrap();
    assert!(up.contains(": up again, "), "{up}");
    assert!(lines.lock().unwrap().iter().all(|l| l.level < level::DEBUG));
}
