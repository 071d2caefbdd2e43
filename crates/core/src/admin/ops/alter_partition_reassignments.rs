//! AlterPartitionReassignments: moves partitions to other brokers, and cancels that (KIP-455).

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, ReassignablePartition, ReassignableTopic,
};

use super::partitions::{by_topic, has_duplicate};
use super::topic_result::check_not_empty;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::Error;
use crate::request::{Target, unsupported};
use crate::types::{NodeId, TopicPartition};

/// The replicas that a partition is to have.
#[derive(Debug, Clone)]
pub struct PartitionReassignment {
    /// The partition.
    pub tp: TopicPartition,
    /// The brokers, the preferred leader first; `None` cancels the reassignment under way.
    pub replicas: Option<Vec<NodeId>>,
}

/// The outcome for one partition.
#[derive(Debug, Clone)]
pub struct ReassignmentResult {
    /// The partition.
    pub tp: TopicPartition,
    /// The error, such as NO_REASSIGNMENT_IN_PROGRESS; `None` if the reassignment has begun or is cancelled.
    pub error: Option<Error>,
}

/// Begins and cancels reassignments. They continue after the call; `ListPartitionReassignments` returns those under way.
#[derive(Debug, Clone)]
pub struct AlterPartitionReassignments {
    /// The reassignments, one for each partition.
    pub reassignments: Vec<PartitionReassignment>,
    /// Allows another number of replicas than the partition has. False requires Kafka 4.1 (KIP-860).
    pub allow_replication_factor_change: bool,
}

