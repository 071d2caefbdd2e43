//! What the application's threads share with the consumer.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::RebalanceProtocol;
use crate::config::ClientConfig;
use crate::error::{Error, ErrorCode};
use crate::event::{PartitionState, Queue, StoredOffset};
use crate::memory::FetchBudget;
use crate::sys::Waker;
use crate::sys::sync::{AtomicBool, Mutex, RwLock};
use crate::types::{PartitionOffset, Topic, TopicPartition};

/// Who this client is in its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupInfo {
    /// `group.id`.
    pub group_id: String,
    /// The member id that the coordinator gave, empty before.
    pub member_id: String,
    /// The generation, -1 outside of one.
    pub generation: i32,
    /// How the group hands partitions over.
    pub protocol: RebalanceProtocol,
    /// `group.instance.id`.
    pub group_instance_id: Option<String>,
}

#[derive(Default)]
struct Partitions {
    by_name: HashMap<Arc<str>, HashMap<i32, Arc<PartitionState>>>,
    count: u32,
}

/// The partitions that a consumer ever heard of, and the group's public facts. A partition's state lives as long as the
/// client. Thread-safe.
pub struct SharedState {
    partitions: RwLock<Partitions>,
    budget: Arc<FetchBudget>,
    consumer_queue: Arc<Queue>,
    auto_store: bool,
    group: Mutex<GroupInfo>,
    assignment_lost: AtomicBool,
}

impl std::fmt::Debug for SharedState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedState")
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

impl SharedState {
    /// Without partitions. `waker` is called when freed room lets the fetcher go on.
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
        }
    }

    /// The queue that assigned partitions forward to.
    pub fn consumer_queue(&self) -> &Arc<Queue> {
        &self.consumer_queue
    }

    /// What all partitions hold together.
    pub fn budget(&self) -> &Arc<FetchBudget> {
        &self.budget
    }

    /// The state of a partition, made when there is none.
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

    /// The state of a partition that was heard of.
    pub fn find(&self, topic: &str, partition: i32) -> Option<Arc<PartitionState>> {
        self.partitions.read().by_name.get(topic)?.get(&partition).cloned()
    }

    /// Every partition that was heard of, in no order.
    pub(super) fn all(&self) -> Vec<Arc<PartitionState>> {
        let all = self.partitions.read();
        all.by_name.values().flat_map(HashMap::values).cloned().collect()
    }

    /// Forgets every partition; the client was destroyed.
    pub(crate) fn empty(&self) {
        drop(std::mem::take(&mut *self.partitions.write()));
    }

    /// Fills in the positions: the last record taken, plus one; `INVALID` where none was taken.
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
    /// `L_INVALID_ARG` when `enable.auto.offset.store` is true: the next record handed out would undo it.
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

    /// Stores an offset to be committed, also when `enable.auto.offset.store` is true: it counts until the next record
    /// is handed out.
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

    /// Low and high watermark as last seen in a Fetch response.
    pub fn watermarks(&self, tp: &TopicPartition) -> Option<(i64, i64)> {
        self.find(&tp.topic, tp.partition).map(|p| p.watermarks())
    }

    /// Who this client is in its group.
    pub fn group(&self) -> GroupInfo {
        self.group.lock().clone()
    }

    /// Whether the group gave the assignment away without asking: others may own its partitions already. From then on
    /// until the next assignment.
    pub fn is_assignment_lost(&self) -> bool {
        self.assignment_lost.load(Ordering::Acquire)
    }

    pub(super) fn set_assignment_lost(&self, lost: bool) {
        self.assignment_lost.store(lost, Ordering::Release);
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
