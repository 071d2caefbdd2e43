//! Applications: their calls, and their polling.

mod admin;
mod consumer;
mod group;
mod processor_loop;
mod producer;
mod queues;
mod reader;
mod share;
mod transactions;

pub(crate) use admin::{AdminCaller, AdminWorkload, begin_last_calls, caller_turn, callers_wait_for};
pub(crate) use consumer::ConsumerWorkload;
pub(crate) use group::MemberWorkload;
pub(crate) use processor_loop::LoopWorkload;
pub(crate) use producer::ProducerWorkload;
pub(crate) use reader::ReaderWorkload;
pub(crate) use share::ShareWorkload;
pub(crate) use transactions::TxnWorkload;

use crate::plan::IDLE_MAX_US;
use crate::world::{Phase, World};

/// The shortest time between two turns of an idle application.
const IDLE_US: u64 = 5000;
/// The longest time between two turns after the faults, while events wait.
const LISTENING_MAX_US: u64 = 20_000;

/// Runs an application once, and schedules its next turn.
pub(crate) fn app_turn(world: &mut World, client: usize) {
    let pause = world.with_app(client, |app, world| app.turn(world, client));
    if let Some(pause) = pause {
        let shared = &world.clients[client].shared;
        let idle = shared.main_queue.is_empty() && shared.consumer_queue.is_empty();
        // Turns of idle applications dominate the cost of a world.
        let pause = match world.phase {
            Phase::Hostile if idle => pause.max(IDLE_US),
            Phase::Hostile => pause,
            Phase::Quiet => 1_000_000,
            _ if idle => pause.clamp(IDLE_US, IDLE_MAX_US),
            _ => pause.min(LISTENING_MAX_US),
        };
        world.app_at(client, world.now_us() + pause.max(1));
    }
}

/// Returns the reason why an application is not done with the phase; `None` when it is.
pub(crate) fn app_waits_for(world: &mut World, client: usize) -> Option<String> {
    world.with_app(client, |app, world| app.waits_for(world, client))
}
