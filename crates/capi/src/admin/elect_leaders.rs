//! ElectLeaders: partitions whose leaders are elected.

use ottla_core::admin::{ElectLeaders, ElectionResult, ElectionType};
use ottla_core::error::Error;
use ottla_core::types::TopicPartition;

use super::call::{begin, results};
use super::options::AdminOptions;
use super::topic_partition_result::PartitionResultHandle;
use crate::abi::PartitionList;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_ElectLeaders_t`
#[repr(C)]
pub struct ElectLeadersHandle {
    tag: Tag,
    /// `rd_kafka_ElectionType_t`
    election_type: i32,
    /// `None` for all partitions of the cluster.
    partitions: Option<Vec<TopicPartition>>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ElectLeadersHandle {
    const TAG: u32 = 0x0e44_0a23;
}

impl ElectLeadersHandle {
    fn operation(&self) -> Result<ElectLeaders, Error> {
        let election_type = match self.election_type {
            0 => ElectionType::Preferred,
            1 => ElectionType::Unclean,
            other => return Err(Error::invalid_arg(format!("{other} is no election type"))),
        };
        Ok(ElectLeaders {
            election_type,
            partitions: self.partitions.clone(),
        })
    }
}

exports! {
    /// Returns an election of the leaders of these partitions, of all with NULL.
    fn rd_kafka_ElectLeaders_new(election_type: i32, partitions: Option<&PartitionList>)
        -> Option<Owned<ElectLeadersHandle>>, or None;
    {
        let partitions = match partitions {
            None => None,
            Some(list) => Some(list.to_partitions()?),
        };
        Some(boxed(ElectLeadersHandle { tag: Tag::new(ElectLeadersHandle::TAG), election_type, partitions }))
    }

    /// Frees an election; NULL is fine.
    fn rd_kafka_ElectLeaders_destroy(election: *mut ElectLeadersHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<ElectLeadersHandle>>::from_c(election) });
    }

    /// Elects leaders.
    fn rd_kafka_ElectLeaders(
        rk: &Handle, election: &ElectLeadersHandle, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        begin(rk, election.operation(), options, queue);
    }
}

results! {
    ElectLeaders: rd_kafka_event_ElectLeaders_result,
        rd_kafka_ElectLeaders_result_partitions: ElectionResult => PartitionResultHandle;
}
