//! The type of `rd_kafka_share_t`.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Weak};

use ottla_core::client::ShareConsumer;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::Event;
use parking_lot::Mutex;

use super::callback::AcknowledgementCommitCb;
use super::gate::{Gate, Inside};
use crate::callbacks::Opaque;
use crate::errors::ErrorHandle;
use crate::ffi::{Owned, Tag, Tagged};
use crate::handle::Handle;
use crate::serve;

/// `rd_kafka_share_t`
#[repr(C)]
pub struct ShareHandle {
    tag: Tag,
    /// The client, which callbacks receive as `rd_kafka_t`.
    handle: Arc<Handle>,
    /// `None` once it is destroyed.
    consumer: Gate<Option<ShareConsumer>>,
    commit_callback: Mutex<Option<CommitCallback>>,
}

/// The acknowledgement commit callback with its pointer.
#[derive(Clone, Copy)]
struct CommitCallback(AcknowledgementCommitCb, Opaque);

// SAFETY: a function and a pointer that is only passed to it.
unsafe impl Send for CommitCallback {}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ShareHandle {
    const TAG: u32 = 0x0e44_0a20;

    fn is_own(&self) -> bool {
        self.handle.is_own()
    }
}

thread_local! {
    /// The share consumer whose acknowledgement commit callback this thread is in.
    static IN_CALLBACK: Cell<*const ShareHandle> = const { Cell::new(std::ptr::null()) };
}

/// The calling thread is the only one that uses the share consumer.
pub struct Entered<'a>(Inside<'a, Option<ShareConsumer>>);

impl Deref for Entered<'_> {
    type Target = Option<ShareConsumer>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Entered<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Entered<'_> {
    /// Returns the share consumer.
    ///
    /// # Errors
    /// `L_STATE` if it is destroyed.
    pub fn consumer(&mut self) -> Result<&mut ShareConsumer, Error> {
        self.0
            .as_mut()
            .ok_or_else(|| Error::new(ErrorCode::L_STATE, "The share consumer is destroyed"))
    }
}

/// Returns the error for a handle that is NULL or of another type.
pub fn no_handle() -> Error {
    Error::new(
        ErrorCode::L_STATE,
        "The share consumer's handle is NULL, or not that of a live share consumer",
    )
}

/// Returns the error object for a handle that is NULL or of another type.
pub fn no_handle_error() -> Option<Owned<ErrorHandle>> {
    Some(ErrorHandle::from_error(&no_handle()))
}

impl ShareHandle {
    /// Returns the handle of a new share consumer.
    pub fn new(handle: Arc<Handle>, consumer: ShareConsumer) -> Arc<Self> {
        let share = Arc::new(ShareHandle {
            tag: Tag::new(Self::TAG),
            handle: handle.clone(),
            consumer: Gate::new(Some(consumer)),
            commit_callback: Mutex::default(),
        });
        let this: Weak<ShareHandle> = Arc::downgrade(&share);
        handle.set_on_acknowledged(Box::new(move |result| {
            if let Some(share) = this.upgrade() {
                super::callback::call(&share, result);
            }
        }));
        share
    }

    /// Returns the client's handle.
    pub fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// Makes later calls with the handle fail; returns false if it was called before.
    pub fn invalidate(&self) -> bool {
        self.tag.clear()
    }

    /// Starts a call: no other thread is in one.
    ///
    /// # Errors
    /// `L_CONFLICT` while another thread is in a call, `L_STATE` in a callback that this thread serves for it.
    pub fn enter(&self) -> Result<Entered<'_>, Error> {
        if std::ptr::eq(IN_CALLBACK.get(), self) {
            return Err(Error::new(
                ErrorCode::L_STATE,
                "The acknowledgement commit callback cannot call the share consumer",
            ));
        }
        self.consumer.enter().map(Entered)
    }

    /// Sets the acknowledgement commit callback.
    pub fn set_commit_callback(&self, callback: Option<AcknowledgementCommitCb>, opaque: Opaque) {
        *self.commit_callback.lock() = callback.map(|callback| CommitCallback(callback, opaque));
    }

    /// Returns the acknowledgement commit callback.
    pub fn commit_callback(&self) -> Option<(AcknowledgementCommitCb, Opaque)> {
        self.commit_callback.lock().map(|c| (c.0, c.1))
    }

    /// Runs `callback`, in which calls of this thread with the share consumer are refused.
    pub fn in_callback(&self, callback: impl FnOnce()) {
        let outer = IN_CALLBACK.replace(self);
        callback();
        IN_CALLBACK.set(outer);
    }

    /// Calls the application with an event.
    ///
    /// # Errors
    /// A callback called `rd_kafka_yield()`.
    pub fn serve(&self, event: Event) -> Result<(), Error> {
        match serve::serve_event(&self.handle, event) {
            true => Ok(()),
            false => Err(Error::new(ErrorCode::L_INTR, "a callback ended the wait")),
        }
    }
}
