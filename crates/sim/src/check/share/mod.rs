//! The invariants of share groups (KIP-932): what leaders report about records, what applications see of them, and the
//! acknowledgements between both.
//!
//! - A record that was accepted or rejected is not delivered again, a record has one holder, and none is delivered more
//!   often than allowed (`record`).
//! - An application sees what its client has acquired, each acquisition at most once, with the leader's delivery count, and
//!   not after the client has lost the session.
//! - Leaders have the acknowledgements of applications, no others. A result is that of the leader (`results`).
//! - A client acknowledges what it holds, once (`wire`).

mod record;
mod results;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

use ottla_mock::{ShareChange, ShareEvent};
use ottla_protocol::Uuid;

use crate::message::MessageId;

use record::{Acquisition, Record};
use results::Outstanding;
use wire::HeldRecords;
pub(crate) use wire::{WireAck, WireAcquired};

/// A client that was driven has handled everything that it received this long before.
const DRIVEN_US: u64 = 60_000;
/// Applications that process batches at once take them within this time.
const FAST_US: u64 = 600_000;

/// A share partition: the group, the topic's id, and the partition's number.
pub(crate) type SharePartitionId = (String, Uuid, i32);

/// The acknowledgement of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShareAck {
    Accept,
    Release,
    Reject,
    Renew,
}

/// A record that an application sees.
#[derive(Debug, Clone)]
pub(crate) struct SeenRecord {
    pub(crate) partition: SharePartitionId,
    pub(crate) offset: i64,
    pub(crate) delivery_count: i32,
    pub(crate) broker: i32,
    /// The arrival of its batch at the client.
    pub(crate) received_us: u64,
    pub(crate) id: MessageId,
}

/// A record that the world has written itself.
#[derive(Debug, Clone, Copy)]
struct Written {
    id: MessageId,
    is_aborted: bool,
}

/// A client as a member.
#[derive(Debug, Default)]
struct Member {
    /// The application takes batches at once.
    is_fast: bool,
    /// The last time at which it did something else than polling.
    disturbed_us: u64,
    held: HeldRecords,
    outstanding: Vec<Outstanding>,
    /// The results of synchronous commits, by call.
    told: BTreeMap<u64, Vec<results::Told>>,
    /// The last time at which it has lost its session with a broker.
    lost_us: BTreeMap<i32, u64>,
}

/// Counters for the coverage.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ShareCounts {
    pub(crate) unseen_expired: u64,
    pub(crate) unseen_released: u64,
    pub(crate) expired: u64,
    pub(crate) sessions_ended: u64,
    pub(crate) archived_by_limit: u64,
    pub(crate) redelivered: u64,
    pub(crate) gaps: u64,
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
    pub(crate) released: u64,
    pub(crate) renewed: u64,
    pub(crate) answers_lost: u64,
    pub(crate) failed_results: u64,
}

/// The observations of a world's share groups.
#[derive(Debug, Default)]
pub(crate) struct ShareGroups {
    delivery_limit: i32,
    lock_us: u64,
    read_committed: bool,
    /// The clients by their member ids.
    by_member_id: BTreeMap<String, usize>,
    members: BTreeMap<usize, Member>,
    partitions: BTreeMap<SharePartitionId, BTreeMap<i64, Record>>,
    /// The contents of records that applications have seen.
    seen: BTreeMap<(Uuid, i32, i64), MessageId>,
    /// The topic that the world writes itself, with its records by partition and offset.
    own_topic: Option<Uuid>,
    written: BTreeMap<(i32, i64), Written>,
    counts: ShareCounts,
}

impl ShareGroups {
    /// Sets the settings of the groups.
    pub(crate) fn configure(&mut self, delivery_limit: i32, lock_us: u64, read_committed: bool) {
        (self.delivery_limit, self.lock_us, self.read_committed) = (delivery_limit, lock_us, read_committed);
    }

    /// Adds a client. `is_fast`: its application processes batches at once.
    pub(crate) fn add_member(&mut self, client: usize, is_fast: bool) {
        self.members.entry(client).or_default().is_fast = is_fast;
    }

    /// Returns the counters since the last call.
    pub(crate) fn take_counts(&mut self) -> ShareCounts {
        std::mem::take(&mut self.counts)
    }

    fn member(&mut self, client: usize) -> &mut Member {
        self.members.entry(client).or_default()
    }

