//! The logs of the cluster, as checkers compare them.

use ottla_mock::Cluster;

use crate::check::{LogView, Logs};
use crate::message::read_records;
use crate::plan::SHARE_TOPIC;

/// The beginning of the names of topics and groups that admin calls change.
pub(crate) const ADMIN_NAMES: &str = "admin-";

/// Reads all records of all logs, except those of admin calls and those that the world writes itself.
///
/// # Errors
/// The first log that cannot be read, with the reason.
pub(crate) fn read_logs(cluster: &Cluster) -> Result<Logs, String> {
    let mut logs = read_watermarks(cluster);
    for ((name, partition), log) in &mut logs {
        for batch in cluster.partition_batches(name, *partition).unwrap_or_default() {
            let records = read_records(batch.into_bytes());
            log.records
                .extend(records.map_err(|error| format!("the log of {name} [{partition}] cannot be read: {error}"))?);
        }
    }
    Ok(logs)
}

/// Reads the watermarks of all logs, without records and without the topics of admin calls.
pub(crate) fn read_watermarks(cluster: &Cluster) -> Logs {
    let mut logs = Logs::new();
    for name in cluster
        .topic_names()
        .filter(|name| !name.starts_with(ADMIN_NAMES) && *name != SHARE_TOPIC)
    {
        let count = cluster.partition_count(name).unwrap_or(0);
        for partition in 0..i32::try_from(count).unwrap_or(0) {
            if let Some(marks) = cluster.watermarks(name, partition) {
                let view = LogView {
                    start: marks.log_start_offset,
                    high_watermark: marks.high_watermark,
                    records: Vec::new(),
                };
                logs.insert((name.to_owned(), partition), view);
            }
        }
    }
    logs
}
