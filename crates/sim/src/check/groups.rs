//! Groups: who owns which partition, what was handed to whom, and what was committed.
//!
//! Known here: what the coordinator gave to whom (as the responses say), what applications were told and took, every
//! commit in the coordinator's log, and the partitions' watermarks.

mod stability;
#[cfg(test)]
mod tests;
mod truncation;

use std::collections::{BTreeMap, BTreeSet};

use super::offset_ranges::OffsetRanges;
use crate::message::{DecodedMessage, MessageId};
use truncation::Truncations;

/// A topic's name and a partition.
pub(crate) type Tp = (String, i32);

/// `auto.offset.reset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reset {
    Earliest,
    Latest,
    /// An error; the application then seeks to the beginning.
    Error,
}

/// Where a log begins and ends, for readers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    pub(crate) start: i64,
    pub(crate) end: i64,
}

/// A commit as it reached the coordinator.
#[derive(Debug)]
pub(crate) struct Commit<'a> {
    pub(crate) group: &'a str,
    pub(crate) tp: Tp,
    pub(crate) offset: i64,
    pub(crate) before: Option<i64>,
    /// Nobody can call it back any more, whatever was committed meanwhile: its client had given up the connection on
    /// which it came, or its group has changed its protocol since.
    pub(crate) abandoned: bool,
    /// The member that committed is in the group and the partition is not among those that it was given.
    pub(crate) foreign: bool,
}

/// What is known of a partition, for one group.
#[derive(Debug, Default)]
struct Book {
    /// Offsets that some application has processed, or that were rightly left out.
    done: OffsetRanges,
    /// When the committed offset changed, and to what.
    committed: Vec<(u64, Option<i64>)>,
    /// The offset that was committed before a request that nobody could call back any more took it back.
    lost_commit: Option<i64>,
    seen: BTreeMap<i64, MessageId>,
}

impl Book {
    /// Every offset that was the committed one at some time since.
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
    /// The watermarks when it was assigned, or met its end before the start.
    marks: Option<Marks>,
    /// The next offset, once a record or the partition's end was told.
    next: Option<i64>,
    /// Behind the last record that was handed out.
    taken_to: Option<i64>,
    /// The application was told that there is no offset and has gone to the beginning.
    sought: bool,
    /// Who the member was in its group when it began.
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
    /// Nobody else may own what it has been given and has not given up.
    exclusive: bool,
    owned: BTreeMap<Tp, Own>,
}

/// An application begins to consume partitions.
#[derive(Debug)]
pub(crate) struct Beginning<'a> {
    pub(crate) client: u32,
    pub(crate) assignment: &'a [Tp],
    /// Besides what it has.
    pub(crate) more: bool,
    /// Its id in the group.
    pub(crate) member: &'a str,
    /// The ids of all that are in the group, as its coordinator has it.
    pub(crate) members: &'a [String],
    /// What the coordinator gave it. An application may be late to hear of what is not its own any more.
    pub(crate) given: &'a [Tp],
    pub(crate) now_us: u64,
}

