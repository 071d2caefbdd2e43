//! Admin calls, beside the work of a client's application or alone.
//!
//! A caller draws calls from the table of `ops`, several of them under way at once, and passes their results to
//! `check::admin`. After the faults, calls with a long deadline must succeed. Calls are under way when clients end.

mod ask;
mod draw;
mod ops;

use std::sync::{Arc, Weak};
use std::time::Duration;

use ottla_core::admin::{AdminResult, Options};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{Event, Queue};
use ottla_core::sys::Instant;
use ottla_core::types::NodeId;
use ottla_mock::BrokerId;

use self::ask::{Answer, Asked, Way};
use self::draw::Draw;
use self::ops::{Counters, OPERATIONS};
use crate::admin_wire::observe;
use crate::canary::Canary;
use crate::check::{AdminOutcome, Call, Claim, Resource, outcome_of};
use crate::plan::AdminPlan;
use crate::rng::SeededRng;
use crate::trace::trace;
use crate::workload::queues::on_statistics;
use crate::world::{Application, Phase, World};

/// The longest time between the deadline of a call and its result, besides the delay of the client's thread.
const SLACK_US: u64 = 1_000_000;
/// The timeout of calls after the faults.
const CALM_TIMEOUT_US: u64 = 120_000_000;
/// The number of calls that must succeed in each phase after the faults.
const CALM_CALLS: u32 = 4;
/// The interval at which a caller looks for results after the faults.
const LOOK_US: u64 = 50_000;

/// An application that does nothing but receive the events of its client.
#[derive(Debug)]
pub(crate) struct AdminWorkload;

impl Application for AdminWorkload {
    fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
        if world.is_finished(client) {
            return None;
        }
        let shared = world.shared(client);
        let others = shared.main_queue.extract(|event| !matches!(event, Event::Admin(_)));
        for event in others {
            match event {
                Event::Stats(document) => on_statistics(world, client, *document),
                other => trace!(world.trace, "c{client} app receives {other:?}"),
            }
        }
        while let Some(event) = shared.consumer_queue.pop(Some(Duration::ZERO)) {
            trace!(world.trace, "c{client} app receives {event:?}");
        }
        Some(200_000)
    }
}

/// A call under way.
#[derive(Debug)]
struct Pending {
    id: u64,
    asked: Box<dyn Asked>,
    counters: Counters,
    began_us: u64,
    deadline_us: u64,
    is_repeatable: bool,
    phase: Phase,
}

/// The maker of a client's admin calls.
#[derive(Debug)]
pub(crate) struct AdminCaller {
    client: usize,
    rng: SeededRng,
    plan: AdminPlan,
    /// Some results come by the client's main queue.
    has_main_queue: bool,
    queue: Arc<Queue>,
    /// The queues that were dropped with calls under way.
    dropped: Vec<Weak<Queue>>,
    pending: Vec<Pending>,
    /// The calls whose queue was dropped. The client still makes them.
    without_queue: Vec<u64>,
    made: u32,
    /// The calls that have succeeded in this phase.
    succeeded: (Phase, u32),
    /// The number of the next new resource.
    next_name: u32,
}

impl AdminCaller {
    pub(crate) fn new(seed: u64, client: usize, plan: &AdminPlan, has_main_queue: bool) -> Self {
        AdminCaller {
            client,
            rng: SeededRng::of(seed, 2000 + client as u64),
            plan: plan.clone(),
            has_main_queue,
            queue: Queue::new(),
            dropped: Vec::new(),
            pending: Vec::new(),
            without_queue: Vec::new(),
            made: 0,
            succeeded: (Phase::Hostile, 0),
            next_name: 0,
        }
    }

    // ---------------------------------------------------------------- calls

