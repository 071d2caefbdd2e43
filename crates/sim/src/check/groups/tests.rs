//! What the books of groups take for right.

use super::*;
use crate::check::{LogView, Logs};
use crate::message::{Fingerprint, Logged, MessageId};

/// A member alone in its group is given one partition.
fn beginning(tp: &Tp) -> Beginning<'_> {
    Beginning {
        client: 0,
        assignment: std::slice::from_ref(tp),
        more: false,
        member: "m",
        members: &[],
        given: &[],
        now_us: 1,
    }
}

#[test]
fn a_client_that_stopped_may_begin_at_another_end() {
    let tp: Tp = ("t".into(), 0);
    let end = |end| Some(Marks { start: 0, end });
    let progress = || {
        let mut groups = Groups::default();
        groups.add_member(0, "g", Reset::Latest, false);
        let begins = beginning(&tp);
        groups.on_assigned(&begins, |_| end(0)).unwrap();
        groups.on_end(0, &tp, 0, end(0)).unwrap();
        groups
    };
    assert!(progress().on_end(0, &tp, 7, end(7)).is_err());
    let mut groups = progress();
    groups.on_restarted(0, 2, |_| end(3));
    assert!(groups.on_end(0, &tp, 2, end(7)).is_err());
    groups.on_end(0, &tp, 7, end(7)).unwrap();
}

#[test]
fn an_end_may_be_told_of_after_the_log_was_cut_below_it() {
    let tp: Tp = ("t".into(), 0);
    let mut groups = Groups::default();
    groups.add_member(0, "g", Reset::Latest, false);
    let begins = beginning(&tp);
    groups.on_assigned(&begins, |_| marks(5)).unwrap();
    groups.on_lost(&tp, (2, 7), 1, 1);
    assert!(
        groups.on_end(0, &tp, 8, marks(2)).is_err(),
        "there never was such an end"
    );
    groups.on_end(0, &tp, 7, marks(2)).unwrap();
}

#[test]
fn a_reader_that_found_an_end_without_an_epoch_is_reset_where_that_was_cut_off() {
    let tp: Tp = ("t".into(), 0);
    let found_its_end = || {
        let mut groups = Groups::default();
        groups.add_member(0, "g", Reset::Latest, false);
        let begins = beginning(&tp);
        groups.on_assigned(&begins, |_| marks(7)).unwrap();
        groups.on_end(0, &tp, 7, marks(7)).unwrap();
        groups
    };
    let cut = |groups: &mut Groups| groups.on_lost(&tp, (4, 7), 1, 2);
    let mut groups = found_its_end();
    cut(&mut groups);
    assert!(groups.on_end(0, &tp, 6, marks(6)).is_err(), "it comes back to the cut");
    let mut groups = found_its_end();
    groups.expect_ends_without_epochs();
    assert!(groups.on_end(0, &tp, 6, marks(6)).is_err(), "nothing was cut off");
    cut(&mut groups);
    groups.on_end(0, &tp, 6, marks(6)).unwrap();
    assert!(
        groups.on_end(0, &tp, 3, marks(6)).is_err(),
        "the log was never that short"
    );
    // Who has a record knows its epoch.
    let mut groups = found_its_end();
    groups.expect_ends_without_epochs();
    groups.on_record(0, &tp, (7, 0), record(7), marks(8)).unwrap();
    cut(&mut groups);
    assert!(groups.on_end(0, &tp, 6, marks(6)).is_err());
}

#[test]
fn who_joins_names_what_it_has_and_was_given() {
    let tp: Tp = ("t".into(), 0);
    let assignment = std::slice::from_ref(&tp);
    let mut groups = Groups::default();
    groups.add_member(0, "g", Reset::Earliest, true);
    groups.on_synced("g", 1, "m", assignment).unwrap();
    let begins = Beginning {
        more: true,
        ..beginning(&tp)
    };
    groups.on_assigned(&begins, |_| None).unwrap();
    groups.on_joining(0, "m", (assignment, 1)).unwrap();
    assert!(groups.on_joining(0, "m", (&[], -1)).is_err(), "it consumes it still");
    assert!(
        groups.on_joining(0, "m", (assignment, 2)).is_err(),
        "not in that generation"
    );
    assert!(groups.on_joining(0, "other", (assignment, 1)).is_err());
    groups.on_given_up(0, assignment);
    groups.on_joining(0, "m", (&[], -1)).unwrap();
}

#[test]
fn a_member_in_its_group_by_a_join_given_up_has_not_been_asked_for_its_partitions() {
    let tp: Tp = ("t".into(), 0);
    let assignment = std::slice::from_ref(&tp);
    let members = ["a".to_owned(), "b".to_owned()];
    let begin = |groups: &mut Groups, client, member| {
        let begins = Beginning {
            client,
            member,
            members: &members,
            given: assignment,
            ..beginning(&tp)
        };
        groups.on_assigned(&begins, |_| None)
    };
    let owned_by_a = || {
        let mut groups = Groups::default();
        for client in [0, 1] {
            groups.add_member(client, "g", Reset::Earliest, true);
        }
        groups.on_join("g", "a", false);
        begin(&mut groups, 0, "a").unwrap();
        groups
    };
    let mut groups = owned_by_a();
    groups.on_join("g", "b", true);
    groups.on_join("other", "a", true);
    assert!(begin(&mut groups, 1, "b").is_err(), "a has not given it up");
    let mut groups = owned_by_a();
    groups.on_join("g", "a", true);
    begin(&mut groups, 1, "b").unwrap();
    // It joined, and should have had nothing then.
    let mut groups = owned_by_a();
    groups.on_join("g", "a", true);
    groups.on_join("g", "a", false);
    assert!(begin(&mut groups, 1, "b").is_err());
}

