//! The interface between the connection layer and the network: actions for it, and events from it.
//!
//! The transport (sockets) and the simulator (a virtual network) both implement it. The events of a connection are
//! [`Connected`](NetEvent::Connected), then [`Secured`](NetEvent::Secured) when TLS was requested, then
//! [`Written`](NetEvent::Written) and [`Received`](NetEvent::Received) in any number, and
//! [`Closed`](NetEvent::Closed) at any point as the last one.

use std::net::SocketAddr;

use bytes::Bytes;
use ottla_protocol::Frame;

use crate::sasl::{SaslWork, SaslWorkResult};

/// The id of an attempt to connect and of the connection that results. Never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnId(pub u64);

/// The id of a name look-up. Never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LookupId(pub u64);

/// The id of a work of authentication. Never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkId(pub u64);

/// An action for the network.
#[derive(Debug)]
pub enum NetAction {
    /// Looks up a name; answered by [`NetEvent::Resolved`].
    Resolve {
        /// The look-up.
        lookup: LookupId,
        /// A host name or a literal IPv4 or IPv6 address.
        host: String,
        /// The port for the resulting addresses.
        port: u16,
    },
    /// Looks up a name and the names of its addresses; answered by [`NetEvent::Names`].
    ResolveNames {
        /// The look-up.
        lookup: LookupId,
        /// A host name or a literal IPv4 or IPv6 address.
        host: String,
        /// The port for the look-up of addresses.
        port: u16,
    },
    /// Opens a connection; answered by [`NetEvent::Connected`] or [`NetEvent::Closed`].
    Connect {
        /// The connection.
        conn: ConnId,
        /// The address to connect to.
        addr: SocketAddr,
        /// The broker's name, `host:port/id`, for an application that connects by itself.
        broker: String,
        /// The peer of the TLS session; `None` for plain TCP.
        tls: Option<TlsPeer>,
    },
    /// Looks at the files of certificates and keys, and uses those that have changed for the connections that follow;
    /// answered by [`NetEvent::CertificatesRefreshed`]. Connections whose [`Connect`](Self::Connect) comes later are opened
    /// after that.
    RefreshCertificates,
    /// Carries out work of authentication that may block, on another thread, in the order of these actions; answered by
    /// [`NetEvent::SaslWorkDone`].
    SaslWork {
        /// The work's id.
        work: WorkId,
        /// The work.
        job: SaslWork,
    },
    /// Writes a frame (length prefix included) after those of earlier actions. Sent only on a connection that is connected
    /// and, with TLS, secured.
    Send {
        /// The connection.
        conn: ConnId,
        /// The frame.
        frame: Frame,
    },
    /// Closes a connection at once and drops what waits to be written.
    Close {
        /// The connection.
        conn: ConnId,
        /// Answer with [`NetEvent::Released`]; otherwise no event follows.
        acknowledge: bool,
    },
}

/// An event on the network.
#[derive(Debug)]
pub enum NetEvent {
    /// A name was looked up.
    Resolved {
        /// The look-up.
        lookup: LookupId,
        /// At least one address, or the cause of the failure.
        result: Result<Vec<SocketAddr>, String>,
    },
    /// The names of a name's addresses were looked up.
    Names {
        /// The look-up.
        lookup: LookupId,
        /// At least one name (the address itself where it has none), or the cause of the failure.
        result: Result<Vec<String>, String>,
    },
    /// The TCP connection is open. With TLS the handshake begins.
    Connected {
        /// The connection.
        conn: ConnId,
        /// The socket's descriptor, for interceptors; -1 where there is none.
        socket: i32,
    },
    /// The TLS handshake is complete, and the peer's certificate was accepted.
    Secured {
        /// The connection.
        conn: ConnId,
        /// The parameters of the TLS session.
        session: TlsSession,
    },
    /// Texts for the log about TLS handshakes, for example that a client certificate was not sent.
    TlsNotes(Vec<String>),
    /// The result of [`NetAction::RefreshCertificates`].
    CertificatesRefreshed(CertificateRefresh),
    /// Work of authentication has ended.
    SaslWorkDone {
        /// The work's id.
        work: WorkId,
        /// Its result.
        result: SaslWorkResult,
    },
    /// The kernel took bytes. Both counts start at zero with the connection. With TLS a frame is begun when its first byte
    /// is encrypted, and done when the kernel has taken all of its records; the transport reads none of its memory then.
    Written {
        /// The connection.
        conn: ConnId,
        /// Frames of which at least one byte was taken.
        begun: u64,
        /// Frames that were taken whole.
        done: u64,
    },
    /// A whole frame arrived.
    Received {
        /// The connection.
        conn: ConnId,
        /// The frame without its length prefix.
        body: Bytes,
    },
    /// A connection was closed with [`NetAction::Close`] and `acknowledge`: the network reads no memory of its frames any
    /// more. Sent for a connection that has ended by itself, too.
    Released {
        /// The connection.
        conn: ConnId,
    },
    /// The connection could not be opened, or has ended: the network reads no memory of its frames any more.
    Closed {
        /// The connection.
        conn: ConnId,
        /// The cause.
        reason: CloseReason,
    },
}

/// The peer of a TLS session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsPeer {
    /// The host name or address that its certificate must have, as configured or advertised.
    pub host: String,
    /// The broker's id for the application's verify callback; -1 while it is not known.
    pub broker_id: i32,
}

/// The parameters of a TLS session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TlsSession {
    /// The protocol version, such as `TLSv1.3`.
    pub version: String,
    /// The cipher suite by its IANA name.
    pub cipher_suite: String,
    /// The session was resumed.
    pub resumed: bool,
    /// Subject, issuer and end of validity of the peer's certificate, as text.
    pub peer: Option<String>,
}

/// The result of a look at the files of certificates and keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CertificateRefresh {
    /// Nothing has changed.
    Unchanged,
    /// New connections use changed certificates. The texts are warnings about them.
    Renewed(Vec<String>),
    /// The changed files cannot be used, for the cause in the text; the certificates before stay in use. Reported once for
    /// each change.
    Failed(String),
}

/// The cause for which the network ended a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CloseReason {
    /// The peer closed it in an orderly way.
    PeerClosed,
    /// The peer closed it in the middle of a frame.
    CutShort {
        /// Bytes of the frame that had arrived, its length prefix included.
        got: usize,
        /// Bytes of the whole frame; `None` when the length prefix was incomplete.
        of: Option<usize>,
    },
    /// The operating system reported an error: refused, reset, unreachable …
    Io(String),
    /// The peer sent bytes that no Kafka broker sends; the text describes them.
    NotKafka(String),
    /// TLS failed, in the handshake or later.
    Tls(TlsFailure),
}

/// The cause of a TLS failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TlsFailure {
    /// The peer sent a fatal alert with this number (RFC 8446, section 6).
    Alert(u8),
    /// The peer closed the connection during the handshake or answered with something other than TLS: probably a plaintext
    /// listener.
    NotTls,
    /// The peer's certificate was refused; the text gives the cause.
    Certificate(String),
    /// Another failure; the text describes it.
    Other(String),
}
