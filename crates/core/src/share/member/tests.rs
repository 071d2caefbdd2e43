//! Members of share groups. Heartbeats are held, so that each test decides when the coordinator reads one.

mod errors;
mod joining;
mod leaving;

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_mock::{BrokerId, CoordinatorKind, ErrorCode as BrokerError, FaultAction};
use ottla_protocol::api::share_group_heartbeat::{
    Assignment, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse, TopicPartitions,
};
use ottla_protocol::{ApiKey, Uuid};

use super::{MemberAction, ShareMember};
use crate::cluster::{Change, Cluster, Coordinator};
use crate::config::ClientConfig;
use crate::connection::{
    BrokerKey, ConnectionConfig, ConnectionEvent, ConnectionTable, NetAction, NetEvent, Outcome, Owner, Tag,
};
use crate::context::Ctx;
use crate::error::ErrorCode;
use crate::log::Logger;
use crate::membership::CoordinatorConnection;
use crate::request::{CoordinatorType, RequestIds};
use crate::sys::{Instant, Rng, earliest};
use crate::test_kit::{Arrival, Client, World, WorldBuilder};
use crate::types::ClientKind;

/// A member with what it needs of a client: connections, the metadata manager and the coordinator's look-up.
struct MemberClient {
    cluster: Cluster,
    connections: ConnectionTable,
    rng: Rng,
    log: Logger,
    conf: ClientConfig,
    coordinator: Coordinator,
    member: ShareMember,
    ids: RequestIds,
}

macro_rules! ctx {
    ($client:expr, $now:expr) => {
        Ctx {
            now: $now,
            wall_ms: 0,
            connections: &mut $client.connections,
            rng: &mut $client.rng,
            log: &$client.log,
            conf: &$client.conf,
        }
    };
}

impl MemberClient {
    fn on_outcome(&mut self, now: Instant, key: BrokerKey, tag: Tag, outcome: Outcome) {
        let mut ctx = ctx!(self, now);
        if tag.owner != Owner::ShareGroup {
            return self.cluster.on_outcome(&mut ctx, key, tag.id, outcome);
        }
        if self.coordinator.on_outcome(&mut ctx, key, tag.id, &outcome) {
            return;
        }
        if self.member.on_outcome(&mut ctx, &self.cluster, key, tag.id, outcome) {
            self.coordinator.forget(&mut ctx);
        }
    }

    fn poll_member(&mut self, now: Instant) -> Option<Instant> {
        let mut ctx = ctx!(self, now);
        if self.member.has_work(now) {
            let cluster = &mut self.cluster;
            if let Some(broker) = self.coordinator.connection(&mut ctx, cluster, "g", &mut self.ids) {
                let to = CoordinatorConnection {
                    broker: &broker,
                    group_id: "g",
                    commits_first: false,
                };
                self.member.send(&mut ctx, &to, &mut self.ids);
            }
        }
        let search = match self.member.has_work(now) {
            true => self.coordinator.wake(now),
            false => None,
        };
        earliest(search, self.member.wake().filter(|at| *at > now))
    }
}

impl Client for MemberClient {
    type Shared = ();

    fn on_net(&mut self, event: NetEvent, now: Instant) {
        self.connections.on_net(event, now);
    }

    fn drive(&mut self, now: Instant, _: i64) -> Option<Instant> {
        self.connections.poll(now);
        while let Some(event) = self.connections.next_event() {
            match event {
                ConnectionEvent::Up { key } => self.cluster.on_connection_up(&mut ctx!(self, now), key),
                ConnectionEvent::Down { key, error, .. } => {
                    let mut ctx = ctx!(self, now);
                    self.coordinator.on_connection_down(&mut ctx, key, error.as_ref());
                    self.cluster.on_connection_down(&mut ctx, error.as_ref());
                }
                ConnectionEvent::Outcome { key, tag, outcome } => self.on_outcome(now, key, tag, outcome),
                _ => {}
            }
        }
        let wake = self.cluster.poll(&mut ctx!(self, now));
        while let Some(change) = self.cluster.next_change() {
            if let Change::Topic(name) = change {
                self.member.on_topic_changed(&self.cluster, &name);
            }
        }
        let wake = earliest(wake, self.poll_member(now));
        match self.connections.has_event() {
            true => Some(now),
            false => earliest(wake, self.connections.next_wake()),
        }
    }

    fn next_action(&mut self) -> Option<NetAction> {
        self.connections.next_action()
    }

    fn metadata(&mut self) -> &mut Cluster {
        &mut self.cluster
    }
}

type MemberWorld = World<MemberClient>;
type Beat = (Arrival, ShareGroupHeartbeatRequest);

