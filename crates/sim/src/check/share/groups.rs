//! The state of all share groups of a world, and its checks.

use std::collections::{BTreeMap, BTreeSet};

use ottla_core::error::ErrorCode;
use ottla_core::event::OffsetRange;
use ottla_core::share::{CommitResults, PartitionAcknowledgements};
use ottla_core::types::TopicPartition;
use ottla_mock::{ShareChange, ShareEvent};
use ottla_protocol::Uuid;

use super::record::{Acquisition, Record};
use super::results::{Outstanding, Reported, ack_of, is_unknown, joined};
use super::vocabulary::{SeenRecord, ShareAck, SharePartitionId};
use super::wire::{HeldRecords, RELEASE, RENEW, WireAck, WireAcquired};
use crate::message::MessageId;

/// A client that was driven has handled everything that it received this long before.
const DRIVEN_US: u64 = 60_000;
/// Applications that process batches at once take them within this time.
const FAST_US: u64 = 600_000;

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
    reported: BTreeMap<u64, Vec<Reported>>,
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
        member.reported.clear();
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
        if event.change == ShareChange::Loaded {
            // A group that reads from the end of the log may begin behind records whose acquisition was not written.
            let left = records.range_mut(..event.first_offset);
            left.for_each(|(_, record)| record.may_have_left = true);
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
        let Some((broker, received_us)) = ended.received.filter(|_| !ended.is_seen && !ended.is_released) else {
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

    // ---------------------------------------------------------------- acknowledgements and their results

    /// Records acknowledgements that an application passes to its client. `call`: the number of a synchronous commit.
    pub(crate) fn on_acknowledged(
        &mut self,
        (client, group): (usize, &str),
        all: &[PartitionAcknowledgements],
        call: Option<u64>,
        at_us: u64,
    ) -> Result<(), String> {
        for acknowledgements in all {
            let partition = (
                group.to_owned(),
                acknowledgements.topic_id,
                acknowledgements.tp.partition,
            );
            let ranges = acknowledgements.ranges.iter();
            let acks = ranges.flat_map(|r| (r.offsets.first..=r.offsets.last).map(|offset| (offset, ack_of(r.ty))));
            let acks: Vec<_> = acks.collect();
            let records = self.partitions.entry(partition.clone()).or_default();
            for (offset, ack) in &acks {
                let submitted = records.entry(*offset).or_default().submit(client, *ack, at_us);
                submitted.map_err(|what| {
                    format!(
                        "client {client} acknowledges {} @ {offset}: {what}",
                        acknowledgements.tp
                    )
                })?;
            }
            self.member(client).outstanding.push(Outstanding {
                tp: acknowledgements.tp.clone(),
                partition,
                offsets: joined(acknowledgements),
                acks,
                at_us,
                call,
                is_ambiguous: false,
            });
        }
        Ok(())
    }

    /// Returns the acknowledgements that a result is for, and whether there are others of the same offsets. A result names
    /// no acquisition, and results of acknowledgements that are not sent overtake those of others. So a result is compared
    /// with the acknowledgements in the state that it reports.
    fn answered(
        &self,
        client: usize,
        tp: &TopicPartition,
        offsets: &[OffsetRange],
        code: ErrorCode,
    ) -> Option<(usize, bool)> {
        let all = &self.members.get(&client)?.outstanding;
        let is_it = |o: &Outstanding| o.tp == *tp && o.offsets == offsets;
        let count = |o: &Outstanding, is_applied: fn(&Record, usize, ShareAck, u64) -> bool| {
            let records = self.partitions.get(&o.partition);
            let acks = o.acks.iter().filter(|(offset, ack)| {
                let record = records.and_then(|records| records.get(offset));
                record.is_some_and(|record| is_applied(record, client, *ack, o.at_us))
            });
            acks.count()
        };
        let candidates = all.iter().enumerate().filter(|(_, o)| is_it(o));
        let found = match code.is_ok() {
            true => candidates.rev().max_by_key(|(_, o)| count(o, Record::is_applied)),
            false => candidates.min_by_key(|(_, o)| count(o, Record::is_applied_for_certain)),
        };
        let is_ambiguous = all.iter().filter(|o| is_it(o)).count() > 1;
        found.map(|(at, _)| (at, is_ambiguous))
    }

    /// Checks a result that an application receives. `log_start` returns the start of a log, `None` for a topic that is gone.
    pub(crate) fn on_result(
        &mut self,
        client: usize,
        (tp, offsets, code): (&TopicPartition, &[OffsetRange], ErrorCode),
        log_start: impl Fn(&SharePartitionId) -> Option<i64>,
    ) -> Result<(), String> {
        let Some((at, is_ambiguous)) = self.answered(client, tp, offsets, code) else {
            return Err(format!(
                "client {client} reports a result without an acknowledgement: {tp} {offsets:?}: {code:?}"
            ));
        };
        let member = self.member(client);
        if is_ambiguous {
            let same = member.outstanding.iter_mut();
            let same = same.filter(|o| o.tp == *tp && o.offsets == offsets);
            same.for_each(|o| o.is_ambiguous = true);
        }
        let found = member.outstanding.remove(at);
        if let Some(call) = found.call {
            let reported = member.reported.entry(call).or_default();
            reported.push((tp.clone(), code, found.is_ambiguous));
        }
        let is_unknown = is_unknown(code);
        self.counts.failed_results += u64::from(!code.is_ok());
        let start = log_start(&found.partition);
        for (offset, ack) in found.acks {
            let records = self.partitions.get_mut(&found.partition);
            let Some(record) = records.and_then(|records| records.get_mut(&offset)) else {
                continue;
            };
            let context = || {
                format!(
                    "client {client} reports {code:?} for {ack:?} of {tp} @ {offset} of {}",
                    found.at_us
                )
            };
            match code.is_ok() {
                true => {
                    let is_applied = record.take_applied(client, ack, found.at_us);
                    // Brokers accept acknowledgements of records that have left the share partition.
                    let has_left = record.is_done || record.may_have_left || start.is_none_or(|start| offset < start);
                    if !is_applied && !has_left {
                        return Err(format!("{}, and the leader does not have it: {record:?}", context()));
                    }
                    if is_applied && matches!(ack, ShareAck::Accept | ShareAck::Reject) {
                        record.reported_done_by = Some(client);
                    }
                }
                false if is_unknown => {
                    self.counts.answers_lost += u64::from(record.take_lost(client, ack, found.at_us));
                }
                // Renewals before a failed acknowledgement stay.
                false if record.take_failed(client, ack, found.at_us) && ack != ShareAck::Renew => {
                    return Err(format!("{}, and the leader has it: {record:?}", context()));
                }
                false => {}
            }
        }
        Ok(())
    }

    /// Checks the results of a synchronous commit of these partitions. `is_late`: its deadline has passed.
    pub(crate) fn on_commit_results(
        &mut self,
        client: usize,
        call: u64,
        results: &CommitResults,
        is_late: bool,
    ) -> Result<(), String> {
        let member = self.member(client);
        let reported = member.reported.remove(&call).unwrap_or_default();
        let open = member.outstanding.iter().filter(|o| o.call == Some(call));
        let open: Vec<(TopicPartition, bool)> = open.map(|o| (o.tp.clone(), o.is_ambiguous)).collect();
        if let Some((tp, _)) = open.iter().find(|(_, is_ambiguous)| !is_late && !is_ambiguous) {
            return Err(format!(
                "client {client}: a commit is completed before its acknowledgements of {tp} have a result"
            ));
        }
        for (index, (tp, code)) in results.iter().enumerate() {
            if results.iter().take(index).any(|(other, _)| other == tp) {
                return Err(format!("client {client}: {tp} has two results in {results:?}"));
            }
            let codes: Vec<ErrorCode> = reported
                .iter()
                .filter(|(of, ..)| of == tp)
                .map(|(_, code, _)| *code)
                .collect();
            let timed_out = *code == ErrorCode::REQUEST_TIMED_OUT && is_late;
            let expected = codes.iter().find(|code| !code.is_ok()).or(codes.first());
            // Another acknowledgement of the same offsets may have got the result.
            let is_ambiguous = open.iter().any(|(of, is_ambiguous)| of == tp && *is_ambiguous)
                || reported.iter().any(|(of, _, is_ambiguous)| of == tp && *is_ambiguous);
            if expected != Some(code) && !timed_out && !is_ambiguous {
                return Err(format!(
                    "client {client}: the commit's result for {tp} is {code:?}, reported before: {codes:?}"
                ));
            }
        }
        let reported = reported.iter().map(|(tp, ..)| tp);
        let mut expected = reported.chain(open.iter().map(|(tp, _)| tp));
        match expected.find(|tp| !results.iter().any(|(of, _)| of == *tp)) {
            Some(missing) => Err(format!("client {client}: {missing} has no result in {results:?}")),
            None => Ok(()),
        }
    }

    /// Returns an acknowledgement of a client whose result was not reported.
    pub(crate) fn waiting_for(&self, client: usize) -> Option<String> {
        let first = self.members.get(&client)?.outstanding.first()?;
        Some(format!("{} {:?} of {}", first.tp, first.offsets, first.at_us))
    }

    // ---------------------------------------------------------------- requests and responses

    /// Notes the member id in a request of a client.
    pub(crate) fn on_member_id(&mut self, client: usize, member_id: &str) -> Result<(), String> {
        match self.by_member_id.insert(member_id.to_owned(), client) {
            Some(other) if other != client => Err(format!(
                "clients {other} and {client} have the same member id {member_id}"
            )),
            _ => Ok(()),
        }
    }

    /// Checks the acknowledgements in a request to a broker.
    pub(crate) fn on_request(
        &mut self,
        (client, group, broker): (usize, &str, i32),
        epoch: i32,
        acks: &[WireAck],
        now_us: u64,
    ) -> Result<(), String> {
        let lock_us = self.lock_us;
        let member = self.members.entry(client).or_default();
        let held = member.held.0.entry(broker).or_default();
        if epoch == 0 {
            held.clear();
        }
        let lost_us = member.lost_us.get(&broker).copied().unwrap_or(0);
        for ack in acks {
            for (index, offset) in (ack.first..=ack.last).enumerate() {
                let ty = ack.types.get(index).or(ack.types.first()).copied().unwrap_or(-1);
                let id = (ack.topic, ack.partition, offset);
                let holds = match ty {
                    RENEW => held.contains(&id),
                    _ => held.remove(&id),
                };
                let partition = (group.to_owned(), ack.topic, ack.partition);
                let record = self.partitions.get(&partition).and_then(|p| p.get(&offset));
                if !holds {
                    return Err(format!(
                        "client {client} acknowledges offset {offset} with type {ty}, and does not hold it: {ack:?}"
                    ));
                }
                let unseen = record.and_then(|r| r.last_of(client)).filter(|a| !a.is_seen);
                let received_us = unseen.and_then(|a| a.received).map_or(now_us, |(_, at)| at);
                let is_undisturbed = member.is_fast && member.disturbed_us < received_us && lost_us < received_us;
                if ty == RELEASE && is_undisturbed && now_us > received_us + FAST_US.max(lock_us / 4) {
                    return Err(format!(
                        "client {client}, whose application is fast, releases offset {offset} of {received_us} unseen: {ack:?}"
                    ));
                }
                if ty == RELEASE
                    && let Some(record) = self.partitions.get_mut(&partition).and_then(|p| p.get_mut(&offset))
                {
                    record.release_unseen(client);
                }
            }
        }
        Ok(())
    }

    /// Records the records in a response that reaches the client.
    pub(crate) fn on_received(
        &mut self,
        (client, group, broker): (usize, &str, i32),
        all: &[WireAcquired],
        now_us: u64,
    ) {
        for acquired in all {
            for offset in acquired.first..=acquired.last {
                let id = (acquired.topic, acquired.partition, offset);
                self.member(client).held.0.entry(broker).or_default().insert(id);
                let partition = (group.to_owned(), acquired.topic, acquired.partition);
                let record = self.partitions.get_mut(&partition).and_then(|p| p.get_mut(&offset));
                if let Some(record) = record {
                    record.receive(client, acquired.delivery_count, broker, now_us);
                }
            }
        }
    }

    /// Notes that a client has lost its session with a broker, by the end of its connection or by an error.
    pub(crate) fn on_session_lost(&mut self, client: usize, broker: i32, now_us: u64) {
        self.member(client).lost_us.insert(broker, now_us);
    }

    /// Returns the last time at which a client has lost its session with a broker.
    pub(crate) fn lost_us(&self, client: usize, broker: i32) -> u64 {
        let member = self.members.get(&client);
        member.and_then(|m| m.lost_us.get(&broker).copied()).unwrap_or(0)
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
