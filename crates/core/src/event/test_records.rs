//! A partition and a chunk of records for tests.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchIter, BatchParams, RecordEncoder, TimestampType, seal_batch};

use super::{Chunk, ChunkBuilder, PartitionState, Queue};
use crate::config::{Conf, TopicConfig};
use crate::memory::FetchBudget;
use crate::sys::Waker;
use crate::types::{ClientKind, Topic, TopicHooks};

/// Returns the default topic configuration.
pub(super) fn topic_conf() -> &'static TopicConfig {
    static CONF: OnceLock<TopicConfig> = OnceLock::new();
    CONF.get_or_init(|| Conf::new().finalize(ClientKind::Consumer).unwrap().1)
}

/// Returns a topic with the default configuration.
pub(crate) fn topic(name: &str) -> Arc<Topic> {
    Arc::new(Topic::new(name, topic_conf().clone(), TopicHooks::default(), 0))
}

/// Returns a partition and the budget that its chunks count in.
pub(super) fn partition(waker: Arc<dyn Waker>) -> (Arc<PartitionState>, Arc<FetchBudget>) {
    let topic = topic("t");
    let budget = Arc::new(FetchBudget::new(waker));
    let state = PartitionState::new(0, topic, 0, Queue::new(), budget.clone(), true);
    (Arc::new(state), budget)
}

/// Returns a chunk of two records, at offsets 0 and 1, of the partition's present fetch generation.
pub(super) fn chunk(partition: &Arc<PartitionState>) -> Chunk {
    static BATCH: OnceLock<Bytes> = OnceLock::new();
    let sealed = BATCH.get_or_init(|| {
        let mut encoded = Vec::new();
        for delta in 0..2 {
            RecordEncoder::append(&mut encoded, delta, 0, None, Some(b"v"), std::iter::empty());
        }
        let params = BatchParams {
            base_offset: 0,
            partition_leader_epoch: 1,
            timestamp_type: TimestampType::CreateTime,
            is_transactional: false,
            is_control: false,
            last_offset_delta: 1,
            base_timestamp: 5,
            max_timestamp: 5,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            records_count: 2,
        };
        let sealed = seal_batch(&params, &[Bytes::from(encoded)], Codec::None, None);
        sealed.unwrap().into_bytes()
    });
    let batch = BatchIter::new(sealed.clone()).next().unwrap().unwrap();
    let mut builder = ChunkBuilder::new();
    builder.push(batch.decompress(1000).unwrap(), 0, 0, 1).unwrap();
    builder.finish(partition, partition.fetch_generation(), 1).unwrap()
}
