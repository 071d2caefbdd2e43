//! The limits of a topic that batches are checked against.

use ottla_protocol::record::Batch;

use crate::topic_config::TopicConfig;

/// The most that a batch may decompress to when its records are looked at one by one.
const LIMIT_BYTES: usize = 256 << 20;

/// What a topic takes.
pub(crate) struct Limits {
    pub(crate) max_message_bytes: usize,
    pub(crate) log_append_time: bool,
    timestamp_after_max_ms: i64,
    timestamp_before_max_ms: i64,
}

impl Limits {
    /// Whether timestamps between these two are too far from the broker's clock.
    pub(crate) fn are_out_of_range(&self, first_ms: i64, last_ms: i64, now_ms: i64) -> bool {
        let ahead = last_ms.saturating_sub(now_ms) > self.timestamp_after_max_ms;
        let behind = first_ms >= 0 && now_ms.saturating_sub(first_ms) > self.timestamp_before_max_ms;
        !self.log_append_time && (ahead || behind)
    }

    /// The records whose timestamps are out of range, by their numbers in the batch; the first when none is by itself.
    pub(crate) fn out_of_range_records(&self, batch: &Batch, now_ms: i64) -> Vec<i32> {
        let Ok(records) = batch.records(LIMIT_BYTES) else {
            return vec![0];
        };
        let numbered = (0..).zip(records.map_while(Result::ok));
        let out = numbered.filter(|(_, r)| self.are_out_of_range(r.timestamp, r.timestamp, now_ms));
        let out: Vec<i32> = out.map(|(at, _)| at).collect();
        if out.is_empty() { vec![0] } else { out }
    }
}

impl TopicConfig {
    /// The limits apart from the rest.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            max_message_bytes: usize::try_from(self.max_message_bytes).unwrap_or(0),
            log_append_time: self.log_append_time,
            timestamp_after_max_ms: self.timestamp_after_max_ms,
            timestamp_before_max_ms: self.timestamp_before_max_ms,
        }
    }
}
