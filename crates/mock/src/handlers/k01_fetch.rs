//! Fetch (key 1), versions 4 to 18.
//!
//! Waits up to `max_wait_ms` for `min_bytes`. The response obeys `max_bytes` and each partition's
//! `partition_max_bytes`, except that the first partition with records returns at least one whole batch; the last batch
//! of a partition may be cut off. From version 7 on there are fetch sessions (KIP-227), from 9 on leader epochs are
//! checked (KIP-320), from 11 on consumers may read from followers and, if configured, are sent to one in their rack
//! (KIP-392), from 12 on diverging logs are reported, from 13 on topics have ids, from 16 on NOT_LEADER_OR_FOLLOWER and
//! FENCED_LEADER_EPOCH come with the new leader's address (KIP-951). Errors: OFFSET_OUT_OF_RANGE,
//! UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH and
//! the three of sessions.
//!
//! Records are slices of the log, without a copy. Read committed stops at the last stable offset and lists the aborted
//! transactions of the returned records, in the order of their markers (KIP-98).
//!
//! Omitted: fetches by replicas are served as those of consumers; nothing is throttled except by a fault.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::fetch::{FetchRequest, FetchResponse};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::fetch;
use crate::fetch_session::requested_slots;
use crate::purgatory::DelayedFetch;
use crate::request::{CloseReason, Context};

pub(crate) struct Fetch;

impl Handler for Fetch {
    type Request = FetchRequest;

    const MIN_VERSION: i16 = 4;

    fn handle(cluster: &mut Cluster, context: &Context, request: FetchRequest) -> AnswerOf<Self> {
        let now = cluster.state.now;
        let Some(broker) = cluster.state.brokers.get_mut(context.broker) else {
            return Answer::Close(CloseReason::BrokerDown);
        };
        let (session, slots) = match broker.sessions.begin(&request, context.version, now) {
            Ok(begun) => begun,
            Err(error) => {
                return Answer::Respond(FetchResponse {
                    throttle_time_ms: context.throttle_time_ms,
                    error_code: error.0,
                    ..Default::default()
                });
            }
        };
        let max_bytes = request.max_bytes.clamp(0, cluster.state.config.fetch_max_bytes);
        let min_bytes = request.min_bytes.clamp(0, max_bytes);
        let mut fetch = DelayedFetch {
            session,
            slots,
            max_bytes: usize::try_from(max_bytes).unwrap_or(0),
            isolation_level: request.isolation_level,
            rack_id: request.rack_id,
            watched: Vec::new(),
            min_bytes: usize::try_from(min_bytes).unwrap_or(0),
            available: 0,
        };
        let read = fetch::read_all(&mut cluster.state, context, &fetch);
        let enough = read.bytes >= fetch.min_bytes || read.urgent;
        if request.max_wait_ms <= 0 || fetch.slots.is_empty() || enough {
            return Answer::Respond(fetch::answer(&mut cluster.state, context, fetch.session, read));
        }
        fetch.available = read.bytes;
        fetch::delay(&mut cluster.state, context, request.max_wait_ms, fetch);
        Answer::Delayed
    }

    fn refuse(_: &Cluster, context: &Context, request: FetchRequest, error: ErrorCode) -> AnswerOf<Self> {
        let slots = requested_slots(&request, context.version);
        let isolation_level = request.isolation_level;
        let answered = slots.into_iter().map(|slot| {
            let data = fetch::failed(slot.partition, error, isolation_level);
            (slot, data)
        });
        // A request of a session does not list its partitions, so the error is at the top level.
        let whole = context.version >= 7 && (request.topics.is_empty() || context.refuse_whole);
        if whole {
            return Answer::Respond(FetchResponse {
                throttle_time_ms: context.throttle_time_ms,
                error_code: error.0,
                ..Default::default()
            });
        }
        Answer::Respond(FetchResponse {
            throttle_time_ms: context.throttle_time_ms,
            responses: fetch::by_topic(answered.collect()),
            ..Default::default()
        })
    }
}
