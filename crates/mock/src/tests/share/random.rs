//! Random requests and faults from seeds, with the invariants of share groups: a record that was accepted is never
//! delivered again, one member at a time holds a record, no record is delivered more often than allowed, and all are
//! delivered in the end.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::rng::Rng;
use crate::{BrokerId, ShareChange};

const MEMBERS: [&str; 3] = ["a", "b", "c"];
const LIMIT: i32 = 4;

/// The truth about each record, from the log of changes.
#[derive(Default)]
struct Model {
    /// The holder of each acquired record.
    held: BTreeMap<i64, String>,
    done: BTreeSet<i64>,
    accepted: BTreeSet<i64>,
    deliveries: BTreeMap<i64, i32>,
}

impl Model {
    fn apply(&mut self, events: Vec<crate::ShareEvent>) {
        for event in events {
            if event.change == ShareChange::Unloaded {
                self.held.clear();
                self.deliveries.clear();
            }
            for offset in event.first_offset..=event.last_offset {
                self.apply_to(offset, &event.change);
            }
        }
    }

    fn apply_to(&mut self, offset: i64, change: &ShareChange) {
        match change {
            ShareChange::Acquired { member, delivery_count } => {
                assert!(!self.accepted.contains(&offset), "{offset} was accepted");
                assert!(!self.done.contains(&offset), "{offset} was rejected or archived");
                assert_eq!(self.held.insert(offset, member.clone()), None, "{offset} is held");
                assert!((1..=LIMIT).contains(delivery_count));
                let before = self.deliveries.insert(offset, *delivery_count);
                assert!(
                    before.is_none_or(|before| before + 1 == *delivery_count),
                    "{offset}: {before:?}"
                );
            }
            ShareChange::Accepted { member } => {
                self.end(offset, member);
                self.accepted.insert(offset);
                self.done.insert(offset);
            }
            ShareChange::Rejected { member } | ShareChange::Gap { member } => {
                self.end(offset, member);
                self.done.insert(offset);
            }
            ShareChange::Released { member }
            | ShareChange::LockExpired { member }
            | ShareChange::SessionEnded { member } => self.end(offset, member),
            ShareChange::Renewed { member } => assert_eq!(self.held.get(&offset), Some(member)),
            ShareChange::Archived(_) => {
                assert!(!self.accepted.contains(&offset));
                // Archived because of the end of the log: only that leader knows.
                if *change != ShareChange::Archived(crate::ArchiveCause::LogStart) {
                    self.done.insert(offset);
                }
            }
            ShareChange::Loaded | ShareChange::Unloaded => {}
        }
    }

    fn end(&mut self, offset: i64, member: &str) {
        assert_eq!(self.held.remove(&offset).as_deref(), Some(member), "{offset}");
    }

    fn held_by(&self, member: &str) -> Vec<i64> {
        self.held
            .iter()
            .filter(|(_, m)| *m == member)
            .map(|(offset, _)| *offset)
            .collect()
    }
}

struct World {
    share: Share,
    model: Model,
    rng: Rng,
}

impl World {
    fn below(&mut self, limit: i64) -> i64 {
        i64::from(self.rng.positive_i32()) % limit
    }

    /// Returns the epoch of the member's session at the leader, 0 if there is none.
    fn epoch(&self, member: &str) -> i32 {
        let leader = BrokerId(self.share.test.leader("t", 0));
        self.share
            .test
            .cluster
            .share_session_epoch(leader, "g", member)
            .unwrap_or(0)
    }

    /// Returns acknowledgements of some of the records that a member holds.
    fn acks(&mut self, member: &str) -> Vec<(i64, i64, Vec<i8>)> {
        let mut acks: Vec<(i64, i64, Vec<i8>)> = Vec::new();
        for offset in self.model.held_by(member) {
            let kind = [ACCEPT, RELEASE, REJECT, 0, ACCEPT, RENEW, -1, -1][self.below(8) as usize];
            match acks.last_mut() {
                _ if kind < 0 => {}
                Some(last) if last.1 + 1 == offset && self.rng.positive_i32() % 2 == 0 => {
                    last.1 = offset;
                    last.2.push(kind);
                }
                _ => acks.push((offset, offset, vec![kind])),
            }
        }
        acks
    }

