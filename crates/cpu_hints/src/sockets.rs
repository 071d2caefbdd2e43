//! An option of sockets that the standard library and `socket2` do not have.

use std::os::fd::BorrowedFd;

/// Sets `SO_RCVLOWAT`: the socket becomes readable when it holds this number of bytes, when its buffer is full, or when the
/// peer has ended the stream. Returns false if the system refuses it; sockets without the option ignore it.
#[cfg(target_os = "linux")]
pub fn set_receive_low_water(socket: BorrowedFd<'_>, bytes: usize) -> bool {
    use std::os::fd::AsRawFd;
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open while it is borrowed, and the option's value is read during the call only.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const value).cast(),
            size,
        )
    };
    result == 0
}

/// Does nothing: elsewhere the rules of the option are not those above.
#[cfg(not(target_os = "linux"))]
pub fn set_receive_low_water(_: BorrowedFd<'_>, _: usize) -> bool {
    false
}
