//! One member of a classic group.

use bytes::Bytes;
use ottla_protocol::api::join_group::JoinGroupRequest;

use crate::ids::DelayedId;
use crate::request::Context;
use crate::timers::TimerId;

/// An assignor that a member supports, with the metadata for the group's leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Protocol {
    pub(crate) name: String,
    pub(crate) metadata: Bytes,
}

impl Protocol {
    /// Reads the protocols of a request in the member's order of preference. Copies the metadata, which must not keep
    /// the whole input buffer for the life of the group.
    pub(crate) fn list(request: &JoinGroupRequest) -> Vec<Self> {
        let protocols = request.protocols.iter();
        let copied = protocols.map(|p| Self {
            name: p.name.clone(),
            metadata: Bytes::copy_from_slice(&p.metadata),
        });
        copied.collect()
    }
}

/// Returns the maximum time for a member to rejoin. Version 0 has no separate rebalance timeout.
pub(crate) fn rebalance_timeout_ms(request: &JoinGroupRequest) -> i32 {
    match request.rebalance_timeout_ms {
        ..0 => request.session_timeout_ms,
        timeout => timeout,
    }
}

/// One member.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) session_timeout_ms: i32,
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) protocols: Vec<Protocol>,
    pub(crate) assignment: Bytes,
    /// The JoinGroup request that waits for the next generation. The member counts as joined even when its connection
    /// is gone, as in Kafka.
    pub(crate) awaiting_join: Option<DelayedId>,
    /// The SyncGroup request that waits for the leader's assignment.
    pub(crate) awaiting_sync: Option<DelayedId>,
    pub(crate) session_timer: Option<TimerId>,
}

impl Member {
    pub(crate) fn new(id: String, context: &Context, request: &JoinGroupRequest, protocols: Vec<Protocol>) -> Self {
        let mut member = Self {
            id,
            instance_id: request.group_instance_id.clone(),
            client_id: context.client_id.clone(),
            session_timeout_ms: 0,
            rebalance_timeout_ms: 0,
            protocols: Vec::new(),
            assignment: Bytes::new(),
            awaiting_join: None,
            awaiting_sync: None,
            session_timer: None,
        };
        member.take_request(request, protocols);
        member
    }

    /// Stores the timeouts and protocols of a request to join.
    pub(crate) fn take_request(&mut self, request: &JoinGroupRequest, protocols: Vec<Protocol>) {
        self.session_timeout_ms = request.session_timeout_ms;
        self.rebalance_timeout_ms = rebalance_timeout_ms(request);
        self.protocols = protocols;
    }

    pub(crate) fn supports(&self, protocol: &str) -> bool {
        self.protocols.iter().any(|p| p.name == protocol)
    }

    /// Returns the metadata for an assignor; empty when the member does not support it.
    pub(crate) fn metadata(&self, protocol: &str) -> Bytes {
        let found = self.protocols.iter().find(|p| p.name == protocol);
        found.map_or_else(Bytes::new, |p| p.metadata.clone())
    }

    /// Returns true while a request of the member is delayed.
    pub(crate) fn is_waiting(&self) -> bool {
        self.awaiting_join.is_some() || self.awaiting_sync.is_some()
    }
}
