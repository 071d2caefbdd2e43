//! The cluster manager driven by hand.

use super::*;
use crate::config::{ClientConfig, Conf};
use crate::connection::{LinkConfig, LinkEvent, Links, NetAction, NetEvent};
use crate::env::Rng;
use crate::event::{DebugContexts, Logger};
use crate::types::ClientKind;
use bytes::Bytes;
use ottla_protocol::api::api_versions::{ApiVersion, ApiVersionsResponse};
use ottla_protocol::api::metadata::{
    MetadataRequest, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::{ApiKey, Message, Reader, RequestHeader, encode_response};

struct World {
    cluster: Cluster,
    links: Links,
    rng: Rng,
    log: Logger,
    conf: ClientConfig,
    now: Instant,
    /// Connections opened so far, oldest first, with the host each goes to.
    conns: Vec<crate::connection::ConnId>,
    /// Metadata requests that were sent: connection, correlation id, version, topics.
    asked: Vec<(crate::connection::ConnId, i32, i16, Option<Vec<String>>)>,
    looked_up: Vec<String>,
    refused: bool,
    /// Connections neither open nor fail.
    hangs: bool,
}

macro_rules! ctx {
    ($w:ident) => {
        Ctx {
            now: $w.now,
            wall_ms: 0,
            links: &mut $w.links,
            rng: &mut $w.rng,
            log: &$w.log,
            conf: &$w.conf,
        }
    };
}

impl World {
    fn new(bootstrap: &str) -> Self {
        World::with(bootstrap, &[])
    }

    fn with(bootstrap: &str, settings: &[(&str, &str)]) -> Self {
        let mut conf = Conf::new();
        conf.set("bootstrap.servers", bootstrap).unwrap();
        for (name, value) in settings {
            conf.set(name, *value).unwrap();
        }
        let (conf, _) = conf.finalize(ClientKind::Producer).unwrap();
        let link_config = LinkConfig::new(&conf);
        let mut w = World {
            cluster: Cluster::new(true),
            links: Links::new(link_config, Rng::from_seed(3)),
            rng: Rng::from_seed(4),
            log: Logger::new(Arc::new(|_| {}), 7, DebugContexts::default()),
            conf,
            now: Instant::from_micros(1_000_000),
            conns: Vec::new(),
            asked: Vec::new(),
            looked_up: Vec::new(),
            refused: false,
            hangs: false,
        };
        let mut ctx = ctx!(w);
        w.cluster.add_bootstrap_list(&mut ctx, bootstrap);
        w
    }

    /// Lets the network do what it can until nothing moves.
    fn settle(&mut self) -> Option<Instant> {
        loop {
            self.links.poll(self.now);
            while let Some(event) = self.links.next_event() {
                let mut ctx = ctx!(self);
                match event {
                    LinkEvent::Up { key } => self.cluster.on_link_up(&mut ctx, key),
                    LinkEvent::Down { error, .. } => self.cluster.on_link_down(&mut ctx, error.as_ref()),
                    LinkEvent::Outcome { key, tag, outcome } => {
                        self.cluster.on_outcome(&mut ctx, key, tag.id, outcome);
                    }
                    LinkEvent::Unthrottled { .. } => {}
                }
            }
            let mut ctx = ctx!(self);
            let wake = self.cluster.poll(&mut ctx);
            let actions: Vec<NetAction> = std::iter::from_fn(|| self.links.next_action()).collect();
            if actions.is_empty() {
                return crate::env::earliest(wake, self.links.next_wake());
            }
            for action in actions {
                self.perform(action);
            }
        }
    }

    fn perform(&mut self, action: NetAction) {
        match action {
            NetAction::Resolve { lookup, host, .. } => {
                self.looked_up.push(host);
                let result = Ok(vec![([127, 0, 0, 1], 9092).into()]);
                self.links.on_net(NetEvent::Resolved { lookup, result }, self.now);
            }
            NetAction::Connect { conn, .. } if self.refused => {
                let reason = crate::connection::CloseReason::Io("Connection refused".into());
                self.links.on_net(NetEvent::Closed { conn, reason }, self.now);
            }
            NetAction::Connect { .. } if self.hangs => {}
            NetAction::Connect { conn, .. } => {
                self.conns.push(conn);
                self.links.on_net(NetEvent::Connected { conn }, self.now);
            }
            NetAction::Send { conn, frame } => {
                let bytes: Vec<u8> = frame.parts.iter().flat_map(|p| p.to_vec()).collect();
                let mut reader = Reader::new(Bytes::from(bytes).slice(4..));
                let header = RequestHeader::decode(&mut reader).unwrap();
                if header.api_key == ApiKey::API_VERSIONS {
                    let row = |key: ApiKey, max| ApiVersion {
                        api_key: key.0,
                        max_version: max,
                        ..Default::default()
                    };
                    let response = ApiVersionsResponse {
                        api_keys: vec![row(ApiKey::METADATA, 12), row(ApiKey::API_VERSIONS, 3)],
                        ..Default::default()
                    };
                    self.respond(conn, header.correlation_id, &response, header.api_version);
                } else {
                    let request = MetadataRequest::decode(&mut reader, header.api_version).unwrap();
                    let topics = request.topics.map(|t| t.into_iter().filter_map(|t| t.name).collect());
                    self.asked
                        .push((conn, header.correlation_id, header.api_version, topics));
                }
            }
            NetAction::Close { .. } => {}
        }
    }

    fn respond<M: Message>(&mut self, conn: crate::connection::ConnId, correlation: i32, message: &M, version: i16) {
        let frame = encode_response(correlation, message, version).unwrap();
        let bytes: Vec<u8> = frame.parts.iter().flat_map(|p| p.to_vec()).collect();
        let body = Bytes::from(bytes).slice(4..);
        self.links.on_net(NetEvent::Received { conn, body }, self.now);
    }

    fn answer(&mut self, response: &MetadataResponse) -> Option<Vec<String>> {
        let (conn, correlation, version, topics) = self.asked.pop().expect("metadata was asked for");
        self.respond(conn, correlation, response, version);
        self.settle();
        topics
    }

    fn changes(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.cluster.next_change())
            .filter_map(|c| match c {
                Change::Topic(name) => Some(name.to_string()),
                Change::AllBrokersDown(e) => Some(format!("down: {e}")),
                Change::Brokers => None,
            })
            .collect()
    }

    /// Lets time pass, waking at every time that was asked for.
    fn run_ms(&mut self, ms: u64) {
        let end = self.now.plus_ms(ms);
        while self.now < end {
            let wake = self.settle().unwrap_or(end);
            assert!(wake > self.now, "the manager spins at {:?}", self.now);
            self.now = wake.min(end);
        }
        self.settle();
    }
}

