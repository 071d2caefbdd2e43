//! Membership of groups whose coordinator computes the assignment: what members of the consumer protocol (KIP-848) and of
//! share groups (KIP-932) have in common.
//!
//! - [`Heartbeat`]: when the next heartbeat is sent, and what the coordinator has acknowledged;
//! - [`HeartbeatError`]: the handling of error codes in responses to heartbeats;
//! - [`Partitions`]: sets of partitions by topic id;
//! - [`TopicNames`]: topic ids to names;
//! - [`new_member_id`]: ids of members.
//!
//! Members of classic groups use the following parts, too:
//!
//! - [`PollWatch`], [`max_poll_exceeded`]: `max.poll.interval.ms`;
//! - [`TopicErrors`]: errors of subscribed topics;
//! - [`CoordinatorConnection`]: the connection to the coordinator.

mod coordinator_connection;
mod heartbeat;
mod heartbeat_error;
mod member_id;
mod partitions;
mod poll_watch;
mod topic_errors;
mod topic_names;

pub(crate) use coordinator_connection::{CoordinatorConnection, GRACE_MS};
pub(crate) use heartbeat::Heartbeat;
pub(crate) use heartbeat_error::HeartbeatError;
pub(crate) use member_id::new_member_id;
pub(crate) use partitions::Partitions;
pub(crate) use poll_watch::{PollWatch, max_poll_exceeded};
pub(crate) use topic_errors::TopicErrors;
pub(crate) use topic_names::TopicNames;
