//! What is watched and gathered for client metrics (KIP-714), while the cluster wants any.

use std::time::Duration;

use super::core::Core;
use super::shared::Shared;
use crate::cluster::Ctx;
use crate::consumer::Consumer;
use crate::producer::Sender;
use crate::stats::Span;
use crate::sys::Instant;
use crate::telemetry::{Facts, Telemetry, Totals};
use crate::types::ClientKind;

/// What only shows over time.
#[derive(Debug, Default)]
pub(super) struct Meter {
    rebalancing_since: Option<Instant>,
    rebalances: Span,
    rebalance_ms: u64,
    /// When the application's waiting was looked at last.
    looked_at: Option<Instant>,
    watched: Duration,
    waited: Duration,
}

/// Telemetry with what it looks at.
#[derive(Debug)]
pub(super) struct Metering {
    pub(super) telemetry: Telemetry,
    meter: Meter,
    /// The client ends once the last push is answered, at that time at the latest.
    pub(super) ends_at: Option<Instant>,
}

impl Metering {
    pub(super) fn new(shared: &Shared) -> Self {
        Metering {
            telemetry: Telemetry::new(shared.conf.enable_metrics_push),
            meter: Meter::default(),
            ends_at: None,
        }
    }
}

impl Meter {
    /// Looks at the group and at whether the application waits for messages. What it does between two looks counts as
    /// what it is found doing at the second: the client is driven when there is something for an application that waits.
    fn look(&mut self, shared: &Shared, rebalancing: bool, now: Instant) {
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
        let past = self.looked_at.map_or(Duration::ZERO, |at| now.since(at));
        self.looked_at = Some(now);
        self.watched += past;
        if shared.consumer_queue.attention().waited_on {
            self.waited += past;
        }
    }

    /// The part of the time since the last call in which the application waited.
    fn take_idle(&mut self) -> Option<f64> {
        let (watched, waited) = (std::mem::take(&mut self.watched), std::mem::take(&mut self.waited));
        (!watched.is_zero()).then(|| waited.as_secs_f64() / watched.as_secs_f64())
    }
}

/// What there is to say at this moment.
fn facts(shared: &Shared, producer: Option<&mut Sender>, consumer: Option<&Consumer>, meter: &mut Meter) -> Facts {
    let conf = &shared.conf;
    let mut resource = vec![("client_rack", conf.client_rack.clone())];
    let mut facts = Facts {
        kind: Some(shared.kind),
        totals: Totals {
            rebalance_ms: meter.rebalance_ms,
            ..Totals::default()
        },
        rebalances: std::mem::take(&mut meter.rebalances),
        ..Facts::default()
    };
    match shared.kind {
        ClientKind::Producer => resource.push(("transactional_id", conf.transactional_id.clone())),
        ClientKind::Consumer => {
            let member = shared.consumer.as_ref().map(|registry| registry.group().member_id);
            resource.push(("group_id", conf.group_id.clone()));
            resource.push(("group_instance_id", conf.group_instance_id.clone()));
            resource.push(("group_member_id", member.unwrap_or_default()));
            facts.idle = meter.take_idle();
        }
    }
    resource.retain(|(_, value)| !value.is_empty());
    facts.resource = resource;
    facts.queue = producer.map(Sender::take_queue_times).unwrap_or_default();
    facts.assigned = consumer.map_or(0, Consumer::assigned_count);
    facts
}

impl Core {
    /// Pushes metrics when they are due; gives when to be called again.
    pub(super) fn push_metrics(&mut self, now: Instant, wall_ms: i64) -> Option<Instant> {
        let Metering { telemetry, meter, .. } = &mut self.metering;
        if telemetry.has_ended() {
            return None;
        }
        let collects = telemetry.collects();
        if let Some(producer) = &mut self.producer {
            producer.measure_queue_times(collects);
        }
        if collects && let Some(consumer) = &self.consumer {
            let state = consumer.group_states(&self.connections).map(|(_, state)| state);
            let rebalancing = state.is_some_and(|state| !matches!(state, "init" | "steady"));
            meter.look(&self.shared, rebalancing, now);
        }
        self.talk(now, wall_ms, |telemetry, ctx, facts| telemetry.poll(ctx, facts))
    }

    /// Pushes what there is for the last time; gives how long to wait for the answer at most.
    pub(super) fn push_last_metrics(&mut self, now: Instant, wall_ms: i64) -> Option<Duration> {
        self.talk(now, wall_ms, |telemetry, ctx, facts| telemetry.end(ctx, facts))
    }

    fn talk<R>(
        &mut self,
        now: Instant,
        wall_ms: i64,
        say: impl FnOnce(&mut Telemetry, &mut Ctx<'_>, &mut dyn FnMut() -> Facts) -> R,
    ) -> R {
        let Metering { telemetry, meter, .. } = &mut self.metering;
        let (shared, producer, consumer) = (&*self.shared, &mut self.producer, self.consumer.as_ref());
        let mut ctx = Ctx {
            now,
            wall_ms,
            connections: &mut self.connections,
            rng: &mut self.rng,
            log: &shared.log,
            conf: &shared.conf,
        };
        say(telemetry, &mut ctx, &mut || {
            facts(shared, producer.as_mut(), consumer, meter)
        })
    }
}
