//! Calls about the SCRAM credentials of users.

use ottla_core::admin::{
    AlterUserScramCredentials, DescribeUserScramCredentials, ScramAlteration, ScramMechanism, ScramUpsertion,
    UserScramCredentials,
};
use ottla_core::error::ErrorCode;

use super::super::ask::{Answer, Ask, Asked};
use super::super::draw::{Draw, change, claim, impossible, row};
use crate::check::{Claim, Facts, Resource, ResourceKind, Row};
use crate::world::World;

/// The least number of iterations that brokers accept.
const ITERATIONS_MIN: i32 = 4096;

/// Sets or removes credentials, one for each user.
pub(in super::super) fn alter(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let chosen = d.free(ResourceKind::User, 2);
    let (changes, rows): (Vec<_>, Vec<_>) = chosen.iter().map(|(user, facts)| alteration(d, user, facts)).unzip();
    let call = AlterUserScramCredentials::new(changes).ok()?;
    Ask::boxed(call, rows, |results, _| Answer {
        rows: results
            .iter()
            .map(|row| (row.user.clone(), row.error.clone()))
            .collect(),
        ..Answer::default()
    })
}

fn alteration(d: &mut Draw<'_>, user: &Resource, facts: &Facts) -> (ScramAlteration, Row) {
    let mechanism = d.rng.pick(&[ScramMechanism::SHA_256, ScramMechanism::SHA_512]);
    let fact = format!("mechanism {}", mechanism.0);
    let iterations = match d.rng.f64() {
        ..0.35 => None,
        ..0.4 => Some(100),
        _ => Some(ITERATIONS_MIN + d.rng.between(0, 4) as i32),
    };
    let alteration = ScramAlteration {
        user: user.name.clone(),
        mechanism,
        upsertion: iterations.map(|iterations| ScramUpsertion {
            iterations,
            password: b"secret".to_vec().into(),
            // A random one would differ between runs of a world.
            salt: Some(b"salt".to_vec()),
        }),
    };
    let is_possible = match iterations {
        None => facts.contains_key(&fact),
        Some(iterations) => iterations >= ITERATIONS_MIN,
    };
    let row = match is_possible {
        true => row(
            &user.name,
            vec![change(
                user,
                facts,
                &fact,
                iterations.map(|iterations| iterations.to_string()),
            )],
        ),
        false => impossible(&user.name, user, facts),
    };
    (alteration, row)
}

/// Describes the credentials of users, or of all users.
pub(in super::super) fn describe(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let users = d.any(ResourceKind::User, 3);
    if users.is_empty() || d.rng.hit(0.2) {
        return Ask::boxed(DescribeUserScramCredentials::default(), Vec::new(), |found, world| {
            read_all(found, world)
        });
    }
    let rows = users.iter().map(|user| Row {
        accepts: &[ErrorCode::RESOURCE_NOT_FOUND],
        ..row(&user.name, Vec::new())
    });
    let rows: Vec<Row> = rows.collect();
    let users = users.into_iter().map(|user| user.name).collect();
    Ask::boxed(DescribeUserScramCredentials { users }, rows, |found, _| Answer {
        rows: found
            .iter()
            .map(|user| (user.user.clone(), user.error.clone()))
            .collect(),
        claims: found.iter().filter_map(description).collect(),
        ..Answer::default()
    })
}

/// Reads the credentials of all users: those that are not listed have none.
fn read_all(found: &[UserScramCredentials], world: &World) -> Answer {
    let all = world.check.admin.all(ResourceKind::User);
    let claims = all.map(|user| {
        let listed = found.iter().find(|row| row.user == user.name).and_then(description);
        listed.unwrap_or_else(|| credentials(user, Vec::new()))
    });
    Answer::of_claims(claims.collect())
}

fn credentials(user: &Resource, facts: Vec<(String, Option<String>)>) -> Claim {
    Claim {
        all_of: Some("mechanism "),
        ..claim(user, facts)
    }
}

fn description(found: &UserScramCredentials) -> Option<Claim> {
    let user = Resource {
        kind: ResourceKind::User,
        name: found.user.clone(),
    };
    let is_known = found
        .error
        .as_ref()
        .is_none_or(|error| error.code == ErrorCode::RESOURCE_NOT_FOUND);
    let fact = |info: &ottla_core::admin::ScramCredentialInfo| {
        (
            format!("mechanism {}", info.mechanism.0),
            Some(info.iterations.to_string()),
        )
    };
    is_known.then(|| credentials(&user, found.credentials.iter().map(fact).collect()))
}