    fn step(&mut self) {
        let member = MEMBERS[self.below(3) as usize];
        match self.below(20) {
            0..=2 => {
                let count = 1 + self.below(6) as i32;
                self.share.produce(&[count]);
            }
            3..=8 => {
                self.share.fetch.max_records = 1 + self.below(12) as i32;
                self.share.fetch.batch_size = 1 + self.below(6) as i32;
                self.share.fetch.share_acquire_mode = self.below(2) as i8;
                let epoch = self.epoch(member);
                let _ = self.share.acquire(member, epoch);
            }
            9..=14 => {
                let acks = self.acks(member);
                let epoch = self.epoch(member);
                if epoch > 0 && !acks.is_empty() {
                    let acks: Vec<_> = acks.iter().map(|(f, l, types)| (*f, *l, types.as_slice())).collect();
                    assert_eq!(
                        self.share.acknowledge(member, epoch, &acks),
                        ErrorCode::NONE,
                        "{acks:?}"
                    );
                }
            }
            15 => {
                let millis = self.below(40_000) as u64;
                self.share.test.pass_ms(millis);
            }
            16 => {
                if self.epoch(member) > 0 {
                    assert_eq!(self.share.acknowledge(member, -1, &[]), ErrorCode::NONE);
                }
            }
            17 => {
                let next = self.share.test.leader("t", 0) % 3 + 1;
                self.share
                    .test
                    .cluster
                    .set_leader("t", 0, Some(BrokerId(next)))
                    .unwrap();
            }
            18 => {
                let topic = self.share.test.cluster.state.topics.by_name_mut("t").unwrap();
                let log = &mut topic.partition_mut(0).unwrap().log;
                let span = log.high_watermark() - log.start_offset() + 1;
                let offset = log.start_offset() + i64::from(self.rng.positive_i32()) % span.min(4);
                log.delete_before(offset);
            }
            _ => {
                // Another session of the member, which keeps its locks.
                let _ = self.share.acquire(member, 0);
            }
        }
        self.check();
    }

    fn check(&mut self) {
        let events = self.share.test.cluster.take_share_events();
        self.model.apply(events);
        let Some(view) = self.share.test.cluster.share_partition_view("g", "t", 0) else {
            return;
        };
        let mut next = i64::MIN;
        for records in &view.records {
            assert!(
                records.first_offset >= next && records.last_offset >= records.first_offset,
                "{view:?}"
            );
            next = records.last_offset + 1;
            for offset in records.first_offset..=records.last_offset {
                let holder = self.model.held.get(&offset);
                assert!(
                    holder.is_none() || holder == records.member.as_ref(),
                    "{offset}: {view:?}"
                );
            }
        }
    }
}

#[test]
fn invariants_hold_for_random_requests_and_faults() {
    for seed in 0..100 {
        let mut share = Share::with(3, 1, |c| {
            c.delivery_count_limit = LIMIT;
            c.partition_max_record_locks = 40;
        });
        share.produce(&[3]);
        let mut world = World {
            share,
            model: Model::default(),
            rng: Rng::new(seed),
        };
        for _ in 0..120 {
            world.step();
        }
        // Without faults one member receives all that is left.
        world.share.test.pass_ms(60_000);
        world.check();
        world.share.fetch.max_records = 500;
        let end = world.share.test.cluster.watermarks("t", 0).unwrap();
        let mut idle = 0;
        while idle < 5 {
            let epoch = world.epoch("z");
            let acquired = world.share.acquire("z", epoch);
            idle = if acquired.is_empty() { idle + 1 } else { 0 };
            for (first, last, _) in acquired {
                let epoch = world.epoch("z");
                let acks: Acks<'_> = &[(first, last, &[ACCEPT])];
                assert_eq!(world.share.acknowledge("z", epoch, acks), ErrorCode::NONE);
            }
            world.check();
        }
        let view = world.share.test.cluster.share_partition_view("g", "t", 0).unwrap();
        assert_eq!(view.next_offset, end.high_watermark, "seed {seed}: {view:?}");
        // Records that are done stay in flight while the leader does not know all that is before them.
        let is_done = |state: DeliveryState| matches!(state, DeliveryState::Acknowledged | DeliveryState::Archived);
        assert!(view.records.iter().all(|r| is_done(r.state)), "seed {seed}: {view:?}");
        for offset in end.log_start_offset..end.high_watermark {
            assert!(world.model.done.contains(&offset), "seed {seed}: {offset} was lost");
        }
        assert_eq!(world.share.test.cluster.timer_count(), 0);
    }
}