fn broker(id: i32, host: &str) -> MetadataResponseBroker {
    MetadataResponseBroker {
        node_id: id,
        host: host.into(),
        port: 9092,
        ..Default::default()
    }
}

fn topic(name: &str, id: u8, leaders: &[(i32, i32)]) -> MetadataResponseTopic {
    MetadataResponseTopic {
        name: Some(name.into()),
        topic_id: Uuid([id; 16]),
        partitions: leaders
            .iter()
            .enumerate()
            .map(|(i, (leader, epoch))| MetadataResponsePartition {
                partition_index: i as i32,
                leader_id: *leader,
                leader_epoch: *epoch,
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

fn metadata(topics: Vec<MetadataResponseTopic>) -> MetadataResponse {
    MetadataResponse {
        brokers: vec![broker(1, "one"), broker(2, "two")],
        topics,
        ..Default::default()
    }
}

fn name(text: &str) -> Arc<str> {
    text.into()
}

#[test]
fn only_one_broker_is_connected_to_and_asked() {
    let mut w = World::new("one,two,three");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    assert_eq!((w.conns.len(), w.asked.len()), (1, 1));
    let topics = w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    assert_eq!(topics, Some(vec!["t".to_string()]));
    assert_eq!(w.changes(), ["t"]);
    assert_eq!(w.cluster.leader("t", 0), Some(NodeId(2)));
    assert_eq!(
        w.conns.len(),
        1,
        "the brokers that metadata named are connected to when they are needed"
    );
}

#[test]
fn the_bootstrap_brokers_are_picked_at_random() {
    let mut first = std::collections::HashSet::new();
    for seed in 0..40 {
        let mut w = World::new("one,two,three");
        w.rng = Rng::from_seed(seed);
        w.settle();
        first.insert(w.looked_up[0].clone());
    }
    assert_eq!(first.len(), 3);
}

#[test]
fn brokers_never_tried_come_first_and_an_outage_is_said_once() {
    let mut w = World::new("one,two,three");
    w.refused = true;
    w.run_ms(5_000);
    let mut tried = w.looked_up[..3].to_vec();
    tried.sort();
    assert_eq!(tried, ["one", "three", "two"]);
    let down: Vec<String> = w.changes();
    assert_eq!(down.len(), 1, "{down:?}");
    assert!(down[0].contains("3/3 brokers are down"), "{down:?}");
    // Seconds of outage cost few attempts.
    assert!(w.looked_up.len() < 60, "{}", w.looked_up.len());
    w.refused = false;
    w.run_ms(12_000);
    assert!(w.links.keys().any(|k| w.links.is_up(k)));
}

#[test]
fn an_older_leader_epoch_does_not_win() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.cluster.stale("t", w.now);
    w.run_ms(500);
    w.answer(&metadata(vec![topic("t", 1, &[(1, 4)])]));
    assert_eq!(w.cluster.leader("t", 0), Some(NodeId(2)));
    // A topic made again starts its epochs anew.
    w.cluster.stale("t", w.now);
    w.run_ms(500);
    w.answer(&metadata(vec![topic("t", 9, &[(1, 0)])]));
    assert_eq!(w.cluster.leader("t", 0), Some(NodeId(1)));
    assert_eq!(w.cluster.topic_by_id(Uuid([9; 16])).map(|n| &**n), Some("t"));
    assert_eq!(w.cluster.topic_by_id(Uuid([1; 16])), None);
}

#[test]
fn a_topic_without_leader_is_asked_for_again_more_and_more_slowly() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    let mut asked = 0;
    for _ in 0..200 {
        w.run_ms(50);
        if !w.asked.is_empty() {
            asked += 1;
            w.answer(&metadata(vec![topic("t", 1, &[(-1, 1)])]));
        }
    }
    assert!((10..60).contains(&asked), "{asked} requests in 10 s");
    w.run_ms(2_000);
    w.answer(&metadata(vec![topic("t", 1, &[(1, 2)])]));
    w.changes();
    w.run_ms(60_000);
    assert!(w.asked.is_empty(), "complete metadata is left alone");
}

#[test]
fn a_leader_hint_is_news_only_with_a_newer_epoch() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.changes();
    let three = NodeInfo {
        host: "three".into(),
        port: 1,
        rack: None,
    };
    let mut ctx = ctx!(w);
    assert!(!w.cluster.update_leader(&mut ctx, "t", 0, NodeId(1), 5, None));
    assert!(
        !w.cluster.update_leader(&mut ctx, "t", 0, NodeId(7), 6, None),
        "nobody knows broker 7"
    );
    assert!(w.cluster.update_leader(&mut ctx, "t", 0, NodeId(3), 6, Some(three)));
    assert_eq!(w.cluster.leader("t", 0), Some(NodeId(3)));
    assert_eq!(w.changes(), ["t"]);
}

#[test]
fn calls_fail_at_their_deadline_with_the_last_reason() {
    let mut w = World::new("one");
    w.refused = true;
    let reply = Reply::new();
    let mut ctx = ctx!(w);
    let command = Command::Metadata {
        scope: MetadataScope::AllTopics,
        deadline: ctx.now.plus_ms(700),
        reply: reply.clone(),
    };
    w.cluster.on_command(&mut ctx, command);
    w.run_ms(699);
    assert!(reply.try_take().is_none());
    w.run_ms(2);
    let error = reply.try_take().unwrap().unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TRANSPORT);
    assert!(error.message.contains("Connection refused"), "{error}");
}

