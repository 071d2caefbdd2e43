//! Offsets in local files: times and content of writes, and results of reads.

use std::sync::Arc;

use crate::config::{Conf, TopicConf};
use crate::consumer::offsets::OffsetFiles;
use crate::consumer::{FileAction, FileEvent};
use crate::error::ErrorCode;
use crate::event::{PartitionState, Queue, StoredOffset};
use crate::memory::FetchBudget;
use crate::reply::Reply;
use crate::sys::{Instant, Waker};
use crate::types::{ClientKind, Topic, TopicHooks, offset};

struct Nobody;
impl Waker for Nobody {
    fn wake(&self) {}
}

struct Desk {
    files: OffsetFiles,
    state: Arc<PartitionState>,
    now: Instant,
}

impl Desk {
    /// A partition whose offset is kept in a file, with commits every 100 ms.
    fn new(settings: &[(&str, &str)]) -> Self {
        let mut conf = TopicConf::new();
        conf.set("auto.commit.interval.ms", "100").unwrap();
        conf.set("offset.store.path", "/offsets").unwrap();
        for (name, value) in settings {
            conf.set(name, *value).unwrap();
        }
        let client = Conf::new().resolve(ClientKind::Consumer).unwrap();
        let conf = conf.finalize(&client, ClientKind::Consumer).unwrap();
        let topic = Arc::new(Topic::new("t", conf, TopicHooks::default(), 0));
        let budget = Arc::new(FetchBudget::new(Arc::new(Nobody)));
        let state = Arc::new(PartitionState::new(5, topic, 3, Queue::new(), budget, false));
        state.restart(-1);
        let mut desk = Desk {
            files: OffsetFiles::new("g"),
            state,
            now: Instant::from_micros(7_000_000),
        };
        desk.files.add(desk.now, &desk.state);
        desk
    }

    fn store(&self, offset: i64) {
        let stored = StoredOffset {
            offset,
            leader_epoch: -1,
            metadata: None,
        };
        assert!(self.state.store(stored));
    }

    fn wait_ms(&mut self, millis: u64) -> Option<Instant> {
        self.now = self.now.plus_ms(millis);
        self.files.poll(self.now)
    }

    /// Returns the next write: number, content, and true if it is flushed to disk.
    fn next_write(&mut self) -> Option<(u64, String, bool)> {
        match self.files.next_action()? {
            FileAction::Write {
                id,
                file,
                content,
                sync,
            } => {
                assert_eq!((&*file.path, &*file.name), ("/offsets", "t-3-g.offset"));
                Some((id, content, sync))
            }
            FileAction::Read { .. } => panic!("a reading"),
        }
    }

    fn done(&mut self, id: u64) {
        self.files.on_event(FileEvent { id, result: Ok(None) });
    }

    fn failed(&mut self, id: u64) {
        let result = Err("the disk is full".into());
        self.files.on_event(FileEvent { id, result });
    }
}

#[test]
fn only_greater_offsets_are_written() {
    let mut d = Desk::new(&[]);
    assert_eq!(d.wait_ms(100), Some(d.now.plus_ms(100)));
    assert_eq!(d.next_write(), None);
    d.store(7);
    d.wait_ms(99);
    assert_eq!(d.next_write(), None, "it is not time yet");
    d.wait_ms(1);
    let (id, content, sync) = d.next_write().unwrap();
    assert_eq!((&*content, sync), ("7\n", false));
    // One write at a time.
    d.store(9);
    d.wait_ms(100);
    assert_eq!(d.next_write(), None);
    d.done(id);
    d.store(8);
    d.wait_ms(100);
    let (id, content, _) = d.next_write().unwrap();
    assert_eq!(content, "8\n");
    d.done(id);
    d.store(5);
    d.wait_ms(100);
    assert_eq!(d.next_write(), None, "not back");
    // The topic is another one, or the log was truncated.
    d.state.restart(-1);
    d.store(2);
    d.wait_ms(100);
    assert_eq!(d.next_write().map(|w| w.1).as_deref(), Some("2\n"));
}