    /// Makes a call of a drawn operation; none if there is nothing that it could change.
    fn call(&mut self, world: &mut World) {
        let is_calm = world.phase >= Phase::Settling;
        let mut options = self.options(world, is_calm);
        let row = &OPERATIONS[self.rng.below(OPERATIONS.len())];
        if self.rng.f64() > row.weight {
            return;
        }
        let mut draw = Draw {
            world,
            rng: &mut self.rng,
            client: self.client,
            is_calm,
            options: &mut options,
            next_name: &mut self.next_name,
        };
        let Some(mut asked) = (row.draw)(&mut draw) else { return };
        let now_us = world.now_us();
        let timeout_us = options.request_timeout.map(|timeout| timeout.as_micros() as u64);
        let socket_us = u64::from(world.clients[self.client].shared.conf.socket_timeout_ms) * 1000;
        let deadline_us = now_us + timeout_us.unwrap_or(socket_us);
        let is_repeatable = asked.is_repeatable(&options);
        let id = world.check.admin.on_call(Call {
            operation: row.name,
            client: self.client,
            rows: asked.rows().to_vec(),
            is_repeatable,
            is_async: options.operation_timeout == Some(Duration::ZERO),
        });
        let way = match self.rng.below(3) {
            0 => Way::Reply,
            1 if self.has_main_queue => Way::Queue(world.shared(self.client).main_queue.clone(), id as usize),
            _ => Way::Queue(self.queue.clone(), id as usize),
        };
        let client_deadline_us = match world.canary.active() {
            Some(Canary::LateTimeout) => deadline_us + 30_000_000,
            Some(Canary::HastyTimeout) if is_calm => now_us + 1,
            _ => deadline_us,
        };
        trace!(
            world.trace,
            "c{} admin call {id} until {deadline_us} by {way:?}: {asked:?} {options:?}", self.client
        );
        world.coverage.count("admin calls", 1);
        world.coverage.count(
            "admin calls beside others of the client",
            u64::from(!self.pending.is_empty()),
        );
        let shared = world.shared(self.client);
        asked.send(&shared, options, Instant::from_micros(client_deadline_us), way);
        self.made += 1;
        self.pending.push(Pending {
            id,
            asked,
            counters: row.counters,
            began_us: now_us,
            deadline_us,
            is_repeatable,
            phase: world.phase,
        });
    }

    fn options(&mut self, world: &World, is_calm: bool) -> Options {
        let c = &mut self.rng;
        let request_us = match c.f64() {
            _ if is_calm => Some(CALM_TIMEOUT_US),
            ..0.1 => Some(c.spread(1000, 50_000)),
            ..0.6 => Some(c.spread(50_000, 20_000_000)),
            _ => None,
        };
        let operation_ms = match c.f64() {
            ..0.15 => Some(0),
            ..0.4 => Some(c.spread(1, 30_000)),
            _ => None,
        };
        let brokers: Vec<BrokerId> = world.cluster.broker_ids().collect();
        let broker = (!is_calm && c.hit(0.07)).then(|| NodeId(c.pick(&brokers).0));
        Options {
            request_timeout: request_us.map(Duration::from_micros),
            operation_timeout: operation_ms.map(Duration::from_millis),
            validate_only: c.hit(0.1),
            broker,
            ..Options::default()
        }
    }

    // ---------------------------------------------------------------- results

    /// Takes the results that have arrived.
    fn take_results(&mut self, world: &mut World) {
        let mut results: Vec<(u64, Result<Answer, Error>)> = Vec::new();
        for pending in &self.pending {
            if let Some(result) = pending.asked.try_reply(world) {
                results.push((pending.id, result));
            }
        }
        let is_result = |event: &Event| matches!(event, Event::Admin(_));
        let mut events = self.queue.extract(is_result);
        if self.has_main_queue {
            events.extend(world.shared(self.client).main_queue.extract(is_result));
        }
        for event in events {
            let Event::Admin(result) = event else { continue };
            let AdminResult {
                operation,
                opaque,
                outcome,
            } = *result;
            let id = opaque as u64;
            let pending = self.pending.iter().find(|pending| pending.id == id);
            let Some(pending) = pending.filter(|pending| pending.asked.name() == operation) else {
                let client = self.client;
                return world.check.violate(format!(
                    "client {client}: a second or foreign result of {operation}, call {id}"
                ));
            };
            let result = match outcome {
                Err(error) => Err(error),
                Ok(output) => match pending.asked.read(&*output, world) {
                    Some(answer) => Ok(answer),
                    None => {
                        return world
                            .check
                            .violate(format!("the output of {operation} has another type"));
                    }
                },
            };
            results.push((id, result));
            if world.canary.strike(Canary::DoubledResult) {
                results.push((id, Err(Error::from(ErrorCode::L_FAIL))));
            }
        }
        if world.canary.is(Canary::StuckCall) && world.phase > Phase::Hostile {
            results.retain(|(_, result)| result.is_err());
            for pending in self.pending.iter().filter(|p| p.deadline_us <= world.now_us()) {
                let late = Error::new(ErrorCode::L_TIMED_OUT, "a broker may have executed it");
                results.push((pending.id, Err(late)));
            }
        }
        for (id, result) in results {
            let is_end = matches!(&result, Err(error) if error.code == ErrorCode::L_DESTROY);
            let is_lost = world.canary.is(Canary::LostResult) && !is_end && id % 4 == 0;
            if is_lost || is_end && world.canary.is(Canary::LostEnd) {
                continue;
            }
            self.on_result(world, id, result);
        }
    }

