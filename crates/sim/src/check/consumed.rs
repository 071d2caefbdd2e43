//! Consumed records: each once per position, in order, without gaps, and as stored in the log.

use std::collections::{BTreeMap, BTreeSet};

use super::log_view::Logs;
use crate::message::{DecodedMessage, MessageId};

/// The offsets that the next record of a partition may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    /// Exactly this offset.
    At(i64),
    /// A seek is in progress: either of these.
    Either(i64, i64),
    /// Any: brokers determine the start.
    Anywhere,
    /// Nothing: the partition is paused or not consumed.
    Nothing,
}

#[derive(Debug)]
struct Reader {
    expect: Expect,
    /// Recreations of the topic that are not yet visible in its records. Records may still be of an old topic, and
    /// offsets may jump this often.
    jumps: u32,
    /// The topic was recreated at some time.
    recreated: bool,
    /// The records read from the present topic: offset and message.
    seen: Vec<(i64, MessageId)>,
    /// Truncations of the log that are not yet visible in its records. Records behind a truncation have its leader
    /// epoch or a later one.
    truncations: Vec<Truncation>,
    /// A record was delivered since the application last chose an offset: the client has the leader epoch of its
    /// position.
    has_epoch: bool,
    /// The expectation before a pause.
    before_pause: Option<Expect>,
}

/// The records of a partition that were delivered to a consumer, as far as commits depend on them.
#[derive(Debug, Default)]
struct Delivered {
    /// The offset behind each record, in the order of delivery.
    ends: Vec<i64>,
    /// The number of them that are committed.
    committed: usize,
}

#[derive(Debug, Clone, Copy)]
struct Truncation {
    kept: i64,
    epoch: i32,
}

/// The records of all consumers.
#[derive(Debug, Default)]
pub(crate) struct Consumed {
    readers: BTreeMap<(u32, String, i32), Reader>,
    handed: BTreeMap<(u32, String, i32), Delivered>,
    /// Logs lose their starts: offsets may be skipped.
    skips: bool,
    /// Consumers that reset to the log's end when their offset is out of range.
    to_the_end: BTreeSet<u32>,
    /// Brokers do not report topic ids: a recreated topic cannot be distinguished from a truncated log.
    without_ids: bool,
    /// The size of the largest batch that was sent, in uncompressed bytes.
    largest_batch: u64,
}

impl Consumed {
    /// Sets the offsets that the next record of a partition may have.
    pub(crate) fn set_expectation(&mut self, client: u32, topic: &str, partition: i32, expect: Expect) {
        let reader = self
            .readers
            .entry((client, topic.to_owned(), partition))
            .or_insert(Reader {
                expect,
                jumps: 0,
                recreated: false,
                seen: Vec::new(),
                truncations: Vec::new(),
                has_epoch: false,
                before_pause: None,
            });
        match expect {
            Expect::Nothing => reader.before_pause = Some(reader.expect),
            // A client that resumes after a pause keeps its leader epoch.
            _ => reader.has_epoch &= reader.before_pause.take() == Some(expect),
        }
        reader.expect = expect;
    }

    /// Records that a partition lost everything from `kept` on, which may have been read. Later records there
    /// have this leader epoch or a later one.
    pub(crate) fn on_lost(&mut self, topic: &str, partition: i32, (kept, epoch): (i64, i32)) {
        for ((_, name, index), reader) in &mut self.readers {
            if name == topic && *index == partition {
                reader.truncations.push(Truncation { kept, epoch });
                reader.seen.retain(|(at, _)| *at < kept);
                // The watermarks were lowered.
                reader.recreated = true;
            }
        }
    }

    pub(crate) fn expectation(&self, client: u32, topic: &str, partition: i32) -> Option<Expect> {
        self.readers
            .get(&(client, topic.to_owned(), partition))
            .map(|r| r.expect)
    }

    /// Allows skipped offsets: logs lose their starts to retention.
    pub(crate) fn allow_skips(&mut self) {
        self.skips = true;
    }

