//! Transactions: each is visible as a whole or not at all, and each input has exactly one effect in the committed
//! output.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::chain::{Item, Tag};
use crate::log_records::LogRecords;

/// A topic's number in the chain and a partition.
pub(crate) type StagePartition = (usize, i32);

/// The outcome of a transaction, as far as its application knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Fate {
    /// No commit was requested.
    #[default]
    Open,
    /// A commit was requested, with an unknown result.
    Asked,
    Committed,
    Aborted,
}

#[derive(Debug, Default)]
struct Transaction {
    fate: Fate,
    /// The number of records that the client accepted.
    handed: u64,
}

/// Records with their offsets.
type Records = Vec<(i64, Item)>;

/// The records of a partition.
#[derive(Debug, Default, Clone)]
pub(crate) struct PartitionView {
    /// All records, and those of committed transactions.
    all: Records,
    committed: Records,
    /// Transactions that have not ended.
    open: usize,
}

impl PartitionView {
    /// Reads a partition's log.
    ///
    /// # Errors
    /// The log cannot be read; the text is the reason.
    pub(crate) fn of_log(batches: impl Iterator<Item = Bytes>) -> Result<Self, String> {
        let log = LogRecords::read(batches, i64::MAX, |record| {
            let item = record.value.and_then(Item::parse);
            item.ok_or_else(|| {
                format!(
                    "the record at offset {} was produced by no client of the world",
                    record.offset
                )
            })
        })?;
        let mut view = PartitionView {
            open: log.open,
            ..PartitionView::default()
        };
        for (offset, item, is_committed) in log.records {
            view.all.push((offset, item));
            if is_committed {
                view.committed.push((offset, item));
            }
        }
        Ok(view)
    }

    /// Returns the offset behind the last committed record.
    fn end(&self) -> Option<i64> {
        self.committed.last().map(|(offset, _)| offset + 1)
    }
}

/// All partitions of a chain.
pub(crate) type Views = BTreeMap<StagePartition, PartitionView>;

/// The state of all transactions.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    transactions: BTreeMap<Tag, Transaction>,
    /// The records that readers have received, by reader and by isolation level: true for read_committed.
    readers: BTreeMap<(usize, bool), BTreeMap<(String, i32), Records>>,
    /// Processors keep no state: the number of an input is its offset.
    by_offset: bool,
    /// Processors may repeat inputs, and write outside of transactions.
    repeats: bool,
    /// Commits of offsets were served on connections that their clients had given up.
    late_commits: bool,
}

impl Transactions {
    /// Adds a reader that reads everything from the beginning.
    pub(crate) fn add_reader(&mut self, reader: usize, committed: bool) {
        self.readers.entry((reader, committed)).or_default();
    }

    /// Records that processors number inputs by their offsets.
    pub(crate) fn count_by_offset(&mut self) {
        self.by_offset = true;
    }

    /// Records that processors work at least once.
    pub(crate) fn expect_repetitions(&mut self) {
        self.repeats = true;
    }

    /// Records a commit of offsets that its client has given up.
    pub(crate) fn on_late_commit(&mut self) {
        self.late_commits = true;
    }

    pub(crate) fn on_handed(&mut self, tag: Tag) {
        self.transactions.entry(tag).or_default().handed += 1;
    }

    pub(crate) fn on_commit_asked(&mut self, tag: Tag) {
        let transaction = self.transactions.entry(tag).or_default();
        if transaction.fate == Fate::Open {
            transaction.fate = Fate::Asked;
        }
    }

    pub(crate) fn on_committed(&mut self, tag: Tag) {
        self.transactions.entry(tag).or_default().fate = Fate::Committed;
    }

    pub(crate) fn on_aborted(&mut self, tag: Tag) -> Result<(), String> {
        let transaction = self.transactions.entry(tag).or_default();
        match std::mem::replace(&mut transaction.fate, Fate::Aborted) {
            Fate::Committed => Err(format!("{tag:?} was committed, and then aborted")),
            _ => Ok(()),
        }
    }

