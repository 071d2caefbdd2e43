//! The transactional ids of the cluster.

use std::collections::BTreeMap;

use super::transaction::Transaction;

/// All transactional ids.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    pub(super) by_id: BTreeMap<String, Transaction>,
}

impl Transactions {
    pub(crate) fn get(&self, id: &str) -> Option<&Transaction> {
        self.by_id.get(id)
    }

    /// Returns the transactional ids in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Transaction)> {
        self.by_id.iter()
    }
}
