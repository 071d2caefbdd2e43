//! Batches of which single records are refused (KIP-467).

use ottla_protocol::api::produce::BatchIndexAndErrorMessage;

use crate::error::ErrorCode;
use crate::test_kit::{World, strings};
use crate::types::PersistStatus::{self, NotPersisted, Persisted, PossiblyPersisted};

const OTHER: ErrorCode = ErrorCode::L_INVALID_DIFFERENT_RECORD;
const INVALID_RECORD: ErrorCode = ErrorCode::INVALID_RECORD;

/// Returns a producer with the records `a` to `d` in one request.
fn with_batch(settings: &[(&str, &str)]) -> World {
    let fixed = [("linger.ms", "10"), ("retry.backoff.ms", "1000")];
    let settings: Vec<_> = fixed.iter().chain(settings).copied().collect();
    let mut w = World::one_partition(&settings, &[]);
    for v in ["a", "b", "c", "d"] {
        w.produce("t", 0, v).unwrap();
    }
    w.run_ms(10);
    assert_eq!(values(&w), [strings(&["a", "b", "c", "d"])]);
    w
}

fn values(w: &World) -> Vec<Vec<String>> {
    w.sent_values().into_iter().map(|p| p.1).collect()
}

/// Refuses the oldest request; the response names records.
fn refuse_naming(w: &mut World, code: ErrorCode, named: &[(i32, Option<&str>)]) {
    let sent = w.take_sent();
    w.answer_produce(&sent, |p| {
        p.error_code = code.0 as i16;
        p.base_offset = -1;
        p.error_message = Some("records failed".into());
        p.record_errors = named
            .iter()
            .map(|(batch_index, message)| BatchIndexAndErrorMessage {
                batch_index: *batch_index,
                batch_index_error_message: message.map(str::to_owned),
                ..Default::default()
            })
            .collect();
    });
}

/// Returns value, error code and message of each reported record, and the status, which must be the same for all.
fn told(w: &mut World) -> (Vec<(String, ErrorCode, String)>, Option<PersistStatus>) {
    let mut rows = Vec::new();
    let mut status = None;
    for d in w.deliveries() {
        assert_eq!(*status.get_or_insert(d.status), d.status);
        let (code, message) = d
            .error
            .as_ref()
            .map_or((ErrorCode::NO_ERROR, ""), |e| (e.code, &e.message));
        rows.extend(d.records().map(|r| {
            let value = String::from_utf8_lossy(r.value.unwrap_or_default()).into_owned();
            (value, code, message.to_owned())
        }));
    }
    rows.sort();
    (rows, status)
}

fn row(value: &str, code: ErrorCode, message: &str) -> (String, ErrorCode, String) {
    (value.into(), code, message.into())
}

#[test]
fn named_records_fail_with_their_messages_and_the_others_are_resent_at_once() {
    for idempotent in ["false", "true"] {
        let mut w = with_batch(&[("enable.idempotence", idempotent)]);
        refuse_naming(&mut w, INVALID_RECORD, &[(1, Some("no key")), (3, None)]);
        let rows = vec![
            row("b", INVALID_RECORD, "no key"),
            row("d", INVALID_RECORD, "records failed"),
        ];
        assert_eq!(told(&mut w), (rows, Some(NotPersisted)));
        assert_eq!(values(&w), [strings(&["a", "c"])], "no backoff");
        w.acknowledge();
        let again = ["a", "c"].map(|v| row(v, ErrorCode::NO_ERROR, "")).to_vec();
        assert_eq!(told(&mut w), (again, Some(Persisted)));
        assert_eq!(w.accumulator().outstanding(), 0);
        assert_eq!(w.fatal(), None);
    }
}

#[test]
fn resent_records_keep_their_order_before_later_records() {
    let mut w = with_batch(&[("max.in.flight", "1")]);
    w.produce("t", 0, "e").unwrap();
    w.run_ms(20);
    refuse_naming(&mut w, ErrorCode::INVALID_TIMESTAMP, &[(0, Some("too old"))]);
    let rows = vec![row("a", ErrorCode::INVALID_TIMESTAMP, "too old")];
    assert_eq!(told(&mut w), (rows, Some(NotPersisted)));
    assert_eq!(values(&w), [strings(&["b", "c", "d"])]);
    w.acknowledge();
    assert_eq!(values(&w), [strings(&["e"])]);
}

