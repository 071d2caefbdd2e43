//! Sockets, name look-ups and offset files: carries out [`NetAction`](crate::connection::NetAction)s and
//! [`FileAction`](crate::consumer::FileAction)s, and reports [`NetEvent`](crate::connection::NetEvent)s and
//! [`FileEvent`](crate::consumer::FileEvent)s.

mod files;
mod resolver;
mod system;
mod tcp;
mod worker;

pub use files::Files;
pub use resolver::{AddressFamily, Resolver};
pub use system::{Access, CloseHook, ConnectHook, OpenHook, ResolveHook, Shield, SocketHook, SystemHooks};
pub(crate) use tcp::WAKE;
pub use tcp::{Poller, SocketOptions, TcpTransport};
pub(crate) use worker::worker_threads;
