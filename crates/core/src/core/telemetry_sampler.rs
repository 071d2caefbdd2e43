//! Samples for client metrics (KIP-714), while the cluster subscribes to any: values that only show over time, such as
//! rebalances and the application's waits, and those that managers measure on request, such as the producer's queue times.

use std::time::Duration;

use super::shared::Shared;
use crate::consumer::Consumer;
use crate::context::Ctx;
use crate::producer::Sender;
use crate::share::ShareConsumer;
use crate::stats::DurationSum;
use crate::sys::Instant;
use crate::telemetry::{Facts, Telemetry, Totals};
use crate::types::ClientKind;

/// Values accumulated between pushes.
#[derive(Debug, Default)]
pub(super) struct ClientSamples {
    rebalancing_since: Option<Instant>,
    rebalances: DurationSum,
    rebalance_ms: u64,
    /// The time of the last sample.
    sampled_at: Option<Instant>,
    sampled_time: Duration,
    poll_time: Duration,
}

/// The telemetry manager with its samples.
#[derive(Debug)]
pub(super) struct TelemetrySampler {
    pub(super) telemetry: Telemetry,
    samples: ClientSamples,
    /// While the client terminates: the deadline of the response to the last push.
    pub(super) ends_at: Option<Instant>,
}

impl TelemetrySampler {
    pub(super) fn new(shared: &Shared) -> Self {
        TelemetrySampler {
            telemetry: Telemetry::new(shared.conf.enable_metrics_push),
            samples: ClientSamples::default(),
            ends_at: None,
        }
    }

    /// Pushes metrics when they are due; returns when to be called again.
    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, mut sources: Sources<'_>) -> Option<Instant> {
        if self.telemetry.has_ended() {
            return None;
        }
        let collects = self.telemetry.collects();
        if let Some(producer) = &mut sources.producer {
            producer.measure_queue_times(collects);
        }
        if collects && let Some(consumer) = sources.consumer {
            let state = consumer.group_states(ctx.connections).map(|(_, state)| state);
            let rebalancing = state.is_some_and(|state| !matches!(state, "init" | "steady"));
            self.samples.sample(sources.shared, rebalancing, ctx.now);
        }
        let samples = &mut self.samples;
        self.telemetry.poll(ctx, &mut || facts(&mut sources, samples))
    }

    /// Pushes the last metrics; returns the maximum time to wait for the response.
    pub(super) fn end(&mut self, ctx: &mut Ctx<'_>, mut sources: Sources<'_>) -> Option<Duration> {
        let samples = &mut self.samples;
        self.telemetry.end(ctx, &mut || facts(&mut sources, samples))
    }
}

/// The managers that metrics are read from, besides the context's.
pub(super) struct Sources<'a> {
    pub(super) shared: &'a Shared,
    pub(super) producer: Option<&'a mut Sender>,
    pub(super) consumer: Option<&'a Consumer>,
    pub(super) share: Option<&'a ShareConsumer>,
}

impl ClientSamples {
    /// Samples the group's state and whether the application waits for messages. Each interval is attributed to the state at
    /// its end: the client is driven when an event ends the application's wait.
    fn sample(&mut self, shared: &Shared, rebalancing: bool, now: Instant) {
        match (self.rebalancing_since, rebalancing) {
            (None, true) => self.rebalancing_since = Some(now),
            (Some(since), false) => {
                let took = now.since(since);
                self.rebalances.record(took);
                let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                self.rebalance_ms = self.rebalance_ms.saturating_add(ms);
                self.rebalancing_since = None;
            }
            _ => {}
        }
        let past = self.sampled_at.map_or(Duration::ZERO, |at| now.since(at));
        self.sampled_at = Some(now);
        self.sampled_time += past;
        if shared.consumer_queue.activity().waited_on {
            self.poll_time += past;
        }
    }

    /// Returns the fraction of the time since the last call in which the application waited.
    fn take_idle(&mut self) -> Option<f64> {
        let (sampled_time, poll_time) = (
            std::mem::take(&mut self.sampled_time),
            std::mem::take(&mut self.poll_time),
        );
        (!sampled_time.is_zero()).then(|| poll_time.as_secs_f64() / sampled_time.as_secs_f64())
    }
}

/// Collects the values of a push.
fn facts(sources: &mut Sources<'_>, samples: &mut ClientSamples) -> Facts {
    let (shared, consumer) = (sources.shared, sources.consumer);
    let conf = &shared.conf;
    let mut resource = vec![("client_rack", conf.client_rack.clone())];
    let mut facts = Facts {
        kind: Some(match shared.kind {
            ClientKind::Producer => ClientKind::Producer,
            ClientKind::Consumer | ClientKind::ShareConsumer => ClientKind::Consumer,
        }),
        totals: Totals {
            rebalance_ms: samples.rebalance_ms,
            ..Totals::default()
        },
        rebalances: std::mem::take(&mut samples.rebalances),
        ..Facts::default()
    };
    match shared.kind {
        ClientKind::Producer => resource.push(("transactional_id", conf.transactional_id.clone())),
        ClientKind::Consumer | ClientKind::ShareConsumer => {
            let member = match &shared.share {
                Some(share) => Some(share.member_id()),
                None => shared.consumer.as_ref().map(|registry| registry.group().member_id),
            };
            resource.push(("group_id", conf.group_id.clone()));
            resource.push(("group_instance_id", conf.group_instance_id.clone()));
            resource.push(("group_member_id", member.unwrap_or_default()));
            facts.idle = samples.take_idle();
        }
    }
    resource.retain(|(_, value)| !value.is_empty());
    facts.resource = resource;
    facts.queue = sources
        .producer
        .as_deref_mut()
        .map(Sender::take_queue_times)
        .unwrap_or_default();
    facts.assigned = match sources.share {
        Some(share) => share.assigned_count(),
        None => consumer.map_or(0, Consumer::assigned_count),
    };
    facts
}
