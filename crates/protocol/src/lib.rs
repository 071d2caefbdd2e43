//! The Kafka wire protocol: messages, record batches and codecs, without any I/O.

pub mod api;
mod api_key;
pub mod compression;
mod error;
mod error_code;
mod framing;
mod message;
mod reader;
pub mod record;
mod schema;
mod types;
pub mod varint;
mod wire;
mod writer;

pub use api_key::ApiKey;
pub use error::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind, PathStep};
pub use error_code::ErrorCode;
pub use framing::{
    RequestHeader, decode_response, encode_request, encode_response, peek_correlation_id,
};
pub use message::{Message, Request};
pub use reader::Reader;
pub use types::{Records, TaggedFields, Uuid};
pub use writer::{Frame, SHARE_THRESHOLD_BYTES, Writer};
