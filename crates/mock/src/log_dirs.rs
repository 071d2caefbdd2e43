//! The log directories of brokers, and the places of a partition's replicas in them (KIP-113).

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use crate::ids::BrokerId;

/// The directories of each broker.
pub(crate) const LOG_DIRS: [&str; 2] = ["/var/lib/kafka/data-0", "/var/lib/kafka/data-1"];

/// The size of the volume of each directory in bytes.
pub(crate) const VOLUME_BYTES: i64 = 1 << 40;

/// The directories of one replica, by index in [`LOG_DIRS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    pub(crate) current: usize,
    /// The directory that the replica is being copied to.
    pub(crate) future: Option<usize>,
}

/// The places of a partition's replicas. Those without an entry are in the first directory.
#[derive(Debug, Default)]
pub(crate) struct ReplicaPlaces(BTreeMap<BrokerId, Place>);

impl ReplicaPlaces {
    /// Returns the place of a broker's replica.
    pub(crate) fn of(&self, broker: BrokerId) -> Place {
        self.0.get(&broker).copied().unwrap_or_default()
    }

    /// Begins to move a replica to the directory with this path, or places a replica there that does not exist yet. A move
    /// to the current directory cancels the one under way. Returns true if the replica is being copied.
    ///
    /// # Errors
    /// LOG_DIR_NOT_FOUND.
    pub(crate) fn set(&mut self, broker: BrokerId, path: &str, exists: bool) -> Result<bool, ErrorCode> {
        let dir = LOG_DIRS.iter().position(|dir| *dir == path);
        let dir = dir.ok_or(ErrorCode::LOG_DIR_NOT_FOUND)?;
        let place = self.0.entry(broker).or_default();
        if !exists {
            place.current = dir;
        }
        place.future = Some(dir).filter(|dir| *dir != place.current);
        Ok(place.future.is_some())
    }

    /// Ends the move of a replica.
    pub(crate) fn complete(&mut self, broker: BrokerId) {
        if let Some(place) = self.0.get_mut(&broker)
            && let Some(dir) = place.future.take()
        {
            place.current = dir;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_moves_when_it_is_copied_and_stays_when_the_move_is_cancelled() {
        let (mut places, broker) = (ReplicaPlaces::default(), BrokerId(1));
        assert_eq!(places.set(broker, "/none", true), Err(ErrorCode::LOG_DIR_NOT_FOUND));
        assert_eq!(places.set(broker, LOG_DIRS[0], true), Ok(false));
        assert_eq!(places.set(broker, LOG_DIRS[1], true), Ok(true));
        let future = Some(1);
        assert_eq!(places.of(broker), Place { current: 0, future });
        assert_eq!(places.set(broker, LOG_DIRS[0], true), Ok(false));
        places.complete(broker);
        assert_eq!(places.of(broker), Place::default());
        assert_eq!(places.set(broker, LOG_DIRS[1], true), Ok(true));
        places.complete(broker);
        assert_eq!(places.of(broker).current, 1);
        assert_eq!(places.set(BrokerId(2), LOG_DIRS[1], false), Ok(false));
        assert_eq!(places.of(BrokerId(2)).current, 1);
    }
}
