//! DescribeTransactions: transactional ids with their last transactions.

use std::ffi::{CString, c_char};

use ottla_core::admin::{DescribeTransactions, DescribedTransaction};
use ottla_core::types::{PartitionOffset, offset};

use super::call::{begin, results};
use super::common::{address, error_handle, list_address, texts};
use super::options::AdminOptions;
use super::transaction_state;
use crate::abi::PartitionList;
use crate::errors::ErrorHandle;
use crate::ffi::{Tag, Tagged, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;
use crate::topic_partition_list::OwnedList;

/// `rd_kafka_TransactionDescription_t`
#[repr(C)]
pub struct DescriptionHandle {
    tag: Tag,
    transactional_id: CString,
    error: Option<Box<ErrorHandle>>,
    coordinator: i32,
    state: i32,
    producer_id: i64,
    producer_epoch: i32,
    timeout_ms: i32,
    started_ms: i64,
    partitions: Option<OwnedList>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for DescriptionHandle {
    const TAG: u32 = 0x0e44_1102;
}

impl From<&DescribedTransaction> for DescriptionHandle {
    fn from(described: &DescribedTransaction) -> Self {
        let found = described.result.as_ref().ok();
        let row = |tp: &ottla_core::types::TopicPartition| PartitionOffset::new(tp.clone(), offset::INVALID);
        let rows = found.map(|found| found.partitions.iter().map(row).collect::<Vec<_>>());
        DescriptionHandle {
            tag: Tag::new(Self::TAG),
            transactional_id: c_text(described.transactional_id.as_str()),
            error: error_handle(described.result.as_ref().err()),
            coordinator: found.map_or(-1, |found| found.coordinator.0),
            state: found.map_or(0, |found| transaction_state::number(&found.state)),
            producer_id: found.map_or(-1, |found| found.producer_id),
            producer_epoch: found.map_or(-1, |found| found.producer_epoch.into()),
            timeout_ms: found.map_or(-1, |found| found.timeout_ms),
            started_ms: found.and_then(|found| found.started_ms).unwrap_or(-1),
            partitions: rows.and_then(|rows| OwnedList::from_rows(&rows)),
        }
    }
}

exports! {
    /// Describes transactional ids.
    fn rd_kafka_DescribeTransactions(
        rk: &Handle, transactional_ids: *const *const c_char, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let ids = unsafe { texts(transactional_ids, count, "Transactional id") };
        begin(rk, ids.map(DescribeTransactions), options, queue);
    }

    /// Returns the transactional id.
    fn rd_kafka_TransactionDescription_transactional_id(transaction: &DescriptionHandle)
        -> *const c_char, or std::ptr::null();
    {
        transaction.transactional_id.as_ptr()
    }

    /// Returns its error; NULL for none.
    fn rd_kafka_TransactionDescription_error(transaction: &DescriptionHandle)
        -> *const ErrorHandle, or std::ptr::null();
    {
        address(transaction.error.as_deref())
    }

    /// Returns the id of the broker that coordinates it.
    fn rd_kafka_TransactionDescription_coordinator(transaction: &DescriptionHandle) -> i32, or -1; {
        transaction.coordinator
    }

    /// Returns the state of its last transaction.
    fn rd_kafka_TransactionDescription_state(transaction: &DescriptionHandle) -> i32, or 0; {
        transaction.state
    }

    /// Returns the producer's id.
    fn rd_kafka_TransactionDescription_producer_id(transaction: &DescriptionHandle) -> i64, or -1; {
        transaction.producer_id
    }

    /// Returns the producer's epoch.
    fn rd_kafka_TransactionDescription_producer_epoch(transaction: &DescriptionHandle) -> i32, or -1; {
        transaction.producer_epoch
    }

    /// Returns the producer's transaction timeout.
    fn rd_kafka_TransactionDescription_timeout_ms(transaction: &DescriptionHandle) -> i32, or -1; {
        transaction.timeout_ms
    }

    /// Returns the begin of the transaction.
    fn rd_kafka_TransactionDescription_start_timestamp(transaction: &DescriptionHandle) -> i64, or -1; {
        transaction.started_ms
    }

    /// Returns the partitions in the transaction.
    fn rd_kafka_TransactionDescription_partitions(transaction: &DescriptionHandle)
        -> *const PartitionList, or std::ptr::null();
    {
        list_address(transaction.partitions.as_ref())
    }
}

results! {
    DescribeTransactions: rd_kafka_event_DescribeTransactions_result,
        rd_kafka_DescribeTransactions_result_transactions: DescribedTransaction => DescriptionHandle;
}
