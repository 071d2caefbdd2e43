//! The operations of access control.

use crate::admin::ops::named::named;

/// An operation that access control allows or denies, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AclOperation(pub i8);

named! { AclOperation is "operation":
    /// In filters: any operation.
    ANY = 1,
    /// All operations.
    ALL = 2,
    /// Reading records or committed offsets.
    READ = 3,
    /// Writing records.
    WRITE = 4,
    /// Creating topics or tokens.
    CREATE = 5,
    /// Deleting topics, records or groups.
    DELETE = 6,
    /// Altering partitions, access control entries or credentials.
    ALTER = 7,
    /// Describing.
    DESCRIBE = 8,
    /// Requests between brokers.
    CLUSTER_ACTION = 9,
    /// Describing settings.
    DESCRIBE_CONFIGS = 10,
    /// Changing settings.
    ALTER_CONFIGS = 11,
    /// Writing as an idempotent producer; since Kafka 2.8 [`WRITE`](Self::WRITE) includes it (KIP-679).
    IDEMPOTENT_WRITE = 12,
    /// Creating delegation tokens of a user (KIP-373).
    CREATE_TOKENS = 13,
    /// Describing delegation tokens of a user (KIP-373).
    DESCRIBE_TOKENS = 14,
    /// Transactions that an external coordinator commits (KIP-939).
    TWO_PHASE_COMMIT = 15,
}

/// Returns the operations of a bit field of the protocol; `None` if the broker has sent none (KIP-430).
pub(super) fn authorized_operations(bits: i32) -> Option<Vec<AclOperation>> {
    if bits == i32::MIN {
        return None;
    }
    let operations = (0..31).filter(|operation| bits >> operation & 1 == 1);
    Some(operations.map(AclOperation).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_bits_and_the_lowest_number_is_none() {
        assert_eq!(authorized_operations(i32::MIN), None);
        assert_eq!(authorized_operations(0), Some(Vec::new()));
        let read_describe = authorized_operations(1 << 3 | 1 << 8).unwrap();
        assert_eq!(read_describe, [AclOperation(3), AclOperation(8)]);
    }
}
