use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::ApiKey;
use ottla_protocol::api::find_coordinator::FindCoordinatorRequest;

use super::*;
use crate::config::{ClientConfig, Conf};
use crate::connection::{
    BrokerKey, BrokerVersions, ConnectionConfig, ConnectionTable, Failure, FailureKind, Outcome, Reply,
};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, Logger};
use crate::sys::{Instant, Rng};
use crate::types::{ClientKind, NodeId, TopicPartition};

fn key() -> BrokerKey {
    BrokerKey::general(NodeId(1))
}

struct World {
    connections: ConnectionTable,
    rng: Rng,
    log: Logger,
    conf: ClientConfig,
    now: Instant,
}

impl World {
    /// A world with pauses of 100 ms to 400 ms.
    fn new() -> Self {
        let mut conf = Conf::new();
        conf.set("retry.backoff.ms", "100").unwrap();
        conf.set("retry.backoff.max.ms", "400").unwrap();
        conf.set("socket.timeout.ms", "5000").unwrap();
        let (conf, _) = conf.finalize(ClientKind::Producer).unwrap();
        World {
            connections: ConnectionTable::new(ConnectionConfig::new(&conf), Rng::from_seed(1)),
            rng: Rng::from_seed(2),
            log: Logger::new(Arc::new(|_| {}), 7, DebugContexts::default()),
            conf,
            now: Instant::from_micros(1_000_000),
        }
    }

    fn ctx(&mut self) -> Ctx<'_> {
        Ctx {
            now: self.now,
            wall_ms: 0,
            connections: &mut self.connections,
            rng: &mut self.rng,
            log: &self.log,
            conf: &self.conf,
        }
    }
}

fn unreachable() -> Error {
    Error::new(ErrorCode::L_TRANSPORT, "connection refused")
}

#[test]
fn ids_are_used_once() {
    let mut ids = RequestIds::default();
    let first = ids.next_tag(Owner::Admin);
    assert_eq!(
        first,
        Tag {
            owner: Owner::Admin,
            id: 1
        }
    );
    assert_ne!(ids.next(), first.id);
}

#[test]
fn pauses_double_up_to_retry_backoff_max_ms_and_start_over_after_a_success() {
    let mut w = World::new();
    let mut attempts = Attempts::default();
    assert!(attempts.is_due(w.now));
    let pauses: Vec<Duration> = (0..4).map(|_| attempts.back_off(&mut w.ctx())).collect();
    for (pause, (least, most)) in pauses.iter().zip([(80, 120), (160, 240), (320, 400), (320, 400)]) {
        let range = Duration::from_millis(least)..=Duration::from_millis(most);
        assert!(range.contains(pause), "{pause:?} is not in {range:?}");
    }
    assert_eq!((attempts.failed(), attempts.next_at()), (4, w.now + pauses[3]));
    assert!(!attempts.is_due(w.now) && attempts.is_due(w.now + pauses[3]));
    attempts.reset();
    assert!(attempts.back_off(&mut w.ctx()) <= Duration::from_millis(120));
    assert_eq!(attempts.failed(), 1);
}

#[test]
fn the_longest_pauses_vary_and_do_not_exceed_retry_backoff_max_ms() {
    let mut w = World::new();
    for failed in [2, 31, u32::MAX] {
        let pauses: Vec<Duration> = (0..100).map(|_| w.ctx().retry_delay(failed)).collect();
        assert_eq!(pauses.iter().max(), Some(&Duration::from_millis(400)));
        let least = pauses.iter().min().unwrap();
        assert!(
            (320..340).contains(&least.as_millis()),
            "{least:?} after {failed} failures"
        );
    }
    w.conf.retry_backoff_ms = 1000;
    assert!(
        w.ctx().retry_delay(0) <= Duration::from_millis(400),
        "the limit precedes retry.backoff.ms"
    );
}

#[test]
fn suspended_attempts_wait_until_they_are_hastened() {
    let mut attempts = Attempts::starting_at(Instant::ORIGIN);
    attempts.suspend();
    assert_eq!(attempts.next_at(), Instant::NEVER);
    let at = Instant::from_micros(5);
    attempts.hasten(at);
    attempts.hasten(at.plus_ms(1));
    assert_eq!(attempts.next_at(), at);
}

#[test]
fn rescheduled_attempts_keep_the_number_of_failures() {
    let mut w = World::new();
    let mut attempts = Attempts::default();
    attempts.back_off(&mut w.ctx());
    attempts.schedule(w.now);
    assert!(attempts.is_due(w.now));
    attempts.delay(w.now.plus_ms(5));
    attempts.delay(w.now.plus_ms(1));
    assert_eq!((attempts.next_at(), attempts.failed()), (w.now.plus_ms(5), 1));
}

#[test]
fn a_lengthened_pause_is_that_after_more_failures() {
    let mut w = World::new();
    let mut attempts = Attempts::default();
    attempts.lengthen(2);
    assert!(attempts.back_off(&mut w.ctx()) >= Duration::from_millis(320));
    attempts.lengthen(2);
    assert_eq!(attempts.failed(), 3);
}

