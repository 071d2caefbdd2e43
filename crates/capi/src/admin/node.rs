//! `rd_kafka_Node_t`: a broker in results.

use std::ffi::{CString, c_char};

use ottla_core::admin::Node;

use super::common::text_address;
use crate::ffi::{Tag, Tagged, c_text, exports};

/// `rd_kafka_Node_t`
#[repr(C)]
pub struct NodeHandle {
    tag: Tag,
    id: i32,
    host: Option<CString>,
    port: u16,
    rack: Option<CString>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for NodeHandle {
    const TAG: u32 = 0x0e44_0a14;
}

impl From<&Node> for NodeHandle {
    fn from(node: &Node) -> Self {
        NodeHandle {
            tag: Tag::new(Self::TAG),
            id: node.id.0,
            host: (!node.host.is_empty()).then(|| c_text(node.host.as_str())),
            port: node.port,
            rack: node.rack.as_deref().map(c_text),
        }
    }
}

exports! {
    /// Returns the broker's id.
    fn rd_kafka_Node_id(node: &NodeHandle) -> i32, or -1; {
        node.id
    }

    /// Returns its host; NULL for a broker of which only the id is known.
    fn rd_kafka_Node_host(node: &NodeHandle) -> *const c_char, or std::ptr::null(); {
        text_address(node.host.as_ref())
    }

    /// Returns its port; 0 for a broker of which only the id is known.
    fn rd_kafka_Node_port(node: &NodeHandle) -> u16, or 0; {
        node.port
    }

    /// Returns its rack; NULL if it has none.
    fn rd_kafka_Node_rack(node: &NodeHandle) -> *const c_char, or std::ptr::null(); {
        text_address(node.rack.as_ref())
    }
}
