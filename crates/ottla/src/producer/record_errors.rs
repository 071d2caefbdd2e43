//! Batches of which a broker refuses single records (KIP-467).
//!
//! A broker takes a batch or refuses it as a whole, and names the records at fault. Those are reported with the broker's
//! words for each; the others go again without them, in their places. Where they must not, because no retry is left or
//! because an earlier attempt may have written the whole batch under its numbers, they are reported with
//! [`L_INVALID_DIFFERENT_RECORD`](ErrorCode::L_INVALID_DIFFERENT_RECORD).

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::api::produce::PartitionProduceResponse;

use super::PartitionId;
use super::batch::Batch;
use super::retry_policy::RetryDecision;
use super::sender::Sender;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};

impl Sender {
    /// Settles a batch of which single records were refused; gives it back when none of its records is named.
    pub(super) fn on_record_errors(
        &mut self,
        ctx: &mut Ctx<'_>,
        id: PartitionId,
        mut batch: Batch,
        part: &PartitionProduceResponse,
        error: &Error,
    ) -> Option<Batch> {
        let left = batch.left_in_flight;
        let in_request = 0..left + batch.records.len();
        let named: BTreeMap<usize, &str> = part
            .record_errors
            .iter()
            .filter_map(|e| {
                let index = usize::try_from(e.batch_index).ok()?;
                let words = e.batch_index_error_message.as_deref().unwrap_or(&error.message);
                in_request.contains(&index).then_some((index, words))
            })
            .collect();
        if named.is_empty() {
            return Some(batch);
        }
        let numbered = batch.stamp.is_some();
        let status = batch.status();
        for words in named.values().copied().collect::<BTreeSet<&str>>() {
            let refused = Batch {
                records: batch.records.select(|i| named.get(&(i + left)) == Some(&words)),
                broker_id: batch.broker_id,
                stamp: batch.stamp,
                ..Batch::default()
            };
            if !refused.records.is_empty() {
                self.deliver(id, refused, Some(Error::new(error.code, words)), status, ctx.now);
            }
        }
        batch.records = batch.records.select(|i| !named.contains_key(&(i + left)));
        batch.sealed = None;
        let text = "another record of the same batch was refused";
        let innocent = Error::new(ErrorCode::L_INVALID_DIFFERENT_RECORD, text);
        let decision = match numbered && batch.maybe_persisted {
            true => RetryDecision::Fail,
            false => {
                batch.stamp = None;
                RetryDecision::Retry
            }
        };
        self.on_rejected(ctx, id, batch, decision, false, &innocent, true);
        None
    }
}
