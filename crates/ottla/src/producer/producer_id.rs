//! The id of the idempotent producer: asked of the cluster when the first record is produced, and again only when the
//! epochs of one are used up (KIP-98, KIP-360).

use ottla_protocol::api::init_producer_id::InitProducerIdRequest;

use super::sender::Sender;
use super::timers::retry_delay;
use crate::cluster::Cluster;
use crate::connection::{BrokerKey, Outcome, Owner, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, level};
use crate::request::ReadyBroker;
use crate::stats::Eos;
use crate::sys::Instant;

/// How often to look for a broker when no event will tell of one.
const SEARCH_INTERVAL_MS: u64 = 500;

/// What batches are numbered with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProducerId {
    /// A producer id; epochs are each partition's own.
    Idempotent { id: i64 },
    /// What the transaction's coordinator gave, for all partitions.
    Transactional { id: i64, epoch: i16 },
}

/// The producer id, or what is done to get it.
#[derive(Debug, Default)]
pub(super) struct ProducerIdState {
    current: Option<ProducerId>,
    /// The transaction manager gives it: nothing is to be asked for.
    external: bool,
    required: bool,
    /// The request under way.
    request: Option<u64>,
    retry_at: Option<Instant>,
    tries: u32,
    /// Refusals are told once in a row.
    reported: Option<ErrorCode>,
    /// How many ids were given.
    assigned_count: u64,
}

impl ProducerIdState {
    /// One that another part of the producer gives.
    pub(super) fn external() -> Self {
        ProducerIdState {
            external: true,
            ..Default::default()
        }
    }

    pub(super) fn set(&mut self, current: Option<ProducerId>) {
        self.current = current;
    }

    /// What to number with, once it is known.
    pub(super) fn current(&self) -> Option<ProducerId> {
        self.current
    }

    /// Something is to be sent.
    pub(super) fn require(&mut self) {
        self.required |= self.current.is_none() && !self.external;
    }

    /// The id's epochs are used up.
    pub(super) fn renew(&mut self) {
        self.current = None;
        self.require();
    }

    fn is_due(&self, now: Instant) -> bool {
        self.required && self.request.is_none() && self.retry_at.is_none_or(|at| at <= now)
    }

    /// When to look again.
    pub(super) fn wake(&self, now: Instant) -> Option<Instant> {
        let searching = self.required && self.request.is_none();
        let soon = now.plus_ms(SEARCH_INTERVAL_MS);
        searching.then(|| self.retry_at.filter(|at| *at > now).unwrap_or(soon))
    }

    /// Where the id stands, by the name that programs know.
    pub(super) fn public_state(&self) -> &'static str {
        match (self.current, self.request, self.required) {
            (Some(_), _, _) => "Assigned",
            (None, Some(_), _) => "WaitPID",
            (None, None, true) => "RequestPID",
            (None, None, false) => "Init",
        }
    }

    /// Writes what is known of the id, whose highest epoch of all partitions is given.
    pub(super) fn write_stats(&self, epoch: Option<i16>, to: &mut Eos) {
        to.epoch_cnt = self.assigned_count;
        if let Some(ProducerId::Idempotent { id }) = self.current {
            to.producer_id = id;
            to.producer_epoch = epoch.unwrap_or(0).into();
        }
    }

    fn back_off(&mut self, ctx: &mut Ctx<'_>) {
        self.retry_at = Some(ctx.now + retry_delay(ctx, self.tries));
        self.tries = self.tries.saturating_add(1);
    }
}

