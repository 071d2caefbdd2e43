//! Worlds for applications: an application's own logic runs in simulated worlds with the faults of this simulator, and
//! invariants of its own check the result. `docs/TESTING.md` introduces them.
//!
//! A [`Scenario`] has topics, processes and invariants. A process has a consumer, a producer, or both, and a closure that is
//! its logic. The simulator calls the closure again and again in virtual time; each call is a [`Turn`], in which the process
//! takes records, produces, commits, and returns. Nothing in a turn waits, so that everything that may happen between two
//! calls of a client can happen between two turns.
//!
//! In the phase of faults, brokers crash, freeze and lose connections; leaders and coordinators move; requests fail, hang or
//! are answered late; processes crash, stall, and are stopped for longer than their sessions (`SIGSTOP`). A process that has
//! crashed is started again: it gets another closure, and everything that it kept in memory is gone. No fault loses a
//! committed record, so a correct application keeps its invariants.
//!
//! ```
//! use ottla_sim::scenario::{Clients, Input, Scenario};
//!
//! let copies = Scenario::new()
//!     .topic("in", 2)
//!     .topic("out", 2)
//!     .input("in", (0..20).map(|number| number.to_string()))
//!     .process("copier", Clients::new().consumer("copiers", &["in"], &[]).producer(&[]), |_| {
//!         |turn| {
//!             while let Some(input) = turn.poll() {
//!                 if let Input::Record(record) = input {
//!                     turn.produce("out", b"", &record.value.unwrap_or_default()).expect("space in the queue");
//!                 }
//!             }
//!         }
//!     })
//!     .eventually("every record is copied", |logs| {
//!         let copies = logs.texts("out");
//!         match (0..20).find(|number| !copies.contains(&number.to_string())) {
//!             None => Ok(()),
//!             Some(number) => Err(format!("{number} is missing")),
//!         }
//!     });
//! // The copier commits automatically, also offsets of records whose copies are not acknowledged. Some world finds a record
//! // that is lost by that.
//! let failure = copies.check(1..=300).unwrap_err();
//! println!("{failure}");
//! ```
//!
//! A failed world is repeated with its seed: the same seed always has the same world, and [`Scenario::trace`] writes all of
//! its events. Decisions of a closure may therefore depend on nothing but its turns: not on the time of the machine, on
//! random numbers of its own ([`Turn::random`] has some), on the order of a `HashMap`, or on other threads.

pub use crate::application::{Failure, Scenario};
pub use crate::processes::{Clients, Input, LoggedRecord, Logs, Record, Report, Start, Turn};
