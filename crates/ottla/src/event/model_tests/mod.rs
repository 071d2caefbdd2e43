//! What the application's threads and the client's share besides the producer's batches.

mod fetching;
mod queues;
mod quota;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchIter, BatchParams, RecordEncoder, TimestampType, seal_batch};

use super::{Chunk, ChunkBuilder, Event, FetchBudget, PartitionState, Queue};
use crate::config::{Conf, TopicConfig};
use crate::env::Waker;
use crate::env::sync::model_tests;
use crate::error::{Error, ErrorCode};
use crate::types::{ClientKind, Topic, TopicHooks};

/// Not to wait.
const NOW: Option<Duration> = Some(Duration::ZERO);

fn note(text: &str) -> Event {
    Event::Error(Error::new(ErrorCode::L_FAIL, text))
}

fn text(event: Option<Event>) -> String {
    match event {
        Some(Event::Error(error)) => error.message,
        other => format!("{other:?}"),
    }
}

/// Every event that waits.
fn drain(queue: &Arc<Queue>) -> Vec<String> {
    std::iter::from_fn(|| queue.pop(NOW)).map(|e| text(Some(e))).collect()
}

fn topic_conf() -> &'static TopicConfig {
    static CONF: OnceLock<TopicConfig> = OnceLock::new();
    CONF.get_or_init(|| Conf::new().finalize(ClientKind::Consumer).unwrap().1)
}

/// As `model_tests::explore`, for a model that uses [`partition`].
fn explore(name: &str, preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    // Needs more stack than a thread of a model has.
    topic_conf();
    model_tests::explore(name, preemptions, model);
}

/// A partition and the budget that its chunks count in.
fn partition(waker: Arc<dyn Waker>) -> (Arc<PartitionState>, Arc<FetchBudget>) {
    let topic = Arc::new(Topic::new("t", topic_conf().clone(), TopicHooks::default(), 0));
    let budget = Arc::new(FetchBudget::new(waker));
    let state = PartitionState::new(0, topic, 0, Queue::new(), budget.clone(), true);
    (Arc::new(state), budget)
}

/// A chunk of two records, at offsets 0 and 1, of the partition's present epoch.
fn chunk(partition: &Arc<PartitionState>) -> Chunk {
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
    builder.finish(partition, partition.epoch(), 1).unwrap()
}
