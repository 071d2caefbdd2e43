//! Statistics of clients on the embedded cluster: each number is compared with the test's actions.

// A failed expectation fails a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use ottla_core::client::{Client, ClientHooks, CommitMode, DeliveryMode};
use ottla_core::config::{Conf, TopicConf};
use ottla_core::error::ErrorCode;
use ottla_core::event::Event;
use ottla_core::producer::{Payload, Record, TransactionCall};
use ottla_core::stats::{Broker, Partition, Statistics};
use ottla_core::types::{ClientKind, Topic, TopicHooks, TopicPartition, offset};
use ottla_mock::Cluster;
use ottla_protocol::ApiKey;
use ottla_protocol::ErrorCode as BrokerError;

const DEADLINE: Duration = Duration::from_secs(30);
const NONE: i64 = offset::INVALID;

fn client(kind: ClientKind, settings: &[(&str, &str)]) -> Client {
    let mut conf = Conf::new();
    for (name, value) in settings {
        conf.set(name, *value).unwrap();
    }
    let mut defaults = TopicConf::new();
    defaults.set("auto.offset.reset", "earliest").unwrap();
    if kind == ClientKind::Consumer {
        conf.set_topic_defaults(Some(defaults));
    }
    let (client, topic) = conf.finalize(kind).unwrap();
    let hooks = ClientHooks {
        delivery: DeliveryMode::All,
        error_event: true,
        stats_event: true,
        ..ClientHooks::default()
    };
    Client::new(kind, client, topic, hooks).unwrap()
}

/// Creates a producer with a cluster of one broker and a topic "t" of two partitions.
fn producer(settings: &[(&str, &str)]) -> (Client, Arc<Topic>) {
    let mut all = vec![("test.mock.num.brokers", "1"), ("statistics.interval.ms", "20")];
    all.extend(settings);
    let p = client(ClientKind::Producer, &all);
    mock(&p, |c| c.create_topic("t", 2, Some(1)).map(|_| ()).unwrap());
    let topic = p.topic("t", None, TopicHooks::default()).unwrap();
    (p, topic)
}

fn mock<T>(p: &Client, f: impl FnOnce(&mut Cluster) -> T) -> T {
    p.with_embedded(|e| e.with(f)).unwrap()
}

fn produce(p: &Client, topic: &Arc<Topic>, partition: i32, n: usize) {
    for _ in 0..n {
        let record = Record {
            key: Some(b"key"),
            value: Payload::Copy(b"0123456789"),
            ..Record::default()
        };
        p.produce(topic, partition, record, true).unwrap();
    }
}

/// Serves the main queue until `enough` returns true for the documents so far.
fn watch(c: &Client, mut enough: impl FnMut(&[Statistics]) -> bool) -> Vec<Statistics> {
    let end = Instant::now() + DEADLINE;
    let mut all = Vec::new();
    loop {
        // Dropping a delivery serves it.
        if let Some(Event::Stats(document)) = c.main_queue().pop(Some(Duration::from_millis(100))) {
            all.push(*document);
            if enough(&all) {
                return all;
            }
        }
        assert!(
            Instant::now() < end,
            "{}",
            all.last().map_or(String::new(), Statistics::to_json)
        );
    }
}

fn partition(document: &Statistics, number: i32) -> &Partition {
    &document.topics["t"].partitions[&number]
}

/// Returns whether the document has the partition of topic `t` and the condition is true for it.
fn partition_is(document: &Statistics, number: i32, condition: impl Fn(&Partition) -> bool) -> bool {
    let partitions = document.topics.get("t").map(|t| &t.partitions);
    partitions.and_then(|p| p.get(&number)).is_some_and(condition)
}

fn broker(document: &Statistics) -> &Broker {
    let learned = document.brokers.values().find(|b| b.source == "learned");
    learned.unwrap_or_else(|| panic!("no broker was learned of: {}", document.to_json()))
}

