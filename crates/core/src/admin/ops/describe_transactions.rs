//! DescribeTransactions: states, producers and partitions of transactional ids, at their coordinators (KIP-664).

use ottla_protocol::DecodeError;
use ottla_protocol::api::describe_transactions::{DescribeTransactionsRequest, TransactionState};

use super::transactional_ids::{check, coordinator};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::Target;
use crate::types::{NodeId, TopicPartition};

/// A transactional id with its last transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionDescription {
    /// The broker that coordinates it.
    pub coordinator: NodeId,
    /// The state of the transaction, in the broker's words.
    pub state: String,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The transaction timeout of the producer, in milliseconds.
    pub timeout_ms: i32,
    /// The begin of the transaction, in milliseconds since 1970; `None` before the first.
    pub started_ms: Option<i64>,
    /// The partitions in the transaction; while it ends, those without a marker. In ascending order.
    pub partitions: Vec<TopicPartition>,
}

/// The description of one transactional id, or its error.
#[derive(Debug, Clone)]
pub struct DescribedTransaction {
    /// The transactional id.
    pub transactional_id: String,
    /// The description, or an error such as TRANSACTIONAL_ID_NOT_FOUND.
    pub result: Result<TransactionDescription, Error>,
}

/// Describes transactional ids, each with its error. Requires Kafka 3.0.
#[derive(Debug, Clone)]
pub struct DescribeTransactions(pub Vec<String>);

impl Operation for DescribeTransactions {
    const NAME: &'static str = "DescribeTransactions";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = String;
    type Row = TransactionDescription;
    type Output = Vec<DescribedTransaction>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check(&self.0, "describe")
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.0.clone())
    }

    fn target(&self, key: &String) -> Target {
        coordinator(key)
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        to.send(&DescribeTransactionsRequest {
            transactional_ids: keys.to_vec(),
            ..Default::default()
        })
    }

    fn read(&self, _: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let states = answer.decode::<DescribeTransactionsRequest>()?.transaction_states;
        let verdict = |mut state: TransactionState| {
            let id = std::mem::take(&mut state.transactional_id);
            (
                id,
                Verdict::of(state.error_code, None, description(answer.broker().id, state)),
            )
        };
        Ok(states.into_iter().map(verdict).collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<DescribedTransaction>, Error> {
        let described = |id: &String| DescribedTransaction {
            transactional_id: id.clone(),
            result: row_of(&rows, id),
        };
        Ok(self.0.iter().map(described).collect())
    }
}

fn description(coordinator: NodeId, state: TransactionState) -> TransactionDescription {
    let mut partitions = Vec::new();
    for topic in state.topics {
        let name: std::sync::Arc<str> = topic.topic.into();
        let numbers = topic.partitions.into_iter();
        partitions.extend(numbers.map(|partition| TopicPartition::new(name.clone(), partition)));
    }
    partitions.sort();
    TransactionDescription {
        coordinator,
        state: state.transaction_state,
        producer_id: state.producer_id,
        producer_epoch: state.producer_epoch,
        timeout_ms: state.transaction_timeout_ms,
        started_ms: Some(state.transaction_start_time_ms).filter(|ms| *ms >= 0),
        partitions,
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, BrokerId, CoordinatorKind, ErrorCode as BrokerError};

    use super::*;
    use crate::error::ErrorCode;
    use crate::test_kit::{World, within_ms};

    fn world() -> World {
        let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
        w.add_topic("t", &[1, 2]);
        for (id, broker) in [("a", 1), ("b", 2)] {
            let kind = CoordinatorKind::Transaction;
            w.brokers().set_coordinator(kind, id, BrokerId(broker));
        }
        w
    }

    fn describe(ids: &[&str]) -> DescribeTransactions {
        DescribeTransactions(ids.iter().map(|id| (*id).to_owned()).collect())
    }

    #[test]
    fn transactions_are_described_at_their_coordinators_in_the_order_of_the_call() {
        let mut w = world();
        let producer = w.begin_transaction("a", &[(1, "x"), (0, "y")]);
        let (b, _) = w.init_transactions_of("b");
        let begin_ms = w.brokers().wall_clock_ms();
        let found = w.ask(describe(&["b", "none", "a"])).unwrap();
        let ids: Vec<&str> = found.iter().map(|t| t.transactional_id.as_str()).collect();
        assert_eq!(ids, ["b", "none", "a"]);
        let expected = TransactionDescription {
            coordinator: NodeId(1),
            state: "Ongoing".into(),
            producer_id: producer.0,
            producer_epoch: producer.1,
            timeout_ms: 60_000,
            started_ms: Some(begin_ms),
            partitions: vec![TopicPartition::new("t", 0), TopicPartition::new("t", 1)],
        };
        assert_eq!(found[2].result.as_ref().unwrap(), &expected);
        let empty = found[0].result.as_ref().unwrap();
        assert_eq!((empty.state.as_str(), empty.producer_id), ("Empty", b));
        assert_eq!((empty.started_ms, empty.partitions.len()), (None, 0));
        let unknown = found[1].result.as_ref().unwrap_err();
        assert_eq!(unknown.code, ErrorCode::TRANSACTIONAL_ID_NOT_FOUND);
    }

    #[test]
    fn a_coordinator_that_moved_or_loads_is_asked_again_and_other_errors_are_results() {
        let mut w = world();
        w.init_transactions_of("a");
        let errors = [
            BrokerError::COORDINATOR_LOAD_IN_PROGRESS,
            BrokerError::NOT_COORDINATOR,
            BrokerError::COORDINATOR_NOT_AVAILABLE,
            BrokerError::NONE,
            BrokerError::TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ];
        w.fail_next(ApiKey::DESCRIBE_TRANSACTIONS, &errors);
        let found = w.ask(describe(&["a"])).unwrap();
        assert!(found[0].result.is_ok());
        assert_eq!(w.count(ApiKey::DESCRIBE_TRANSACTIONS), 4);
        let refused = w.ask(describe(&["a"])).unwrap().remove(0).result.unwrap_err();
        assert_eq!(refused.code, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    }

    #[test]
    fn without_a_broker_each_id_has_a_timeout() {
        let mut w = world();
        w.take_down(&[1, 2, 3]);
        let late = w.ask_with(describe(&["b", "a"]), within_ms(500)).unwrap();
        let codes: Vec<_> = late.into_iter().map(|t| t.result.unwrap_err().code).collect();
        assert_eq!(codes, [ErrorCode::L_TIMED_OUT; 2]);
    }

    #[test]
    fn nothing_duplicates_and_empty_ids_are_refused() {
        let mut w = world();
        let text = |w: &mut World, ids: &[&str]| w.ask(describe(ids)).unwrap_err().message;
        assert_eq!(text(&mut w, &[]), "No transactional ids to describe");
        assert_eq!(text(&mut w, &["a", "a"]), "Duplicate transactional ids not allowed");
        assert_eq!(text(&mut w, &["a", ""]), "Empty transactional ids not allowed");
    }
}