    /// Records that the consumer resets to the log's end when its offset is out of range, and skips earlier records.
    pub(crate) fn resets_to_the_end(&mut self, client: u32) {
        self.to_the_end.insert(client);
    }

    /// Records that brokers do not report topic ids.
    pub(crate) fn expect_no_ids(&mut self) {
        self.without_ids = true;
    }

    /// Records that a batch of this many uncompressed bytes was sent.
    pub(crate) fn on_batch(&mut self, bytes: u64) {
        self.largest_batch = self.largest_batch.max(bytes);
    }

    /// Returns the bytes that a consumer with a budget of `budget` bytes may hold: the budget, or the largest batch if
    /// that is larger.
    pub(crate) fn held_max(&self, budget: u64) -> u64 {
        budget.max(self.largest_batch)
    }

    /// Checks the watermarks of a partition that a consumer received; `now` are the broker's. They only grow, unless
    /// the topic was recreated.
    pub(crate) fn on_watermarks(
        &self,
        client: u32,
        topic: &str,
        partition: i32,
        reported: (i64, i64),
        now: Option<(i64, i64)>,
    ) -> Result<(), String> {
        let reader = self.readers.get(&(client, topic.to_owned(), partition));
        let same_topic = reader.is_some_and(|r| r.jumps == 0 && !r.recreated);
        let (low, high) = reported;
        let ahead = now.is_some_and(|(start, end)| low > start || high > end);
        if low > high || (same_topic && ahead) {
            return Err(format!(
                "client {client}: watermarks of {topic} [{partition}] are reported as {reported:?}, they are {now:?}"
            ));
        }
        Ok(())
    }

    /// Checks a record that was delivered to the application.
    pub(crate) fn on_record(
        &mut self,
        client: u32,
        (topic, partition): (&str, i32),
        (offset, leader_epoch): (i64, i32),
        found: DecodedMessage,
    ) -> Result<(), String> {
        let location = || format!("client {client} {topic} [{partition}] @ {offset}");
        let handed = self.handed.entry((client, topic.to_owned(), partition)).or_default();
        handed.ends.push(offset + 1);
        let Some(reader) = self.readers.get_mut(&(client, topic.to_owned(), partition)) else {
            return Err(format!("{}: a record of a partition that is not consumed", location()));
        };
        if !found.intact {
            return Err(format!("{}: {found:?} is damaged", location()));
        }
        let crossed = reader
            .truncations
            .iter()
            .filter(|c| c.epoch <= leader_epoch)
            .map(|c| c.kept);
        if let Some(kept) = crossed.min() {
            // A consumer that has read beyond a truncation returns to it, and skips no record written since.
            reader.truncations.retain(|c| c.epoch > leader_epoch);
            reader.seen.retain(|(at, _)| *at < kept);
            match reader.expect {
                // Where the log's start has moved beyond the truncation since, the consumer continues at the start.
                Expect::At(at) if at > kept && (offset == kept || !reader.has_epoch || self.skips && offset > kept) => {
                    reader.expect = Expect::At(offset);
                }
                Expect::Either(..) => reader.expect = Expect::Anywhere,
                _ => {}
            }
        }
        // The application went to a truncated offset: nothing is there, and the consumer resets.
        let resets = |at: i64| {
            let cut_off = !reader.has_epoch && reader.truncations.iter().any(|c| c.kept < at);
            cut_off && (offset == 0 || self.skips)
        };
        let right = match reader.expect {
            Expect::At(at) => at == offset || resets(at),
            Expect::Either(a, b) => a == offset || b == offset,
            Expect::Anywhere => true,
            Expect::Nothing => false,
        };
        let ahead = matches!(reader.expect, Expect::At(at) | Expect::Either(at, _) if offset > at);
        if !right && self.skips && ahead {
            // The skipped records were deleted.
        } else if !right {
            if reader.jumps == 0 || reader.expect == Expect::Nothing {
                return Err(format!("{}: where {:?} was expected", location(), reader.expect));
            }
            reader.jumps -= 1;
            reader.seen.clear();
        }
        reader.expect = match reader.expect {
            // Until the seek is confirmed, records at the old position may follow.
            Expect::Either(old, new) if offset == old && old != new => Expect::Either(old + 1, new),
            _ => Expect::At(offset + 1),
        };
        reader.has_epoch = leader_epoch >= 0;
        if reader.jumps == 0 && reader.truncations.iter().all(|c| offset < c.kept) {
            reader.seen.push((offset, found.id));
        }
        Ok(())
    }

