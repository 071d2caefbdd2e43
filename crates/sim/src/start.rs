//! Starts the clients of a world with their applications.

use ottla_core::event::DeliveryMode;
use ottla_core::types::ClientKind;

use crate::admin_wire::{BASE_PARTITIONS, BASE_TOPIC};
use crate::canary::Canary;
use crate::chain::topic;
use crate::client::{ClientSpec, Limits};
use crate::event::WorldEvent;
use crate::plan::{ConsumerPlan, GroupProtocol, ProducerPlan, SharePace, TopicUse};
use crate::rng::SeededRng;
use crate::share_writer::start_share_writer;
use crate::workload::{
    AdminCaller, AdminWorkload, ConsumerWorkload, LoopWorkload, MemberWorkload, ProducerWorkload, ReaderWorkload,
    ShareWorkload, TxnWorkload,
};
use crate::world::{Phase, World};

/// Creates the topic of the offsets of admin calls, and starts the clients that only make such calls.
pub(crate) fn set_up_admin(world: &mut World) {
    let Some(plan) = world.plan.admin.clone() else { return };
    world.coverage.count("worlds with admin calls", 1);
    world.cluster.log_requests();
    if let Err(refusal) = world.cluster.create_topic(BASE_TOPIC, BASE_PARTITIONS, None) {
        world.check.violate(format!("{BASE_TOPIC}: {}", refusal.message));
    }
    let mut seeds = SeededRng::of(world.seed, 81);
    for settings in plan.clients.clone() {
        let kind = match seeds.hit(0.5) {
            true => ClientKind::Producer,
            false => ClientKind::Consumer,
        };
        let number = world.clients.len();
        let built = ClientSpec::new(kind, settings).build(&world.common(), &mut seeds);
        world.add_client(built, Some(Box::new(AdminWorkload)));
        world.add_caller(number, Box::new(AdminCaller::new(world.seed, number, &plan, true)));
    }
}

/// Has a client make admin calls beside its other work, in some worlds.
fn add_caller(world: &mut World, client: usize) {
    let Some(plan) = world.plan.admin.clone() else { return };
    if client < world.clients.len() && SeededRng::of(world.seed, 1000 + client as u64).hit(plan.others) {
        let caller = AdminCaller::new(world.seed, client, &plan, false);
        world.add_caller(client, Box::new(caller));
    }
}

/// Starts the producers, and the consumers outside of groups.
pub(crate) fn start_clients(world: &mut World) {
    let mut seeds = SeededRng::of(world.seed, 5);
    for plan in world.plan.producers.clone() {
        start_producer(world, plan, &mut seeds);
    }
    for plan in world.plan.consumers.clone() {
        start_consumer(world, plan, &mut seeds);
    }
}

fn start_producer(world: &mut World, plan: ProducerPlan, seeds: &mut SeededRng) {
    let client = u32::try_from(world.clients.len()).unwrap_or(u32::MAX);
    world.check.produced.add_producer(client);
    let (mut settings, mut topics) = (plan.settings.clone(), plan.topics.clone());
    let ignored = match world.canary.active() {
        Some(Canary::Flood) => Some("max.in.flight"),
        Some(Canary::Heap) => Some("queue.buffering.backpressure.threshold"),
        _ => None,
    };
    if let Some(name) = ignored.filter(|_| !plan.is_idempotent()) {
        settings.push((name.into(), "1000000".into()));
    }
    if world.canary.is(Canary::LostSettings) {
        topics.iter_mut().for_each(|topic| topic.own = None);
    }
    let spec = ClientSpec {
        skew_ms: plan.skew_ms,
        delivery: plan.delivery,
        topics,
        limits: Limits::of(&plan.settings),
        ..ClientSpec::new(ClientKind::Producer, settings)
    };
    let built = spec.build(&world.common(), seeds);
    world.add_client(built, Some(Box::new(ProducerWorkload::new(client, plan))));
    add_caller(world, client as usize);
}

fn start_consumer(world: &mut World, plan: ConsumerPlan, seeds: &mut SeededRng) {
    let client = u32::try_from(world.clients.len()).unwrap_or(u32::MAX);
    let spec = ClientSpec {
        topics: TopicUse::all(&plan.topics),
        ..ClientSpec::new(ClientKind::Consumer, plan.settings.clone())
    };
    let built = spec.build(&world.common(), seeds);
    world.add_client(built, Some(Box::new(ConsumerWorkload::new(client, plan))));
    add_caller(world, client as usize);
}

/// Schedules the first client of each member of a group.
pub(crate) fn set_up_groups(world: &mut World) {
    world.cluster.log_commits();
    world.cluster.log_joins();
    let Some(plan) = world.group_members.plan().cloned() else {
        return;
    };
    if world.plan.cluster.max_log_bytes.is_some() {
        world.check.groups.allow_retention();
    }
    if !world.plan.has_list_offsets_epochs() {
        world.check.groups.expect_ends_without_epochs();
    }
    for (slot, member) in plan.members.iter().enumerate() {
        world.after_us(member.starts_at_us, WorldEvent::Member(slot));
    }
}

/// Starts a client in a slot, unless it has one.
pub(crate) fn start_member(world: &mut World, slot: usize) {
    if world.phase >= Phase::Probing {
        return;
    }
    let Some(plan) = world.group_members.next_plan(slot) else {
        return;
    };
    if matches!(plan.group_protocol, GroupProtocol::Migrating) {
        world.coverage.count(
            "members of groups that migrate, consumer protocol",
            u64::from(plan.is_consumer),
        );
    }
    let number = world.clients.len();
    let client = u32::try_from(number).unwrap_or(u32::MAX);
    let spec = ClientSpec {
        rebalance_event: plan.by_event,
        topics: TopicUse::all(&plan.topics),
        ..ClientSpec::new(ClientKind::Consumer, plan.settings())
    };
    let built = spec.build(&world.common(), world.group_members.seeds());
    world
        .check
        .groups
        .add_member(client, &plan.group, plan.reset, plan.is_exclusive());
    if world.group_members.on_started(slot, number) {
        world.coverage.count("members restarted", 1);
    }
    let app = MemberWorkload::new(client, slot, plan, world.now_us());
    world.add_client(built, Some(Box::new(app)));
    add_caller(world, number);
    world.set_right_clocks(number);
}

