//! The consumer protocol (KIP-848).
//!
//! - `member`: the member: heartbeats, responses, reconciliation;
//! - `heartbeat`: the state of heartbeats;
//! - `heartbeat_subscription`: topic names and patterns;
//! - `partitions`: sets of partitions by topic id;
//! - `topic_names`: topic ids to names.

mod heartbeat;
mod heartbeat_subscription;
mod member;
mod partitions;
#[cfg(test)]
mod tests;
mod topic_names;

pub(super) use member::ConsumerMember;
