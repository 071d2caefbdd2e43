//! The state that the application's threads share with the consumer.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::rebalance_protocol::RebalanceProtocol;
use crate::config::ClientConfig;
use crate::error::{Error, ErrorCode};
use crate::event::{PartitionState, Queue, StoredOffset};
use crate::memory::FetchBudget;
use crate::sys::Waker;
use crate::sys::sync::{AtomicBool, Mutex, RwLock};
use crate::types::{PartitionOffset, Topic, TopicPartition};

/// This client's membership.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupInfo {
    /// `group.id`.
    pub group_id: String,
    /// The member id, empty before the client has joined.
    pub member_id: String,
    /// The generation, -1 outside of one.
    pub generation: i32,
    /// The way in which members exchange partitions.
    pub protocol: RebalanceProtocol,
    /// `group.instance.id`.
    pub group_instance_id: Option<String>,
}

#[derive(Default)]
struct Partitions {
    by_name: HashMap<Arc<str>, HashMap<i32, Arc<PartitionState>>>,
    count: u32,
}

/// The partitions that a consumer has ever used, and its membership. A partition's state lives as long as the client.
/// Thread-safe.
pub struct SharedState {
    partitions: RwLock<Partitions>,
    budget: Arc<FetchBudget>,
    consumer_queue: Arc<Queue>,
    auto_store: bool,
    group: Mutex<GroupInfo>,
    assignment_lost: AtomicBool,
    closed: AtomicBool,
}

impl std::fmt::Debug for SharedState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedState")
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

impl SharedState {
    /// Without partitions. `waker` is called when freed budget lets the fetcher continue.
    pub fn new(conf: &ClientConfig, consumer_queue: Arc<Queue>, waker: Arc<dyn Waker>) -> Self {
        let instance = conf.group_instance_id.clone();
        SharedState {
            partitions: RwLock::new(Partitions::default()),
            budget: Arc::new(FetchBudget::new(waker)),
            consumer_queue,
            auto_store: conf.enable_auto_offset_store,
            group: Mutex::new(GroupInfo {
                group_id: conf.group_id.clone(),
                member_id: String::new(),
                generation: -1,
                protocol: RebalanceProtocol::None,
                group_instance_id: (!instance.is_empty()).then_some(instance),
            }),
            assignment_lost: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// The queue that assigned partitions forward to.
    pub fn consumer_queue(&self) -> &Arc<Queue> {
        &self.consumer_queue
    }

    /// The bytes that are held for all partitions together.
    pub fn budget(&self) -> &Arc<FetchBudget> {
        &self.budget
    }

    /// Returns the state of a partition, and creates it if there is none.
    pub fn partition(&self, topic: &Arc<Topic>, partition: i32) -> Arc<PartitionState> {
        if let Some(state) = self.find(topic.name(), partition) {
            return state;
        }
        let mut all = self.partitions.write();
        let id = all.count;
        let slot = all.by_name.entry(topic.shared_name()).or_default();
        if let Some(state) = slot.get(&partition) {
            return state.clone();
        }
        let state = Arc::new(PartitionState::new(
            id,
            topic.clone(),
            partition,
            Queue::new(),
            self.budget.clone(),
            self.auto_store,
        ));
        slot.insert(partition, state.clone());
        all.count += 1;
        state
    }

    /// Returns the state of a partition, if there is one.
    pub fn find(&self, topic: &str, partition: i32) -> Option<Arc<PartitionState>> {
        self.partitions.read().by_name.get(topic)?.get(&partition).cloned()
    }

    /// Returns the states of all partitions, in no order.
    pub(super) fn all(&self) -> Vec<Arc<PartitionState>> {
        let all = self.partitions.read();
        all.by_name.values().flat_map(HashMap::values).cloned().collect()
    }

    /// Forgets every partition when the client is destroyed.
    pub(crate) fn empty(&self) {
        drop(std::mem::take(&mut *self.partitions.write()));
    }

    /// Sets the positions in the rows: the offset of the last delivered record plus one, `INVALID` without one.
    pub fn positions(&self, rows: &mut [PartitionOffset]) {
        for row in rows {
            let position = self.find(&row.tp.topic, row.tp.partition).map(|p| p.position());
            let position = position.filter(|(offset, _)| *offset >= 0);
            (row.offset, row.leader_epoch) = position.unwrap_or((crate::types::offset::INVALID, -1));
            row.error = ErrorCode::NO_ERROR;
        }
    }

    /// Stores offsets to be committed; each row gets its own result, see [`store_offset`](Self::store_offset).
    ///
    /// # Errors
    /// `L_INVALID_ARG` when `enable.auto.offset.store` is true: the next delivered record would overwrite it.
    pub fn store_offsets(&self, rows: &mut [PartitionOffset]) -> Result<(), Error> {
        if self.auto_store {
            return Err(Error::new(
                ErrorCode::L_INVALID_ARG,
                "enable.auto.offset.store must be set to false when offsets are stored by the application",
            ));
        }
        for row in rows {
            row.error = self.store_offset(row).err().map_or(ErrorCode::NO_ERROR, |e| e.code);
        }
        Ok(())
    }

    /// Stores an offset to be committed, also with `enable.auto.offset.store=true`: the next delivered record overwrites it.
    ///
    /// # Errors
    /// `L_UNKNOWN_PARTITION` for a partition that was never consumed, `L_STATE` for one that is not consumed now.
    pub fn store_offset(&self, row: &PartitionOffset) -> Result<(), Error> {
        let state = self.find(&row.tp.topic, row.tp.partition).ok_or_else(|| {
            let text = format!("{} was never consumed by this client", row.tp);
            Error::new(ErrorCode::L_UNKNOWN_PARTITION, text)
        })?;
        let stored = StoredOffset {
            offset: row.offset,
            leader_epoch: row.leader_epoch,
            metadata: row.metadata.clone(),
        };
        match state.store(stored) {
            true => Ok(()),
            false => Err(Error::new(ErrorCode::L_STATE, format!("{} is not assigned", row.tp))),
        }
    }

    /// Returns the watermarks (low, high) in the last Fetch response.
    pub fn watermarks(&self, tp: &TopicPartition) -> Option<(i64, i64)> {
        self.find(&tp.topic, tp.partition).map(|p| p.watermarks())
    }

    /// This client's membership.
    pub fn group(&self) -> GroupInfo {
        self.group.lock().clone()
    }

    /// Returns true if other members may own the partitions of the assignment, from its loss to the next assignment.
    pub fn is_assignment_lost(&self) -> bool {
        self.assignment_lost.load(Ordering::Acquire)
    }

    pub(super) fn set_assignment_lost(&self, lost: bool) {
        self.assignment_lost.store(lost, Ordering::Release);
    }

    /// Returns true once the result of a close was reported. Acquires no lock.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Notes that the result of a close was reported. Wakes the threads that serve the consumer's queue until then, and the
    /// application that polls another queue for its events.
    pub(super) fn set_closed(&self) {
        self.closed.store(true, Ordering::Release);
        self.consumer_queue.wake_forwarded();
        self.consumer_queue.wake_all();
    }

    pub(super) fn set_member(&self, member_id: &str, generation: i32, protocol: RebalanceProtocol) {
        let mut group = self.group.lock();
        if group.member_id != member_id {
            group.member_id = member_id.to_owned();
        }
        group.generation = generation;
        group.protocol = protocol;
    }
}