    /// Checks a commit of a consumer outside of groups: its offset is behind a delivered record, and commits have the
    /// order of delivery. A lower offset may follow a higher one only after a seek of the application.
    pub(crate) fn on_commit(
        &mut self,
        client: u32,
        (topic, partition): (&str, i32),
        offset: i64,
    ) -> Result<(), String> {
        let handed = self.handed.entry((client, topic.to_owned(), partition)).or_default();
        // The last one may be committed again.
        let from = handed.committed.saturating_sub(1);
        match handed.ends.iter().skip(from).position(|end| *end == offset) {
            Some(at) => {
                handed.committed = from + at + 1;
                Ok(())
            }
            None => Err(format!(
                "client {client} commits {offset} of {topic} [{partition}], where it was handed what ends at {:?}",
                &handed.ends[from..]
            )),
        }
    }

    pub(super) fn on_topic_deleted(&mut self, topic: &str, lags: bool) {
        for ((_, name, _), reader) in &mut self.readers {
            if name == topic {
                // A broker with stale metadata reports the old topic once more, and then the new one: ids have no
                // order.
                reader.jumps += if lags { 3 } else { 1 };
                // A record of the old topic behind a truncation that the reader has not reached may still be delivered.
                reader.jumps += u32::from(!reader.truncations.is_empty());
                reader.recreated = true;
                reader.seen.clear();
                reader.truncations.clear();
            }
        }
    }

    /// Returns the partitions that a client has not read to their ends.
    pub(crate) fn behind(&self, client: u32, logs: &Logs) -> Vec<String> {
        let own = self.readers.iter().filter(|((c, _, _), _)| *c == client);
        let behind = own.filter_map(|((_, topic, partition), reader)| {
            let log = logs.get(&(topic.clone(), *partition))?;
            let cut = reader.truncations.iter().map(|c| c.kept).min();
            let at = match reader.expect {
                // The position is unknown, also to the client.
                _ if cut.is_some() && !reader.has_epoch => return None,
                Expect::At(at) => cut.map_or(at, |kept| kept.min(at)),
                Expect::Either(_, to) => to,
                // A consumer that started at the end of the log may have received no record since.
                Expect::Nothing | Expect::Anywhere => return None,
            };
            if (reader.jumps > 0 || self.skips) && self.to_the_end.contains(&client) {
                return None;
            }
            // The new topic's log may end in the epoch of the last record read, and reading continues there.
            if reader.jumps > 0 && self.without_ids && reader.has_epoch {
                return None;
            }
            let behind = if reader.jumps > 0 {
                at != log.high_watermark && log.high_watermark > log.start
            } else {
                // Records that the log lost at its start are not expected: consumers continue at the start.
                at.max(log.start) < log.high_watermark
            };
            behind.then(|| format!("{topic} [{partition}] at {:?} of {}", reader.expect, log.high_watermark))
        });
        behind.collect()
    }

