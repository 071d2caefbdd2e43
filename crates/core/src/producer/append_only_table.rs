//! A table that only grows and is read without a lock.

use std::sync::OnceLock;

/// Entries by index, created on first use and never moved until the table is dropped. Meant for dense indices: the table
/// allocates the next power of two above the highest index.
pub(super) struct AppendOnlyTable<T> {
    /// Bucket n holds 2^n entries: index i is entry i + 1 - 2^n of bucket n = log2(i + 1). Boxed, so that a bucket is
    /// small enough to stay in the processor's cache while entries are used at random.
    buckets: [OnceLock<Bucket<T>>; BUCKETS],
}

type Bucket<T> = Box<[OnceLock<Box<T>>]>;

const BUCKETS: usize = 32;

/// Returns the bucket of an index and the position in it.
fn locate(index: usize) -> Option<(usize, usize)> {
    let n = index.checked_add(1)?;
    let bucket = n.ilog2() as usize;
    (bucket < BUCKETS).then(|| (bucket, n - (1 << bucket)))
}

impl<T> AppendOnlyTable<T> {
    pub(super) fn new() -> Self {
        AppendOnlyTable {
            buckets: [const { OnceLock::new() }; BUCKETS],
        }
    }

    /// Returns the entry if it was created.
    pub(super) fn get(&self, index: usize) -> Option<&T> {
        let (bucket, position) = locate(index)?;
        self.buckets.get(bucket)?.get()?.get(position)?.get().map(Box::as_ref)
    }

    /// Returns the entry, created by `make` if necessary; `None` for an index above the maximum.
    pub(super) fn get_or_make(&self, index: usize, make: impl FnOnce() -> T) -> Option<&T> {
        let (bucket, position) = locate(index)?;
        let entries = self
            .buckets
            .get(bucket)?
            .get_or_init(|| (0..1usize << bucket).map(|_| OnceLock::new()).collect());
        Some(entries.get(position)?.get_or_init(|| Box::new(make())))
    }

    /// Returns all entries with their indices.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.buckets
            .iter()
            .enumerate()
            .filter_map(|(n, b)| Some((n, b.get()?)))
            .flat_map(|(n, entries)| {
                entries
                    .iter()
                    .enumerate()
                    .filter_map(move |(position, e)| Some(((1 << n) - 1 + position, e.get()?.as_ref())))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_created_once() {
        let table = AppendOnlyTable::new();
        for i in [0usize, 1, 2, 3, 6, 7, 1000] {
            assert!(table.get(i).is_none());
            assert_eq!(table.get_or_make(i, || i * 10), Some(&(i * 10)));
            assert_eq!(table.get_or_make(i, || 0), Some(&(i * 10)));
        }
        assert!(table.get(999).is_none());
        let all: Vec<_> = table.iter().map(|(i, v)| (i, *v)).collect();
        assert_eq!(all, [0, 1, 2, 3, 6, 7, 1000].map(|i| (i, i * 10)));
    }

    #[test]
    fn index_above_the_maximum_has_no_entry() {
        let table: AppendOnlyTable<u8> = AppendOnlyTable::new();
        assert!(table.get(usize::MAX).is_none());
        assert!(table.get_or_make(usize::MAX, || 0).is_none());
    }
}
