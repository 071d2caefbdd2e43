//! The ways in which a member acknowledges a record.

/// The acknowledgement of a record (KIP-932, KIP-1222), by its number in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AcknowledgeType {
    /// Processed: the record is not delivered again.
    Accept = 1,
    /// Not processed: the record is available for another delivery, up to the group's limit.
    Release = 2,
    /// Cannot be processed: the record is not delivered again.
    Reject = 3,
    /// Still being processed: the acquisition lock is renewed, and the record still has to be acknowledged. Needs Kafka 4.2.
    Renew = 4,
}

impl AcknowledgeType {
    /// Returns the type with this number.
    pub fn from_number(number: i32) -> Option<Self> {
        match number {
            1 => Some(AcknowledgeType::Accept),
            2 => Some(AcknowledgeType::Release),
            3 => Some(AcknowledgeType::Reject),
            4 => Some(AcknowledgeType::Renew),
            _ => None,
        }
    }
}
