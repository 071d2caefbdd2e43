//! The messages between consumers of a classic group. An input selects one of the two messages and has its bytes.

use bytes::Bytes;
use ottla_protocol::consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicPartition};

use crate::memory::within;
use crate::{Seen, Verdict};

/// Checks that a decoded message encodes in the same version to bytes that decode to the same message.
macro_rules! check {
    ($message:ident, $bytes:expr) => {{
        let bytes: Bytes = $bytes;
        let limit = 4096 + bytes.len() * 100;
        let Ok(read) = within(limit, || $message::from_bytes(bytes.clone()))? else {
            return Ok(Seen::Refused);
        };
        let version = bytes.first_chunk::<2>().map_or(0, |bytes| i16::from_be_bytes(*bytes));
        let written = read.to_bytes(version.min($message::MAX_VERSION));
        let written = written.map_err(|e| format!("{read:?} cannot be written: {e}"))?;
        let again = $message::from_bytes(written);
        ensure!(again.as_ref() == Ok(&read), "{read:?} became {again:?}");
        Ok(Seen::Accepted)
    }};
}

pub(super) fn run(data: &[u8]) -> Verdict {
    let Some((which, bytes)) = data.split_first() else {
        return Ok(Seen::Refused);
    };
    let bytes = Bytes::copy_from_slice(bytes);
    match which & 1 {
        0 => check!(ConsumerProtocolSubscription, bytes),
        _ => check!(ConsumerProtocolAssignment, bytes),
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let partition = TopicPartition {
        topic: "topic".into(),
        partitions: vec![0, 1, 7],
        ..Default::default()
    };
    let subscription = ConsumerProtocolSubscription {
        topics: vec!["topic".into(), "other".into()],
        user_data: Some(Bytes::from_static(b"data")),
        owned_partitions: vec![partition.clone()],
        generation_id: 3,
        rack_id: Some("rack".into()),
        ..Default::default()
    };
    let assignment = ConsumerProtocolAssignment {
        assigned_partitions: vec![partition],
        user_data: None,
        ..Default::default()
    };
    let mut seeds = Vec::new();
    for version in 0..=ConsumerProtocolSubscription::MAX_VERSION {
        for (which, bytes) in [(0, subscription.to_bytes(version)), (1, assignment.to_bytes(version))] {
            seeds.extend(bytes.map(|bytes| [&[which], bytes.as_ref()].concat()));
        }
    }
    seeds
}
