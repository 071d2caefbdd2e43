//! The operations of access control.

/// An operation that access control allows or denies, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AclOperation(pub i8);

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
