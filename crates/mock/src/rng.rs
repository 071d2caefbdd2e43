//! The cluster's own chance: a generator that the configured seed determines wholly.

use ottla_protocol::Uuid;

/// SplitMix64: small, good enough for ids, and the same on every platform.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 1 to `i32::MAX`.
    pub(crate) fn positive_i32(&mut self) -> i32 {
        i32::try_from(self.next_u64() >> 33).unwrap_or(0).max(1)
    }

    /// Returns a random (version 4) id, never [`Uuid::ZERO`].
    pub(crate) fn uuid(&mut self) -> Uuid {
        let high = (self.next_u64() & !0xf000) | 0x4000;
        let low = (self.next_u64() & !(0xc << 60)) | (0x8 << 60);
        let mut bytes = [0; 16];
        for (target, source) in bytes
            .iter_mut()
            .zip(high.to_be_bytes().into_iter().chain(low.to_be_bytes()))
        {
            *target = source;
        }
        Uuid(bytes)
    }

    /// Returns a random id in the hexadecimal form of Java's `UUID`, which is the suffix of member ids.
    pub(crate) fn uuid_text(&mut self) -> String {
        let Uuid(b) = self.uuid();
        let hex: String = b.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut text = String::with_capacity(36);
        for (index, digit) in hex.chars().enumerate() {
            if matches!(index, 8 | 12 | 16 | 20) {
                text.push('-');
            }
            text.push(digit);
        }
        text
    }
}