impl Operation for AlterPartitionReassignments {
    const NAME: &'static str = "AlterPartitionReassignments";
    type Key = TopicPartition;
    type Row = ();
    type Output = Vec<ReassignmentResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_not_empty(Self::NAME, self.reassignments.is_empty())?;
        match has_duplicate(self.reassignments.iter().map(|r| &r.tp)) {
            true => Err(Error::invalid_arg("Duplicate partitions not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<TopicPartition> {
        Keys::Known(self.reassignments.iter().map(|r| r.tp.clone()).collect())
    }

    fn target(&self, _: &TopicPartition) -> Target {
        Target::Controller
    }

    /// A cancellation fails the second time.
    fn is_repeatable(&self, _: &Options) -> bool {
        self.reassignments.iter().all(|r| r.replicas.is_some())
    }

    fn send(&self, keys: &[TopicPartition], to: &mut To<'_, '_>) -> Result<(), Error> {
        let version = to.version::<AlterPartitionReassignmentsRequest>()?;
        let allow = self.allow_replication_factor_change;
        if !allow && version < AlterPartitionReassignmentsRequest::FACTOR_CHECK_SINCE {
            return Err(unsupported(
                "the broker cannot refuse changes of the replication factor (KIP-860): that requires Kafka 4.1",
            ));
        }
        let wanted: BTreeMap<&TopicPartition, &PartitionReassignment> =
            self.reassignments.iter().map(|r| (&r.tp, r)).collect();
        let asked = keys.iter().filter_map(|tp| Some((tp, *wanted.get(tp)?)));
        let partition = |(partition_index, asked): (i32, &PartitionReassignment)| ReassignablePartition {
            partition_index,
            replicas: asked.replicas.as_ref().map(|r| r.iter().map(|node| node.0).collect()),
            ..Default::default()
        };
        let topic = |(name, partitions): (Arc<str>, Vec<(i32, &PartitionReassignment)>)| ReassignableTopic {
            name: name.to_string(),
            partitions: partitions.into_iter().map(partition).collect(),
            ..Default::default()
        };
        let topics = by_topic(asked).into_iter().map(topic).collect();
        to.send(&AlterPartitionReassignmentsRequest {
            timeout_ms: to.operation_timeout_ms(),
            allow_replication_factor_change: allow,
            topics,
            ..Default::default()
        })
    }

    fn read(&self, keys: &[TopicPartition], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<AlterPartitionReassignmentsRequest>()?;
        if let Some(error) = error_of(response.error_code, response.error_message) {
            let failed = keys.iter().map(|key| (key.clone(), Verdict::Failed(error.clone())));
            return Ok(failed.collect());
        }
        let mut verdicts = Vec::new();
        for topic in response.responses {
            let name: Arc<str> = topic.name.into();
            verdicts.extend(topic.partitions.into_iter().map(|row| {
                let tp = TopicPartition::new(name.clone(), row.partition_index);
                (tp, Verdict::of(row.error_code, row.error_message, ()))
            }));
        }
        Ok(verdicts)
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<ReassignmentResult>, Error> {
        let result = |asked: &PartitionReassignment| ReassignmentResult {
            tp: asked.tp.clone(),
            error: row_of(&rows, &asked.tp).err(),
        };
        Ok(self.reassignments.iter().map(result).collect())
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, BrokerId, ErrorCode as BrokerError, FaultAction, NewTopic};

    use super::*;
    use crate::admin::{DescribeTopics, ListPartitionReassignments, OngoingReassignment};
    use crate::error::ErrorCode;
    use crate::test_kit::World;

    /// Four brokers; two partitions on brokers 1 and 2.
    fn world() -> World {
        let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
        let topic = NewTopic {
            name: "t".into(),
            assignments: vec![vec![BrokerId(1), BrokerId(2)]; 2],
            ..NewTopic::default()
        };
        w.brokers().create(topic).unwrap();
        w
    }

    fn tp(partition: i32) -> TopicPartition {
        TopicPartition::new("t", partition)
    }

    fn nodes(ids: &[i32]) -> Vec<NodeId> {
        ids.iter().copied().map(NodeId).collect()
    }

    fn alter(rows: &[(i32, Option<&[i32]>)]) -> AlterPartitionReassignments {
        let row = |(partition, replicas): &(i32, Option<&[i32]>)| PartitionReassignment {
            tp: tp(*partition),
            replicas: replicas.map(nodes),
        };
        AlterPartitionReassignments {
            reassignments: rows.iter().map(row).collect(),
            allow_replication_factor_change: true,
        }
    }

    fn codes(results: &[ReassignmentResult]) -> Vec<Option<ErrorCode>> {
        results.iter().map(|r| r.error.as_ref().map(|e| e.code)).collect()
    }

    fn ongoing(w: &mut World) -> Vec<OngoingReassignment> {
        w.ask(ListPartitionReassignments::default()).unwrap()
    }

    /// Returns leader, replicas and in-sync replicas of a partition.
    fn placed(w: &mut World, partition: usize) -> (Option<i32>, Vec<i32>, Vec<i32>) {
        let call = DescribeTopics {
            topics: vec!["t".into()],
            ..DescribeTopics::default()
        };
        let topic = w.ask(call).unwrap().remove(0);
        let found = &topic.partitions[partition];
        let ids = |list: &[Arc<crate::admin::Node>]| list.iter().map(|node| node.id.0).collect();
        let leader = found.leader.as_ref().map(|node| node.id.0);
        (leader, ids(&found.replicas), ids(&found.isr))
    }

    #[test]
    fn a_reassignment_is_listed_until_the_added_replicas_have_the_log() {
        let mut w = world();
        let results = w.ask(alter(&[(1, Some(&[3, 2])), (0, None)])).unwrap();
        assert_eq!(codes(&results), [None, Some(ErrorCode::NO_REASSIGNMENT_IN_PROGRESS)]);
        let row = OngoingReassignment {
            tp: tp(1),
            replicas: nodes(&[3, 2, 1]),
            adding_replicas: nodes(&[3]),
            removing_replicas: nodes(&[1]),
        };
        assert_eq!(ongoing(&mut w), [row]);
        assert_eq!(placed(&mut w, 1), (Some(1), vec![3, 2, 1], vec![1, 2]));
        let other = ListPartitionReassignments {
            partitions: Some(vec![tp(0), tp(7)]),
        };
        assert!(w.ask(other).unwrap().is_empty());
        w.run_ms(1000);
        assert!(ongoing(&mut w).is_empty());
        assert_eq!(placed(&mut w, 1), (Some(3), vec![3, 2], vec![3, 2]));
        assert_eq!(placed(&mut w, 0), (Some(1), vec![1, 2], vec![1, 2]));
    }

    #[test]
    fn a_broker_that_is_down_copies_nothing_and_a_cancelled_reassignment_restores_the_replicas() {
        let mut w = world();
        w.brokers().crash_broker(BrokerId(3));
        assert_eq!(codes(&w.ask(alter(&[(0, Some(&[2, 3]))])).unwrap()), [None]);
        w.run_ms(5000);
        assert_eq!(ongoing(&mut w).len(), 1);
        assert_eq!(codes(&w.ask(alter(&[(0, None)])).unwrap()), [None]);
        assert!(ongoing(&mut w).is_empty());
        assert_eq!(placed(&mut w, 0), (Some(1), vec![1, 2], vec![1, 2]));
        assert_eq!(codes(&w.ask(alter(&[(0, Some(&[2, 3]))])).unwrap()), [None]);
        w.run_ms(1000);
        w.brokers().start_broker(BrokerId(3));
        w.run_ms(1000);
        assert!(ongoing(&mut w).is_empty());
        assert_eq!(placed(&mut w, 0), (Some(2), vec![2, 3], vec![2, 3]));
    }

    #[test]
    fn a_reassignment_replaces_the_one_under_way() {
        let mut w = world();
        assert_eq!(codes(&w.ask(alter(&[(0, Some(&[3]))])).unwrap()), [None]);
        assert_eq!(codes(&w.ask(alter(&[(0, Some(&[2, 1]))])).unwrap()), [None]);
        assert!(ongoing(&mut w).is_empty(), "nothing is to be copied");
        assert_eq!(placed(&mut w, 0), (Some(1), vec![2, 1], vec![2, 1]));
    }

    #[test]
    fn each_partition_has_its_own_error() {
        let mut w = world();
        let rows: [(i32, Option<&[i32]>); 3] = [(0, Some(&[])), (9, Some(&[1])), (1, Some(&[1, 77]))];
        let invalid = Some(ErrorCode::INVALID_REPLICA_ASSIGNMENT);
        let expected = [invalid, Some(ErrorCode::UNKNOWN_TOPIC_OR_PART), invalid];
        let results = w.ask(alter(&rows)).unwrap();
        assert_eq!(codes(&results), expected);
        let text = results[2].error.as_ref().map(|e| e.message.clone()).unwrap_or_default();
        assert!(text.contains("77"), "{text}");
    }

    #[test]
    fn changes_of_the_replication_factor_can_be_refused_by_newer_brokers() {
        let mut w = world();
        let strict = AlterPartitionReassignments {
            allow_replication_factor_change: false,
            ..alter(&[(0, Some(&[1])), (1, Some(&[2, 3]))])
        };
        let results = w.ask(strict.clone()).unwrap();
        assert_eq!(codes(&results), [Some(ErrorCode::INVALID_REPLICATION_FACTOR), None]);
        let api = ApiKey::ALTER_PARTITION_REASSIGNMENTS;
        w.brokers().set_api_versions(api, Some((0, 0)));
        for node in 1..=3 {
            w.disconnect(node);
        }
        w.run_ms(1000);
        let error = w.ask(strict).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE);
        assert_eq!(codes(&w.ask(alter(&[(0, Some(&[1]))])).unwrap()), [None]);
    }

    #[test]
    fn a_moved_controller_is_asked_again_and_a_lost_cancellation_is_not() {
        let mut w = world();
        let api = ApiKey::ALTER_PARTITION_REASSIGNMENTS;
        w.fail_next(api, &[BrokerError::NOT_CONTROLLER]);
        assert_eq!(codes(&w.ask(alter(&[(0, Some(&[3]))])).unwrap()), [None]);
        assert_eq!(w.count(api), 2);
        w.fault_next(api, FaultAction::DisconnectAfter);
        let error = w.ask(alter(&[(0, None)])).unwrap_err();
        assert!(error.message.contains("may have executed"), "{error}");
        w.fault_next(api, FaultAction::DisconnectAfter);
        assert_eq!(codes(&w.ask(alter(&[(1, Some(&[3]))])).unwrap()), [None]);
        w.fail_next(ApiKey::LIST_PARTITION_REASSIGNMENTS, &[BrokerError::NOT_CONTROLLER]);
        assert_eq!(ongoing(&mut w).len(), 1);
        w.fail_next(
            ApiKey::LIST_PARTITION_REASSIGNMENTS,
            &[BrokerError::CLUSTER_AUTHORIZATION_FAILED],
        );
        assert!(w.ask(ListPartitionReassignments::default()).is_err());
    }

    #[test]
    fn nothing_and_duplicates_are_refused() {
        let mut w = world();
        let text = |w: &mut World, call| w.ask(call).unwrap_err().message;
        assert_eq!(text(&mut w, alter(&[])), "AlterPartitionReassignments names nothing");
        let twice = alter(&[(0, None), (0, Some(&[1]))]);
        assert_eq!(text(&mut w, twice), "Duplicate partitions not allowed");
        let twice = ListPartitionReassignments {
            partitions: Some(vec![tp(0), tp(0)]),
        };
        assert!(w.ask(twice).is_err());
    }
}
