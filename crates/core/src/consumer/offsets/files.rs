//! Offsets kept in local files (`offset.store.method=file`), for partitions of the simple API.
//!
//! This module decides when files are read and written; the core's driver executes each [`FileAction`] and returns a
//! [`FileEvent`]. A file contains the offset of the next message in digits, with a line feed: librdkafka's format.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::lookup::FoundOffset;
use crate::config::units::millis;
use crate::error::{Error, ErrorCode};
use crate::event::PartitionState;
use crate::reply::Reply;
use crate::sys::{Instant, earliest};
use crate::types::{TopicPartition, offset};

/// The file of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetFile {
    /// `offset.store.path`: the file itself, or a folder.
    pub path: String,
    /// The file's name in that folder: `topic-partition.offset`, or `topic-partition-group.offset` with `group.id`.
    pub name: String,
}

impl std::fmt::Display for OffsetFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (or {} in that folder)", self.path, self.name)
    }
}

/// A file operation. Operations on one file are executed in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileAction {
    /// Read the file.
    Read {
        /// The number in the result.
        id: u64,
        /// The file.
        file: OffsetFile,
    },
    /// Replace the content, atomically.
    Write {
        /// The number in the result.
        id: u64,
        /// The file.
        file: OffsetFile,
        /// The new content.
        content: String,
        /// Flush the file to disk.
        sync: bool,
    },
}

impl FileAction {
    /// Returns the number in the result.
    pub fn id(&self) -> u64 {
        match self {
            FileAction::Read { id, .. } | FileAction::Write { id, .. } => *id,
        }
    }
}

/// The result of a [`FileAction`].
#[derive(Debug, Clone)]
pub struct FileEvent {
    /// The number of the action.
    pub id: u64,
    /// The content that was read, `None` without a file and after a write; or the operating system's error.
    pub result: Result<Option<Vec<u8>>, String>,
}

/// `offset.store.sync.interval.ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    Never,
    Always,
    Every { interval_ms: u64, due: Instant },
}

/// A partition whose offset is kept in a file.
#[derive(Debug)]
struct Kept {
    state: Arc<PartitionState>,
    file: OffsetFile,
    /// The interval of writes in milliseconds, and the time of the next one; `None` without `auto.commit.enable`.
    timer: Option<(u64, Instant)>,
    sync: Sync,
    /// The offset in the file, or `INVALID` if it is unknown.
    written: i64,
    /// The offset that is being written.
    writing: Option<i64>,
    /// The content may not have been flushed to disk.
    unsynced: bool,
    /// A failure was reported; the next one is reported only after a success.
    reported: bool,
    /// The number of restarts of the partition when `written` was stored: it is invalid after another one.
    beginning: u32,
}

/// The purpose of an action in flight.
#[derive(Debug)]
struct Task {
    partition: u32,
    tp: TopicPartition,
    file: OffsetFile,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// For the fetcher's look-up with this number.
    Read { lookup_id: u64 },
    /// `beginning` is the number of restarts of the partition when the write was issued.
    Write { offset: i64, sync: bool, beginning: u32 },
}

/// The reply of a call that waits for writes.
type Answer = Arc<Reply<Result<(), Error>>>;

/// The offset files of a consumer.
#[derive(Debug)]
pub(in crate::consumer) struct OffsetFiles {
    group_id: String,
    kept: BTreeMap<u32, Kept>,
    actions: VecDeque<FileAction>,
    in_flight: BTreeMap<u64, Task>,
    found: Vec<FoundOffset>,
    reports: Vec<Error>,
    last_id: u64,
    /// Calls that wait until all writes of a partition are complete.
    waiting: Vec<(u32, Answer)>,
}

/// Returns true with `offset.store.method=file`.
pub(in crate::consumer) fn is_kept_in_file(state: &PartitionState) -> bool {
    state.topic().conf().offset_store_method == "file"
}

impl OffsetFiles {
    pub(in crate::consumer) fn new(group_id: &str) -> Self {
        OffsetFiles {
            group_id: group_id.to_owned(),
            kept: BTreeMap::new(),
            actions: VecDeque::new(),
            in_flight: BTreeMap::new(),
            found: Vec::new(),
            reports: Vec::new(),
            last_id: 0,
            waiting: Vec::new(),
        }
    }

