//! The records of a log, with the outcomes of their transactions.

use std::collections::BTreeMap;

use bytes::Bytes;
use ottla_protocol::record::{BatchIter, ControlRecord, ControlType, RecordRef};

/// The largest size of a decompressed batch.
const BATCH_BYTES_MAX: usize = 64 << 20;

/// The records of a partition's log, each with its offset, in the order of offsets.
#[derive(Debug)]
pub(crate) struct LogRecords<T> {
    /// Records and whether they are committed: written outside of a transaction, or in one that was committed.
    pub(crate) records: Vec<(i64, T, bool)>,
    /// The producers whose transactions have not ended.
    pub(crate) open: usize,
}

impl<T> LogRecords<T> {
    /// Reads a log up to this offset, without its control records. `parse` returns the item of a record.
    ///
    /// # Errors
    /// The log cannot be read, or a record cannot be parsed; the text is the reason.
    pub(crate) fn read(
        batches: impl Iterator<Item = Bytes>,
        end: i64,
        parse: impl Fn(&RecordRef<'_>) -> Result<T, String>,
    ) -> Result<Self, String> {
        let mut records = Vec::new();
        // The records of open transactions by producer id: their places in `records`.
        let mut open: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for batch in batches.flat_map(BatchIter::new) {
            let batch = batch.map_err(|e| e.to_string())?;
            let header = *batch.header();
            let data = batch.decompress(BATCH_BYTES_MAX).map_err(|e| e.to_string())?;
            for record in data.iter() {
                let record = record.map_err(|e| e.to_string())?;
                if record.offset >= end {
                    break;
                }
                if header.is_control() {
                    let ended = open.remove(&header.producer_id).unwrap_or_default();
                    match ControlRecord::parse(&record).map(|c| c.control_type) {
                        Some(ControlType::COMMIT) => ended.into_iter().for_each(|at| {
                            let (_, _, is_committed): &mut (i64, T, bool) = &mut records[at];
                            *is_committed = true;
                        }),
                        Some(ControlType::ABORT) => {}
                        other => return Err(format!("offset {}: a control record of {other:?}", record.offset)),
                    }
                    continue;
                }
                if header.is_transactional() {
                    open.entry(header.producer_id).or_default().push(records.len());
                }
                records.push((record.offset, parse(&record)?, !header.is_transactional()));
            }
        }
        Ok(LogRecords {
            records,
            open: open.len(),
        })
    }
}
