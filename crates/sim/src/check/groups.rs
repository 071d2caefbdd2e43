//! Groups: the owner of each partition, the records delivered to each consumer, and the commits.
//!
//! The checks depend on the assignments in the coordinators' responses, the events and records of the applications, the
//! commits in the coordinators' logs, and the watermarks of partitions.

#[cfg(test)]
mod tests;
mod truncation;

use std::collections::{BTreeMap, BTreeSet};

use super::log_view::Logs;
use super::offset_ranges::OffsetRanges;
use super::tp::Tp;
use crate::message::{DecodedMessage, MessageId};
use truncation::Truncations;

/// `auto.offset.reset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reset {
    Earliest,
    Latest,
    /// An error; the application then seeks to the beginning.
    Error,
}

/// The start and the end of a log, for readers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    pub(crate) start: i64,
    pub(crate) end: i64,
}

/// A commit that reached the coordinator.
#[derive(Debug)]
pub(crate) struct Commit<'a> {
    pub(crate) group: &'a str,
    pub(crate) tp: Tp,
    pub(crate) offset: i64,
    pub(crate) before: Option<i64>,
    /// The request cannot be recalled: its client has given up the connection, or its group has changed the protocol
    /// since.
    pub(crate) abandoned: bool,
    /// The member is in the group, and the partition is not in its assignment.
    pub(crate) foreign: bool,
}

/// The state of a partition in one group.
#[derive(Debug, Default)]
struct Book {
    /// Offsets that an application has processed, or that were skipped rightly.
    done: OffsetRanges,
    /// The changes of the committed offset: time and offset.
    committed: Vec<(u64, Option<i64>)>,
    /// The committed offset before a request that could not be recalled lowered it.
    lost_commit: Option<i64>,
    seen: BTreeMap<i64, MessageId>,
}

impl Book {
    /// Returns every offset that was the committed one at some time since `since_us`.
    fn committed_since(&self, since_us: u64) -> BTreeSet<Option<i64>> {
        let mut out = BTreeSet::new();
        let mut at_first = None;
        for (at, value) in &self.committed {
            match *at <= since_us {
                true => at_first = *value,
                false => _ = out.insert(*value),
            }
        }
        out.insert(at_first);
        out
    }
}

/// A partition that a member owns.
#[derive(Debug)]
struct Own {
    since_us: u64,
    /// The watermarks at the assignment, or at the deletion of records below the start.
    marks: Option<Marks>,
    /// The next offset, known after a record or the partition's end.
    next: Option<i64>,
    /// The offset behind the last delivered record.
    taken_to: Option<i64>,
    /// The application received "no offset", and went to the beginning.
    sought: bool,
    /// The member id at the assignment.
    member: String,
}

impl Own {
    fn new(member: String, now_us: u64, marks: Option<Marks>) -> Self {
        Own {
            since_us: now_us,
            marks,
            next: None,
            taken_to: None,
            sought: false,
            member,
        }
    }
}

#[derive(Debug)]
struct Member {
    group: String,
    reset: Reset,
    /// No other member may own a partition between its assignment and its release.
    exclusive: bool,
    owned: BTreeMap<Tp, Own>,
}

/// The start of consumption of partitions.
#[derive(Debug)]
pub(crate) struct Beginning<'a> {
    pub(crate) client: u32,
    pub(crate) assignment: &'a [Tp],
    /// Keeps the partitions that it has.
    pub(crate) more: bool,
    /// Its member id.
    pub(crate) member: &'a str,
    /// The ids of all members of the group at its coordinator.
    pub(crate) members: &'a [String],
    /// The member's assignment at the coordinator. An application may learn late that a partition was revoked.
    pub(crate) given: &'a [Tp],
    pub(crate) now_us: u64,
}

/// The state of all groups.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    members: BTreeMap<u32, Member>,
    books: BTreeMap<(String, Tp), Book>,
    /// The owner of each partition by group and generation, as a member id.
    owners: BTreeMap<(String, i32), BTreeMap<Tp, String>>,
    /// Topics that were deleted and recreated: their offsets have no history.
    recreated: BTreeSet<String>,
    /// Logs lose their starts: offsets may be skipped.
    retention: bool,
    truncations: Truncations,
    /// Brokers do not report the leader epoch of a log's end.
    ends_without_epochs: bool,
    /// Members, by group and id, whose last join was served after its client had given it up.
    abandoned_joins: BTreeSet<(String, String)>,
}

