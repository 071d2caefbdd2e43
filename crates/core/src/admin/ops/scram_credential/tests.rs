//! Describing and altering SCRAM credentials.

use ottla_mock::{ApiKey, ErrorCode as BrokerError, FaultAction};
use ottla_protocol::api::alter_user_scram_credentials::AlterUserScramCredentialsRequest;
use zeroize::Zeroizing;

use super::*;
use crate::admin::{
    AlterUserScramCredentials, DescribeUserScramCredentials, ScramAlteration, ScramCredentialInfo, ScramUpsertion,
};
use crate::error::ErrorCode;
use crate::test_kit::{World, within_ms};

const OK: ErrorCode = ErrorCode::NO_ERROR;

fn world() -> World {
    World::producer(&[("retry.backoff.ms", "10")], &[])
}

fn upsert(user: &str, mechanism: ScramMechanism, iterations: i32) -> ScramAlteration {
    ScramAlteration {
        user: user.into(),
        mechanism,
        upsertion: Some(ScramUpsertion {
            iterations,
            password: Zeroizing::new(b"pencil".to_vec()),
            salt: Some(b"salt".to_vec()),
        }),
    }
}

fn remove(user: &str, mechanism: ScramMechanism) -> ScramAlteration {
    ScramAlteration {
        user: user.into(),
        mechanism,
        upsertion: None,
    }
}

fn alter(w: &mut World, alterations: Vec<ScramAlteration>) -> Vec<(String, ErrorCode)> {
    let operation = AlterUserScramCredentials::new(alterations).unwrap();
    let results = w.ask(operation).unwrap().into_iter();
    results.map(|r| (r.user, r.error.map_or(OK, |e| e.code))).collect()
}

/// A user with the mechanism and iterations of each credential, or the error code.
type Described = (String, Result<Vec<(i8, i32)>, ErrorCode>);

fn describe(w: &mut World, users: &[&str]) -> Vec<Described> {
    let operation = DescribeUserScramCredentials {
        users: users.iter().map(|user| (*user).to_owned()).collect(),
    };
    let info = |info: &ScramCredentialInfo| (info.mechanism.0, info.iterations);
    let results = w.ask(operation).unwrap().into_iter();
    results
        .map(|r| match r.error {
            Some(error) => (r.user, Err(error.code)),
            None => (r.user, Ok(r.credentials.iter().map(info).collect())),
        })
        .collect()
}

#[test]
fn credentials_are_set_described_and_removed() {
    let mut w = world();
    let not_found = ErrorCode::RESOURCE_NOT_FOUND;
    assert_eq!(describe(&mut w, &["bob"]), [("bob".to_owned(), Err(not_found))]);
    assert!(describe(&mut w, &[]).is_empty());
    let alterations = vec![
        upsert("bob", ScramMechanism::SHA_512, 5000),
        upsert("alice", ScramMechanism::SHA_256, 10_000),
        upsert("bob", ScramMechanism::SHA_256, 4096),
    ];
    let both_ok = [("bob".to_owned(), OK), ("alice".to_owned(), OK)];
    assert_eq!(alter(&mut w, alterations), both_ok);
    let bob = ("bob".to_owned(), Ok(vec![(1, 4096), (2, 5000)]));
    let alice = ("alice".to_owned(), Ok(vec![(1, 10_000)]));
    assert_eq!(describe(&mut w, &["bob", "alice"]), [bob.clone(), alice.clone()]);
    assert_eq!(describe(&mut w, &[]), [alice, bob]);
    let alterations = vec![
        remove("alice", ScramMechanism::SHA_256),
        remove("nobody", ScramMechanism::SHA_256),
    ];
    let expected = [("alice".to_owned(), OK), ("nobody".to_owned(), not_found)];
    assert_eq!(alter(&mut w, alterations), expected);
    assert_eq!(describe(&mut w, &["alice"]), [("alice".to_owned(), Err(not_found))]);
}

