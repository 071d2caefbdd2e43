//! What the application does in place of the operating system: sockets, files, name look-ups.

use std::fmt;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::resolver::AddressFamily;

/// Makes a socket: domain, type and protocol as for socket(2).
pub type SocketHook = Arc<dyn Fn(i32, i32, i32) -> io::Result<OwnedFd> + Send + Sync>;
/// Connects a socket that does not block to an address, for a connection to the broker of that name. Success also when the
/// connection is on its way.
pub type ConnectHook = Arc<dyn Fn(BorrowedFd<'_>, &SockAddr, &str) -> io::Result<()> + Send + Sync>;
/// Closes a socket.
pub type CloseHook = Arc<dyn Fn(OwnedFd) + Send + Sync>;
/// Opens a file.
pub type OpenHook = Arc<dyn Fn(&Path, Access) -> io::Result<File> + Send + Sync>;
/// Looks up the addresses of a name, with the port in them. May block.
pub type ResolveHook = Arc<dyn Fn(&str, u16, AddressFamily) -> Result<Vec<SocketAddr>, String> + Send + Sync>;

/// Does what makes system calls on a thread of the application.
pub type Shield = fn(&mut dyn FnMut());

/// What a file is opened for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// To be read.
    Read,
    /// To be written from its beginning, empty.
    Write,
}

/// What the application does by its own ways; what is `None` the operating system does. Files are opened and names looked
/// up on threads of their own, sockets are made on the client's thread and must not block.
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
    /// For faces of languages in which threads are cancelled in system calls.
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