impl Groups {
    pub(crate) fn add_member(&mut self, client: u32, group: &str, reset: Reset, exclusive: bool) {
        let member = Member {
            group: group.to_owned(),
            reset,
            exclusive,
            owned: BTreeMap::new(),
        };
        self.members.insert(client, member);
    }

    pub(crate) fn allow_retention(&mut self) {
        self.retention = true;
    }

    /// Records that brokers do not report the leader epoch of a log's end. A reader that has found only the end cannot
    /// detect its truncation, is out of range then, and resets by its policy (KIP-320).
    pub(crate) fn expect_ends_without_epochs(&mut self) {
        self.ends_without_epochs = true;
    }

    pub(super) fn on_topic_deleted(&mut self, topic: &str) {
        self.recreated.insert(topic.to_owned());
        self.truncations.remove_topic(topic);
        for ((_, (name, _)), book) in &mut self.books {
            if name == topic {
                *book = Book::default();
            }
        }
    }

    fn book(&mut self, group: &str, tp: &Tp) -> &mut Book {
        self.books.entry((group.to_owned(), tp.clone())).or_default()
    }

    // ---------------------------------------------------------------- ownership

    /// Checks the assignment of a member in a generation.
    pub(crate) fn on_synced(
        &mut self,
        group: &str,
        generation: i32,
        member: &str,
        assignment: &[Tp],
    ) -> Result<(), String> {
        let owners = self.owners.entry((group.to_owned(), generation)).or_default();
        for tp in assignment {
            let before = owners.insert(tp.clone(), member.to_owned());
            if let Some(before) = before.filter(|b| b != member) {
                return Err(format!(
                    "{group}: in generation {generation} both {before} and {member} own {} [{}]",
                    tp.0, tp.1
                ));
            }
        }
        Ok(())
    }

    /// Checks the JoinGroup request of a member: the partitions that it reports as owned, and their generation. The
    /// coordinator would assign partitions that the member consumes and does not report to others (KIP-429). Partitions
    /// that it reports without an assignment would be withheld from others.
    pub(crate) fn on_joining(
        &self,
        client: u32,
        owner: &str,
        (claims, generation): (&[Tp], i32),
    ) -> Result<(), String> {
        let Some(member) = self.members.get(&client) else {
            return Ok(());
        };
        if let Some(tp) = member.owned.keys().find(|tp| !claims.contains(tp)) {
            return Err(format!(
                "client {client} joins without {tp:?}, which it has not released"
            ));
        }
        let given = self.owners.get(&(member.group.clone(), generation));
        let is_given = |tp: &&Tp| given.and_then(|g| g.get(*tp)).is_some_and(|o| o == owner);
        match claims.iter().find(|tp| !is_given(tp)) {
            Some(tp) => Err(format!(
                "client {client} joins with {tp:?}, which was not assigned to {owner} in generation {generation}"
            )),
            None => Ok(()),
        }
    }

    /// Records that the coordinator accepted a join. `abandoned`: the client had given the request up and does not know
    /// of this membership. It may still own partitions of an earlier membership under the same id, which the
    /// coordinator has forgotten, and it cannot be asked to release them. The client's next join makes the membership
    /// its own.
    pub(crate) fn on_join(&mut self, group: &str, member: &str, abandoned: bool) {
        let key = (group.to_owned(), member.to_owned());
        match abandoned {
            true => self.abandoned_joins.insert(key),
            false => self.abandoned_joins.remove(&key),
        };
    }

    /// Returns true when the member is in the group by a join that its client had given up.
    pub(crate) fn has_abandoned_join(&self, group: &str, member: &str) -> bool {
        self.abandoned_joins.contains(&(group.to_owned(), member.to_owned()))
    }

