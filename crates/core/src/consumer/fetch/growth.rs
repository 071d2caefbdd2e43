//! Estimates of the size of a batch's records before it is decompressed.

/// The growth of records that are as large as their compressed batch.
const UNIT: u64 = 1024;

/// How many times as large as their compressed batch the records of a partition are, in 1/1024.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growth {
    /// That of the last batch.
    last: u64,
    /// That of the batches which grew most, decreasing with each one that grew less.
    most: u64,
}

impl Default for Growth {
    fn default() -> Self {
        Growth { last: UNIT, most: UNIT }
    }
}

impl Growth {
    /// Notes a batch of `wire_bytes` bytes whose records have `records_bytes` bytes.
    pub(super) fn note(&mut self, wire_bytes: u64, records_bytes: u64) {
        self.last = records_bytes.saturating_mul(UNIT) / wire_bytes.max(1);
        self.most -= self.most.saturating_sub(self.last) / 16;
        self.most = self.most.max(self.last);
    }

    /// Returns the probable size of the records of a batch of `wire_bytes` bytes.
    pub(super) fn likely_bytes(self, wire_bytes: u64) -> u64 {
        wire_bytes.saturating_mul(self.last) / UNIT
    }

    /// Returns a size that the records of a batch of `wire_bytes` bytes rarely exceed.
    pub(super) fn ample_bytes(self, wire_bytes: u64) -> u64 {
        let most = wire_bytes.saturating_mul(self.most) / UNIT;
        most.saturating_add(most / 4).saturating_add(1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_that_differ_have_ample_room() {
        let mut growth = Growth::default();
        growth.note(100, 300);
        for _ in 0..100 {
            for (wire, records) in [(1000, 2000), (1000, 2500), (1000, 7000), (1000, 3000)] {
                growth.note(wire, records);
                assert_eq!(growth.likely_bytes(wire) / 8, records / 8);
                assert!(growth.ample_bytes(1000) >= 7000 || records < 7000);
            }
            assert!((7000..12_000).contains(&growth.ample_bytes(1000)), "{growth:?}");
        }
    }

    #[test]
    fn one_batch_that_grew_much_is_forgotten() {
        let mut growth = Growth::default();
        growth.note(100, 100_000);
        (0..200).for_each(|_| growth.note(100, 300));
        assert!(growth.ample_bytes(100_000) < 400_000, "{growth:?}");
        growth.note(1, u64::MAX);
        growth.note(0, 0);
        assert_eq!(growth.likely_bytes(u64::MAX), 0);
    }
}