/// Checks all windows after 150 messages were sent in batches with this total size in bytes.
fn check_windows(all: &[Statistics], bytes: u64) {
    let last = all.last().unwrap();
    let learned = || all.iter().flat_map(|d| d.brokers.values());
    assert_eq!(learned().map(|b| b.int_latency.cnt).sum::<i64>(), 150);
    // A bootstrap connection that becomes a broker's transfers its values: every request is in one window.
    assert_eq!(learned().map(|b| b.rtt.cnt).sum::<i64>() as u64, last.rx);
    assert_eq!(learned().map(|b| b.outbuf_latency.cnt).sum::<i64>() as u64, last.tx);
    let int_latency = learned().map(|b| b.int_latency.max).max().unwrap();
    assert!(
        (1000..60_000_000).contains(&int_latency),
        "linger.ms=5, but {int_latency} us"
    );
    assert_eq!(
        learned().map(|b| b.throttle.cnt).sum::<i64>() as u64,
        broker(last).req["Produce"]
    );
    assert_eq!(learned().map(|b| b.throttle.max).max(), Some(3));
    let topics = || all.iter().filter_map(|d| d.topics.get("t"));
    assert_eq!(topics().map(|t| t.batchcnt.sum).sum::<i64>(), 150);
    assert_eq!(topics().map(|t| t.batchsize.sum).sum::<i64>() as u64, bytes);
}