    /// Starts to keep the offset of a partition.
    pub(in crate::consumer) fn add(&mut self, now: Instant, state: &Arc<PartitionState>) {
        let conf = state.topic().conf();
        let interval_ms = millis(conf.auto_commit_interval_ms);
        let sync = match conf.offset_store_sync_interval_ms {
            ..0 => Sync::Never,
            0 => Sync::Always,
            ms => Sync::Every {
                interval_ms: millis(ms),
                due: now.plus_ms(millis(ms)),
            },
        };
        let kept = Kept {
            state: state.clone(),
            file: OffsetFile {
                path: conf.offset_store_path.clone(),
                name: file_name(&state.tp(), &self.group_id),
            },
            timer: conf.auto_commit_enable.then(|| (interval_ms, now.plus_ms(interval_ms))),
            sync,
            written: offset::INVALID,
            writing: None,
            unsynced: false,
            reported: false,
            beginning: state.restarts(),
        };
        self.kept.insert(state.id(), kept);
    }

    /// Returns true if the partition's offset is kept in a file.
    pub(in crate::consumer) fn keeps(&self, id: u32) -> bool {
        self.kept.contains_key(&id)
    }

    /// Writes the stored offset of a partition that is not consumed any more, and forgets the partition.
    pub(in crate::consumer) fn remove(&mut self, id: u32) {
        let Some(kept) = self.kept.get(&id) else { return };
        let sync = kept.sync != Sync::Never;
        match kept.timer.and_then(|_| kept.unwritten()) {
            Some(offset) => self.write(id, offset, sync),
            None if kept.unsynced => self.write(id, kept.written, sync),
            None => {}
        }
        self.kept.remove(&id);
    }

    /// Answers the call once no write of the partition is in flight. Failed writes are reported separately.
    pub(in crate::consumer) fn answer_when_written(&mut self, id: u32, reply: Answer) {
        self.waiting.push((id, reply));
        self.answer_waiting();
    }

    fn answer_waiting(&mut self) {
        let in_flight = &self.in_flight;
        self.waiting.retain(|(id, reply)| {
            let writes = |task: &Task| task.partition == *id && matches!(task.kind, Kind::Write { .. });
            let wait = in_flight.values().any(writes);
            if !wait {
                reply.fill(Ok(()));
            }
            wait
        });
    }

    /// Ends with the client: its driver waits for the remaining writes, without returning their results.
    pub(in crate::consumer) fn close(&mut self) {
        for (_, reply) in self.waiting.drain(..) {
            reply.fill(Ok(()));
        }
    }

    /// Reads the offset of a partition.
    pub(in crate::consumer) fn read(&mut self, id: u32, lookup_id: u64) {
        let Some(kept) = self.kept.get(&id) else { return };
        let (tp, file) = (kept.state.tp(), kept.file.clone());
        let action = self.begin(id, tp, file.clone(), Kind::Read { lookup_id });
        self.actions.push_back(FileAction::Read { id: action, file });
    }

    fn begin(&mut self, partition: u32, tp: TopicPartition, file: OffsetFile, kind: Kind) -> u64 {
        self.last_id += 1;
        let task = Task {
            partition,
            tp,
            file,
            kind,
        };
        self.in_flight.insert(self.last_id, task);
        self.last_id
    }

    fn write(&mut self, id: u32, offset: i64, sync: bool) {
        let Some(kept) = self.kept.get_mut(&id) else { return };
        kept.writing = Some(offset);
        let (tp, file) = (kept.state.tp(), kept.file.clone());
        let kind = Kind::Write {
            offset,
            sync,
            beginning: kept.state.restarts(),
        };
        let action = self.begin(id, tp, file.clone(), kind);
        self.actions.push_back(FileAction::Write {
            id: action,
            file,
            content: format!("{offset}\n"),
            sync,
        });
    }

    /// Issues the writes that are due. Returns when to call it again.
    pub(in crate::consumer) fn poll(&mut self, now: Instant) -> Option<Instant> {
        let mut due = Vec::new();
        let mut wake = None;
        for (id, kept) in &mut self.kept {
            due.extend(kept.due(now).map(|(offset, sync)| (*id, offset, sync)));
            wake = earliest(wake, kept.wake());
        }
        for (id, offset, sync) in due {
            self.write(id, offset, sync);
        }
        wake
    }

    /// Returns the next action.
    pub(in crate::consumer) fn next_action(&mut self) -> Option<FileAction> {
        self.actions.pop_front()
    }

