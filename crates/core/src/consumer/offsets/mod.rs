//! Offsets: looked up at leaders, kept by the group's coordinator, or kept in local files.
//!
//! - `lookup`: the fetcher's look-ups, whichever part serves them;
//! - `list_offsets`: BEGINNING, END and timestamps, from leaders;
//! - `offset_fetch`: committed offsets, from the coordinator;
//! - `commits`: commits to the coordinator, automatic ones included;
//! - `commit_identity`: the member as which offsets are committed and fetched;
//! - `messages`: OffsetCommit and OffsetFetch in all versions;
//! - `files`: offsets in local files.

mod commit_identity;
mod commits;
mod files;
mod list_offsets;
mod lookup;
mod messages;
mod offset_fetch;

pub(super) use commit_identity::{CommitIdentity, GroupIdentity};
pub(super) use commits::{Commits, ErrorEffects, Purpose};
pub use files::{FileAction, FileEvent, OffsetFile};
pub(super) use files::{OffsetFiles, is_kept_in_file};
pub use list_offsets::ListOffsets;
pub(super) use lookup::{FoundOffset, OffsetLookup};
pub(super) use offset_fetch::{OffsetFetches, Requester};
