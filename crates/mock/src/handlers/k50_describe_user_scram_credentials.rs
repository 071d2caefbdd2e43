//! DescribeUserScramCredentials (key 50), version 0.
//!
//! The mechanisms and iterations of users' credentials, of all users without a list. Errors per user: RESOURCE_NOT_FOUND,
//! DUPLICATE_RESOURCE.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::describe_user_scram_credentials::{
    CredentialInfo, DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult, UserName,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct DescribeUserScramCredentials;

impl Handler for DescribeUserScramCredentials {
    type Request = DescribeUserScramCredentialsRequest;

    fn handle(
        cluster: &mut Cluster,
        context: &Context,
        request: DescribeUserScramCredentialsRequest,
    ) -> AnswerOf<Self> {
        let known = &cluster.state.scram_credentials;
        let names = |users: Vec<_>| users.into_iter().map(|user: UserName| user.name).collect();
        let users: Vec<String> = request.users.map_or_else(|| known.users(), names);
        let result = |user: &String| {
            let is_twice = users.iter().filter(|other| *other == user).count() > 1;
            let found = known.of(user);
            let error = match found {
                _ if is_twice => ErrorCode::DUPLICATE_RESOURCE,
                None => ErrorCode::RESOURCE_NOT_FOUND,
                Some(_) => ErrorCode::NONE,
            };
            let infos = found
                .into_iter()
                .flatten()
                .map(|(mechanism, iterations)| CredentialInfo {
                    mechanism: *mechanism,
                    iterations: *iterations,
                    ..Default::default()
                });
            DescribeUserScramCredentialsResult {
                user: user.clone(),
                error_code: error.0,
                credential_infos: infos.collect(),
                ..Default::default()
            }
        };
        Answer::Respond(DescribeUserScramCredentialsResponse {
            throttle_time_ms: context.throttle_time_ms,
            results: users.iter().map(result).collect(),
            ..Default::default()
        })
    }

    fn refuse(
        _: &Cluster,
        context: &Context,
        _: DescribeUserScramCredentialsRequest,
        error: ErrorCode,
    ) -> AnswerOf<Self> {
        Answer::Respond(DescribeUserScramCredentialsResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            ..Default::default()
        })
    }
}
