//! The events of a world.

use std::net::SocketAddr;

use bytes::Bytes;
use ottla_core::connection::{ConnId, LookupId, TlsFailure, WorkId};
use ottla_core::sasl::SaslWork;
use ottla_core::work::Work;
use ottla_mock::{BrokerId, CoordinatorKind};
use ottla_protocol::ApiKey;

use crate::plan::{AdminFault, FaultKind, GroupFault, SaslFault, ShareFault, TransactionFault};

/// An event at some time.
#[derive(Debug)]
pub(crate) enum WorldEvent {
    /// A turn of a client's thread.
    Drive(usize),
    /// A turn of a client's application.
    App(usize),
    /// A turn of a client's admin caller.
    Caller(usize),
    /// The arrival of bytes at a broker.
    Up {
        number: u64,
        piece: Bytes,
    },
    /// The end of a broker's side of a connection.
    UpClosed {
        number: u64,
    },
    /// A client's kernel gives up a dead connection.
    GivenUp {
        number: u64,
    },
    /// The arrival of bytes or of an end at a client.
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
    /// The network has let go of the memory of a connection that a client has closed.
    Released {
        client: usize,
        conn: ConnId,
    },
    /// The end of a look at a client's certificate files.
    Looked {
        client: usize,
    },
    /// The end of a client's work of authentication that blocks.
    SaslWorked {
        client: usize,
        work: WorkId,
        job: SaslWork,
    },
    /// The end of a job that a client has handed out.
    JobEnds {
        client: usize,
        work: Work,
    },
    /// An application answers a request for a token.
    TokenAnswer(usize),
    Connecting {
        client: usize,
        conn: ConnId,
        addr: SocketAddr,
        /// With TLS, the renewals of the client's certificates before.
        renewals: Option<usize>,
    },
    Connected {
        number: u64,
    },
    /// The broker's part of a TLS handshake.
    Handshake {
        number: u64,
    },
    Refused {
        client: usize,
        conn: ConnId,
    },
    /// A timer of the cluster.
    Cluster,
    /// The start of a member of a group.
    Member(usize),
    /// The start of a member of a share group.
    ShareMember(usize),
    /// The world writes records for share groups.
    ShareWrite,
    /// The start of a worker of transactions.
    Worker(usize),
    /// The start of a process of an application.
    Process {
        slot: usize,
        starts: u32,
    },
    /// The end of a client's freeze.
    Thaw(usize),
    Fault(FaultEvent),
    /// A check of the phase.
    Phase,
}

/// A fault, or the end of one.
#[derive(Debug, Clone)]
pub(crate) enum FaultEvent {
    /// A fault of this kind, with the mean time to the next one.
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
    /// The end of stale metadata of a broker.
    EndLag(BrokerId),
    StrikeGroup(GroupFault, u64),
    EndCoordinatorError(String),
    StrikeTransaction(TransactionFault, u64),
    EndBlock(CoordinatorKind, String),
    StrikeSasl(SaslFault, u64),
    StrikeAdmin(AdminFault, u64),
    StrikeShare(ShareFault, u64),
    EndShareStateError(String),
    EndSessionLimit,
    /// The brokers know a client's current password.
    RestoreUser(usize),
    /// A client's application sets its current password.
    SetLogin(usize),
}

/// Bytes or an end on their way to a client.
#[derive(Debug, Clone)]
pub(crate) enum Downlink {
    Bytes(Bytes),
    /// The TLS handshake is complete.
    Secured,
    /// TLS fails.
    TlsFailed(TlsFailure),
    /// The broker closes in an orderly way.
    Close,
    /// The connection breaks.
    Reset(&'static str),
}
