//! Members of groups on the mock, which leave.

use ottla_mock::{ApiKey, ErrorCode as BrokerError, FaultAction};

use super::*;
use crate::test_kit::World;

/// The group `g` with one member, and `empty` with committed offsets only.
fn world() -> World {
    let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
    w.add_topic("t", &[1]);
    w.peer_member("g", "t");
    w.commit_offset_of("empty", "t", 0, 1);
    w
}

fn member(w: &mut World) -> MemberToRemove {
    let members = w.brokers().group_members("g");
    MemberToRemove::Member(members[0].clone())
}

fn removal(group: &str, members: Option<Vec<MemberToRemove>>) -> RemoveMembersFromConsumerGroup {
    RemoveMembersFromConsumerGroup {
        group_id: group.into(),
        members,
        reason: Some("maintenance".into()),
    }
}

fn codes(removed: &[RemovedMember]) -> Vec<ErrorCode> {
    let code = |member: &RemovedMember| member.error.as_ref().map_or(ErrorCode::NO_ERROR, |error| error.code);
    removed.iter().map(code).collect()
}

#[test]
fn named_members_leave_and_unknown_ones_have_an_error() {
    let mut w = world();
    let members = vec![
        MemberToRemove::Static("other".into()),
        member(&mut w),
        MemberToRemove::Member("other".into()),
    ];
    let removed = w.ask(removal("g", Some(members.clone()))).unwrap();
    let unknown = ErrorCode::UNKNOWN_MEMBER_ID;
    assert_eq!(codes(&removed), [unknown, ErrorCode::NO_ERROR, unknown]);
    let order: Vec<MemberToRemove> = removed.into_iter().map(|row| row.member).collect();
    assert_eq!(order, members);
    assert!(w.brokers().group_members("g").is_empty());
    let (_, request) = w.drain::<LeaveGroupRequest>().pop().unwrap();
    assert!(
        request
            .members
            .iter()
            .all(|m| m.reason.as_deref() == Some("maintenance"))
    );
}

#[test]
fn all_members_leave() {
    let mut w = world();
    let gone = member(&mut w);
    let removed = w.ask(removal("g", None)).unwrap();
    assert_eq!(codes(&removed), [ErrorCode::NO_ERROR]);
    assert_eq!(removed[0].member, gone);
    assert!(w.brokers().group_members("g").is_empty());
    assert!(w.ask(removal("empty", None)).unwrap().is_empty());
}

#[test]
fn errors_of_the_group_are_those_of_the_call() {
    let mut w = world();
    let error = w.ask(removal("none", None)).unwrap_err();
    assert_eq!(error.code, ErrorCode::GROUP_ID_NOT_FOUND);
    w.fail_next(ApiKey::LEAVE_GROUP, &[BrokerError::GROUP_AUTHORIZATION_FAILED]);
    let members = Some(vec![member(&mut w)]);
    let error = w.ask(removal("g", members.clone())).unwrap_err();
    assert_eq!(error.code, ErrorCode::GROUP_AUTHORIZATION_FAILED);
    w.brokers().set_api_versions(ApiKey::LEAVE_GROUP, Some((0, 2)));
    w.close_all_connections();
    let error = w.ask(removal("g", members)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE);
    assert!(error.message.contains("KIP-345"), "{error}");
}

#[test]
fn a_coordinator_that_loads_is_asked_again_and_a_lost_response_is_an_error() {
    let mut w = world();
    let members = Some(vec![member(&mut w)]);
    w.fail_next(ApiKey::LEAVE_GROUP, &[BrokerError::COORDINATOR_LOAD_IN_PROGRESS]);
    assert_eq!(
        codes(&w.ask(removal("g", members.clone())).unwrap()),
        [ErrorCode::NO_ERROR]
    );
    w.fault_next(ApiKey::LEAVE_GROUP, FaultAction::DisconnectAfter);
    let error = w.ask(removal("g", members)).unwrap_err();
    assert!(error.message.ends_with("may have executed the operation"), "{error}");
    assert_eq!(w.count(ApiKey::LEAVE_GROUP), 3);
}

#[test]
fn long_reasons_are_cut_and_bad_calls_are_refused() {
    let mut operation = removal("g", None);
    operation.reason = Some("é".repeat(300));
    assert_eq!(operation.reason().chars().count(), 255);
    operation.reason = None;
    assert_eq!(operation.reason(), "member was removed by an admin client");
    let mut w = world();
    let same = MemberToRemove::Static("a".into());
    let mut text = |members| w.ask(removal("g", Some(members))).unwrap_err().message;
    assert_eq!(text(vec![]), "No members to remove");
    assert_eq!(text(vec![same.clone(), same]), "Duplicate members not allowed");
}