/// The books of all groups.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    members: BTreeMap<u32, Member>,
    books: BTreeMap<(String, Tp), Book>,
    /// By group and generation: whose each partition is, by member id.
    owners: BTreeMap<(String, i32), BTreeMap<Tp, String>>,
    /// Topics that were deleted and made anew: their offsets have no history.
    recreated: BTreeSet<String>,
    /// Logs lose their starts: offsets may be left out.
    retention: bool,
    truncations: Truncations,
    /// Brokers do not tell the leader epoch of a log's end.
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

    /// Brokers do not tell the leader epoch of a log's end. A reader that has found nothing but the end cannot notice that it
    /// was cut off, finds itself out of range, and begins anew by its policy (KIP-320).
    pub(crate) fn expect_ends_without_epochs(&mut self) {
        self.ends_without_epochs = true;
    }

    pub(super) fn on_topic_deleted(&mut self, topic: &str) {
        self.recreated.insert(topic.to_owned());
        self.forget_cuts(topic);
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

    /// The coordinator gave partitions to a member in a generation.
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

    /// A member of the classic protocol joins, with what it says that it has and in which generation it got that. What
    /// it still consumes and does not name would be given to others (KIP-429); what it names and was not given would keep
    /// others from having it.
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
                "client {client} joins without {tp:?}, which it has not given up"
            ));
        }
        let given = self.owners.get(&(member.group.clone(), generation));
        let is_given = |tp: &&Tp| given.and_then(|g| g.get(*tp)).is_some_and(|o| o == owner);
        match claims.iter().find(|tp| !is_given(tp)) {
            Some(tp) => Err(format!(
                "client {client} joins with {tp:?}, which {owner} was not given in generation {generation}"
            )),
            None => Ok(()),
        }
    }

    /// The coordinator accepted a join. When the client had given the request up (`abandoned`), the client does not know of
    /// this membership: it may still have what an earlier membership under the same id gave it, which the coordinator has
    /// forgotten since, and it cannot be asked to give that up. The client's next join makes the membership its own.
    pub(crate) fn on_join(&mut self, group: &str, member: &str, abandoned: bool) {
        let key = (group.to_owned(), member.to_owned());
        match abandoned {
            true => self.abandoned_joins.insert(key),
            false => self.abandoned_joins.remove(&key),
        };
    }

    /// Whether the member is in the group by a join that its client had given up.
    pub(crate) fn has_abandoned_join(&self, group: &str, member: &str) -> bool {
        self.abandoned_joins.contains(&(group.to_owned(), member.to_owned()))
    }

    /// From now on the client consumes these partitions.
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

    /// Nobody who is in the group, and could have been asked to give partitions up, has any of them still.
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
                    "client {} begins to consume {tp:?}, and client {client}, which is {} in {group}, has it since {} us",
                    begins.client, own.member, own.since_us
                ));
            }
        }
        Ok(())
    }

    /// The client has stopped consuming what it has, and may begin anew.
    pub(crate) fn on_restarted(&mut self, client: u32, now_us: u64, marks: impl Fn(&Tp) -> Option<Marks>) {
        if let Some(member) = self.members.get_mut(&client) {
            for (tp, own) in &mut member.owned {
                *own = Own::new(std::mem::take(&mut own.member), now_us, marks(tp));
            }
        }
    }

    /// The client has given these partitions up.
    pub(crate) fn on_given_up(&mut self, client: u32, tps: &[Tp]) {
        if let Some(member) = self.members.get_mut(&client) {
            member.owned.retain(|tp, _| !tps.contains(tp));
        }
    }

    /// The client says that it has no others than these.
    pub(crate) fn on_reported_owned(&mut self, client: u32, tps: &[Tp]) {
        if let Some(member) = self.members.get_mut(&client) {
            member.owned.retain(|tp, _| tps.contains(tp));
        }
    }

    /// The client is not to have others than these. What it never took up, it has no word of to say.
    pub(crate) fn on_not_assigned(&mut self, client: u32, keeps: impl Fn(&Tp) -> bool) {
        if let Some(member) = self.members.get_mut(&client) {
            member.owned.retain(|tp, own| keeps(tp) || own.next.is_some());
        }
    }

    /// The client consumes nothing any more.
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

    /// The partitions that a client has taken something of, with their next offsets. Of topics that were made anew
    /// nothing is said: what was committed went with them.
    pub(crate) fn positions(&self, client: u32) -> Vec<(Tp, i64)> {
        let owned = self.members.get(&client).into_iter().flat_map(|m| &m.owned);
        let owned = owned.filter(|(tp, _)| !self.recreated.contains(&tp.0) && !self.truncations.exist(tp));
        owned
            .filter_map(|(tp, own)| Some((tp.clone(), own.taken_to?)))
            .collect()
    }

    // ---------------------------------------------------------------- records

    /// An application was handed a record.
    pub(crate) fn on_record(
        &mut self,
        client: u32,
        tp: &Tp,
        (offset, leader_epoch): (i64, i32),
        found: DecodedMessage,
        now: Option<Marks>,
    ) -> Result<(), String> {
        let place = || format!("client {client} {} [{}] @ {offset}", tp.0, tp.1);
        if !found.intact {
            return Err(format!("{}: {found:?} is damaged", place()));
        }
        self.at(client, tp, offset, now)
            .map_err(|what| format!("{}: {what}", place()))?;
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
            Some(id) if id != found.id => Err(format!("{}: {:?} now, {id:?} before", place(), found.id)),
            _ => Ok(()),
        }
    }

    /// An application was told that a partition ends at an offset.
    pub(crate) fn on_end(&mut self, client: u32, tp: &Tp, offset: i64, now: Option<Marks>) -> Result<(), String> {
        self.at(client, tp, offset, now).map_err(|what| {
            format!(
                "client {client} hears that {} [{}] ends at {offset}: {what}",
                tp.0, tp.1
            )
        })?;
        let own = self.members.get_mut(&client).and_then(|m| m.owned.get_mut(tp));
        if let Some(own) = own {
            own.next = Some(offset);
        }
        Ok(())
    }

    /// Whether the client may stand at an offset of a partition.
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
            // The topic was not there when the partition was assigned, or is not now.
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
            // What lies before is left out by the policy or gone.
            self.book(&group, tp).done.add(from, offset);
        }
        Ok(())
    }

    /// There is no offset to begin at, as the application was told.
    pub(crate) fn on_no_offset(&mut self, client: u32, tp: &Tp) -> Result<(), String> {
        let Some(member) = self.members.get_mut(&client) else {
            return Ok(());
        };
        let Some(own) = member.owned.get_mut(tp) else {
            return Err(format!("client {client} hears of {tp:?}, which it does not own"));
        };
        if member.reset != Reset::Error {
            return Err(format!("client {client} hears of a reset of {tp:?} to an error"));
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
                "client {client} hears that there is no offset of {tp:?}, and there is: {committed:?}"
            )),
        }
    }

    /// The application went to the beginning of a partition. Without being told of rebalances it may do so after it was
    /// given the partition anew.
    pub(crate) fn on_sought(&mut self, client: u32, tp: &Tp) {
        if let Some(own) = self.members.get_mut(&client).and_then(|m| m.owned.get_mut(tp)) {
            own.sought = true;
            own.next = None;
        }
    }

    /// An application has done with a record.
    pub(crate) fn on_processed(&mut self, client: u32, tp: &Tp, offset: i64) {
        if let Some(group) = self.members.get(&client).map(|m| m.group.clone()) {
            self.book(&group, tp).done.add(offset, offset + 1);
        }
    }

    // ---------------------------------------------------------------- commits

    /// The coordinator took a commit.
    pub(crate) fn on_commit(&mut self, commit: &Commit<'_>, now_us: u64, log: Option<Marks>) -> Result<(), String> {
        let recreated = self.recreated.contains(&commit.tp.0);
        let retention = self.retention;
        let (offset, tp) = (commit.offset, &commit.tp);
        // An application that was told of a truncated log has gone to the partition's beginning.
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
        let place = || format!("{}: {} [{}] is committed at {offset}", commit.group, tp.0, tp.1);
        if commit.foreign {
            return Err(format!("{} by a member to which it was not given", place()));
        }
        if back.is_some_and(|before| !self.truncations.reach(tp, before)) && !commit.abandoned {
            return Err(format!("{}, which was committed at {:?}", place(), commit.before));
        }
        let from = match (retention, log) {
            (true, Some(log)) => log.start,
            _ => 0,
        };
        let to = self.truncations.known(tp, offset);
        match self.book(commit.group, tp).done.first_gap(from, to) {
            Some(gap) => Err(format!("{}, and nobody has processed offset {gap}", place())),
            None => Ok(()),
        }
    }

    /// An application was told that an offset is committed: then it was, or another one by which it was overtaken.
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
                "client {client} hears that {} [{}] is committed at {offset}, and so far it never was",
                tp.0, tp.1
            )),
        }
    }

    /// The offset that would be committed if a request that nobody could call back any more had not taken it back.
    pub(crate) fn lost_commit(&self, group: &str, tp: &Tp) -> Option<i64> {
        self.books.get(&(group.to_owned(), tp.clone()))?.lost_commit
    }

    /// What an application was told when it asked for a committed offset.
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
                "client {client} hears that {tp:?} is committed at {offset:?}, and it was {since:?}"
            )),
        }
    }
}
