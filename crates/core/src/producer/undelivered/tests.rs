//! The reports and retries for each error with which a record is not delivered, compared with `docs/ERRORS.md`.

use ottla_mock::{ApiKey, FaultAction};

use crate::error::ErrorCode;
use crate::test_kit::{Report, World, broker_error, report};
use crate::types::PersistStatus::{self, NotPersisted, Persisted, PossiblyPersisted};
use crate::types::offset;

const INVALID: i64 = offset::INVALID;

/// The outcome of a record when each request with it is rejected with the same code.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fate {
    /// Fails at once.
    Fails(PersistStatus),
    /// Sent again until `retries` is used up, then failed.
    Retried(PersistStatus),
    /// Encoded again three times, then failed.
    Remade,
    /// Sent again without limit.
    Follows,
    /// Sent again under new sequence numbers without limit.
    Renumbered,
    /// Delivered: the broker has it.
    Known,
}

use Fate::{Fails, Follows, Known, Remade, Renumbered, Retried};

type Code = ErrorCode;

const NOT: PersistStatus = NotPersisted;
const MAYBE: PersistStatus = PossiblyPersisted;

/// The code, whether it requests metadata, and the outcomes of a record of a plain and of an idempotent producer.
const BY_BROKERS: &[(ErrorCode, bool, Fate, Fate)] = &[
    // Transient errors.
    (Code::REQUEST_TIMED_OUT, false, Retried(MAYBE), Retried(MAYBE)),
    (Code::NOT_ENOUGH_REPLICAS, false, Retried(NOT), Retried(NOT)),
    (
        Code::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        false,
        Retried(MAYBE),
        Retried(MAYBE),
    ),
    (Code::NETWORK_EXCEPTION, true, Retried(MAYBE), Retried(MAYBE)),
    (Code::KAFKA_STORAGE_ERROR, true, Retried(MAYBE), Retried(MAYBE)),
    (Code::COORDINATOR_LOAD_IN_PROGRESS, false, Retried(NOT), Retried(NOT)),
    (Code::COORDINATOR_NOT_AVAILABLE, false, Retried(NOT), Retried(NOT)),
    (Code::NOT_COORDINATOR, false, Retried(NOT), Retried(NOT)),
    (Code::CONCURRENT_TRANSACTIONS, false, Follows, Follows),
    (Code::THROTTLING_QUOTA_EXCEEDED, false, Retried(NOT), Retried(NOT)),
    (Code::UNKNOWN_LEADER_EPOCH, false, Retried(NOT), Retried(NOT)),
    (Code::INVALID_MSG, false, Remade, Remade),
    // Outdated metadata.
    (Code::NOT_LEADER_FOR_PARTITION, true, Follows, Follows),
    (Code::LEADER_NOT_AVAILABLE, true, Follows, Follows),
    (Code::UNKNOWN_TOPIC_OR_PART, true, Follows, Follows),
    (Code::UNKNOWN_TOPIC_ID, true, Follows, Follows),
    (Code::INCONSISTENT_TOPIC_ID, true, Follows, Follows),
    (Code::REPLICA_NOT_AVAILABLE, true, Follows, Follows),
    (Code::FENCED_LEADER_EPOCH, true, Follows, Follows),
    // Permanent errors.
    (Code::UNKNOWN, false, Fails(MAYBE), Fails(MAYBE)),
    (ErrorCode(999), false, Fails(MAYBE), Fails(MAYBE)),
    (Code::MSG_SIZE_TOO_LARGE, false, Fails(NOT), Fails(NOT)),
    (Code::RECORD_LIST_TOO_LARGE, false, Fails(NOT), Fails(NOT)),
    (Code::TOPIC_EXCEPTION, false, Fails(NOT), Fails(NOT)),
    (Code::INVALID_REQUIRED_ACKS, false, Fails(NOT), Fails(NOT)),
    (Code::TOPIC_AUTHORIZATION_FAILED, false, Fails(NOT), Fails(NOT)),
    (Code::CLUSTER_AUTHORIZATION_FAILED, false, Fails(NOT), Fails(NOT)),
    (Code::INVALID_TIMESTAMP, false, Fails(NOT), Fails(NOT)),
    (Code::UNSUPPORTED_VERSION, false, Fails(NOT), Fails(NOT)),
    (Code::INVALID_REQUEST, false, Fails(NOT), Fails(NOT)),
    (Code::UNSUPPORTED_FOR_MESSAGE_FORMAT, false, Fails(NOT), Fails(NOT)),
    (Code::POLICY_VIOLATION, false, Fails(NOT), Fails(NOT)),
    (Code::UNSUPPORTED_COMPRESSION_TYPE, false, Fails(NOT), Fails(NOT)),
    (Code::INVALID_RECORD, false, Fails(NOT), Fails(NOT)),
    (Code::INVALID_TXN_STATE, false, Fails(NOT), Fails(NOT)),
    (Code::INVALID_PRODUCER_ID_MAPPING, false, Fails(NOT), Fails(NOT)),
    // Errors of sequence numbers, which only an idempotent producer has.
    (Code::OUT_OF_ORDER_SEQUENCE_NUMBER, false, Fails(NOT), Renumbered),
    (Code::UNKNOWN_PRODUCER_ID, false, Fails(NOT), Renumbered),
    (Code::INVALID_PRODUCER_EPOCH, false, Fails(NOT), Renumbered),
    (Code::PRODUCER_FENCED, false, Fails(NOT), Renumbered),
    (Code::DUPLICATE_SEQUENCE_NUMBER, false, Fails(MAYBE), Known),
];