#[test]
fn sent_messages_are_counted() {
    let name = "any \"name\" \\ é";
    let (p, topic) = producer(&[
        ("client.id", name),
        ("enable.idempotence", "true"),
        ("linger.ms", "5"),
        ("queue.buffering.max.messages", "1234"),
        ("queue.buffering.max.kbytes", "2000"),
    ]);
    mock(&p, |c| c.set_throttle_ms(ApiKey::PRODUCE, 3));
    produce(&p, &topic, 0, 100);
    produce(&p, &topic, 1, 50);
    let all = watch(&p, |all| all.last().is_some_and(|d| d.msg_cnt == 0 && d.txmsgs == 150));
    let (last, one) = (all.last().unwrap(), broker(all.last().unwrap()));

    assert_eq!((&*last.client_id, last.kind), (name, "producer"));
    assert!(last.name.starts_with(&format!("{name}#producer-")), "{}", last.name);
    assert_eq!((last.msg_max, last.msg_size_max, last.msg_size), (1234, 2_048_000, 0));
    assert_eq!(
        (last.metadata_cache_cnt, last.simple_cnt, last.rxmsgs, last.rxmsg_bytes),
        (1, 0, 0, 0)
    );
    let wall = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    assert!((wall.as_secs() as i64 - last.time_s).abs() <= 30);
    assert!(last.age_us >= 20_000 && last.ts_us >= last.age_us);
    assert!(all.windows(2).all(|w| w[0].age_us < w[1].age_us));

    let topic = &last.topics["t"];
    assert_eq!(topic.topic, "t");
    assert!(topic.age_ms <= last.age_us / 1000 && topic.metadata_age_ms >= 0);
    assert_eq!(topic.partitions.keys().copied().collect::<Vec<_>>(), [-1, 0, 1]);
    for (number, n) in [(0, 100), (1, 50)] {
        let numbers = partition(last, number);
        assert_eq!(
            (numbers.partition, numbers.broker, numbers.leader, numbers.leader_epoch),
            (number, 1, 1, 0)
        );
        assert_eq!((numbers.txmsgs, numbers.msgs, numbers.acked_msgid), (n, n, n));
        assert_eq!((numbers.next_ack_seq as u64, numbers.next_err_seq as u64), (n, n));
        assert_eq!((numbers.msgq_cnt, numbers.msgq_bytes, numbers.xmit_msgq_cnt), (0, 0, 0));
        assert_eq!((numbers.xmit_msgq_bytes, numbers.msgs_inflight), (0, 0));
        assert!(!numbers.unknown && !numbers.desired);
        assert_eq!(
            (numbers.fetch_state, numbers.next_offset, numbers.consumer_lag),
            ("none", NONE, -1)
        );
    }
    assert_eq!((partition(last, -1).msgs, partition(last, -1).leader), (0, -1));
    let bytes = partition(last, 0).txbytes + partition(last, 1).txbytes;
    assert!(bytes > 150 * 13, "{bytes}");
    assert_eq!((last.txmsgs, last.txmsg_bytes), (150, bytes));

    assert_eq!(
        (one.nodeid, one.state, &one.name),
        (1, "UP", &format!("{}/1", one.nodename))
    );
    assert_eq!(one.toppars.keys().collect::<Vec<_>>(), ["t-0", "t-1"]);
    assert_eq!((&*one.toppars["t-1"].topic, one.toppars["t-1"].partition), ("t", 1));
    assert_eq!(
        (
            one.outbuf_cnt,
            one.outbuf_msg_cnt,
            one.waitresp_cnt,
            one.waitresp_msg_cnt
        ),
        (0, 0, 0, 0)
    );
    assert_eq!((one.txerrs, one.txretries, one.req_timeouts), (0, 0, 0));
    assert_eq!((one.rxerrs, one.rxcorriderrs, one.rxpartial), (0, 0, 0));
    assert_eq!((one.connects, one.disconnects), (1, 0));
    assert!(one.txidle_us >= 0 && one.rxidle_us >= 0 && one.stateage_us > 0 && one.wakeups >= one.rx);
    assert_eq!((one.req["InitProducerId"], one.req["ApiVersion"]), (1, 1));
    assert!(one.req["Produce"] >= 1 && one.req["Metadata"] >= 1 && !one.req.contains_key("Fetch"));
    let sent: u64 = last.brokers.values().flat_map(|b| b.req.values()).sum();
    assert_eq!((last.tx, last.rx), (sent, sent));
    let (tx, rx) = last
        .brokers
        .values()
        .fold((0, 0), |(t, r), b| (t + b.txbytes, r + b.rxbytes));
    assert_eq!((last.tx_bytes, last.rx_bytes), (tx, rx));
    assert!(last.tx_bytes > bytes);

    check_windows(&all, bytes);

    let eos = last.eos.as_ref().unwrap();
    assert_eq!(
        (eos.idemp_state, eos.txn_state, eos.txn_may_enq),
        ("Assigned", "Init", false)
    );
    assert!(eos.producer_id >= 0 && eos.idemp_stateage_ms <= last.age_us / 1000);
    assert_eq!((eos.producer_epoch, eos.epoch_cnt), (0, 1));
    assert!(last.cgrp.is_none() && last.fatal.is_none());

    let json: serde_json::Value = serde_json::from_str(&last.to_json()).unwrap();
    assert_eq!(json["client_id"], name);
    assert_eq!(json["topics"]["t"]["partitions"]["0"]["txmsgs"], 100);
    assert_eq!(json["brokers"][&*one.name]["req"]["InitProducerId"], 1);
}

#[test]
fn queued_messages_are_counted() {
    let (p, topic) = producer(&[("linger.ms", "60000")]);
    produce(&p, &topic, 1, 7);
    let all = watch(&p, |all| {
        all.last()
            .is_some_and(|d| partition_is(d, -1, |p| p.msgq_cnt == 0) && d.topics["t"].metadata_age_ms >= 0)
    });
    let last = all.last().unwrap();
    let numbers = partition(last, 1);
    assert_eq!((last.msg_cnt, last.msg_size), (7, 7 * 13));
    assert_eq!(
        (numbers.msgq_cnt, numbers.msgq_bytes, numbers.msgs, numbers.txmsgs),
        (7, 7 * 13, 7, 0)
    );
    assert!(last.eos.is_none());

    // A request without a response is in flight; later messages wait.
    mock(&p, |c| c.set_round_trip_us(ottla_mock::BrokerId(1), 60_000_000));
    p.flush_begin().unwrap();
    let all = watch(&p, |all| all.last().is_some_and(|d| broker(d).waitresp_msg_cnt == 7));
    let last = all.last().unwrap();
    assert_eq!((partition(last, 1).msgs_inflight, partition(last, 1).msgq_cnt), (7, 0));
    assert_eq!((broker(last).waitresp_cnt, broker(last).outbuf_cnt), (1, 0));
    p.flush_end();
}

