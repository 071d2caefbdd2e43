//! Errors, delays and limits that are put on a cluster from outside.

use std::collections::{BTreeMap, VecDeque};

use ottla_protocol::{ApiKey, ErrorCode};

use crate::ids::BrokerId;

/// The treatment of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// The request is served as usual; with a delay this slows one request down.
    Serve,
    /// The request is not served; every part of it fails with this error.
    Error(ErrorCode),
    /// The request is not served; the response has the error at its top level where its version allows that, otherwise
    /// as with [`Error`](Self::Error).
    WholeError(ErrorCode),
    /// The request is served, and every part of it that succeeded is reported with this error.
    ErrorAfter(ErrorCode),
    /// The request is not served; every part of it fails with INVALID_RECORD. With a value of n, Produce (version 8 and
    /// later) reports every n-th record as invalid, with two alternating messages (KIP-467). A batch of fewer than n
    /// records has no record errors.
    BadRecords(u32),
    /// The connection is closed and the request is not served.
    DisconnectBefore,
    /// The request is served, its response is dropped and the connection closed.
    DisconnectAfter,
    /// The request is served. Its response and all later ones of the connection are blocked; the connection stays open.
    Hang,
    /// The request and all later ones of the connection are not served. The connection stays open.
    Ignore,
}

/// The treatment of one request, and the delay of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The treatment.
    pub action: FaultAction,
    /// The delay of the response in microseconds, added to the broker's round-trip time.
    pub delay_us: u64,
}

/// The leader that brokers name in errors of requests that came to another broker (KIP-951).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeaderHints {
    /// The current leader with its address.
    #[default]
    Current,
    /// No leader.
    None,
    /// Another broker, under the previous leader epoch.
    Stale,
    /// The current leader without its address.
    NoAddress,
}

/// The errors of requests of one API for one partition.
#[derive(Debug, Default)]
struct PartitionErrors {
    /// Each applies to one request, before the standing error.
    queued: VecDeque<ErrorCode>,
    standing: Option<ErrorCode>,
}

/// All faults in force.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Each fault applies to one request. Those of one broker come before those of any.
    queued: BTreeMap<(Option<BrokerId>, ApiKey), VecDeque<Fault>>,
    round_trip_us: BTreeMap<BrokerId, u64>,
    throttle_ms: BTreeMap<ApiKey, i32>,
    /// Version ranges that replace the brokers' own; `None` hides the API.
    versions: BTreeMap<ApiKey, Option<(i16, i16)>>,
    /// The errors of requests for a partition, by API and topic.
    partitions: BTreeMap<(ApiKey, String), BTreeMap<i32, PartitionErrors>>,
    leader_hints: LeaderHints,
    /// The next marker is dropped.
    drops_next_marker: bool,
}

impl Faults {
    pub(crate) fn next(&mut self, broker: BrokerId, api: ApiKey) -> Option<Fault> {
        if self.queued.is_empty() {
            return None;
        }
        for key in [(Some(broker), api), (None, api)] {
            if let Some(queue) = self.queued.get_mut(&key) {
                let fault = queue.pop_front();
                if queue.is_empty() {
                    self.queued.remove(&key);
                }
                if fault.is_some() {
                    return fault;
                }
            }
        }
        None
    }

    pub(crate) fn round_trip_us(&self, broker: BrokerId) -> u64 {
        self.round_trip_us.get(&broker).copied().unwrap_or(0)
    }

    pub(crate) fn throttle_ms(&self, api: ApiKey) -> i32 {
        self.throttle_ms.get(&api).copied().unwrap_or(0)
    }

    /// Returns true when an error is set for requests of any partition.
    pub(crate) fn has_partition_errors(&self) -> bool {
        !self.partitions.is_empty()
    }

