//! Sockets, name look-ups and offset files: carries out [`NetAction`](crate::connection::NetAction)s and
//! [`FileAction`](crate::consumer::FileAction)s, and reports [`NetEvent`](crate::connection::NetEvent)s and
//! [`FileEvent`](crate::consumer::FileEvent)s.

mod files;
mod open_stream;
mod outbox;
mod poller;
mod resolver;
mod sasl;
mod socket;
mod stream;
mod system;
mod tcp;
mod tls;
mod worker;

pub use files::Files;
pub use poller::Poller;
pub(crate) use poller::WAKE;
pub use resolver::Resolver;
pub use socket::SocketOptions;
pub use system::{
    Access, AddressFamily, CloseHook, ConnectHook, OpenHook, ResolveHook, Shield, SocketHook, SystemHooks,
};
pub use tcp::TcpTransport;
pub(crate) use worker::worker_threads;
