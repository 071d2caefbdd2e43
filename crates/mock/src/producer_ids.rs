//! Producer ids: handed out once in the cluster's life.

/// The source of producer ids.
#[derive(Debug, Default)]
pub(crate) struct ProducerIds {
    next: i64,
}

impl ProducerIds {
    /// A producer id that nobody has had.
    pub(crate) fn allocate(&mut self) -> i64 {
        let id = self.next;
        self.next = self.next.wrapping_add(1) & i64::MAX;
        id
    }
}
