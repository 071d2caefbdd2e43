//! Fetch sessions (KIP-227): what each broker was asked for and remembers, so that a request names only what has changed
//! and an answer only what is new.
//!
//! A partition that the broker remembers is in [`FetchState::InFlight`] whether a request is under way or not; one that goes
//! elsewhere is named anew or forgotten in the next request. Brokers before Fetch version 7, and those that have no room
//! for another session, remember nothing: then every request names everything.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ottla_protocol::Uuid;
use ottla_protocol::api::fetch::{FetchRequest, ForgottenTopic};

use super::fetcher::Fetcher;
use super::positions::{FetchState, Positions};
use crate::types::NodeId;

/// The session epoch of a request that asks for a session.
const FIRST: i32 = 0;
/// Topics are named by their ids from this version on (KIP-516).
pub(super) const FIRST_WITH_TOPIC_IDS: i16 = 13;

/// How the broker knows a partition.
#[derive(Debug)]
struct Member {
    name: Arc<str>,
    topic_id: Uuid,
    partition: i32,
    /// Where the partition ends, as the broker last said; -1 when it has not. It does not say so twice in a session, not
    /// even when the partition is named anew at another offset.
    end: i64,
}

/// What one broker remembers.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// 0 when there is none.
    id: i32,
    /// That of the next request.
    epoch: i32,
    by_topic_id: bool,
    members: BTreeMap<u32, Member>,
    /// Members that are not in [`FetchState::InFlight`] any more, or were not in between.
    left: BTreeSet<u32>,
    /// The names of topics that were asked for by their ids.
    names: HashMap<Uuid, Arc<str>>,
}

impl Session {
    pub(super) fn name_of(&self, id: Uuid) -> Option<&Arc<str>> {
        self.names.get(&id)
    }

    /// How many partitions are remembered and need not be named.
    pub(super) fn waiting(&self) -> usize {
        self.members.len() - self.left.len()
    }

    /// Whether there is a session by names that cannot be changed to one by ids.
    fn has_nameless(&self, positions: &Positions) -> bool {
        let nameless = |id: &u32| positions.get(*id).is_some_and(|p| p.topic_id.is_zero());
        !self.by_topic_id && self.members.keys().any(nameless)
    }

    /// Adds to a request what the session needs: its number, and what is to be forgotten. `named` are the partitions that
    /// the request names.
    pub(super) fn complete(&self, request: &mut FetchRequest, named: &[u32], positions: &Positions, version: i16) {
        let by_topic_id = version >= FIRST_WITH_TOPIC_IDS;
        request.session_id = self.id;
        request.session_epoch = self.epoch;
        if self.epoch == FIRST {
            return;
        }
        let named: BTreeSet<u32> = named.iter().copied().collect();
        let mut forgotten: BTreeMap<(Uuid, &Arc<str>), Vec<i32>> = BTreeMap::new();
        for id in &self.left {
            let Some(member) = self.members.get(id) else { continue };
            let same_topic = |id: &u32| positions.get(*id).is_some_and(|p| p.topic_id == member.topic_id);
            if !named.contains(id) || by_topic_id && !same_topic(id) {
                let partitions = forgotten.entry((member.topic_id, &member.name)).or_default();
                partitions.push(member.partition);
            }
        }
        let forgotten = forgotten.into_iter().map(|((id, name), partitions)| ForgottenTopic {
            topic_id: id,
            topic: name.to_string(),
            partitions,
            ..Default::default()
        });
        request.forgotten_topics_data = forgotten.collect();
    }

    /// The request was sent.
    pub(super) fn on_sent(&mut self, named: &[u32], positions: &Positions, version: i16) {
        for id in std::mem::take(&mut self.left) {
            if !named.contains(&id) {
                self.members.remove(&id);
            }
        }
        self.by_topic_id = version >= FIRST_WITH_TOPIC_IDS;
        for id in named {
            let Some(p) = positions.get(*id) else { continue };
            self.names.entry(p.topic_id).or_insert_with(|| p.name.clone());
            let known = self.members.get(id).filter(|m| m.topic_id == p.topic_id);
            let member = Member {
                name: p.name.clone(),
                topic_id: p.topic_id,
                partition: p.state.partition(),
                end: known.map_or(-1, |m| m.end),
            };
            self.members.insert(*id, member);
        }
    }

    /// The broker said where a partition ends.
    pub(super) fn note_end(&mut self, id: u32, end: i64) {
        if let Some(member) = self.members.get_mut(&id) {
            member.end = end;
        }
    }

    /// What it last said; -1 when it has not.
    pub(super) fn end_of(&self, id: u32) -> i64 {
        self.members.get(&id).map_or(-1, |m| m.end)
    }

    /// The request was answered; false when the broker remembers nothing.
    pub(super) fn on_answer(&mut self, session_id: i32) -> bool {
        self.id = session_id;
        if session_id == 0 {
            return false;
        }
        self.epoch = self.epoch.checked_add(1).unwrap_or(1);
        true
    }
}

impl Fetcher {
    /// Brings a broker's session up to date with what became of its partitions.
    pub(super) fn update_session(&mut self, node: NodeId) -> &mut Session {
        let left = self.positions.take_left(node);
        let session = self.sessions.entry(node).or_default();
        let members = &session.members;
        // One that was named anew since is asked for again.
        let positions = &self.positions;
        let is_in_flight = |id: &u32| {
            positions
                .get(*id)
                .is_some_and(|p| p.fetch_state == FetchState::InFlight(node))
        };
        let gone = left
            .into_iter()
            .filter(|id| members.contains_key(id) && !is_in_flight(id));
        session.left.extend(gone);
        session
    }

    /// The next request to the broker names everything. Gives the partitions that it was asked for and that are still
    /// wanted from it: they are to be settled. `known` says whether the broker may have the session, which it drops then.
    pub(super) fn end_session(&mut self, node: NodeId, known: bool) -> Vec<u32> {
        let Some(session) = self.sessions.get_mut(&node) else {
            return Vec::new();
        };
        session.epoch = FIRST;
        if !known {
            session.id = 0;
        }
        session.left.clear();
        session.names.clear();
        let members = std::mem::take(&mut session.members);
        let in_flight = |id: &u32| {
            self.positions
                .get(*id)
                .is_some_and(|p| p.fetch_state == FetchState::InFlight(node))
        };
        members.into_keys().filter(in_flight).collect()
    }

    /// Whether the next request has to name topics by their names.
    pub(super) fn must_use_names(&self, node: NodeId, ready: &[u32]) -> bool {
        let mut positions = ready.iter().filter_map(|id| self.positions.get(*id));
        if positions.any(|p| p.topic_id.is_zero()) {
            return true;
        }
        // A session by names goes on until something new is asked for.
        let goes_on =
            |s: &Session| s.epoch != FIRST && !s.by_topic_id && (ready.is_empty() || s.has_nameless(&self.positions));
        self.sessions.get(&node).is_some_and(goes_on)
    }

    /// Ends a session that names topics otherwise than the next request has to; its partitions become ready.
    pub(super) fn switch_topic_naming(&mut self, node: NodeId, version: i16) {
        let by_topic_id = version >= FIRST_WITH_TOPIC_IDS;
        let differs = |s: &Session| s.epoch != FIRST && s.by_topic_id != by_topic_id;
        if !self.sessions.get(&node).is_some_and(differs) {
            return;
        }
        for id in self.end_session(node, true) {
            self.positions.set_fetch_state(id, FetchState::Ready(node));
            if let Some(leader) = self.leaders.get_mut(&node) {
                leader.ready.push_back(id);
            }
        }
    }
}
