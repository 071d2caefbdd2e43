//! Creating, describing, renewing and expiring tokens.

use ottla_mock::{ApiKey, ErrorCode as BrokerError, FaultAction, SaslConfig, SaslUser};
use ottla_protocol::api::create_delegation_token::CreateDelegationTokenRequest;

use super::*;
use crate::admin::{CreateDelegationToken, DescribeDelegationToken, ExpireDelegationToken, RenewDelegationToken};
use crate::error::ErrorCode;
use crate::test_kit::{World, within_ms};

const DAY_MS: i64 = 86_400_000;

/// The user `alice` of a cluster with SASL.
fn world() -> World {
    let settings = [
        ("retry.backoff.ms", "10"),
        ("security.protocol", "sasl_plaintext"),
        ("sasl.mechanisms", "PLAIN"),
        ("sasl.username", "alice"),
        ("sasl.password", "secret"),
    ];
    World::producer_with(&settings, &[], |config| {
        config.sasl = Some(SaslConfig {
            users: vec![SaslUser::new("alice", "secret")],
            ..SaslConfig::default()
        });
    })
}

fn create(w: &mut World, owner: Option<&str>, renewers: &[&str]) -> Result<DelegationToken, Error> {
    w.ask(CreateDelegationToken {
        owner: owner.map(Principal::user),
        renewers: renewers.iter().copied().map(Principal::user).collect(),
        max_lifetime: None,
    })
}

fn renew(w: &mut World, token: &DelegationToken, period: Option<Duration>) -> Result<i64, Error> {
    let hmac = token.hmac.clone();
    w.ask(RenewDelegationToken { hmac, period })
}

fn expire(w: &mut World, token: &DelegationToken, period: Option<Duration>) -> Result<i64, Error> {
    let hmac = token.hmac.clone();
    w.ask(ExpireDelegationToken { hmac, period })
}

#[test]
fn created_tokens_are_described_by_principal() {
    let mut w = world();
    let own = create(&mut w, None, &["bob"]).unwrap();
    assert_eq!(own.owner, Principal::user("alice"));
    assert_eq!(own.requester, Some(Principal::user("alice")));
    assert_eq!(own.renewers, [Principal::user("bob")]);
    assert_eq!(
        (own.expiry_ms, own.max_ms),
        (own.issue_ms + DAY_MS, own.issue_ms + 7 * DAY_MS)
    );
    let other = create(&mut w, Some("carol"), &[]).unwrap();
    assert_eq!((other.owner.name.as_str(), &other.requester), ("carol", &own.requester));
    let all = w.ask(DescribeDelegationToken::default()).unwrap();
    assert!(all.len() == 2 && all[0].token_id < all[1].token_id);
    let of = |name: &str| DescribeDelegationToken {
        owners: Some(vec![Principal::user(name)]),
    };
    assert_eq!(w.ask(of("bob")).unwrap(), [own]);
    assert_eq!(w.ask(of("carol")).unwrap(), [other]);
    assert_eq!(w.ask(of("alice")).unwrap(), all, "the requester of both");
    let of_none = DescribeDelegationToken {
        owners: Some(Vec::new()),
    };
    assert!(w.ask(of_none).unwrap().is_empty());
}

#[test]
fn tokens_are_renewed_and_expired() {
    let mut w = world();
    let token = create(&mut w, None, &[]).unwrap();
    w.run_ms(1000);
    let now_ms = w.brokers().wall_clock_ms();
    assert_eq!(renew(&mut w, &token, Some(Duration::from_secs(5))), Ok(now_ms + 5000));
    assert_eq!(renew(&mut w, &token, None), Ok(now_ms + DAY_MS));
    assert_eq!(expire(&mut w, &token, Some(Duration::from_secs(7))), Ok(now_ms + 7000));
    assert_eq!(expire(&mut w, &token, None), Ok(now_ms));
    let error = renew(&mut w, &token, None).unwrap_err();
    assert_eq!(error.code, ErrorCode::DELEGATION_TOKEN_NOT_FOUND);
    assert!(w.ask(DescribeDelegationToken::default()).unwrap().is_empty());
}

