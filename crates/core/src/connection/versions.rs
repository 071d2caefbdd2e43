//! The request versions that a broker supports, and the choice of the highest common one.

use std::collections::BTreeMap;

use ottla_protocol::{ApiKey, Message};

/// The versions that a broker supports, from its ApiVersions response, or assumed for a broker without ApiVersions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerVersions {
    /// API key → lowest and highest version.
    ranges: BTreeMap<i16, (i16, i16)>,
    transaction_version: i16,
}

impl BrokerVersions {
    /// Creates the versions from rows of (API key, lowest version, highest version).
    pub fn new(rows: impl IntoIterator<Item = (i16, i16, i16)>) -> Self {
        BrokerVersions {
            ranges: rows.into_iter().map(|(key, min, max)| (key, (min, max))).collect(),
            transaction_version: 0,
        }
    }

    /// Returns the same versions with the cluster's finalized level of the feature `transaction.version` (KIP-890, KIP-1022).
    #[must_use]
    pub fn with_transaction_version(self, transaction_version: i16) -> Self {
        BrokerVersions {
            transaction_version,
            ..self
        }
    }

    /// Returns the cluster's finalized level of the feature `transaction.version`, 0 for none.
    pub fn transaction_version(&self) -> i16 {
        self.transaction_version
    }

    /// Returns the versions of a broker without ApiVersions (before 0.10.0). `release` is a `broker.version.fallback` value.
    pub fn of_release(release: &str) -> Self {
        let mut parts = release.split('.').map(|p| p.parse::<u32>().unwrap_or(0));
        let release = [parts.next(), parts.next(), parts.next()].map(|p| p.unwrap_or(0));
        // (API key, lowest version, highest version, first release with it); later rows of a key replace earlier ones.
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
            (ApiKey::SASL_HANDSHAKE, 0, 0, [0, 10, 0]),
        ];
        BrokerVersions::new(
            TABLE
                .iter()
                .filter(|(_, _, _, since)| *since <= release)
                .map(|&(key, min, max, _)| (key.0, min, max)),
        )
    }

    /// Returns (API key, lowest version, highest version) of every request.
    pub fn rows(&self) -> impl Iterator<Item = (i16, i16, i16)> + '_ {
        self.ranges.iter().map(|(&key, &(low, high))| (key, low, high))
    }

    /// Returns the broker's range for a request.
    pub fn range(&self, key: ApiKey) -> Option<(i16, i16)> {
        self.ranges.get(&key.0).copied()
    }

    /// Returns the highest version of `M` that the broker and this client support, `cap` at most.
    pub fn pick_up_to<M: Message>(&self, cap: i16) -> Option<i16> {
        let (low, high) = self.range(M::KEY)?;
        let version = high.min(M::MAX_VERSION).min(cap);
        (version >= low && version >= M::MIN_VERSION).then_some(version)
    }

    /// Returns the highest version of `M` that the broker and this client support.
    pub fn pick<M: Message>(&self) -> Option<i16> {
        self.pick_up_to::<M>(i16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_protocol::api::metadata::MetadataRequest;

    #[test]
    fn of_release_has_only_the_requests_of_that_release() {
        let old = BrokerVersions::of_release("0.8.2.1");
        assert_eq!(old.range(ApiKey::PRODUCE), Some((0, 0)));
        assert_eq!(old.range(ApiKey::JOIN_GROUP), None);
        assert_eq!(old.range(ApiKey::FIND_COORDINATOR), Some((0, 0)));
        let release_0_9 = BrokerVersions::of_release("0.9.0");
        assert_eq!(release_0_9.range(ApiKey::PRODUCE), Some((0, 1)));
        assert_eq!(release_0_9.range(ApiKey::JOIN_GROUP), Some((0, 0)));
    }

    #[test]
    fn pick_returns_the_highest_common_version() {
        let v = BrokerVersions::new([(3, 0, 5)]);
        assert_eq!(v.pick::<MetadataRequest>(), Some(5));
        assert_eq!(v.pick_up_to::<MetadataRequest>(4), Some(4));
        let future = BrokerVersions::new([(3, 1000, 1001)]);
        assert_eq!(future.pick::<MetadataRequest>(), None);
    }
}
