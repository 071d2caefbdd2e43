//! Decoding and encoding of requests as they pass the network.

use bytes::Bytes;
use ottla_protocol::api::produce::ProduceRequest;
use ottla_protocol::record::BatchIter;
use ottla_protocol::{ApiKey, Message, Reader, Request, RequestHeader, Uuid, encode_request};

use crate::check::Wire;
use crate::message;

/// Returns the API, the version and the correlation id of a request without its length prefix.
pub(crate) fn api_of(request: &[u8]) -> Option<(ApiKey, i16, i32)> {
    let key = i16::from_be_bytes(*request.first_chunk()?);
    let version = i16::from_be_bytes(*request.get(2..)?.first_chunk()?);
    let correlation = i32::from_be_bytes(*request.get(4..)?.first_chunk()?);
    Some((ApiKey(key), version, correlation))
}

/// The part of a Produce request for one partition.
pub(crate) struct Sent {
    pub(crate) topic: (String, Uuid),
    pub(crate) partition: i32,
    pub(crate) messages: Vec<message::Logged>,
    /// The uncompressed size of the records in bytes.
    pub(crate) size: usize,
    pub(crate) wire: Wire,
}

/// Reads the messages of a Produce request without its length prefix.
pub(crate) fn messages_of(request: &Bytes) -> Result<Vec<Sent>, String> {
    let mut reader = Reader::new(request.clone());
    let header = RequestHeader::decode(&mut reader).map_err(|e| e.to_string())?;
    let produce = ProduceRequest::decode(&mut reader, header.api_version).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    for topic in produce.topic_data {
        for data in topic.partition_data {
            if let Some(records) = data.records {
                let bytes = records.into_bytes();
                let first = BatchIter::new(bytes.clone()).next().and_then(Result::ok);
                let codec = first.and_then(|batch| batch.header().compression().ok());
                let len = bytes.len();
                let (messages, size) = message::read_data(bytes)?;
                out.push(Sent {
                    topic: (topic.name.clone(), topic.topic_id),
                    partition: data.index,
                    wire: Wire {
                        version: header.api_version,
                        acks: produce.acks,
                        timeout_ms: produce.timeout_ms,
                        codec: codec.unwrap_or_default(),
                        records: messages.len(),
                        bytes: len,
                    },
                    messages,
                    size,
                });
            }
        }
    }
    Ok(out)
}

/// Decodes a request with its length prefix.
pub(crate) fn decode<R: Request>(frame: &Bytes) -> Option<(RequestHeader, R)> {
    let mut reader = Reader::new(frame.slice(4.min(frame.len())..));
    let header = RequestHeader::decode(&mut reader).ok()?;
    let request = R::decode(&mut reader, header.api_version).ok()?;
    Some((header, request))
}

/// Encodes a request, without its length prefix.
pub(crate) fn encode<R: Request>(header: &RequestHeader, request: &R) -> Option<Bytes> {
    let name = header.client_id.as_deref();
    let frame = encode_request(header.correlation_id, name, request, header.api_version);
    frame.ok().map(ottla_protocol::Frame::into_bytes)
}
