//! Delegation tokens of authenticated clients.

use ottla_protocol::api::create_delegation_token::{
    CreatableRenewers, CreateDelegationTokenRequest, CreateDelegationTokenResponse,
};
use ottla_protocol::api::describe_delegation_token::{
    DescribeDelegationTokenOwner, DescribeDelegationTokenRequest, DescribeDelegationTokenResponse,
};
use ottla_protocol::api::expire_delegation_token::ExpireDelegationTokenRequest;
use ottla_protocol::api::renew_delegation_token::RenewDelegationTokenRequest;

use super::*;

const DAY_MS: i64 = 86_400_000;
const ALICE: u64 = 1;
const BOB: u64 = 2;

/// A cluster with a connection of each user.
fn logged_in() -> TestCluster {
    let mut test = cluster();
    assert_eq!(log_in(&mut test, ALICE, "alice", "secret").error_code, 0);
    assert_eq!(log_in(&mut test, BOB, "bob", "hidden").error_code, 0);
    test
}

fn new_token(renewers: &[&str], max_lifetime_ms: i64) -> CreateDelegationTokenRequest {
    let renewer = |name: &&str| CreatableRenewers {
        principal_type: "User".into(),
        principal_name: (*name).into(),
        ..Default::default()
    };
    CreateDelegationTokenRequest {
        owner_principal_type: None,
        owner_principal_name: None,
        renewers: renewers.iter().map(renewer).collect(),
        max_lifetime_ms,
        ..Default::default()
    }
}

fn create(
    test: &mut TestCluster,
    connection: u64,
    request: &CreateDelegationTokenRequest,
) -> CreateDelegationTokenResponse {
    test.send(1, connection, request, 3).now()
}

fn renew(test: &mut TestCluster, connection: u64, hmac: &[u8], renew_period_ms: i64) -> Result<i64, ErrorCode> {
    let request = RenewDelegationTokenRequest {
        hmac: hmac.to_vec().into(),
        renew_period_ms,
        ..Default::default()
    };
    let response = test.send(1, connection, &request, 2).now();
    match response.error_code {
        0 => Ok(response.expiry_timestamp_ms),
        code => Err(ErrorCode(code)),
    }
}

fn expire(test: &mut TestCluster, connection: u64, hmac: &[u8], expiry_time_period_ms: i64) -> Result<i64, ErrorCode> {
    let request = ExpireDelegationTokenRequest {
        hmac: hmac.to_vec().into(),
        expiry_time_period_ms,
        ..Default::default()
    };
    let response = test.send(1, connection, &request, 2).now();
    match response.error_code {
        0 => Ok(response.expiry_timestamp_ms),
        code => Err(ErrorCode(code)),
    }
}

fn describe(test: &mut TestCluster, owners: Option<&[&str]>, version: i16) -> DescribeDelegationTokenResponse {
    let owner = |name: &&str| DescribeDelegationTokenOwner {
        principal_type: "User".into(),
        principal_name: (*name).into(),
        ..Default::default()
    };
    let request = DescribeDelegationTokenRequest {
        owners: owners.map(|names| names.iter().map(owner).collect()),
        ..Default::default()
    };
    test.send(1, ALICE, &request, version).now()
}

#[test]
fn tokens_are_created_for_requesters_and_other_owners_and_described() {
    let mut test = logged_in();
    let now_ms = test.cluster.wall_clock_ms();
    let own = create(&mut test, ALICE, &new_token(&["bob"], -1));
    assert_eq!((own.error_code, own.principal_name.as_str()), (0, "alice"));
    assert_eq!(own.issue_timestamp_ms, now_ms);
    assert_eq!(own.expiry_timestamp_ms, now_ms + DAY_MS);
    assert_eq!(own.max_timestamp_ms, now_ms + 7 * DAY_MS);
    assert_eq!(own.hmac.len(), 64);
    let mut request = new_token(&[], 1000);
    request.owner_principal_type = Some("User".into());
    request.owner_principal_name = Some("carol".into());
    let other = create(&mut test, BOB, &request);
    assert_eq!((other.error_code, other.principal_name.as_str()), (0, "carol"));
    assert_eq!(other.token_requester_principal_name, "bob");
    assert_eq!(
        (other.expiry_timestamp_ms, other.max_timestamp_ms),
        (now_ms + 1000, now_ms + 1000)
    );
    assert!(other.hmac != own.hmac && other.token_id != own.token_id);

    assert_eq!(describe(&mut test, None, 3).tokens.len(), 2);
    for (owners, expected) in [(&[][..], 0), (&["bob"], 2), (&["carol"], 1), (&["dave"], 0)] {
        assert_eq!(
            describe(&mut test, Some(owners), 3).tokens.len(),
            expected,
            "{owners:?}"
        );
    }
    let mut found = describe(&mut test, Some(&["alice", "dave"]), 3).tokens;
    assert_eq!(found.len(), 1);
    let token = found.remove(0);
    assert_eq!((&token.token_id, &token.hmac), (&own.token_id, &own.hmac));
    assert_eq!(token.token_requester_principal_name, "alice");
    assert_eq!(token.renewers[0].principal_name, "bob");
    assert_eq!(describe(&mut test, None, 1).tokens.len(), 2, "without requesters");
}