#[test]
fn messages_without_a_partition_and_unreachable_brokers_are_counted() {
    let settings = [("bootstrap.servers", "127.0.0.1:1"), ("statistics.interval.ms", "20")];
    let p = client(ClientKind::Producer, &settings);
    let topic = p.topic("t", None, TopicHooks::default()).unwrap();
    produce(&p, &topic, -1, 3);
    let down = |d: &Statistics| d.brokers.values().any(|b| b.connects >= 1 && b.state == "DOWN");
    let all = watch(&p, |all| {
        all.last().is_some_and(|d| d.topics.contains_key("t") && down(d))
    });
    let last = all.last().unwrap();
    let numbers = partition(last, -1);
    assert_eq!(
        (numbers.msgq_cnt, numbers.msgq_bytes, numbers.unknown),
        (3, 3 * 13, true)
    );
    assert_eq!((last.topics["t"].metadata_age_ms, last.metadata_cache_cnt), (-1, 0));
    let one = &last.brokers["127.0.0.1:1/bootstrap"];
    assert_eq!(
        (one.nodeid, one.source, &*one.nodename),
        (-1, "configured", "127.0.0.1:1")
    );
    assert_eq!(
        (one.tx, one.rx, one.txidle_us, one.rxidle_us, one.disconnects),
        (0, 0, -1, -1, 0)
    );
}

#[test]
fn retries_and_lost_connections_are_counted() {
    let (p, topic) = producer(&[("linger.ms", "0"), ("retry.backoff.ms", "1")]);
    mock(&p, |c| {
        c.push_request_errors(ApiKey::PRODUCE, &[BrokerError::NOT_ENOUGH_REPLICAS])
    });
    produce(&p, &topic, 0, 1);
    let all = watch(&p, |all| all.last().is_some_and(|d| d.msg_cnt == 0 && d.txmsgs > 0));
    let last = all.last().unwrap();
    assert_eq!(
        (broker(last).txretries, last.txmsgs, partition(last, 0).txmsgs),
        (1, 2, 2)
    );
    assert_eq!(partition(last, 0).msgs, 1);
    let learned = all.iter().flat_map(|d| d.brokers.values());
    assert_eq!(
        learned.map(|b| b.int_latency.cnt).sum::<i64>(),
        1,
        "the values of the first attempt"
    );
    let before = broker(last).disconnects;

    mock(&p, |c| c.close_connections(ottla_mock::BrokerId(1)));
    watch(&p, |all| {
        all.last().is_some_and(|d| broker(d).disconnects == before + 1)
    });
    produce(&p, &topic, 0, 1);
    let all = watch(&p, |all| all.last().is_some_and(|d| d.msg_cnt == 0 && d.txmsgs == 3));
    assert_eq!(broker(all.last().unwrap()).connects, 2);
}

#[test]
fn request_timeouts_are_counted() {
    let (p, topic) = producer(&[
        ("linger.ms", "0"),
        ("socket.timeout.ms", "300"),
        ("socket.max.fails", "0"),
    ]);
    produce(&p, &topic, 0, 1);
    watch(&p, |all| all.last().is_some_and(|d| d.msg_cnt == 0 && d.txmsgs == 1));
    mock(&p, |c| c.set_round_trip_us(ottla_mock::BrokerId(1), 60_000_000));
    produce(&p, &topic, 0, 1);
    let all = watch(&p, |all| all.last().is_some_and(|d| broker(d).req_timeouts >= 1));
    assert_eq!(broker(all.last().unwrap()).disconnects, 0);
}

