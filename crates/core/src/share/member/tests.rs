//! Members of share groups. Heartbeats are held, so that each test decides when the coordinator reads one.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_mock::{BrokerId, CoordinatorKind, ErrorCode as BrokerError, FaultAction};
use ottla_protocol::api::metadata::MetadataRequest;
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

// -------------------------------------------------------------------- joining, changes

#[test]
fn heartbeat_is_complete_only_when_joining() {
    let mut w = world();
    subscribe(&mut w, &["t", "^t"]);
    let joining = accept(&mut w);
    assert_eq!((joining.member_epoch, joining.member_id.len()), (0, 22));
    assert_eq!(joining.rack_id.as_deref(), Some("r1"));
    // A leading ^ has no meaning, and is invalid in a topic's name.
    assert_eq!(joining.subscribed_topic_names, names(&["^t", "t"]));
    let invalid = Got::TopicError("^t".into(), ErrorCode::TOPIC_EXCEPTION);
    assert_eq!(take(&mut w), [invalid, assigned(&["t-0", "t-1"])]);
    assert_eq!((w.core.member.public_state(), w.core.member.epoch), ("steady", 1));
    w.run_ms(4900);
    no_beat(&mut w);
    w.run_ms(100);
    let next = accept(&mut w);
    assert_eq!((next.member_epoch, &next.member_id), (1, &joining.member_id));
    assert_eq!((next.rack_id, next.subscribed_topic_names), (None, None));
    assert!(take(&mut w).is_empty());
}

#[test]
fn changed_subscription_is_sent_at_once_without_the_rest() {
    let mut w = world();
    join(&mut w);
    w.add_topic("u", &[1]);
    subscribe(&mut w, &["u"]);
    let changed = accept(&mut w);
    assert_eq!((changed.member_epoch, changed.rack_id), (1, None));
    assert_eq!(changed.subscribed_topic_names, names(&["u"]));
    assert_eq!(take(&mut w), [assigned(&["u-0"])]);
    assert_eq!(w.core.member.subscription(), ["u"]);
}

#[test]
fn topic_is_assigned_once_it_exists() {
    let mut w = world();
    subscribe(&mut w, &["later"]);
    accept(&mut w);
    w.run_ms(2000);
    assert!(take(&mut w).is_empty());
    w.add_topic("later", &[1]);
    w.run_ms(3500);
    accept(&mut w);
    w.run_ms(1000);
    assert_eq!(take(&mut w), [assigned(&["later-0"])]);
}

#[test]
fn invalid_topic_name_is_reported_once() {
    let mut w = world();
    subscribe(&mut w, &["no name!"]);
    w.run_ms(2000);
    let invalid = Got::TopicError("no name!".into(), ErrorCode::TOPIC_EXCEPTION);
    assert_eq!(take(&mut w), [invalid]);
}

#[test]
fn partitions_of_an_unknown_topic_id_are_added_with_its_name() {
    let mut w = world();
    w.add_topic("u", &[1]);
    let (t, u) = (w.brokers().topic_id("t").unwrap(), w.brokers().topic_id("u").unwrap());
    subscribe(&mut w, &["t"]);
    w.drain::<MetadataRequest>();
    w.hold(ApiKey::METADATA);
    assign_instead(&mut w, 1, &[(t, &[1]), (u, &[0])]);
    assert_eq!(take(&mut w), [assigned(&["t-1"])]);
    let (arrival, lookup) = w.expect::<MetadataRequest>();
    let ids: Vec<Uuid> = lookup.topics.unwrap().iter().map(|t| t.topic_id).collect();
    assert_eq!(ids, [u]);
    w.serve(&arrival);
    let MemberAction::Assigned(rows) = w.core.member.take_actions().remove(0) else {
        panic!("no assignment");
    };
    let ids: BTreeSet<Uuid> = rows.iter().map(|r| r.topic_id).collect();
    assert_eq!((rows.len(), ids), (2, BTreeSet::from([t, u])));
}

// -------------------------------------------------------------------- errors of the coordinator

#[test]
fn heartbeat_after_a_failed_one_is_complete() {
    let mut w = world();
    join(&mut w);
    w.run_ms(5000);
    assert_eq!(
        refuse(&mut w, BrokerError::COORDINATOR_LOAD_IN_PROGRESS).subscribed_topic_names,
        None
    );
    w.run_ms(1000);
    let again = accept(&mut w);
    assert_eq!((again.member_epoch, again.rack_id.as_deref()), (1, Some("r1")));
    assert_eq!(again.subscribed_topic_names, names(&["t"]));
    assert!(take(&mut w).is_empty());
}

