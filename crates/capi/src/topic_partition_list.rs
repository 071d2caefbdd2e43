//! `rd_kafka_topic_partition_t` and lists of them. All their memory is malloc'ed: applications write into the fields.

use std::ffi::{CStr, c_char, c_int, c_void};

use ottla_core::error::ErrorCode;
use ottla_core::types::{PartitionOffset, TopicPartition, offset};

use crate::abi::{PartitionList, PartitionRow};
use crate::ffi::{self, FromC, IntoC, exports};

/// The data of a row besides its public fields.
#[repr(C)]
pub struct RowPrivate {
    leader_epoch: i32,
}

/// Compares two rows; the application's, as `qsort_r(3)` calls it.
pub type RowCompare = Option<unsafe extern "C" fn(*const c_void, *const c_void, *mut c_void) -> c_int>;

impl FromC for RowCompare {
    type C = RowCompare;
    unsafe fn from_c(c: RowCompare) -> Option<Self> {
        Some(c)
    }
}

/// A list lent for the call.
impl FromC for &PartitionList {
    type C = *const PartitionList;
    unsafe fn from_c(c: *const PartitionList) -> Option<Self> {
        // SAFETY: NULL or a live list, by the caller's promise.
        unsafe { c.as_ref() }
    }
}

/// A list lent for the call and changed.
impl FromC for &mut PartitionList {
    type C = *mut PartitionList;
    unsafe fn from_c(c: *mut PartitionList) -> Option<Self> {
        // SAFETY: as above, and the caller promises exclusive use.
        unsafe { c.as_mut() }
    }
}

/// A list or NULL.
impl FromC for Option<&PartitionList> {
    type C = *const PartitionList;
    unsafe fn from_c(c: *const PartitionList) -> Option<Self> {
        // SAFETY: as above.
        Some(unsafe { c.as_ref() })
    }
}

/// A row lent for the call.
impl FromC for &PartitionRow {
    type C = *const PartitionRow;
    unsafe fn from_c(c: *const PartitionRow) -> Option<Self> {
        // SAFETY: NULL or a live row.
        unsafe { c.as_ref() }
    }
}

/// A row lent for the call and changed.
impl FromC for &mut PartitionRow {
    type C = *mut PartitionRow;
    unsafe fn from_c(c: *mut PartitionRow) -> Option<Self> {
        // SAFETY: as above, and the caller promises exclusive use.
        unsafe { c.as_mut() }
    }
}

/// A list that this side owns.
pub struct OwnedList(*mut PartitionList);

// SAFETY: a list is plain memory without ties to a thread.
unsafe impl Send for OwnedList {}

impl Drop for OwnedList {
    fn drop(&mut self) {
        // SAFETY: owned, made by `new`.
        unsafe { destroy(self.0) };
    }
}

impl IntoC for OwnedList {
    type C = *mut PartitionList;
    fn into_c(self) -> *mut PartitionList {
        let list = self.0;
        std::mem::forget(self);
        list
    }
}

impl IntoC for Option<OwnedList> {
    type C = *mut PartitionList;
    fn into_c(self) -> *mut PartitionList {
        self.map_or(std::ptr::null_mut(), IntoC::into_c)
    }
}

impl OwnedList {
    /// Returns an empty list with room for `size` rows; `None` when there is no memory.
    pub fn new(size: usize) -> Option<OwnedList> {
        // SAFETY: zeroed memory is an empty list.
        let list: *mut PartitionList = unsafe { libc::calloc(1, size_of::<PartitionList>()) }.cast();
        // SAFETY: NULL or just made.
        let owned = unsafe { list.as_mut() }.map(|l| OwnedList(l))?;
        // SAFETY: just made.
        unsafe { &mut *list }.reserve(size)?;
        Some(owned)
    }

    /// Returns a list with these rows.
    pub fn from_rows(rows: &[PartitionOffset]) -> Option<OwnedList> {
        let list = OwnedList::new(rows.len())?;
        for row in rows {
            // SAFETY: owned and live.
            let at = unsafe { &mut *list.0 }.add(&row.tp.topic, row.tp.partition)?;
            at.take(row);
        }
        Some(list)
    }

    /// Returns the address of the first row, NULL for an empty list.
    pub fn first_row(&self) -> *const PartitionRow {
        // SAFETY: owned and live.
        unsafe { &*self.0 }
            .rows()
            .first()
            .map_or(std::ptr::null(), std::ptr::from_ref)
    }

