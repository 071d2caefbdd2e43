//! Transactions: the steps of their coordinators, and the state of the chain in the logs, for the checkers.

use ottla_mock::{ConnectionId, TransactionStep};

use crate::chain::{group, topic};
use crate::check::{PartitionView, Views};
use crate::event::WorldEvent;
use crate::world::{Phase, World};

/// Records that a slot's clients have ended, or are replaced while they run (`at_once`), and schedules the next ones.
pub(crate) fn worker_gone(world: &mut World, slot: usize, at_once: bool) {
    let is_hostile = world.phase == Phase::Hostile;
    let pause = world.txn_workers.on_gone(slot, at_once, is_hostile);
    world.after_us(pause, WorldEvent::Worker(slot));
}

/// Returns the reason why transactions are not done with the phase; `None` when they are.
pub(crate) fn transactions_wait_for(world: &mut World) -> Option<String> {
    let plan = world.txn_workers.plan()?;
    let partitions = plan.partitions.clone();
    if let Some(slot) = world.txn_workers.empty_slot() {
        return Some(format!("worker {slot} has no client"));
    }
    if world.cluster.has_open_transactions() {
        return Some("a transaction is open".to_owned());
    }
    // A request on an abandoned connection may still be served.
    if let Some(number) = world.net.half_closed_connection() {
        return Some(format!("bytes on connection {number} are still in flight"));
    }
    let mut length = 0;
    for (stage, count) in partitions.iter().enumerate() {
        for partition in 0..*count {
            let marks = world.cluster.watermarks(&topic(stage), partition);
            length += marks.map_or(0, |m| m.log_end_offset);
        }
    }
    // The records of readers change without the logs.
    if let Some(what) = world.txn_workers.last_check(length) {
        return Some(what.to_owned());
    }
    let waits = match read_chain(world) {
        Ok(views) => {
            let committed = |stage, partition| committed_by_stage(world, stage, partition);
            world.check.transactions.behind(&views, topic, committed)
        }
        Err(what) => {
            world.check.violate(what);
            None
        }
    };
    world.txn_workers.set_last_check(length, waits.clone());
    waits
}

/// Returns the offset that the group of a stage has committed for a partition of its input.
fn committed_by_stage(world: &World, stage: usize, partition: i32) -> Option<i64> {
    world
        .cluster
        .committed_offset(&group(stage), &topic(stage - 1), partition)
}

fn read_chain(world: &World) -> Result<Views, String> {
    let mut views = Views::new();
    let partitions = world.txn_workers.plan().into_iter().flat_map(|p| &p.partitions);
    for (stage, count) in partitions.enumerate() {
        let name = topic(stage);
        for partition in 0..*count {
            let batches = world.cluster.partition_batches(&name, partition).unwrap_or_default();
            let view = PartitionView::of_log(batches.into_iter().map(ottla_protocol::Records::into_bytes));
            let view = view.map_err(|what| format!("{name} [{partition}]: {what}"))?;
            views.insert((stage, partition), view);
        }
    }
    Ok(views)
}

/// Compares all observations with the logs at the end.
pub(crate) fn compare_chain(world: &mut World) {
    let result = read_chain(world).and_then(|views| {
        let committed = |stage, partition| committed_by_stage(world, stage, partition);
        world.check.transactions.compare(&views, topic, committed)
    });
    world.check.expect(result);
}

/// Records and counts the steps of coordinators since the last call.
pub(crate) fn check_transaction_steps(world: &mut World) {
    for record in world.cluster.take_transaction_steps() {
        world.check.fencing.on_step(&record.transactional_id, record.step);
        let kind = match record.step {
            TransactionStep::Initialized { connection, resumed } => {
                on_taken(world, &record.transactional_id, connection);
                match resumed {
                    true => "epochs raised",
                    false => "transactional ids taken",
                }
            }
            TransactionStep::Fenced => "transactions aborted for another producer",
            TransactionStep::TimedOut => "transactions timed out on the broker",
            TransactionStep::Expired => "transactional ids expired",
            _ => continue,
        };
        world.coverage.count(kind, 1);
    }
}

fn on_taken(world: &mut World, id: &str, connection: ConnectionId) {
    match world.net.conn(connection.0) {
        Some(conn) => world.check.fencing.on_taken(id, conn.client(), !conn.is_client_open()),
        None => world
            .check
            .violate(format!("#{} is gone, and was served", connection.0)),
    }
}
