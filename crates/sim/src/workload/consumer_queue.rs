//! How applications take the next item of their queues, and the check of the order in which items come.

use std::time::Duration;

use ottla::event::{Chunk, Event};

use crate::canary::Canary;
use crate::world::World;

impl World {
    /// Takes the next record or event of a client's consumer queue. An event that waits when the application calls must
    /// come before any record: a slow application with a full queue takes part in its group all the same.
    pub(crate) fn next_item<T>(
        &mut self,
        client: usize,
        take: impl FnOnce(&mut Chunk) -> Option<T>,
    ) -> Option<Result<T, Event>> {
        let queue = self.shared(client).consumer_queue.clone();
        let (mut events, mut records) = (0, 0);
        queue.visit_all(|event| match precedes_records(event) {
            true => events += 1,
            false => records += event.len() as u64,
        });
        let held_back = match self.options.canary {
            Some(Canary::LateEvent) if records > 0 => queue.extract(precedes_records),
            _ => Vec::new(),
        };
        let item = queue.pop_one(Some(Duration::ZERO), take);
        held_back.into_iter().for_each(|event| queue.push(event));
        if events > 0 && records > 0 {
            self.coverage.count("events beside waiting records", 1);
        }
        if events > 0 && matches!(item, Some(Ok(_))) {
            self.check.violate(format!(
                "client {client}: a record was served while {events} events waited"
            ));
        }
        item
    }
}

/// Whether an event belongs to no place in a partition's log, so that no record may be served before it.
fn precedes_records(event: &Event) -> bool {
    match event {
        Event::Records(_) => false,
        Event::Partition(notice) => notice.partition.is_none(),
        _ => true,
    }
}
