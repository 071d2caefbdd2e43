//! The parts of the cluster that groups, transactions and requests share.

use ottla_protocol::{ErrorCode, Message};

use crate::acls::Acls;
use crate::brokers::Brokers;
use crate::config::ClusterConfig;
use crate::connections::{Connections, Delivery};
use crate::coordinators::{CoordinatorKind, Coordinators};
use crate::delegation_tokens::DelegationTokens;
use crate::faults::Faults;
use crate::features::Features;
use crate::history::{History, JoinRecord};
use crate::ids::{BrokerId, ConnectionKey, DelayedId};
use crate::producer_ids::ProducerIds;
use crate::purgatory::{DelayedOperation, DelayedRequest, Purgatory};
use crate::quorum::Quorum;
use crate::quotas::ClientQuotas;
use crate::request::Context;
use crate::rng::Rng;
use crate::scram_credentials::ScramCredentials;
use crate::time::Time;
use crate::timers::{Timer, Timers};
use crate::topics::{Topic, Topics};

/// Configuration, time, brokers, logs and connections. Each part keeps its own invariants; the methods here are those
/// that need several parts.
#[derive(Debug)]
pub(crate) struct ClusterState {
    pub(crate) config: ClusterConfig,
    pub(crate) now: Time,
    pub(crate) rng: Rng,
    pub(crate) cluster_id: String,
    pub(crate) brokers: Brokers,
    pub(crate) topics: Topics,
    pub(crate) producer_ids: ProducerIds,
    pub(crate) coordinators: Coordinators,
    pub(crate) faults: Faults,
    pub(crate) connections: Connections,
    pub(crate) purgatory: Purgatory,
    pub(crate) timers: Timers,
    pub(crate) history: History,
    pub(crate) acls: Acls,
    pub(crate) delegation_tokens: DelegationTokens,
    pub(crate) scram_credentials: ScramCredentials,
    pub(crate) quotas: ClientQuotas,
    pub(crate) features: Features,
    pub(crate) quorum: Quorum,
}

impl ClusterState {
    pub(crate) fn new(config: ClusterConfig) -> Self {
        let mut rng = Rng::new(config.seed);
        Self {
            now: Time::ZERO,
            cluster_id: rng.uuid().to_string(),
            rng,
            brokers: Brokers::new(&config),
            topics: Topics::default(),
            producer_ids: ProducerIds::default(),
            coordinators: Coordinators::default(),
            faults: Faults::default(),
            connections: Connections::default(),
            purgatory: Purgatory::default(),
            timers: Timers::default(),
            history: History::default(),
            acls: Acls::default(),
            delegation_tokens: DelegationTokens::default(),
            scram_credentials: ScramCredentials::default(),
            quotas: ClientQuotas::default(),
            features: Features::default(),
            quorum: Quorum::new(config.broker_ids()),
            config,
        }
    }

    // ---------------------------------------------------------------- clocks

    /// Returns the brokers' time in milliseconds since 1970.
    pub(crate) fn wall_clock_ms(&self) -> i64 {
        let elapsed = i64::try_from(self.now.as_millis()).unwrap_or(i64::MAX);
        self.config.wall_clock_ms.saturating_add(elapsed)
    }

    /// Returns one broker's time in milliseconds since 1970.
    pub(crate) fn broker_clock_ms(&self, broker: BrokerId) -> i64 {
        let skew_ms = self.brokers.get(broker).map_or(0, |b| b.clock_skew_ms);
        self.wall_clock_ms().saturating_add(skew_ms)
    }

    /// Returns true when clients can see the topic.
    pub(crate) fn is_visible(&self, topic: &Topic) -> bool {
        topic.visible_at <= self.now
    }

    // ---------------------------------------------------------------- coordinators

    /// Returns the broker that coordinates `key`, `None` when no broker is up.
    pub(crate) fn coordinator(&self, kind: CoordinatorKind, key: &str) -> Option<BrokerId> {
        self.coordinators.locate(&self.brokers, kind, key)
    }

    /// Returns true when the coordinator of `key` is up and serves requests without an injected error.
    pub(crate) fn has_working_coordinator(&self, kind: CoordinatorKind, key: &str) -> bool {
        self.coordinator(kind, key).is_some() && self.coordinators.error(kind, key).is_none()
    }