#[test]
fn a_call_keeps_its_deadline_while_a_connection_hangs() {
    let mut w = World::new("one");
    w.hangs = true;
    let reply = Reply::new();
    let mut ctx = ctx!(w);
    let command = Command::Metadata {
        scope: MetadataScope::AllTopics,
        deadline: ctx.now.plus_ms(200),
        reply: reply.clone(),
    };
    w.cluster.on_command(&mut ctx, command);
    let end = w.now.plus_ms(200);
    while w.now < end {
        let wake = w.settle().expect("there is a deadline");
        assert!(wake <= end, "sleeps past the deadline");
        w.now = wake;
    }
    w.settle();
    assert!(reply.try_take().is_some_and(|r| r.is_err()));
}

#[test]
fn a_broker_that_left_is_forgotten() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.cluster.stale("t", w.now);
    w.run_ms(500);
    let mut response = metadata(vec![topic("t", 1, &[(1, 6)])]);
    response.brokers.pop();
    w.answer(&response);
    assert!(w.cluster.node(NodeId(2)).is_none());
    assert!(w.links.address(LinkKey::general(NodeId(2))).is_none());
}

#[test]
fn an_outage_of_known_brokers_begins_again_with_the_bootstrap_addresses() {
    for (strategy, forgets) in [("rebootstrap", true), ("none", false)] {
        let mut w = World::with("boot", &[("metadata.recovery.strategy", strategy)]);
        w.cluster.watch(&name("t"), w.now);
        w.settle();
        w.answer(&metadata(vec![topic("t", 1, &[(-1, 5)])]));
        w.looked_up.clear();
        w.refused = true;
        for conn in std::mem::take(&mut w.conns) {
            let reason = crate::connection::CloseReason::Io("reset".into());
            w.links.on_net(NetEvent::Closed { conn, reason }, w.now);
        }
        w.run_ms(20_000);
        assert_eq!(w.cluster.node(NodeId(1)).is_none(), forgets, "{strategy}");
        assert_eq!(
            w.looked_up.iter().any(|h| h == "boot"),
            forgets,
            "{strategy}: {:?}",
            w.looked_up
        );
    }
}

#[test]
fn blacklisted_topics_stay_unknown() {
    let mut w = World::with("one", &[("topic.blacklist", "^secret")]);
    w.cluster.watch(&name("secret-1"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("secret-1", 1, &[(1, 5)])]));
    assert!(w.cluster.topic("secret-1").is_none());
}

#[test]
fn a_leader_that_no_broker_list_names_is_asked_for_again_soon() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.cluster.stale("t", w.now);
    w.run_ms(500);
    // A broker that lags behind names an older leader, and not the present one's address.
    let mut lagging = metadata(vec![topic("t", 1, &[(1, 4)])]);
    lagging.brokers.pop();
    w.answer(&lagging);
    assert_eq!(w.cluster.leader("t", 0), Some(NodeId(2)));
    w.changes();
    w.run_ms(1_000);
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    assert_eq!(w.changes(), ["t"], "whoever waited for the address hears of it");
}