/// Configures the checks of share groups, and schedules the first client of each member.
pub(crate) fn set_up_share_groups(world: &mut World) {
    let Some(plan) = world.share_members.plan().cloned() else {
        return;
    };
    world.coverage.count("worlds with share groups", 1);
    world.cluster.log_share_events();
    let lock_us = u64::try_from(plan.config.record_lock_duration_ms).unwrap_or(0) * 1000;
    let (limit, committed) = (plan.config.delivery_count_limit, plan.config.read_committed);
    world.check.share.configure(limit, lock_us, committed);
    start_share_writer(world);
    for (slot, member) in plan.members.iter().enumerate() {
        world.after_us(member.starts_at_us, WorldEvent::ShareMember(slot));
    }
}

/// Starts a client in a slot of the share groups, unless it has one.
pub(crate) fn start_share_member(world: &mut World, slot: usize) {
    if world.phase >= Phase::Probing {
        return;
    }
    let Some(plan) = world.share_members.next_plan(slot) else {
        return;
    };
    let number = world.clients.len();
    let spec = ClientSpec::new(ClientKind::ShareConsumer, plan.settings.clone());
    let built = spec.build(&world.common(), world.share_members.seeds());
    if world.share_members.on_started(slot, number) {
        world.coverage.count("share members restarted", 1);
    }
    world.check.share.add_member(number, plan.pace == SharePace::Fast);
    let Some(app) = built
        .as_ref()
        .ok()
        .and_then(|client| ShareWorkload::new(client, slot, plan, world.now_us()))
    else {
        let error = built.err().unwrap_or_default();
        return world
            .check
            .violate(format!("a share consumer cannot be built: {error}"));
    };
    world.add_client(built, Some(Box::new(app)));
    add_caller(world, number);
    world.set_right_clocks(number);
}

/// Starts a client in every empty slot of the share groups.
pub(crate) fn start_all_share_members(world: &mut World) {
    for slot in 0..world.share_members.slot_count() {
        start_share_member(world, slot);
    }
}

/// Starts a client in every empty slot.
pub(crate) fn start_all_members(world: &mut World) {
    for slot in 0..world.group_members.slot_count() {
        start_member(world, slot);
    }
}

/// Starts the readers of the chain, and schedules the first clients of its workers.
pub(crate) fn set_up_workers(world: &mut World) {
    let Some(plan) = world.txn_workers.plan().cloned() else {
        return;
    };
    world.cluster.log_transaction_steps();
    if world.canary.strike(Canary::LostMarker) {
        world.cluster.drop_next_marker();
    }
    let kind = match plan.version {
        2.. => "worlds of transaction version 2",
        _ => "worlds of older transaction versions",
    };
    world.coverage.count(kind, 1);
    if plan.has_loops() {
        world.coverage.count("worlds of loops", 1);
        world.check.transactions.count_by_offset();
    }
    if plan.repeats() {
        world.coverage.count("worlds of at-least-once loops", 1);
        world.check.transactions.expect_repetitions();
    }
    for reader in plan.readers {
        let number = world.clients.len();
        world.check.transactions.add_reader(number, reader.committed);
        let spec = ClientSpec::new(ClientKind::Consumer, reader.settings.clone());
        let built = spec.build(&world.common(), world.txn_workers.seeds());
        world.add_client(built, Some(Box::new(ReaderWorkload::new(reader))));
    }
    for (slot, delay_us) in world.txn_workers.start_delays_us().into_iter().enumerate() {
        world.after_us(delay_us, WorldEvent::Worker(slot));
    }
}

/// Starts clients in a slot, unless it has some.
pub(crate) fn start_worker(world: &mut World, slot: usize) {
    if world.phase > Phase::Probing {
        return;
    }
    let Some((plan, starts)) = world.txn_workers.start(slot) else {
        return;
    };
    world.coverage.count("workers restarted", u64::from(starts > 1));
    if let Some(loop_plan) = plan.loop_plan.clone() {
        match LoopWorkload::start(world, slot, (plan, loop_plan), starts) {
            Ok(client) => world.txn_workers.set_client(slot, client),
            Err(error) => world.check.violate(format!("a loop cannot be built: {error}")),
        }
        return;
    }
    let first = world.clients.len();
    let consumer = (plan.stage > 0).then_some(first);
    if consumer.is_some() {
        let spec = ClientSpec::new(ClientKind::Consumer, plan.consumer.clone());
        let built = spec.build(&world.common(), world.txn_workers.seeds());
        world.add_client(built, None);
    }
    let number = world.clients.len();
    let client = u32::try_from(number).unwrap_or(u32::MAX);
    let spec = ClientSpec {
        delivery: DeliveryMode::All,
        topics: TopicUse::all(&[topic(plan.stage)]),
        limits: Limits::idempotent(),
        ..ClientSpec::new(ClientKind::Producer, plan.producer.clone())
    };
    let built = spec.build(&world.common(), world.txn_workers.seeds());
    world.txn_workers.set_client(slot, number);
    let app = TxnWorkload::new(client, (slot, plan), consumer, world.now_us());
    world.add_client(built, Some(Box::new(app)));
    add_caller(world, number);
    world.set_right_clocks(first);
}
