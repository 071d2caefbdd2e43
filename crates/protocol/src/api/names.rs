//! Names and header versions of API keys.

use std::fmt;

use super::{Api, Direction};
use crate::api_key::ApiKey;

/// Names of APIs without schema here: those between brokers and controllers, and the share-group-state and streams-group
/// ones. Log lines and broker listings still name them.
const NAMES_WITHOUT_SCHEMA: &[(i16, &str)] = &[
    (4, "LeaderAndIsr"),
    (5, "StopReplica"),
    (6, "UpdateMetadata"),
    (7, "ControlledShutdown"),
    (52, "Vote"),
    (53, "BeginQuorumEpoch"),
    (54, "EndQuorumEpoch"),
    (56, "AlterPartition"),
    (58, "Envelope"),
    (59, "FetchSnapshot"),
    (62, "BrokerRegistration"),
    (63, "BrokerHeartbeat"),
    (67, "AllocateProducerIds"),
    (70, "ControllerRegistration"),
    (73, "AssignReplicasToDirs"),
    (82, "UpdateRaftVoter"),
    (83, "InitializeShareGroupState"),
    (84, "ReadShareGroupState"),
    (85, "WriteShareGroupState"),
    (86, "DeleteShareGroupState"),
    (87, "ReadShareGroupStateSummary"),
    (88, "StreamsGroupHeartbeat"),
    (89, "StreamsGroupDescribe"),
];

impl ApiKey {
    /// Returns Kafka's name of the API, as in `Fetch`; `None` for a number that Kafka 4.3 does not use.
    pub fn name(self) -> Option<&'static str> {
        Api::find(self).map(Api::name).or_else(|| {
            let named = NAMES_WITHOUT_SCHEMA.iter().find(|(key, _)| *key == self.0);
            named.map(|(_, name)| *name)
        })
    }

    /// Returns the version of the request header for `api_version`; `None` if this crate has no schema of it.
    pub fn request_header_version(self, api_version: i16) -> Option<i16> {
        let api = Api::find(self)?;
        let known = api.versions().contains(&api_version);
        known.then(|| api.header_version(Direction::Request, api_version))
    }
}

impl fmt::Display for ApiKey {
    /// Writes the name, or the number if there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "ApiKey({})", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_header_versions() {
        assert_eq!(ApiKey::PRODUCE.name(), Some("Produce"));
        assert_eq!(ApiKey(88).name(), Some("StreamsGroupHeartbeat"));
        assert_eq!(ApiKey(-7).name(), None);
        assert_eq!(ApiKey(-7).to_string(), "ApiKey(-7)");
        assert_eq!(ApiKey::FETCH.request_header_version(11), Some(1));
        assert_eq!(ApiKey::FETCH.request_header_version(12), Some(2));
        assert_eq!(ApiKey::FETCH.request_header_version(999), None);
        assert_eq!(ApiKey(4711).request_header_version(0), None);
    }

    #[test]
    fn table_is_sorted_and_names_are_not_repeated() {
        let keys: Vec<_> = super::super::APIS.iter().map(Api::key).collect();
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(
            NAMES_WITHOUT_SCHEMA
                .iter()
                .all(|(key, _)| Api::find(ApiKey(*key)).is_none())
        );
    }
}
