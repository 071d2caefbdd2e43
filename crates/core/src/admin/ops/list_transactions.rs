//! ListTransactions: the transactional ids of every broker, because each lists only those that it coordinates (KIP-664).

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::DecodeError;
use ottla_protocol::api::list_transactions::{ListTransactionsRequest, TransactionState};

use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of};
use crate::error::Error;
use crate::request::{Target, unsupported};
use crate::types::NodeId;

/// A transactional id with the state of its last transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionListing {
    /// The transactional id.
    pub transactional_id: String,
    /// Its producer's id.
    pub producer_id: i64,
    /// The state of the last transaction, in the broker's words.
    pub state: String,
    /// The broker that coordinates it.
    pub coordinator: NodeId,
}

/// The transactional ids of all brokers that answered.
#[derive(Debug, Clone, Default)]
pub struct TransactionListings {
    /// The transactional ids, each once, in ascending order.
    pub transactions: Vec<TransactionListing>,
    /// The errors of the brokers that did not answer, with their ids: what they coordinate is missing.
    pub errors: Vec<Error>,
}

/// Lists the transactional ids of all brokers that answered in time, with the errors of the others. Requires Kafka 3.0.
#[derive(Debug, Clone, Default)]
pub struct ListTransactions {
    /// The names of the states to list; empty for all. Brokers ignore names that they do not know.
    pub states: Vec<String>,
    /// The ids of the producers to list; empty for all.
    pub producer_ids: Vec<i64>,
    /// Lists only transactions that began longer ago, and ids without a transaction (KIP-994, Kafka 3.8).
    pub longer_than: Option<Duration>,
    /// Lists only transactional ids that this regular expression of RE2 matches as a whole (KIP-1152, Kafka 4.1).
    pub pattern: Option<String>,
}

impl Operation for ListTransactions {
    const NAME: &'static str = "ListTransactions";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = NodeId;
    type Row = Vec<TransactionState>;
    type Output = TransactionListings;

    fn keys(&self) -> Keys<NodeId> {
        Keys::EachBroker(|node| node)
    }

    fn target(&self, node: &NodeId) -> Target {
        Target::Broker(*node)
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, _: &[NodeId], to: &mut To<'_, '_>) -> Result<(), Error> {
        let version = to.version::<ListTransactionsRequest>()?;
        if version < ListTransactionsRequest::DURATION_FILTER_SINCE && self.longer_than.is_some() {
            return Err(unsupported(
                "the broker cannot filter transactions by duration (KIP-994): that requires Kafka 3.8",
            ));
        }
        if version < ListTransactionsRequest::PATTERN_SINCE && self.pattern.is_some() {
            return Err(unsupported(
                "the broker cannot filter transactions by a pattern (KIP-1152): that requires Kafka 4.1",
            ));
        }
        let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        to.send(&ListTransactionsRequest {
            state_filters: self.states.clone(),
            producer_id_filters: self.producer_ids.clone(),
            duration_filter: self.longer_than.map_or(-1, millis),
            transactional_id_pattern: self.pattern.clone(),
            ..Default::default()
        })
    }

    fn read(&self, keys: &[NodeId], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<ListTransactionsRequest>()?;
        let verdict = match error_of(response.error_code, None) {
            None => Verdict::Done(response.transaction_states),
            Some(error) if error.retriable => Verdict::Retry(error),
            Some(error) => Verdict::Refused(error),
        };
        Ok(keys.iter().copied().zip([verdict]).collect())
    }

    /// Returns each transactional id once: while its coordinator moves two brokers may list it.
    fn finish(&self, rows: Rows<Self>) -> Result<TransactionListings, Error> {
        let mut transactions = BTreeMap::new();
        let mut errors = Vec::new();
        for (node, row) in rows {
            match row {
                Err(error) => errors.push(of_broker(node, error)),
                Ok(listed) => {
                    for state in listed {
                        let listing = TransactionListing {
                            transactional_id: state.transactional_id.clone(),
                            producer_id: state.producer_id,
                            state: state.transaction_state,
                            coordinator: node,
                        };
                        transactions.entry(state.transactional_id).or_insert(listing);
                    }
                }
            }
        }
        Ok(TransactionListings {
            transactions: transactions.into_values().collect(),
            errors,
        })
    }
}

