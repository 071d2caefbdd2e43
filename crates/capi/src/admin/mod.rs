//! Admin calls. Objects say what is asked for; the call copies them, and its result comes to a queue as an event.

mod common;
pub mod configs;
pub mod groups;
pub mod listing;
pub mod options;
pub mod results;
pub mod topics;

use ottla::admin::Request;

use crate::ffi;
use crate::handle::Handle;
use crate::queue::QueueHandle;
use options::AdminOptions;

/// Begins a call. Whatever is wrong with it comes to the queue as well, if there is a client to say so.
fn begin<R>(
    rk: &Handle,
    what: Option<Vec<R>>,
    request: impl FnOnce(Vec<R>) -> Request,
    options: Option<&AdminOptions>,
    queue: &QueueHandle,
) {
    // A request for nothing is refused, and so is one of which a part cannot be read.
    let request = request(what.unwrap_or_default());
    let (options, opaque) = options.map(AdminOptions::to_core).unwrap_or_default();
    match rk.need_client() {
        Ok(client) => client.send_admin_request(request, options, queue.queue().clone(), opaque),
        Err(error) => {
            ffi::note(&error);
        }
    }
}
