//! Fetch sessions (KIP-227): what a client fetches, remembered by the broker so that neither side repeats it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::api::fetch::{FetchRequest, PartitionData};

use crate::rng::Rng;
use crate::time::Time;
use crate::topics::TopicRef;

/// The session epochs of a request for a new session, and of one without a session.
const INITIAL_EPOCH: i32 = 0;
const FINAL_EPOCH: i32 = -1;
/// The idle time after which a session may be evicted for a new one.
const EVICTABLE_AFTER_MS: i32 = 120_000;

/// One partition to be read.
#[derive(Debug, Clone)]
pub(crate) struct FetchSlot {
    pub(crate) topic: Arc<TopicRef>,
    pub(crate) partition: i32,
    pub(crate) fetch_offset: i64,
    pub(crate) partition_max_bytes: i32,
    pub(crate) current_leader_epoch: i32,
    pub(crate) last_fetched_epoch: i32,
}

/// The relation of a fetch to sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionMode {
    /// There is no session: the response is complete, with session id 0.
    None,
    /// The response is complete, and a session is created if there is a slot.
    New,
    /// The response has only the changed partitions.
    Incremental(i32),
}

#[derive(Debug)]
struct CachedPartition {
    slot: FetchSlot,
    /// The last reported value; -1 after an error, so that the next response reports the partition again.
    high_watermark: i64,
    log_start_offset: i64,
}

type PartitionKey = (Arc<TopicRef>, i32);

#[derive(Debug)]
struct FetchSession {
    epoch: i32,
    uses_topic_ids: bool,
    last_used: Time,
    /// In the order of reading. A partition that returned records moves to the end, so that all have their turn.
    partitions: BTreeMap<u64, CachedPartition>,
    order: BTreeMap<PartitionKey, u64>,
    next_order: u64,
}

/// The sessions of one broker.
#[derive(Debug)]
pub(crate) struct FetchSessions {
    slots: usize,
    sessions: BTreeMap<i32, FetchSession>,
}

fn next_epoch(epoch: i32) -> i32 {
    match epoch {
        ..0 => FINAL_EPOCH,
        i32::MAX => 1,
        _ => epoch + 1,
    }
}

/// Returns the partitions of a request body, which names topics by id from version 13 on.
pub(crate) fn requested_slots(request: &FetchRequest, version: i16) -> Vec<FetchSlot> {
    let mut slots = Vec::with_capacity(request.topics.iter().map(|t| t.partitions.len()).sum());
    for topic in &request.topics {
        let name = Arc::new(match version {
            ..13 => TopicRef::Name(topic.topic.clone()),
            _ => TopicRef::Id(topic.topic_id),
        });
        slots.extend(topic.partitions.iter().map(|p| FetchSlot {
            topic: Arc::clone(&name),
            partition: p.partition,
            fetch_offset: p.fetch_offset,
            partition_max_bytes: p.partition_max_bytes,
            current_leader_epoch: p.current_leader_epoch,
            last_fetched_epoch: p.last_fetched_epoch,
        }));
    }
    slots
}

impl FetchSession {
    fn put(&mut self, slot: FetchSlot) {
        let key = (Arc::clone(&slot.topic), slot.partition);
        if let Some(cached) = self.order.get(&key).and_then(|order| self.partitions.get_mut(order)) {
            cached.slot = slot;
            return;
        }
        self.order.insert(key, self.next_order);
        let cached = CachedPartition {
            slot,
            high_watermark: -1,
            log_start_offset: -1,
        };
        self.partitions.insert(self.next_order, cached);
        self.next_order += 1;
    }

    fn forget(&mut self, key: &PartitionKey) {
        if let Some(order) = self.order.remove(key) {
            self.partitions.remove(&order);
        }
    }

    /// Stores the reported state of a partition. Returns true when the response has to contain the partition: it has
    /// records, an error, a preferred replica or a diverging epoch, or its offsets have changed.
    fn record_response(&mut self, slot: &FetchSlot, data: &PartitionData) -> bool {
        let key = (Arc::clone(&slot.topic), slot.partition);
        let Some(order) = self.order.get(&key).copied() else {
            return true;
        };
        let Some(cached) = self.partitions.get_mut(&order) else {
            return true;
        };
        let has_records = data.records.as_ref().is_some_and(|r| !r.is_empty());
        let failed = data.error_code != 0 || data.diverging_epoch.epoch >= 0;
        let changed = cached.high_watermark != data.high_watermark || cached.log_start_offset != data.log_start_offset;
        let must_answer = has_records || failed || changed || data.preferred_read_replica >= 0;
        cached.log_start_offset = data.log_start_offset;
        cached.high_watermark = if failed { -1 } else { data.high_watermark };
        must_answer
    }

