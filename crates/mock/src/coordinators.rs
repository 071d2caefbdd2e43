//! The assignment of groups and transactional ids to coordinators.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use crate::brokers::Brokers;
use crate::ids::BrokerId;

/// The kind of a coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoordinatorKind {
    /// A consumer group and its offsets.
    Group,
    /// A transactional id.
    Transaction,
}

/// Partitions of `__consumer_offsets` and `__transaction_state`, whose leaders are the coordinators.
const STATE_PARTITIONS: u32 = 50;

/// The coordinators that were set from outside, and those that answer with an error.
#[derive(Debug, Default)]
pub(crate) struct Coordinators {
    overrides: BTreeMap<(CoordinatorKind, String), BrokerId>,
    errors: BTreeMap<(CoordinatorKind, String), ErrorCode>,
}

/// Computes Java's `String.hashCode`, by which Kafka spreads groups.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16()
        .fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
}

impl Coordinators {
    /// Returns the broker that coordinates `key`, `None` when no broker is up or an unknown one was set.
    pub(crate) fn locate(&self, brokers: &Brokers, kind: CoordinatorKind, key: &str) -> Option<BrokerId> {
        let set = self.overrides.get(&(kind, key.to_owned()));
        match set {
            Some(&broker) if !brokers.contains(broker) => return None,
            Some(&broker) if brokers.is_alive(broker) => return Some(broker),
            _ => {}
        }
        // The state partitions are spread over all brokers. The next broker takes over when one is down.
        let partition = (java_hash(key) & i32::MAX) as u32 % STATE_PARTITIONS;
        let ids: Vec<_> = brokers.ids().collect();
        let first = partition as usize % ids.len().max(1);
        let ring = ids.iter().cycle().skip(first).take(ids.len());
        ring.copied().find(|b| brokers.is_alive(*b))
    }

    /// Assigns `key` to a broker for as long as that broker is up.
    pub(crate) fn assign(&mut self, kind: CoordinatorKind, key: &str, broker: BrokerId) {
        self.overrides.insert((kind, key.to_owned()), broker);
    }

    /// Removes the assignments to a broker that leaves the cluster.
    pub(crate) fn forget_broker(&mut self, broker: BrokerId) {
        self.overrides.retain(|_, assigned| *assigned != broker);
    }

    /// Sets or clears the error of the coordinator of `key`. Returns the previous error.
    pub(crate) fn set_error(
        &mut self,
        kind: CoordinatorKind,
        key: &str,
        error: Option<ErrorCode>,
    ) -> Option<ErrorCode> {
        let key = (kind, key.to_owned());
        match error {
            Some(error) => self.errors.insert(key, error),
            None => self.errors.remove(&key),
        }
    }

    /// Returns the error with which the coordinator of `key` answers.
    pub(crate) fn error(&self, kind: CoordinatorKind, key: &str) -> Option<ErrorCode> {
        if self.errors.is_empty() {
            return None;
        }
        self.errors.get(&(kind, key.to_owned())).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_hash_matches_java() {
        assert_eq!(java_hash(""), 0);
        assert_eq!(java_hash("ab"), 31 * 97 + 98);
        assert_eq!(java_hash("polygenelubricants"), i32::MIN);
    }
}