#[test]
fn unknown_member_joins_again_at_once() {
    let mut w = world();
    let id = join(&mut w);
    w.run_ms(5000);
    refuse(&mut w, BrokerError::UNKNOWN_MEMBER_ID);
    assert_eq!(take(&mut w), [assigned(&[])]);
    let (_, again) = beat(&mut w);
    assert_eq!((again.member_epoch, again.member_id), (0, id));
    assert_eq!(again.subscribed_topic_names, names(&["t"]));
    no_beat(&mut w);
}

#[test]
fn fenced_member_leaves_before_it_joins_again() {
    let mut w = world();
    let id = join(&mut w);
    // The coordinator accepts epoch 0 from a member of epoch 1, whose response may have been lost.
    for (topic, epoch) in [("u", 1), ("t", 2)] {
        subscribe(&mut w, &[topic]);
        assert_eq!(accept(&mut w).member_epoch, epoch);
    }
    assert_eq!(take(&mut w), [assigned(&[]), assigned(&["t-0", "t-1"])]);
    w.run_ms(5000);
    refuse(&mut w, BrokerError::FENCED_MEMBER_EPOCH);
    let leave = accept(&mut w);
    assert_eq!((leave.member_epoch, &leave.member_id), (-1, &id));
    assert_eq!(accept(&mut w).member_epoch, 0);
    assert_eq!(take(&mut w), [assigned(&[]), assigned(&["t-0", "t-1"])]);
    assert_eq!(w.brokers().group_members("g"), [id]);
}

#[test]
fn fenced_join_backs_off() {
    let mut w = world();
    join(&mut w);
    w.run_ms(5000);
    let mut joins = 0;
    let end = w.now.plus_ms(20_000);
    while w.now < end {
        while let Some((arrival, request)) = w.next::<ShareGroupHeartbeatRequest>() {
            joins += usize::from(request.member_epoch == 0);
            w.fail(&arrival, FaultAction::Error(BrokerError::FENCED_MEMBER_EPOCH));
        }
        w.run_ms(10);
    }
    assert!((10..50).contains(&joins), "{joins}");
    assert_eq!(take(&mut w), [assigned(&[])]);
    w.release(ApiKey::SHARE_GROUP_HEARTBEAT);
    w.run_ms(2000);
    assert_eq!(take(&mut w), [assigned(&["t-0", "t-1"])]);
}

#[test]
fn new_coordinator_gets_a_complete_heartbeat() {
    let mut w = world();
    join(&mut w);
    w.brokers().set_coordinator(CoordinatorKind::Group, "g", BrokerId(2));
    w.run_ms(5000);
    accept(&mut w);
    w.run_ms(500);
    let (arrival, request) = beat(&mut w);
    assert_eq!((arrival.node, request.member_epoch), (2, 1));
    assert_eq!(request.subscribed_topic_names, names(&["t"]));
    assert!(take(&mut w).is_empty());
}

#[test]
fn lost_connection_keeps_the_membership() {
    let mut w = world();
    join(&mut w);
    w.run_ms(5000);
    beat(&mut w);
    w.disconnect(1);
    w.run_ms(1000);
    let again = accept(&mut w);
    assert_eq!((again.member_epoch, again.subscribed_topic_names), (1, names(&["t"])));
    assert!(take(&mut w).is_empty());
}

#[test]
fn fatal_errors_end_the_membership() {
    for code in [
        BrokerError::INVALID_REQUEST,
        BrokerError::GROUP_MAX_SIZE_REACHED,
        BrokerError::UNSUPPORTED_VERSION,
        BrokerError::GROUP_AUTHORIZATION_FAILED,
        BrokerError::GROUP_ID_NOT_FOUND,
    ] {
        let mut w = world();
        join(&mut w);
        w.run_ms(5000);
        refuse(&mut w, code);
        assert_eq!(take(&mut w), [Got::Fatal(code.into()), assigned(&[])]);
        assert!(w.core.member.is_inactive());
        w.run_ms(60_000);
        no_beat(&mut w);
        subscribe(&mut w, &["t"]);
        assert_eq!(beat(&mut w).1.member_epoch, 0);
    }
}