#[test]
fn a_lost_response_is_an_error_unless_the_request_can_be_repeated() {
    let mut w = world();
    let token = create(&mut w, None, &[]).unwrap();
    w.fault_next(ApiKey::CREATE_DELEGATION_TOKEN, FaultAction::DisconnectAfter);
    let error = create(&mut w, None, &[]).unwrap_err();
    assert!(error.message.contains("may have executed"), "{error}");
    w.fault_next(ApiKey::RENEW_DELEGATION_TOKEN, FaultAction::DisconnectAfter);
    assert!(renew(&mut w, &token, None).is_ok());
    let period = Some(Duration::from_secs(1));
    w.fault_next(ApiKey::EXPIRE_DELEGATION_TOKEN, FaultAction::DisconnectAfter);
    assert!(expire(&mut w, &token, period).is_ok());
    w.fault_next(ApiKey::EXPIRE_DELEGATION_TOKEN, FaultAction::DisconnectAfter);
    let error = expire(&mut w, &token, None).unwrap_err();
    assert!(error.message.contains("may have executed"), "{error}");
}

#[test]
fn unauthenticated_clients_are_refused() {
    let mut w = World::producer(&[], &[]);
    let refused = ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED;
    assert_eq!(create(&mut w, None, &[]).unwrap_err().code, refused);
    let describe = DescribeDelegationToken::default();
    assert_eq!(w.ask(describe).unwrap_err().code, refused);
    let hmac = TokenHmac::new(b"secret");
    let renew = RenewDelegationToken { hmac, period: None };
    assert_eq!(w.ask(renew).unwrap_err().code, refused);
}

#[test]
fn errors_of_brokers_and_of_arguments_are_those_of_the_call() {
    let mut w = world();
    w.fail_next(
        ApiKey::CREATE_DELEGATION_TOKEN,
        &[BrokerError::DELEGATION_TOKEN_AUTH_DISABLED],
    );
    let error = create(&mut w, None, &[]).unwrap_err();
    assert_eq!(error.code, ErrorCode::DELEGATION_TOKEN_AUTH_DISABLED);
    let group = Principal {
        principal_type: "Group".into(),
        name: "g".into(),
    };
    let call = CreateDelegationToken {
        renewers: vec![group],
        ..Default::default()
    };
    assert_eq!(w.ask(call).unwrap_err().code, ErrorCode::INVALID_PRINCIPAL_TYPE);
    let error = create(&mut w, None, &[""]).unwrap_err();
    assert_eq!(error.message, "A principal has no type or no name");
    let hmac = TokenHmac::new(b"");
    let error = w.ask(ExpireDelegationToken { hmac, period: None }).unwrap_err();
    assert_eq!(error.message, "The HMAC of the token is empty");
    w.take_down(&[1, 2, 3]);
    let error = w
        .ask_with(DescribeDelegationToken::default(), within_ms(500))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT);
}

#[test]
fn brokers_before_kafka_3_3_have_no_other_owners() {
    let mut w = world();
    let versions = Some((0, 2));
    w.brokers().set_api_versions(ApiKey::CREATE_DELEGATION_TOKEN, versions);
    let error = create(&mut w, Some("carol"), &[]).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE);
    assert!(error.message.contains("KIP-373"), "{error}");
    let token = create(&mut w, None, &["bob"]).unwrap();
    assert_eq!((token.owner, token.requester), (Principal::user("alice"), None));
    let (_, request) = w.expect::<CreateDelegationTokenRequest>();
    assert_eq!(request.max_lifetime_ms, -1);
}

#[test]
fn secrets_are_not_printed() {
    let mut w = World::producer(&[("debug", "all")], &[]);
    let hmac = TokenHmac::new(b"HUSH");
    let call = RenewDelegationToken { hmac, period: None };
    assert!(!format!("{call:?}").contains("HUSH"), "{call:?}");
    w.ask(call).unwrap_err();
    let log = w.log();
    assert!(!log.is_empty() && !log.contains("HUSH") && !log.contains("72, 85, 83, 72"));
}
