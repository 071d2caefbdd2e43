//! ListOffsets: offsets of partitions by specification or timestamp.

use ottla_core::admin::{ListOffsets, ListedOffset, OffsetSpec};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::types::PartitionOffset;

use super::call::{begin, results};
use super::options::AdminOptions;
use crate::abi::{PartitionList, PartitionRow};
use crate::ffi::{Tag, Tagged, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;
use crate::topic_partition_list::OwnedList;

/// `rd_kafka_ListOffsetsResultInfo_t`
#[repr(C)]
pub struct ResultInfoHandle {
    tag: Tag,
    /// A list of one row.
    partition: Option<OwnedList>,
    timestamp: i64,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ResultInfoHandle {
    const TAG: u32 = 0x0e44_0a17;
}

impl From<&ListedOffset> for ResultInfoHandle {
    fn from(listed: &ListedOffset) -> Self {
        let row = PartitionOffset {
            leader_epoch: listed.leader_epoch,
            error: listed.error.as_ref().map_or(ErrorCode::NO_ERROR, |error| error.code),
            ..PartitionOffset::new(listed.tp.clone(), listed.offset)
        };
        ResultInfoHandle {
            tag: Tag::new(Self::TAG),
            partition: OwnedList::from_rows(&[row]),
            timestamp: listed.timestamp,
        }
    }
}

/// Returns the partitions with their specifications.
fn specs(list: &PartitionList) -> Result<Vec<(ottla_core::types::TopicPartition, OffsetSpec)>, Error> {
    let rows = list
        .to_offsets()
        .ok_or_else(|| Error::invalid_arg("A topic is NULL or not UTF-8"))?;
    let is_invalid = |row: &PartitionOffset| row.offset < OffsetSpec::MAX_TIMESTAMP.0;
    if let Some((index, row)) = rows.iter().enumerate().find(|(_, row)| is_invalid(row)) {
        let text = format!("Partition {index} has an invalid offset {}", row.offset);
        return Err(Error::invalid_arg(text));
    }
    Ok(rows.into_iter().map(|row| (row.tp, OffsetSpec(row.offset))).collect())
}

exports! {
    /// Looks up offsets.
    fn rd_kafka_ListOffsets(
        rk: &Handle, partitions: Option<&PartitionList>, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        let partitions = partitions.ok_or_else(|| Error::invalid_arg("The partitions are NULL"));
        let operation = partitions.and_then(specs).map(|partitions| ListOffsets { partitions });
        begin(rk, operation, options, queue);
    }

    /// Returns the partition with its offset and error, owned by the result.
    fn rd_kafka_ListOffsetsResultInfo_topic_partition(info: &ResultInfoHandle)
        -> *const PartitionRow, or std::ptr::null();
    {
        info.partition.as_ref().map_or(std::ptr::null(), OwnedList::first_row)
    }

    /// Returns the timestamp of the record; -1 for none.
    fn rd_kafka_ListOffsetsResultInfo_timestamp(info: &ResultInfoHandle) -> i64, or -1; {
        info.timestamp
    }
}

results! {
    ListOffsets: rd_kafka_event_ListOffsets_result, rd_kafka_ListOffsets_result_infos: ListedOffset => ResultInfoHandle;
}
