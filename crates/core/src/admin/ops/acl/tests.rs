//! Creating, describing and deleting access control entries.

use ottla_mock::{ApiKey, ErrorCode as BrokerError, FaultAction};

use super::*;
use crate::admin::{CreateAcls, DeleteAcls, DeleteAclsResult, DescribeAcls};
use crate::error::ErrorCode;
use crate::test_kit::{World, within_ms};

fn world() -> World {
    World::producer(&[("retry.backoff.ms", "10")], &[])
}

/// An entry that allows `User:alice` to read a topic.
fn binding(name: &str, pattern_type: PatternType) -> AclBinding {
    AclBinding {
        resource_type: AclResourceType(2),
        name: name.into(),
        pattern_type,
        principal: "User:alice".into(),
        host: "*".into(),
        operation: AclOperation(3),
        permission_type: PermissionType(3),
    }
}

/// A filter for the entries of topics.
fn filter(name: Option<&str>, pattern_type: PatternType) -> AclFilter {
    AclFilter {
        resource_type: AclResourceType(2),
        name: name.map(str::to_owned),
        pattern_type,
        principal: None,
        host: None,
        operation: AclOperation(1),
        permission_type: PermissionType(1),
    }
}

fn names(bindings: &[AclBinding]) -> Vec<&str> {
    bindings.iter().map(|binding| &*binding.name).collect()
}

fn create(w: &mut World, bindings: &[AclBinding]) -> Vec<Option<ErrorCode>> {
    let results = w.ask(CreateAcls(bindings.to_vec())).unwrap();
    results.into_iter().map(|error| error.map(|e| e.code)).collect()
}

#[test]
fn entries_are_created_described_and_deleted() {
    let mut w = world();
    let all = [
        binding("topic", PatternType::LITERAL),
        binding("to", PatternType::PREFIXED),
        binding("*", PatternType::LITERAL),
        binding("other", PatternType::LITERAL),
    ];
    assert_eq!(create(&mut w, &all), [None; 4]);
    let any = w.ask(DescribeAcls(filter(None, PatternType::ANY))).unwrap();
    assert_eq!(any.len(), 4);
    assert!(all.iter().all(|binding| any.contains(binding)), "{any:?}");
    let matching = w.ask(DescribeAcls(filter(Some("topic"), PatternType::MATCH))).unwrap();
    assert_eq!(names(&matching), ["*", "to", "topic"]);
    let literal = w
        .ask(DescribeAcls(filter(Some("topic"), PatternType::LITERAL)))
        .unwrap();
    assert_eq!(literal, [all[0].clone()]);

    let filters = vec![
        filter(Some("to"), PatternType::ANY),
        filter(Some("nothing"), PatternType::LITERAL),
        filter(Some("topic"), PatternType::LITERAL),
    ];
    let deleted = w.ask(DeleteAcls(filters)).unwrap();
    let deleted_names = |result: &DeleteAclsResult| -> Vec<String> {
        let acls = result.as_ref().unwrap().iter();
        acls.map(|acl| acl.binding.name.clone()).collect()
    };
    let expected: [&[&str]; 3] = [&["to"], &[], &["topic"]];
    for (result, expected) in deleted.iter().zip(expected) {
        assert_eq!(deleted_names(result), expected);
    }
    let rest = w.ask(DescribeAcls(filter(None, PatternType::ANY))).unwrap();
    assert_eq!(names(&rest), ["*", "other"]);
}

#[test]
fn an_error_of_the_description_is_that_of_the_call() {
    let mut w = world();
    w.fail_next(ApiKey::DESCRIBE_ACLS, &[BrokerError::SECURITY_DISABLED]);
    let error = w.ask(DescribeAcls(filter(None, PatternType::ANY))).unwrap_err();
    assert_eq!(error.code, ErrorCode::SECURITY_DISABLED);
    w.fail_next(ApiKey::CREATE_ACLS, &[BrokerError::SECURITY_DISABLED]);
    let entry = binding("t", PatternType::LITERAL);
    assert_eq!(create(&mut w, &[entry]), [Some(ErrorCode::SECURITY_DISABLED)]);
    w.fail_next(ApiKey::DELETE_ACLS, &[BrokerError::CLUSTER_AUTHORIZATION_FAILED]);
    let refused = w.ask(DeleteAcls(vec![filter(None, PatternType::ANY)])).unwrap();
    let code = refused[0].as_ref().err().map(|e| e.code);
    assert_eq!(code, Some(ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
}

#[test]
fn creation_is_repeated_after_a_lost_response_and_deletion_is_not() {
    let mut w = world();
    w.fault_next(ApiKey::CREATE_ACLS, FaultAction::DisconnectAfter);
    let entry = binding("t", PatternType::LITERAL);
    assert_eq!(create(&mut w, &[entry]), [None]);
    assert_eq!(w.count(ApiKey::CREATE_ACLS), 2);
    w.fault_next(ApiKey::DELETE_ACLS, FaultAction::DisconnectAfter);
    let error = w.ask(DeleteAcls(vec![filter(None, PatternType::ANY)])).unwrap_err();
    assert!(error.message.contains("may have executed"), "{error}");
}

#[test]
fn types_of_patterns_require_a_version() {
    for (pattern, is_supported) in [
        (PatternType::LITERAL, true),
        (PatternType::ANY, true),
        (PatternType::PREFIXED, false),
        (PatternType::MATCH, false),
    ] {
        assert_eq!(
            check_patterns(0, [pattern], &[PatternType::LITERAL, PatternType::ANY]).is_ok(),
            is_supported
        );
        assert!(check_patterns(1, [pattern], &[]).is_ok());
    }
}

#[test]
fn nothing_is_refused_and_calls_without_a_broker_time_out() {
    let mut w = world();
    assert_eq!(
        w.ask(CreateAcls(Vec::new())).unwrap_err().code,
        ErrorCode::L_INVALID_ARG
    );
    assert_eq!(
        w.ask(DeleteAcls(Vec::new())).unwrap_err().code,
        ErrorCode::L_INVALID_ARG
    );
    w.take_down(&[1, 2, 3]);
    let call = DescribeAcls(filter(None, PatternType::ANY));
    let error = w.ask_with(call, within_ms(500)).unwrap_err();
    assert_eq!(error.message, "Failed while waiting for controller: Local: Timed out");
}
