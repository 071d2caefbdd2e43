//! The brokers' logs, as invariants compare them.

use std::collections::BTreeMap;

use ottla_mock::Cluster;
use ottla_protocol::Records;

use crate::log_records::LogRecords;

/// A record in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRecord {
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
    /// The key, `None` for null.
    pub key: Option<Vec<u8>>,
    /// The value, `None` for null.
    pub value: Option<Vec<u8>>,
}

/// The committed records of all topics, and the committed offsets of all groups, at one time: what a consumer with
/// `isolation.level=read_committed` would receive.
#[derive(Debug, Default)]
pub struct Logs {
    topics: BTreeMap<String, Vec<LoggedRecord>>,
    committed: BTreeMap<(String, String, i32), i64>,
}

impl Logs {
    /// Reads all logs, and the offsets of these groups.
    ///
    /// # Errors
    /// The first log that cannot be read, with the reason.
    pub(crate) fn read(cluster: &Cluster, groups: &[String]) -> Result<Self, String> {
        let mut logs = Logs::default();
        for name in cluster.topic_names() {
            let count = cluster.partition_count(name).unwrap_or(0);
            let mut records = Vec::new();
            for partition in 0..i32::try_from(count).unwrap_or(0) {
                let read = read_partition(cluster, name, partition, &mut records);
                read.map_err(|error| format!("the log of {name} [{partition}] cannot be read: {error}"))?;
                for group in groups {
                    if let Some(offset) = cluster.committed_offset(group, name, partition) {
                        logs.committed
                            .insert((group.clone(), name.to_owned(), partition), offset);
                    }
                }
            }
            logs.topics.insert(name.to_owned(), records);
        }
        Ok(logs)
    }

    /// Returns the records of a topic, by partition and offset; none for a topic that does not exist.
    pub fn records(&self, topic: &str) -> &[LoggedRecord] {
        self.topics.get(topic).map_or(&[], Vec::as_slice)
    }

    /// Returns the values of a topic's records as texts, by partition and offset. Bytes that are not UTF-8 are replaced;
    /// a null value is empty.
    pub fn texts(&self, topic: &str) -> Vec<String> {
        let text =
            |record: &LoggedRecord| String::from_utf8_lossy(record.value.as_deref().unwrap_or_default()).into_owned();
        self.records(topic).iter().map(text).collect()
    }

    /// Returns the offset that a group has committed for a partition.
    pub fn committed(&self, group: &str, topic: &str, partition: i32) -> Option<i64> {
        self.committed
            .get(&(group.to_owned(), topic.to_owned(), partition))
            .copied()
    }
}

/// Adds the committed records of a partition below its high watermark.
fn read_partition(
    cluster: &Cluster,
    name: &str,
    partition: i32,
    records: &mut Vec<LoggedRecord>,
) -> Result<(), String> {
    let high_watermark = cluster
        .watermarks(name, partition)
        .map_or(0, |marks| marks.high_watermark);
    let batches = cluster.partition_batches(name, partition).unwrap_or_default();
    let batches = batches.into_iter().map(Records::into_bytes);
    let log = LogRecords::read(batches, high_watermark, |record| {
        Ok(LoggedRecord {
            partition,
            offset: record.offset,
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.map(<[u8]>::to_vec),
        })
    })?;
    let committed = log.records.into_iter().filter(|(.., is_committed)| *is_committed);
    records.extend(committed.map(|(_, record, _)| record));
    Ok(())
}
