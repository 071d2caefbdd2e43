//! ElectLeaders: makes the preferred replicas leaders again, or out-of-sync ones (KIP-183, KIP-460).

use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::elect_leaders::{ElectLeadersRequest, TopicPartitions};

use super::partitions::{by_topic, has_duplicate};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::Error;
use crate::request::{Target, unsupported};
use crate::types::TopicPartition;

/// The replica that becomes leader, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElectionType {
    /// The first of the assigned replicas.
    Preferred = 0,
    /// Any one, if none is in sync: records may be lost. Requires Kafka 2.4.
    Unclean = 1,
}

/// The outcome of an election.
#[derive(Debug, Clone)]
pub struct ElectionResult {
    /// The partition.
    pub tp: TopicPartition,
    /// The error, such as ELECTION_NOT_NEEDED; `None` on success.
    pub error: Option<Error>,
}

/// Elects leaders and waits until brokers know of them.
#[derive(Debug, Clone)]
pub struct ElectLeaders {
    /// The replica that becomes leader.
    pub election_type: ElectionType,
    /// The partitions, each once; `None` for all of the cluster. Then the results have those only whose leader changed or
    /// could not be elected.
    pub partitions: Option<Vec<TopicPartition>>,
}

impl Operation for ElectLeaders {
    const NAME: &'static str = "ElectLeaders";
    /// A partition; `None` for all.
    type Key = Option<TopicPartition>;
    type Row = Vec<ElectionResult>;
    type Output = Vec<ElectionResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        match has_duplicate(self.partitions.iter().flatten()) {
            true => Err(Error::invalid_arg("Duplicate partitions specified")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<Self::Key> {
        Keys::Known(match &self.partitions {
            None => vec![None],
            Some(partitions) => partitions.iter().cloned().map(Some).collect(),
        })
    }

    fn target(&self, _: &Self::Key) -> Target {
        Target::Controller
    }

    /// The second time no election is needed.
    fn is_repeatable(&self, _: &Options) -> bool {
        false
    }

    fn send(&self, keys: &[Self::Key], to: &mut To<'_, '_>) -> Result<(), Error> {
        let version = to.version::<ElectLeadersRequest>()?;
        if self.election_type != ElectionType::Preferred && version < ElectLeadersRequest::ELECTION_TYPE_SINCE {
            return Err(unsupported(
                "the broker has no unclean elections (KIP-460): that requires Kafka 2.4",
            ));
        }
        let topic = |(name, partitions): (Arc<str>, Vec<(i32, ())>)| TopicPartitions {
            topic: name.to_string(),
            partitions: partitions.into_iter().map(|(partition, ())| partition).collect(),
            ..Default::default()
        };
        let topics = by_topic(keys.iter().flatten().map(|tp| (tp, ())));
        to.send(&ElectLeadersRequest {
            election_type: self.election_type as i8,
            topic_partitions: self
                .partitions
                .as_ref()
                .map(|_| topics.into_iter().map(topic).collect()),
            timeout_ms: to.operation_timeout_ms(),
            ..Default::default()
        })
    }

    fn read(&self, keys: &[Self::Key], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<ElectLeadersRequest>()?;
        if let Some(error) = error_of(response.error_code, None) {
            let failed = keys.iter().map(|key| (key.clone(), Verdict::Failed(error.clone())));
            return Ok(failed.collect());
        }
        let mut results = Vec::new();
        for topic in response.replica_election_results {
            let name: Arc<str> = topic.topic.into();
            let rows = topic.partition_result.into_iter();
            results.extend(rows.map(|row| {
                let tp = TopicPartition::new(name.clone(), row.partition_id);
                (tp, error_of(row.error_code, row.error_message))
            }));
        }
        if self.partitions.is_none() {
            let results = results.into_iter().map(|(tp, error)| ElectionResult { tp, error });
            return Ok(vec![(None, Verdict::Done(results.collect()))]);
        }
        let verdict = |(tp, error): (TopicPartition, Option<Error>)| match error {
            Some(error) => (Some(tp), Verdict::Failed(error)),
            None => (
                Some(tp.clone()),
                Verdict::Done(vec![ElectionResult { tp, error: None }]),
            ),
        };
        Ok(results.into_iter().map(verdict).collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<ElectionResult>, Error> {
        let Some(partitions) = &self.partitions else {
            return row_of(&rows, &None);
        };
        let result = |tp: &TopicPartition| ElectionResult {
            tp: tp.clone(),
            error: row_of(&rows, &Some(tp.clone())).err(),
        };
        Ok(partitions.iter().map(result).collect())
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, BrokerId, ErrorCode as BrokerError, FaultAction, NewTopic};

    use super::*;
    use crate::error::ErrorCode;
    use crate::test_kit::{World, within_ms};

    const OK: ErrorCode = ErrorCode::NO_ERROR;

    /// Two partitions whose preferred leaders are 1 and 2; 3 leads both.
    fn world() -> World {
        let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
        let topic = NewTopic {
            name: "t".into(),
            assignments: vec![vec![BrokerId(1), BrokerId(3)], vec![BrokerId(2), BrokerId(3)]],
            ..NewTopic::default()
        };
        w.brokers().create(topic).unwrap();
        w.move_leader("t", 0, 3);
        w.move_leader("t", 1, 3);
        w
    }

    fn elect(election_type: ElectionType, partitions: Option<&[i32]>) -> ElectLeaders {
        let list = |list: &[i32]| list.iter().map(|p| TopicPartition::new("t", *p)).collect();
        ElectLeaders {
            election_type,
            partitions: partitions.map(list),
        }
    }

    fn codes(results: &[ElectionResult]) -> Vec<(i32, ErrorCode)> {
        let code = |r: &ElectionResult| (r.tp.partition, r.error.as_ref().map_or(OK, |e| e.code));
        results.iter().map(code).collect()
    }

    #[test]
    fn preferred_leaders_are_elected_in_the_order_of_the_call() {
        let mut w = world();
        let results = w.ask(elect(ElectionType::Preferred, Some(&[1, 9, 0]))).unwrap();
        let unknown = (9, ErrorCode::UNKNOWN_TOPIC_OR_PART);
        assert_eq!(codes(&results), [(1, OK), unknown, (0, OK)]);
        assert_eq!(w.brokers().partition_leader("t", 0), Some(BrokerId(1)));
        assert_eq!(w.brokers().partition_leader("t", 1), Some(BrokerId(2)));
        let again = w.ask(elect(ElectionType::Preferred, Some(&[0]))).unwrap();
        assert_eq!(codes(&again), [(0, ErrorCode::ELECTION_NOT_NEEDED)]);
    }

    #[test]
    fn an_election_of_all_partitions_returns_those_that_changed() {
        let mut w = world();
        w.move_leader("t", 1, 2);
        let results = w.ask(elect(ElectionType::Preferred, None)).unwrap();
        assert_eq!(codes(&results), [(0, OK)]);
        assert!(w.ask(elect(ElectionType::Preferred, Some(&[]))).unwrap().is_empty());
    }

    #[test]
    fn unclean_elections_require_a_version_and_a_missing_leader() {
        let mut w = world();
        w.move_leader("t", 0, -1);
        let results = w.ask(elect(ElectionType::Unclean, Some(&[0, 1]))).unwrap();
        assert_eq!(codes(&results), [(0, OK), (1, ErrorCode::ELECTION_NOT_NEEDED)]);
        assert!(w.brokers().partition_leader("t", 0).is_some());
        w.brokers().set_api_versions(ApiKey::ELECT_LEADERS, Some((0, 0)));
        for node in 1..=3 {
            w.disconnect(node);
        }
        w.run_ms(1000);
        let error = w.ask(elect(ElectionType::Unclean, Some(&[0]))).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE);
    }

    #[test]
    fn a_moved_controller_is_asked_again_and_a_lost_response_is_not() {
        let mut w = world();
        w.fail_next(ApiKey::ELECT_LEADERS, &[BrokerError::NOT_CONTROLLER]);
        let results = w.ask(elect(ElectionType::Preferred, Some(&[0]))).unwrap();
        assert_eq!(codes(&results), [(0, OK)]);
        w.fault_next(ApiKey::ELECT_LEADERS, FaultAction::DisconnectAfter);
        let error = w.ask(elect(ElectionType::Preferred, Some(&[1]))).unwrap_err();
        assert!(error.message.contains("may have executed"), "{error}");
        w.fail_next(ApiKey::ELECT_LEADERS, &[BrokerError::CLUSTER_AUTHORIZATION_FAILED]);
        let refused = w.ask(elect(ElectionType::Preferred, Some(&[1]))).unwrap();
        assert_eq!(codes(&refused), [(1, ErrorCode::CLUSTER_AUTHORIZATION_FAILED)]);
    }

    #[test]
    fn duplicates_are_refused_and_a_call_without_a_broker_times_out() {
        let mut w = world();
        let error = w.ask(elect(ElectionType::Preferred, Some(&[0, 0]))).unwrap_err();
        assert_eq!(error.message, "Duplicate partitions specified");
        w.take_down(&[1, 2, 3]);
        let call = elect(ElectionType::Preferred, None);
        let error = w.ask_with(call, within_ms(500)).unwrap_err();
        assert_eq!(error.message, "Failed while waiting for controller: Local: Timed out");
    }
}