    /// Records that the client consumes these partitions from now on.
    pub(crate) fn on_assigned(
        &mut self,
        begins: &Beginning<'_>,
        marks: impl Fn(&Tp) -> Option<Marks>,
    ) -> Result<(), String> {
        let result = self.check_exclusive(begins);
        if let Some(member) = self.members.get_mut(&begins.client) {
            if !begins.more {
                member.owned.clear();
            }
            for tp in begins.assignment {
                let own = Own::new(begins.member.to_owned(), begins.now_us, marks(tp));
                member.owned.entry(tp.clone()).or_insert(own);
            }
        }
        result
    }

    /// Checks that no other member of the group that could have been asked to release a partition still owns it.
    fn check_exclusive(&self, begins: &Beginning<'_>) -> Result<(), String> {
        let Some(group) = self.members.get(&begins.client).map(|m| &m.group) else {
            return Ok(());
        };
        let others = self
            .members
            .iter()
            .filter(|(client, m)| **client != begins.client && m.exclusive && m.group == *group);
        for (client, other) in others {
            let both = begins
                .assignment
                .iter()
                .filter(|tp| begins.given.contains(tp) && !self.recreated.contains(&tp.0));
            let mut both = both.filter_map(|tp| Some((tp, other.owned.get(tp)?)));
            let is_member = |id: &String| begins.members.contains(id) && !self.has_abandoned_join(group, id);
            if let Some((tp, own)) = both.find(|(_, own)| is_member(&own.member)) {
                return Err(format!(
                    "client {} starts to consume {tp:?}, which client {client}, {} in {group}, has owned since {} us",
                    begins.client, own.member, own.since_us
                ));
            }
        }
        Ok(())
    }

    /// Records that the client has stopped consuming its partitions, and may start again.
    pub(crate) fn on_restarted(&mut self, client: u32, now_us: u64, marks: impl Fn(&Tp) -> Option<Marks>) {
        if let Some(member) = self.members.get_mut(&client) {
            for (tp, own) in &mut member.owned {
                *own = Own::new(std::mem::take(&mut own.member), now_us, marks(tp));
            }
        }
    }

    /// Records that the client has released these partitions.
    pub(crate) fn on_given_up(&mut self, client: u32, tps: &[Tp]) {
        if let Some(member) = self.members.get_mut(&client) {
            member.owned.retain(|tp, _| !tps.contains(tp));
        }
    }

    /// Records that the client reports no other partitions as owned.
    pub(crate) fn on_reported_owned(&mut self, client: u32, tps: &[Tp]) {
        if let Some(member) = self.members.get_mut(&client) {
            member.owned.retain(|tp, _| tps.contains(tp));
        }
    }

    /// Records that the client's assignment has no other partitions. A partition that it never started to consume is
    /// dropped without a report.
    pub(crate) fn on_not_assigned(&mut self, client: u32, keeps: impl Fn(&Tp) -> bool) {
        if let Some(member) = self.members.get_mut(&client) {
            member.owned.retain(|tp, own| keeps(tp) || own.next.is_some());
        }
    }

    /// Records that the client consumes nothing any more.
    pub(crate) fn on_unassigned(&mut self, client: u32) {
        if let Some(member) = self.members.get_mut(&client) {
            member.owned.clear();
        }
    }

    pub(crate) fn group_of(&self, client: u32) -> Option<String> {
        self.members.get(&client).map(|m| m.group.clone())
    }

    pub(crate) fn owned(&self, client: u32) -> BTreeSet<Tp> {
        let member = self.members.get(&client);
        member.map(|m| m.owned.keys().cloned().collect()).unwrap_or_default()
    }

    /// Returns the partitions from which a client has read records, with their next offsets. Recreated topics are left
    /// out: their commits were deleted with them.
    pub(crate) fn positions(&self, client: u32) -> Vec<(Tp, i64)> {
        let owned = self.members.get(&client).into_iter().flat_map(|m| &m.owned);
        let owned = owned.filter(|(tp, _)| !self.recreated.contains(&tp.0) && !self.truncations.exist(tp));
        owned
            .filter_map(|(tp, own)| Some((tp.clone(), own.taken_to?)))
            .collect()
    }

    // ---------------------------------------------------------------- records

