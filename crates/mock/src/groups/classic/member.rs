//! One member of a classic group.

use bytes::Bytes;
use ottla_protocol::api::join_group::JoinGroupRequest;

use crate::ids::DelayedId;
use crate::request::Context;
use crate::timers::TimerId;

/// An assignor that a member supports, with what it tells its leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Protocol {
    pub(crate) name: String,
    pub(crate) metadata: Bytes,
}

impl Protocol {
    /// Those of a request, in the member's order of preference. The metadata is copied: it must not keep the whole
    /// input buffer for the life of the group.
    pub(crate) fn list(request: &JoinGroupRequest) -> Vec<Self> {
        let protocols = request.protocols.iter();
        let copied = protocols.map(|p| Self {
            name: p.name.clone(),
            metadata: Bytes::copy_from_slice(&p.metadata),
        });
        copied.collect()
    }
}

/// How long a member may take to join again. Version 0 has no rebalance timeout of its own.
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
    /// The JoinGroup request that waits for the generation to begin. Its connection may be gone: the member counts as
    /// joined all the same, as for Kafka.
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

    /// Takes over what the member says with each request to join.
    pub(crate) fn take_request(&mut self, request: &JoinGroupRequest, protocols: Vec<Protocol>) {
        self.session_timeout_ms = request.session_timeout_ms;
        self.rebalance_timeout_ms = rebalance_timeout_ms(request);
        self.protocols = protocols;
    }

    pub(crate) fn supports(&self, protocol: &str) -> bool {
        self.protocols.iter().any(|p| p.name == protocol)
    }

    /// What the member says for an assignor; empty when it does not support it.
    pub(crate) fn metadata(&self, protocol: &str) -> Bytes {
        let found = self.protocols.iter().find(|p| p.name == protocol);
        found.map_or_else(Bytes::new, |p| p.metadata.clone())
    }

    /// True while the member waits for the coordinator.
    pub(crate) fn is_waiting(&self) -> bool {
        self.awaiting_join.is_some() || self.awaiting_sync.is_some()
    }
}
