//! Commits of acknowledgements.

use ottla_core::client::ShareConsumer;
use ottla_core::error::Error;
use ottla_core::types::{PartitionOffset, offset};

use super::callback::AcknowledgementCommitCb;
use super::consumer::{call, list_of};
use super::handle::{ShareHandle, no_handle_error};
use crate::abi::PartitionList;
use crate::callbacks::Opaque;
use crate::errors::ErrorHandle;
use crate::ffi::{self, IntoC, Owned, Timeout, exports};
use crate::topic_partition_list::OwnedList;

/// Commits and returns the results; `None` when there was nothing to commit.
fn commit_sync(
    share: &ShareHandle,
    consumer: &mut ShareConsumer,
    timeout: Timeout,
) -> Result<Option<OwnedList>, Error> {
    let results = consumer.commit_sync(timeout.0, &mut |event| {
        let _ = share.serve(event);
        Ok(())
    })?;
    if results.is_empty() {
        return Ok(None);
    }
    let row = |(tp, error)| PartitionOffset {
        error,
        ..PartitionOffset::new(tp, offset::INVALID)
    };
    let rows: Vec<PartitionOffset> = results.into_iter().map(row).collect();
    list_of(&rows).map(Some)
}

exports! {
    /// Sends acknowledgements.
    fn rd_kafka_share_commit_async(rkshare: Option<&ShareHandle>)
        -> Option<Owned<ErrorHandle>>, or no_handle_error();
    {
        ErrorHandle::from_result(call(rkshare, |share, consumer| {
            consumer.commit_async(&mut |event| {
                let _ = share.serve(event);
                Ok(())
            })
        }))
    }

    /// Sends acknowledgements and waits for the results, as a list that becomes the application's.
    fn rd_kafka_share_commit_sync(rkshare: Option<&ShareHandle>, timeout: Timeout, to: *mut *mut PartitionList)
        -> Option<Owned<ErrorHandle>>, or no_handle_error();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { ffi::put(to, std::ptr::null_mut()) };
        let result = call(rkshare, |share, consumer| match to.is_null() {
            true => Err(Error::invalid_arg("The pointer for the results is NULL")),
            false => commit_sync(share, consumer, timeout),
        });
        ErrorHandle::from_result(result.map(|list| {
            // SAFETY: as above.
            unsafe { ffi::put(to, list.into_c()) };
        }))
    }

    /// Sets the acknowledgement commit callback; NULL removes it.
    fn rd_kafka_share_set_acknowledgement_commit_cb(
        rkshare: Option<&ShareHandle>, callback: Option<AcknowledgementCommitCb>, opaque: Opaque,
    ) -> Option<Owned<ErrorHandle>>, or no_handle_error(); {
        ErrorHandle::from_result(call(rkshare, |share, consumer| {
            share.set_commit_callback(callback, opaque);
            consumer.set_acknowledgement_events(callback.is_some());
            Ok(())
        }))
    }
}
