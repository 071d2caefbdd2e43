//! The consumer protocol (KIP-848).
//!
//! - `member`: the member: heartbeats, responses, reconciliation;
//! - `heartbeat_subscription`: topic names and patterns.

mod heartbeat_subscription;
mod member;
#[cfg(test)]
mod tests;

pub(super) use member::ConsumerMember;
