//! The records and acknowledgements of share groups, as checkers name them.

use ottla_protocol::Uuid;

use crate::message::MessageId;

/// A share partition: the group, the topic's id, and the partition's number.
pub(crate) type SharePartitionId = (String, Uuid, i32);

/// The acknowledgement of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShareAck {
    Accept,
    Release,
    Reject,
    Renew,
}

/// A record that an application sees.
#[derive(Debug, Clone)]
pub(crate) struct SeenRecord {
    pub(crate) partition: SharePartitionId,
    pub(crate) offset: i64,
    pub(crate) delivery_count: i32,
    pub(crate) broker: i32,
    /// The arrival of its batch at the client.
    pub(crate) received_us: u64,
    pub(crate) id: MessageId,
}