    /// Checks a record that was delivered to an application.
    pub(crate) fn on_record(
        &mut self,
        client: u32,
        tp: &Tp,
        (offset, leader_epoch): (i64, i32),
        found: DecodedMessage,
        now: Option<Marks>,
    ) -> Result<(), String> {
        let location = || format!("client {client} {} [{}] @ {offset}", tp.0, tp.1);
        if !found.intact {
            return Err(format!("{}: {found:?} is damaged", location()));
        }
        self.at(client, tp, offset, now)
            .map_err(|what| format!("{}: {what}", location()))?;
        let Some(member) = self.members.get_mut(&client) else {
            return Ok(());
        };
        if let Some(own) = member.owned.get_mut(tp) {
            own.next = Some(offset + 1);
            own.taken_to = own.next;
        }
        if self.recreated.contains(&tp.0) || self.truncations.took(tp, (offset, leader_epoch)) {
            return Ok(());
        }
        let group = member.group.clone();
        let before = self.book(&group, tp).seen.insert(offset, found.id);
        match before {
            Some(id) if id != found.id => Err(format!("{}: {:?} now, {id:?} before", location(), found.id)),
            _ => Ok(()),
        }
    }

    /// Checks the end of a partition that was reported to an application.
    pub(crate) fn on_end(&mut self, client: u32, tp: &Tp, offset: i64, now: Option<Marks>) -> Result<(), String> {
        self.at(client, tp, offset, now).map_err(|what| {
            format!(
                "client {client} receives the end of {} [{}] at {offset}: {what}",
                tp.0, tp.1
            )
        })?;
        let own = self.members.get_mut(&client).and_then(|m| m.owned.get_mut(tp));
        if let Some(own) = own {
            own.next = Some(offset);
        }
        Ok(())
    }

    /// Checks that the client may be at an offset of a partition.
    fn at(&mut self, client: u32, tp: &Tp, offset: i64, now: Option<Marks>) -> Result<(), String> {
        let Some(member) = self.members.get(&client) else {
            return Err("no member of a group".into());
        };
        let Some(own) = member.owned.get(tp) else {
            return Err("the partition is not the member's".into());
        };
        if own.next == Some(offset) || self.recreated.contains(&tp.0) {
            return Ok(());
        }
        let group = member.group.clone();
        let since = self
            .books
            .get(&(group.clone(), tp.clone()))
            .map_or_else(|| BTreeSet::from([None]), |b| b.committed_since(own.since_us));
        let (Some(first), Some(now)) = (own.marks, now) else {
            // The topic did not exist at the assignment, or does not exist now.
            return Ok(());
        };
        let out_of_range = |at: i64| self.retention && at < now.start;
        let reset = match (member.reset, own.sought) {
            (Reset::Error, true) => Reset::Earliest,
            (reset, _) => reset,
        };
        let by_policy = match reset {
            Reset::Earliest => (first.start..=now.start).contains(&offset),
            Reset::Latest => {
                (self.truncations.known(tp, first.end)..=self.truncations.latest_end(tp, now.end)).contains(&offset)
            }
            Reset::Error => false,
        };
        let cut_back = match own.next {
            Some(next) => self.truncations.may_lead(tp, next, offset),
            None => since
                .iter()
                .flatten()
                .any(|at| self.truncations.may_lead(tp, *at, offset)),
        };
        let found_the_end = own.taken_to.is_none() && since.contains(&None);
        let lost_without_epoch = |next| self.ends_without_epochs && found_the_end && self.truncations.reach(tp, next);
        let right = cut_back
            || match own.next {
                Some(next) if lost_without_epoch(next) => by_policy,
                Some(next) => out_of_range(next) && by_policy && offset > next,
                None => {
                    let committed = !own.sought && since.contains(&Some(offset));
                    let none = since.contains(&None) || since.iter().flatten().any(|at| out_of_range(*at));
                    committed || (none || own.sought) && by_policy
                }
            };
        if !right {
            return Err(format!(
                "{own:?} of {:?}, committed since then {since:?}, the log is now {now:?}",
                member.reset
            ));
        }
        let skipped = match (own.next, by_policy) {
            (None, true) => Some(0),
            (next, true) => next,
            (_, false) => None,
        };
        if let Some(from) = skipped {
            // Records before the offset are skipped by the policy, or deleted.
            self.book(&group, tp).done.add(from, offset);
        }
        Ok(())
    }