    /// Returns the list's address, which stays this side's.
    pub fn as_ptr(&self) -> *mut PartitionList {
        self.0
    }
}

impl PartitionList {
    /// Returns the rows.
    pub fn rows(&self) -> &[PartitionRow] {
        match usize::try_from(self.cnt) {
            // SAFETY: elems holds cnt rows, by the API's contract.
            Ok(cnt) if !self.elems.is_null() => unsafe { std::slice::from_raw_parts(self.elems, cnt) },
            _ => &[],
        }
    }

    /// Returns the rows, to be changed.
    pub fn rows_mut(&mut self) -> &mut [PartitionRow] {
        match usize::try_from(self.cnt) {
            // SAFETY: as above.
            Ok(cnt) if !self.elems.is_null() => unsafe { std::slice::from_raw_parts_mut(self.elems, cnt) },
            _ => &mut [],
        }
    }

    /// Converts the rows to the core's type. `None` when a topic is NULL or not UTF-8.
    pub fn to_offsets(&self) -> Option<Vec<PartitionOffset>> {
        self.rows().iter().map(PartitionRow::to_offset).collect()
    }

    /// Returns the partitions named. `None` when a topic is NULL or not UTF-8.
    pub fn to_partitions(&self) -> Option<Vec<TopicPartition>> {
        self.rows()
            .iter()
            .map(|r| Some(TopicPartition::new(r.topic()?, r.partition)))
            .collect()
    }

    /// Writes results back into the rows of the same partitions.
    pub fn update(&mut self, results: &[PartitionOffset]) {
        let same_order = self.rows().len() == results.len()
            && self
                .rows()
                .iter()
                .zip(results)
                .all(|(row, result)| row.is(&result.tp.topic, result.tp.partition));
        if same_order {
            self.rows_mut()
                .iter_mut()
                .zip(results)
                .for_each(|(row, result)| row.take(result));
            return;
        }
        for row in self.rows_mut() {
            if let Some(result) = results.iter().find(|r| row.is(&r.tp.topic, r.tp.partition)) {
                row.take(result);
            }
        }
    }

    /// Sets every row's error.
    pub fn set_errors(&mut self, code: ErrorCode) {
        self.rows_mut().iter_mut().for_each(|row| row.err = code.0);
    }

    fn reserve(&mut self, more: usize) -> Option<()> {
        let needed = self.rows().len().checked_add(more)?;
        let size = usize::try_from(self.size).unwrap_or(0);
        if needed <= size {
            return Some(());
        }
        let wanted = needed.max(size.saturating_mul(2)).max(4);
        let bytes = wanted.checked_mul(size_of::<PartitionRow>())?;
        let new_size = c_int::try_from(wanted).ok()?;
        // SAFETY: elems is NULL or malloc'ed.
        let elems: *mut PartitionRow = unsafe { libc::realloc(self.elems.cast(), bytes) }.cast();
        if elems.is_null() {
            return None;
        }
        self.elems = elems;
        self.size = new_size;
        Some(())
    }

    /// Appends a row; `None` when there is no memory.
    pub fn add(&mut self, topic: &str, partition: i32) -> Option<&mut PartitionRow> {
        self.reserve(1)?;
        let topic = ffi::malloc_text(topic);
        if topic.is_null() {
            return None;
        }
        let index = self.rows().len();
        self.cnt = self.cnt.checked_add(1)?;
        // SAFETY: reserve made room for one more row.
        unsafe {
            let row = self.elems.add(index);
            row.write(PartitionRow {
                topic,
                partition,
                offset: offset::INVALID,
                metadata: std::ptr::null_mut(),
                metadata_size: 0,
                opaque: std::ptr::null_mut(),
                err: 0,
                private: std::ptr::null_mut(),
            });
            Some(&mut *row)
        }
    }

    fn position(&self, topic: &str, partition: i32) -> Option<usize> {
        self.rows().iter().position(|row| row.is(topic, partition))
    }

    fn remove(&mut self, index: usize) -> bool {
        if index >= self.rows().len() {
            return false;
        }
        // SAFETY: index is that of a row; the rows after it move down by one.
        unsafe {
            let row = self.elems.add(index);
            free_fields(&*row);
            std::ptr::copy(row.add(1), row, self.rows().len() - index - 1);
        }
        self.cnt -= 1;
        true
    }
}

impl PartitionRow {
    /// Returns the topic, when it is UTF-8.
    pub fn topic(&self) -> Option<&str> {
        if self.topic.is_null() {
            return None;
        }
        // SAFETY: a NUL-terminated string, by the API's contract.
        unsafe { CStr::from_ptr(self.topic) }.to_str().ok()
    }