    /// Notes that an application does something else than polling.
    pub(crate) fn on_disturbed(&mut self, client: usize, now_us: u64) {
        self.member(client).disturbed_us = now_us;
    }

    /// Notes that a client has ended without results for its acknowledgements.
    pub(crate) fn on_gone(&mut self, client: usize, now_us: u64) {
        let member = self.member(client);
        member.outstanding.clear();
        member.told.clear();
        member.disturbed_us = now_us;
        member.is_fast = false;
    }

    // ---------------------------------------------------------------- records of the world

    /// Sets the topic that the world writes itself.
    pub(crate) fn set_own_topic(&mut self, topic: Uuid) {
        self.own_topic = Some(topic);
    }

    /// Records a record that the world has written.
    pub(crate) fn on_written(&mut self, partition: i32, offset: i64, id: MessageId, is_aborted: bool) {
        self.written.insert((partition, offset), Written { id, is_aborted });
    }

    // ---------------------------------------------------------------- leaders

    /// Applies a change that a leader reports.
    pub(crate) fn on_event(&mut self, event: &ShareEvent) -> Result<(), String> {
        let partition = (event.group.clone(), event.topic_id, event.partition);
        let records = self.partitions.entry(partition).or_default();
        if event.change == ShareChange::Unloaded {
            records.values_mut().for_each(Record::on_unloaded);
            return Ok(());
        }
        let client = match member_of(&event.change) {
            Some(member) => match self.by_member_id.get(member) {
                Some(client) => Some(*client),
                None => return Err(format!("{event:?}: no client has this member id")),
            },
            None => None,
        };
        for offset in event.first_offset..=event.last_offset {
            self.on_record_event(event, client, offset)
                .map_err(|what| format!("offset {offset}: {what}; {event:?}"))?;
        }
        Ok(())
    }

    fn on_record_event(&mut self, event: &ShareEvent, client: Option<usize>, offset: i64) -> Result<(), String> {
        let key = (event.group.clone(), event.topic_id, event.partition);
        let at_us = event.at.0;
        let limit = self.delivery_limit;
        let record = self.partitions.entry(key).or_default().entry(offset).or_default();
        let client_of = || client.ok_or("a change without a member");
        let counts = &mut self.counts;
        match &event.change {
            ShareChange::Acquired { delivery_count, .. } => {
                counts.redelivered += u64::from(*delivery_count > 1);
                record.acquire(client_of()?, *delivery_count, limit, at_us)
            }
            ShareChange::Accepted { .. } => {
                counts.accepted += 1;
                record.acknowledge(client_of()?, ShareAck::Accept, at_us)
            }
            ShareChange::Rejected { .. } => {
                counts.rejected += 1;
                record.acknowledge(client_of()?, ShareAck::Reject, at_us)
            }
            ShareChange::Renewed { .. } => {
                counts.renewed += 1;
                record.acknowledge(client_of()?, ShareAck::Renew, at_us)
            }
            ShareChange::Released { .. } => {
                counts.released += 1;
                let is_unseen = record.is_unseen(client_of()?);
                counts.unseen_released += u64::from(is_unseen);
                record.acknowledge(client_of()?, ShareAck::Release, at_us)
            }
            ShareChange::Gap { .. } => {
                counts.gaps += 1;
                let is_own = self.own_topic == Some(event.topic_id);
                if !is_own || self.written.contains_key(&(event.partition, offset)) {
                    return Err("a client says that there is no record".to_owned());
                }
                record.end(client_of()?, at_us)?;
                record.is_done = true;
                Ok(())
            }
            ShareChange::LockExpired { .. } => {
                counts.expired += 1;
                let client = client_of()?;
                let ended = record.end(client, at_us)?;
                // Applications see no offsets without a record.
                let is_own = self.own_topic == Some(event.topic_id);
                match is_own && !self.written.contains_key(&(event.partition, offset)) {
                    true => Ok(()),
                    false => self.on_expired(client, ended, at_us),
                }
            }
            ShareChange::SessionEnded { .. } => {
                counts.sessions_ended += 1;
                record.end(client_of()?, at_us).map(drop)
            }
            ShareChange::Archived(cause) => {
                counts.archived_by_limit += u64::from(*cause == ottla_mock::ArchiveCause::DeliveryCountLimit);
                record.archive(*cause)
            }
            ShareChange::Loaded | ShareChange::Unloaded => Ok(()),
        }
    }

