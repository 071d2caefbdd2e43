//! Ids of members that the client generates (KIP-848, KIP-932, KIP-1082).

use ottla_protocol::Uuid;

use crate::sys::Rng;

/// Generates a random UUID (RFC 4122, version 4) in Kafka's form that does not begin with `-`, which tools would
/// mistake for an option.
pub(crate) fn new_member_id(rng: &mut Rng) -> String {
    loop {
        let (high, low) = (rng.next_u64(), rng.next_u64());
        let bits = (u128::from(high) << 64) | u128::from(low);
        let version = bits & !(0xf << 76) | 0x4 << 76;
        let variant = version & !(0x3 << 62) | 0x2 << 62;
        let id = Uuid(variant.to_be_bytes()).to_string();
        if !id.starts_with('-') {
            return id;
        }
    }
}