    /// Checks a record that a reader received. `stable` is the last stable offset, at which read_committed stops.
    pub(crate) fn on_read(
        &mut self,
        reader: usize,
        committed: bool,
        partition: (String, i32),
        (offset, item): (i64, Option<Item>),
        stable: Option<i64>,
    ) -> Result<(), String> {
        if stable.is_some_and(|stable| offset >= stable) {
            return Err(format!(
                "client {reader} reads committed, and has {partition:?} @ {offset}, behind the last stable offset {stable:?}"
            ));
        }
        let Some(item) = item else {
            return Err(format!(
                "client {reader}: {partition:?} @ {offset} was produced by no client of the world"
            ));
        };
        let fate = self.transactions.get(&item.tag).map(|t| t.fate);
        if committed && fate == Some(Fate::Aborted) {
            return Err(format!(
                "client {reader} reads {item:?} of {partition:?} @ {offset}, which was aborted"
            ));
        }
        let partitions = self.readers.entry((reader, committed)).or_default();
        let seen = partitions.entry(partition.clone()).or_default();
        if seen.last().is_some_and(|(last, _)| *last >= offset) {
            return Err(format!(
                "client {reader} reads {partition:?} @ {offset} after {:?}",
                seen.last()
            ));
        }
        seen.push((offset, item));
        Ok(())
    }

    /// Returns the reason why the chain or its readers are not done; `None` when they are. `offsets` are the commits of
    /// the stages' groups.
    pub(crate) fn behind(
        &self,
        views: &Views,
        names: impl Fn(usize) -> String,
        offsets: impl Fn(usize, i32) -> Option<i64>,
    ) -> Option<String> {
        if let Some((partition, view)) = views.iter().find(|(_, v)| v.open > 0) {
            return Some(format!("{} transactions of {partition:?} have no end", view.open));
        }
        let stages: BTreeSet<usize> = views.keys().map(|(stage, _)| *stage).collect();
        let of_stage = |stage: usize| {
            let views = views.iter().filter(move |((s, _), _)| *s == stage);
            views.flat_map(|(_, v)| &v.committed).map(|(_, item)| item)
        };
        for stage in stages.iter().skip(1) {
            let before = of_stage(stage - 1).count();
            let after = match self.repeats {
                true => of_stage(*stage)
                    .map(|o| (o.source, o.count))
                    .collect::<BTreeSet<_>>()
                    .len(),
                false => of_stage(*stage).count(),
            };
            if after < before {
                return Some(format!("stage {stage} has written {after} of {before}"));
            }
        }
        for ((reader, committed), partitions) in &self.readers {
            for ((stage, partition), view) in views {
                let expected = if *committed { &view.committed } else { &view.all };
                let seen = partitions.get(&(names(*stage), *partition)).map_or(0, Vec::len);
                if seen < expected.len() {
                    let all = expected.len();
                    return Some(format!(
                        "client {reader} has seen {seen} of {all} of stage {stage} [{partition}]"
                    ));
                }
            }
        }
        // Where offsets are not part of transactions, written records do not show the committed inputs.
        let open = |((stage, partition), view): (&StagePartition, &PartitionView)| {
            let (next, read) = (stage + 1, view.end());
            let committed = offsets(next, *partition);
            let is_input = views.keys().any(|(s, _)| *s == next);
            (self.repeats && is_input && !self.is_committed(read, committed)).then(|| {
                format!("the group of stage {next} has read [{partition}] to {read:?}, and committed {committed:?}")
            })
        };
        views.iter().find_map(open)
    }

    fn is_committed(&self, read: Option<i64>, committed: Option<i64>) -> bool {
        // A late commit may lower the offset of a loop that works at least once: the records behind it are read again.
        match self.repeats && self.late_commits {
            true => committed.is_some() == read.is_some() && committed <= read,
            false => committed == read,
        }
    }

    /// Compares all observations with the logs at the end. `names` are the topics, `offsets` the commits of the stages'
    /// groups.
    pub(crate) fn compare(
        &self,
        views: &Views,
        names: impl Fn(usize) -> String,
        offsets: impl Fn(usize, i32) -> Option<i64>,
    ) -> Result<(), String> {
        if let Some(what) = self.behind(views, &names, &offsets) {
            return Err(what);
        }
        self.compare_transactions(views)?;
        self.compare_stages(views, offsets)?;
        self.compare_readers(views, names)
    }

