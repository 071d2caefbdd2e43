//! The common frame of all handlers: decoding, injected errors, encoding.

use ottla_protocol::{ApiKey, DecodeError, ErrorCode, Frame, Message, Reader, Request};

use crate::cluster::Cluster;
use crate::history::ServedRequest;
use crate::request::{CloseReason, Context};

/// The outcome of a request, with its encoded response.
#[derive(Debug)]
pub(crate) enum Served {
    Frame(Frame),
    /// A refusal, after which the connection is closed.
    FrameThenClose(Frame, CloseReason),
    /// The request is in the purgatory, or was completed there already.
    Delayed,
    Nothing,
    Close(CloseReason),
}

/// The outcome of a request in a handler.
pub(crate) enum Answer<R> {
    Respond(R),
    /// The request is answered, and the connection closed.
    RespondThenClose(R, CloseReason),
    /// The handler parked it.
    Delayed,
    /// The request has no response.
    Nothing,
    Close(CloseReason),
}

/// The broker's side of one API.
pub(crate) trait Handler {
    type Request: Request;

    /// The versions that a Kafka 4.x broker serves of those that the schema has.
    const MIN_VERSION: i16 = <Self::Request as Message>::MIN_VERSION;
    const MAX_VERSION: i16 = <Self::Request as Message>::MAX_VERSION;
    /// The oldest version in ApiVersions.
    const ADVERTISED_MIN_VERSION: i16 = Self::MIN_VERSION;
    /// The oldest version that is served where a version range simulates brokers too old for [`Self::MIN_VERSION`].
    const OLDEST_VERSION: i16 = Self::MIN_VERSION;

    /// Serves a request.
    fn handle(cluster: &mut Cluster, context: &Context, request: Self::Request) -> AnswerOf<Self>;

    /// Answers every part of a request with `error`, without serving it.
    fn refuse(cluster: &Cluster, context: &Context, request: Self::Request, error: ErrorCode) -> AnswerOf<Self>;
}

pub(crate) type AnswerOf<H> = Answer<<<H as Handler>::Request as Request>::Response>;

/// An API of the brokers, with its types erased.
pub(crate) struct Api {
    pub(crate) key: ApiKey,
    pub(crate) min_version: i16,
    pub(crate) max_version: i16,
    pub(crate) advertised_min_version: i16,
    pub(crate) oldest_version: i16,
    pub(crate) serve: fn(&mut Cluster, &Context, &mut Reader, Option<ErrorCode>) -> Served,
}

impl Api {
    pub(super) const fn of<H: Handler>() -> Self {
        Self {
            key: <H::Request as Message>::KEY,
            min_version: H::MIN_VERSION,
            max_version: H::MAX_VERSION,
            advertised_min_version: H::ADVERTISED_MIN_VERSION,
            oldest_version: H::OLDEST_VERSION,
            serve: serve::<H>,
        }
    }
}

fn serve<H: Handler>(
    cluster: &mut Cluster,
    context: &Context,
    reader: &mut Reader,
    refusal: Option<ErrorCode>,
) -> Served {
    let lenient = cluster.state.config.ignore_trailing_bytes;
    let request = match read::<H::Request>(reader, context.version, lenient) {
        Ok(request) => request,
        Err(error) => return Served::Close(CloseReason::Malformed(error)),
    };
    cluster.state.history.requests.push(|| ServedRequest {
        api: context.api,
        broker: context.broker,
        connection: context.connection,
        correlation_id: context.correlation_id,
        is_executed: refusal.is_none(),
    });
    let answer = match (refusal, context.error_after) {
        (None, None) => H::handle(cluster, context, request),
        (Some(error), _) => H::refuse(cluster, context, request, error),
        (None, Some(error)) => match H::handle(cluster, context, request.clone()) {
            Answer::Respond(_) => H::refuse(cluster, context, request, error),
            // A delayed request receives its error on completion.
            other => other,
        },
    };
    match answer {
        Answer::Respond(response) => match context.encode(&response) {
            Ok(frame) => Served::Frame(frame),
            Err(reason) => Served::Close(reason),
        },
        Answer::RespondThenClose(response, reason) => match context.encode(&response) {
            Ok(frame) => Served::FrameThenClose(frame, reason),
            Err(reason) => Served::Close(reason),
        },
        Answer::Delayed => Served::Delayed,
        Answer::Nothing => Served::Nothing,
        Answer::Close(reason) => Served::Close(reason),
    }
}

/// Answers a client that is not authenticated, and closes its connection.
pub(super) fn refused<R>(response: R, cause: &str) -> Answer<R> {
    Answer::RespondThenClose(response, CloseReason::AuthenticationFailed(cause.to_owned()))
}

/// Replaces PRODUCER_FENCED by INVALID_PRODUCER_EPOCH for request versions before `version`.
pub(super) fn fenced_before(version: i16, context: &Context, error: ErrorCode) -> ErrorCode {
    match error {
        ErrorCode::PRODUCER_FENCED if context.version < version => ErrorCode::INVALID_PRODUCER_EPOCH,
        error => error,
    }
}

fn read<R: Request>(reader: &mut Reader, version: i16, lenient: bool) -> Result<R, DecodeError> {
    let request = R::decode(reader, version)?;
    if !lenient {
        reader.finish()?;
    }
    Ok(request)
}