fn record(number: u32) -> DecodedMessage {
    DecodedMessage {
        id: MessageId { client: 1, number },
        intact: true,
        value_len: 1,
        key: Fingerprint::default(),
        headers: Fingerprint::default(),
    }
}

/// A member that has read and processed four records of epoch 0.
fn read_four(tp: &Tp) -> Groups {
    let mut groups = Groups::default();
    groups.add_member(0, "g", Reset::Earliest, false);
    let begins = beginning(tp);
    groups.on_assigned(&begins, |_| marks(4)).unwrap();
    for offset in 0..4 {
        groups
            .on_record(0, tp, (offset, 0), record(offset as u32), marks(4))
            .unwrap();
        groups.on_processed(0, tp, offset);
    }
    groups
}

/// As [`read_four`], and then all but two are lost to a leader of epoch 1.
fn cut_behind_two(tp: &Tp) -> Groups {
    let mut groups = read_four(tp);
    groups.on_lost(tp, (2, 4), 1, COMMIT_US);
    groups
}

fn marks(end: i64) -> Option<Marks> {
    Some(Marks { start: 0, end })
}

const COMMIT_US: u64 = 5;

fn commit(groups: &mut Groups, tp: &Tp, offset: i64, before: Option<i64>) -> Result<(), String> {
    let commit = Commit {
        group: "g",
        tp: tp.clone(),
        offset,
        before,
        abandoned: false,
        foreign: false,
    };
    groups.on_commit(&commit, COMMIT_US, marks(5))
}

#[test]
fn what_a_late_request_takes_back_is_remembered_until_the_next_commit() {
    let tp: Tp = ("t".into(), 0);
    let mut groups = read_four(&tp);
    let late = |groups: &mut Groups, offset, before| {
        let commit = Commit {
            group: "g",
            tp: tp.clone(),
            offset,
            before: Some(before),
            abandoned: true,
            foreign: false,
        };
        groups.on_commit(&commit, COMMIT_US, marks(5)).unwrap();
    };
    commit(&mut groups, &tp, 3, None).unwrap();
    assert_eq!(groups.lost_commit("g", &tp), None);
    late(&mut groups, 2, 3);
    late(&mut groups, 1, 2);
    assert_eq!(groups.lost_commit("g", &tp), Some(3));
    commit(&mut groups, &tp, 2, Some(1)).unwrap();
    assert_eq!(groups.lost_commit("g", &tp), None, "what came since counts");
}

#[test]
fn a_member_comes_back_to_where_the_log_was_cut() {
    let tp: Tp = ("t".into(), 0);
    for (offset, right) in [(0, false), (1, false), (2, true), (3, false), (4, true), (5, false)] {
        let mut groups = cut_behind_two(&tp);
        let read = groups.on_record(0, &tp, (offset, 1), record(10), marks(6));
        assert_eq!(read.is_ok(), right, "{offset}");
    }
    let mut groups = cut_behind_two(&tp);
    commit(&mut groups, &tp, 4, None).unwrap();
    groups.on_record(0, &tp, (2, 1), record(10), marks(6)).unwrap();
    groups.on_processed(0, &tp, 2);
    commit(&mut groups, &tp, 3, Some(4)).unwrap();
    assert!(commit(&mut groups, &tp, 1, Some(2)).is_err(), "back, and not cut off");
}

#[test]
fn what_came_after_a_cut_is_read_as_a_whole() {
    let tp: Tp = ("t".into(), 0);
    let lies = |offset: i64, number| Logged {
        offset,
        timestamp_ms: 0,
        found: record(number),
    };
    let log = LogView {
        start: 0,
        high_watermark: 4,
        records: vec![lies(0, 0), lies(1, 1), lies(2, 10), lies(3, 11)],
    };
    let logs = Logs::from([(tp.clone(), log)]);
    let mut groups = cut_behind_two(&tp);
    // Of what was lost some waited for the application.
    groups.on_record(0, &tp, (4, 0), record(4), marks(4)).unwrap();
    groups.compare_with_logs(&logs).unwrap();
    groups.on_record(0, &tp, (2, 1), record(10), marks(4)).unwrap();
    groups.on_record(0, &tp, (3, 1), record(11), marks(4)).unwrap();
    groups.compare_with_logs(&logs).unwrap();
    let mut groups = cut_behind_two(&tp);
    groups.on_record(0, &tp, (4, 1), record(12), marks(6)).unwrap();
    assert!(groups.compare_with_logs(&logs).is_err());
}

#[test]
fn only_behind_a_cut_a_lower_commit_overtakes_another() {
    let tp: Tp = ("t".into(), 0);
    let mut groups = cut_behind_two(&tp);
    assert!(groups.on_commit_result(0, &tp, 4).is_err(), "there is none");
    commit(&mut groups, &tp, 3, None).unwrap();
    groups.on_commit_result(0, &tp, 4).unwrap();
    let mut groups = cut_behind_two(&tp);
    commit(&mut groups, &tp, 1, None).unwrap();
    assert!(
        groups.on_commit_result(0, &tp, 4).is_err(),
        "below what the cut has left"
    );
    let mut groups = read_four(&tp);
    commit(&mut groups, &tp, 3, None).unwrap();
    groups.on_lost(&tp, (2, 4), 1, COMMIT_US + 1);
    assert!(groups.on_commit_result(0, &tp, 4).is_err(), "made before the cut");
}
