//! Which broker coordinates which group or transactional id.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use crate::cluster::{BrokerId, Cluster};

/// What is coordinated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoordinatorKind {
    /// A consumer group and its offsets.
    Group,
    /// A transactional id.
    Transaction,
}

/// Partitions of `__consumer_offsets` and `__transaction_state`, whose leaders are the coordinators.
const STATE_PARTITIONS: u32 = 50;

/// Coordinators that were set from outside.
pub(crate) type CoordinatorOverrides = BTreeMap<(CoordinatorKind, String), BrokerId>;
/// Coordinators that cannot serve.
pub(crate) type CoordinatorErrors = BTreeMap<(CoordinatorKind, String), ErrorCode>;

/// Java's `String.hashCode`, by which Kafka spreads groups.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16()
        .fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
}

impl Cluster {
    /// The broker that coordinates `key`; `None` when none is up.
    pub fn coordinator(&self, kind: CoordinatorKind, key: &str) -> Option<BrokerId> {
        let set = self.coordinator_overrides.get(&(kind, key.to_owned()));
        if let Some(&broker) = set
            && self.is_alive(broker)
        {
            return Some(broker);
        }
        // The state partitions are spread round all brokers; when one is down, the next takes over.
        let partition = (java_hash(key) & i32::MAX) as u32 % STATE_PARTITIONS;
        let ids: Vec<_> = self.brokers.keys().copied().collect();
        let first = partition as usize % ids.len().max(1);
        let ring = ids.iter().cycle().skip(first).take(ids.len());
        ring.copied().find(|b| self.is_alive(*b))
    }

    /// Makes a broker coordinate `key` for as long as it is up.
    pub fn set_coordinator(&mut self, kind: CoordinatorKind, key: &str, broker: BrokerId) {
        self.coordinator_overrides.insert((kind, key.to_owned()), broker);
        self.coordinators_moved();
    }

    /// Makes the coordinator of `key` answer every request for it with an error, or ends that. A coordinator that has
    /// just taken over answers COORDINATOR_LOAD_IN_PROGRESS while it reads its log; with COORDINATOR_NOT_AVAILABLE it
    /// cannot be found either. Members' sessions begin anew when it ends, as after loading.
    pub fn set_coordinator_error(&mut self, kind: CoordinatorKind, key: &str, error: Option<ErrorCode>) {
        match error {
            Some(error) => _ = self.coordinator_errors.insert((kind, key.to_owned()), error),
            None => {
                let ended = self.coordinator_errors.remove(&(kind, key.to_owned())).is_some();
                if ended && kind == CoordinatorKind::Group {
                    self.with_group(key, |cluster, group| group.restart_sessions(cluster));
                }
            }
        }
    }

    /// The error that the coordinator of `key` answers at present.
    pub(crate) fn coordinator_error(&self, kind: CoordinatorKind, key: &str) -> Option<ErrorCode> {
        if self.coordinator_errors.is_empty() {
            return None;
        }
        self.coordinator_errors.get(&(kind, key.to_owned())).copied()
    }

    /// Whether `broker` may serve requests for what it or another one coordinates.
    pub(crate) fn check_coordinator(
        &self,
        kind: CoordinatorKind,
        broker: BrokerId,
        key: &str,
    ) -> Result<(), ErrorCode> {
        if self.coordinator(kind, key) != Some(broker) {
            return Err(ErrorCode::NOT_COORDINATOR);
        }
        match self.coordinator_error(kind, key) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Whether `broker` may serve requests of a group.
    pub(crate) fn check_group_coordinator(&self, broker: BrokerId, group: &str) -> Result<(), ErrorCode> {
        self.check_coordinator(CoordinatorKind::Group, broker, group)
    }

    /// A broker came or went, or a coordinator was set.
    pub(crate) fn coordinators_moved(&mut self) {
        self.group_coordinators_moved();
        self.transaction_coordinators_moved();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClusterConfig;

    #[test]
    fn hash_is_javas() {
        assert_eq!(java_hash(""), 0);
        assert_eq!(java_hash("ab"), 31 * 97 + 98);
        assert_eq!(java_hash("polygenelubricants"), i32::MIN);
    }

    #[test]
    fn another_broker_takes_over() {
        let mut cluster = Cluster::new(ClusterConfig::default());
        let kind = CoordinatorKind::Group;
        let first = cluster.coordinator(kind, "g").unwrap();
        cluster.stop_broker(first);
        let second = cluster.coordinator(kind, "g").unwrap();
        assert_ne!(first, second);
        assert_eq!(
            cluster.check_group_coordinator(first, "g"),
            Err(ErrorCode::NOT_COORDINATOR)
        );
        cluster.start_broker(first);
        assert_eq!(cluster.coordinator(kind, "g"), Some(first));
        cluster.set_coordinator(kind, "g", second);
        assert_eq!(cluster.coordinator(kind, "g"), Some(second));
    }

    #[test]
    fn a_coordinator_that_loads_serves_nobody() {
        let mut cluster = Cluster::new(ClusterConfig::default());
        let kind = CoordinatorKind::Group;
        let broker = cluster.coordinator(kind, "g").unwrap();
        let loading = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
        cluster.set_coordinator_error(kind, "g", Some(loading));
        assert_eq!(cluster.check_group_coordinator(broker, "g"), Err(loading));
        assert_eq!(cluster.check_group_coordinator(broker, "h").err(), {
            (cluster.coordinator(kind, "h") != Some(broker)).then_some(ErrorCode::NOT_COORDINATOR)
        });
        cluster.set_coordinator_error(kind, "g", None);
        assert_eq!(cluster.check_group_coordinator(broker, "g"), Ok(()));
    }
}