    /// Checks that `broker` coordinates `key` and can serve.
    ///
    /// # Errors
    /// NOT_COORDINATOR, or the injected error of the coordinator.
    pub(crate) fn check_coordinator(
        &self,
        kind: CoordinatorKind,
        broker: BrokerId,
        key: &str,
    ) -> Result<(), ErrorCode> {
        if self.coordinator(kind, key) != Some(broker) {
            return Err(ErrorCode::NOT_COORDINATOR);
        }
        match self.coordinators.error(kind, key) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Checks that `broker` coordinates the group and can serve.
    ///
    /// # Errors
    /// NOT_COORDINATOR, or the injected error of the coordinator.
    pub(crate) fn check_group_coordinator(&self, broker: BrokerId, group: &str) -> Result<(), ErrorCode> {
        self.check_coordinator(CoordinatorKind::Group, broker, group)
    }

    /// Checks the id of a group in a request of an administrator.
    ///
    /// # Errors
    /// INVALID_GROUP_ID for an empty id; those of [`check_group_coordinator`](Self::check_group_coordinator).
    pub(crate) fn check_described_group(&self, broker: BrokerId, group: &str) -> Result<(), ErrorCode> {
        match group.is_empty() {
            true => Err(ErrorCode::INVALID_GROUP_ID),
            false => self.check_group_coordinator(broker, group),
        }
    }

    /// Checks that `broker` coordinates the transactional id and can serve.
    ///
    /// # Errors
    /// INVALID_REQUEST for an empty id, NOT_COORDINATOR, or the injected error of the coordinator.
    pub(crate) fn check_transaction_coordinator(&self, broker: BrokerId, id: &str) -> Result<(), ErrorCode> {
        match id.is_empty() {
            true => Err(ErrorCode::INVALID_REQUEST),
            false => self.check_coordinator(CoordinatorKind::Transaction, broker, id),
        }
    }

    // ---------------------------------------------------------------- responses

    /// Sends on a connection after all its earlier output, delayed by the broker's round-trip time and `delay_us`.
    pub(crate) fn deliver(&mut self, key: ConnectionKey, delivery: Delivery, delay_us: u64) {
        let delay_us = delay_us.saturating_add(self.faults.round_trip_us(key.0));
        let at = self.now.plus_us(delay_us);
        if let Some(at) = self.connections.send(key, delivery, at, self.now) {
            self.timers.set(at, Timer::Release(key));
        }
    }

    /// Mutes a connection whose response has a throttle time (KIP-219).
    pub(crate) fn throttle(&mut self, context: &Context) {
        if context.throttle_time_ms <= 0 {
            return;
        }
        let until = self.now.plus_ms(context.throttle_time_ms);
        if self.connections.mute_until(context.key(), until) {
            self.timers.set(until, Timer::Unmute(context.key()));
        }
    }

    /// Puts a request into the purgatory, and mutes its connection until [`ClusterState::respond`]. At `deadline`, if
    /// any, the request expires.
    pub(crate) fn delay(
        &mut self,
        context: &Context,
        operation: DelayedOperation,
        deadline: Option<Time>,
    ) -> DelayedId {
        let id = self.purgatory.allocate();
        let timer = deadline.map(|at| self.timers.set(at, Timer::RequestExpired(id)));
        let context = context.clone();
        self.connections.mute_for(context.key(), id);
        self.purgatory.insert(
            id,
            DelayedRequest {
                context,
                operation,
                timer,
            },
        );
        id
    }

    /// Removes a request and its timer from the purgatory. Returns `None` when it was answered or its connection is gone.
    pub(crate) fn take_delayed(&mut self, id: DelayedId) -> Option<DelayedRequest> {
        let delayed = self.purgatory.remove(id)?;
        if let Some(timer) = delayed.timer {
            self.timers.cancel(timer);
        }
        Some(delayed)
    }

    /// Answers a request that [`ClusterState::take_delayed`] has removed, and resumes its connection.
    pub(crate) fn respond<M: Message>(&mut self, context: &Context, response: &M) {
        let key = context.key();
        if !self.connections.end_delay(key) || context.hang {
            return;
        }
        let delivery = match context.encode(response) {
            Ok(frame) => Delivery::Frame(frame),
            Err(reason) => Delivery::Close(reason),
        };
        self.deliver(key, delivery, context.delay_us);
        self.throttle(context);
        self.connections.resume(key);
    }

    /// Records an accepted join.
    pub(crate) fn record_join(&mut self, context: &Context, group: &str, member: &str) {
        self.history.joins.push(|| JoinRecord {
            group: group.to_owned(),
            member: member.to_owned(),
            connection: context.connection,
        });
    }
}
