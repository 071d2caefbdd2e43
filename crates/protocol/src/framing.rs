//! Frames around messages: length prefix, request and response headers.

use bytes::Bytes;

use crate::error::DecodeErrorKind;
use crate::schema::decode_tagged;
use crate::{
    ApiKey, DecodeError, EncodeError, Frame, Message, Reader, Request, TaggedFields, Writer,
};

/// Room reserved for the copied part of a frame; large values are referenced and do not count.
const FRAME_CAPACITY_BYTES: usize = 256;

/// What stands before every request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestHeader {
    /// The API that the request belongs to, also when this crate does not know it.
    pub api_key: ApiKey,
    /// The version in which the body is written, also when this crate does not know it.
    pub api_version: i16,
    /// Chosen by the client; the response carries it back.
    pub correlation_id: i32,
    /// The `client.id` of the sender, or null.
    pub client_id: Option<String>,
    /// Tagged fields of header version 2.
    pub unknown_tagged_fields: TaggedFields,
}

impl RequestHeader {
    /// Reads a header of the version that belongs to its API key and version, leaving `r` at the body.
    ///
    /// The header of an API or version without schema here is read as version 1: all that is needed to answer it with
    /// an error stands before the tagged section.
    ///
    /// # Errors
    /// [`DecodeError`] when the header is truncated or malformed.
    pub fn decode(r: &mut Reader) -> Result<Self, DecodeError> {
        Self::read(r).map_err(|e| e.in_message("RequestHeader"))
    }

    fn read(r: &mut Reader) -> Result<Self, DecodeError> {
        let mut header = Self {
            api_key: ApiKey(r.read_i16()?),
            api_version: r.read_i16()?,
            correlation_id: r.read_i32()?,
            client_id: r.read_nullable_string()?,
            unknown_tagged_fields: TaggedFields::default(),
        };
        let version = header.api_key.request_header_version(header.api_version);
        if version == Some(2) {
            header.unknown_tagged_fields = decode_tagged(r, |_, _| Ok(false))?;
        }
        Ok(header)
    }

    /// Writes the header in `header_version` 1 or 2.
    ///
    /// # Errors
    /// [`EncodeError`] when the client id is longer than 32767 bytes.
    pub fn encode(&self, w: &mut Writer, header_version: i16) -> Result<(), EncodeError> {
        let client_id = self.client_id.as_deref();
        put_header(
            w,
            self.api_key,
            self.api_version,
            self.correlation_id,
            client_id,
        )
        .map_err(|e| e.in_message("RequestHeader"))?;
        match header_version >= 2 {
            true => w.put_tagged_fields(&self.unknown_tagged_fields),
            false => Ok(()),
        }
    }
}

fn put_header(
    w: &mut Writer,
    key: ApiKey,
    version: i16,
    correlation_id: i32,
    client_id: Option<&str>,
) -> Result<(), EncodeError> {
    w.put_i16(key.0);
    w.put_i16(version);
    w.put_i32(correlation_id);
    w.put_nullable_string(client_id)
}

/// A whole request as it goes to the socket: four bytes of length, header, body.
///
/// # Errors
/// [`EncodeError`] when the schema lacks `version`, a field cannot be written in it, or a length is beyond the
/// protocol's limits.
pub fn encode_request<R: Request>(
    correlation_id: i32,
    client_id: Option<&str>,
    request: &R,
    version: i16,
) -> Result<Frame, EncodeError> {
    let mut w = Writer::with_capacity(FRAME_CAPACITY_BYTES);
    w.put_i32(0);
    put_header(&mut w, R::KEY, version, correlation_id, client_id)
        .map_err(|e| e.in_message("RequestHeader"))?;
    if R::header_version(version) >= 2 {
        w.put_unsigned_varint(0);
    }
    request.encode(&mut w, version)?;
    w.finish_with_length_prefix()
}

/// A whole response as it goes to the socket: four bytes of length, header, body.
///
/// # Errors
/// As [`encode_request`].
pub fn encode_response<M: Message>(
    correlation_id: i32,
    response: &M,
    version: i16,
) -> Result<Frame, EncodeError> {
    let mut w = Writer::with_capacity(FRAME_CAPACITY_BYTES);
    w.put_i32(0);
    w.put_i32(correlation_id);
    if M::header_version(version) >= 1 {
        w.put_unsigned_varint(0);
    }
    response.encode(&mut w, version)?;
    w.finish_with_length_prefix()
}

/// Reads the response to a request of type `R` sent in `version`: its correlation id and body. `frame` is what
/// followed the length prefix, all of it.
///
/// # Errors
/// [`DecodeError`] when the schema lacks `version`, the bytes are malformed, or any are left over.
pub fn decode_response<R: Request>(
    frame: Bytes,
    version: i16,
) -> Result<(i32, R::Response), DecodeError> {
    let mut r = Reader::new(frame);
    let name = <R::Response as Message>::NAME;
    let correlation_id = r.read_i32().map_err(|e| e.in_message(name))?;
    if <R::Response as Message>::header_version(version) >= 1 {
        // Nothing is defined in the response header's tagged section.
        decode_tagged(&mut r, |_, _| Ok(false)).map_err(|e| e.in_message(name))?;
    }
    let response = <R::Response as Message>::decode(&mut r, version)?;
    r.finish().map_err(|e| e.in_message(name))?;
    Ok((correlation_id, response))
}

/// The correlation id of a response, `frame` being what followed the length prefix.
///
/// # Errors
/// [`DecodeErrorKind::Truncated`] when there are fewer than four bytes.
pub fn peek_correlation_id(frame: &[u8]) -> Result<i32, DecodeError> {
    match frame.first_chunk::<4>() {
        Some(bytes) => Ok(i32::from_be_bytes(*bytes)),
        None => Err(DecodeError::new(
            0,
            DecodeErrorKind::Truncated {
                needed: 4,
                remaining: frame.len(),
            },
        )),
    }
}