    /// Moves a partition behind all others.
    fn move_to_end(&mut self, slot: &FetchSlot) {
        let key = (Arc::clone(&slot.topic), slot.partition);
        let cached = self.order.get(&key).and_then(|order| self.partitions.remove(order));
        if let Some(cached) = cached {
            self.order.insert(key, self.next_order);
            self.partitions.insert(self.next_order, cached);
            self.next_order += 1;
        }
    }
}

impl FetchSessions {
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            slots,
            sessions: BTreeMap::new(),
        }
    }

    /// Resolves the partitions that a request wants to read, with the session that it names.
    ///
    /// # Errors
    /// FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH or FETCH_SESSION_TOPIC_ID_ERROR, which answer the whole
    /// request.
    pub(crate) fn begin(
        &mut self,
        request: &FetchRequest,
        version: i16,
        now: Time,
    ) -> Result<(SessionMode, Vec<FetchSlot>), ErrorCode> {
        let requested = requested_slots(request, version);
        if version < 7 {
            return Ok((SessionMode::None, requested));
        }
        match request.session_epoch {
            INITIAL_EPOCH | FINAL_EPOCH => {
                self.sessions.remove(&request.session_id);
                let mode = match request.session_epoch {
                    INITIAL_EPOCH => SessionMode::New,
                    _ => SessionMode::None,
                };
                return Ok((mode, requested));
            }
            _ => {}
        }
        let id = request.session_id;
        let session = self
            .sessions
            .get_mut(&id)
            .ok_or(ErrorCode::FETCH_SESSION_ID_NOT_FOUND)?;
        if session.epoch != request.session_epoch {
            return Err(ErrorCode::INVALID_FETCH_SESSION_EPOCH);
        }
        let uses_topic_ids = version >= 13;
        if session.uses_topic_ids != uses_topic_ids {
            return Err(ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
        }
        for slot in requested {
            session.put(slot);
        }
        for topic in &request.forgotten_topics_data {
            let name = Arc::new(match uses_topic_ids {
                false => TopicRef::Name(topic.topic.clone()),
                true => TopicRef::Id(topic.topic_id),
            });
            for &partition in &topic.partitions {
                session.forget(&(Arc::clone(&name), partition));
            }
        }
        session.last_used = now;
        if session.partitions.is_empty() {
            self.sessions.remove(&id);
            return Ok((SessionMode::None, Vec::new()));
        }
        session.epoch = next_epoch(session.epoch);
        let slots = session.partitions.values().map(|c| c.slot.clone()).collect();
        Ok((SessionMode::Incremental(id), slots))
    }

    /// Creates a session after a full fetch. Returns its id, or 0 when there is no slot.
    pub(crate) fn create(
        &mut self,
        rng: &mut Rng,
        version: i16,
        answered: &[(FetchSlot, PartitionData)],
        now: Time,
    ) -> i32 {
        if !self.ensure_slot(now) || answered.is_empty() {
            return 0;
        }
        let mut id = rng.positive_i32();
        while self.sessions.contains_key(&id) {
            id = rng.positive_i32();
        }
        let mut session = FetchSession {
            epoch: next_epoch(INITIAL_EPOCH),
            uses_topic_ids: version >= 13,
            last_used: now,
            partitions: BTreeMap::new(),
            order: BTreeMap::new(),
            next_order: 0,
        };
        for (slot, data) in answered {
            session.put(slot.clone());
            session.record_response(slot, data);
        }
        self.sessions.insert(id, session);
        id
    }

    /// Removes the unchanged partitions from an incremental response.
    pub(crate) fn retain_changed(&mut self, id: i32, answered: &mut Vec<(FetchSlot, PartitionData)>) {
        if let Some(session) = self.sessions.get_mut(&id) {
            answered.retain(|(slot, data)| {
                let must_answer = session.record_response(slot, data);
                if data.records.as_ref().is_some_and(|r| !r.is_empty()) {
                    session.move_to_end(slot);
                }
                must_answer
            });
        }
    }

    fn ensure_slot(&mut self, now: Time) -> bool {
        if self.sessions.len() < self.slots {
            return true;
        }
        let oldest = self.sessions.iter().min_by_key(|(_, s)| s.last_used);
        let Some((&id, session)) = oldest else {
            return false;
        };
        let evictable = session.last_used.plus_ms(EVICTABLE_AFTER_MS) < now;
        if evictable {
            self.sessions.remove(&id);
        }
        evictable
    }

    /// Removes all sessions, as a restart of the broker does.
    pub(crate) fn clear(&mut self) {
        self.sessions.clear();
    }
}
