//! `socket_cb`, `connect_cb`, `closesocket_cb`, `open_cb` and `resolve_cb`: callbacks that replace calls of the
//! operating system.

use std::ffi::{CStr, c_int};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ottla_core::event::expect_callbacks;
use ottla_core::transport::{
    Access, AddressFamily, CloseHook, ConnectHook, OpenHook, ResolveHook, SocketHook, SystemHooks,
};

use crate::callbacks::{Callbacks, CloseSocketCb, ConnectCb, Opaque, OpenCb, ResolveCb, SocketCb};
use crate::cancel_guard;
use crate::ffi::{c_text, set_errno};

/// A callback of the application with its opaque pointer.
#[derive(Clone, Copy)]
struct Call<F>(F, Opaque);

// SAFETY: the pointer is never dereferenced here, only passed to the function.
unsafe impl<F> Send for Call<F> {}
// SAFETY: as above.
unsafe impl<F> Sync for Call<F> {}

impl<F: Copy> Call<F> {
    /// Returns both parts. A closure that calls this captures the whole `Call`, which is `Send`; one that uses the fields
    /// captures them one by one, and the pointer alone is not `Send`.
    fn parts(&self) -> (F, Opaque) {
        (self.0, self.1)
    }
}

/// Permissions of created files, as for open(2).
const MODE: libc::mode_t = 0o644;

/// Builds the hooks that replace calls of the operating system.
pub fn hooks(callbacks: &Callbacks) -> SystemHooks {
    let opaque = callbacks.opaque;
    if callbacks.socket.is_some() || callbacks.connect.is_some() || callbacks.closesocket.is_some() {
        expect_callbacks();
    }
    SystemHooks {
        socket: callbacks.socket.map(|call| socket_hook(Call(call, opaque))),
        connect: callbacks.connect.map(|call| connect_hook(Call(call, opaque))),
        close: callbacks.closesocket.map(|call| close_hook(Call(call, opaque))),
        open: callbacks.open.map(|call| open_hook(Call(call, opaque))),
        resolve: callbacks.resolve.map(|call| resolve_hook(Call(call, opaque))),
        shield: Some(cancel_guard::shield),
    }
}

/// Converts the result of a callback: a descriptor, or a negative number with the cause in `errno`.
fn descriptor(fd: c_int, callback: &str) -> io::Result<OwnedFd> {
    if fd >= 0 {
        // SAFETY: the callback opened it for the library.
        return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    let error = io::Error::last_os_error();
    Err(match error.raw_os_error() {
        Some(0) => io::Error::other(format!("{callback} returned {fd} and left no errno")),
        _ => error,
    })
}

fn socket_hook(call: Call<SocketCb>) -> SocketHook {
    Arc::new(move |domain, kind, protocol| {
        let (callback, opaque) = call.parts();
        set_errno(0);
        // SAFETY: the application's function.
        descriptor(unsafe { callback(domain, kind, protocol, opaque) }, "socket_cb")
    })
}

fn connect_hook(call: Call<ConnectCb>) -> ConnectHook {
    Arc::new(move |socket, addr, broker| {
        let (callback, opaque) = call.parts();
        let broker = c_text(broker);
        let len = c_int::try_from(addr.len()).unwrap_or(0);
        // SAFETY: the application's function; address and name are valid during the call.
        let result = unsafe { callback(socket.as_raw_fd(), addr.as_ptr().cast(), len, broker.as_ptr(), opaque) };
        match result {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    })
}

fn close_hook(call: Call<CloseSocketCb>) -> CloseHook {
    Arc::new(move |socket| {
        let (callback, opaque) = call.parts();
        // SAFETY: the application's function, which closes the socket; its failure is ignored.
        unsafe { callback(socket.into_raw_fd(), opaque) };
    })
}

fn open_hook(call: Call<OpenCb>) -> OpenHook {
    Arc::new(move |path: &Path, access| {
        let (callback, opaque) = call.parts();
        let flags = libc::O_CLOEXEC
            | match access {
                Access::Read => libc::O_RDONLY,
                Access::Write => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
            };
        let path = c_text(path.as_os_str().as_bytes());
        set_errno(0);
        // SAFETY: the application's function; the path is valid during the call.
        descriptor(unsafe { callback(path.as_ptr(), flags, MODE, opaque) }, "open_cb").map(File::from)
    })
}

fn resolve_hook(call: Call<ResolveCb>) -> ResolveHook {
    Arc::new(move |host, port, family| {
        let (callback, opaque) = call.parts();
        let (host, service) = (c_text(host), c_text(port.to_string()));
        // SAFETY: all bits zero is a valid `addrinfo`.
        let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
        hints.ai_family = match family {
            AddressFamily::Any => libc::AF_UNSPEC,
            AddressFamily::V4 => libc::AF_INET,
            AddressFamily::V6 => libc::AF_INET6,
        };
        hints.ai_socktype = libc::SOCK_STREAM;
        hints.ai_protocol = libc::IPPROTO_TCP;
        hints.ai_flags = libc::AI_ADDRCONFIG;
        let mut found: *mut libc::addrinfo = std::ptr::null_mut();
        // SAFETY: the application's function; its arguments are valid during the call.
        let result = unsafe {
            callback(
                host.as_ptr(),
                service.as_ptr(),
                &raw const hints,
                &raw mut found,
                opaque,
            )
        };
        if result != 0 {
            // SAFETY: a constant string.
            let why = unsafe { CStr::from_ptr(libc::gai_strerror(result)) };
            return Err(why.to_string_lossy().into_owned());
        }
        let (no_name, no_hints) = (std::ptr::null(), std::ptr::null());
        // SAFETY: the callback returned this list. A call with NULL for host and service makes the callback free it.
        unsafe {
            let addrs = addresses(found, port);
            callback(no_name, no_name, no_hints, &raw mut found, opaque);
            Ok(addrs)
        }
    })
}

/// Returns the IPv4 and IPv6 addresses of a list. `port` replaces the port 0.
///
/// # Safety
/// `at` is NULL or a list as getaddrinfo(3) returns it.
unsafe fn addresses(mut at: *const libc::addrinfo, port: u16) -> Vec<SocketAddr> {
    let mut found = Vec::new();
    // SAFETY: guaranteed by the caller; the layout of an address is that of its family.
    while let Some(info) = unsafe { at.as_ref() } {
        at = info.ai_next;
        let Some(addr) = (unsafe { info.ai_addr.as_ref() }) else {
            continue;
        };
        let mut addr = match i32::from(addr.sa_family) {
            libc::AF_INET => {
                // SAFETY: as above.
                let v4 = unsafe { info.ai_addr.cast::<libc::sockaddr_in>().read_unaligned() };
                let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
                SocketAddr::V4(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)))
            }
            libc::AF_INET6 => {
                // SAFETY: as above.
                let v6 = unsafe { info.ai_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
                let (ip, port) = (Ipv6Addr::from(v6.sin6_addr.s6_addr), u16::from_be(v6.sin6_port));
                SocketAddr::V6(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id))
            }
            _ => continue,
        };
        if addr.port() == 0 {
            addr.set_port(port);
        }
        found.push(addr);
    }
    found
}