#[test]
fn a_pending_request_is_sent_once_at_a_time_and_repeated_after_its_pause() {
    let mut w = World::new();
    let deadline = w.now.plus_ms(1000);
    let mut pending = PendingRequest::new(w.now, deadline);
    assert!(pending.may_send(w.now));
    assert_eq!(pending.next_at(), Some(w.now));
    assert_eq!(pending.wake(w.now), deadline, "it waits for a connection");

    pending.on_sent(key(), 7);
    assert!(!pending.may_send(w.now) && pending.is_in_flight(7) && !pending.is_in_flight(8));
    assert_eq!(pending.in_flight(), Some(InFlight { key: key(), id: 7 }));
    assert_eq!(pending.wake(w.now), deadline);
    assert_eq!(pending.next_at(), None);

    let pause = pending.retry(&mut w.ctx(), unreachable());
    assert!(!pending.may_send(w.now) && pending.in_flight().is_none());
    assert_eq!(pending.wake(w.now), w.now + pause);
    assert_eq!(pending.next_at(), Some(w.now + pause));
    assert!(pending.may_send(w.now + pause));
    pending.hasten(w.now);
    assert!(pending.may_send(w.now));
}

#[test]
fn a_pending_request_wakes_and_expires_at_its_deadline() {
    let mut w = World::new();
    let deadline = w.now.plus_ms(1);
    let mut pending = PendingRequest::new(w.now, deadline);
    pending.retry(&mut w.ctx(), unreachable());
    assert_eq!(pending.wake(w.now), deadline, "the retry is later");
    assert!(!pending.is_expired(w.now) && pending.is_expired(deadline));
    let error = pending.timeout_error("no answer");
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT);
    assert_eq!(error.message, "no answer; last error: connection refused");
    assert_eq!(pending.last_error(), Some(&unreachable()));
    pending.postpone(&mut w.ctx());
    assert_eq!(pending.last_error(), Some(&unreachable()), "it was no failure");
    assert!(!pending.may_send(w.now));
    let fresh = PendingRequest::new(w.now, deadline);
    assert_eq!(fresh.timeout_error("no answer").message, "no answer");
}

#[test]
fn an_answer_makes_the_next_pause_the_shortest_and_the_next_request_due() {
    let mut w = World::new();
    let mut pending = PendingRequest::new(w.now, Instant::NEVER);
    pending.retry(&mut w.ctx(), unreachable());
    let pause = pending.retry(&mut w.ctx(), unreachable());
    w.now += pause;
    pending.on_sent(key(), 1);
    pending.on_answer();
    assert!(pending.may_send(w.now));
    assert!(pending.retry(&mut w.ctx(), unreachable()) <= Duration::from_millis(120));
}

#[test]
fn versions_are_chosen_within_bounds() {
    let broker = |low, high| ReadyBroker {
        key: key(),
        versions: Arc::new(BrokerVersions::new([(ApiKey::FIND_COORDINATOR.0, low, high)])),
    };
    assert_eq!(broker(0, 3).version::<FindCoordinatorRequest>(), Ok(3));
    assert_eq!(broker(0, 3).version_within::<FindCoordinatorRequest>(1, 2), Ok(2));
    let error = broker(0, 3)
        .version_within::<FindCoordinatorRequest>(4, i16::MAX)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE);
    assert_eq!(error.message, "the broker does not support FindCoordinator");
    assert!(broker(3, 4).version_within::<FindCoordinatorRequest>(0, 2).is_err());
}

#[test]
fn the_response_timeout_is_at_least_socket_timeout_ms() {
    let mut w = World::new();
    let now = w.now;
    assert_eq!(response_timeout(&w.ctx(), now.plus_ms(10)), Duration::from_secs(5));
    assert_eq!(response_timeout(&w.ctx(), now.plus_ms(9000)), Duration::from_secs(9));
}

#[test]
fn outcomes_without_a_response_are_errors() {
    let failure = Failure {
        kind: FailureKind::Disconnected,
        written: true,
        error: unreachable(),
    };
    assert_eq!(reply_of(Outcome::Failed(failure)).unwrap_err(), unreachable());
    assert_eq!(reply_of(Outcome::Sent).unwrap_err().code, ErrorCode::L_FAIL);
}

#[test]
fn a_malformed_response_is_an_error_that_names_the_api() {
    let mut w = World::new();
    let reply = Reply {
        api: ApiKey::FIND_COORDINATOR,
        version: 0,
        body: Bytes::from_static(&[0, 0]),
        rtt: Duration::ZERO,
    };
    let error = decode::<FindCoordinatorRequest>(&mut w.ctx(), key(), &reply).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_BAD_MSG);
    assert!(
        error.message.starts_with("FindCoordinator response cannot be read: "),
        "{error}"
    );
    let malformed = response_of::<FindCoordinatorRequest>(&mut w.ctx(), key(), Outcome::Reply(reply));
    assert_eq!(malformed.unwrap_err().code, ErrorCode::L_BAD_MSG);
}

#[test]
fn error_codes_show_which_targets_have_moved() {
    let leader = Target::Leader(TopicPartition {
        topic: "t".into(),
        partition: 0,
    });
    let group = Target::Coordinator(CoordinatorType::Group, "g".into());
    let moved = |code| {
        [
            &Target::Any,
            &Target::Controller,
            &Target::Broker(NodeId(1)),
            &leader,
            &group,
        ]
        .map(|t| t.has_moved(code))
    };
    assert_eq!(moved(ErrorCode::NOT_CONTROLLER), [false, true, false, false, false]);
    assert_eq!(
        moved(ErrorCode::NOT_LEADER_FOR_PARTITION),
        [false, false, false, true, false]
    );
    assert_eq!(moved(ErrorCode::NOT_COORDINATOR), [false, false, false, false, true]);
    assert_eq!(moved(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS), [false; 5]);
    assert_eq!(moved(ErrorCode::TOPIC_AUTHORIZATION_FAILED), [false; 5]);
}