    /// Checks that each transaction is visible as a whole or not at all.
    fn compare_transactions(&self, views: &Views) -> Result<(), String> {
        let mut found: BTreeMap<Tag, u64> = BTreeMap::new();
        let sources = |item: &Item| !self.repeats || item.source < 0;
        let committed = views.values().flat_map(|v| &v.committed);
        for (_, item) in committed.filter(|(_, item)| sources(item)) {
            *found.entry(item.tag).or_default() += 1;
        }
        for tag in found.keys() {
            if !self.transactions.contains_key(tag) {
                return Err(format!("{tag:?} is committed, and no client began it"));
            }
        }
        for (tag, transaction) in &self.transactions {
            let found = found.get(tag).copied().unwrap_or(0);
            let (handed, fate) = (transaction.handed, transaction.fate);
            let right = match fate {
                Fate::Committed => found == handed,
                Fate::Asked => found == handed || found == 0,
                Fate::Open | Fate::Aborted => found == 0,
            };
            if !right {
                return Err(format!(
                    "{tag:?} is {fate:?}: {found} of its {handed} records are committed"
                ));
            }
        }
        Ok(())
    }

    /// Checks that each input has one output, in order and with the right state, and that the committed offsets match
    /// the outputs.
    fn compare_stages(&self, views: &Views, offsets: impl Fn(usize, i32) -> Option<i64>) -> Result<(), String> {
        for ((stage, partition), view) in views {
            if !self.repeats {
                check_order(view).map_err(|what| format!("stage {stage} [{partition}]: {what}"))?;
            }
            let next = stage + 1;
            if !views.keys().any(|(s, _)| *s == next) {
                continue;
            }
            let written = views.iter().filter(|((s, _), _)| *s == next);
            let written = written.flat_map(|(_, v)| &v.committed).map(|(_, item)| item);
            let mut outputs: Vec<&Item> = written.filter(|item| item.source == *partition).collect();
            outputs.sort_by_key(|item| item.count);
            if self.repeats {
                outputs.dedup_by_key(|item| (item.count, item.origin));
            }
            for (number, (offset, input)) in (1..).zip(&view.committed) {
                let output = outputs.get(number - 1);
                let count = match self.by_offset {
                    true => offset.unsigned_abs() + 1,
                    false => number as u64,
                };
                let right = output.is_some_and(|o| o.origin == input.origin && o.count == count);
                if !right {
                    return Err(format!(
                        "input {number} of stage {next} from [{partition}] @ {offset} is {input:?}, its output {output:?}"
                    ));
                }
            }
            if outputs.len() != view.committed.len() {
                let (out, of) = (outputs.len(), view.committed.len());
                return Err(format!(
                    "stage {next} has {out} outputs of {of} inputs from [{partition}]"
                ));
            }
            let (read, committed) = (view.end(), offsets(next, *partition));
            if !self.is_committed(read, committed) {
                return Err(format!(
                    "stage {next} has read [{partition}] to {read:?}, and committed {committed:?}"
                ));
            }
        }
        Ok(())
    }

