//! UnregisterBroker (key 64), version 0.
//!
//! Removes the registration of a broker; one that is up is stopped first. Error: BROKER_ID_NOT_REGISTERED.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::unregister_broker::{UnregisterBrokerRequest, UnregisterBrokerResponse};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::ids::BrokerId;
use crate::request::Context;

pub(crate) struct UnregisterBroker;

impl Handler for UnregisterBroker {
    type Request = UnregisterBrokerRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: UnregisterBrokerRequest) -> AnswerOf<Self> {
        match cluster.unregister_broker(BrokerId(request.broker_id)) {
            Ok(()) => respond(context, ErrorCode::NONE, None),
            Err(error) => {
                let message = format!("Broker ID {} is not currently registered", request.broker_id);
                respond(context, error, Some(message))
            }
        }
    }

    fn refuse(_: &Cluster, context: &Context, _: UnregisterBrokerRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, error, error.name().map(str::to_owned))
    }
}

fn respond(context: &Context, error: ErrorCode, error_message: Option<String>) -> Answer<UnregisterBrokerResponse> {
    Answer::Respond(UnregisterBrokerResponse {
        throttle_time_ms: context.throttle_time_ms,
        error_code: error.0,
        error_message,
        ..Default::default()
    })
}
