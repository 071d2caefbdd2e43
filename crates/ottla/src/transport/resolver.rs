//! Name look-ups. `getaddrinfo` blocks, so names are looked up by a thread that lives while there is something to look
//! up; literal addresses need none.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use super::system::ResolveHook;
use super::worker::Worker;
use crate::connection::{LookupId, NetEvent};
use crate::sys::Waker;

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
    fn takes(self, addr: &SocketAddr) -> bool {
        match self {
            AddressFamily::Any => true,
            AddressFamily::V4 => addr.is_ipv4(),
            AddressFamily::V6 => addr.is_ipv6(),
        }
    }
}

/// The application decides how long it takes.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

struct Question {
    lookup: LookupId,
    host: String,
    port: u16,
    /// The names of the addresses are wanted, not the addresses.
    names: bool,
}

impl Question {
    fn answered(&self, addrs: Result<Vec<SocketAddr>, String>) -> NetEvent {
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

/// The canonical names of addresses, each once; an address without a name stands for itself.
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
    worker: Worker<Question, NetEvent>,
    family: AddressFamily,
    /// The application looks names up, addresses as well.
    by_application: bool,
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}

impl Resolver {
    /// A resolver that calls `waker` when an answer is there; `hook` takes the operating system's place.
    pub fn new(waker: Arc<dyn Waker>, family: AddressFamily, hook: Option<ResolveHook>) -> Self {
        let by_application = hook.is_some();
        let worker = Worker::new("ottla-dns", waker, move |q: Question| {
            let result = match &hook {
                Some(hook) => hook(&q.host, q.port, family).and_then(|addrs| pick(family, addrs.into_iter())),
                None => match (q.host.as_str(), q.port).to_socket_addrs() {
                    Ok(addrs) => pick(family, addrs),
                    Err(e) => Err(e.to_string()),
                },
            };
            q.answered(result)
        });
        Resolver {
            worker,
            family,
            by_application,
        }
    }

    /// Asks; the answer comes from [`take_answers`](Self::take_answers), at once for literal addresses.
    pub fn ask(&self, lookup: LookupId, host: String, port: u16) {
        if !self.by_application
            && let Ok(ip) = host.parse::<IpAddr>()
        {
            let result = pick(self.family, [SocketAddr::new(ip, port)].into_iter());
            return self.worker.answer(NetEvent::Resolved { lookup, result });
        }
        let names = false;
        self.put(Question {
            lookup,
            host,
            port,
            names,
        });
    }

    /// Asks for the canonical names of a name's addresses; the answer comes from [`take_answers`](Self::take_answers).
    pub fn ask_names(&self, lookup: LookupId, host: String, port: u16) {
        let names = true;
        self.put(Question {
            lookup,
            host,
            port,
            names,
        });
    }

    fn put(&self, question: Question) {
        self.worker.ask(question, |q, e| {
            q.answered(Err(format!("no thread for the look-up: {e}")))
        });
    }

    /// Waits for the application's code, which must not be called any more. The operating system's is left to itself.
    pub fn finish(&self) {
        if self.by_application {
            self.worker.finish(FOREVER);
        }
    }

    /// The answers that are there.
    pub fn take_answers(&self) -> Vec<NetEvent> {
        self.worker.take_answers()
    }
}

fn pick(family: AddressFamily, addrs: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, String> {
    let mut out: Vec<SocketAddr> = Vec::new();
    let mut other_family = false;
    for addr in addrs {
        if !family.takes(&addr) {
            other_family = true;
        } else if !out.contains(&addr) {
            out.push(addr);
        }
    }
    match (out.is_empty(), other_family) {
        (false, _) => Ok(out),
        (true, true) => {
            Err("the name has addresses, but none of the family that broker.address.family asks for".into())
        }
        (true, false) => Err("the name has no address".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;
    impl Waker for Nobody {
        fn wake(&self) {}
    }

    fn ask(family: AddressFamily, host: &str) -> Result<Vec<SocketAddr>, String> {
        let r = Resolver::new(Arc::new(Nobody), family, None);
        r.ask(LookupId(1), host.into(), 9);
        for _ in 0..2000 {
            if let Some(NetEvent::Resolved { result, .. }) = r.take_answers().pop() {
                return result;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err("no answer".into())
    }

    #[test]
    fn literals_need_no_thread() {
        let r = Resolver::new(Arc::new(Nobody), AddressFamily::Any, None);
        r.ask(LookupId(1), "::1".into(), 9);
        assert_eq!(r.take_answers().len(), 1);
        assert!(
            ask(AddressFamily::V6, "127.0.0.1")
                .unwrap_err()
                .contains("broker.address.family")
        );
    }

    #[test]
    fn canonical_names_are_those_of_the_addresses() {
        let r = Resolver::new(Arc::new(Nobody), AddressFamily::V4, None);
        r.ask_names(LookupId(1), "127.0.0.1".into(), 9);
        let answer = (0..2000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(5));
            r.take_answers().pop()
        });
        let Some(NetEvent::Names { result: Ok(names), .. }) = answer else {
            panic!("{answer:?}")
        };
        // The loopback address has a name wherever there is a hosts file, and stands for itself elsewhere.
        assert_eq!(names, names_of(&[([127, 0, 0, 1], 9).into()]));
        assert_eq!(names.len(), 1);
    }

    #[test]
    fn an_address_without_a_name_stands_for_itself() {
        // TEST-NET-1, which has no names.
        let addr = SocketAddr::from(([192, 0, 2, 1], 9));
        assert_eq!(names_of(&[addr, addr]), ["192.0.2.1"]);
    }

    #[test]
    fn names_are_looked_up_and_filtered() {
        let v4 = ask(AddressFamily::V4, "localhost").unwrap();
        assert!(!v4.is_empty() && v4.iter().all(SocketAddr::is_ipv4));
        assert!(ask(AddressFamily::Any, "no-such-host.invalid").is_err());
    }
}
