//! The Kafka wire protocol: messages, record batches and codecs, without any I/O.
//!
//! - [`api`]: requests and responses, one module per API, every version in one declarative schema
//! - [`encode_request`], [`decode_response`], [`RequestHeader`], [`encode_response`]: frames around them
//! - [`record`]: record batches (magic 2) and message sets (magic 0 and 1)
//! - [`compression`]: gzip, snappy, lz4, zstd
//! - [`consumer_protocol`]: the messages between consumers of a classic group
//!
//! Whatever comes from a peer is read under bounds: no length is believed before the bytes are there, nothing panics,
//! and a [`DecodeError`] names message, field, position and reason. Values unknown to this crate (API keys, error
//! codes, tagged fields) are kept and written back. Frames are cheap to make and to take apart: byte arrays are slices
//! of the received frame, and large ones travel into a frame to be sent by reference.
//!
//! All types are plain data; all functions can be called from any thread.
//!
//! ```
//! use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
//! use ottla_protocol::{Message, Reader, RequestHeader, decode_response, encode_request, encode_response};
//!
//! // A client asks about one topic, in version 12.
//! let topic = MetadataRequestTopic { name: Some("orders".into()), ..Default::default() };
//! let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
//! let frame = encode_request(7, Some("my-client"), &request, 12)?.into_bytes();
//!
//! // A broker reads it, after the four bytes of length, and answers.
//! let mut reader = Reader::new(frame.slice(4..));
//! let header = RequestHeader::decode(&mut reader)?;
//! assert_eq!(header.api_key.to_string(), "Metadata");
//! assert_eq!(MetadataRequest::decode(&mut reader, header.api_version)?, request);
//! let answer = MetadataResponse { controller_id: 3, ..Default::default() };
//! let frame = encode_response(header.correlation_id, &answer, header.api_version)?.into_bytes();
//!
//! // The client reads the answer.
//! let (correlation_id, response) = decode_response::<MetadataRequest>(frame.slice(4..), 12)?;
//! assert_eq!((correlation_id, response.controller_id), (7, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod api;
mod api_key;
mod buffer;
pub mod compression;
pub mod consumer_protocol;
mod error;
mod error_code;
mod framing;
mod message;
mod reader;
pub mod record;
mod schema;
#[cfg(test)]
mod tests;
mod types;
pub mod varint;
mod wire;
mod writer;

pub use api_key::ApiKey;
pub use buffer::Buffer;
pub use error::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind, PathStep};
pub use error_code::ErrorCode;
pub use framing::{RequestHeader, decode_response, encode_request, encode_response, peek_correlation_id};
pub use message::{Message, Request};
pub use reader::Reader;
pub use types::{Records, TaggedFields, Uuid};
pub use writer::{Frame, SHARE_THRESHOLD_BYTES, Writer};
