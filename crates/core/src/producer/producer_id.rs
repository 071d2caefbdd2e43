//! The id of the idempotent producer: requested with the first record, and again only when the epochs of an id are used
//! up (KIP-98, KIP-360).

use ottla_protocol::api::init_producer_id::InitProducerIdRequest;

use super::sequence::ProducerId;
use crate::cluster::{Cluster, Router};
use crate::connection::{BrokerKey, Outcome};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, level};
use crate::request::{PendingRequest, response_of, unsupported};
use crate::stats::Eos;
use crate::sys::Instant;

/// The interval in ms at which a connected broker is looked for.
const SEARCH_INTERVAL_MS: u64 = 500;

/// The outcome of a request, for the caller of [`ProducerIdState::on_outcome`].
#[derive(Debug)]
pub(super) enum IdOutcome {
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
    request: PendingRequest,
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

    /// Returns the time of the next attempt.
    pub(super) fn wake(&self, now: Instant) -> Option<Instant> {
        let next_at = self.request.next_at().filter(|_| self.required)?;
        Some(match next_at > now {
            true => next_at,
            false => now.plus_ms(SEARCH_INTERVAL_MS),
        })
    }

    /// Returns the state by librdkafka's name.
    pub(super) fn public_state(&self) -> &'static str {
        match (self.current, self.request.in_flight(), self.required) {
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
        router: &mut Router,
    ) -> Result<(), Error> {
        if !self.required || !self.request.may_send(ctx.now) {
            return Ok(());
        }
        let Some(broker) = cluster.any_connection(ctx) else {
            return Ok(());
        };
        let text = "the brokers do not support the idempotent producer: it needs Kafka 0.11 or later";
        let version = broker
            .version::<InitProducerIdRequest>()
            .map_err(|_| unsupported(text))?;
        let request = InitProducerIdRequest {
            transactional_id: None,
            transaction_timeout_ms: i32::MAX,
            ..Default::default()
        };
        let (tag, timeout) = (router.next_tag(), ctx.socket_timeout());
        let sent = broker.send(ctx, tag, &request, version, timeout);
        ctx.log.debug(DebugContexts::EOS, "PRODUCERID", || {
            format!("asking broker {} for a producer id", broker.key.node)
        });
        match sent {
            Ok(()) => self.request.on_sent(broker.key, tag.id),
            Err(error) => {
                self.request.retry(ctx, error);
            }
        }
        Ok(())
    }

    /// Returns whether the request in flight has this id.
    pub(super) fn is_in_flight(&self, id: u64) -> bool {
        self.request.is_in_flight(id)
    }

    /// Handles the outcome of the request in flight.
    pub(super) fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, outcome: Outcome) -> IdOutcome {
        self.request.on_outcome();
        let response = match response_of::<InitProducerIdRequest>(ctx, key, outcome) {
            Ok(response) => response,
            Err(error) => {
                ctx.log.debug(DebugContexts::EOS, "PRODUCERID", || {
                    format!("no producer id: {error}: trying again")
                });
                self.request.retry(ctx, error);
                return IdOutcome::Retried;
            }
        };
        let code = ErrorCode::from(response.error_code);
        if !code.is_ok() || response.producer_id < 0 {
            return self.on_error(ctx, code);
        }
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
        IdOutcome::Assigned
    }

    fn on_error(&mut self, ctx: &mut Ctx<'_>, code: ErrorCode) -> IdOutcome {
        let text = format!("no producer id was given: {}", code.description());
        if code == ErrorCode::CLUSTER_AUTHORIZATION_FAILED {
            return IdOutcome::Fatal(Error::new(code, text));
        }
        self.request.retry(ctx, Error::new(code, text.clone()));
        if self.reported.replace(code) != Some(code) && !code.action().is_retriable() {
            ctx.log
                .log(level::WARNING, "PRODUCERID", || format!("{text}: trying again"));
        }
        IdOutcome::Retried
    }
}
