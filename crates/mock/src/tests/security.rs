//! Access control entries, SCRAM credentials, elections and deleted offsets, changed through requests.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::alter_user_scram_credentials::{
    AlterUserScramCredentialsRequest, ScramCredentialDeletion, ScramCredentialUpsertion,
};
use ottla_protocol::api::create_acls::{AclCreation, CreateAclsRequest};
use ottla_protocol::api::delete_acls::{DeleteAclsFilter, DeleteAclsRequest};
use ottla_protocol::api::describe_acls::DescribeAclsRequest;
use ottla_protocol::api::describe_user_scram_credentials::{DescribeUserScramCredentialsRequest, UserName};
use ottla_protocol::api::elect_leaders::{ElectLeadersRequest, TopicPartitions};
use ottla_protocol::api::offset_delete::OffsetDeleteRequest;

use crate::tests::util::TestCluster;
use crate::{BrokerId, ClusterConfig};

fn entry(name: &str, pattern_type: i8, operation: i8) -> AclCreation {
    AclCreation {
        resource_type: 2,
        resource_name: name.into(),
        resource_pattern_type: pattern_type,
        principal: "User:a".into(),
        host: "*".into(),
        operation,
        permission_type: 3,
        ..Default::default()
    }
}

/// Returns the names of the resources that match, with the numbers of their entries.
fn describe(test: &mut TestCluster, name: Option<&str>, pattern_type: i8) -> Vec<(String, usize)> {
    let request = DescribeAclsRequest {
        resource_type_filter: 1,
        resource_name_filter: name.map(str::to_owned),
        pattern_type_filter: pattern_type,
        principal_filter: None,
        host_filter: None,
        operation: 1,
        permission_type: 1,
        ..Default::default()
    };
    let resources = test.call(1, &request, 3).resources.into_iter();
    resources.map(|r| (r.resource_name, r.acls.len())).collect()
}