    fn on_result(&mut self, world: &mut World, id: u64, result: Result<Answer, Error>) {
        let Some(at) = self.pending.iter().position(|pending| pending.id == id) else {
            let client = self.client;
            return world
                .check
                .violate(format!("client {client}: call {id} has two results"));
        };
        let pending = self.pending.swap_remove(at);
        let now_us = world.now_us();
        trace!(world.trace, "c{} admin call {id} ends: {result:?}", self.client);
        let mut answer = result.unwrap_or_else(|error| Answer::failed(pending.asked.rows(), &error));
        self.strike(world, &pending, &mut answer);
        self.check_timeouts(world, &pending, &answer);
        for resource in resources(pending.asked.rows()) {
            observe(world, &resource);
        }
        for problem in answer.problems {
            let (client, name) = (self.client, pending.asked.name());
            world
                .check
                .violate(format!("client {client}: {name} (call {id}): {problem}"));
        }
        let from_us = pending.began_us.saturating_sub(answer.lag_us);
        for claim in &answer.claims {
            let result = world.check.admin.check_claim(claim, from_us, now_us);
            world.check.expect(result);
        }
        world
            .coverage
            .count("values of admin calls", answer.claims.len() as u64);
        let outcomes = match world.check.admin.on_result(id, &answer.rows) {
            Ok(outcomes) => outcomes,
            Err(what) => return world.check.violate(what),
        };
        count(world, &pending, &outcomes);
        if pending.phase == world.phase && world.phase > Phase::Hostile {
            self.check_success(world, &pending, &answer.rows);
        }
    }

    /// Changes a result, for a canary.
    fn strike(&mut self, world: &mut World, pending: &Pending, answer: &mut Answer) {
        let rows = pending.asked.rows();
        let changes = |at: usize| {
            rows.get(at)
                .is_some_and(|row| row.changes.iter().any(|c| c.before != c.after))
        };
        match world.canary.active() {
            Some(Canary::FalseDone) => {
                let failed = (0..answer.rows.len()).find(|at| answer.rows[*at].1.is_some() && changes(*at));
                if let Some(at) = failed.filter(|_| world.canary.strike(Canary::FalseDone)) {
                    answer.rows[at].1 = None;
                }
            }
            Some(Canary::FalseFailure) => {
                let done = (0..answer.rows.len()).find(|at| answer.rows[*at].1.is_none() && changes(*at));
                if let Some(at) = done.filter(|_| world.canary.strike(Canary::FalseFailure)) {
                    answer.rows[at].1 = Some(Error::from(ErrorCode::POLICY_VIOLATION));
                }
            }
            Some(Canary::LostRow) if answer.rows.len() > 1 => _ = answer.rows.pop(),
            Some(Canary::SwappedRows) if answer.rows.len() > 1 => answer.rows.swap(0, 1),
            Some(Canary::StaleValue) => {
                let began_us = pending.began_us.saturating_sub(answer.lag_us);
                for claim in &mut answer.claims {
                    if let Some(stale) = stale(world, claim, began_us) {
                        *claim = stale;
                    }
                }
            }
            _ => {}
        }
    }

