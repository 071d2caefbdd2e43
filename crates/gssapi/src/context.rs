//! The exchange with an acceptor.

use std::fmt;
use std::ptr;

use crate::abi::{BufferDesc, CONTINUE_NEEDED, ContextHandle, INTEGRITY, KERBEROS, MUTUAL, SEQUENCE};
use crate::buffer::OutputBuffer;
use crate::credential::Credential;
use crate::library::Library;
use crate::name::Name;
use crate::status::Error;

/// The result of a step.
#[derive(Debug, PartialEq, Eq)]
pub struct Progress {
    /// The token for the acceptor; empty when there is none.
    pub token: Vec<u8>,
    /// The context is established: both sides are authenticated.
    pub complete: bool,
}

/// A security context that this process initiates. Order of calls: [`step`](Self::step) with no token, then with each token
/// of the acceptor until it is complete, then [`wrap`](Self::wrap) and [`unwrap`](Self::unwrap).
pub struct Context {
    library: &'static Library,
    /// Null before the first step.
    handle: ContextHandle,
    acceptor: Name,
    complete: bool,
}

// SAFETY: a context has no ties to a thread. It is not `Sync`: one thread uses it at a time.
unsafe impl Send for Context {}

impl Context {
    /// Returns a context with the service `service` on `host`. The library maps `host` to a realm, and to another name
    /// only when `krb5.conf` requires that.
    ///
    /// # Errors
    /// [`Error`] for names that the library refuses.
    pub fn new(library: &'static Library, service: &str, host: &str) -> Result<Self, Error> {
        Ok(Context {
            library,
            handle: ptr::null_mut(),
            acceptor: Name::service(library, service, host)?,
            complete: false,
        })
    }

    /// Handles a token of the acceptor; `None` begins. Blocks while the KDC is asked for a ticket of the service.
    ///
    /// # Errors
    /// [`Error`] when there is no ticket, when the token is not valid, and when the acceptor does not authenticate itself.
    /// The exchange cannot continue.
    pub fn step(&mut self, credential: &Credential, token: Option<&[u8]>) -> Result<Progress, Error> {
        if self.complete {
            return Err(Error::invalid("the context is complete"));
        }
        let (mut minor, mut flags) = (0, 0);
        let mut input = BufferDesc::borrow(token.unwrap_or_default());
        let mut output = OutputBuffer::new(self.library);
        // SAFETY: credential, name and input live until the end of the function, and the library only reads them.
        // `handle` is null or a live context of this object. The out-parameters are live variables or null, which the
        // library allows for the mechanism and the lifetime.
        let major = unsafe {
            (self.library.functions.gss_init_sec_context)(
                &raw mut minor,
                credential.handle(),
                &raw mut self.handle,
                self.acceptor.handle(),
                &raw const KERBEROS,
                MUTUAL | SEQUENCE | INTEGRITY,
                0,
                ptr::null_mut(),
                &raw mut input,
                ptr::null_mut(),
                output.as_out(),
                &raw mut flags,
                ptr::null_mut(),
            )
        };
        self.library.check(major, minor)?;
        self.complete = major & CONTINUE_NEEDED == 0;
        if self.complete && flags & (MUTUAL | INTEGRITY) != MUTUAL | INTEGRITY {
            self.complete = false;
            return Err(Error::invalid("the acceptor did not authenticate itself"));
        }
        Ok(Progress {
            token: output.to_vec(),
            complete: self.complete,
        })
    }

    /// Returns a message with a checksum, not encrypted.
    ///
    /// # Errors
    /// [`Error`] before the context is complete.
    pub fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.require_complete()?;
        let mut minor = 0;
        let mut input = BufferDesc::borrow(message);
        let mut output = OutputBuffer::new(self.library);
        // SAFETY: `handle` is a live, established context; `message` lives until the end of the function and is only read;
        // the out-parameters are live variables or null, which the library allows for the state.
        let major = unsafe {
            (self.library.functions.gss_wrap)(
                &raw mut minor,
                self.handle,
                0,
                0,
                &raw mut input,
                ptr::null_mut(),
                output.as_out(),
            )
        };
        self.library.check(major, minor)?;
        Ok(output.to_vec())
    }

    /// Returns the message of a token, after its checksum was verified.
    ///
    /// # Errors
    /// [`Error`] before the context is complete, and for a token that was not wrapped by the acceptor.
    pub fn unwrap(&mut self, token: &[u8]) -> Result<Vec<u8>, Error> {
        self.require_complete()?;
        let mut minor = 0;
        let mut input = BufferDesc::borrow(token);
        let mut output = OutputBuffer::new(self.library);
        // SAFETY: as in `wrap`.
        let major = unsafe {
            (self.library.functions.gss_unwrap)(
                &raw mut minor,
                self.handle,
                &raw mut input,
                output.as_out(),
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        self.library.check(major, minor)?;
        Ok(output.to_vec())
    }

    fn require_complete(&self) -> Result<(), Error> {
        match self.complete {
            true => Ok(()),
            false => Err(Error::invalid("the context is not complete")),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: `handle` is null, which the library accepts, or a context that is deleted only here. No token for the
        // acceptor is wanted.
        unsafe {
            (self.library.functions.gss_delete_sec_context)(&raw mut minor, &raw mut self.handle, ptr::null_mut());
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("complete", &self.complete)
            .finish_non_exhaustive()
    }
}
