//! Errors, delays and limits that are put on a cluster from outside.

use std::collections::{BTreeMap, VecDeque};

use ottla_protocol::{ApiKey, ErrorCode};

use crate::ids::BrokerId;

/// What happens to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// The request is served as usual; with a delay this slows one request down.
    Serve,
    /// The request is not served; every part of it is answered with this error.
    Error(ErrorCode),
    /// The request is not served; the response says so as a whole where its version can, else as with
    /// [`Error`](Self::Error).
    WholeError(ErrorCode),
    /// The request is served, and every part of it that went well is answered with this error nevertheless.
    ErrorAfter(ErrorCode),
    /// The request is not served; every part of it is answered with INVALID_RECORD. Produce (version 8 and later) blames
    /// one record in so many, from the last of the first so many on, and says of every other one of them something else
    /// (KIP-467); where a batch has fewer records, nothing is said of single ones.
    BadRecords(u32),
    /// The connection is closed and the request is not served.
    DisconnectBefore,
    /// The request is served, its response is lost and the connection closed.
    DisconnectAfter,
    /// The request is served, and then nothing leaves on its connection any more, which stays open.
    Hang,
    /// The request is not served, nor is anything that its connection brings after it. The connection stays open.
    Ignore,
}

/// What happens to one request, and how much later its answer leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// What happens.
    pub action: FaultAction,
    /// Microseconds by which the answer is held back, on top of the broker's round trip time.
    pub delay_us: u64,
}

/// What brokers say of the leader when they are not (KIP-951).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeaderHints {
    /// Who leads now, and where it can be reached.
    #[default]
    Current,
    /// Nothing.
    None,
    /// Another broker, under the leader epoch before.
    Stale,
    /// Who leads now, without an address.
    NoAddress,
}

/// All faults in force.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Used up by one request each. Those of one broker come before those of any.
    queued: BTreeMap<(Option<BrokerId>, ApiKey), VecDeque<Fault>>,
    round_trip_us: BTreeMap<BrokerId, u64>,
    throttle_ms: BTreeMap<ApiKey, i32>,
    /// Version ranges that replace the brokers' own; `None` hides the API.
    versions: BTreeMap<ApiKey, Option<(i16, i16)>>,
    /// By API and topic: what requests for a partition are answered with.
    partitions: BTreeMap<(ApiKey, String), BTreeMap<i32, ErrorCode>>,
    leader_hints: LeaderHints,
    /// The next marker that would be written is not.
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

    /// What requests of this API for a partition are answered with at present.
    pub(crate) fn check_partition(&self, api: ApiKey, topic: &str, partition: i32) -> Result<(), ErrorCode> {
        if self.partitions.is_empty() {
            return Ok(());
        }
        let errors = self.partitions.get(&(api, topic.to_owned()));
        errors.and_then(|e| e.get(&partition)).map_or(Ok(()), |e| Err(*e))
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

    /// Removes the queued faults of an API.
    pub(crate) fn clear_api(&mut self, api: ApiKey) {
        self.queued.retain(|(_, key), _| *key != api);
    }

    pub(crate) fn set_partition_error(&mut self, api: ApiKey, topic: &str, partition: i32, error: Option<ErrorCode>) {
        let key = (api, topic.to_owned());
        let errors = self.partitions.entry(key.clone()).or_default();
        match error {
            Some(error) => _ = errors.insert(partition, error),
            None => _ = errors.remove(&partition),
        }
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
