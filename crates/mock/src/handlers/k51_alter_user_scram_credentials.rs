//! AlterUserScramCredentials (key 51), version 0.
//!
//! Sets and removes credentials; all changes of a user or none. Errors per user: UNACCEPTABLE_CREDENTIAL for an empty name and
//! for iterations other than 4096 to 16384, UNSUPPORTED_SASL_MECHANISM, DUPLICATE_RESOURCE, RESOURCE_NOT_FOUND.
//!
//! Omitted: salts and salted passwords are not kept, so that the credentials authenticate no connection.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::api::alter_user_scram_credentials::{
    AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse, AlterUserScramCredentialsResult,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct AlterUserScramCredentials;

impl Handler for AlterUserScramCredentials {
    type Request = AlterUserScramCredentialsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: AlterUserScramCredentialsRequest) -> AnswerOf<Self> {
        let credentials = &mut cluster.state.scram_credentials;
        respond(context, request, |user, changes| {
            match credentials.alter(user, changes) {
                Ok(()) => ErrorCode::NONE,
                Err(error) => error,
            }
        })
    }

    fn refuse(
        _: &Cluster,
        context: &Context,
        request: AlterUserScramCredentialsRequest,
        error: ErrorCode,
    ) -> AnswerOf<Self> {
        respond(context, request, |_, _| error)
    }
}

fn respond(
    context: &Context,
    request: AlterUserScramCredentialsRequest,
    mut alter: impl FnMut(&str, &[(i8, Option<i32>)]) -> ErrorCode,
) -> Answer<AlterUserScramCredentialsResponse> {
    let mut by_user: BTreeMap<String, Vec<(i8, Option<i32>)>> = BTreeMap::new();
    for deletion in request.deletions {
        by_user
            .entry(deletion.name)
            .or_default()
            .push((deletion.mechanism, None));
    }
    for upsertion in request.upsertions {
        let change = (upsertion.mechanism, Some(upsertion.iterations));
        by_user.entry(upsertion.name).or_default().push(change);
    }
    let results = by_user
        .into_iter()
        .map(|(user, changes)| AlterUserScramCredentialsResult {
            error_code: alter(&user, &changes).0,
            user,
            ..Default::default()
        });
    Answer::Respond(AlterUserScramCredentialsResponse {
        throttle_time_ms: context.throttle_time_ms,
        results: results.collect(),
        ..Default::default()
    })
}