#[test]
fn stop_waits_for_the_file() {
    let mut d = Desk::new(&[]);
    d.store(7);
    d.wait_ms(100);
    d.store(9);
    d.files.remove(5);
    let stopped = Reply::new();
    d.files.answer_when_written(5, stopped.clone());
    let first = d.next_write().unwrap();
    let last = d.next_write().unwrap();
    assert_eq!((&*first.1, &*last.1), ("7\n", "9\n"));
    d.done(first.0);
    assert!(stopped.try_take().is_none(), "the last offset is not in the file yet");
    d.failed(last.0);
    assert!(stopped.try_take().is_some_and(|r| r.is_ok()));
    assert_eq!(d.files.take_reports().len(), 1, "what failed is reported");
    // Nothing to be written, and the end of the client.
    d.files.answer_when_written(5, stopped.clone());
    assert!(stopped.try_take().is_some());
}

#[test]
fn failed_write_is_reported_once_and_retried() {
    let mut d = Desk::new(&[]);
    d.store(7);
    for expected in [1, 0, 0] {
        d.wait_ms(100);
        let (id, ..) = d.next_write().unwrap();
        d.failed(id);
        let reports = d.files.take_reports();
        assert_eq!(reports.len(), expected);
        assert!(reports.iter().all(|e| e.code == ErrorCode::L_FS));
    }
    d.wait_ms(100);
    let (id, ..) = d.next_write().unwrap();
    d.done(id);
    d.store(8);
    d.wait_ms(100);
    let (id, ..) = d.next_write().unwrap();
    d.failed(id);
    assert_eq!(d.files.take_reports().len(), 1);
}

#[test]
fn files_are_flushed_at_the_sync_interval() {
    for (interval, expected) in [
        ("-1", [false, false, false]),
        ("0", [true; 3]),
        ("250", [false, false, true]),
    ] {
        let mut d = Desk::new(&[("offset.store.sync.interval.ms", interval)]);
        for (n, expected) in expected.into_iter().enumerate() {
            d.store(10 + n as i64);
            d.wait_ms(100);
            let (id, _, sync) = d.next_write().unwrap();
            assert_eq!(sync, expected, "{interval}: write {n}");
            d.done(id);
        }
    }
    // An unchanged offset is flushed as well, once.
    let mut d = Desk::new(&[("offset.store.sync.interval.ms", "250")]);
    d.store(4);
    d.wait_ms(100);
    let (id, ..) = d.next_write().unwrap();
    d.done(id);
    d.wait_ms(150);
    let (id, content, sync) = d.next_write().unwrap();
    assert_eq!((&*content, sync), ("4\n", true));
    d.done(id);
    d.wait_ms(250);
    assert_eq!(d.next_write(), None);
}

#[test]
fn removed_partition_writes_its_offset() {
    let mut d = Desk::new(&[]);
    d.store(7);
    d.files.remove(5);
    assert_eq!(d.next_write().map(|w| w.1).as_deref(), Some("7\n"));
    assert!(!d.files.keeps(5));
    assert_eq!(d.wait_ms(1000), None);

    let mut d = Desk::new(&[("auto.commit.enable", "false")]);
    d.store(7);
    d.wait_ms(1000);
    d.files.remove(5);
    assert_eq!(d.next_write(), None);
}

#[test]
fn file_content_is_an_offset_or_empty() {
    for (content, expected, reports) in [
        (Ok(None), offset::INVALID, 0),
        (Ok(Some("")), offset::INVALID, 0),
        (Ok(Some("12\n")), 12, 0),
        (Ok(Some(" 0")), 0, 0),
        (Ok(Some("-3\n")), offset::INVALID, 1),
        (Ok(Some("12 apples")), offset::INVALID, 1),
        (Ok(Some("99999999999999999999")), offset::INVALID, 1),
        (Err("no permission"), offset::INVALID, 1),
    ] {
        let mut d = Desk::new(&[]);
        d.files.read(5, 77);
        let Some(FileAction::Read { id, .. }) = d.files.next_action() else {
            panic!("no reading");
        };
        let result = content.map(|c| c.map(|text| text.as_bytes().to_vec()));
        let result = result.map_err(str::to_owned);
        d.files.on_event(FileEvent { id, result });
        let found = d.files.take_found();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].id, found[0].lookup_id), (5, 77));
        assert_eq!(found[0].result.as_ref().ok(), Some(&(expected, -1)), "{content:?}");
        let found_reports = d.files.take_reports();
        assert_eq!(found_reports.len(), reports, "{content:?}: {found_reports:?}");
    }
}
