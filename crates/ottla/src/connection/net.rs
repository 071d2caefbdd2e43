//! What the connection layer asks of the network, and what the network answers.
//!
//! The transport (sockets) and the simulator (a virtual network) both speak exactly this.

use std::net::SocketAddr;

use bytes::Bytes;
use ottla_protocol::Frame;

/// One connection attempt and the connection that comes of it. Never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnId(pub u64);

/// One name look-up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LookupId(pub u64);

/// What the network is to do.
#[derive(Debug)]
pub enum NetAction {
    /// Look up a name; answered by [`NetEvent::Resolved`].
    Resolve {
        /// Names the answer.
        lookup: LookupId,
        /// A host name or a literal IPv4 or IPv6 address.
        host: String,
        /// The port that goes into the resulting addresses.
        port: u16,
    },
    /// Look up a name and the names of its addresses; answered by [`NetEvent::Names`].
    ResolveNames {
        /// Names the answer.
        lookup: LookupId,
        /// A host name or a literal IPv4 or IPv6 address.
        host: String,
        /// The port for the look-up of addresses.
        port: u16,
    },
    /// Open a connection; answered by [`NetEvent::Connected`] or [`NetEvent::Closed`].
    Connect {
        /// Names the connection from now on.
        conn: ConnId,
        /// Where to.
        addr: SocketAddr,
        /// The broker's name, `host:port/id`, for an application that connects by itself.
        broker: String,
    },
    /// Write a whole frame (length prefix included) after those given before.
    Send {
        /// Which connection.
        conn: ConnId,
        /// What to write.
        frame: Frame,
    },
    /// Close at once and forget. No event follows.
    Close {
        /// Which connection.
        conn: ConnId,
    },
}

/// What happened on the network.
#[derive(Debug)]
pub enum NetEvent {
    /// A name was looked up.
    Resolved {
        /// The question's name.
        lookup: LookupId,
        /// At least one address, or why there is none.
        result: Result<Vec<SocketAddr>, String>,
    },
    /// The names of a name's addresses were looked up.
    Names {
        /// The question's name.
        lookup: LookupId,
        /// At least one name, the address itself where it has none, or why there is none.
        result: Result<Vec<String>, String>,
    },
    /// A connection is open.
    Connected {
        /// Which connection.
        conn: ConnId,
        /// Its descriptor, for who watches; -1 where there is none.
        socket: i32,
    },
    /// The kernel took bytes. Both counts run from the connection's start.
    Written {
        /// Which connection.
        conn: ConnId,
        /// Frames of which at least one byte was taken.
        begun: u64,
        /// Frames that were taken whole.
        done: u64,
    },
    /// A whole frame came; `body` is what follows the length prefix.
    Received {
        /// Which connection.
        conn: ConnId,
        /// The frame without its length prefix.
        body: Bytes,
    },
    /// The connection could not be opened or is gone. The last event of a connection.
    Closed {
        /// Which connection.
        conn: ConnId,
        /// Why.
        reason: CloseReason,
    },
}

/// Why a connection ended from the network's side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CloseReason {
    /// The peer closed it in an orderly way.
    PeerClosed,
    /// The peer closed it in the middle of a frame.
    CutShort {
        /// Bytes of the frame that had come, its length prefix included.
        got: usize,
        /// Bytes of the whole frame; `None` when not even the length prefix was there.
        of: Option<usize>,
    },
    /// The operating system reported an error: refused, reset, unreachable …
    Io(String),
    /// The peer sent bytes that no Kafka broker sends; the text says what they look like.
    NotKafka(String),
}
