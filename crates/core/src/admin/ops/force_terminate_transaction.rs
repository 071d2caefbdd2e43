//! ForceTerminateTransaction: aborts the open transaction of a transactional id, also one of two-phase commit, which has no
//! timeout (KIP-939). It is FenceProducers for one id, as in Kafka's Java client.

use ottla_protocol::DecodeError;

use super::fence_producers::{read_fence, send_fence};
use super::transactional_ids::{check, coordinator};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdicts, row_of};
use crate::error::Error;
use crate::request::Target;

/// Aborts the open transaction of a transactional id and fences its producer. Succeeds when the transaction has ended.
#[derive(Debug, Clone)]
pub struct ForceTerminateTransaction(pub String);

impl Operation for ForceTerminateTransaction {
    const NAME: &'static str = "ForceTerminateTransaction";
    type Key = String;
    type Row = (i64, i16);
    type Output = ();

    fn check(&self, _: &Options) -> Result<(), Error> {
        check(std::slice::from_ref(&self.0), "terminate")
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(vec![self.0.clone()])
    }

    fn target(&self, key: &String) -> Target {
        coordinator(key)
    }

    /// The second time there is no transaction.
    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        send_fence(keys.first(), to)
    }

    fn read(&self, keys: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let verdict = read_fence(answer)?;
        Ok(keys.iter().cloned().zip([verdict]).collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<(), Error> {
        row_of(&rows, &self.0).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, ErrorCode as BrokerError};

    use super::*;
    use crate::error::ErrorCode;
    use crate::test_kit::{World, within_ms};

    fn terminate(id: &str) -> ForceTerminateTransaction {
        ForceTerminateTransaction(id.to_owned())
    }

    #[test]
    fn the_open_transaction_has_ended_when_the_call_succeeds() {
        let mut w = World::producer_with(&[("retry.backoff.ms", "10")], &[], |config| {
            config.transaction_marker_delay_us = 50_000;
        });
        w.add_topic("t", &[1]);
        let (_, epoch) = w.begin_transaction("a", &[(0, "x")]);
        w.ask(terminate("a")).unwrap();
        let view = w.brokers().transaction_view("a").unwrap();
        assert!(view.partitions.is_empty() && view.epoch > epoch, "{view:?}");
        assert_eq!(w.brokers().watermarks("t", 0).unwrap().last_stable_offset, 2);
    }

    #[test]
    fn the_error_of_the_id_is_that_of_the_call() {
        let mut w = World::producer(&[], &[]);
        let error = w.ask(terminate("")).unwrap_err();
        assert_eq!(error.message, "Empty transactional ids not allowed");
        let refusal = BrokerError::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
        w.fail_next(ApiKey::INIT_PRODUCER_ID, &[refusal]);
        let error = w.ask(terminate("a")).unwrap_err();
        assert_eq!(error.code, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
        w.take_down(&[1, 2, 3]);
        let error = w.ask_with(terminate("a"), within_ms(500)).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_TIMED_OUT);
    }
}
