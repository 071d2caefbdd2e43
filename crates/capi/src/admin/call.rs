//! The start of an admin call, and its result.

use ottla_core::admin::{AdminResult, Operation};
use ottla_core::error::Error;
use ottla_core::event::Event;

use super::common::Pointers;
use super::options::AdminOptions;
use crate::event::EventHandle;
use crate::ffi;
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// Starts a call. Errors of the arguments arrive in the queue as well, unless the client was destroyed.
pub(super) fn begin<O: Operation>(
    rk: &Handle,
    operation: Result<O, Error>,
    options: Option<&AdminOptions>,
    queue: &QueueHandle,
) {
    let (options, opaque) = options.map(AdminOptions::to_core).unwrap_or_default();
    match (rk.need_client(), operation) {
        (Ok(client), Ok(operation)) => client.begin_admin(operation, options, queue.queue().clone(), opaque),
        (Ok(_), Err(error)) => queue.queue().push(Event::Admin(Box::new(AdminResult {
            operation: O::NAME,
            opaque,
            outcome: Err(error),
        }))),
        (Err(error), _) => {
            ffi::note(&error);
        }
    }
}

/// Returns the event if it is the result of this operation; otherwise NULL.
pub(super) fn result_of(event: &EventHandle, operation: &str) -> *const EventHandle {
    match event.admin_result() {
        Some(result) if result.operation == operation => event,
        _ => std::ptr::null(),
    }
}

/// Returns the handles of an operation's result, made of its output `T` when they are first requested; `None` for a failed
/// call and for another operation's result.
pub(super) fn handles_of<'a, T: 'static, H: for<'t> From<&'t T> + 'static>(
    event: Option<&'a EventHandle>,
    operation: &str,
) -> Option<&'a H> {
    let event = event?;
    let output: &T = event.admin_result().filter(|r| r.operation == operation)?.output()?;
    event.admin_handles(|| H::from(output))
}

/// The handles of an operation whose output is a list.
pub(super) struct RowHandles<H>(Pointers<H>);

impl<R, H: for<'r> From<&'r R>> From<&Vec<R>> for RowHandles<H> {
    fn from(rows: &Vec<R>) -> Self {
        RowHandles(rows.iter().map(H::from).collect())
    }
}

/// Returns the rows `R` of an operation's result as handles.
///
/// # Safety
/// `count` is NULL or valid for writes.
pub(super) unsafe fn rows_of<R: 'static, H: for<'r> From<&'r R> + 'static>(
    event: Option<&EventHandle>,
    operation: &str,
    count: *mut usize,
) -> *mut *const H {
    match handles_of::<Vec<R>, RowHandles<H>>(event, operation) {
        // SAFETY: the caller's out-parameter.
        Some(rows) => unsafe { rows.0.lend(count) },
        // SAFETY: as above.
        None => unsafe { nothing(count) },
    }
}

/// Declares two functions of an operation whose output is a list: one that checks that an event is its result, and one that
/// returns the rows.
macro_rules! results {
    ($op:ident: $take:ident, $give:ident: $row:ty => $handle:ty;) => {
        exports! {
            /// Returns the event as the result of this operation; NULL for other events.
            fn $take(event: &$crate::event::EventHandle)
                -> *const $crate::event::EventHandle, or std::ptr::null();
            {
                $crate::admin::call::result_of(event, <$op as ottla_core::admin::Operation>::NAME)
            }

            /// Returns the results in the order of the call, owned by the event.
            fn $give(result: Option<&$crate::event::EventHandle>, count: *mut usize)
                -> *mut *const $handle, or std::ptr::null_mut();
            {
                let operation = <$op as ottla_core::admin::Operation>::NAME;
                // SAFETY: the caller's out-parameter.
                unsafe { $crate::admin::call::rows_of::<$row, $handle>(result, operation, count) }
            }
        }
    };
}

/// Returns an empty array.
///
/// # Safety
/// `count` is NULL or valid for writes.
pub(super) unsafe fn nothing<T>(count: *mut usize) -> *mut *const T {
    // SAFETY: the caller's out-parameter.
    unsafe { ffi::put(count, 0) };
    std::ptr::null_mut()
}

pub(super) use results;