#[test]
fn brokers_without_share_groups_are_reported() {
    for versions in [None, Some((0, 0))] {
        let mut w = world();
        w.brokers().set_api_versions(ApiKey::SHARE_GROUP_HEARTBEAT, versions);
        subscribe(&mut w, &["t"]);
        let actions = w.core.member.take_actions();
        let [MemberAction::ReportError(error)] = &actions[..] else {
            panic!("{actions:?}");
        };
        assert_eq!((error.code, error.fatal), (ErrorCode::UNSUPPORTED_VERSION, true));
        assert!(error.message.contains("Kafka 4.1 or later"), "{}", error.message);
        assert!(error.message.contains("share.version=1"), "{}", error.message);
        assert!(w.core.member.is_inactive());
        w.run_ms(60_000);
        no_beat(&mut w);
    }
}

#[test]
fn topic_authorization_is_reported_once_while_joining() {
    let mut w = world();
    subscribe(&mut w, &["t"]);
    for _ in 0..3 {
        refuse(&mut w, BrokerError::TOPIC_AUTHORIZATION_FAILED);
        w.run_ms(4900);
        no_beat(&mut w);
        w.run_ms(200);
    }
    assert_eq!(take(&mut w), [Got::Error(ErrorCode::TOPIC_AUTHORIZATION_FAILED)]);
    accept(&mut w);
    assert_eq!(take(&mut w), [assigned(&["t-0", "t-1"])]);
}

#[test]
fn refused_subscription_keeps_the_membership_until_another() {
    let mut w = world();
    join(&mut w);
    subscribe(&mut w, &["secret"]);
    refuse(&mut w, BrokerError::TOPIC_AUTHORIZATION_FAILED);
    assert_eq!(take(&mut w), [Got::Error(ErrorCode::TOPIC_AUTHORIZATION_FAILED)]);
    w.run_ms(5100);
    for _ in 0..2 {
        let next = accept(&mut w);
        assert_eq!((next.member_epoch, next.subscribed_topic_names), (1, None));
        w.run_ms(5000);
    }
    accept(&mut w);
    assert!(take(&mut w).is_empty());
    // The same subscription again: its cause may be gone.
    subscribe(&mut w, &["secret"]);
    assert_eq!(accept(&mut w).subscribed_topic_names, names(&["secret"]));
}

// -------------------------------------------------------------------- leaving

#[test]
fn unsubscribed_member_leaves() {
    let mut w = world();
    let id = join(&mut w);
    unsubscribe(&mut w);
    assert_eq!(take(&mut w), [assigned(&[])]);
    assert!(!w.core.member.is_inactive());
    let leave = accept(&mut w);
    assert_eq!((leave.member_epoch, &leave.member_id), (-1, &id));
    assert_eq!((leave.rack_id, leave.subscribed_topic_names), (None, None));
    assert!(w.core.member.is_inactive() && w.core.member.subscription().is_empty());
    assert_eq!(w.core.member.member_id(), id);
    assert!(w.brokers().group_members("g").is_empty());
    subscribe(&mut w, &["t"]);
    let again = accept(&mut w);
    assert_eq!((again.member_epoch, again.member_id), (0, id));
    assert_eq!(take(&mut w), [assigned(&["t-0", "t-1"])]);
}

#[test]
fn joining_member_leaves_after_the_answer() {
    let mut w = world();
    subscribe(&mut w, &["t"]);
    let (joining, _) = beat(&mut w);
    unsubscribe(&mut w);
    no_beat(&mut w);
    w.serve(&joining);
    assert_eq!(accept(&mut w).member_epoch, -1);
    assert!(w.core.member.is_inactive() && take(&mut w).is_empty());
}

#[test]
fn errors_of_a_leaving_member_are_not_reported() {
    for code in [
        BrokerError::GROUP_ID_NOT_FOUND,
        BrokerError::UNKNOWN_MEMBER_ID,
        BrokerError::GROUP_AUTHORIZATION_FAILED,
    ] {
        let mut w = world();
        join(&mut w);
        w.run_ms(5000);
        let (heartbeat, _) = beat(&mut w);
        unsubscribe(&mut w);
        assert_eq!(take(&mut w), [assigned(&[])]);
        w.fail(&heartbeat, FaultAction::Error(code));
        if !w.core.member.is_inactive() {
            assert_eq!(refuse(&mut w, code).member_epoch, -1);
        }
        assert!(w.core.member.is_inactive() && take(&mut w).is_empty(), "{code:?}");
    }
}

