//! Checks of authentication: the events at the brokers, and the requests of clients.

use bytes::Bytes;
use ottla_mock::SaslEvent;
use ottla_protocol::ApiKey;
use ottla_protocol::api::metadata::MetadataRequest;
use ottla_protocol::encode_request;

use crate::canary::Canary;
use crate::trace::trace;
use crate::wire::api_of;
use crate::world::{Phase, World};

/// Checks the events of authentication at the brokers since the last call: no client sends other requests before it is
/// authenticated, and none is refused once the faults are over and everything has settled.
pub(crate) fn check_sasl_events(world: &mut World) {
    if !world.sasl.exists() {
        return;
    }
    for record in world.cluster.take_sasl_events() {
        let number = record.connection.0;
        trace!(world.trace, "#{number} authentication: {:?}", record.event);
        match record.event {
            SaslEvent::Authenticated { lifetime_ms, again, .. } => {
                let what = if again { "re-authentications" } else { "authentications" };
                world.coverage.count(what, 1);
                world.sasl.on_accepted(number, lifetime_ms);
            }
            SaslEvent::Refused { cause, again } => {
                let what = if again {
                    "refused re-authentications"
                } else {
                    "refusals"
                };
                world.coverage.count(what, 1);
                let settled = world.phase >= Phase::Probing && world.sasl.began_us(number) >= world.settled_at_us;
                if settled {
                    world.check.violate(format!(
                        "a client with the right credentials is refused on #{number}: {cause}"
                    ));
                }
            }
            SaslEvent::UnexpectedRequest { api, again } => {
                let process = if again { "re-authentication" } else { "authentication" };
                world
                    .check
                    .violate(format!("{api} was sent on #{number} before the end of its {process}"));
            }
            SaslEvent::SessionExpired { .. } => world.coverage.count("sessions ended by brokers", 1),
        }
    }
}

/// Checks a request of a client, with its length prefix: none is sent after the session's end.
pub(crate) fn check_session(world: &mut World, number: u64, frame: &Bytes) {
    let Some(header) = api_of(frame.get(4..).unwrap_or_default()) else {
        return;
    };
    let now_us = world.now_us();
    if let Some(ends_us) = world.sasl.on_request(number, header, now_us) {
        let api = header.0;
        world.check.violate(format!(
            "{api} is sent on #{number}, whose session ended {} us before",
            now_us - ends_us
        ));
    }
}

/// Returns a request to be sent behind a handshake that begins a re-authentication, for a canary.
pub(crate) fn request_during_reauthentication(world: &mut World, number: u64, frame: &Bytes) -> Option<Bytes> {
    let (api, ..) = api_of(frame.get(4..)?)?;
    let begins = api == ApiKey::SASL_HANDSHAKE && world.sasl.is_established(number);
    if !begins || !world.canary.strike(Canary::EarlyRequest) {
        return None;
    }
    let request = encode_request(i32::MAX, None, &MetadataRequest::default(), 1);
    request.ok().map(ottla_protocol::Frame::into_bytes)
}
