//! Admin calls. Objects describe a request; the call copies them, and its result arrives in a queue as an event.

mod common;
pub mod configs;
pub mod groups;
pub mod listing;
pub mod options;
pub mod results;
pub mod topics;

use ottla_core::admin::Request;

use crate::ffi;
use crate::handle::Handle;
use crate::queue::QueueHandle;
use options::AdminOptions;

/// Starts a call. Errors of the request arrive in the queue as well, unless the client was destroyed.
fn begin<R>(
    rk: &Handle,
    what: Option<Vec<R>>,
    request: impl FnOnce(Vec<R>) -> Request,
    options: Option<&AdminOptions>,
    queue: &QueueHandle,
) {
    // The core refuses an empty request; one with an invalid handle is sent as empty.
    let request = request(what.unwrap_or_default());
    let (options, opaque) = options.map(AdminOptions::to_core).unwrap_or_default();
    match rk.need_client() {
        Ok(client) => client.send_admin_request(request, options, queue.queue().clone(), opaque),
        Err(error) => {
            ffi::note(&error);
        }
    }
}
