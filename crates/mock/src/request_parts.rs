//! The topics and partitions that a request names, read without serving it.

use ottla_protocol::api::fetch::FetchRequest;
use ottla_protocol::api::list_offsets::ListOffsetsRequest;
use ottla_protocol::api::metadata::MetadataRequest;
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::api::produce::{PartitionProduceData, ProduceRequest};
use ottla_protocol::api::share_acknowledge::ShareAcknowledgeRequest;
use ottla_protocol::api::share_fetch::ShareFetchRequest;
use ottla_protocol::record::BatchIter;
use ottla_protocol::{ApiKey, Message, Reader, Uuid};

use crate::topics::Topics;

/// One topic, or one partition of it, as a request names it. Fields that the API does not have are -1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPart {
    /// The topic's name; empty for an unknown id.
    pub topic: String,
    /// The partition; -1 where the request names only the topic.
    pub partition: i32,
    /// Fetch: the fetch offset. OffsetCommit: the committed offset. ListOffsets: the timestamp. ShareFetch and
    /// ShareAcknowledge: the first acknowledged offset.
    pub offset: i64,
    /// Produce: the number of records.
    pub records: i32,
    /// Produce: the size of the batch.
    pub bytes: i32,
    /// Produce: the producer id.
    pub producer_id: i64,
    /// Produce: the producer epoch.
    pub producer_epoch: i16,
    /// Produce: the sequence number of the first record.
    pub base_sequence: i32,
    /// Produce: the required acknowledgements, where -1 means all. -2 for other APIs.
    pub acks: i16,
    /// Produce: the maximum time in milliseconds to wait for the acknowledgements.
    pub timeout_ms: i32,
}

impl RequestPart {
    fn new(topic: String, partition: i32) -> Self {
        Self {
            topic,
            partition,
            offset: -1,
            records: -1,
            bytes: -1,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            acks: -2,
            timeout_ms: -1,
        }
    }

    fn with_offset(self, offset: i64) -> Self {
        Self { offset, ..self }
    }

    fn produced(request: &ProduceRequest, topic: String, data: &PartitionProduceData) -> Self {
        let mut part = Self::new(topic, data.index);
        part.acks = request.acks;
        part.timeout_ms = request.timeout_ms;
        let bytes = data.records.clone().unwrap_or_default().into_bytes();
        part.bytes = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
        part.records = 0;
        for batch in BatchIter::new(bytes).map_while(Result::ok) {
            let header = batch.header();
            // A message of magic 0 or 1 is one record unless it is compressed.
            part.records += header.records_count.max(1);
            part.producer_id = header.producer_id;
            part.producer_epoch = header.producer_epoch;
            part.base_sequence = header.base_sequence;
        }
        part
    }
}

/// Reads the parts of the request whose body is next in `reader`. Returns none for a malformed body, and for other APIs
/// than Produce, Fetch, ListOffsets, Metadata, OffsetCommit, ShareFetch and ShareAcknowledge.
pub(crate) fn request_parts(topics: &Topics, api: ApiKey, version: i16, reader: &Reader) -> Vec<RequestPart> {
    let name = |name: &str, id: Uuid| match name.is_empty() {
        true => topics.by_id(id).map_or_else(String::new, |t| t.name.clone()),
        false => name.to_owned(),
    };
    let mut parts = Vec::new();
    match api {
        ApiKey::PRODUCE => {
            let request = body::<ProduceRequest>(reader, version);
            for topic in &request.topic_data {
                let name = name(&topic.name, topic.topic_id);
                let produced = topic.partition_data.iter();
                parts.extend(produced.map(|data| RequestPart::produced(&request, name.clone(), data)));
            }
        }
        ApiKey::FETCH => {
            for topic in body::<FetchRequest>(reader, version).topics {
                let name = name(&topic.topic, topic.topic_id);
                let asked = topic.partitions.iter();
                parts.extend(asked.map(|p| RequestPart::new(name.clone(), p.partition).with_offset(p.fetch_offset)));
            }
        }
        ApiKey::LIST_OFFSETS => {
            for topic in body::<ListOffsetsRequest>(reader, version).topics {
                let asked = topic.partitions.iter();
                let part = |index| RequestPart::new(topic.name.clone(), index);
                parts.extend(asked.map(|p| part(p.partition_index).with_offset(p.timestamp)));
            }
        }
        ApiKey::METADATA => {
            for topic in body::<MetadataRequest>(reader, version).topics.unwrap_or_default() {
                let name = name(topic.name.as_deref().unwrap_or_default(), topic.topic_id);
                parts.push(RequestPart::new(name, -1));
            }
        }
        ApiKey::OFFSET_COMMIT => {
            for topic in body::<OffsetCommitRequest>(reader, version).topics {
                let name = name(&topic.name, topic.topic_id);
                let committed = topic.partitions.iter();
                let part = |index| RequestPart::new(name.clone(), index);
                parts.extend(committed.map(|p| part(p.partition_index).with_offset(p.committed_offset)));
            }
        }
        ApiKey::SHARE_FETCH => {
            for topic in body::<ShareFetchRequest>(reader, version).topics {
                let name = name("", topic.topic_id);
                parts.extend(topic.partitions.iter().map(|p| {
                    let acknowledged = p.acknowledgement_batches.first().map_or(-1, |b| b.first_offset);
                    RequestPart::new(name.clone(), p.partition_index).with_offset(acknowledged)
                }));
            }
        }
        ApiKey::SHARE_ACKNOWLEDGE => {
            for topic in body::<ShareAcknowledgeRequest>(reader, version).topics {
                let name = name("", topic.topic_id);
                parts.extend(topic.partitions.iter().map(|p| {
                    let acknowledged = p.acknowledgement_batches.first().map_or(-1, |b| b.first_offset);
                    RequestPart::new(name.clone(), p.partition_index).with_offset(acknowledged)
                }));
            }
        }
        _ => {}
    }
    parts
}

fn body<M: Message + Default>(reader: &Reader, version: i16) -> M {
    let supported = (M::MIN_VERSION..=M::MAX_VERSION).contains(&version);
    match supported {
        true => M::decode(&mut reader.clone(), version).unwrap_or_default(),
        false => M::default(),
    }
}
