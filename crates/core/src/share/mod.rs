//! Share consumers (KIP-932): members of share groups, which read partitions together and acknowledge single records.
//!
//! [`ShareConsumer`] is the manager that the core drives. Modules import one another in one direction, from the top of this
//! list to its end:
//!
//! - `manager`: commands, membership, the end;
//! - `sessions`: the share sessions with all brokers: what to send, and responses;
//! - `requests`, `response`: requests and responses of a session;
//! - `session`: the session with one broker;
//! - `member`: the membership of the group;
//! - `demand`: when to fetch;
//! - `batch_builder`: from a response's data to acquired records;
//! - `held`: the records that a session holds, with their acquisitions;
//! - `acknowledgements`: acknowledgements on their way to a broker, and their results;
//! - `application`: the application's side: the rules of its calls;
//! - `delivered`: records that the application has not acknowledged yet;
//! - `shared_state`: the state that is shared with the application's thread;
//! - `command`, `acknowledge_type`, `settings`: vocabulary.

mod acknowledge_type;
mod acknowledgements;
mod application;
mod batch_builder;
mod command;
mod delivered;
mod demand;
mod held;
mod manager;
mod member;
mod requests;
mod response;
mod session;
mod sessions;
mod settings;
mod shared_state;
#[cfg(test)]
mod tests;

pub use acknowledge_type::AcknowledgeType;
pub use application::{Application, Poll};
pub use command::{AcknowledgedRange, Command, CommitCall, CommitResults, PartitionAcknowledgements};
pub use delivered::Delivered;
pub use manager::ShareConsumer;
pub use sessions::Received;
pub use shared_state::SharedState;