    /// Checks a report that there is no offset to start at.
    pub(crate) fn on_no_offset(&mut self, client: u32, tp: &Tp) -> Result<(), String> {
        let Some(member) = self.members.get_mut(&client) else {
            return Ok(());
        };
        let Some(own) = member.owned.get_mut(tp) else {
            return Err(format!(
                "client {client} receives an error for {tp:?}, which it does not own"
            ));
        };
        if member.reset != Reset::Error {
            return Err(format!(
                "client {client} receives a reset error for {tp:?} without that policy"
            ));
        }
        let since_us = own.since_us;
        own.sought = true;
        own.next = None;
        let group = member.group.clone();
        if self.recreated.contains(&tp.0) || self.retention {
            return Ok(());
        }
        let committed = self.book(&group, tp).committed_since(since_us);
        match committed.contains(&None) {
            true => Ok(()),
            false => Err(format!(
                "client {client} receives no offset for {tp:?}, and the offset is: {committed:?}"
            )),
        }
    }

    /// Records that the application went to the beginning of a partition. Without rebalance events it may do so after
    /// the partition was assigned again.
    pub(crate) fn on_sought(&mut self, client: u32, tp: &Tp) {
        if let Some(own) = self.members.get_mut(&client).and_then(|m| m.owned.get_mut(tp)) {
            own.sought = true;
            own.next = None;
        }
    }

    /// Records that an application has processed a record.
    pub(crate) fn on_processed(&mut self, client: u32, tp: &Tp, offset: i64) {
        if let Some(group) = self.members.get(&client).map(|m| m.group.clone()) {
            self.book(&group, tp).done.add(offset, offset + 1);
        }
    }

    // ---------------------------------------------------------------- commits

    /// Checks a commit at the coordinator.
    pub(crate) fn on_commit(&mut self, commit: &Commit<'_>, now_us: u64, log: Option<Marks>) -> Result<(), String> {
        let recreated = self.recreated.contains(&commit.tp.0);
        let retention = self.retention;
        let (offset, tp) = (commit.offset, &commit.tp);
        // An application that received a truncation error has gone to the partition's beginning.
        let has_sought = self.members.values().any(|member| {
            let own = member.owned.get(tp);
            member.group == commit.group && own.is_some_and(|own| own.sought)
        });
        let back = commit.before.filter(|before| offset < *before && !has_sought);
        let book = self.book(commit.group, tp);
        book.committed.push((now_us, Some(offset)));
        book.lost_commit = match commit.abandoned {
            true => book.lost_commit.max(back),
            false => None,
        };
        if recreated {
            return Ok(());
        }
        let location = || format!("{}: {} [{}] is committed at {offset}", commit.group, tp.0, tp.1);
        if commit.foreign {
            return Err(format!("{} by a member that does not own it", location()));
        }
        if back.is_some_and(|before| !self.truncations.reach(tp, before)) && !commit.abandoned {
            return Err(format!("{}, which was committed at {:?}", location(), commit.before));
        }
        let from = match (retention, log) {
            (true, Some(log)) => log.start,
            _ => 0,
        };
        let to = self.truncations.known(tp, offset);
        match self.book(commit.group, tp).done.first_gap(from, to) {
            Some(gap) => Err(format!("{}, and no application has processed offset {gap}", location())),
            None => Ok(()),
        }
    }

    /// Checks the success of a commit: the offset was committed, or another one that overtook it.
    pub(crate) fn on_commit_result(&mut self, client: u32, tp: &Tp, offset: i64) -> Result<(), String> {
        let Some(group) = self.members.get(&client).map(|m| m.group.clone()) else {
            return Ok(());
        };
        if self.recreated.contains(&tp.0) {
            return Ok(());
        }
        let truncations = &self.truncations;
        let book = self.books.get(&(group, tp.clone()));
        let mut made = book.into_iter().flat_map(|b| &b.committed);
        match made.any(|(at, value)| {
            value.is_some_and(|value| value >= offset || truncations.overtakes(tp, (*at, value), offset))
        }) {
            true => Ok(()),
            false => Err(format!(
                "client {client} receives that {} [{}] is committed at {offset}, which it never was",
                tp.0, tp.1
            )),
        }
    }

