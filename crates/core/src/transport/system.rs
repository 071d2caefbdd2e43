//! Functions of the application that replace those of the operating system: sockets, files, name look-ups.

use std::fmt;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// `broker.address.family`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AddressFamily {
    /// Both.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

impl AddressFamily {
    /// Returns true for an address of the family.
    pub(super) fn includes(self, addr: &SocketAddr) -> bool {
        match self {
            AddressFamily::Any => true,
            AddressFamily::V4 => addr.is_ipv4(),
            AddressFamily::V6 => addr.is_ipv6(),
        }
    }
}

/// Creates a socket from domain, type and protocol as in socket(2).
pub type SocketHook = Arc<dyn Fn(i32, i32, i32) -> io::Result<OwnedFd> + Send + Sync>;
/// Connects a non-blocking socket to an address, for a connection to the broker of that name. Succeeds also while the
/// connection is in progress.
pub type ConnectHook = Arc<dyn Fn(BorrowedFd<'_>, &SockAddr, &str) -> io::Result<()> + Send + Sync>;
/// Closes a socket.
pub type CloseHook = Arc<dyn Fn(OwnedFd) + Send + Sync>;
/// Opens a file.
pub type OpenHook = Arc<dyn Fn(&Path, Access) -> io::Result<File> + Send + Sync>;
/// Looks up the addresses of a name, with the port in them. May block.
pub type ResolveHook = Arc<dyn Fn(&str, u16, AddressFamily) -> Result<Vec<SocketAddr>, String> + Send + Sync>;

/// Runs a function that makes system calls on a thread of the application.
pub type Shield = fn(&mut dyn FnMut());

/// The mode in which a file is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reading.
    Read,
    /// Writing, truncated.
    Write,
}

/// The application's functions; the operating system's are used in place of `None`. `open` and `resolve` run on threads of
/// their own and may block; `socket`, `connect` and `close` run on the client's thread and must not.
#[derive(Clone, Default)]
pub struct SystemHooks {
    /// `socket_cb`
    pub socket: Option<SocketHook>,
    /// `connect_cb`
    pub connect: Option<ConnectHook>,
    /// `closesocket_cb`
    pub close: Option<CloseHook>,
    /// `open_cb`
    pub open: Option<OpenHook>,
    /// `resolve_cb`
    pub resolve: Option<ResolveHook>,
    /// Set by faces of languages in which a thread can be cancelled inside a system call.
    pub shield: Option<Shield>,
}

impl fmt::Debug for SystemHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemHooks")
            .field("socket", &self.socket.is_some())
            .field("connect", &self.connect.is_some())
            .field("close", &self.close.is_some())
            .field("open", &self.open.is_some())
            .field("resolve", &self.resolve.is_some())
            .finish()
    }
}

impl SystemHooks {
    pub(super) fn make_socket(&self, addr: SocketAddr) -> io::Result<Socket> {
        let domain = Domain::for_address(addr);
        match &self.socket {
            None => Socket::new(domain, Type::STREAM, Some(Protocol::TCP)),
            Some(make) => make(domain.into(), Type::STREAM.into(), Protocol::TCP.into()).map(Socket::from),
        }
    }

    pub(super) fn connect(&self, socket: &Socket, addr: SocketAddr, broker: &str) -> io::Result<()> {
        use std::os::fd::AsFd;
        let addr = addr.into();
        let begun = match &self.connect {
            None => socket.connect(&addr),
            Some(connect) => connect(socket.as_fd(), &addr, broker),
        };
        match begun {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock || e.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
            other => other,
        }
    }

    pub(super) fn close(&self, socket: impl Into<OwnedFd>) {
        let socket = socket.into();
        match &self.close {
            None => drop(socket),
            Some(close) => close(socket),
        }
    }

    pub(super) fn open(&self, path: &Path, access: Access) -> io::Result<File> {
        match (&self.open, access) {
            (Some(open), _) => open(path, access),
            (None, Access::Read) => File::open(path),
            (None, Access::Write) => File::create(path),
        }
    }
}
