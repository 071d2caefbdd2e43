//! Faults, except those of the network: their frequencies are drawn per world, their details when they occur.

mod admin;
mod brokers;
mod groups;
mod requests;
mod sasl;
mod share;
mod state;
mod topics;
mod transactions;

pub(crate) use state::Faults;

use crate::event::{FaultEvent, WorldEvent};
use crate::faults::admin::{heal_admin, start_admin_faults, strike_admin};
use crate::faults::brokers::{
    change_replication_delay, close_connections_of_one, cut_broker_off, depose_leader, elect, elect_uncleanly,
    freeze_broker, freeze_metadata, half_close, heal_brokers, move_broker, move_controller, move_leader,
    readvertise_broker, set_a_brokers_clock, start_broker, take_broker_down,
};
use crate::faults::groups::{end_coordinator_error, heal_groups, start_group_faults, strike_group};
use crate::faults::requests::{
    break_leader_hints, break_partition, fail_producer_requests, heal_requests, push_delay, push_disconnect,
    push_request_error, reject_records, throttle,
};
use crate::faults::sasl::{heal_sasl, restore_user, set_login, start_sasl_faults, strike_sasl};
use crate::faults::share::{end_session_limit, end_state_error, heal_share_groups, start_share_faults, strike_share};
use crate::faults::topics::{break_topic, delete_topic, grow_topic, heal_topics, make_topic};
use crate::faults::transactions::{end_block, heal_transactions, start_transaction_faults, strike_transaction};
use crate::plan::FaultKind;
use crate::transport::thaw;
use crate::world::World;
use ottla_mock::LeaderHints;

/// Schedules the first fault of each kind.
pub(crate) fn start_faults(faults: &mut Faults, world: &mut World) {
    for (kind, mean_us) in world.plan.faults.kinds.clone() {
        next_strike(faults, world, kind, mean_us);
    }
    start_group_faults(faults, world);
    start_transaction_faults(faults, world);
    start_sasl_faults(faults, world);
    start_admin_faults(faults, world);
    start_share_faults(faults, world);
}

pub(super) fn next_strike(faults: &mut Faults, world: &mut World, kind: FaultKind, mean_us: u64) {
    let pause = faults.rng.between(mean_us / 10, mean_us * 2);
    world.after_us(pause, WorldEvent::Fault(FaultEvent::Strike(kind, mean_us)));
}

pub(crate) fn on_fault(faults: &mut Faults, world: &mut World, event: FaultEvent) {
    match event {
        FaultEvent::Strike(kind, mean_us) => {
            if world.net.has_faults_enabled() {
                world.cluster.advance_clock(ottla_mock::Time(world.now_us()));
                if strike(faults, world, kind) {
                    world.coverage.fault(kind.name());
                }
                next_strike(faults, world, kind, mean_us);
            }
        }
        FaultEvent::MakeTopic(name) => make_topic(world, &name),
        FaultEvent::StartBroker(broker) => start_broker(world, broker),
        FaultEvent::Thaw(broker) => thaw(world, broker),
        FaultEvent::Reach(broker) => world.cluster.set_reachable(broker, true),
        FaultEvent::Elect(topic, partition) => elect(faults, world, &topic, partition),
        FaultEvent::EndThrottle(api) => world.cluster.set_throttle_ms(api, 0),
        FaultEvent::EndPartitionError(api, topic, partition) => {
            world.cluster.set_partition_error(api, &topic, partition, None);
        }
        FaultEvent::EndHints => world.cluster.set_leader_hints(LeaderHints::Current),
        FaultEvent::EndLag(broker) => world.cluster.hold_metadata(broker, false),
        FaultEvent::StrikeGroup(kind, mean_us) => strike_group(faults, world, kind, mean_us),
        FaultEvent::EndCoordinatorError(group) => end_coordinator_error(world, &group),
        FaultEvent::StrikeTransaction(kind, mean_us) => strike_transaction(faults, world, kind, mean_us),
        FaultEvent::EndBlock(kind, key) => end_block(world, kind, &key),
        FaultEvent::StrikeSasl(kind, mean_us) => strike_sasl(faults, world, kind, mean_us),
        FaultEvent::StrikeShare(kind, mean_us) => strike_share(faults, world, kind, mean_us),
        FaultEvent::EndShareStateError(group) => end_state_error(world, &group),
        FaultEvent::EndSessionLimit => end_session_limit(world),
        FaultEvent::StrikeAdmin(kind, mean_us) => strike_admin(faults, world, kind, mean_us),
        FaultEvent::RestoreUser(client) => restore_user(world, client),
        FaultEvent::SetLogin(client) => set_login(world, client),
        FaultEvent::EndTopicError(topic) => {
            // The topic may not exist any more.
            let _ = world.cluster.set_topic_error(&topic, None);
        }
    }
}

/// Injects a fault. Returns false when there is nothing to inject it into.
pub(super) fn strike(faults: &mut Faults, world: &mut World, kind: FaultKind) -> bool {
    match kind {
        FaultKind::Crash => take_broker_down(faults, world, true, false),
        FaultKind::PowerLoss => take_broker_down(faults, world, true, true),
        FaultKind::Stop => take_broker_down(faults, world, false, false),
        FaultKind::Freeze => freeze_broker(faults, world),
        FaultKind::Unreachable => cut_broker_off(faults, world),
        FaultKind::CloseAll => close_connections_of_one(faults, world),
        FaultKind::Move => move_broker(faults, world),
        FaultKind::Readvertise => readvertise_broker(faults, world),
        FaultKind::MoveLeader => move_leader(faults, world),
        FaultKind::NoLeader => depose_leader(faults, world),
        FaultKind::MoveController => move_controller(faults, world),
        FaultKind::StaleMetadata => freeze_metadata(faults, world),
        FaultKind::RequestError => push_request_error(faults, world),
        FaultKind::PartitionError => break_partition(faults, world),
        FaultKind::RequestDisconnect => push_disconnect(faults, world),
        FaultKind::RequestDelay => push_delay(faults, world),
        FaultKind::Throttle => throttle(faults, world),
        FaultKind::SlowReplication => change_replication_delay(faults, world),
        FaultKind::Recreate => delete_topic(faults, world),
        FaultKind::Grow => grow_topic(faults, world),
        FaultKind::TopicError => break_topic(faults, world),
        FaultKind::ClockJump => set_a_clock(faults, world),
        FaultKind::BrokerClock => set_a_brokers_clock(faults, world),
        FaultKind::ProducerRequest => fail_producer_requests(faults, world),
        FaultKind::BadRecords => reject_records(faults, world),
        FaultKind::LeaderHints => break_leader_hints(faults, world),
        FaultKind::HalfClose => half_close(faults, world),
        FaultKind::Unclean => elect_uncleanly(faults, world),
    }
}

/// Ends all faults.
pub(crate) fn heal(faults: &mut Faults, world: &mut World) {
    world.net.set_faults_enabled(false);
    world.cluster.advance_clock(ottla_mock::Time(world.now_us()));
    heal_brokers(faults, world);
    heal_requests(faults, world);
    heal_topics(world);
    heal_groups(world);
    heal_transactions(world);
    heal_sasl(world);
    heal_admin(world);
    heal_share_groups(world);
}

pub(super) fn set_a_clock(faults: &mut Faults, world: &mut World) -> bool {
    let client = faults.rng.below(world.clients.len());
    let hour = 3_600_000;
    let skew = faults.rng.between(0, 48 * hour) as i64 - 24 * hour as i64;
    world.clients[client].clock.set_skew_ms(skew);
    true
}