    fn is(&self, topic: &str, partition: i32) -> bool {
        self.partition == partition && self.topic() == Some(topic)
    }

    /// Returns the leader epoch, or -1.
    pub fn leader_epoch(&self) -> i32 {
        // SAFETY: NULL or made by `set_leader_epoch`.
        unsafe { self.private.cast::<RowPrivate>().as_ref() }.map_or(-1, |p| p.leader_epoch)
    }

    /// Sets the leader epoch.
    pub fn set_leader_epoch(&mut self, leader_epoch: i32) {
        if self.private.is_null() {
            if leader_epoch == -1 {
                return;
            }
            // SAFETY: malloc; the result is checked below.
            self.private = unsafe { libc::malloc(size_of::<RowPrivate>()) };
        }
        let private: *mut RowPrivate = self.private.cast();
        if !private.is_null() {
            // SAFETY: malloc'ed with the size of a RowPrivate.
            unsafe { private.write(RowPrivate { leader_epoch }) };
        }
    }

    fn metadata(&self) -> Option<&[u8]> {
        // SAFETY: metadata holds metadata_size bytes, by the API's contract.
        unsafe { ffi::bytes(self.metadata, self.metadata_size) }
    }

    fn set_metadata(&mut self, metadata: Option<&[u8]>) {
        // SAFETY: NULL or malloc'ed, and owned by the row.
        unsafe { libc::free(self.metadata) };
        self.metadata = metadata.map_or(std::ptr::null_mut(), |m| ffi::malloc_bytes(m).cast());
        self.metadata_size = if self.metadata.is_null() {
            0
        } else {
            metadata.map_or(0, <[u8]>::len)
        };
    }

    /// Converts the row to the core's type.
    pub fn to_offset(&self) -> Option<PartitionOffset> {
        Some(PartitionOffset {
            tp: TopicPartition::new(self.topic()?, self.partition),
            offset: self.offset,
            leader_epoch: self.leader_epoch(),
            metadata: self.metadata().map(<[u8]>::to_vec),
            error: ErrorCode(self.err),
        })
    }

    /// Takes over what the core says of this partition.
    fn take(&mut self, from: &PartitionOffset) {
        self.offset = from.offset;
        self.set_leader_epoch(from.leader_epoch);
        if self.metadata() != from.metadata.as_deref() {
            self.set_metadata(from.metadata.as_deref());
        }
        self.err = from.error.0;
    }

    fn copy_fields(&mut self, from: &PartitionRow) {
        self.offset = from.offset;
        self.opaque = from.opaque;
        self.err = from.err;
        self.set_metadata(from.metadata());
        self.set_leader_epoch(from.leader_epoch());
    }
}

/// Frees what a row points to.
///
/// # Safety
/// The row's pointers are its own.
unsafe fn free_fields(row: &PartitionRow) {
    // SAFETY: each is NULL or malloc'ed.
    unsafe {
        libc::free(row.topic.cast());
        libc::free(row.metadata);
        libc::free(row.private);
    }
}

/// Frees a list.
///
/// # Safety
/// NULL or a list without other users.
unsafe fn destroy(list: *mut PartitionList) {
    // SAFETY: by the caller's promise.
    unsafe {
        if let Some(l) = list.as_ref() {
            for row in l.rows() {
                free_fields(row);
            }
            libc::free(l.elems.cast());
        }
        libc::free(list.cast());
    }
}