    /// Checks a lock that has run out: an application that takes batches at once has seen the record.
    fn on_expired(&mut self, client: usize, ended: Acquisition, at_us: u64) -> Result<(), String> {
        let Some((broker, received_us)) = ended.received.filter(|_| !ended.is_seen) else {
            return Ok(());
        };
        self.counts.unseen_expired += 1;
        let member = self.member(client);
        let is_lost = member.lost_us.get(&broker).is_some_and(|at| *at >= received_us);
        let is_undisturbed = member.is_fast && member.disturbed_us < received_us && !is_lost;
        if is_undisturbed && at_us > received_us + FAST_US {
            return Err(format!(
                "the lock of a record ran out in the queue of client {client}, whose application is fast; it arrived at {received_us}"
            ));
        }
        Ok(())
    }

    // ---------------------------------------------------------------- applications

    /// Checks a record that an application sees.
    pub(crate) fn on_seen(&mut self, client: usize, seen: &SeenRecord, now_us: u64) -> Result<(), String> {
        let (_, topic, partition) = seen.partition;
        let lock_us = self.lock_us;
        let member = self.member(client);
        if let Some(lost_us) = member.lost_us.get(&seen.broker)
            && *lost_us >= seen.received_us
            && now_us > lost_us + DRIVEN_US
        {
            return Err(format!(
                "client {client} lost its session with broker {} at {lost_us}, and delivers {seen:?}",
                seen.broker
            ));
        }
        if now_us > seen.received_us + lock_us / 2 + DRIVEN_US {
            return Err(format!(
                "client {client} delivers a record at {now_us} that has waited for more than half of its lock: {seen:?}"
            ));
        }
        let record = self
            .partitions
            .get_mut(&seen.partition)
            .and_then(|p| p.get_mut(&seen.offset));
        let record =
            record.ok_or_else(|| format!("client {client} delivers a record that was not acquired: {seen:?}"))?;
        record
            .see(client, seen.delivery_count)
            .map_err(|what| format!("client {client}: {what}: {seen:?}"))?;
        if self.own_topic == Some(topic) {
            match self.written.get(&(partition, seen.offset)) {
                Some(written) if written.id != seen.id => return Err(format!("{seen:?} has another content")),
                Some(written) if written.is_aborted && self.read_committed => {
                    return Err(format!("{seen:?} is of an aborted transaction"));
                }
                Some(_) => {}
                None => return Err(format!("{seen:?} was not written")),
            }
        }
        match self.seen.insert((topic, partition, seen.offset), seen.id) {
            Some(before) if before != seen.id => Err(format!("{seen:?} was {before:?} before")),
            _ => Ok(()),
        }
    }

    /// Compares the records that applications have seen with a log. `at` returns the content of an offset.
    pub(crate) fn compare_with_log(
        &self,
        topic: Uuid,
        partition: i32,
        at: impl Fn(i64) -> Option<MessageId>,
    ) -> Result<(), String> {
        let seen = self
            .seen
            .range((topic, partition, i64::MIN)..=(topic, partition, i64::MAX));
        for ((.., offset), id) in seen {
            if at(*offset).is_some_and(|logged| logged != *id) {
                return Err(format!(
                    "{topic} [{partition}] @ {offset}: applications saw {id:?}, the log has another record"
                ));
            }
        }
        Ok(())
    }

    /// Returns the clients of these member ids.
    pub(crate) fn clients_of(&self, member_ids: &[String]) -> BTreeSet<usize> {
        member_ids
            .iter()
            .filter_map(|id| self.by_member_id.get(id).copied())
            .collect()
    }
}

fn member_of(change: &ShareChange) -> Option<&String> {
    match change {
        ShareChange::Acquired { member, .. }
        | ShareChange::Accepted { member }
        | ShareChange::Released { member }
        | ShareChange::Rejected { member }
        | ShareChange::Gap { member }
        | ShareChange::Renewed { member }
        | ShareChange::LockExpired { member }
        | ShareChange::SessionEnded { member } => Some(member),
        ShareChange::Archived(_) | ShareChange::Loaded | ShareChange::Unloaded => None,
    }
}

#[cfg(test)]
mod tests;
