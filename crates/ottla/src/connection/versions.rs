//! Which versions of which requests a broker speaks, and the highest both sides know.

use std::collections::BTreeMap;

use ottla_protocol::{ApiKey, Message};

/// A broker's answer to ApiVersions, or what is assumed of a broker too old to be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerVersions {
    ranges: BTreeMap<i16, (i16, i16)>,
    transaction_version: i16,
}

impl BrokerVersions {
    /// From (key, lowest, highest) rows.
    pub fn new(rows: impl IntoIterator<Item = (i16, i16, i16)>) -> Self {
        BrokerVersions {
            ranges: rows.into_iter().map(|(key, min, max)| (key, (min, max))).collect(),
            transaction_version: 0,
        }
    }

    /// The same, with the level at which the cluster uses the feature `transaction.version` (KIP-890, KIP-1022).
    #[must_use]
    pub fn with_transaction_version(self, transaction_version: i16) -> Self {
        BrokerVersions {
            transaction_version,
            ..self
        }
    }

    /// The level at which the cluster uses the feature `transaction.version`, 0 where it does not.
    pub fn transaction_version(&self) -> i16 {
        self.transaction_version
    }

    /// What a broker of a release before ApiVersions (0.10.0) speaks. `release` is a `broker.version.fallback` value.
    pub fn of_release(release: &str) -> Self {
        let mut parts = release.split('.').map(|p| p.parse::<u32>().unwrap_or(0));
        let release = [parts.next(), parts.next(), parts.next()].map(|p| p.unwrap_or(0));
        // (key, lowest, highest, first release that has it)
        const TABLE: &[(ApiKey, i16, i16, [u32; 3])] = &[
            (ApiKey::PRODUCE, 0, 0, [0, 8, 0]),
            (ApiKey::PRODUCE, 0, 1, [0, 9, 0]),
            (ApiKey::PRODUCE, 0, 2, [0, 10, 0]),
            (ApiKey::FETCH, 0, 0, [0, 8, 0]),
            (ApiKey::FETCH, 0, 1, [0, 9, 0]),
            (ApiKey::FETCH, 0, 2, [0, 10, 0]),
            (ApiKey::LIST_OFFSETS, 0, 0, [0, 8, 0]),
            (ApiKey::METADATA, 0, 0, [0, 8, 0]),
            (ApiKey::METADATA, 0, 1, [0, 10, 0]),
            (ApiKey::OFFSET_COMMIT, 0, 1, [0, 8, 2]),
            (ApiKey::OFFSET_COMMIT, 0, 2, [0, 9, 0]),
            (ApiKey::OFFSET_FETCH, 0, 1, [0, 8, 2]),
            (ApiKey::FIND_COORDINATOR, 0, 0, [0, 8, 2]),
            (ApiKey::JOIN_GROUP, 0, 0, [0, 9, 0]),
            (ApiKey::HEARTBEAT, 0, 0, [0, 9, 0]),
            (ApiKey::LEAVE_GROUP, 0, 0, [0, 9, 0]),
            (ApiKey::SYNC_GROUP, 0, 0, [0, 9, 0]),
            (ApiKey::DESCRIBE_GROUPS, 0, 0, [0, 9, 0]),
            (ApiKey::LIST_GROUPS, 0, 0, [0, 9, 0]),
        ];
        BrokerVersions::new(
            TABLE
                .iter()
                .filter(|(_, _, _, since)| *since <= release)
                .map(|&(key, min, max, _)| (key.0, min, max)),
        )
    }

    /// (key, lowest, highest) of every request, in no order.
    pub fn rows(&self) -> impl Iterator<Item = (i16, i16, i16)> + '_ {
        self.ranges.iter().map(|(&key, &(low, high))| (key, low, high))
    }

    /// The broker's range for a request.
    pub fn range(&self, key: ApiKey) -> Option<(i16, i16)> {
        self.ranges.get(&key.0).copied()
    }

    /// The highest version of `M` that the broker, the schema and `cap` allow.
    pub fn pick_up_to<M: Message>(&self, cap: i16) -> Option<i16> {
        let (low, high) = self.range(M::KEY)?;
        let version = high.min(M::MAX_VERSION).min(cap);
        (version >= low && version >= M::MIN_VERSION).then_some(version)
    }

    /// The highest version of `M` that both sides know.
    pub fn pick<M: Message>(&self) -> Option<i16> {
        self.pick_up_to::<M>(i16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_protocol::api::metadata::MetadataRequest;

    #[test]
    fn old_releases_get_less() {
        let old = BrokerVersions::of_release("0.8.2.1");
        assert_eq!(old.range(ApiKey::PRODUCE), Some((0, 0)));
        assert_eq!(old.range(ApiKey::JOIN_GROUP), None);
        assert_eq!(old.range(ApiKey::FIND_COORDINATOR), Some((0, 0)));
        let nine = BrokerVersions::of_release("0.9.0");
        assert_eq!(nine.range(ApiKey::PRODUCE), Some((0, 1)));
        assert_eq!(nine.range(ApiKey::JOIN_GROUP), Some((0, 0)));
    }

    #[test]
    fn the_common_maximum_is_picked() {
        let v = BrokerVersions::new([(3, 0, 5)]);
        assert_eq!(v.pick::<MetadataRequest>(), Some(5));
        assert_eq!(v.pick_up_to::<MetadataRequest>(4), Some(4));
        let future = BrokerVersions::new([(3, 1000, 1001)]);
        assert_eq!(future.pick::<MetadataRequest>(), None);
    }
}
