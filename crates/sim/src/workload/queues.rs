//! The queues of applications: the next item, and the check of the order in which items are served.

use std::time::Duration;

use crate::canary::Canary;
use crate::trace::trace;
use crate::world::World;
use ottla_core::event::{Chunk, Event};
use ottla_core::stats::Statistics;

/// Returns true when an event has no position in a partition's log: no record may be served before it.
fn precedes_records(event: &Event) -> bool {
    match event {
        Event::Records(_) => false,
        Event::Partition(notice) => notice.partition.is_none(),
        _ => true,
    }
}
/// Takes the next record or event of a client's consumer queue. An event that waits when the application calls is
/// served before any record, so that a slow application with a full queue takes part in its group.
pub(crate) fn next_item<T>(
    world: &mut World,
    client: usize,
    take: impl FnOnce(&mut Chunk) -> Option<T>,
) -> Option<Result<T, Event>> {
    let queue = world.shared(client).consumer_queue.clone();
    let (mut events, mut records) = (0, 0);
    queue.visit_all(|event| match precedes_records(event) {
        true => events += 1,
        false => records += event.len() as u64,
    });
    let held_back = match world.canary.active() {
        Some(Canary::LateEvent) if records > 0 => queue.extract(precedes_records),
        _ => Vec::new(),
    };
    let item = queue.pop_one(Some(Duration::ZERO), take);
    held_back.into_iter().for_each(|event| queue.push(event));
    if events > 0 && records > 0 {
        world.coverage.count("events beside waiting records", 1);
    }
    if events > 0 && matches!(item, Some(Ok(_))) {
        world.check.violate(format!(
            "client {client}: a record was served while {events} events waited"
        ));
    }
    item
}

/// Checks the statistics that an application received.
pub(crate) fn on_statistics(world: &mut World, client: usize, document: Statistics) {
    trace!(world.trace, "c{client} app receives {document:?}");
    world.coverage.count("statistics", 1);
    let counters = *world.counters(client);
    let result = world
        .check
        .reports
        .on_document(client, document, counters, world.now_us());
    world.check.expect(result);
}