exports! {
    /// Frees a single row that was handed out by itself.
    fn rd_kafka_topic_partition_destroy(row: *mut PartitionRow) {
        // SAFETY: NULL or a malloc'ed row of the application.
        unsafe {
            if let Some(r) = row.as_ref() {
                free_fields(r);
            }
            libc::free(row.cast());
        }
    }

    /// Sets a row's leader epoch.
    fn rd_kafka_topic_partition_set_leader_epoch(row: &mut PartitionRow, leader_epoch: i32) {
        row.set_leader_epoch(leader_epoch);
    }

    /// Returns a row's leader epoch, or -1.
    fn rd_kafka_topic_partition_get_leader_epoch(row: &PartitionRow) -> i32, or -1; {
        row.leader_epoch()
    }

    /// Returns a new list.
    fn rd_kafka_topic_partition_list_new(size: i32) -> Option<OwnedList>, or None; {
        OwnedList::new(usize::try_from(size).unwrap_or(0))
    }

    /// Frees a list with all its rows.
    fn rd_kafka_topic_partition_list_destroy(list: *mut PartitionList) {
        // SAFETY: NULL or the application's list.
        unsafe { destroy(list) };
    }

    /// Appends a row.
    fn rd_kafka_topic_partition_list_add(list: &mut PartitionList, topic: &str, partition: i32)
        -> *mut PartitionRow, or std::ptr::null_mut();
    {
        list.add(topic, partition).map_or(std::ptr::null_mut(), |row| row)
    }

    /// Appends the rows `start..=stop` of a topic.
    fn rd_kafka_topic_partition_list_add_range(list: &mut PartitionList, topic: &str, start: i32, stop: i32) {
        for partition in start..=stop {
            if list.add(topic, partition).is_none() {
                return;
            }
        }
    }

    /// Removes a partition's row; 1 when there was one.
    fn rd_kafka_topic_partition_list_del(list: &mut PartitionList, topic: &str, partition: i32) -> i32, or 0; {
        list.position(topic, partition).is_some_and(|i| list.remove(i)).into()
    }

    /// Removes the row at an index; 1 when there was one.
    fn rd_kafka_topic_partition_list_del_by_idx(list: &mut PartitionList, index: i32) -> i32, or 0; {
        usize::try_from(index).is_ok_and(|i| list.remove(i)).into()
    }

    /// Returns a copy.
    fn rd_kafka_topic_partition_list_copy(list: &PartitionList) -> Option<OwnedList>, or None; {
        let copy = OwnedList::new(list.rows().len())?;
        for row in list.rows() {
            // SAFETY: just made, not shared.
            unsafe { &mut *copy.as_ptr() }.add(row.topic()?, row.partition)?.copy_fields(row);
        }
        Some(copy)
    }

    /// Sets the offset of a partition that is in the list.
    fn rd_kafka_topic_partition_list_set_offset(list: &mut PartitionList, topic: &str, partition: i32, offset: i64)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let at = list.position(topic, partition);
        match at.and_then(|i| list.rows_mut().get_mut(i)) {
            Some(row) => {
                row.offset = offset;
                ErrorCode::NO_ERROR
            }
            None => ErrorCode::L_UNKNOWN_PARTITION,
        }
    }

    /// Returns the row of a partition, or NULL.
    fn rd_kafka_topic_partition_list_find(list: &PartitionList, topic: &str, partition: i32)
        -> *mut PartitionRow, or std::ptr::null_mut();
    {
        let at = list.position(topic, partition);
        // SAFETY: the index of a row.
        at.map_or(std::ptr::null_mut(), |i| unsafe { list.elems.add(i) })
    }

    /// Sorts by the application's order, or by topic and partition.
    fn rd_kafka_topic_partition_list_sort(list: &mut PartitionList, compare: RowCompare, opaque: *mut c_void) {
        // `sort_by` may stop in the middle when the application's order contradicts itself, but then by a panic,
        // with every row still there once: the list stays whole.
        list.rows_mut().sort_by(|a, b| match compare {
            None => (a.topic(), a.partition).cmp(&(b.topic(), b.partition)),
            // SAFETY: the application's function, given two rows and its own pointer.
            Some(compare) => unsafe {
                compare(std::ptr::from_ref(a).cast(), std::ptr::from_ref(b).cast(), opaque).cmp(&0)
            },
        });
    }
}

/// Returns the row of one partition by itself, malloc'ed, for calls that hand out a single row.
pub fn single_row(row: &PartitionOffset) -> *mut PartitionRow {
    // SAFETY: the memory for one row is allocated and checked; the row is moved out of the list, whose count then says
    // that it has none.
    unsafe {
        let Some(list) = OwnedList::from_rows(std::slice::from_ref(row)) else {
            return std::ptr::null_mut();
        };
        let to: *mut PartitionRow = libc::malloc(size_of::<PartitionRow>()).cast();
        if !to.is_null() {
            to.copy_from_nonoverlapping((*list.as_ptr()).elems, 1);
            (*list.as_ptr()).cnt = 0;
        }
        to
    }
}

/// The C string type of a row's topic.
pub type TopicText = *mut c_char;

#[cfg(test)]
mod tests {
    use super::*;

    fn row(topic: &str, partition: i32, offset: i64) -> PartitionOffset {
        PartitionOffset::new(TopicPartition::new(topic, partition), offset)
    }

