//! A call under way.

use std::fmt;
use std::sync::Arc;

use ottla_core::error::{Error, ErrorCode};
use ottla_core::reply::Reply;

/// An admin call that has begun, with a result of type `T`.
///
/// The client's thread executes the call; [`wait`](Self::wait) returns the result, at the latest at the deadline of
/// [`Options::request_timeout`](super::Options::request_timeout). Several calls that are begun before the first one is
/// awaited run at the same time. A call that is dropped is executed all the same, and its result is lost.
///
/// The deadline belongs to the call and not to the wait: a call has its result or an error soon after it, whether or not the
/// application waits.
#[must_use = "the call has begun, and its errors are in the result that wait() returns"]
pub struct Call<T>(Box<dyn Pending<T>>);

impl<T> Call<T> {
    pub(super) fn new<O, F>(reply: Arc<Reply<Result<O, Error>>>, convert: F) -> Self
    where
        O: Send + 'static,
        F: FnOnce(O) -> Result<T, Error> + Send + 'static,
    {
        Call(Box::new(Converted { reply, convert }))
    }

    /// Returns a call with an error of its arguments.
    pub(super) fn refused(error: Error) -> Self
    where
        T: Send + 'static,
    {
        let reply = Reply::new();
        reply.fill(Err(error));
        Call::new(reply, Ok::<T, Error>)
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// The error of the call as a whole; see [the module](super#errors).
    pub fn wait(self) -> Result<T, Error> {
        self.0.wait()
    }

    /// Returns whether the result is there, so that [`wait`](Self::wait) returns at once.
    pub fn is_done(&self) -> bool {
        self.0.is_done()
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("is_done", &self.is_done())
            .finish_non_exhaustive()
    }
}

/// A call of whichever operation that has a result of type `T`.
trait Pending<T>: Send {
    fn wait(self: Box<Self>) -> Result<T, Error>;
    fn is_done(&self) -> bool;
}

/// The reply with an operation's output, and its conversion to the result of the call.
struct Converted<O, F> {
    reply: Arc<Reply<Result<O, Error>>>,
    convert: F,
}

impl<O, T, F> Pending<T> for Converted<O, F>
where
    O: Send,
    F: FnOnce(O) -> Result<T, Error> + Send,
{
    fn wait(self: Box<Self>) -> Result<T, Error> {
        // The core keeps the deadline, and fills every reply.
        let outcome = self.reply.wait(None);
        let outcome = outcome.unwrap_or_else(|| Err(Error::new(ErrorCode::L_FAIL, "the call was not answered")));
        outcome.and_then(self.convert)
    }

    fn is_done(&self) -> bool {
        self.reply.is_filled()
    }
}
