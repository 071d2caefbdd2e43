//! I/O threads that clients of a process share (`io.threads.shared`).
//!
//! Each client keeps its driver, its wake-ups and its poller. The pool owns a poller of its own, in which the clients'
//! pollers are registered: an event of a client's socket, or a wake-up of the client, is an event of the pool.
//!
//! - A *worker* waits for the pool's events (at most one worker at a time, the *leader*), or drives a client for one turn.
//!   The leader drives the clients that it finds ready itself, without a thread switch. It rouses another worker when
//!   clients are ready after half a millisecond of work without a pause, or when a client's last turn was long. At most
//!   `size` workers lead or drive.
//! - The *watcher* is one further thread. A client that blocks its worker, in a callback of the application for example,
//!   would hold up the others. The watcher finds turns that last longer than 50 ms while no worker leads. It excludes
//!   them from the number of workers, so another worker takes over, which is started if there is none. A worker
//!   that is surplus when it returns from a turn ends.
//!
//! The pool begins with its first client and ends with its last; the call that ends the last client joins the threads. The
//! clients of a forked child have a pool of their own.

mod member;
#[cfg(all(test, ottla_loom))]
mod model_tests;
mod process;
mod schedule;
#[cfg(test)]
mod test_events;
#[cfg(all(test, not(ottla_loom)))]
mod tests;
mod workers;

pub(super) use self::member::{Member, Turn};
pub(super) use self::process::{PooledClient, enter};
