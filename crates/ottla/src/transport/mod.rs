//! Sockets and name look-ups: carries out [`NetAction`](crate::connection::NetAction)s and reports
//! [`NetEvent`](crate::connection::NetEvent)s.

mod resolver;
mod tcp;

pub use resolver::{AddressFamily, Resolver};
pub(crate) use tcp::WAKE;
pub use tcp::{Poller, SocketOptions, TcpTransport};
