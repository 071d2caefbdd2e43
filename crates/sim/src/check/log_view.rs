//! The logs of the cluster.

use std::collections::BTreeMap;

use crate::message::Logged;

/// The log of a partition.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogView {
    pub(crate) start: i64,
    pub(crate) high_watermark: i64,
    pub(crate) records: Vec<Logged>,
}

impl LogView {
    /// Returns the message at an offset. Offsets have no gaps: no log is compacted.
    pub(crate) fn at(&self, offset: i64) -> Option<&Logged> {
        let first = self.records.first()?.offset;
        let found = self.records.get(usize::try_from(offset - first).ok()?)?;
        (found.offset == offset).then_some(found)
    }
}

/// All logs, by topic and partition.
pub(crate) type Logs = BTreeMap<(String, i32), LogView>;