#[test]
fn fatal_error_is_in_the_document() {
    let (p, _) = producer(&[("enable.idempotence", "true")]);
    let code = ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER;
    p.test_fatal_error(code, "for \"testing\"").unwrap();
    let _ = p.test_fatal_error(code, "again");
    let all = watch(&p, |all| all.last().is_some_and(|d| d.fatal.is_some()));
    let fatal = all.last().unwrap().fatal.clone().unwrap();
    assert_eq!((&*fatal.error, fatal.cnt), ("OUT_OF_ORDER_SEQUENCE_NUMBER", 2));
    assert_eq!(fatal.reason, "test_fatal_error: for \"testing\"");
}

#[test]
fn transaction_states_are_in_the_document() {
    let (p, topic) = producer(&[("transactional.id", "tx"), ("linger.ms", "0")]);
    let call = |call| p.shared().transact(call, Some(DEADLINE)).wait(None).unwrap().unwrap();
    let state = |wanted: &str| {
        let all = watch(&p, |all| {
            all.last().is_some_and(|d| d.eos.as_ref().unwrap().txn_state == wanted)
        });
        all.last().unwrap().clone()
    };
    let eos = state("Init").eos.unwrap();
    assert_eq!(
        (eos.idemp_state, eos.producer_id, eos.producer_epoch, eos.epoch_cnt),
        ("Init", -1, -1, 0)
    );
    call(TransactionCall::Init);
    let eos = state("Ready").eos.unwrap();
    assert_eq!(
        (eos.idemp_state, eos.txn_may_enq, eos.epoch_cnt),
        ("Assigned", false, 1)
    );
    let (id, epoch) = (eos.producer_id, eos.producer_epoch);
    assert!(id >= 0 && epoch >= 0);
    call(TransactionCall::Begin);
    produce(&p, &topic, 0, 5);
    let document = state("InTransaction");
    assert!(document.eos.as_ref().unwrap().txn_may_enq);
    assert!(
        document.brokers.contains_key("TxnCoordinator/1"),
        "{:?}",
        document.brokers.keys()
    );
    assert_eq!(document.brokers["TxnCoordinator/1"].source, "logical");
    call(TransactionCall::Commit);
    let eos = state("Ready").eos.unwrap();
    // KIP-890: each EndTxn response contains the next epoch.
    assert_eq!((eos.producer_id, eos.producer_epoch, eos.epoch_cnt), (id, epoch + 1, 2));

    mock(&p, |c| {
        c.push_request_errors(ApiKey::PRODUCE, &[BrokerError::INVALID_RECORD])
    });
    call(TransactionCall::Begin);
    produce(&p, &topic, 0, 1);
    let document = state("AbortableError");
    assert!(!document.eos.as_ref().unwrap().txn_may_enq);
    assert_eq!(partition(&document, 0).next_err_seq, 1);
    assert_eq!(
        (
            partition(&document, 0).next_ack_seq,
            partition(&document, 0).acked_msgid
        ),
        (0, 5)
    );
    call(TransactionCall::Abort);
    assert!(state("Ready").eos.unwrap().epoch_cnt >= 3);
}

/// Creates a consumer in a group, with 50 messages in partition 0.
fn consumer(settings: &[(&str, &str)]) -> (Client, Client) {
    let (p, topic) = producer(&[("linger.ms", "0")]);
    produce(&p, &topic, 0, 50);
    watch(&p, |all| all.last().is_some_and(|d| d.msg_cnt == 0 && d.txmsgs >= 50));
    let servers = p.with_embedded(|e| e.bootstrap_servers()).unwrap();
    let mut all = vec![
        ("bootstrap.servers", &*servers),
        ("statistics.interval.ms", "20"),
        ("group.id", "g"),
        ("enable.auto.commit", "false"),
        ("enable.partition.eof", "true"),
    ];
    all.extend(settings);
    let c = client(ClientKind::Consumer, &all);
    (p, c)
}