    /// Checks that no error is set for a request of this API for a partition. A queued error is removed.
    ///
    /// # Errors
    /// The error that was set.
    pub(crate) fn take_partition_error(&mut self, api: ApiKey, topic: &str, partition: i32) -> Result<(), ErrorCode> {
        if self.partitions.is_empty() {
            return Ok(());
        }
        let errors = self.partitions.get_mut(&(api, topic.to_owned()));
        let Some(errors) = errors.and_then(|e| e.get_mut(&partition)) else {
            return Ok(());
        };
        match errors.queued.pop_front().or(errors.standing) {
            None | Some(ErrorCode::NONE) => Ok(()),
            Some(error) => Err(error),
        }
    }

    pub(crate) fn versions(&self, api: ApiKey) -> Option<Option<(i16, i16)>> {
        self.versions.get(&api).copied()
    }

    pub(crate) fn leader_hints(&self) -> LeaderHints {
        self.leader_hints
    }

    /// Returns true when the next marker is to be dropped, and resets that.
    pub(crate) fn take_marker_drop(&mut self) -> bool {
        std::mem::take(&mut self.drops_next_marker)
    }

    // ---------------------------------------------------------------- changes

    pub(crate) fn push(&mut self, broker: Option<BrokerId>, api: ApiKey, fault: Fault) {
        self.queued.entry((broker, api)).or_default().push_back(fault);
    }

    pub(crate) fn queued_len(&self) -> usize {
        self.queued.values().map(VecDeque::len).sum()
    }

    /// Returns the number of queued faults of one broker, or of those of any broker.
    pub(crate) fn queued_of(&self, broker: Option<BrokerId>, api: ApiKey) -> usize {
        self.queued.get(&(broker, api)).map_or(0, VecDeque::len)
    }

    /// Removes the queued faults of an API.
    pub(crate) fn clear_api(&mut self, api: ApiKey) {
        self.queued.retain(|(_, key), _| *key != api);
    }

    /// Removes the queued faults of one broker, or those of any broker.
    pub(crate) fn clear_queued(&mut self, broker: Option<BrokerId>, api: ApiKey) {
        self.queued.remove(&(broker, api));
    }

    /// Removes the faults and the round-trip time of a broker that leaves the cluster.
    pub(crate) fn forget_broker(&mut self, broker: BrokerId) {
        self.queued.retain(|(of, _), _| *of != Some(broker));
        self.round_trip_us.remove(&broker);
    }

    pub(crate) fn set_partition_error(&mut self, api: ApiKey, topic: &str, partition: i32, error: Option<ErrorCode>) {
        self.change_partition(api, topic, partition, |errors| errors.standing = error);
    }

    pub(crate) fn push_partition_errors(&mut self, api: ApiKey, topic: &str, partition: i32, errors: &[ErrorCode]) {
        self.change_partition(api, topic, partition, |known| known.queued.extend(errors));
    }

    /// Changes the errors of a partition, and removes those that are over.
    fn change_partition(
        &mut self,
        api: ApiKey,
        topic: &str,
        partition: i32,
        change: impl FnOnce(&mut PartitionErrors),
    ) {
        let key = (api, topic.to_owned());
        let errors = self.partitions.entry(key.clone()).or_default();
        change(errors.entry(partition).or_default());
        errors.retain(|_, errors| errors.standing.is_some() || !errors.queued.is_empty());
        if errors.is_empty() {
            self.partitions.remove(&key);
        }
    }

    pub(crate) fn set_leader_hints(&mut self, hints: LeaderHints) {
        self.leader_hints = hints;
    }

    pub(crate) fn set_round_trip_us(&mut self, broker: BrokerId, micros: u64) {
        match micros {
            0 => self.round_trip_us.remove(&broker),
            _ => self.round_trip_us.insert(broker, micros),
        };
    }

    pub(crate) fn set_throttle_ms(&mut self, api: ApiKey, millis: i32) {
        match millis {
            ..=0 => self.throttle_ms.remove(&api),
            _ => self.throttle_ms.insert(api, millis),
        };
    }

    pub(crate) fn set_versions(&mut self, api: ApiKey, versions: Option<(i16, i16)>) {
        self.versions.insert(api, versions);
    }

    pub(crate) fn reset_versions(&mut self, api: ApiKey) {
        self.versions.remove(&api);
    }

    pub(crate) fn drop_next_marker(&mut self) {
        self.drops_next_marker = true;
    }
}
