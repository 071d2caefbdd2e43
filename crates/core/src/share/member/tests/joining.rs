//! Joining, changes of the subscription and of the assignment.

use ottla_protocol::api::metadata::MetadataRequest;

use super::*;

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