/// Consumes `n` messages.
fn take(c: &Client, n: usize) {
    let end = Instant::now() + DEADLINE;
    let mut taken = 0;
    while taken < n {
        let one = c
            .consumer_queue()
            .pop_one(Some(Duration::from_millis(100)), |chunk| chunk.next().map(|_| ()));
        taken += usize::from(matches!(one, Some(Ok(()))));
        assert!(Instant::now() < end, "{taken} of {n}");
    }
}

fn until(c: &Client, enough: impl Fn(&Statistics) -> bool) -> Statistics {
    watch(c, |all| all.last().is_some_and(&enough)).pop().unwrap()
}

#[test]
fn group_member_and_lag_are_in_the_document() {
    let (_p, c) = consumer(&[]);
    let document = until(&c, |_| true);
    let group = document.cgrp.as_ref().unwrap();
    assert_eq!(
        (group.state, group.join_state, group.assignment_size),
        ("init", "init", 0)
    );
    assert_eq!((group.rebalance_cnt, &*group.rebalance_reason), (0, ""));
    assert_eq!((document.kind, document.msg_max, document.msg_cnt), ("consumer", 0, 0));
    assert!(document.eos.is_none());

    c.subscribe(vec!["t".into()]).unwrap();
    take(&c, 20);
    let waiting = |d: &Statistics| partition_is(d, 0, |p| p.fetchq_cnt == 30);
    let document = until(&c, |d| waiting(d) && partition_is(d, 1, |p| p.fetch_state == "active"));
    let numbers = partition(&document, 0);
    assert_eq!((numbers.rxmsgs, numbers.msgs, document.rxmsgs), (50, 50, 50));
    assert!(numbers.rxbytes >= 50 * 13 && numbers.rxbytes == document.rxmsg_bytes && numbers.fetchq_size > 0);
    assert_eq!(
        (numbers.fetch_state, numbers.desired, numbers.broker),
        ("active", true, 1)
    );
    assert_eq!(
        (numbers.app_offset, numbers.stored_offset, numbers.next_offset),
        (20, 20, 50)
    );
    assert_eq!((numbers.lo_offset, numbers.hi_offset, numbers.ls_offset), (0, 50, 50));
    assert_eq!((numbers.query_offset, numbers.stored_leader_epoch), (offset::STORED, 0));
    assert_eq!((numbers.committed_offset, numbers.committed_leader_epoch), (NONE, -1));
    assert_eq!((numbers.consumer_lag, numbers.consumer_lag_stored), (-1, 30));
    assert_eq!((numbers.eof_offset, partition(&document, 1).eof_offset), (50, 0));
    assert_eq!((numbers.txmsgs, numbers.rx_ver_drops), (0, 0));
    let group = document.cgrp.as_ref().unwrap();
    assert_eq!(
        (group.state, group.join_state, group.assignment_size),
        ("up", "steady", 2)
    );
    assert_eq!(group.rebalance_cnt, 1);
    assert!(!group.rebalance_reason.is_empty() && group.stateage_ms <= document.age_us / 1000);
    let coordinator = &document.brokers["GroupCoordinator/1"];
    assert_eq!((coordinator.source, coordinator.nodeid), ("logical", 1));
    assert_eq!(
        (coordinator.req["JoinGroup"] >= 1, coordinator.req["OffsetFetch"]),
        (true, 1)
    );
    assert!(broker(&document).req["Fetch"] >= 1 && !broker(&document).req.contains_key("Produce"));
    assert_eq!(broker(&document).toppars.len(), 2);

    c.commit(None, CommitMode::Sync).unwrap();
    let document = until(&c, |d| partition_is(d, 0, |p| p.committed_offset == 20));
    assert_eq!(
        (
            partition(&document, 0).consumer_lag,
            partition(&document, 0).committed_leader_epoch
        ),
        (30, 0)
    );
    let json: serde_json::Value = serde_json::from_str(&document.to_json()).unwrap();
    let numbers = &json["topics"]["t"]["partitions"]["0"];
    assert_eq!(
        (&numbers["committed_offset"], &numbers["commited_offset"]),
        (&20.into(), &20.into())
    );

    c.pause(vec![TopicPartition::new("t", 0)]).unwrap();
    let document = until(&c, |d| partition_is(d, 0, |p| p.fetch_state == "stopped"));
    let numbers = partition(&document, 0);
    assert_eq!(
        (numbers.rx_ver_drops, numbers.fetchq_cnt, numbers.fetchq_size),
        (30, 0, 0)
    );
    assert_eq!((numbers.next_offset, numbers.rxmsgs), (20, 50));

    c.unsubscribe().unwrap();
    let gone = |d: &Statistics| {
        d.cgrp
            .as_ref()
            .is_some_and(|g| g.join_state == "init" && g.assignment_size == 0)
    };
    let document = until(&c, gone);
    assert_eq!(document.cgrp.as_ref().unwrap().rebalance_cnt, 2);
    let numbers = partition(&document, 0);
    assert_eq!(
        (
            numbers.fetch_state,
            numbers.desired,
            numbers.consumer_lag,
            numbers.rxmsgs
        ),
        ("none", false, -1, 50)
    );
    assert!(broker(&document).toppars.is_empty());
}

