//! Faults of authentication: refusals, changed passwords, revoked tokens, and faults of its requests.

use ottla_core::client::Command;
use ottla_core::credentials;
use ottla_mock::{Fault, FaultAction};
use ottla_protocol::{ApiKey, ErrorCode};

use super::state::Faults;
use crate::canary::Canary;
use crate::event::{FaultEvent, WorldEvent};
use crate::faults::requests::{push_delay_on, push_disconnect_on};
use crate::plan::SaslFault;
use crate::trace::trace;
use crate::world::World;

/// The requests of authentication.
const APIS: &[ApiKey] = &[ApiKey::SASL_HANDSHAKE, ApiKey::SASL_AUTHENTICATE];
const ERRORS: &[ErrorCode] = &[
    ErrorCode::SASL_AUTHENTICATION_FAILED,
    ErrorCode::ILLEGAL_SASL_STATE,
    ErrorCode::UNSUPPORTED_SASL_MECHANISM,
    ErrorCode::UNKNOWN_SERVER_ERROR,
];

pub(super) fn start_sasl_faults(faults: &mut Faults, world: &mut World) {
    let kinds = world.sasl.plan().map_or(Vec::new(), |plan| plan.faults.clone());
    for (kind, mean_us) in kinds {
        next_strike(faults, world, kind, mean_us);
    }
}

fn next_strike(faults: &mut Faults, world: &mut World, kind: SaslFault, mean_us: u64) {
    let pause = faults.rng.between(mean_us / 10, mean_us * 2);
    world.after_us(pause, WorldEvent::Fault(FaultEvent::StrikeSasl(kind, mean_us)));
}

pub(super) fn strike_sasl(faults: &mut Faults, world: &mut World, kind: SaslFault, mean_us: u64) {
    if !world.net.has_faults_enabled() {
        return;
    }
    world.cluster.advance_clock(ottla_mock::Time(world.now_us()));
    trace!(world.trace, "FAULT {}", kind.name());
    let happens = match kind {
        SaslFault::Refuse => {
            let count = faults.rng.pick(&[1, 1, 2, 5, 20]);
            world.cluster.refuse_authentications(count);
            true
        }
        SaslFault::RotatePassword => rotate_password(faults, world, true),
        SaslFault::RotateEarly => rotate_password(faults, world, false),
        SaslFault::RemoveUser => remove_user(faults, world),
        SaslFault::RevokeToken => revoke_token(world),
        SaslFault::ChangeSessions => {
            let millis = if faults.rng.hit(0.2) {
                0
            } else {
                faults.rng.spread(1_500, 60_000)
            };
            world.cluster.set_max_reauth_ms(millis);
            true
        }
        SaslFault::RequestError => {
            let (api, error) = (faults.rng.pick(APIS), faults.rng.pick(ERRORS));
            let action = match faults.rng.hit(0.3) {
                true => FaultAction::ErrorAfter(error),
                false => FaultAction::Error(error),
            };
            world.cluster.push_fault(None, api, Fault { action, delay_us: 0 });
            true
        }
        SaslFault::RequestDisconnect => {
            let api = faults.rng.pick(APIS);
            push_disconnect_on(faults, world, api);
            true
        }
        SaslFault::RequestDelay => {
            let api = faults.rng.pick(APIS);
            push_delay_on(faults, world, api);
            true
        }
    };
    if happens {
        world.coverage.fault(kind.name());
    }
    next_strike(faults, world, kind, mean_us);
}

/// Changes a password at the brokers and at the client, one of them later.
fn rotate_password(faults: &mut Faults, world: &mut World, brokers_first: bool) -> bool {
    let clients = world.sasl.clients_with_passwords();
    if clients.is_empty() {
        return false;
    }
    let client = faults.rng.pick(&clients);
    world.sasl.change_password(client);
    let most = world.sasl.plan().map_or(0, |plan| plan.rotation_us);
    let delay_us = faults.rng.between(0, most);
    let (now, later) = match brokers_first {
        true => (FaultEvent::RestoreUser(client), FaultEvent::SetLogin(client)),
        false => (FaultEvent::SetLogin(client), FaultEvent::RestoreUser(client)),
    };
    world.after_us(0, WorldEvent::Fault(now));
    world.after_us(delay_us, WorldEvent::Fault(later));
    true
}

fn remove_user(faults: &mut Faults, world: &mut World) -> bool {
    let clients = world.sasl.clients_with_passwords();
    let login = (!clients.is_empty()).then(|| faults.rng.pick(&clients));
    let Some((client, (user, _))) = login.and_then(|c| Some((c, world.sasl.login(c)?))) else {
        return false;
    };
    world.cluster.remove_sasl_user(&user);
    let outage = faults.outage_us(world);
    world.after_us(outage, WorldEvent::Fault(FaultEvent::RestoreUser(client)));
    true
}

fn revoke_token(world: &mut World) -> bool {
    let happens = world.sasl.revoke_token();
    let accepted = world.sasl.accepted_tokens();
    world.cluster.set_accepted_tokens(Some(accepted));
    happens
}

/// Sets the current password of a client's user at the brokers.
pub(super) fn restore_user(world: &mut World, client: usize) {
    if let Some((user, password)) = world.sasl.login(client) {
        trace!(world.trace, "the brokers know the {password} of {user}");
        world.cluster.set_sasl_password(&user, &password);
    }
}

/// Has a client's application set the current password.
pub(super) fn set_login(world: &mut World, client: usize) {
    let Some((username, password)) = world.sasl.login(client) else {
        return;
    };
    if world.canary.is(Canary::LostLogin) {
        return;
    }
    trace!(world.trace, "c{client} app sets {password}");
    let command = credentials::Command::SetLogin {
        username,
        password: password.into(),
    };
    world.shared(client).send(Command::Credentials(command));
}

pub(super) fn heal_sasl(world: &mut World) {
    let Some(plan) = world.sasl.plan() else { return };
    let (calm_session_ms, known) = (plan.calm_session_ms, plan.tokens.limits_sessions);
    world.sasl.heal();
    world.cluster.refuse_authentications(0);
    world.cluster.set_max_reauth_ms(calm_session_ms);
    if !known {
        // Clients do not know that the sessions of the faults' phase have an end.
        let brokers: Vec<_> = world.cluster.broker_ids().collect();
        brokers
            .into_iter()
            .for_each(|broker| world.cluster.close_connections(broker));
    }
    for api in APIS {
        world.cluster.clear_request_errors(*api);
    }
    for client in world.sasl.clients_with_passwords() {
        restore_user(world, client);
        set_login(world, client);
    }
    for client in world.sasl.clients_that_answer() {
        crate::transport::answer_token_request(world, client);
    }
}