impl Sender {
    /// Asks for a producer id when one is needed.
    pub(super) fn request_producer_id(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        if self.fatal || !self.producer_id.as_ref().is_some_and(|i| i.is_due(ctx.now)) {
            return;
        }
        let Some(ReadyBroker { key, versions }) = cluster.any_connection(ctx) else {
            return;
        };
        let Some(version) = versions.pick::<InitProducerIdRequest>() else {
            return self.raise_fatal(Error::new(
                ErrorCode::L_UNSUPPORTED_FEATURE,
                "the brokers do not support the idempotent producer: it needs Kafka 0.11 or later",
            ));
        };
        let request = InitProducerIdRequest {
            transactional_id: None,
            transaction_timeout_ms: i32::MAX,
            ..Default::default()
        };
        let id = self.requests.next_id();
        let tag = Tag {
            owner: Owner::Producer,
            id,
        };
        let sent = ctx
            .connections
            .send(key, ctx.now, tag, &request, version, self.request_timeout);
        ctx.log.debug(DebugContexts::EOS, "PRODUCERID", || {
            format!("asking broker {} for a producer id", key.node)
        });
        if let Some(producer_id) = &mut self.producer_id {
            match sent {
                Ok(()) => producer_id.request = Some(id),
                Err(_) => producer_id.back_off(ctx),
            }
        }
    }

    /// Whether `id` is the request for a producer id; then its outcome was taken in.
    pub(super) fn on_producer_id_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        key: BrokerKey,
        id: u64,
        outcome: &Outcome,
    ) -> bool {
        let Some(producer_id) = self.producer_id.as_mut().filter(|i| i.request == Some(id)) else {
            return false;
        };
        producer_id.request = None;
        let Outcome::Reply(reply) = outcome else {
            ctx.log.debug(DebugContexts::EOS, "PRODUCERID", || {
                "no producer id: no answer, trying again".into()
            });
            producer_id.back_off(ctx);
            return true;
        };
        let response = match reply.decode::<InitProducerIdRequest>() {
            Ok(response) => response,
            Err(e) => {
                ctx.connections.fail_unreadable(key, "InitProducerId", e, ctx.now);
                producer_id.back_off(ctx);
                return true;
            }
        };
        let code = ErrorCode::from(response.error_code);
        if code.is_ok() && response.producer_id >= 0 {
            ctx.log.debug(DebugContexts::EOS, "PRODUCERID", || {
                format!(
                    "acquired producer id {}, epoch {}",
                    response.producer_id, response.producer_epoch
                )
            });
            *producer_id = ProducerIdState {
                current: Some(ProducerId::Idempotent {
                    id: response.producer_id,
                }),
                assigned_count: producer_id.assigned_count + 1,
                ..Default::default()
            };
            self.resume_all_brokers();
            return true;
        }
        self.on_producer_id_error(ctx, code);
        true
    }

    /// Has everything that waits for the producer's id tried again.
    pub(super) fn resume_all_brokers(&mut self) {
        let mut nodes: Vec<_> = self.broker_queues.keys().copied().collect();
        // In an order that is the same each time, as simulations need it.
        nodes.sort_unstable();
        for node in nodes {
            self.resume_broker(BrokerKey::general(node));
        }
    }

    fn on_producer_id_error(&mut self, ctx: &mut Ctx<'_>, code: ErrorCode) {
        let text = format!("no producer id was given: {}", code.description());
        if code == ErrorCode::CLUSTER_AUTHORIZATION_FAILED {
            return self.raise_fatal(Error::new(code, text));
        }
        let Some(producer_id) = &mut self.producer_id else {
            return;
        };
        producer_id.back_off(ctx);
        if producer_id.reported.replace(code) != Some(code) && !code.action().is_retriable() {
            ctx.log
                .log(level::WARNING, "PRODUCERID", || format!("{text}: trying again"));
        }
    }

    /// Nothing honest can be done any more. The first such error is the one that counts.
    pub(super) fn raise_fatal(&mut self, error: Error) {
        if !std::mem::replace(&mut self.fatal, true) {
            self.raised = Some(error);
        }
    }

    /// Whether a fatal error came up, here or in the client: nothing more is sent.
    pub(super) fn is_fatal(&self) -> bool {
        self.fatal || self.accumulator.is_fatal()
    }

    /// The fatal error that came up since the last call.
    pub fn take_fatal(&mut self) -> Option<Error> {
        self.raised.take()
    }
}