    /// Returns the offset that would be committed without a request that could not be recalled.
    pub(crate) fn lost_commit(&self, group: &str, tp: &Tp) -> Option<i64> {
        self.books.get(&(group.to_owned(), tp.clone()))?.lost_commit
    }

    /// Checks the result of a query for the committed offset.
    pub(crate) fn on_committed_offset(
        &mut self,
        client: u32,
        tp: &Tp,
        offset: Option<i64>,
        since_us: u64,
    ) -> Result<(), String> {
        let Some(group) = self.members.get(&client).map(|m| m.group.clone()) else {
            return Ok(());
        };
        if self.recreated.contains(&tp.0) {
            return Ok(());
        }
        let since = self.book(&group, tp).committed_since(since_us);
        match since.contains(&offset) {
            true => Ok(()),
            false => Err(format!(
                "client {client} receives {offset:?} as the committed offset of {tp:?}, which was {since:?}"
            )),
        }
    }

    // ---------------------------------------------------------------- truncated logs

    /// Records that a partition lost the offsets from `kept` to `end`, which may have been read. Later records there
    /// have this leader epoch or a later one.
    pub(crate) fn on_lost(&mut self, tp: &Tp, lost: (i64, i64), epoch: i32, at_us: u64) {
        self.truncations.add(tp, lost, epoch, at_us);
        for ((_, name), book) in &mut self.books {
            if name == tp {
                book.seen.retain(|offset, _| *offset < lost.0);
            }
        }
    }

    // ---------------------------------------------------------------- after the faults

    /// Returns the reason why a partition is not read to its end; `None` when it is.
    pub(crate) fn behind(&self, client: u32, tp: &Tp, now: Marks) -> Option<String> {
        let member = self.members.get(&client)?;
        let own = member.owned.get(tp)?;
        let text = || {
            let reported = own.next.map_or("nowhere yet".into(), |at| at.to_string());
            format!("client {client} is at {reported} of {} [{}], {now:?}", tp.0, tp.1)
        };
        match own.next {
            Some(at) => (at < now.end).then(text),
            None if now.end == now.start || member.reset == Reset::Latest => None,
            // The consumer may be at the truncation, which may be the end.
            None if self.truncations.exist(tp) => None,
            // Without a record or an end of partition the position is unknown.
            None => {
                let book = self.books.get(&(member.group.clone(), tp.clone()));
                let done = book.is_some_and(|b| b.done.first_gap(now.end - 1, now.end).is_none());
                // The offset committed for a deleted topic of the same name may be equal to this one's end, or beyond
                // it, where the log appears truncated.
                let recreated = self.recreated.contains(&tp.0);
                let ends = |at: &Option<i64>| at.is_some_and(|at| at == now.end || recreated && at > now.end);
                let at_end = book.is_some_and(|b| b.committed_since(own.since_us).iter().any(ends));
                (!done && !at_end).then(text)
            }
        }
    }

    /// Compares the records read with the logs, and checks that no record was skipped.
    pub(crate) fn compare_with_logs(&self, logs: &Logs) -> Result<(), String> {
        for ((group, tp), book) in &self.books {
            let Some(log) = logs.get(tp).filter(|_| !self.recreated.contains(&tp.0)) else {
                continue;
            };
            for (offset, id) in book.seen.iter().filter(|(offset, _)| **offset >= log.start) {
                let there = log.at(*offset).map(|there| there.found.id);
                if there != Some(*id) {
                    return Err(format!(
                        "{group} read {id:?} at {tp:?} @ {offset}, where {there:?} lies"
                    ));
                }
            }
            self.check_left_out(group, tp, book)?;
        }
        Ok(())
    }

    /// Checks that every record before the last one was delivered, unless `auto.offset.reset` or retention skips
    /// records.
    fn check_left_out(&self, group: &str, tp: &Tp, book: &Book) -> Result<(), String> {
        let mut members = self.members.values();
        let skips = members.any(|m| m.group == group && m.reset == Reset::Latest);
        let Some(last) = book.seen.keys().next_back().filter(|_| !skips && !self.retention) else {
            return Ok(());
        };
        match (0..=*last).find(|offset| !book.seen.contains_key(offset)) {
            Some(gap) => Err(format!("{group} never read {tp:?} @ {gap}, and has read {last}")),
            None => Ok(()),
        }
    }
}