    /// Checks that the call has not exceeded its deadline, and has not timed out before it.
    fn check_timeouts(&self, world: &mut World, pending: &Pending, answer: &Answer) {
        let (client, id, name) = (self.client, pending.id, pending.asked.name());
        let now_us = world.now_us();
        if now_us > pending.deadline_us + slack_us(world) {
            let late_us = now_us - pending.deadline_us;
            let what = format!("client {client}: {name} (call {id}) ends {late_us} us after its deadline");
            return world.check.violate(what);
        }
        let timed_out = |error: &&Error| {
            let is_definite = outcome_of(Some(error), false) == AdminOutcome::Failed;
            error.code == ErrorCode::L_TIMED_OUT && (pending.is_repeatable && !error.message.is_empty() || is_definite)
        };
        let early = answer
            .rows
            .iter()
            .filter_map(|(_, error)| error.as_ref())
            .find(timed_out);
        if let Some(error) = early.filter(|_| now_us < pending.deadline_us) {
            let early_us = pending.deadline_us - now_us;
            let what = format!("client {client}: {name} (call {id}) timed out {early_us} us too early: {error}");
            world.check.violate(what);
        }
    }

    /// Checks a call after the faults: it succeeds. A connection from the time of the faults may end with it.
    fn check_success(&mut self, world: &mut World, pending: &Pending, rows: &[(String, Option<Error>)]) {
        let is_old = !world.plan.versions.is_empty();
        let expected = pending.asked.rows().iter();
        let failed = expected.zip(rows).filter(|(row, (_, error))| match error {
            None => false,
            Some(_) if row.must_fail => false,
            Some(error) => {
                !(row.accepts.contains(&error.code) || is_old && error.code == ErrorCode::L_UNSUPPORTED_FEATURE)
            }
        });
        let failed = failed.map(|(_, (key, error))| (key.clone(), error.clone())).next();
        let Some((key, error)) = failed else {
            match &mut self.succeeded {
                (phase, count) if *phase == world.phase => *count += 1,
                succeeded => *succeeded = (world.phase, 1),
            }
            return;
        };
        let ends_with_connection = outcome_of(error.as_ref(), pending.is_repeatable) == AdminOutcome::Unknown
            && world.now_us() < pending.deadline_us;
        if world.phase == Phase::Probing && !ends_with_connection {
            let (client, name) = (self.client, pending.asked.name());
            world.check.violate(format!(
                "client {client}: {name} (call {}) of {key} failed after the faults: {error:?}",
                pending.id
            ));
        }
        world.coverage.count("admin calls repeated after the faults", 1);
    }

    /// Checks that no call is late.
    fn check_late(&self, world: &mut World) {
        let limit_us = world.now_us().saturating_sub(slack_us(world));
        if let Some(late) = self.pending.iter().find(|pending| pending.deadline_us < limit_us) {
            let (client, id, name) = (self.client, late.id, late.asked.name());
            world.check.violate(format!(
                "client {client}: no result of {name} (call {id}) at its deadline"
            ));
        }
    }

    /// Ends the calls whose client makes them no more.
    fn abandon(&mut self, world: &mut World) {
        let pending = std::mem::take(&mut self.pending);
        let calls = pending.iter().map(|pending| pending.id);
        for call in calls.chain(std::mem::take(&mut self.without_queue)) {
            let result = world.check.admin.on_abandoned(call);
            world.check.expect(result);
            world.coverage.count("admin calls abandoned", 1);
        }
    }

    /// Drops the queue of some calls under way.
    fn drop_queue(&mut self, world: &mut World) {
        let queue = std::mem::replace(&mut self.queue, Queue::new());
        let (gone, kept): (Vec<Pending>, Vec<Pending>) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|p| p.asked.uses(&queue));
        self.pending = kept;
        self.without_queue.extend(gone.iter().map(|pending| pending.id));
        self.dropped.push(Arc::downgrade(&queue));
        world
            .coverage
            .count("queues dropped with admin calls under way", u64::from(!gone.is_empty()));
    }

    /// Makes calls right before the client's end.
    fn begin_last_calls(&mut self, world: &mut World) {
        for _ in 0..10 {
            self.call(world);
        }
        if self.rng.hit(0.2) {
            self.drop_queue(world);
        }
        world
            .coverage
            .count("admin calls at the end of clients", self.pending.len() as u64);
    }

    fn is_satisfied(&self, phase: Phase) -> bool {
        self.pending.is_empty() && self.succeeded.0 == phase && self.succeeded.1 >= CALM_CALLS
    }
}

