//! The processes of applications whose worlds users define (`scenario`).
//!
//! - `process`: a running process: its turns, its faults, its end;
//! - `turn`: the calls of its logic;
//! - `definition`: topics, processes and invariants of an application;
//! - `logs`: the brokers' logs, as invariants compare them.

mod definition;
mod logs;
mod process;
mod turn;

pub use definition::{Clients, Start};
pub use logs::{LoggedRecord, Logs};
pub use turn::{Input, Record, Report, Turn};

pub(crate) use definition::{Definition, Invariant, ProcessDefinition, write_all};
pub(crate) use process::start_process;
