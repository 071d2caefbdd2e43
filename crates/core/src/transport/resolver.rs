//! Name look-ups. `getaddrinfo` blocks, so a thread that lives while there are look-ups calls it; literal addresses need
//! none.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use super::system::{AddressFamily, ResolveHook};
use super::worker::Worker;
use crate::connection::{LookupId, NetEvent};
use crate::sys::Waker;

/// No limit: the duration of a callback is up to the application.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

struct Job {
    lookup: LookupId,
    host: String,
    port: u16,
    /// The result is the names of the addresses.
    names: bool,
}

impl Job {
    fn event(&self, addrs: Result<Vec<SocketAddr>, String>) -> NetEvent {
        let lookup = self.lookup;
        match self.names {
            true => NetEvent::Names {
                lookup,
                result: addrs.map(|addrs| names_of(&addrs)),
            },
            false => NetEvent::Resolved { lookup, result: addrs },
        }
    }
}

/// Returns the canonical names of addresses, each once; for an address without a name, the address.
fn names_of(addrs: &[SocketAddr]) -> Vec<String> {
    let mut names = Vec::new();
    for addr in addrs {
        let ip = addr.ip();
        let name = dns_lookup::lookup_addr(&ip).unwrap_or_else(|_| ip.to_string());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Looks names up without blocking the caller.
pub struct Resolver {
    worker: Worker<Job, NetEvent>,
    family: AddressFamily,
    /// The application's `resolve_cb` looks up names, literal addresses included.
    by_application: bool,
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}

impl Resolver {
    /// Returns a resolver that calls `waker` when a result is there. `hook` replaces the operating system's look-up.
    pub fn new(waker: Arc<dyn Waker>, family: AddressFamily, hook: Option<ResolveHook>) -> Self {
        let by_application = hook.is_some();
        let worker = Worker::new("ottla-dns", waker, move |job: Job| {
            let result = match &hook {
                Some(hook) => hook(&job.host, job.port, family).and_then(|addrs| pick(family, addrs.into_iter())),
                None => match (job.host.as_str(), job.port).to_socket_addrs() {
                    Ok(addrs) => pick(family, addrs),
                    Err(e) => Err(e.to_string()),
                },
            };
            job.event(result)
        });
        Resolver {
            worker,
            family,
            by_application,
        }
    }

    /// Looks up the addresses of a name. [`take_results`](Self::take_results) returns the result, at once for a literal
    /// address.
    pub fn look_up(&self, lookup: LookupId, host: String, port: u16) {
        if !self.by_application
            && let Ok(ip) = host.parse::<IpAddr>()
        {
            let result = pick(self.family, [SocketAddr::new(ip, port)].into_iter());
            return self.worker.add_result(NetEvent::Resolved { lookup, result });
        }
        let names = false;
        self.submit(Job {
            lookup,
            host,
            port,
            names,
        });
    }

    /// Looks up the canonical names of a name's addresses. [`take_results`](Self::take_results) returns the result.
    pub fn look_up_names(&self, lookup: LookupId, host: String, port: u16) {
        let names = true;
        self.submit(Job {
            lookup,
            host,
            port,
            names,
        });
    }

    fn submit(&self, job: Job) {
        self.worker
            .submit(job, |job, e| job.event(Err(format!("no thread for the look-up: {e}"))));
    }

    /// Waits for a `resolve_cb` that is running: the application's code must not run after the client's end. A look-up by
    /// the operating system is not waited for.
    pub fn finish(&self) {
        if self.by_application {
            self.worker.finish(FOREVER);
        }
    }

    /// Removes and returns the results.
    pub fn take_results(&self) -> Vec<NetEvent> {
        self.worker.take_results()
    }
}

/// Returns the addresses of the family, each once, or the cause for which there are none.
fn pick(family: AddressFamily, addrs: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, String> {
    let mut out: Vec<SocketAddr> = Vec::new();
    let mut other_family = false;
    for addr in addrs {
        if !family.includes(&addr) {
            other_family = true;
        } else if !out.contains(&addr) {
            out.push(addr);
        }
    }
    match (out.is_empty(), other_family) {
        (false, _) => Ok(out),
        (true, true) => Err("the name has addresses, but none of the family in broker.address.family".into()),
        (true, false) => Err("the name has no address".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoWaker;
    impl Waker for NoWaker {
        fn wake(&self) {}
    }

    fn resolve(family: AddressFamily, host: &str) -> Result<Vec<SocketAddr>, String> {
        let r = Resolver::new(Arc::new(NoWaker), family, None);
        r.look_up(LookupId(1), host.into(), 9);
        for _ in 0..2000 {
            if let Some(NetEvent::Resolved { result, .. }) = r.take_results().pop() {
                return result;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err("no result".into())
    }

    #[test]
    fn literal_addresses_need_no_thread() {
        let r = Resolver::new(Arc::new(NoWaker), AddressFamily::Any, None);
        r.look_up(LookupId(1), "::1".into(), 9);
        assert_eq!(r.take_results().len(), 1);
        assert!(
            resolve(AddressFamily::V6, "127.0.0.1")
                .unwrap_err()
                .contains("broker.address.family")
        );
    }

    #[test]
    fn canonical_names_are_those_of_the_addresses() {
        let r = Resolver::new(Arc::new(NoWaker), AddressFamily::V4, None);
        r.look_up_names(LookupId(1), "127.0.0.1".into(), 9);
        let event = (0..2000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(5));
            r.take_results().pop()
        });
        let Some(NetEvent::Names { result: Ok(names), .. }) = event else {
            panic!("{event:?}")
        };
        // The loopback address has a name on systems with a hosts file.
        assert_eq!(names, names_of(&[([127, 0, 0, 1], 9).into()]));
        assert_eq!(names.len(), 1);
    }

    #[test]
    fn the_name_of_an_address_without_one_is_the_address() {
        // TEST-NET-1, which has no names.
        let addr = SocketAddr::from(([192, 0, 2, 1], 9));
        assert_eq!(names_of(&[addr, addr]), ["192.0.2.1"]);
    }

    #[test]
    fn names_are_looked_up_and_filtered() {
        let v4 = resolve(AddressFamily::V4, "localhost").unwrap();
        assert!(!v4.is_empty() && v4.iter().all(SocketAddr::is_ipv4));
        assert!(resolve(AddressFamily::Any, "no-such-host.invalid").is_err());
    }
}