impl Application for AdminCaller {
    fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
        if world.clients[client].crashed {
            self.abandon(world);
            return None;
        }
        self.take_results(world);
        if world.is_finished(client) {
            if let Some(pending) = self.pending.first() {
                let (id, name) = (pending.id, pending.asked.name());
                let what = format!("client {client} has ended, and {name} (call {id}) has no result");
                world.check.violate(what);
            }
            self.abandon(world);
            if self.dropped.iter().any(|queue| queue.strong_count() > 0) {
                world
                    .check
                    .violate(format!("client {client} has ended and keeps a queue of admin calls"));
            }
            return None;
        }
        self.check_late(world);
        match world.phase {
            Phase::Hostile => {
                if self.made < self.plan.calls_max && self.pending.len() < self.plan.at_once {
                    self.call(world);
                }
                let pace_us = self.rng.between(1, self.plan.pace_us * 2);
                Some(if self.pending.is_empty() {
                    pace_us
                } else {
                    pace_us.min(LOOK_US * 4)
                })
            }
            Phase::Settling | Phase::Probing => {
                if self.is_satisfied(world.phase) {
                    return None;
                }
                let succeeded = if self.succeeded.0 == world.phase {
                    self.succeeded.1
                } else {
                    0
                };
                if succeeded + (self.pending.len() as u32) < CALM_CALLS {
                    self.call(world);
                }
                Some(LOOK_US)
            }
            Phase::Quiet | Phase::Closing => Some(LOOK_US),
            Phase::Over => None,
        }
    }

    fn before_end(&mut self, world: &mut World) -> Option<()> {
        self.begin_last_calls(world);
        None
    }

    fn waits_for(&mut self, world: &mut World, client: usize) -> Option<String> {
        let is_over = world.clients[client].crashed || world.is_finished(client);
        let waits = !is_over && !self.is_satisfied(world.phase);
        waits.then(|| format!("client {client}: admin calls: {:?} {:?}", self.succeeded, self.pending))
    }
}

/// Returns the longest time between the deadline of a call and its result.
fn slack_us(world: &World) -> u64 {
    SLACK_US + world.plan.net.thread_delay_us
}

fn resources(rows: &[crate::check::Row]) -> Vec<Resource> {
    let changes = rows.iter().flat_map(|row| &row.changes);
    let mut resources: Vec<Resource> = changes.map(|change| change.resource.clone()).collect();
    resources.dedup();
    resources
}

/// Returns a value that the resource had before the call, and not since.
fn stale(world: &World, claim: &Claim, began_us: u64) -> Option<Claim> {
    let stale = world.check.admin.stale(claim, began_us.saturating_sub(1))?;
    let is_past = world.check.admin.check_claim(&stale, began_us, world.now_us()).is_err();
    is_past.then_some(stale)
}

/// Counts a call by its outcome.
fn count(world: &mut World, pending: &Pending, outcomes: &[AdminOutcome]) {
    let worst = outcomes.iter().max().copied().unwrap_or(AdminOutcome::Done);
    let name = match worst {
        AdminOutcome::Done => pending.counters.done,
        AdminOutcome::Failed => pending.counters.failed,
        AdminOutcome::Unknown => pending.counters.unknown,
    };
    world.coverage.count(name, 1);
}

/// Runs an admin caller once, and schedules its next turn.
pub(crate) fn caller_turn(world: &mut World, client: usize) {
    if let Some(pause) = world.with_caller(client, |caller, world| caller.turn(world, client)) {
        world.caller_at(client, world.now_us() + pause.max(1));
    }
}

/// Returns the reason why an admin caller is not done with the phase; `None` when all are.
pub(crate) fn callers_wait_for(world: &mut World) -> Option<String> {
    let mut callers = world.callers().into_iter();
    callers.find_map(|client| world.with_caller(client, |caller, world| caller.waits_for(world, client)))
}

/// Makes calls right before the end of the clients. Returns the time until then; `None` if no client makes calls.
pub(crate) fn begin_last_calls(world: &mut World) -> Option<u64> {
    let callers = world.callers();
    for client in callers
        .iter()
        .copied()
        .filter(|client| !world.is_finished(*client))
        .collect::<Vec<_>>()
    {
        world.with_caller(client, |caller, world| caller.before_end(world));
        world.caller_at(client, world.now_us() + 1);
    }
    (!callers.is_empty()).then(|| world.app_rng.below(4) as u64 * 1000 + 1)
}
