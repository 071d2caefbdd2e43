//! Arguments and arrays that admin calls share.

use std::ffi::{CStr, CString, c_char};

use ottla_core::error::{Error, ErrorCode};
use ottla_core::types::TopicPartition;

use crate::abi::PartitionList;
use crate::errors::ErrorHandle;
use crate::ffi::{self, FromC, Owned, Tagged};
use crate::topic_partition_list::OwnedList;

/// Maximum number of partitions of a topic.
pub(super) const PARTITIONS_MAX: i32 = 100_000;
/// Maximum number of brokers for one partition.
pub(super) const BROKERS_MAX: usize = 10_000;

/// Handles in an array of pointers, as the API hands arrays out: a box is a pointer.
pub(super) struct Pointers<T>(
    #[allow(clippy::vec_box)] // C reads the boxes as pointers
    Vec<Box<T>>,
);

impl<T> Default for Pointers<T> {
    fn default() -> Self {
        Pointers(Vec::new())
    }
}

impl<T> FromIterator<T> for Pointers<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Pointers(items.into_iter().map(Box::new).collect())
    }
}

impl<T> Pointers<T> {
    pub(super) fn push(&mut self, item: T) {
        self.0.push(Box::new(item));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(Box::as_ref)
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        self.0.get(index).map(Box::as_ref)
    }

    pub(super) fn find_mut(&mut self, is_it: impl Fn(&T) -> bool) -> Option<&mut T> {
        self.0.iter_mut().map(Box::as_mut).find(|item| is_it(item))
    }

    /// Returns the array, NULL when it is empty, and its length.
    ///
    /// # Safety
    /// `count` is NULL or valid for writes.
    pub(super) unsafe fn lend(&self, count: *mut usize) -> *mut *const T {
        // SAFETY: the caller's out-parameter.
        unsafe { ffi::put(count, self.0.len()) };
        match self.0.is_empty() {
            true => std::ptr::null_mut(),
            false => self.0.as_ptr().cast::<*const T>().cast_mut(),
        }
    }
}

impl<T> Pointers<T> {
    /// Returns the array of `pointers`, NULL when it is empty or there are none, and its length.
    ///
    /// # Safety
    /// `count` is NULL or valid for writes.
    pub(super) unsafe fn lend_from(pointers: Option<&Self>, count: *mut usize) -> *mut *const T {
        match pointers {
            // SAFETY: the caller's out-parameter.
            Some(pointers) => unsafe { pointers.lend(count) },
            None => {
                // SAFETY: as above.
                unsafe { ffi::put(count, 0) };
                std::ptr::null_mut()
            }
        }
    }
}

/// Returns an array of numbers, NULL when it is empty or there is none, and its length.
///
/// # Safety
/// `count` is NULL or valid for writes.
pub(super) unsafe fn lend_numbers(numbers: Option<&[i32]>, count: *mut usize) -> *const i32 {
    let numbers = numbers.unwrap_or_default();
    // SAFETY: the caller's out-parameter.
    unsafe { ffi::put(count, numbers.len()) };
    match numbers.is_empty() {
        true => std::ptr::null(),
        false => numbers.as_ptr(),
    }
}

/// Copies an array of numbers.
///
/// # Safety
/// `array` is NULL or valid for reads of `count` numbers.
pub(super) unsafe fn numbers(array: *const i32, count: usize) -> Vec<i32> {
    match array.is_null() || count == 0 {
        true => Vec::new(),
        // SAFETY: the caller's array.
        false => unsafe { std::slice::from_raw_parts(array, count) }.to_vec(),
    }
}

/// Returns the partitions of a list; `None` for NULL.
///
/// # Errors
/// `_INVALID_ARG` if a topic is NULL or not UTF-8.
pub(super) fn optional_partitions(list: Option<&PartitionList>) -> Result<Option<Vec<TopicPartition>>, Error> {
    let Some(list) = list else { return Ok(None) };
    let partitions = list.to_partitions();
    partitions
        .map(Some)
        .ok_or_else(|| Error::invalid_arg("A topic of the list is NULL or not UTF-8"))
}

/// Frees each handle of an array, and leaves the array alone.
///
/// # Safety
/// `array` is NULL or has `count` handles of this kind, or NULL.
pub(super) unsafe fn destroy_array<T: Tagged>(array: *mut *mut T, count: usize) {
    for i in 0..if array.is_null() { 0 } else { count } {
        // SAFETY: within the array; NULL or the application's handle.
        drop(unsafe { <Owned<T>>::from_c(*array.add(i)) });
    }
}