/// A number of rejections above every limit of retries below.
const REFUSALS: usize = 9;

type Settings = &'static [(&'static str, &'static str)];

/// The settings of the producers in the table, and whether they are idempotent.
const KINDS: [(Settings, Settings, bool); 3] = [
    (&[("retries", "5")], &[("acks", "1")], false),
    (&[("retries", "5")], &[("acks", "all")], false),
    (&[("retries", "5"), ("enable.idempotence", "true")], &[], true),
];

/// Returns a producer with one topic of one partition, whose broker has accepted a first record.
fn begun(settings: &[(&str, &str)], topic: &[(&str, &str)]) -> World {
    let fixed = [("linger.ms", "0"), ("retry.backoff.ms", "100")];
    let settings: Vec<_> = fixed.iter().chain(settings).copied().collect();
    let mut w = World::one_partition(&settings, topic);
    w.produce("t", 0, "first").unwrap();
    while w.sent().is_empty() {
        w.run_ms(1);
    }
    w.acknowledge();
    assert_eq!(w.reports().len(), 1);
    w
}

/// A broker's answer to the requests with a record.
#[derive(Clone, Copy)]
struct Rejection {
    code: ErrorCode,
    /// The base offset in the response, which is scripted unless it is -1.
    base_offset: i64,
}

impl From<ErrorCode> for Rejection {
    fn from(code: ErrorCode) -> Self {
        Rejection { code, base_offset: -1 }
    }
}

/// Rejects the oldest request of those that wait.
fn reject(w: &mut World, Rejection { code, base_offset }: Rejection) {
    let sent = w.take_sent();
    let error = broker_error(code);
    match code {
        _ if base_offset >= 0 => w.answer_produce(&sent, |p| {
            p.error_code = error.0;
            p.base_offset = base_offset;
        }),
        // The broker has the batch.
        ErrorCode::DUPLICATE_SEQUENCE_NUMBER => w.treat(&sent, FaultAction::ErrorAfter(error)),
        _ => w.treat(&sent, FaultAction::Error(error)),
    }
}

/// The events of a record: requests with it, its report, a metadata request, and the fatal error.
type Story = (usize, Report, bool, Option<ErrorCode>);

/// Rejects every request with a record, [`REFUSALS`] times at most, then accepts it.
fn play(w: &mut World, rejection: impl Into<Rejection>) -> Story {
    let rejection = rejection.into();
    let asked = w.count(ApiKey::METADATA);
    w.produce("t", 0, "a").unwrap();
    w.drive();
    let mut requests = 0;
    loop {
        if let Some(report) = w.reports().pop() {
            w.run_ms(150);
            assert!(w.sent().is_empty(), "nothing is sent of a record that was reported");
            return (requests, report, w.count(ApiKey::METADATA) > asked, w.fatal());
        }
        if w.sent().is_empty() {
            w.run_ms(1300);
        }
        requests += 1;
        match requests <= REFUSALS {
            true => reject(w, rejection),
            false => w.acknowledge(),
        }
    }
}

