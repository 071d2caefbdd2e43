//! Record batches and a cluster for the tests.

use bytes::Bytes;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{Batch, BatchIter, BatchParams, RecordEncoder, seal_batch};
use ottla_protocol::{Request, decode_response, encode_request};

use crate::{BrokerId, Cluster, ClusterConfig, ConnectionId, Delivery, Outgoing, Reply, Time};

/// A batch of `count` records with values of ten bytes; record i has the timestamp `base_timestamp + i`.
pub(crate) fn batch_with(base_timestamp: i64, count: i32, change: impl FnOnce(&mut BatchParams)) -> Bytes {
    let mut records = Vec::new();
    for index in 0..count {
        let value = format!("{index:010}");
        RecordEncoder::append(
            &mut records,
            index,
            index.into(),
            None,
            Some(value.as_bytes()),
            std::iter::empty(),
        );
    }
    let mut params = BatchParams {
        base_timestamp,
        max_timestamp: base_timestamp + i64::from(count - 1),
        last_offset_delta: count - 1,
        records_count: count,
        ..BatchParams::default()
    };
    change(&mut params);
    seal_batch(&params, &[records.into()], Codec::None, None)
        .unwrap()
        .into_bytes()
}

pub(crate) fn batch(base_timestamp: i64, count: i32) -> Batch {
    let bytes = batch_with(base_timestamp, count, |_| {});
    BatchIter::new(bytes).next().unwrap().unwrap()
}

pub(crate) fn batch_len(count: i32) -> usize {
    batch(0, count).bytes().len()
}

/// A cluster with a clock and one connection to each broker.
pub(crate) struct TestCluster {
    pub(crate) cluster: Cluster,
    pub(crate) now: Time,
    correlation_id: i32,
}

/// The result of a request.
#[derive(Debug)]
pub(crate) enum Answer<R> {
    Now(R),
    Later,
    None,
    Closed,
}

impl<R: std::fmt::Debug> Answer<R> {
    pub(crate) fn now(self) -> R {
        match self {
            Self::Now(response) => response,
            other => panic!("no answer at once: {other:?}"),
        }
    }

    pub(crate) fn is_later(&self) -> bool {
        matches!(self, Self::Later)
    }
}

impl TestCluster {
    pub(crate) fn new(config: ClusterConfig) -> Self {
        Self {
            cluster: Cluster::new(config),
            now: Time::ZERO,
            correlation_id: 0,
        }
    }

    pub(crate) fn with_topic(name: &str, partitions: i32) -> Self {
        let mut this = Self::new(ClusterConfig::default());
        this.cluster.create_topic(name, partitions, None).unwrap();
        this
    }

    pub(crate) fn pass_ms(&mut self, millis: u64) -> Vec<Outgoing> {
        self.now = Time(self.now.0 + millis * 1000);
        self.cluster.poll(self.now)
    }

    /// Sends on connection `connection` of `broker`.
    pub(crate) fn send<R: Request>(
        &mut self,
        broker: i32,
        connection: u64,
        request: &R,
        version: i16,
    ) -> Answer<R::Response> {
        self.correlation_id += 1;
        let frame = encode_request(self.correlation_id, Some("test"), request, version).unwrap();
        let frame = frame.into_bytes().slice(4..);
        match self
            .cluster
            .handle(BrokerId(broker), ConnectionId(connection), frame, self.now)
        {
            Reply::Now(frame) => {
                let (id, response) = parse::<R>(frame.into_bytes(), version);
                assert_eq!(id, self.correlation_id);
                Answer::Now(response)
            }
            Reply::Later => Answer::Later,
            Reply::None => Answer::None,
            Reply::Close(_) => Answer::Closed,
        }
    }

    /// Sends a request and returns its response, which must be ready at this time.
    pub(crate) fn call<R: Request>(&mut self, broker: i32, request: &R, version: i16) -> R::Response {
        match self.send(broker, 0, request, version) {
            Answer::Now(response) => response,
            Answer::Later => {
                let mut out = self.cluster.poll(self.now);
                assert_eq!(out.len(), 1, "{out:?}");
                response_of::<R>(out.remove(0), version)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Returns the leader of a partition.
    pub(crate) fn leader(&self, topic: &str, partition: i32) -> i32 {
        self.cluster.partition_leader(topic, partition).unwrap().0
    }
}

pub(crate) fn response_of<R: Request>(out: Outgoing, version: i16) -> R::Response {
    match out.delivery {
        Delivery::Frame(frame) => parse::<R>(frame.into_bytes(), version).1,
        Delivery::Close(reason) => panic!("closed: {reason}"),
    }
}

fn parse<R: Request>(frame: Bytes, version: i16) -> (i32, R::Response) {
    let length = u32::from_be_bytes(frame[..4].try_into().unwrap());
    assert_eq!(length as usize, frame.len() - 4);
    decode_response::<R>(frame.slice(4..), version).unwrap()
}
