//! CreateTopics: topics to create.

use std::ffi::{c_char, c_int};

use ottla_core::admin::{CreateTopics, NewTopic, TopicResult};
use ottla_core::error::ErrorCode;

use super::call::{begin, results};
use super::common::{BROKERS_MAX, PARTITIONS_MAX, copy_array, destroy_array, refused, replicas};
use super::options::AdminOptions;
use super::topic_result::TopicResultHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_NewTopic_t`
#[repr(C)]
pub struct NewTopicHandle {
    tag: Tag,
    topic: NewTopic,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for NewTopicHandle {
    const TAG: u32 = 0x0e44_0a0d;
}

fn new_topic(name: &str, partitions: c_int, replication_factor: c_int) -> Result<NewTopic, String> {
    if name.is_empty() {
        return Err("The topic has no name".into());
    }
    if !(-1..=PARTITIONS_MAX).contains(&partitions) {
        return Err(format!(
            "num_partitions={partitions} is out of range: 0..{PARTITIONS_MAX}, or -1 for the broker's default"
        ));
    }
    let most = i16::try_from(BROKERS_MAX).unwrap_or(i16::MAX);
    let replication_factor = i16::try_from(replication_factor)
        .ok()
        .filter(|n| (-1..=most).contains(n));
    let replication_factor = replication_factor
        .ok_or_else(|| format!("replication_factor is out of range: 0..{most}, or -1 for the broker's default"))?;
    Ok(NewTopic {
        name: name.to_owned(),
        partitions,
        replication_factor,
        ..NewTopic::default()
    })
}

/// Assigns the replicas of a new topic's next partition.
///
/// # Safety
/// `brokers` is NULL or valid for reads of `count` numbers.
unsafe fn assign(topic: &mut NewTopic, partition: i32, brokers: *const i32, count: usize) -> Result<(), String> {
    if topic.replication_factor != -1 {
        return Err("With replicas assigned, replication_factor is -1".into());
    }
    if topic.partitions == -1 {
        return Err("With replicas assigned, num_partitions is the number of partitions".into());
    }
    if partition >= topic.partitions {
        return Err(format!("The topic has no partition {partition}"));
    }
    // SAFETY: the caller's array.
    let replicas = unsafe { replicas(topic.assignments.len(), partition, brokers, count) }?;
    topic.assignments.push(replicas);
    Ok(())
}

exports! {
    /// Returns a topic to create; NULL and the reason when a number is out of range.
    fn rd_kafka_NewTopic_new(
        name: &str, partitions: i32, replication_factor: i32, errstr: *mut c_char, size: usize,
    ) -> Option<Owned<NewTopicHandle>>, or None; {
        match new_topic(name, partitions, replication_factor) {
            Ok(topic) => Some(boxed(NewTopicHandle { tag: Tag::new(NewTopicHandle::TAG), topic })),
            Err(why) => {
                // SAFETY: the caller's buffer.
                unsafe { refused(errstr, size, &why) };
                None
            }
        }
    }

    /// Frees a topic to create; NULL is fine.
    fn rd_kafka_NewTopic_destroy(topic: *mut NewTopicHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<NewTopicHandle>>::from_c(topic) });
    }

    /// Frees each of an array.
    fn rd_kafka_NewTopic_destroy_array(topics: *mut *mut NewTopicHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(topics, count) };
    }

    /// Sets the brokers of a partition's replicas.
    fn rd_kafka_NewTopic_set_replica_assignment(
        topic: &mut NewTopicHandle, partition: i32, brokers: *mut i32, count: usize,
        errstr: *mut c_char, size: usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        // SAFETY: the caller's array and buffer.
        unsafe {
            match assign(&mut topic.topic, partition, brokers, count) {
                Ok(()) => ErrorCode::NO_ERROR,
                Err(why) => refused(errstr, size, &why),
            }
        }
    }

    /// Returns the topic a setting.
    fn rd_kafka_NewTopic_set_config(topic: &mut NewTopicHandle, name: &str, value: &str)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        if name.is_empty() {
            return ErrorCode::L_INVALID_ARG;
        }
        let configs = &mut topic.topic.configs;
        match configs.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => value.clone_into(old),
            None => configs.push((name.to_owned(), value.to_owned())),
        }
        ErrorCode::NO_ERROR
    }

    /// Creates topics.
    fn rd_kafka_CreateTopics(
        rk: &Handle, topics: *mut *mut NewTopicHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let topics = unsafe { copy_array(topics, count, |t: &NewTopicHandle| t.topic.clone()) };
        begin(rk, topics.map(CreateTopics), options, queue);
    }
}

results! {
    CreateTopics: rd_kafka_event_CreateTopics_result, rd_kafka_CreateTopics_result_topics: TopicResult => TopicResultHandle;
}