#[test]
fn error_codes_of_brokers_have_the_documented_outcome() {
    for (code, refreshes, plain, idempotent) in BY_BROKERS {
        for (settings, topic, is_idempotent) in KINDS {
            let case = format!("{code:?} {settings:?} {topic:?}");
            let mut w = begun(settings, topic);
            let (requests, report, refreshed, fatal) = play(&mut w, *code);
            let outcome = (report.error, report.status);
            let ok = (ErrorCode::NO_ERROR, Persisted);
            let expected = match if is_idempotent { *idempotent } else { *plain } {
                Fails(status) => (1, (*code, status)),
                Retried(status) => (6, (*code, status)),
                Remade => (4, (*code, NOT)),
                Follows | Renumbered => (REFUSALS + 1, ok),
                Known => (1, ok),
            };
            assert_eq!((requests, outcome), expected, "{case}");
            assert_eq!(refreshed, *refreshes, "{case}: metadata");
            assert_eq!(fatal, None, "{case}");
            assert_eq!(w.accumulator().outstanding(), 0, "{case}");
            // The partition continues.
            w.produce("t", 0, "next").unwrap();
            w.run_ms(1300);
            w.acknowledge();
            let reports = w.reports();
            let next: Vec<_> = reports.iter().map(|r| (r.value.as_str(), r.error, r.status)).collect();
            assert_eq!(next, [("next", ErrorCode::NO_ERROR, Persisted)], "{case}");
        }
    }
}

#[test]
fn codes_without_a_row_fail_as_not_persisted() {
    for code in ottla_protocol::ErrorCode::known().map(ErrorCode::from) {
        if code.is_ok() || BY_BROKERS.iter().any(|row| row.0 == code) {
            continue;
        }
        for (settings, topic, _) in KINDS {
            let mut w = begun(settings, topic);
            let (requests, report, refreshed, fatal) = play(&mut w, code);
            let action = code.action();
            let expected = match (action.refreshes_metadata(), action.is_retriable()) {
                (true, _) => (REFUSALS + 1, ErrorCode::NO_ERROR, Persisted),
                (false, true) => (6, code, NOT),
                (false, false) => (1, code, NOT),
            };
            assert_eq!((requests, report.error, report.status), expected, "{code:?}");
            assert_eq!((refreshed, fatal), (action.refreshes_metadata(), None), "{code:?}");
        }
    }
}

#[test]
fn not_leader_with_base_offset_is_possibly_persisted() {
    for (code, acks, fate) in [
        (Code::NOT_LEADER_FOR_PARTITION, "all", Retried(MAYBE)),
        (Code::UNKNOWN_TOPIC_OR_PART, "all", Retried(MAYBE)),
        (Code::NOT_LEADER_FOR_PARTITION, "1", Follows),
        (Code::NOT_ENOUGH_REPLICAS, "all", Retried(NOT)),
    ] {
        let mut w = begun(&[("retries", "5")], &[("acks", acks)]);
        let (requests, report, ..) = play(&mut w, Rejection { code, base_offset: 7 });
        match fate {
            Follows => assert_eq!(requests, REFUSALS + 1, "{code:?} acks={acks}"),
            _ => assert_eq!((requests, Retried(report.status)), (6, fate), "{code:?} acks={acks}"),
        }
    }
}

/// The events besides rejections with which a record fails, simulated until it is reported.
struct Mishap {
    what: &'static str,
    settings: Settings,
    topic: Settings,
    play: fn(&mut World),
    error: ErrorCode,
    status: PersistStatus,
}

const IN_TIME: Settings = &[("message.timeout.ms", "2000")];
const SLOW: Settings = &[("retry.backoff.ms", "5000"), ("retry.backoff.max.ms", "5000")];
/// The idempotent producer needs one retry at least: everything below happens to both attempts.
const ONE: Settings = &[("retries", "1")];