#[test]
fn subscribing_before_the_leave_is_sent_keeps_the_membership() {
    let mut w = world();
    join(&mut w);
    w.run_ms(5000);
    let (heartbeat, _) = beat(&mut w);
    unsubscribe(&mut w);
    subscribe(&mut w, &["t"]);
    assert_eq!(take(&mut w), [assigned(&[]), assigned(&["t-0", "t-1"])]);
    w.serve(&heartbeat);
    no_beat(&mut w);
    w.run_ms(5000);
    assert_eq!(accept(&mut w).member_epoch, 1);
}

#[test]
fn subscribing_after_the_leave_is_sent_joins_again() {
    let mut w = world();
    join(&mut w);
    unsubscribe(&mut w);
    let (leave, request) = beat(&mut w);
    assert_eq!(request.member_epoch, -1);
    subscribe(&mut w, &["t"]);
    no_beat(&mut w);
    w.serve(&leave);
    assert_eq!(accept(&mut w).member_epoch, 0);
    assert_eq!(take(&mut w), [assigned(&[]), assigned(&["t-0", "t-1"])]);
}

#[test]
fn leave_is_repeated_at_the_new_coordinator() {
    let mut w = world();
    join(&mut w);
    w.brokers().set_coordinator(CoordinatorKind::Group, "g", BrokerId(2));
    unsubscribe(&mut w);
    accept(&mut w);
    assert!(!w.core.member.is_inactive());
    w.run_ms(500);
    let (arrival, request) = beat(&mut w);
    assert_eq!((arrival.node, request.member_epoch), (2, -1));
    w.serve(&arrival);
    assert!(w.core.member.is_inactive());
}

#[test]
fn unanswered_leave_ends_with_its_timeout() {
    let mut w = world();
    join(&mut w);
    unsubscribe(&mut w);
    beat(&mut w);
    w.run_ms(6000);
    assert!(w.core.member.is_inactive());
}

// -------------------------------------------------------------------- max.poll.interval.ms

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

#[test]
fn max_poll_exceeded_leaves_until_the_next_poll() {
    let mut w = world();
    let id = join(&mut w);
    exceed_max_poll(&mut w);
    exceed_max_poll(&mut w);
    let exceeded = Got::Error(ErrorCode::L_MAX_POLL_EXCEEDED);
    assert_eq!(take(&mut w), [exceeded, assigned(&[])]);
    assert_eq!(accept(&mut w).member_epoch, -1);
    w.run_ms(60_000);
    no_beat(&mut w);
    assert!(!w.core.member.is_inactive());
    poll_again(&mut w);
    w.run_ms(200);
    let again = accept(&mut w);
    assert_eq!((again.member_epoch, again.member_id), (0, id));
    assert_eq!(take(&mut w), [assigned(&["t-0", "t-1"])]);
}

#[test]
fn max_poll_exceeded_does_not_wait_for_a_heartbeat() {
    let mut w = world();
    join(&mut w);
    w.run_ms(5000);
    let (heartbeat, _) = beat(&mut w);
    exceed_max_poll(&mut w);
    let (leave, request) = beat(&mut w);
    assert_eq!(request.member_epoch, -1);
    w.serve(&heartbeat);
    w.serve(&leave);
    w.run_ms(10_000);
    no_beat(&mut w);
    assert!(w.brokers().group_members("g").is_empty());
    unsubscribe(&mut w);
    assert!(w.core.member.is_inactive());
}

#[test]
fn heartbeat_now_does_not_wait_for_the_interval() {
    let mut w = world();
    join(&mut w);
    no_beat(&mut w);
    w.core.member.heartbeat_now(w.now);
    w.drive();
    let request = accept(&mut w);
    assert_eq!((request.member_epoch, request.subscribed_topic_names), (1, None));
    no_beat(&mut w);
}

#[test]
fn abandoned_member_sends_nothing() {
    let mut w = world();
    join(&mut w);
    exceed_max_poll(&mut w);
    w.core.member.abandon();
    assert!(w.core.member.is_inactive());
    w.drain::<ShareGroupHeartbeatRequest>();
    w.run_ms(60_000);
    no_beat(&mut w);
}