    #[test]
    fn rows_go_in_and_out_whole() {
        let mut rows = vec![row("b", 2, 10), row("a", 1, 11)];
        rows[0].metadata = Some(b"me\0ta".to_vec());
        rows[1].leader_epoch = 7;
        rows[1].error = ErrorCode::L_UNKNOWN_PARTITION;
        let list = OwnedList::from_rows(&rows).expect("memory");
        // SAFETY: a live list.
        unsafe {
            assert_eq!((*list.as_ptr()).to_offsets(), Some(rows.clone()));
            let copy = rd_kafka_topic_partition_list_copy(list.as_ptr());
            assert_eq!((*copy).to_offsets(), Some(rows));
            rd_kafka_topic_partition_list_destroy(copy);
        }
    }

    #[test]
    fn find_set_delete_sort() {
        let list = OwnedList::new(0).expect("memory");
        let l = list.as_ptr();
        // SAFETY: a live list.
        unsafe {
            rd_kafka_topic_partition_list_add_range(l, c"t".as_ptr(), 0, 9);
            assert_eq!((*l).cnt, 10);
            assert_eq!(rd_kafka_topic_partition_list_set_offset(l, c"t".as_ptr(), 5, 42), 0);
            assert_eq!(rd_kafka_topic_partition_list_set_offset(l, c"u".as_ptr(), 5, 42), -190);
            assert_eq!((*rd_kafka_topic_partition_list_find(l, c"t".as_ptr(), 5)).offset, 42);
            assert!(rd_kafka_topic_partition_list_find(l, c"t".as_ptr(), 10).is_null());
            assert_eq!(rd_kafka_topic_partition_list_del(l, c"t".as_ptr(), 0), 1);
            assert_eq!(rd_kafka_topic_partition_list_del(l, c"t".as_ptr(), 0), 0);
            assert_eq!(rd_kafka_topic_partition_list_del_by_idx(l, 8), 1);
            assert_eq!(rd_kafka_topic_partition_list_del_by_idx(l, 8), 0);
            rd_kafka_topic_partition_list_add(l, c"s".as_ptr(), 3);
            rd_kafka_topic_partition_list_sort(l, None, std::ptr::null_mut());
            let order: Vec<_> = (*l)
                .rows()
                .iter()
                .map(|r| (r.topic().unwrap_or("?"), r.partition))
                .collect();
            assert_eq!(
                order,
                [
                    ("s", 3),
                    ("t", 1),
                    ("t", 2),
                    ("t", 3),
                    ("t", 4),
                    ("t", 5),
                    ("t", 6),
                    ("t", 7),
                    ("t", 8)
                ]
            );
        }
    }

    #[test]
    fn the_applications_order_counts() {
        unsafe extern "C" fn backwards(a: *const c_void, b: *const c_void, opaque: *mut c_void) -> c_int {
            // SAFETY: two rows and the test's counter.
            unsafe {
                *opaque.cast::<usize>() += 1;
                (*b.cast::<PartitionRow>()).partition - (*a.cast::<PartitionRow>()).partition
            }
        }
        let list = OwnedList::from_rows(&[row("t", 1, 0), row("t", 3, 0), row("t", 2, 0)]).expect("memory");
        let mut calls = 0usize;
        // SAFETY: a live list.
        unsafe {
            rd_kafka_topic_partition_list_sort(list.as_ptr(), Some(backwards), (&raw mut calls).cast());
            let order: Vec<_> = (*list.as_ptr()).rows().iter().map(|r| r.partition).collect();
            assert_eq!(order, [3, 2, 1]);
        }
        assert!(calls >= 2);
    }

    #[test]
    fn results_find_their_rows() {
        let list = OwnedList::from_rows(&[row("t", 1, 0), row("t", 2, 0)]).expect("memory");
        // SAFETY: a live list.
        let list = unsafe { &mut *list.as_ptr() };
        list.update(&[row("t", 2, 22)]);
        assert_eq!(list.rows().iter().map(|r| r.offset).collect::<Vec<_>>(), [0, 22]);
        list.update(&[row("t", 1, 5), row("t", 2, 6)]);
        assert_eq!(list.rows().iter().map(|r| r.offset).collect::<Vec<_>>(), [5, 6]);
    }

    #[test]
    fn a_single_row_is_freed_by_itself() {
        let one = single_row(&row("t", 1, 9));
        // SAFETY: a live row.
        unsafe {
            assert_eq!((*one).offset, 9);
            rd_kafka_topic_partition_destroy(one);
        }
    }
}
