//! The broker that a request is for.

use std::fmt;

use crate::error::ErrorCode;
use crate::types::{NodeId, TopicPartition};

/// A kind of coordinator, FindCoordinator's key type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CoordinatorType {
    /// Of a consumer group.
    Group,
    /// Of a transactional id (KIP-98).
    Transaction,
}

impl CoordinatorType {
    /// Returns the key type's number in FindCoordinator.
    pub fn key_type(self) -> i8 {
        match self {
            CoordinatorType::Group => 0,
            CoordinatorType::Transaction => 1,
        }
    }
}

impl fmt::Display for CoordinatorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CoordinatorType::Group => "consumer groups",
            CoordinatorType::Transaction => "transactions",
        })
    }
}

/// The broker that a request is for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Target {
    /// Any broker.
    Any,
    /// The controller.
    Controller,
    /// The broker with this id.
    Broker(NodeId),
    /// The leader of a partition whose topic the manager watches.
    Leader(TopicPartition),
    /// The coordinator of a group or of a transactional id.
    Coordinator(CoordinatorType, String),
}

impl Target {
    /// Returns whether a response's error code means that another broker is the target by now, so that the client's
    /// knowledge of it is to be refreshed before the next attempt.
    pub fn has_moved(&self, code: ErrorCode) -> bool {
        match self {
            Target::Any | Target::Broker(_) => false,
            Target::Controller => code == ErrorCode::NOT_CONTROLLER,
            Target::Leader(_) => code.action().refreshes_metadata(),
            Target::Coordinator(..) => {
                matches!(code, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE)
            }
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Any => f.write_str("any broker"),
            Target::Controller => f.write_str("the controller"),
            Target::Broker(node) => write!(f, "broker {node}"),
            Target::Leader(partition) => write!(f, "the leader of {partition}"),
            Target::Coordinator(CoordinatorType::Group, name) => write!(f, "the coordinator of group {name}"),
            Target::Coordinator(CoordinatorType::Transaction, name) => {
                write!(f, "the coordinator of transactional id {name}")
            }
        }
    }
}
