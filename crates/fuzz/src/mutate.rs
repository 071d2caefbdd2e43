//! Random changes to inputs, for runs without an engine.

use fastrand::Rng;

/// Bytes at which decoders tend to err.
const EDGES: [u8; 6] = [0, 1, 0x7f, 0x80, 0xfe, 0xff];

/// Returns a few changes to one of the inputs: cut, flipped, set to an edge, removed, doubled, or joined with another
/// one.
pub fn mutate(inputs: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = rng.choice(inputs).cloned().unwrap_or_default();
    for _ in 0..rng.usize(1..5) {
        if bytes.is_empty() {
            bytes.push(rng.u8(..));
        }
        let at = rng.usize(..bytes.len());
        match rng.u8(..9) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << rng.u8(..8),
            2 => bytes[at] = rng.choice(EDGES).unwrap_or(0),
            3 => drop(bytes.remove(at)),
            4 => bytes.insert(at, rng.u8(..)),
            5 => bytes[at] = rng.u8(..),
            6 => {
                let end = (at + rng.usize(1..16)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            7 => {
                for byte in bytes.iter_mut().skip(at).take(4) {
                    *byte = rng.choice(EDGES).unwrap_or(0);
                }
            }
            _ => {
                if let Some(other) = rng.choice(inputs).filter(|other| !other.is_empty()) {
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[rng.usize(..other.len())..]);
                }
            }
        }
    }
    bytes
}