    /// Handles the result of an action.
    pub(in crate::consumer) fn on_event(&mut self, event: FileEvent) {
        let Some(task) = self.in_flight.remove(&event.id) else {
            return;
        };
        match task.kind {
            Kind::Read { lookup_id } => {
                let found = match event.result {
                    Ok(content) => parse(content.as_deref().unwrap_or_default()),
                    Err(text) => Err(text),
                };
                let found = found.unwrap_or_else(|text| {
                    self.report(&task, &format!("cannot be read, auto.offset.reset decides: {text}"));
                    None
                });
                if let Some(kept) = self.kept.get_mut(&task.partition) {
                    kept.written = found.unwrap_or(offset::INVALID);
                    kept.beginning = kept.state.restarts();
                }
                self.found.push(FoundOffset {
                    id: task.partition,
                    lookup_id,
                    result: Ok((found.unwrap_or(offset::INVALID), -1)),
                });
            }
            Kind::Write {
                offset,
                sync,
                beginning,
            } => {
                let failure = event.result.err();
                // For a partition that is not consumed any more every failure is reported.
                let mut is_new = true;
                if let Some(kept) = self.kept.get_mut(&task.partition) {
                    kept.writing = None;
                    if failure.is_none() {
                        kept.written = offset;
                        kept.beginning = beginning;
                        kept.unsynced = !sync && kept.sync != Sync::Never;
                    }
                    is_new = !std::mem::replace(&mut kept.reported, failure.is_some());
                }
                if let Some(text) = failure.filter(|_| is_new) {
                    self.report(&task, &format!("cannot be written with offset {offset}: {text}"));
                }
            }
        }
        self.answer_waiting();
    }

    fn report(&mut self, task: &Task, text: &str) {
        let text = format!("{}: offset file {} {text}", task.tp, task.file);
        self.reports.push(Error::new(ErrorCode::L_FS, text));
    }

    /// Returns the offsets that were read since the last call.
    pub(in crate::consumer) fn take_found(&mut self) -> Vec<FoundOffset> {
        std::mem::take(&mut self.found)
    }

    /// Returns the errors to report since the last call.
    pub(in crate::consumer) fn take_reports(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.reports)
    }
}

impl Kept {
    /// Returns the stored offset if the file lacks it: if it is greater, or follows a restart of the partition.
    fn unwritten(&self) -> Option<i64> {
        let stored = self.state.stored().offset;
        let last = self.writing.unwrap_or(self.written);
        let ahead = stored > last || self.beginning != self.state.restarts();
        (stored >= 0 && ahead).then_some(stored)
    }

    /// Returns the offset to write now, and true if it is to be flushed to disk.
    fn due(&mut self, now: Instant) -> Option<(i64, bool)> {
        let mut write = None;
        if let Some((interval_ms, due)) = &mut self.timer
            && *due <= now
        {
            *due = now.plus_ms((*interval_ms).max(1));
            write = self.unwritten().filter(|_| self.writing.is_none());
        }
        let mut sync = self.sync == Sync::Always;
        if let Sync::Every { interval_ms, due } = &mut self.sync
            && *due <= now
        {
            *due = now.plus_ms(*interval_ms);
            sync = true;
            // Writing the same offset again flushes it.
            write = write.or((self.unsynced && self.writing.is_none()).then_some(self.written));
        }
        write.map(|offset| (offset, sync))
    }

    fn wake(&self) -> Option<Instant> {
        let sync = match self.sync {
            Sync::Every { due, .. } => Some(due),
            Sync::Never | Sync::Always => None,
        };
        earliest(self.timer.map(|t| t.1), sync)
    }
}

/// Returns the name of a partition's file in a folder. Path separators are encoded as in URLs.
fn file_name(tp: &TopicPartition, group_id: &str) -> String {
    let group = match group_id {
        "" => String::new(),
        id => format!("-{id}"),
    };
    let name = format!("{}-{}{group}.offset", tp.topic, tp.partition);
    name.replace('/', "%2F").replace(':', "%3A").replace('\\', "%5C")
}

/// Parses the content of a file; returns `None` for an empty one.
///
/// # Errors
/// A text about content that is not an offset.
fn parse(content: &[u8]) -> Result<Option<i64>, String> {
    let text = String::from_utf8_lossy(content);
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let offset = text.parse().ok().filter(|offset: &i64| *offset >= 0);
    offset
        .map(Some)
        .ok_or_else(|| format!("its content is no offset but {text:?}"))
}

#[cfg(test)]
mod tests;
