//! Share groups (KIP-932) at the leaders of partitions: the records in flight, the sessions of members, and the durable
//! state that new leaders start from. The members of share groups and their assignments are in `groups/share`.

mod acquire;
mod events;
mod in_flight;
mod partition;
mod persister;
mod sessions;
mod views;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ottla_protocol::ErrorCode;

pub(crate) use acquire::{AcquiredRange, Acquisition, ReadBatch, record_count};
pub use events::{ArchiveCause, ShareChange, ShareEvent};
pub use in_flight::DeliveryState;
pub(crate) use partition::{Acknowledgement, Journal, Limits, RENEW, SharePartition};
pub(crate) use persister::PersistedState;
pub(crate) use sessions::{FINAL_EPOCH, INITIAL_EPOCH, ShareSessions};
pub use views::{SharePartitionView, ShareRecordsView};

use crate::history::RecordList;
use crate::ids::{BrokerId, DelayedId};
use crate::share_key::{PartitionId, ShareKey};
use crate::time::Time;
use crate::timers::TimerId;

/// A share partition with its durable state.
#[derive(Debug, Default)]
pub(crate) struct ShareEntry {
    /// The state at the leader, once it has loaded it.
    pub(crate) loaded: Option<SharePartition>,
    pub(crate) persisted: PersistedState,
    /// Delayed fetches that watch for records that become available.
    pub(crate) watchers: BTreeSet<DelayedId>,
    /// The timer of the first acquisition lock that ends.
    pub(crate) lock_timer: Option<(Time, TimerId)>,
}

impl ShareEntry {
    /// Returns the leader's state if it is that of this leader, epoch and durable state.
    pub(crate) fn current(&self, leader: Option<BrokerId>, leader_epoch: i32) -> Option<&SharePartition> {
        let loaded = self.loaded.as_ref()?;
        let is_current = Some(loaded.leader) == leader
            && loaded.leader_epoch == leader_epoch
            && loaded.state_epoch == self.persisted.state_epoch();
        is_current.then_some(loaded)
    }
}

/// The share groups of the cluster, as leaders and the share coordinator know them.
#[derive(Debug, Default)]
pub(crate) struct ShareState {
    pub(crate) sessions: ShareSessions,
    entries: BTreeMap<ShareKey, ShareEntry>,
    /// The errors with which the durable state of groups cannot be written.
    write_errors: BTreeMap<String, ErrorCode>,
    pub(crate) events: RecordList<ShareEvent>,
}

impl ShareState {
    pub(crate) fn entry(&self, key: &ShareKey) -> Option<&ShareEntry> {
        self.entries.get(key)
    }

    pub(crate) fn entry_mut(&mut self, key: &ShareKey) -> Option<&mut ShareEntry> {
        self.entries.get_mut(key)
    }

    /// Returns the share partition of a key. Creates one without a state if there is none.
    pub(crate) fn get_or_create(&mut self, key: &ShareKey) -> &mut ShareEntry {
        self.entries.entry(key.clone()).or_default()
    }

    /// Returns the share partitions of a group.
    pub(crate) fn of_group(&self, group: &str) -> impl Iterator<Item = (&ShareKey, &ShareEntry)> {
        self.entries.iter().filter(move |(key, _)| key.group == group)
    }

    /// Returns all share partitions.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ShareKey, &ShareEntry)> {
        self.entries.iter()
    }

    /// Removes a share partition.
    pub(crate) fn remove(&mut self, key: &ShareKey) {
        self.entries.remove(key);
    }

    pub(crate) fn write_error(&self, group: &str) -> Option<ErrorCode> {
        self.write_errors.get(group).copied()
    }

    pub(crate) fn set_write_error(&mut self, group: &str, error: Option<ErrorCode>) {
        match error {
            Some(error) => self.write_errors.insert(group.to_owned(), error),
            None => self.write_errors.remove(group),
        };
    }

    /// Adds a delayed fetch to the watchers of share partitions.
    pub(crate) fn watch(&mut self, id: DelayedId, keys: impl IntoIterator<Item = ShareKey>) {
        for key in keys {
            self.get_or_create(&key).watchers.insert(id);
        }
    }

    /// Removes a delayed fetch from the watchers of share partitions.
    pub(crate) fn unwatch(&mut self, id: DelayedId, keys: impl IntoIterator<Item = ShareKey>) {
        for key in keys {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.watchers.remove(&id);
            }
        }
    }
}

/// A fetch of a member of a share group, delayed or not.
#[derive(Debug)]
pub(crate) struct DelayedShareFetch {
    pub(crate) group: String,
    pub(crate) member: Arc<str>,
    /// The partitions to read, in order.
    pub(crate) partitions: Vec<PartitionId>,
    /// The partitions that cannot be read.
    pub(crate) failed: Vec<(PartitionId, ErrorCode)>,
    /// The outcome of the acknowledgements in the request.
    pub(crate) acknowledged: Vec<(PartitionId, Acknowledged)>,
    pub(crate) max_bytes: usize,
    pub(crate) min_bytes: usize,
    pub(crate) max_records: i64,
    pub(crate) batch_size: i64,
    /// The mode record_limit.
    pub(crate) is_strict: bool,
    /// The response answers a request of an open session, so that it has only changed partitions.
    pub(crate) is_incremental: bool,
}

/// The outcome of the acknowledgements for one partition.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledged {
    pub(crate) error: ErrorCode,
    pub(crate) message: Option<String>,
}

impl Acknowledged {
    pub(crate) const DONE: Self = Self {
        error: ErrorCode::NONE,
        message: None,
    };

    pub(crate) fn failed(error: ErrorCode, message: &str) -> Self {
        Self {
            error,
            message: Some(message.to_owned()),
        }
    }
}

impl From<ErrorCode> for Acknowledged {
    fn from(error: ErrorCode) -> Self {
        Self::failed(error, error.name().unwrap_or_default())
    }
}
