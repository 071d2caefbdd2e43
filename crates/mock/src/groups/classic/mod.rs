//! The coordinator's side of the classic group protocol: who is a member, in which generation, with which assignment.
//!
//! ```text
//!            first member joins             all have joined, or the time is up
//!   Empty ─────────────────────▶ Preparing ────────────────────────────▶ Completing
//!     ▲                         rebalance ◀──────────┐                    rebalance
//!     │ nobody is left               ▲               └─ somebody joins or    │
//!     └──────────────────────────────┤                  leaves               │ the leader
//!                                    └── somebody joins, leaves ── Stable ◀──┘ brings the assignment
//!                                        or is not heard of
//! ```

mod join;
mod member;
mod membership;
mod sync;

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::ErrorCode;
use ottla_protocol::api::join_group::JoinGroupResponse;
use ottla_protocol::api::sync_group::SyncGroupResponse;

pub(crate) use member::{Member, Protocol, rebalance_timeout_ms};

use crate::timers::TimerId;

/// A group's state, under Kafka's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupState {
    Empty,
    PreparingRebalance,
    CompletingRebalance,
    Stable,
}

impl GroupState {
    /// The name that DescribeGroups and ListGroups give.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
        }
    }
}

/// What became of a JoinGroup request.
pub(crate) enum JoinOutcome {
    Respond(JoinGroupResponse),
    Delayed,
}

/// What became of a SyncGroup request.
pub(crate) enum SyncOutcome {
    Respond(SyncGroupResponse),
    Delayed,
}

#[derive(Debug)]
pub(crate) struct ClassicGroup {
    id: String,
    state: GroupState,
    generation: i32,
    protocol_type: Option<String>,
    protocol_name: Option<String>,
    leader: Option<String>,
    members: BTreeMap<String, Member>,
    /// Members with a `group.instance.id` (KIP-345).
    static_members: BTreeMap<String, String>,
    /// Ids that were handed out and not yet used to join (KIP-394).
    pending: BTreeMap<String, TimerId>,
    /// Members that have not asked for their assignment in this generation.
    pending_sync: BTreeSet<String>,
    join_timer: Option<TimerId>,
    sync_timer: Option<TimerId>,
    /// The first rebalance of an empty group waits for more members: milliseconds that it may still be put off.
    initial_delay_left_ms: Option<i32>,
    new_member_joined: bool,
}

impl ClassicGroup {
    pub(crate) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            state: GroupState::Empty,
            generation: 0,
            protocol_type: None,
            protocol_name: None,
            leader: None,
            members: BTreeMap::new(),
            static_members: BTreeMap::new(),
            pending: BTreeMap::new(),
            pending_sync: BTreeSet::new(),
            join_timer: None,
            sync_timer: None,
            initial_delay_left_ms: None,
            new_member_joined: false,
        }
    }

    /// A group of these members, stable in a generation.
    pub(super) fn with_members(id: &str, generation: i32, protocol_type: &str, members: Vec<Member>) -> Self {
        let instances = members
            .iter()
            .filter_map(|m| Some((m.instance_id.clone()?, m.id.clone())));
        let mut group = Self {
            state: GroupState::Stable,
            generation,
            protocol_type: Some(protocol_type.to_owned()),
            leader: members.first().map(|m| m.id.clone()),
            static_members: instances.collect(),
            members: members.into_iter().map(|m| (m.id.clone(), m)).collect(),
            ..Self::new(id)
        };
        group.protocol_name = group.choose_protocol();
        group
    }

    pub(crate) fn state(&self) -> GroupState {
        self.state
    }

    pub(crate) fn generation(&self) -> i32 {
        self.generation
    }

    pub(crate) fn protocol_type(&self) -> &str {
        self.protocol_type.as_deref().unwrap_or_default()
    }

    /// The assignor in force; empty while there is none.
    pub(crate) fn protocol_name(&self) -> &str {
        self.protocol_name.as_deref().unwrap_or_default()
    }

    /// By member id.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// Checks that a member is one, and the one that holds its instance id.
    fn check_member(&self, member: &str, instance: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(instance) = instance {
            match self.static_members.get(instance) {
                None => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
                Some(holder) if holder != member => return Err(ErrorCode::FENCED_INSTANCE_ID),
                Some(_) => {}
            }
        }
        match self.members.contains_key(member) {
            true => Ok(()),
            false => Err(ErrorCode::UNKNOWN_MEMBER_ID),
        }
    }

    fn check_generation(&self, generation: i32) -> Result<(), ErrorCode> {
        match generation == self.generation {
            true => Ok(()),
            false => Err(ErrorCode::ILLEGAL_GENERATION),
        }
    }
}
