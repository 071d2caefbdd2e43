//! Options of sockets.

use std::io;
use std::time::Duration;

use mio::net::TcpStream;
use socket2::Socket;

/// The `socket.*` settings.
#[derive(Clone, Debug, Default)]
pub struct SocketOptions {
    /// `socket.send.buffer.bytes`; 0 leaves the system's default.
    pub send_buffer: usize,
    /// `socket.receive.buffer.bytes`; 0 leaves the system's default.
    pub receive_buffer: usize,
    /// `socket.keepalive.enable`.
    pub keepalive: bool,
    /// `socket.nagle.disable`.
    pub nodelay: bool,
    /// `receive.message.max.bytes`.
    pub max_frame: usize,
    /// Time for which sent data may stay unacknowledged before the system closes the connection (`TCP_USER_TIMEOUT`);
    /// `None` leaves it to the system's retransmissions, about 15 minutes.
    pub unacknowledged: Option<Duration>,
}

/// Sets the options of a new socket.
pub(super) fn configure(socket: &Socket, options: &SocketOptions) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    #[cfg(target_vendor = "apple")]
    socket.set_nosigpipe(true)?;
    if options.send_buffer > 0 {
        socket.set_send_buffer_size(options.send_buffer)?;
    }
    if options.receive_buffer > 0 {
        socket.set_recv_buffer_size(options.receive_buffer)?;
    }
    socket.set_keepalive(options.keepalive)?;
    socket.set_tcp_nodelay(options.nodelay)
}

/// Sets `TCP_USER_TIMEOUT`, where the system has it, on an open connection: before, it would limit the attempt as well,
/// which has a timeout of its own. A socket of `socket_cb` that is not TCP stays unchanged.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn limit_unacknowledged(stream: &TcpStream, limit: Option<Duration>) {
    let _ = socket2::SockRef::from(stream).set_tcp_user_timeout(limit);
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn limit_unacknowledged(_: &TcpStream, _: Option<Duration>) {}