/// A world with topic `t` of two partitions, whose coordinator assigns new partitions at once.
fn world() -> MemberWorld {
    let mut w = WorldBuilder::new(ClientKind::ShareConsumer).build_part(
        &[("group.id", "g"), ("client.rack", "r1")],
        |conf, log, now| {
            let mut client = MemberClient {
                cluster: Cluster::default(),
                connections: ConnectionTable::new(ConnectionConfig::new(&conf), Rng::from_seed(3)),
                rng: Rng::from_seed(4),
                log,
                coordinator: Coordinator::new(CoordinatorType::Group, Owner::ShareGroup),
                member: ShareMember::new(&conf),
                conf,
                ids: RequestIds::default(),
            };
            let bootstrap = "broker1:9001";
            client.cluster.add_bootstrap_list(&mut ctx!(client, now), bootstrap);
            client
        },
    );
    w.brokers().configure_share_groups(|c| c.state_initialization_us = None);
    w.add_topic("t", &[1, 1]);
    w.hold(ApiKey::SHARE_GROUP_HEARTBEAT);
    w
}

fn subscribe(w: &mut MemberWorld, topics: &[&str]) {
    let topics: BTreeSet<Arc<str>> = topics.iter().map(|t| Arc::from(*t)).collect();
    let client = &mut w.core;
    client
        .member
        .subscribe(&mut ctx!(client, w.now), &mut client.cluster, topics);
    w.run_ms(200);
}

fn unsubscribe(w: &mut MemberWorld) {
    let client = &mut w.core;
    client.member.unsubscribe(&mut ctx!(client, w.now), &mut client.cluster);
    w.drive();
}

fn exceed_max_poll(w: &mut MemberWorld) {
    let client = &mut w.core;
    client.member.leave_on_max_poll(&ctx!(client, w.now), 100);
    w.drive();
}

fn poll_again(w: &mut MemberWorld) {
    let client = &mut w.core;
    client.member.rejoin_on_poll(&ctx!(client, w.now));
    w.drive();
}

fn beat(w: &mut MemberWorld) -> Beat {
    w.expect::<ShareGroupHeartbeatRequest>()
}

fn no_beat(w: &mut MemberWorld) {
    assert!(w.next::<ShareGroupHeartbeatRequest>().is_none());
}

/// Passes on the next heartbeat and returns it.
fn accept(w: &mut MemberWorld) -> ShareGroupHeartbeatRequest {
    let (arrival, request) = beat(w);
    w.serve(&arrival);
    request
}

/// Fails the next heartbeat and returns it.
fn refuse(w: &mut MemberWorld, error: BrokerError) -> ShareGroupHeartbeatRequest {
    let (arrival, request) = beat(w);
    w.fail(&arrival, FaultAction::Error(error));
    request
}

/// Answers the next heartbeat with an assignment in place of the coordinator.
fn assign_instead(w: &mut MemberWorld, epoch: i32, rows: &[(Uuid, &[i32])]) {
    let (arrival, request) = beat(w);
    let topics = rows.iter().map(|(topic_id, partitions)| TopicPartitions {
        topic_id: *topic_id,
        partitions: partitions.to_vec(),
        ..Default::default()
    });
    let response = ShareGroupHeartbeatResponse {
        member_id: Some(request.member_id),
        member_epoch: epoch,
        heartbeat_interval_ms: 5000,
        assignment: Some(Assignment {
            topic_partitions: topics.collect(),
            ..Default::default()
        }),
        ..Default::default()
    };
    w.answer(&arrival, &response);
}

/// Joins with topic `t`. Returns the member id.
fn join(w: &mut MemberWorld) -> String {
    subscribe(w, &["t"]);
    let request = accept(w);
    assert_eq!(request.member_epoch, 0);
    assert_eq!(take(w), [assigned(&["t-0", "t-1"])]);
    request.member_id
}

/// An action in short.
#[derive(Debug, PartialEq, Eq)]
enum Got {
    Assigned(Vec<String>),
    Error(ErrorCode),
    Fatal(ErrorCode),
    TopicError(String, ErrorCode),
}

fn assigned(partitions: &[&str]) -> Got {
    Got::Assigned(partitions.iter().map(|p| (*p).to_owned()).collect())
}

fn take(w: &mut MemberWorld) -> Vec<Got> {
    let actions = w.core.member.take_actions().into_iter();
    let shorten = |action| match action {
        MemberAction::Assigned(rows) => {
            Got::Assigned(rows.iter().map(|r| format!("{}-{}", r.topic, r.partition)).collect())
        }
        MemberAction::ReportError(error) if error.fatal => Got::Fatal(error.code),
        MemberAction::ReportError(error) => Got::Error(error.code),
        MemberAction::ReportTopicError(topic, error) => Got::TopicError(topic.to_string(), error.code),
    };
    actions.map(shorten).collect()
}

fn names(topics: &[&str]) -> Option<Vec<String>> {
    Some(topics.iter().map(|t| (*t).to_owned()).collect())
}