#[test]
fn acls_are_added_once_and_matched_by_pattern() {
    let mut test = TestCluster::new(ClusterConfig::default());
    let creations = vec![
        entry("ab", 3, 3),
        entry("ab", 3, 4),
        entry("ab", 3, 4),
        entry("a", 4, 3),
        entry("", 3, 3),
        entry("any", 1, 3),
        entry("t", 3, 1),
    ];
    let request = CreateAclsRequest {
        creations,
        ..Default::default()
    };
    let codes: Vec<i16> = test.call(2, &request, 2).results.iter().map(|r| r.error_code).collect();
    let invalid = ErrorCode::INVALID_REQUEST.0;
    assert_eq!(codes, [0, 0, 0, 0, invalid, invalid, invalid]);
    let rows = |list: &[(&str, usize)]| -> Vec<(String, usize)> {
        list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    assert_eq!(describe(&mut test, None, 1), rows(&[("a", 1), ("ab", 2)]));
    assert_eq!(describe(&mut test, Some("abc"), 2), rows(&[("a", 1)]));
    assert_eq!(describe(&mut test, Some("ab"), 2), rows(&[("a", 1), ("ab", 2)]));
    assert_eq!(describe(&mut test, Some("ab"), 4), rows(&[]));
    assert_eq!(describe(&mut test, Some("a"), 1), rows(&[("a", 1)]));
    let filter = DeleteAclsFilter {
        resource_type_filter: 2,
        resource_name_filter: None,
        pattern_type_filter: 1,
        principal_filter: None,
        host_filter: None,
        operation: 4,
        permission_type: 1,
        ..Default::default()
    };
    let request = DeleteAclsRequest {
        filters: vec![filter.clone(), filter],
        ..Default::default()
    };
    let results = test.call(1, &request, 3).filter_results;
    let removed: Vec<usize> = results.iter().map(|r| r.matching_acls.len()).collect();
    assert_eq!(removed, [1, 0]);
    assert_eq!(describe(&mut test, None, 1), rows(&[("a", 1), ("ab", 1)]));
}

#[test]
fn scram_credentials_change_wholly_or_not() {
    let mut test = TestCluster::new(ClusterConfig::default());
    let upsertion = |name: &str, mechanism, iterations| ScramCredentialUpsertion {
        name: name.into(),
        mechanism,
        iterations,
        ..Default::default()
    };
    let deletion = |name: &str, mechanism| ScramCredentialDeletion {
        name: name.into(),
        mechanism,
        ..Default::default()
    };
    let request = AlterUserScramCredentialsRequest {
        deletions: vec![deletion("e", 1)],
        upsertions: vec![
            upsertion("a", 1, 4096),
            upsertion("b", 1, 4096),
            upsertion("b", 1, 4097),
            upsertion("c", 1, 4096),
            upsertion("c", 3, 4096),
            upsertion("d", 1, 16_385),
        ],
        ..Default::default()
    };
    let results = test.call(1, &request, 0).results;
    let codes: Vec<(&str, ErrorCode)> = results.iter().map(|r| (&*r.user, ErrorCode(r.error_code))).collect();
    assert_eq!(
        codes,
        [
            ("a", ErrorCode::NONE),
            ("b", ErrorCode::DUPLICATE_RESOURCE),
            ("c", ErrorCode::UNSUPPORTED_SASL_MECHANISM),
            ("d", ErrorCode::UNACCEPTABLE_CREDENTIAL),
            ("e", ErrorCode::RESOURCE_NOT_FOUND),
        ]
    );
    let request = DescribeUserScramCredentialsRequest {
        users: None,
        ..Default::default()
    };
    let all = test.call(1, &request, 0).results;
    assert_eq!(all.iter().map(|r| &*r.user).collect::<Vec<_>>(), ["a"]);
    assert_eq!(all[0].credential_infos[0].iterations, 4096);
    let user = |name: &str| UserName {
        name: name.into(),
        ..Default::default()
    };
    let request = DescribeUserScramCredentialsRequest {
        users: Some(vec![user("b"), user("a"), user("a")]),
        ..Default::default()
    };
    let results = test.call(1, &request, 0).results;
    let codes: Vec<ErrorCode> = results.iter().map(|r| ErrorCode(r.error_code)).collect();
    let twice = ErrorCode::DUPLICATE_RESOURCE;
    assert_eq!(codes, [ErrorCode::RESOURCE_NOT_FOUND, twice, twice]);
}

#[test]
fn elections_need_a_live_replica() {
    let mut test = TestCluster::with_topic("t", 1);
    let elect = |election_type| ElectLeadersRequest {
        election_type,
        topic_partitions: Some(vec![TopicPartitions {
            topic: "t".into(),
            partitions: vec![0],
            ..Default::default()
        }]),
        ..Default::default()
    };
    let code = |test: &mut TestCluster, election_type| {
        let response = test.call(1, &elect(election_type), 2);
        match response.replica_election_results.first() {
            Some(topic) => ErrorCode(topic.partition_result[0].error_code),
            None => ErrorCode(response.error_code),
        }
    };
    let preferred = test.leader("t", 0);
    let other = BrokerId(1 + preferred % 3);
    assert_eq!(code(&mut test, 0), ErrorCode::ELECTION_NOT_NEEDED);
    test.cluster.set_leader("t", 0, Some(other)).unwrap();
    assert_eq!(code(&mut test, 0), ErrorCode::NONE);
    assert_eq!(test.leader("t", 0), preferred);
    assert_eq!(code(&mut test, 1), ErrorCode::ELECTION_NOT_NEEDED);
    assert_eq!(code(&mut test, 2), ErrorCode::INVALID_REQUEST);
}

#[test]
fn offsets_of_an_unknown_group_are_not_deleted() {
    let mut test = TestCluster::with_topic("t", 1);
    let request = OffsetDeleteRequest {
        group_id: "g".into(),
        ..Default::default()
    };
    let codes: Vec<i16> = (1..=3)
        .map(|broker| test.call(broker, &request, 0).error_code)
        .collect();
    let coordinator = codes.iter().filter(|code| **code == ErrorCode::GROUP_ID_NOT_FOUND.0);
    assert_eq!(coordinator.count(), 1, "{codes:?}");
    let others = codes.iter().filter(|code| **code == ErrorCode::NOT_COORDINATOR.0);
    assert_eq!(others.count(), 2, "{codes:?}");
}