const MISHAPS: &[Mishap] = &[
    Mishap {
        what: "no leader within message.timeout.ms",
        settings: &[],
        topic: IN_TIME,
        play: |w| {
            w.move_leader("t", 0, -1);
            w.refresh("t");
            w.run_ms(500);
            w.produce("t", 0, "a").unwrap();
            w.run_ms(2100);
        },
        error: Code::L_MSG_TIMED_OUT,
        status: NOT,
    },
    Mishap {
        what: "no connection within message.timeout.ms",
        settings: &[],
        topic: IN_TIME,
        play: |w| {
            w.take_down(&[1, 2, 3]);
            w.produce("t", 0, "a").unwrap();
            w.run_ms(2100);
        },
        error: Code::L_MSG_TIMED_OUT,
        status: NOT,
    },
    Mishap {
        what: "message.timeout.ms while a retry waits after a refusal",
        settings: SLOW,
        topic: IN_TIME,
        play: |w| {
            w.produce("t", 0, "a").unwrap();
            w.drive();
            w.refuse(Code::NOT_ENOUGH_REPLICAS);
            w.run_ms(2100);
        },
        error: Code::L_MSG_TIMED_OUT,
        status: NOT,
    },
    Mishap {
        what: "message.timeout.ms while a retry waits after a refusal that leaves doubt",
        settings: SLOW,
        topic: IN_TIME,
        play: |w| {
            w.produce("t", 0, "a").unwrap();
            w.drive();
            w.refuse(Code::REQUEST_TIMED_OUT);
            w.run_ms(2100);
        },
        error: Code::L_MSG_TIMED_OUT,
        status: MAYBE,
    },
    Mishap {
        what: "message.timeout.ms after the connection broke with the request written",
        settings: &[],
        topic: IN_TIME,
        play: |w| {
            w.produce("t", 0, "a").unwrap();
            w.drive();
            w.take_down(&[1, 2, 3]);
            w.run_ms(2100);
        },
        error: Code::L_MSG_TIMED_OUT,
        status: MAYBE,
    },
    Mishap {
        what: "message.timeout.ms in flight",
        settings: &[],
        topic: IN_TIME,
        play: |w| {
            w.produce("t", 0, "a").unwrap();
            w.run_ms(2100);
        },
        error: Code::L_MSG_TIMED_OUT,
        status: MAYBE,
    },
    Mishap {
        what: "socket.timeout.ms in flight",
        settings: &[("socket.timeout.ms", "500"), ("retries", "1")],
        topic: &[],
        play: |w| {
            w.produce("t", 0, "a").unwrap();
            w.run_ms(4000);
        },
        error: Code::L_TIMED_OUT,
        status: MAYBE,
    },
    Mishap {
        what: "socket.timeout.ms before anything was written, until message.timeout.ms",
        settings: &[("socket.timeout.ms", "200"), ("retries", "1")],
        topic: IN_TIME,
        play: |w| {
            w.block_produce();
            w.produce("t", 0, "a").unwrap();
            w.run_ms(1900);
            w.take_down(&[1, 2, 3]);
            w.run_ms(200);
        },
        error: Code::L_MSG_TIMED_OUT,
        status: NOT,
    },
    Mishap {
        what: "the connection breaks with the request written",
        settings: ONE,
        topic: &[],
        play: |w| {
            w.produce("t", 0, "a").unwrap();
            for _ in 0..2 {
                w.run_ms(1500);
                w.disconnect(1);
            }
        },
        error: Code::L_TRANSPORT,
        status: MAYBE,
    },
    Mishap {
        what: "a response that cannot be read",
        settings: ONE,
        topic: &[],
        play: |w| {
            w.produce("t", 0, "a").unwrap();
            for _ in 0..2 {
                w.run_ms(1500);
                let sent = w.take_sent();
                w.answer_produce_malformed(&sent);
            }
        },
        error: Code::L_BAD_MSG,
        status: MAYBE,
    },
    Mishap {
        what: "a response that leaves the partition out",
        settings: ONE,
        topic: &[],
        play: |w| {
            w.produce("t", 0, "a").unwrap();
            for _ in 0..2 {
                w.run_ms(1500);
                let mut sent = w.take_sent();
                sent.request.topic_data.clear();
                w.answer_produce(&sent, |_| {});
            }
        },
        error: Code::L_BAD_MSG,
        status: MAYBE,
    },
    Mishap {
        what: "purged from the queue",
        settings: &[("linger.ms", "1000")],
        topic: &[],
        play: |w| {
            w.produce("t", 0, "a").unwrap();
            w.purge(true, false);
        },
        error: Code::L_PURGE_QUEUE,
        status: NOT,
    },
    Mishap {
        what: "purged from the queue where it waits for a retry",
        settings: SLOW,
        topic: &[],
        play: |w| {
            w.produce("t", 0, "a").unwrap();
            w.drive();
            w.refuse(Code::REQUEST_TIMED_OUT);
            w.purge(true, false);
        },
        error: Code::L_PURGE_QUEUE,
        status: MAYBE,
    },
    Mishap {
        what: "purged in flight",
        settings: &[],
        topic: &[],
        play: |w| {
            w.produce("t", 0, "a").unwrap();
            w.drive();
            w.purge(false, true);
        },
        error: Code::L_PURGE_INFLIGHT,
        status: MAYBE,
    },
    Mishap {
        what: "the client closed before it was sent",
        settings: &[("linger.ms", "1000")],
        topic: &[],
        play: |w| {
            w.produce("t", 0, "a").unwrap();
            w.close();
        },
        error: Code::L_DESTROY,
        status: NOT,
    },
    Mishap {
        what: "the topic deleted for longer than topic.metadata.propagation.max.ms",
        settings: &[("topic.metadata.propagation.max.ms", "1000")],
        topic: &[],
        play: |w| {
            w.produce("t", 0, "a").unwrap();
            w.drive();
            w.brokers().delete_topic("t").unwrap();
            w.refuse(Code::UNKNOWN_TOPIC_OR_PART);
            w.run_ms(5000);
        },
        error: Code::UNKNOWN_TOPIC_OR_PART,
        status: NOT,
    },
];