#[test]
fn without_retries_the_other_records_fail_with_invalid_different_record() {
    let mut w = with_batch(&[("retries", "0")]);
    refuse_naming(&mut w, INVALID_RECORD, &[(2, Some("no key"))]);
    let (rows, status) = told(&mut w);
    let codes: Vec<ErrorCode> = rows.iter().map(|r| r.1).collect();
    assert_eq!(
        (codes, status),
        (vec![OTHER, OTHER, INVALID_RECORD, OTHER], Some(NotPersisted))
    );
    assert_eq!(w.accumulator().outstanding(), 0);
}

#[test]
fn error_that_names_no_record_of_the_batch_fails_all_records() {
    for named in [&[][..], &[(4, None)], &[(-1, None)], &[(i32::MAX, Some("?"))]] {
        let mut w = with_batch(&[]);
        refuse_naming(&mut w, INVALID_RECORD, named);
        let rows = ["a", "b", "c", "d"].map(|v| row(v, INVALID_RECORD, "records failed"));
        assert_eq!(told(&mut w), (rows.to_vec(), Some(NotPersisted)), "{named:?}");
        w.run_ms(2000);
        assert!(w.sent().is_empty());
    }
}

#[test]
fn error_may_name_all_records() {
    let mut w = with_batch(&[]);
    refuse_naming(&mut w, INVALID_RECORD, &[0, 1, 2, 3].map(|i| (i, Some("no key"))));
    let rows = ["a", "b", "c", "d"].map(|v| row(v, INVALID_RECORD, "no key"));
    assert_eq!(told(&mut w), (rows.to_vec(), Some(NotPersisted)));
    w.run_ms(2000);
    assert!(w.sent().is_empty());
}

#[test]
fn batch_index_counts_from_the_first_sent_record_even_if_it_timed_out() {
    let mut w = World::producer(&[("linger.ms", "1950")], &[("message.timeout.ms", "2000")]);
    w.add_topic("t", &[1]);
    w.announce("t");
    w.produce("t", 0, "a").unwrap();
    w.run_ms(900);
    for v in ["b", "c"] {
        w.produce("t", 0, v).unwrap();
    }
    w.run_ms(1120);
    let late = "the record was not delivered within message.timeout.ms: broker 1 has not answered";
    assert_eq!(told(&mut w).0, [row("a", ErrorCode::L_MSG_TIMED_OUT, late)]);
    refuse_naming(&mut w, INVALID_RECORD, &[(1, Some("no key"))]);
    assert_eq!(told(&mut w).0, [row("b", INVALID_RECORD, "no key")]);
    assert_eq!(values(&w), [strings(&["c"])]);
}

#[test]
fn refused_record_is_fatal_with_the_gapless_guarantee() {
    let mut w = with_batch(&[("enable.idempotence", "true"), ("enable.gapless.guarantee", "true")]);
    refuse_naming(&mut w, INVALID_RECORD, &[(0, Some("no key"))]);
    let fatal = w.fatal();
    assert_eq!(fatal, Some(ErrorCode::L_GAPLESS_GUARANTEE));
    let codes: Vec<ErrorCode> = told(&mut w).0.iter().map(|r| r.1).collect();
    assert_eq!(codes, [INVALID_RECORD, OTHER, OTHER, OTHER]);
    w.run_ms(2000);
    assert!(w.sent().is_empty());
}

#[test]
fn possibly_persisted_idempotent_batch_is_not_split() {
    let mut w = with_batch(&[("enable.idempotence", "true")]);
    w.refuse(ErrorCode::REQUEST_TIMED_OUT);
    w.run_ms(2000);
    refuse_naming(&mut w, INVALID_RECORD, &[(1, Some("no key"))]);
    let (rows, status) = told(&mut w);
    let codes: Vec<ErrorCode> = rows.iter().map(|r| r.1).collect();
    assert_eq!(
        (codes, status),
        (vec![OTHER, INVALID_RECORD, OTHER, OTHER], Some(PossiblyPersisted))
    );
    w.run_ms(2000);
    assert!(w.sent().is_empty());
}
