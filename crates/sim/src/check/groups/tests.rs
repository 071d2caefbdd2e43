//! What the books of groups take for right.

use super::*;

#[test]
fn a_client_that_stopped_may_begin_at_another_end() {
    let tp: Tp = ("t".into(), 0);
    let end = |end| Some(Marks { start: 0, end });
    let stands = || {
        let mut groups = Groups::default();
        groups.add_member(0, "g", Reset::Latest, false);
        let begins = Beginning {
            client: 0,
            share: std::slice::from_ref(&tp),
            more: false,
            member: "m",
            members: &[],
            given: &[],
            now_us: 1,
        };
        groups.on_assigned(&begins, |_| end(0)).unwrap();
        groups.on_end(0, &tp, 0, end(0)).unwrap();
        groups
    };
    assert!(stands().on_end(0, &tp, 7, end(7)).is_err());
    let mut groups = stands();
    groups.on_restarted(0, 2, |_| end(3));
    assert!(groups.on_end(0, &tp, 2, end(7)).is_err());
    groups.on_end(0, &tp, 7, end(7)).unwrap();
}

#[test]
fn who_joins_names_what_it_has_and_was_given() {
    let tp: Tp = ("t".into(), 0);
    let share = std::slice::from_ref(&tp);
    let mut groups = Groups::default();
    groups.add_member(0, "g", Reset::Earliest, true);
    groups.on_synced("g", 1, "m", share).unwrap();
    let begins = Beginning {
        client: 0,
        share,
        more: true,
        member: "m",
        members: &[],
        given: &[],
        now_us: 1,
    };
    groups.on_assigned(&begins, |_| None).unwrap();
    groups.on_joining(0, "m", (share, 1)).unwrap();
    assert!(groups.on_joining(0, "m", (&[], -1)).is_err(), "it consumes it still");
    assert!(groups.on_joining(0, "m", (share, 2)).is_err(), "not in that generation");
    assert!(groups.on_joining(0, "other", (share, 1)).is_err());
    groups.on_given_up(0, share);
    groups.on_joining(0, "m", (&[], -1)).unwrap();
}
