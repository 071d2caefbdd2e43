//! The transactional producer.

use std::time::Duration;

use ottla_core::error::{Error, ErrorCode};
use ottla_core::producer::TransactionCall;

use crate::abi::PartitionList;
use crate::errors::ErrorHandle;
use crate::ffi::{Deadline, Owned, Timeout, exports};
use crate::group_metadata::GroupMetadata;
use crate::handle::Handle;
use crate::serve;

/// Length of one wait of a thread that serves callbacks and is not woken.
const LOOK: Timeout = Timeout(Some(Duration::from_millis(5)));

/// Ends a transaction, serving delivery reports meanwhile: the application receives every delivery report before the
/// call returns. With delivery reports as events, nothing is served here.
fn end(rk: &Handle, call: TransactionCall, timeout: Timeout) -> Result<(), Error> {
    let client = rk.need_client()?;
    let flushes = call == TransactionCall::Commit;
    let serves = !rk.callbacks().takes_reports_as_events();
    let deadline = Deadline::new(timeout);
    let reply = client.begin_transaction_call(call, timeout.0)?;
    let outstanding = || client.shared().producer.as_ref().map_or(0, |p| p.outstanding());
    let mut result = None;
    if flushes {
        client.flush_begin()?;
    }
    while serves && outstanding() > 0 {
        result = result.or_else(|| reply.try_take());
        match result {
            Some(Err(_)) => break,
            Some(Ok(())) if deadline.is_over() => break,
            _ => {}
        }
        serve::poll_unless(rk, client.main_queue(), &Deadline::new(LOOK), || outstanding() == 0);
    }
    if flushes {
        client.flush_end();
    }
    // The core keeps the deadline.
    let result = result.or_else(|| reply.wait(None));
    client.transaction_result(result.unwrap_or_else(|| Err(Error::from(ErrorCode::L_FAIL))))
}

fn send_offsets(rk: &Handle, offsets: &PartitionList, metadata: &GroupMetadata, timeout: Timeout) -> Result<(), Error> {
    let rows = offsets
        .to_offsets()
        .ok_or_else(|| Error::invalid_arg("a topic is NULL or not UTF-8"))?;
    rk.need_client()?
        .send_offsets_to_transaction(rows, &metadata.to_core(), timeout.0)
}

exports! {
    /// Gets the producer's id and epoch.
    fn rd_kafka_init_transactions(rk: &Handle, timeout: Timeout)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        ErrorHandle::from_result(rk.need_client().and_then(|c| c.init_transactions(timeout.0)))
    }

    /// Begins a transaction.
    fn rd_kafka_begin_transaction(rk: &Handle) -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument(); {
        ErrorHandle::from_result(rk.need_client().and_then(|c| c.begin_transaction()))
    }

    /// Adds consumed offsets to the transaction.
    fn rd_kafka_send_offsets_to_transaction(
        rk: &Handle, offsets: &PartitionList, metadata: &GroupMetadata, timeout: Timeout,
    ) -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument(); {
        ErrorHandle::from_result(send_offsets(rk, offsets, metadata, timeout))
    }

    /// Commits the transaction.
    fn rd_kafka_commit_transaction(rk: &Handle, timeout: Timeout)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        ErrorHandle::from_result(end(rk, TransactionCall::Commit, timeout))
    }

    /// Aborts the transaction.
    fn rd_kafka_abort_transaction(rk: &Handle, timeout: Timeout)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        ErrorHandle::from_result(end(rk, TransactionCall::Abort, timeout))
    }
}
