//! The consumer: assignment, fetching, group membership, offsets.
//!
//! [`Consumer`] is the manager that the core drives. Modules import one another in one direction, from the top of this list
//! to its end:
//!
//! - `statistics`: the consumer's statistics;
//! - `manager`: commands, and the exchange of results between parts;
//! - `rebalancing`: changes of the assignment that the group requires;
//! - `consumption`: the assignment, the simple API, and operations on single partitions;
//! - [`fetch`]: from consumed partitions to records in their queues;
//! - [`group`]: coordinator and membership;
//! - [`offsets`]: look-ups, commits, offset files;
//! - `shared_state`: the state that is shared with the application's threads;
//! - `command`, `rebalance_protocol`, `queues`: vocabulary.

mod command;
mod consumption;
mod fetch;
mod group;
mod manager;
mod offsets;
mod queues;
mod rebalance_protocol;
mod rebalancing;
mod shared_state;
mod statistics;

pub use command::{Command, CommitTarget, OffsetsResult};
pub use fetch::Received;
pub use manager::{Consumer, Setup};
pub use offsets::{FileAction, FileEvent, ListOffsets, OffsetFile};
pub use rebalance_protocol::RebalanceProtocol;
pub use shared_state::{GroupInfo, SharedState};
