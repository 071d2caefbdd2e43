//! `rd_kafka_RaftVoterEndpoint_t`: an address of a voter of the metadata quorum.

use std::ffi::{CString, c_char};

use ottla_core::admin::RaftEndpoint;

use super::common::{destroy_array, text_of};
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};

/// `rd_kafka_RaftVoterEndpoint_t`
#[repr(C)]
pub struct EndpointHandle {
    tag: Tag,
    listener: CString,
    host: CString,
    port: u16,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for EndpointHandle {
    const TAG: u32 = 0x0e44_100f;
}

impl EndpointHandle {
    pub(super) fn from_core(endpoint: &RaftEndpoint) -> Self {
        EndpointHandle {
            tag: Tag::new(Self::TAG),
            listener: c_text(endpoint.listener.as_str()),
            host: c_text(endpoint.host.as_str()),
            port: endpoint.port,
        }
    }

    pub(super) fn to_core(&self) -> RaftEndpoint {
        RaftEndpoint {
            listener: text_of(&self.listener),
            host: text_of(&self.host),
            port: self.port,
        }
    }
}

exports! {
    /// Returns an address of a voter; NULL for an empty listener or host, and for port 0.
    fn rd_kafka_RaftVoterEndpoint_new(listener: &str, host: &str, port: u16)
        -> Option<Owned<EndpointHandle>>, or None;
    {
        if listener.is_empty() || host.is_empty() || port == 0 {
            return None;
        }
        Some(boxed(EndpointHandle {
            tag: Tag::new(EndpointHandle::TAG),
            listener: c_text(listener),
            host: c_text(host),
            port,
        }))
    }

    /// Frees an address; NULL is fine.
    fn rd_kafka_RaftVoterEndpoint_destroy(endpoint: *mut EndpointHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<EndpointHandle>>::from_c(endpoint) });
    }

    /// Frees each of an array.
    fn rd_kafka_RaftVoterEndpoint_destroy_array(endpoints: *mut *mut EndpointHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(endpoints, count) };
    }

    /// Returns the name of the listener.
    fn rd_kafka_RaftVoterEndpoint_listener(endpoint: &EndpointHandle) -> *const c_char, or std::ptr::null(); {
        endpoint.listener.as_ptr()
    }

    /// Returns the host.
    fn rd_kafka_RaftVoterEndpoint_host(endpoint: &EndpointHandle) -> *const c_char, or std::ptr::null(); {
        endpoint.host.as_ptr()
    }

    /// Returns the port.
    fn rd_kafka_RaftVoterEndpoint_port(endpoint: &EndpointHandle) -> u16, or 0; {
        endpoint.port
    }
}
