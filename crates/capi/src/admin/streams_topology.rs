//! `rd_kafka_StreamsSubtopology_t` and `rd_kafka_StreamsTopic_t`: the topology in the description of a streams group.

use std::ffi::{CString, c_char};

use ottla_core::admin::{Subtopology, SubtopologyTopic};

use super::common::{Pointers, address, text_address};
use crate::ffi::{Tag, Tagged, c_text, exports};

/// `rd_kafka_StreamsSubtopology_t`
#[repr(C)]
pub struct SubtopologyHandle {
    tag: Tag,
    id: CString,
    source_topics: Vec<CString>,
    repartition_sink_topics: Vec<CString>,
    state_changelog_topics: Pointers<StreamsTopicHandle>,
    repartition_source_topics: Pointers<StreamsTopicHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for SubtopologyHandle {
    const TAG: u32 = 0x0e44_120c;
}

impl From<&Subtopology> for SubtopologyHandle {
    fn from(part: &Subtopology) -> Self {
        let names = |names: &[String]| names.iter().map(|name| c_text(name.as_str())).collect();
        let topics = |topics: &[SubtopologyTopic]| topics.iter().map(StreamsTopicHandle::from).collect();
        SubtopologyHandle {
            tag: Tag::new(Self::TAG),
            id: c_text(part.id.as_str()),
            source_topics: names(&part.source_topics),
            repartition_sink_topics: names(&part.repartition_sink_topics),
            state_changelog_topics: topics(&part.state_changelog_topics),
            repartition_source_topics: topics(&part.repartition_source_topics),
        }
    }
}

/// `rd_kafka_StreamsTopic_t`
#[repr(C)]
pub struct StreamsTopicHandle {
    tag: Tag,
    name: CString,
    partitions: i32,
    replication_factor: i16,
    configs: Vec<(CString, CString)>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for StreamsTopicHandle {
    const TAG: u32 = 0x0e44_120d;
}

impl From<&SubtopologyTopic> for StreamsTopicHandle {
    fn from(topic: &SubtopologyTopic) -> Self {
        let configs = topic.configs.iter();
        StreamsTopicHandle {
            tag: Tag::new(Self::TAG),
            name: c_text(topic.name.as_str()),
            partitions: topic.partitions,
            replication_factor: topic.replication_factor,
            configs: configs
                .map(|(name, value)| (c_text(name.as_str()), c_text(value.as_str())))
                .collect(),
        }
    }
}

exports! {
    /// Returns the subtopology's id.
    fn rd_kafka_StreamsSubtopology_id(part: &SubtopologyHandle) -> *const c_char, or std::ptr::null(); {
        part.id.as_ptr()
    }

    /// Returns the number of topics that it reads.
    fn rd_kafka_StreamsSubtopology_source_topic_count(part: &SubtopologyHandle) -> usize, or 0; {
        part.source_topics.len()
    }

    /// Returns a topic that it reads by its index; NULL beyond the last.
    fn rd_kafka_StreamsSubtopology_source_topic(part: &SubtopologyHandle, index: usize)
        -> *const c_char, or std::ptr::null();
    {
        text_address(part.source_topics.get(index))
    }

    /// Returns the number of repartition topics that it writes to.
    fn rd_kafka_StreamsSubtopology_repartition_sink_topic_count(part: &SubtopologyHandle) -> usize, or 0; {
        part.repartition_sink_topics.len()
    }

    /// Returns a repartition topic that it writes to by its index; NULL beyond the last.
    fn rd_kafka_StreamsSubtopology_repartition_sink_topic(part: &SubtopologyHandle, index: usize)
        -> *const c_char, or std::ptr::null();
    {
        text_address(part.repartition_sink_topics.get(index))
    }

    /// Returns the number of changelogs of its state stores.
    fn rd_kafka_StreamsSubtopology_state_changelog_topic_count(part: &SubtopologyHandle) -> usize, or 0; {
        part.state_changelog_topics.iter().count()
    }

    /// Returns a changelog by its index; NULL beyond the last.
    fn rd_kafka_StreamsSubtopology_state_changelog_topic(part: &SubtopologyHandle, index: usize)
        -> *const StreamsTopicHandle, or std::ptr::null();
    {
        address(part.state_changelog_topics.get(index))
    }

    /// Returns the number of repartition topics that it reads.
    fn rd_kafka_StreamsSubtopology_repartition_source_topic_count(part: &SubtopologyHandle) -> usize, or 0; {
        part.repartition_source_topics.iter().count()
    }

    /// Returns a repartition topic that it reads by its index; NULL beyond the last.
    fn rd_kafka_StreamsSubtopology_repartition_source_topic(part: &SubtopologyHandle, index: usize)
        -> *const StreamsTopicHandle, or std::ptr::null();
    {
        address(part.repartition_source_topics.get(index))
    }

    /// Returns the topic's name.
    fn rd_kafka_StreamsTopic_name(topic: &StreamsTopicHandle) -> *const c_char, or std::ptr::null(); {
        topic.name.as_ptr()
    }

    /// Returns the number of partitions; 0 if it is not given.
    fn rd_kafka_StreamsTopic_partition_count(topic: &StreamsTopicHandle) -> i32, or 0; {
        topic.partitions
    }

    /// Returns the replication factor; 0 for the broker's default.
    fn rd_kafka_StreamsTopic_replication_factor(topic: &StreamsTopicHandle) -> i32, or 0; {
        topic.replication_factor.into()
    }

    /// Returns the number of settings.
    fn rd_kafka_StreamsTopic_config_count(topic: &StreamsTopicHandle) -> usize, or 0; {
        topic.configs.len()
    }

    /// Returns the name of a setting by its index; NULL beyond the last.
    fn rd_kafka_StreamsTopic_config_name(topic: &StreamsTopicHandle, index: usize)
        -> *const c_char, or std::ptr::null();
    {
        text_address(topic.configs.get(index).map(|(name, _)| name))
    }

    /// Returns the value of a setting by its index; NULL beyond the last.
    fn rd_kafka_StreamsTopic_config_value(topic: &StreamsTopicHandle, index: usize)
        -> *const c_char, or std::ptr::null();
    {
        text_address(topic.configs.get(index).map(|(_, value)| value))
    }
}
