//! The log of the requests that the brokers received.

use ottla_core::error::ErrorCode;
use ottla_mock::{ClientAction, Cluster, Recorded};

use super::note;
use crate::ffi::{self, FromC, IntoC, Owned, Tag, Tagged, boxed, exports};
use crate::mock_cluster::MockCluster;

/// `rd_kafka_mock_request_t`
#[repr(C)]
pub struct RequestHandle {
    tag: Tag,
    broker: i32,
    api: i16,
    at_us: i64,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for RequestHandle {
    const TAG: u32 = 0x0e44_0a41;
}

/// Returns copies of the recorded requests.
fn requests(mcluster: &MockCluster) -> Result<Vec<RequestHandle>, ErrorCode> {
    let request = |entry: &Recorded| match entry.what {
        ClientAction::Request { api, .. } => Some(RequestHandle {
            tag: Tag::new(RequestHandle::TAG),
            broker: entry.broker.0,
            api: api.0,
            at_us: mcluster.clock_us(entry.at),
        }),
        ClientAction::Connected | ClientAction::Disconnected { .. } => None,
    };
    mcluster.with(|cluster| cluster.recorded().iter().filter_map(request).collect())
}

/// Moves handles to a malloc'ed array. Returns NULL when there are none or no memory.
fn handed_over(handles: Vec<RequestHandle>) -> *mut *mut RequestHandle {
    if handles.is_empty() {
        return std::ptr::null_mut();
    }
    // SAFETY: calloc has no preconditions; the result is checked.
    let array: *mut *mut RequestHandle = unsafe { libc::calloc(handles.len(), size_of::<*mut RequestHandle>()) }.cast();
    if array.is_null() {
        return array;
    }
    for (index, handle) in handles.into_iter().enumerate() {
        // SAFETY: the array has room for all handles.
        unsafe { array.add(index).write(boxed(handle).into_c()) };
    }
    array
}

fn begin(cluster: &mut Cluster) {
    cluster.clear_record();
    cluster.record();
}

exports! {
    /// Empties the log and starts it.
    fn rd_kafka_mock_start_request_tracking(mcluster: &MockCluster) {
        note(mcluster.with(begin));
    }

    /// Stops the log, which keeps its requests.
    fn rd_kafka_mock_stop_request_tracking(mcluster: &MockCluster) {
        note(mcluster.with(|cluster| cluster.stop_recording()));
    }

    /// Returns copies of the requests.
    fn rd_kafka_mock_get_requests(mcluster: &MockCluster, cntp: *mut usize)
        -> *mut *mut RequestHandle, or std::ptr::null_mut();
    {
        if cntp.is_null() {
            ffi::set_last_error(ErrorCode::L_INVALID_ARG, libc::EINVAL);
            return std::ptr::null_mut();
        }
        let found = requests(mcluster);
        note(found.as_ref().map(|_| ()).map_err(|code| *code));
        let found = found.unwrap_or_default();
        let count = found.len();
        let array = handed_over(found);
        // SAFETY: the caller's out-parameter.
        unsafe { ffi::put(cntp, if array.is_null() { 0 } else { count }) };
        array
    }

    /// Empties the log.
    fn rd_kafka_mock_clear_requests(mcluster: &MockCluster) {
        note(mcluster.with(|cluster| cluster.clear_record()));
    }

    /// Frees a request; NULL is fine.
    fn rd_kafka_mock_request_destroy(mreq: *mut RequestHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<RequestHandle>>::from_c(mreq) });
    }

    /// Frees an array of requests and the requests.
    fn rd_kafka_mock_request_destroy_array(mreqs: *mut *mut RequestHandle, count: usize) {
        if mreqs.is_null() {
            return;
        }
        for index in 0..count {
            // SAFETY: an array of `rd_kafka_mock_get_requests()` with this many elements.
            drop(unsafe { <Owned<RequestHandle>>::from_c(*mreqs.add(index)) });
        }
        // SAFETY: as above, so malloc'ed.
        unsafe { libc::free(mreqs.cast()) };
    }

    /// Returns the broker that received a request.
    fn rd_kafka_mock_request_id(mreq: &RequestHandle) -> i32, or -1; {
        mreq.broker
    }

    /// Returns the API of a request.
    fn rd_kafka_mock_request_api_key(mreq: &RequestHandle) -> i16, or -1; {
        mreq.api
    }

    /// Returns the time of a request's arrival in microseconds.
    fn rd_kafka_mock_request_timestamp(mreq: &RequestHandle) -> i64, or -1; {
        mreq.at_us
    }
}