#[test]
fn owners_and_renewers_renew_and_expire_tokens() {
    let mut test = logged_in();
    let token = create(&mut test, ALICE, &new_token(&["bob"], 10_000));
    let begin_ms = token.issue_timestamp_ms;
    assert_eq!(renew(&mut test, BOB, &token.hmac, 4000), Ok(begin_ms + 4000));
    assert_eq!(renew(&mut test, ALICE, &token.hmac, -1), Ok(begin_ms + 10_000));
    assert_eq!(expire(&mut test, BOB, &token.hmac, 3000), Ok(begin_ms + 3000));
    test.pass_ms(3001);
    let expired = Err(ErrorCode::DELEGATION_TOKEN_EXPIRED);
    assert_eq!(renew(&mut test, ALICE, &token.hmac, 1), expired);
    assert_eq!(expire(&mut test, ALICE, &token.hmac, 1), expired);
    assert_eq!(describe(&mut test, None, 3).tokens.len(), 1);
    assert_eq!(expire(&mut test, ALICE, &token.hmac, -1), Ok(begin_ms + 3001));
    assert_eq!(describe(&mut test, None, 3).tokens.len(), 0);
    let gone = Err(ErrorCode::DELEGATION_TOKEN_NOT_FOUND);
    assert_eq!(renew(&mut test, ALICE, &token.hmac, 1), gone);
    assert_eq!(expire(&mut test, ALICE, &token.hmac, -1), gone);
}

#[test]
fn others_cannot_renew_or_expire_a_token() {
    let mut test = logged_in();
    let token = create(&mut test, ALICE, &new_token(&[], -1));
    let mismatch = Err(ErrorCode::DELEGATION_TOKEN_OWNER_MISMATCH);
    assert_eq!(renew(&mut test, BOB, &token.hmac, 1), mismatch);
    assert_eq!(expire(&mut test, BOB, &token.hmac, -1), mismatch);
    let mut request = new_token(&["bob"], -1);
    request.renewers[0].principal_type = "Group".into();
    let error = ErrorCode(create(&mut test, ALICE, &request).error_code);
    assert_eq!(error, ErrorCode::INVALID_PRINCIPAL_TYPE);
}

#[test]
fn tokens_require_authentication_and_a_secret_key() {
    let mut test = TestCluster::new(ClusterConfig::default());
    let refused = ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED;
    let error = ErrorCode(create(&mut test, ALICE, &new_token(&[], -1)).error_code);
    assert_eq!(error, refused);
    assert_eq!(renew(&mut test, ALICE, b"x", 1), Err(refused));
    assert_eq!(expire(&mut test, ALICE, b"x", 1), Err(refused));
    assert_eq!(ErrorCode(describe(&mut test, None, 3).error_code), refused);

    let mut test = TestCluster::new(ClusterConfig {
        sasl: Some(config()),
        delegation_token_secret_key: None,
        ..Default::default()
    });
    assert_eq!(log_in(&mut test, ALICE, "alice", "secret").error_code, 0);
    let disabled = ErrorCode::DELEGATION_TOKEN_AUTH_DISABLED;
    let error = ErrorCode(create(&mut test, ALICE, &new_token(&[], -1)).error_code);
    assert_eq!(error, disabled);
    assert_eq!(renew(&mut test, ALICE, b"x", 1), Err(disabled));
    assert_eq!(expire(&mut test, ALICE, b"x", 1), Err(disabled));
    assert_eq!(ErrorCode(describe(&mut test, None, 3).error_code), disabled);
}
