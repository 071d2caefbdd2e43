//! Calls of the acknowledgement commit callback.

use ottla_core::event::AcknowledgementResult;

use super::handle::ShareHandle;
use super::offsets::PartitionOffsetsList;
use crate::cancel_guard::CancelGuard;

/// Calls the application with the result of acknowledgements.
pub fn call(share: &ShareHandle, result: &AcknowledgementResult) {
    let Some((callback, opaque)) = share.commit_callback() else {
        return;
    };
    let Some(mut list) = PartitionOffsetsList::of(result) else {
        return;
    };
    let _uncancelled = CancelGuard::new();
    // SAFETY: the application's function; handle and list live during the call.
    share.in_callback(|| unsafe { callback(share, &raw mut list, result.error.0, opaque) });
    list.invalidate();
}
