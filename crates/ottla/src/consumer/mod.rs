//! The consumer: which partitions are read, from where, and by whom.
//!
//! [`Consumer`] is the manager that the core drives. It hands each matter to the part that owns it:
//!
//! - `assignment`: which partitions are consumed, for `assign` and for the simple API;
//! - `rebalancing`: the same as the group wants it, by the application or without it;
//! - `positions`: where each of them stands: looking up its offset, fetching, paused, waiting after an error;
//! - `fetcher`: one Fetch request under way per leader, with all its partitions that want records;
//! - `fetch_response`: record data to chunks: checks, decompression, aborted transactions;
//! - `validation`: positions that a leader's log may not have any more;
//! - `missing`: partitions that metadata does not have;
//! - `list_offsets`: offsets for BEGINNING, END and timestamps;
//! - `offset_files`: offsets kept in local files;
//! - `group`: coordinator, membership, commits.
//!
//! [`SharedState`] is what the application's threads share with it.

mod assignment;
mod command;
#[path = "consumer.rs"]
mod facade;
mod fetch_exchange;
mod fetch_news;
mod fetch_response;
mod fetch_session;
mod fetch_settings;
mod fetch_step;
mod fetcher;
mod group;
mod list_offsets;
mod missing;
mod offset_files;
mod positions;
mod rebalancing;
mod shared_state;
mod statistics;
#[cfg(test)]
mod tests;
mod validation;

pub use command::{Command, CommitTarget, OffsetsResult};
pub use facade::{Consumer, Setup, TopicSource};
pub use group::RebalanceProtocol;
pub use list_offsets::ListOffsets;
pub use offset_files::{FileAction, FileEvent, OffsetFile};
pub use shared_state::{GroupInfo, SharedState};
pub use statistics::Received;

/// A number of milliseconds from a setting; nothing for a negative one.
fn millis(value: impl TryInto<u64>) -> u64 {
    value.try_into().unwrap_or(0)
}

/// A setting as the protocol's 32-bit number.
fn int32(value: impl TryInto<i32>) -> i32 {
    value.try_into().unwrap_or(i32::MAX)
}