    /// Compares the records read with the logs.
    pub(super) fn compare_with_logs(&self, logs: &Logs) -> Result<(), String> {
        for ((client, topic, partition), reader) in &self.readers {
            let Some(log) = logs.get(&(topic.clone(), *partition)) else {
                continue;
            };
            for (offset, id) in &reader.seen {
                if *offset < log.start {
                    continue;
                }
                if log.at(*offset).map(|there| there.found.id) != Some(*id) {
                    return Err(format!(
                        "client {client} read {id:?} at {topic} [{partition}] @ {offset}, where {:?} lies",
                        log.at(*offset)
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::LogView;
    use crate::message::Fingerprint;

    const TOPIC: &str = "t";

    fn take(consumed: &mut Consumed, offset: i64, epoch: i32) -> Result<(), String> {
        let id = MessageId {
            client: 1,
            number: offset as u32,
        };
        let found = DecodedMessage {
            id,
            intact: true,
            value_len: 1,
            key: Fingerprint::default(),
            headers: Fingerprint::default(),
        };
        consumed.on_record(0, (TOPIC, 0), (offset, epoch), found)
    }

    /// Returns a reader of three records of epoch 0, of which two were lost to a leader of epoch 1.
    fn cut_behind_the_first() -> Consumed {
        let mut consumed = Consumed::default();
        consumed.set_expectation(0, TOPIC, 0, Expect::At(0));
        for offset in 0..3 {
            take(&mut consumed, offset, 0).unwrap();
        }
        consumed.on_lost(TOPIC, 0, (1, 1));
        consumed
    }

    #[test]
    fn a_record_behind_a_cut_may_be_taken_after_its_topic_was_deleted() {
        let mut consumed = cut_behind_the_first();
        consumed.on_topic_deleted(TOPIC, false);
        assert_eq!(take(&mut consumed, 1, 1), Ok(()), "fetched before the deletion");
        assert_eq!(take(&mut consumed, 0, 0), Ok(()), "the first record of the new topic");
        assert!(take(&mut consumed, 0, 0).is_err());
    }

    #[test]
    fn a_seek_to_a_truncated_offset_resets() {
        let mut consumed = cut_behind_the_first();
        assert!(take(&mut consumed, 0, 0).is_err());
        let mut consumed = cut_behind_the_first();
        consumed.set_expectation(0, TOPIC, 0, Expect::At(2));
        assert_eq!(take(&mut consumed, 0, 0), Ok(()));
        assert_eq!(take(&mut consumed, 1, 1), Ok(()));
        let mut consumed = cut_behind_the_first();
        consumed.set_expectation(0, TOPIC, 0, Expect::At(1));
        assert!(take(&mut consumed, 0, 0).is_err());
    }

    #[test]
    fn records_lost_to_retention_are_not_expected() {
        let mut consumed = cut_behind_the_first();
        assert!(take(&mut consumed, 2, 1).is_err(), "it goes on where the log was cut");
        let mut consumed = cut_behind_the_first();
        consumed.allow_skips();
        assert_eq!(take(&mut consumed, 2, 1), Ok(()));
        let mut log = LogView {
            start: 5,
            high_watermark: 5,
            ..LogView::default()
        };
        let behind = |log: &LogView| {
            consumed
                .behind(0, &Logs::from([((TOPIC.to_owned(), 0), log.clone())]))
                .len()
        };
        assert_eq!(behind(&log), 0);
        log.high_watermark = 6;
        assert_eq!(behind(&log), 1);
    }

    #[test]
    fn commits_follow_delivered_records() {
        let mut consumed = Consumed::default();
        consumed.set_expectation(0, TOPIC, 0, Expect::At(0));
        for offset in 0..3 {
            take(&mut consumed, offset, 0).unwrap();
        }
        let mut commit = |offset| consumed.on_commit(0, (TOPIC, 0), offset);
        assert!(commit(4).is_err(), "ahead");
        commit(2).unwrap();
        commit(2).unwrap();
        assert!(commit(1).is_err(), "back");
        consumed.set_expectation(0, TOPIC, 0, Expect::At(0));
        take(&mut consumed, 0, 0).unwrap();
        consumed.on_commit(0, (TOPIC, 0), 1).unwrap();
    }

    #[test]
    fn without_ids_a_new_topic_may_be_taken_for_one_that_was_cut() {
        let mut consumed = Consumed::default();
        consumed.set_expectation(0, TOPIC, 0, Expect::At(0));
        take(&mut consumed, 0, 0).unwrap();
        consumed.on_topic_deleted(TOPIC, false);
        let log = LogView {
            high_watermark: 4,
            ..LogView::default()
        };
        let logs = Logs::from([((TOPIC.to_owned(), 0), log)]);
        assert_eq!(consumed.behind(0, &logs).len(), 1);
        consumed.expect_no_ids();
        assert!(consumed.behind(0, &logs).is_empty());
    }
}