    fn compare_readers(&self, views: &Views, names: impl Fn(usize) -> String) -> Result<(), String> {
        for ((reader, committed), partitions) in &self.readers {
            for ((stage, partition), view) in views {
                let expected = if *committed { &view.committed } else { &view.all };
                let seen = partitions
                    .get(&(names(*stage), *partition))
                    .cloned()
                    .unwrap_or_default();
                if seen != *expected {
                    let at = seen.iter().zip(expected).find(|(a, b)| a != b);
                    return Err(format!(
                        "client {reader} has read other records of stage {stage} [{partition}] than lie there: {at:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Checks that the outputs of a partition's inputs are in order.
fn check_order(view: &PartitionView) -> Result<(), String> {
    let mut last: BTreeMap<i32, u64> = BTreeMap::new();
    for (offset, item) in view.committed.iter().filter(|(_, item)| item.source >= 0) {
        match last.insert(item.source, item.count) {
            Some(before) if before >= item.count => {
                return Err(format!(
                    "{item:?} @ {offset} lies behind what was made of input {before}"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(origin: u64, number: u32, source: i32, count: u64) -> Item {
        let tag = Tag { client: 1, number };
        Item {
            origin,
            tag,
            source,
            count,
        }
    }

    fn view(committed: &[(i64, Item)]) -> PartitionView {
        PartitionView {
            all: committed.to_vec(),
            committed: committed.to_vec(),
            open: 0,
        }
    }

    fn compare(books: &Transactions, views: &Views) -> Result<(), String> {
        books.compare(views, |stage| stage.to_string(), |_, _| Some(2))
    }

    #[test]
    fn partial_lost_duplicate_and_reordered_transactions_are_detected() {
        let inputs = [(0, item(7, 1, -1, 0)), (1, item(8, 1, -1, 0))];
        let outputs = [(0, item(7, 2, 0, 1)), (1, item(8, 2, 0, 2))];
        let mut books = Transactions::default();
        for number in [1, 1, 2, 2] {
            books.on_handed(Tag { client: 1, number });
        }
        for number in [1, 2] {
            books.on_commit_asked(Tag { client: 1, number });
        }
        let chain = |outputs: &[(i64, Item)]| Views::from([((0, 0), view(&inputs)), ((1, 0), view(outputs))]);
        assert_eq!(compare(&books, &chain(&outputs)), Ok(()));
        let doubled = [outputs[0], outputs[1], (2, item(7, 2, 0, 3))];
        let swapped = [(0, item(8, 2, 0, 1)), (1, item(7, 2, 0, 2))];
        let stateless = [(0, item(7, 2, 0, 1)), (1, item(8, 2, 0, 1))];
        for wrong in [&doubled[..], &outputs[..1], &swapped, &stateless] {
            assert!(compare(&books, &chain(wrong)).is_err(), "{wrong:?}");
        }
        assert!(
            books
                .compare(&chain(&outputs), |s| s.to_string(), |_, _| Some(1))
                .is_err()
        );
        books.on_aborted(Tag { client: 1, number: 2 }).unwrap();
        assert!(compare(&books, &chain(&outputs)).is_err());
    }

    #[test]
    fn at_least_once_output_is_committed_as_read() {
        let inputs = [(0, item(7, 1, -1, 0)), (1, item(8, 1, -1, 0))];
        let outputs = [(0, item(7, 2, 0, 1)), (1, item(7, 3, 0, 1)), (2, item(8, 3, 0, 2))];
        let chain = Views::from([((0, 0), view(&inputs)), ((1, 0), view(&outputs))]);
        let mut books = Transactions::default();
        books.expect_repetitions();
        books.count_by_offset();
        for _ in inputs {
            books.on_handed(inputs[0].1.tag);
        }
        books.on_commit_asked(inputs[0].1.tag);
        let is_right = |books: &Transactions, committed| {
            let right = books.compare(&chain, |s| s.to_string(), |_, _| committed).is_ok();
            let awaited = books.behind(&chain, |s| s.to_string(), |_, _| committed);
            assert_eq!(awaited.is_none(), right, "{awaited:?}");
            right
        };
        for (committed, right, right_when_late) in [
            (None, false, false),
            (Some(1), false, true),
            (Some(2), true, true),
            (Some(3), false, false),
        ] {
            books.late_commits = false;
            assert_eq!(is_right(&books, committed), right, "{committed:?}");
            books.on_late_commit();
            assert_eq!(is_right(&books, committed), right_when_late, "{committed:?}");
        }
    }

    #[test]
    fn readers_of_committed_records_see_nothing_else() {
        let mut books = Transactions::default();
        let record = item(7, 1, -1, 0);
        let partition = || ("0".to_owned(), 0);
        assert!(books.on_read(5, true, partition(), (3, Some(record)), Some(3)).is_err());
        assert_eq!(books.on_read(5, true, partition(), (3, Some(record)), Some(4)), Ok(()));
        assert!(books.on_read(5, true, partition(), (3, Some(record)), Some(4)).is_err());
        books.on_aborted(record.tag).unwrap();
        assert!(books.on_read(5, true, partition(), (4, Some(record)), Some(9)).is_err());
        assert_eq!(books.on_read(6, false, partition(), (4, Some(record)), None), Ok(()));
    }
}
