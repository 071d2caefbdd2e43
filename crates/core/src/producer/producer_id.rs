//! The id of the idempotent producer: requested with the first record, and again only when the epochs of an id are used
//! up (KIP-98, KIP-360).

use std::time::Duration;

use ottla_protocol::api::init_producer_id::InitProducerIdRequest;

use super::sequence::ProducerId;
use crate::cluster::Cluster;
use crate::connection::{BrokerKey, Outcome, Owner};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, level};
use crate::request::{ReadyBroker, RequestIds};
use crate::stats::Eos;
use crate::sys::Instant;

/// The interval in ms at which a connected broker is looked for.
const SEARCH_INTERVAL_MS: u64 = 500;

/// The outcome of a request, for the caller of [`ProducerIdState::on_outcome`].
#[derive(Debug)]
pub(super) enum IdOutcome {
    /// It was no InitProducerId request of this state.
    OtherRequest,
    /// The id is assigned: batches can be sent.
    Assigned,
    /// The request failed and will be sent again.
    Retried,
    /// No id can be acquired.
    Fatal(Error),
}

/// The producer id, or the state of its acquisition.
#[derive(Debug, Default)]
pub(super) struct ProducerIdState {
    current: Option<ProducerId>,
    /// The transaction manager sets the id: none is requested.
    external: bool,
    required: bool,
    /// The id of the request in flight.
    in_flight: Option<u64>,
    retry_at: Option<Instant>,
    tries: u32,
    /// The last error that was logged: repeated ones are not.
    reported: Option<ErrorCode>,
    /// The number of ids that were assigned.
    assigned_count: u64,
}

impl ProducerIdState {
    /// Creates the state of an id that the transaction manager sets.
    pub(super) fn external() -> Self {
        ProducerIdState {
            external: true,
            ..Default::default()
        }
    }

    /// Sets the id that the transaction manager has.
    pub(super) fn set(&mut self, current: Option<ProducerId>) {
        self.current = current;
    }

    /// Returns the id, once it is known.
    pub(super) fn current(&self) -> Option<ProducerId> {
        self.current
    }

    /// Requires an id: one is requested if there is none.
    pub(super) fn require(&mut self) {
        self.required |= self.current.is_none() && !self.external;
    }

    /// Requires another id, because the epochs of the present one are used up.
    pub(super) fn renew(&mut self) {
        self.current = None;
        self.require();
    }

    fn is_due(&self, now: Instant) -> bool {
        self.required && self.in_flight.is_none() && self.retry_at.is_none_or(|at| at <= now)
    }

    /// Returns the time of the next attempt.
    pub(super) fn wake(&self, now: Instant) -> Option<Instant> {
        let searching = self.required && self.in_flight.is_none();
        let soon = now.plus_ms(SEARCH_INTERVAL_MS);
        searching.then(|| self.retry_at.filter(|at| *at > now).unwrap_or(soon))
    }

    /// Returns the state by librdkafka's name.
    pub(super) fn public_state(&self) -> &'static str {
        match (self.current, self.in_flight, self.required) {
            (Some(_), _, _) => "Assigned",
            (None, Some(_), _) => "WaitPID",
            (None, None, true) => "RequestPID",
            (None, None, false) => "Init",
        }
    }

    /// Writes the id into the statistics; `epoch` is the highest epoch of all partitions.
    pub(super) fn write_stats(&self, epoch: Option<i16>, to: &mut Eos) {
        to.epoch_cnt = self.assigned_count;
        if let Some(ProducerId::Idempotent { id }) = self.current {
            to.producer_id = id;
            to.producer_epoch = epoch.unwrap_or(0).into();
        }
    }

    /// Requests a producer id from any broker when one is required and due.
    ///
    /// # Errors
    /// A fatal error when the brokers do not support idempotent producers.
    pub(super) fn request(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        ids: &mut RequestIds,
        timeout: Duration,
    ) -> Result<(), Error> {
        if !self.is_due(ctx.now) {
            return Ok(());
        }
        let Some(ReadyBroker { key, versions }) = cluster.any_connection(ctx) else {
            return Ok(());
        };
        let version = versions.pick::<InitProducerIdRequest>().ok_or_else(|| {
            Error::new(
                ErrorCode::L_UNSUPPORTED_FEATURE,
                "the brokers do not support the idempotent producer: it needs Kafka 0.11 or later",
            )
        })?;
        let request = InitProducerIdRequest {
            transactional_id: None,
            transaction_timeout_ms: i32::MAX,
            ..Default::default()
        };
        let tag = ids.next_tag(Owner::Producer);
        let sent = ctx.connections.send(key, ctx.now, tag, &request, version, timeout);
        ctx.log.debug(DebugContexts::EOS, "PRODUCERID", || {
            format!("asking broker {} for a producer id", key.node)
        });
        match sent {
            Ok(()) => self.in_flight = Some(tag.id),
            Err(_) => self.back_off(ctx),
        }
        Ok(())
    }

    /// Handles the outcome of request `id` if it is this state's InitProducerId request.
    pub(super) fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, id: u64, outcome: &Outcome) -> IdOutcome {
        if self.in_flight != Some(id) {
            return IdOutcome::OtherRequest;
        }
        self.in_flight = None;
        let Outcome::Reply(reply) = outcome else {
            ctx.log.debug(DebugContexts::EOS, "PRODUCERID", || {
                "no producer id: no answer, trying again".into()
            });
            self.back_off(ctx);
            return IdOutcome::Retried;
        };
        let response = match reply.decode::<InitProducerIdRequest>() {
            Ok(response) => response,
            Err(e) => {
                ctx.connections.fail_unreadable(key, "InitProducerId", e, ctx.now);
                self.back_off(ctx);
                return IdOutcome::Retried;
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
            *self = ProducerIdState {
                current: Some(ProducerId::Idempotent {
                    id: response.producer_id,
                }),
                assigned_count: self.assigned_count + 1,
                ..Default::default()
            };
            return IdOutcome::Assigned;
        }
        self.on_error(ctx, code)
    }

    fn on_error(&mut self, ctx: &mut Ctx<'_>, code: ErrorCode) -> IdOutcome {
        let text = format!("no producer id was given: {}", code.description());
        if code == ErrorCode::CLUSTER_AUTHORIZATION_FAILED {
            return IdOutcome::Fatal(Error::new(code, text));
        }
        self.back_off(ctx);
        if self.reported.replace(code) != Some(code) && !code.action().is_retriable() {
            ctx.log
                .log(level::WARNING, "PRODUCERID", || format!("{text}: trying again"));
        }
        IdOutcome::Retried
    }

    fn back_off(&mut self, ctx: &mut Ctx<'_>) {
        self.retry_at = Some(ctx.now + ctx.retry_delay(self.tries));
        self.tries = self.tries.saturating_add(1);
    }
}
