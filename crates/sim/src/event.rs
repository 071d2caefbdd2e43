//! The events of a world.

use std::net::SocketAddr;

use bytes::Bytes;
use ottla::connection::{ConnId, LookupId};
use ottla_mock::{BrokerId, CoordinatorKind};
use ottla_protocol::ApiKey;

use crate::plan::{FaultKind, GroupFault, TransactionFault};

/// What happens at some time.
#[derive(Debug)]
pub(crate) enum WorldEvent {
    /// A client's thread gets its turn.
    Drive(usize),
    /// A client's application gets its turn.
    App(usize),
    /// Bytes reach a broker.
    Up {
        number: u64,
        piece: Bytes,
    },
    /// A broker's side of a connection ends.
    UpClosed {
        number: u64,
    },
    /// A client's kernel gives up a connection that went dead.
    GivenUp {
        number: u64,
    },
    /// Something reaches a client.
    Down {
        number: u64,
        down: Downlink,
    },
    Resolved {
        client: usize,
        lookup: LookupId,
        host: String,
        port: u16,
        fails: bool,
    },
    Connecting {
        client: usize,
        conn: ConnId,
        addr: SocketAddr,
    },
    Connected {
        number: u64,
    },
    Refused {
        client: usize,
        conn: ConnId,
    },
    /// The cluster has something to do.
    Cluster,
    /// A member of a group is to be started.
    Member(usize),
    /// A worker of transactions is to be started.
    Worker(usize),
    /// A client that was frozen goes on.
    Thaw(usize),
    Fault(FaultEvent),
    /// Looks how far the world is.
    Phase,
}

/// Something to be done about faults at some time.
#[derive(Debug, Clone)]
pub(crate) enum FaultEvent {
    /// A fault of this kind, and another one later.
    Strike(FaultKind, u64),
    MakeTopic(String),
    StartBroker(BrokerId),
    Thaw(BrokerId),
    Reach(BrokerId),
    Elect(String, i32),
    EndThrottle(ApiKey),
    EndTopicError(String),
    EndPartitionError(ApiKey, String, i32),
    EndHints,
    /// A broker's metadata stays as it is no longer.
    EndLag(BrokerId),
    StrikeGroup(GroupFault, u64),
    EndCoordinatorError(String),
    StrikeTransaction(TransactionFault, u64),
    EndBlock(CoordinatorKind, String),
}

/// What travels to a client.
#[derive(Debug, Clone)]
pub(crate) enum Downlink {
    Bytes(Bytes),
    /// The broker closes in order.
    Close,
    /// The connection breaks.
    Reset(&'static str),
}