#[test]
fn local_errors_have_the_documented_outcome() {
    for m in MISHAPS {
        for idempotent in ["false", "true"] {
            let case = format!("{}, enable.idempotence={idempotent}", m.what);
            let settings: Vec<_> = m
                .settings
                .iter()
                .chain(&[("enable.idempotence", idempotent)])
                .copied()
                .collect();
            let mut w = begun(&settings, m.topic);
            (m.play)(&mut w);
            assert_eq!(w.reports(), [report("a", m.error, m.status, INVALID)], "{case}");
            assert_eq!(w.fatal(), None, "{case}");
            assert_eq!(w.accumulator().outstanding(), 0, "{case}");
        }
    }
}

fn in_words(status: PersistStatus) -> &'static str {
    match status {
        NotPersisted => "not persisted",
        PossiblyPersisted => "possibly persisted",
        Persisted => "persisted",
    }
}

/// Returns the manual's row for a code; the idempotent producer's differences are in a separate table.
fn row_of_code(code: ErrorCode, refreshes: bool, plain: Fate, idempotent: Fate) -> String {
    let name = match code.name() {
        name if name.starts_with("ERR_") => "a code that is not known".to_owned(),
        name => format!("`{name}`"),
    };
    let again = match idempotent {
        Fails(_) => "no",
        Retried(_) => "counted",
        Remade => "encoded again, three times",
        Follows => "free",
        Renumbered => "under new sequence numbers, free",
        Known => "delivered: the broker has it",
    };
    let status = match idempotent {
        Fails(status) | Retried(status) => status,
        Remade | Follows | Renumbered => NotPersisted,
        Known => Persisted,
    };
    let status = in_words(status);
    match plain == idempotent {
        true if refreshes => format!("| {name} | {again} | requested | {status} |"),
        true => format!("| {name} | {again} | | {status} |"),
        false => format!("| {name} | {again} | {status} |"),
    }
}

#[test]
fn errors_document_matches_the_tables() {
    let manual = include_str!("../../../../../docs/ERRORS.md");
    let lines: Vec<&str> = manual.lines().collect();
    for (code, refreshes, plain, idempotent) in BY_BROKERS {
        let row = row_of_code(*code, *refreshes, *plain, *idempotent);
        assert!(lines.contains(&&*row), "missing: {row}");
    }
    for m in MISHAPS {
        let row = format!("| {} | `{}` | {} |", m.what, m.error.name(), in_words(m.status));
        assert!(lines.iter().any(|l| l.starts_with(&row)), "missing: {row}");
    }
    let count = |from: &str| {
        let section = manual.split("\n## ").find(|s| s.starts_with(from)).unwrap();
        section.lines().filter(|l| l.starts_with("| ")).count()
    };
    assert_eq!(
        count("Failures before a response"),
        MISHAPS.len() + 1,
        "rows with their head"
    );
    let of_codes = count("Refused by a broker") - 1;
    let of_numbers = BY_BROKERS.iter().filter(|row| row.2 != row.3).count();
    assert_eq!(of_codes + of_numbers, BY_BROKERS.len());
}
