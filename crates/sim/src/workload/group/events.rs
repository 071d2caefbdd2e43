//! What a member hears and takes.

use std::time::Duration;

use ottla::error::{Error, ErrorCode};
use ottla::event::{Event, PartitionNotice, Rebalance};

use super::{Life, MemberWorkload, Step};
use crate::check::Tp;
use crate::trace::trace;
use crate::workload::consumer::{Taken, take};
use crate::world::World;

impl MemberWorkload {
    /// Takes what is there, until a rebalance wants to be carried out.
    pub(super) fn poll(&mut self, world: &mut World, client: usize) {
        let most = match self.is_slow(world) {
            true => 1,
            false => world.app_rng.between(1, self.plan.most * 2),
        };
        for _ in 0..most {
            match world.next_item(client, take) {
                None => return,
                Some(Ok(taken)) => self.on_record(world, client, taken),
                Some(Err(event)) => self.on_event(world, client, event),
            }
            if !self.steps.is_empty() || self.life == Life::Gone {
                return;
            }
        }
    }

    fn on_record(&mut self, world: &mut World, client: usize, taken: Taken) {
        let Taken {
            topic,
            partition,
            offset,
            position,
            leader_epoch,
            found,
        } = taken;
        trace!(
            world.trace,
            "c{client} app takes {topic} [{partition}] @ {offset} {found:?}"
        );
        world.coverage.count("records consumed by groups", 1);
        world.counters(client).taken += 1;
        let tp = (topic, partition);
        let Some(found) = found.filter(|_| position == offset + 1) else {
            return world.check.violate(format!(
                "client {client}: position {position} after {tp:?} @ {offset}, {found:?}"
            ));
        };
        let marks = world.marks(&tp);
        let result = world
            .check
            .groups
            .on_record(self.client, &tp, (offset, leader_epoch), found, marks);
        world.check.expect(result);
        if self.plan.commit == super::CommitMode::Auto {
            world.check.groups.on_processed(self.client, &tp, offset);
        } else {
            self.taken.push((tp, offset, leader_epoch));
        }
    }

    fn on_event(&mut self, world: &mut World, client: usize, event: Event) {
        match event {
            Event::Rebalance(rebalance) => self.on_rebalance(world, client, rebalance),
            Event::Partition(notice) => self.on_notice(world, client, notice),
            Event::Commit(result) => {
                trace!(world.trace, "c{client} app hears {result:?}");
                let rows = result.offsets.into_iter();
                let rows: Vec<(Tp, i64, ErrorCode)> = rows
                    .map(|r| ((r.tp.topic.to_string(), r.tp.partition), r.offset, r.error))
                    .collect();
                self.on_commit_rows(world, &rows);
            }
            other => trace!(world.trace, "c{client} app hears {other:?}"),
        }
    }

    fn on_rebalance(&mut self, world: &mut World, client: usize, rebalance: Rebalance) {
        trace!(world.trace, "c{client} app hears {rebalance:?}");
        let shared = world.shared(client);
        let lost = shared.consumer.as_ref().is_some_and(|r| r.is_assignment_lost());
        let incremental = self.plan.is_incremental();
        match rebalance.code {
            ErrorCode::L_ASSIGN_PARTITIONS => {
                world.coverage.count("assignments told", 1);
                self.steps.push_back(match incremental {
                    true => Step::AssignMore(rebalance.partitions),
                    false => Step::Assign(rebalance.partitions),
                });
            }
            ErrorCode::L_REVOKE_PARTITIONS => {
                world.coverage.count("revocations told", 1);
                if lost {
                    world.coverage.count("assignments lost", 1);
                }
                if self.plan.commit_on_revoke && (!lost || self.plan.commits_when_lost) {
                    self.steps.push_back(Step::Commit);
                }
                self.steps.push_back(match incremental {
                    true => Step::UnassignSome(rebalance.partitions),
                    false => Step::Unassign,
                });
            }
            code => world
                .check
                .violate(format!("client {client}: a rebalance that is neither: {code:?}")),
        }
    }

    fn on_notice(&mut self, world: &mut World, client: usize, notice: PartitionNotice) {
        let tp = notice
            .partition
            .as_ref()
            .map(|p| (p.topic().name().to_owned(), p.partition()));
        let error = &notice.error;
        trace!(
            world.trace,
            "c{client} app hears of {tp:?}: {error} at {}", notice.offset
        );
        match (error.code, tp) {
            (ErrorCode::L_PARTITION_EOF, Some(tp)) => {
                world.coverage.count("ends of partitions", 1);
                let marks = world.marks(&tp);
                let result = world.check.groups.on_end(self.client, &tp, notice.offset, marks);
                world.check.expect(result);
            }
            (ErrorCode::L_AUTO_OFFSET_RESET, Some(tp)) => {
                let result = world.check.groups.on_no_offset(self.client, &tp);
                world.check.expect(result);
                self.steps.push_back(Step::Seek(tp));
            }
            (ErrorCode::L_LOG_TRUNCATION, Some(tp)) => {
                world.coverage.count("truncations told", 1);
                self.steps.push_back(Step::Seek(tp));
            }
            (ErrorCode::L_MAX_POLL_EXCEEDED, _) => world.coverage.count("members told that they stalled", 1),
            _ => world.coverage.count("errors told to members", 1),
        }
        if error.fatal {
            self.on_fatal(world, client, notice.error);
        }
    }

    /// Takes errors of the client as a whole.
    pub(super) fn poll_errors(&mut self, world: &mut World, client: usize) {
        let shared = world.shared(client);
        while let Some(event) = shared.main_queue.pop(Some(Duration::ZERO)) {
            if let Event::Stats(document) = event {
                world.on_statistics(client, *document);
                continue;
            }
            trace!(world.trace, "c{client} app hears {event:?}");
            if let Event::Error(error) = event
                && error.fatal
            {
                self.on_fatal(world, client, error);
            }
        }
    }

    /// Nothing helps but another client.
    fn on_fatal(&mut self, world: &mut World, client: usize, error: Error) {
        world.coverage.count("members fenced", 1);
        if self.life != Life::Gone {
            self.end(world, client, &format!("gives the client up: {error}"));
        }
    }
}
