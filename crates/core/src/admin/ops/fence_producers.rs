//! FenceProducers: raises the epochs of transactional ids at their coordinators, which aborts open transactions (KIP-618).

use std::time::Duration;

use ottla_protocol::DecodeError;
use ottla_protocol::api::init_producer_id::InitProducerIdRequest;

use super::transactional_ids::{check, coordinator};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::{Error, ErrorCode};
use crate::request::Target;

/// Maximum transaction timeout of the request, in milliseconds: the default of `transaction.timeout.ms`, which brokers accept.
const TRANSACTION_TIMEOUT_MS_MAX: i32 = 60_000;

/// A transactional id after its producer was fenced, or its error.
#[derive(Debug, Clone)]
pub struct FencedProducer {
    /// The transactional id.
    pub transactional_id: String,
    /// The id and epoch that the coordinator has assigned. The producer before it has an older epoch, or another id.
    pub result: Result<(i64, i16), Error>,
}

/// Fences the producers of transactional ids: their requests fail, and their open transactions are aborted. An id that
/// does not exist is created. Requires Kafka 0.11.
#[derive(Debug, Clone)]
pub struct FenceProducers(pub Vec<String>);

impl Operation for FenceProducers {
    const NAME: &'static str = "FenceProducers";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = String;
    type Row = (i64, i16);
    type Output = Vec<FencedProducer>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check(&self.0, "fence")
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.0.clone())
    }

    fn target(&self, key: &String) -> Target {
        coordinator(key)
    }

    /// The second time it fences an epoch that no producer has.
    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn batch_max(&self, _: &crate::request::ReadyBroker) -> usize {
        1
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        send_fence(keys.first(), to)
    }

    fn read(&self, keys: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let verdict = read_fence(answer)?;
        Ok(keys.iter().cloned().zip([verdict]).collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<FencedProducer>, Error> {
        let fenced = |id: &String| FencedProducer {
            transactional_id: id.clone(),
            result: row_of(&rows, id),
        };
        Ok(self.0.iter().map(fenced).collect())
    }
}

/// Requests the next epoch of a transactional id, as a new producer with the id does. The request has no producer id, so
/// that it does not depend on that of the present producer.
pub(super) fn send_fence(transactional_id: Option<&String>, to: &mut To<'_, '_>) -> Result<(), Error> {
    let millis = |timeout: Duration| i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    let timeout_ms = to.options().request_timeout.map_or(i32::MAX, millis);
    to.send(&InitProducerIdRequest {
        transactional_id: transactional_id.cloned(),
        transaction_timeout_ms: timeout_ms.clamp(1, TRANSACTION_TIMEOUT_MS_MAX),
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    })
}

/// Decodes the response. While the coordinator aborts the open transaction, the request is repeated.
pub(super) fn read_fence<K>(answer: &Answer<'_>) -> Result<Verdict<K, (i64, i16)>, DecodeError> {
    let response = answer.decode::<InitProducerIdRequest>()?;
    Ok(match error_of(response.error_code, None) {
        None => Verdict::Done((response.producer_id, response.producer_epoch)),
        Some(error) if error.code == ErrorCode::CONCURRENT_TRANSACTIONS => Verdict::Retry(error),
        Some(error) => Verdict::Failed(error),
    })
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, BrokerId, CoordinatorKind, ErrorCode as BrokerError, FaultAction};

    use super::*;
    use crate::test_kit::{World, within_ms};

    fn world() -> World {
        let mut w = World::producer_with(&[("retry.backoff.ms", "10")], &[], |config| {
            config.transaction_marker_delay_us = 50_000;
        });
        w.add_topic("t", &[1]);
        for (id, broker) in [("a", 1), ("b", 2)] {
            let kind = CoordinatorKind::Transaction;
            w.brokers().set_coordinator(kind, id, BrokerId(broker));
        }
        w
    }

    fn fence(ids: &[&str]) -> FenceProducers {
        FenceProducers(ids.iter().map(|id| (*id).to_owned()).collect())
    }

    #[test]
    fn producers_are_fenced_and_their_transactions_aborted() {
        let mut w = world();
        let (id, epoch) = w.begin_transaction("a", &[(0, "x")]);
        let fenced = w.ask(fence(&["b", "a"])).unwrap();
        let ids: Vec<&str> = fenced.iter().map(|f| f.transactional_id.as_str()).collect();
        assert_eq!(ids, ["b", "a"]);
        // The abort raises the epoch, and so does the assignment after it.
        assert_eq!(fenced[1].result, Ok((id, epoch + 2)));
        let (new_id, first) = fenced[0].result.clone().unwrap();
        assert!(new_id != id && first == 0, "b did not exist");
        let view = w.brokers().transaction_view("a").unwrap();
        assert_eq!((view.state, view.epoch), ("Empty", epoch + 2));
        let watermarks = w.brokers().watermarks("t", 0).unwrap();
        assert_eq!(watermarks.last_stable_offset, 2, "a record and the marker");
        let requests = w.drain::<InitProducerIdRequest>();
        assert!(requests.len() > 2, "repeated until the marker was written");
        assert!(
            requests
                .iter()
                .all(|(_, r)| r.producer_id == -1 && r.transaction_timeout_ms == 60_000)
        );
    }

    #[test]
    fn errors_of_coordinators_that_move_are_repeated_and_others_are_results() {
        let mut w = world();
        let errors = [
            BrokerError::COORDINATOR_LOAD_IN_PROGRESS,
            BrokerError::NOT_COORDINATOR,
            BrokerError::CONCURRENT_TRANSACTIONS,
            BrokerError::NONE,
            BrokerError::TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ];
        w.fail_next(ApiKey::INIT_PRODUCER_ID, &errors);
        assert!(w.ask(fence(&["a"])).unwrap()[0].result.is_ok());
        let refused = w.ask(fence(&["a"])).unwrap().remove(0).result.unwrap_err();
        assert_eq!(refused.code, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
        w.fault_next(ApiKey::INIT_PRODUCER_ID, FaultAction::DisconnectAfter);
        assert!(w.ask(fence(&["a"])).unwrap()[0].result.is_ok(), "a lost response");
    }

    #[test]
    fn a_transaction_that_does_not_end_fails_with_its_error() {
        let mut w = world();
        w.begin_transaction("a", &[(0, "x")]);
        w.move_leader("t", 0, -1);
        let late = w.ask_with(fence(&["a"]), within_ms(1000)).unwrap().remove(0);
        let error = late.result.unwrap_err();
        assert_eq!(error.code, ErrorCode::L_TIMED_OUT);
        let (_, request) = w.drain::<InitProducerIdRequest>().pop().unwrap();
        assert_eq!(request.transaction_timeout_ms, 1000);
    }

    #[test]
    fn nothing_and_duplicates_are_refused() {
        let mut w = world();
        let text = |w: &mut World, ids: &[&str]| w.ask(fence(ids)).unwrap_err().message;
        assert_eq!(text(&mut w, &[]), "No transactional ids to fence");
        assert_eq!(text(&mut w, &["a", "a"]), "Duplicate transactional ids not allowed");
    }
}
