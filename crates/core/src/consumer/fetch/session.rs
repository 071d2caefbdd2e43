//! Fetch sessions (KIP-227): brokers remember the partitions of earlier requests, so that a request names only changes and
//! a response only new data.
//!
//! A partition of a session is in [`FetchState::InFlight`] even while no request is in flight. A partition that leaves that
//! state is named again or forgotten in the next request, and data that arrives for it in between is not used. Brokers
//! before Fetch version 7, and those whose session cache is full, have no session: then every request names every
//! partition.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ottla_protocol::Uuid;
use ottla_protocol::api::fetch::{FetchRequest, ForgottenTopic};

use super::positions::{FetchState, Positions};
use crate::types::NodeId;

/// The session epoch of a request for a new session.
const FIRST: i32 = 0;

/// A partition as the session has it.
#[derive(Debug)]
struct Member {
    name: Arc<str>,
    topic_id: Uuid,
    partition: i32,
    /// The end of the partition in the last response, -1 before one. A broker does not repeat it in a session, not even when
    /// the partition is named again with another offset.
    end: i64,
}

/// The session with one broker.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// 0 without a session.
    id: i32,
    /// The session epoch of the next request.
    epoch: i32,
    by_topic_id: bool,
    members: BTreeMap<u32, Member>,
    /// Members that have left [`FetchState::InFlight`], even if they have returned to it since.
    left: BTreeSet<u32>,
    /// The names of topics that were requested by id.
    names: HashMap<Uuid, Arc<str>>,
}

impl Session {
    pub(super) fn name_of(&self, id: Uuid) -> Option<&Arc<str>> {
        self.names.get(&id)
    }

    /// Returns the number of partitions that the session has and that need not be named.
    pub(super) fn waiting(&self) -> usize {
        self.members.len() - self.left.len()
    }

    /// Returns true for a session by topic names that cannot become one by topic ids.
    fn has_nameless(&self, positions: &Positions) -> bool {
        let nameless = |id: &u32| positions.get(*id).is_some_and(|p| p.topic_id.is_zero());
        !self.by_topic_id && self.members.keys().any(nameless)
    }

    /// Adds the session's id, epoch and forgotten partitions to a request that names the partitions `named`.
    pub(super) fn complete(&self, request: &mut FetchRequest, named: &[u32], positions: &Positions, version: i16) {
        let by_topic_id = version >= FetchRequest::TOPIC_IDS_SINCE;
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

    /// Handles a request that was sent.
    pub(super) fn on_sent(&mut self, named: &[u32], positions: &Positions, version: i16) {
        let mut forgotten = std::mem::take(&mut self.left);
        for id in named {
            forgotten.remove(id);
        }
        for id in forgotten {
            self.members.remove(&id);
        }
        self.by_topic_id = version >= FetchRequest::TOPIC_IDS_SINCE;
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

    /// Stores the end of a partition that a response contains.
    pub(super) fn note_end(&mut self, id: u32, end: i64) {
        if let Some(member) = self.members.get_mut(&id) {
            member.end = end;
        }
    }

    /// Returns the end of a partition in the last response, -1 before one.
    pub(super) fn end_of(&self, id: u32) -> i64 {
        self.members.get(&id).map_or(-1, |m| m.end)
    }

    /// Handles a response; returns false if the broker has no session.
    pub(super) fn on_response(&mut self, session_id: i32) -> bool {
        self.id = session_id;
        if session_id == 0 {
            return false;
        }
        self.epoch = self.epoch.checked_add(1).unwrap_or(1);
        true
    }
}

/// The sessions with all brokers, whether anything is fetched from them at present or not.
#[derive(Debug, Default)]
pub(super) struct Sessions(BTreeMap<NodeId, Session>);

impl Sessions {
    pub(super) fn get(&self, node: NodeId) -> Option<&Session> {
        self.0.get(&node)
    }

    pub(super) fn get_mut(&mut self, node: NodeId) -> Option<&mut Session> {
        self.0.get_mut(&node)
    }

    pub(super) fn remove(&mut self, node: NodeId) {
        self.0.remove(&node);
    }

    /// Updates a broker's session with the partitions that have left [`FetchState::InFlight`].
    pub(super) fn update(&mut self, node: NodeId, positions: &mut Positions) -> &mut Session {
        let left = positions.take_left(node);
        let session = self.0.entry(node).or_default();
        let members = &session.members;
        // A partition that was named again since is in flight again.
        let is_in_flight = |id: &u32| in_flight(positions, node, *id);
        let gone = left
            .into_iter()
            .filter(|id| members.contains_key(id) && !is_in_flight(id));
        session.left.extend(gone);
        session
    }

    /// Ends a session: the next request names every partition. Returns the partitions that are still in flight, whose fetch
    /// states the caller has to update. `known`: the broker may have the session, which the next request closes.
    pub(super) fn end(&mut self, node: NodeId, known: bool, positions: &Positions) -> Vec<u32> {
        let Some(session) = self.0.get_mut(&node) else {
            return Vec::new();
        };
        session.epoch = FIRST;
        if !known {
            session.id = 0;
        }
        session.left.clear();
        session.names.clear();
        let members = std::mem::take(&mut session.members);
        members
            .into_keys()
            .filter(|id| in_flight(positions, node, *id))
            .collect()
    }

    /// Returns true if the next request has to name topics by name.
    pub(super) fn must_use_names(&self, node: NodeId, ready: &[u32], positions: &Positions) -> bool {
        let mut named = ready.iter().filter_map(|id| positions.get(*id));
        if named.any(|p| p.topic_id.is_zero()) {
            return true;
        }
        // A session by names continues until another partition is requested.
        let continues =
            |s: &Session| s.epoch != FIRST && !s.by_topic_id && (ready.is_empty() || s.has_nameless(positions));
        self.0.get(&node).is_some_and(continues)
    }

    /// Returns true if the session names topics in another way than a request of this version.
    pub(super) fn names_differ(&self, node: NodeId, version: i16) -> bool {
        let by_topic_id = version >= FetchRequest::TOPIC_IDS_SINCE;
        let differs = |s: &Session| s.epoch != FIRST && s.by_topic_id != by_topic_id;
        self.0.get(&node).is_some_and(differs)
    }
}

fn in_flight(positions: &Positions, node: NodeId, id: u32) -> bool {
    let position = positions.get(id);
    position.is_some_and(|p| p.fetch_state() == FetchState::InFlight(node))
}

#[cfg(test)]
mod tests;