#[test]
fn the_salted_password_is_sent_and_the_password_is_not() {
    let mut w = world();
    w.hold(ApiKey::ALTER_USER_SCRAM_CREDENTIALS);
    // RFC 7677, section 3.
    let salt = [
        0x5b, 0x6d, 0x99, 0x68, 0x9d, 0x12, 0x35, 0x8e, 0xec, 0xa0, 0x4b, 0x14, 0x12, 0x36, 0xfa, 0x81,
    ];
    let mut alteration = upsert("user", ScramMechanism::SHA_256, 4096);
    alteration.upsertion.as_mut().unwrap().salt = Some(salt.to_vec());
    let mut random = upsert("other", ScramMechanism::SHA_512, 4096);
    random.upsertion.as_mut().unwrap().salt = None;
    let operation = AlterUserScramCredentials::new(vec![alteration, random]).unwrap();
    assert!(!format!("{operation:?}").contains("pencil"));
    w.begin_admin(operation, within_ms(1000));
    w.run_ms(10);
    let (_, request) = w.expect::<AlterUserScramCredentialsRequest>();
    let [user, other] = request.upsertions.try_into().unwrap();
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let salted = "c4a49510323ab4f952cac1fa99441939e78ea74d6be81ddf7096e87513dc615d";
    assert_eq!(
        (&*user.salt, hex(&user.salted_password)),
        (&salt[..], salted.to_owned())
    );
    assert_eq!((other.salt.len(), other.salted_password.len()), (64, 64));
}

#[test]
fn setting_is_repeated_after_a_lost_response_and_removal_is_not() {
    let mut w = world();
    w.fault_next(ApiKey::ALTER_USER_SCRAM_CREDENTIALS, FaultAction::DisconnectAfter);
    let set = upsert("bob", ScramMechanism::SHA_256, 4096);
    assert_eq!(alter(&mut w, vec![set.clone()]), [("bob".to_owned(), OK)]);
    w.fault_next(ApiKey::ALTER_USER_SCRAM_CREDENTIALS, FaultAction::DisconnectAfter);
    let operation = AlterUserScramCredentials::new(vec![set.clone(), remove("x", ScramMechanism::SHA_256)]);
    let error = w.ask(operation.unwrap()).unwrap_err();
    assert!(error.message.contains("may have executed"), "{error}");
    w.fail_next(ApiKey::ALTER_USER_SCRAM_CREDENTIALS, &[BrokerError::NOT_CONTROLLER]);
    assert_eq!(alter(&mut w, vec![set]), [("bob".to_owned(), OK)]);
    w.fail_next(
        ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS,
        &[BrokerError::CLUSTER_AUTHORIZATION_FAILED],
    );
    let error = w.ask(DescribeUserScramCredentials::default()).unwrap_err();
    assert_eq!(error.code, ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
}

#[test]
fn arguments_are_checked_with_librdkafkas_texts() {
    let text = |alteration: Option<ScramAlteration>| {
        let first = upsert("a", ScramMechanism::SHA_256, 1);
        let alterations = alteration.map_or(Vec::new(), |second| vec![first, second]);
        AlterUserScramCredentials::new(alterations).unwrap_err().message
    };
    let with = |change: fn(&mut ScramUpsertion)| {
        let mut alteration = upsert("b", ScramMechanism::SHA_256, 1);
        change(alteration.upsertion.as_mut().unwrap());
        Some(alteration)
    };
    assert_eq!(text(None), "At least one alteration is required");
    assert_eq!(text(Some(remove("", ScramMechanism::SHA_256))), "Empty user at index 1");
    assert_eq!(
        text(Some(remove("b", ScramMechanism::UNKNOWN))),
        "SCRAM mechanism must be specified at index 1"
    );
    assert_eq!(text(with(|u| u.password.clear())), "Empty password at index 1");
    assert_eq!(text(with(|u| u.salt = Some(Vec::new()))), "Empty salt at index 1");
    assert_eq!(text(with(|u| u.iterations = 0)), "Non-positive iterations at index 1");
    assert_eq!(
        text(with(|u| u.iterations = i32::MAX)),
        "Too many iterations at index 1"
    );
    let mut w = world();
    let describe = |w: &mut World, users: &[&str]| {
        let users = users.iter().map(|user| (*user).to_owned()).collect();
        w.ask(DescribeUserScramCredentials { users }).unwrap_err().message
    };
    assert_eq!(describe(&mut w, &["a", ""]), "Empty users aren't allowed, index 1");
    assert_eq!(
        describe(&mut w, &["a", "a"]),
        "Duplicate users aren't allowed in the same request"
    );
}