/// Returns an error with the broker's id before its text.
fn of_broker(node: NodeId, error: Error) -> Error {
    match node.0 {
        // No broker is known.
        ..0 => error,
        _ => Error {
            message: format!("Broker {node}: {}", error.message),
            ..error
        },
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, BrokerId, CoordinatorKind, ErrorCode as BrokerError};

    use super::*;
    use crate::error::ErrorCode;
    use crate::test_kit::{World, within_ms};

    /// The open transaction `a` at broker 1, and the ids `b` and `c` without one at brokers 2 and 3.
    fn world() -> World {
        let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
        w.add_topic("t", &[1]);
        for (id, broker) in [("a", 1), ("b", 2), ("c", 3)] {
            let kind = CoordinatorKind::Transaction;
            w.brokers().set_coordinator(kind, id, BrokerId(broker));
        }
        w.begin_transaction("a", &[(0, "x")]);
        w.init_transactions_of("b");
        w.init_transactions_of("c");
        w
    }

    fn listed(found: &TransactionListings) -> Vec<(&str, &str, i32)> {
        let rows = found.transactions.iter();
        rows.map(|t| (t.transactional_id.as_str(), t.state.as_str(), t.coordinator.0))
            .collect()
    }

    #[test]
    fn transactions_of_all_brokers_are_listed_by_filters() {
        let mut w = world();
        let found = w.ask(ListTransactions::default()).unwrap();
        let all = [("a", "Ongoing", 1), ("b", "Empty", 2), ("c", "Empty", 3)];
        assert_eq!(listed(&found), all);
        assert!(found.errors.is_empty());
        let of_c = found.transactions[2].producer_id;
        let filters = [
            ListTransactions {
                states: vec!["Empty".into()],
                pattern: Some("[bc]".into()),
                ..Default::default()
            },
            ListTransactions {
                producer_ids: vec![found.transactions[1].producer_id, of_c],
                ..Default::default()
            },
            ListTransactions {
                longer_than: Some(Duration::from_secs(3600)),
                ..Default::default()
            },
        ];
        for filter in filters {
            let found = w.ask(filter).unwrap();
            assert_eq!(listed(&found), all[1..]);
        }
    }

    #[test]
    fn a_broker_that_loads_is_asked_again_and_one_that_fails_is_an_error_beside_the_listing() {
        let mut w = world();
        w.fail_next(ApiKey::LIST_TRANSACTIONS, &[BrokerError::COORDINATOR_LOAD_IN_PROGRESS]);
        let found = w.ask(ListTransactions::default()).unwrap();
        assert_eq!(found.transactions.len(), 3);
        assert_eq!(w.count(ApiKey::LIST_TRANSACTIONS), 4);
        w.take_down(&[2]);
        let found = w.ask_with(ListTransactions::default(), within_ms(2000)).unwrap();
        assert_eq!(listed(&found), [("a", "Ongoing", 1), ("c", "Empty", 3)]);
        assert_eq!(found.errors.len(), 1);
        assert!(found.errors[0].message.starts_with("Broker 2: "), "{:?}", found.errors);
        w.take_down(&[1, 3]);
        let found = w.ask_with(ListTransactions::default(), within_ms(500)).unwrap();
        assert!(found.transactions.is_empty() && found.errors.len() == 3);
        assert!(found.errors.iter().all(|e| e.code == ErrorCode::L_TIMED_OUT));
    }

    #[test]
    fn an_invalid_pattern_is_every_brokers_error() {
        let mut w = world();
        let call = ListTransactions {
            pattern: Some("(".into()),
            ..Default::default()
        };
        let errors = w.ask(call).unwrap().errors;
        assert_eq!(errors.len(), 3);
        assert!(errors.iter().all(|e| e.code == ErrorCode::INVALID_REGULAR_EXPRESSION));
    }

    #[test]
    fn filters_that_a_broker_does_not_have_are_refused() {
        let mut w = World::producer(&[], &[]);
        for (versions, text) in [((0, 0), "KIP-994"), ((0, 1), "KIP-1152")] {
            w.brokers().set_api_versions(ApiKey::LIST_TRANSACTIONS, Some(versions));
            for node in 1..=3 {
                w.disconnect(node);
            }
            w.run_ms(1000);
            let call = ListTransactions {
                longer_than: (versions.1 == 0).then_some(Duration::ZERO),
                pattern: Some("x".into()),
                ..Default::default()
            };
            let errors = w.ask(call).unwrap().errors;
            let is_refused = |e: &Error| e.code == ErrorCode::L_UNSUPPORTED_FEATURE && e.message.contains(text);
            assert!(errors.len() == 3 && errors.iter().all(is_refused), "{errors:?}");
        }
        assert_eq!(w.count(ApiKey::LIST_TRANSACTIONS), 0);
    }
}