#[test]
fn consume_start_is_counted_and_reads_from_its_offset() {
    let (_p, c) = consumer(&[("isolation.level", "read_committed")]);
    let topic = c.topic("t", None, TopicHooks::default()).unwrap();
    c.consume_start(&topic, 0, 45, None).unwrap();
    let document = until(&c, |d| partition_is(d, 0, |p| p.rxmsgs == 5));
    let numbers = partition(&document, 0);
    assert_eq!(
        (document.simple_cnt, numbers.query_offset, numbers.next_offset),
        (1, NONE, 50)
    );
    assert_eq!(
        (numbers.ls_offset, numbers.app_offset, numbers.consumer_lag_stored),
        (50, NONE, -1)
    );
    assert_eq!(document.cgrp.unwrap().assignment_size, 0);
}

#[test]
fn consumer_protocol_member_is_in_the_document() {
    let (_p, c) = consumer(&[("group.protocol", "consumer")]);
    c.subscribe(vec!["t".into()]).unwrap();
    take(&c, 50);
    let steady = |d: &Statistics| d.cgrp.as_ref().is_some_and(|g| g.join_state == "steady");
    let document = until(&c, |d| steady(d) && partition_is(d, 0, |p| p.consumer_lag_stored == 0));
    assert_eq!(document.cgrp.unwrap().assignment_size, 2);
    let heartbeats: u64 = document
        .brokers
        .values()
        .filter_map(|b| b.req.get("ConsumerGroupHeartbeat"))
        .sum();
    assert!(heartbeats >= 1);
}

#[test]
fn waiting_documents_are_limited() {
    let settings = [("bootstrap.servers", "127.0.0.1:1"), ("statistics.interval.ms", "1")];
    let p = client(ClientKind::Producer, &settings);
    let end = Instant::now() + DEADLINE;
    let waiting = || p.main_queue().len_where(|e| matches!(e, Event::Stats(_)));
    while waiting() < 10 {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(waiting(), 10);
    watch(&p, |all| all.len() > 20);
}

#[test]
fn no_receiver_means_no_statistics() {
    let mut conf = Conf::new();
    conf.set("bootstrap.servers", "127.0.0.1:1").unwrap();
    conf.set("statistics.interval.ms", "1").unwrap();
    let (client, topic) = conf.finalize(ClientKind::Producer).unwrap();
    let hooks = ClientHooks {
        error_event: true,
        ..ClientHooks::default()
    };
    let p = Client::new(ClientKind::Producer, client, topic, hooks).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(p.main_queue().len_where(|e| matches!(e, Event::Stats(_))), 0);
}