/// Copies each handle of an array.
///
/// # Errors
/// `_INVALID_ARG` if one is NULL or of another kind.
///
/// # Safety
/// `array` is NULL or has `count` pointers, each NULL or a live handle.
pub(super) unsafe fn copy_array<T: Tagged, R>(
    array: *mut *mut T,
    count: usize,
    copy: impl Fn(&T) -> R,
) -> Result<Vec<R>, Error> {
    (0..if array.is_null() { 0 } else { count })
        .map(|i| {
            // SAFETY: within the array; NULL or a live handle.
            let handle = unsafe { <&T>::from_c((*array.add(i)).cast_const()) };
            handle
                .map(&copy)
                .ok_or_else(|| Error::invalid_arg(format!("Element {i} of the array is NULL or no such object")))
        })
        .collect()
}

/// Writes the reason for refusing an argument; returns the error code.
///
/// # Safety
/// `errstr` is NULL or valid for writes of `size` bytes.
pub(super) unsafe fn refused(errstr: *mut c_char, size: usize, why: &str) -> ErrorCode {
    // SAFETY: the caller's buffer.
    unsafe { ffi::put_text(errstr, size, why) };
    ErrorCode::L_INVALID_ARG
}

/// Returns the brokers of a partition's replicas, for the next partition in turn.
///
/// # Safety
/// `brokers` is NULL or valid for reads of `count` numbers.
pub(super) unsafe fn replicas(
    next: usize,
    partition: i32,
    brokers: *const i32,
    count: usize,
) -> Result<Vec<i32>, String> {
    if usize::try_from(partition) != Ok(next) {
        return Err(format!(
            "Partitions are assigned in order, from 0 on: the next one is {next}, not {partition}"
        ));
    }
    if count > BROKERS_MAX {
        return Err(format!(
            "{count} brokers are too many: at most {BROKERS_MAX} can be named"
        ));
    }
    if brokers.is_null() || count == 0 {
        return Err("No brokers are named".into());
    }
    // SAFETY: `count` numbers, by the API's contract.
    Ok(unsafe { std::slice::from_raw_parts(brokers, count) }.to_vec())
}

pub(super) fn text_of(text: &CStr) -> String {
    text.to_string_lossy().into_owned()
}

/// Returns a result's error: its code and, unless there is none, its words.
pub(super) fn error_of(error: Option<&Error>) -> (ErrorCode, Option<std::ffi::CString>) {
    match error {
        None => (ErrorCode::NO_ERROR, None),
        Some(error) => (error.code, Some(ffi::c_text(error.message.as_str()))),
    }
}

/// Copies an array of texts.
///
/// # Errors
/// `_INVALID_ARG` if one is NULL or not UTF-8.
///
/// # Safety
/// `array` is NULL or has `count` pointers, each NULL or a NUL-terminated text.
pub(super) unsafe fn texts(array: *const *const c_char, count: usize, what: &str) -> Result<Vec<String>, Error> {
    let mut texts = Vec::new();
    for i in 0..if array.is_null() { 0 } else { count } {
        // SAFETY: within the array; NULL or a text.
        let text = unsafe { <&str>::from_c(*array.add(i)) };
        let text = text.ok_or_else(|| Error::invalid_arg(format!("{what} {i} is NULL or not UTF-8")))?;
        texts.push(text.to_owned());
    }
    Ok(texts)
}

/// Returns the only element.
///
/// # Errors
/// `_INVALID_ARG` for none and for several.
pub(super) fn exactly_one<T>(items: Vec<T>, what: &str) -> Result<T, Error> {
    let [item] =
        <[T; 1]>::try_from(items).map_err(|_| Error::invalid_arg(format!("Exactly one {what} must be passed")))?;
    Ok(item)
}

/// Returns the elements, of which there must be one.
///
/// # Errors
/// `_INVALID_ARG` for none.
pub(super) fn at_least_one<T>(items: Vec<T>, what: &str) -> Result<Vec<T>, Error> {
    match items.is_empty() {
        true => Err(Error::invalid_arg(format!("Exactly one {what} must be passed"))),
        false => Ok(items),
    }
}

/// Returns the handle of an error, none for success.
pub(super) fn error_handle(error: Option<&Error>) -> Option<Box<ErrorHandle>> {
    error.map(|error| ErrorHandle::from_error(error).0)
}

/// Returns the handle of an error, with code 0 for success.
pub(super) fn always_error(error: Option<&Error>) -> Box<ErrorHandle> {
    error_handle(error).unwrap_or_else(|| ErrorHandle::new(ErrorCode::NO_ERROR, "").0)
}

/// Returns the address of a handle, NULL for none.
pub(super) fn address<T>(handle: Option<&T>) -> *const T {
    handle.map_or(std::ptr::null(), std::ptr::from_ref)
}

/// Returns the address of a text, NULL for none.
pub(super) fn text_address(text: Option<&CString>) -> *const c_char {
    text.map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Returns the address of a list, NULL for none.
pub(super) fn list_address(list: Option<&OwnedList>) -> *const PartitionList {
    list.map_or(std::ptr::null(), |list| list.as_ptr().cast_const())
}
