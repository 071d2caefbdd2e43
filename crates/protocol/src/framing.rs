//! Frames around messages: length prefix, request and response headers.

use bytes::Bytes;

use crate::error::DecodeErrorKind;
use crate::schema::decode_tagged;
use crate::{ApiKey, DecodeError, EncodeError, Frame, Message, Reader, Request, TaggedFields, Writer};

/// Room reserved for the copied part of a frame; large values are referenced and do not count.
const FRAME_CAPACITY_BYTES: usize = 256;

/// The header of every request.
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
    /// an error precedes the tagged section.
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
        put_header(w, self.api_key, self.api_version, self.correlation_id, client_id)
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

/// Returns a whole request as it goes to the socket: four bytes of length, header, body.
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
    put_header(&mut w, R::KEY, version, correlation_id, client_id).map_err(|e| e.in_message("RequestHeader"))?;
    if R::header_version(version) >= 2 {
        w.put_unsigned_varint(0);
    }
    request.encode(&mut w, version)?;
    w.finish_with_length_prefix()
}

/// Returns a whole response as it goes to the socket: four bytes of length, header, body.
///
/// # Errors
/// As [`encode_request`].
pub fn encode_response<M: Message>(correlation_id: i32, response: &M, version: i16) -> Result<Frame, EncodeError> {
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
pub fn decode_response<R: Request>(frame: Bytes, version: i16) -> Result<(i32, R::Response), DecodeError> {
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

/// Returns the correlation id of a response, `frame` being what followed the length prefix.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::api_versions::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse};
    use crate::api::fetch::{FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData};
    use crate::api::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
    use crate::{ErrorCode, Records};

    fn body(frame: Result<Frame, EncodeError>) -> Bytes {
        let bytes = frame.unwrap().into_bytes();
        let (prefix, rest) = bytes.split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_be_bytes(*prefix) as usize, rest.len());
        bytes.slice(4..)
    }

    #[test]
    fn requests_come_back_in_both_header_versions() {
        for version in [0, 3] {
            let request = ApiVersionsRequest {
                client_software_name: if version < 3 { "" } else { "name" }.into(),
                ..Default::default()
            };
            let frame = body(encode_request(-9, Some("client"), &request, version));
            let mut r = Reader::new(frame);
            let header = RequestHeader::decode(&mut r).unwrap();
            assert_eq!(header.api_key, ApiKey::API_VERSIONS);
            assert_eq!((header.api_version, header.correlation_id), (version, -9));
            assert_eq!(header.client_id.as_deref(), Some("client"));
            assert_eq!(ApiVersionsRequest::decode(&mut r, version), Ok(request));
            r.finish().unwrap();
        }
    }

    #[test]
    fn headers_come_back_with_unknown_tagged_fields() {
        let header = RequestHeader {
            api_key: ApiKey::FETCH,
            api_version: 12,
            correlation_id: 5,
            client_id: None,
            unknown_tagged_fields: TaggedFields(vec![(9, Bytes::from_static(b"?"))]),
        };
        let mut w = Writer::new();
        header.encode(&mut w, 2).unwrap();
        let mut r = Reader::new(w.finish().into_bytes());
        assert_eq!(RequestHeader::decode(&mut r), Ok(header));
        r.finish().unwrap();
    }

    #[test]
    fn headers_of_unknown_apis_and_versions_can_be_answered() {
        for (key, version) in [(4711, 3), (ApiKey::API_VERSIONS.0, 99)] {
            let mut w = Writer::new();
            put_header(&mut w, ApiKey(key), version, 17, None).unwrap();
            w.put_slice(b"whatever follows");
            let header = RequestHeader::decode(&mut Reader::new(w.finish().into_bytes())).unwrap();
            assert_eq!((header.api_key.0, header.api_version), (key, version));
            assert_eq!(header.correlation_id, 17);
        }
    }

    #[test]
    fn api_versions_responses_have_no_tags_in_the_header() {
        let response = ApiVersionsResponse {
            error_code: ErrorCode::UNSUPPORTED_VERSION.0,
            api_keys: vec![ApiVersion {
                api_key: 4711,
                min_version: 1,
                max_version: 2,
                ..Default::default()
            }],
            ..Default::default()
        };
        let frame = body(encode_response(3, &response, 3));
        // Correlation id, then at once the error code.
        assert_eq!(frame[..6], [0, 0, 0, 3, 0, 35]);
        assert_eq!(peek_correlation_id(&frame), Ok(3));
        let decoded = decode_response::<ApiVersionsRequest>(frame, 3);
        assert_eq!(decoded, Ok((3, response)));
    }

    #[test]
    fn fetched_records_share_the_frame() {
        let records = Bytes::from(vec![5; 4000]);
        let response = FetchResponse {
            responses: vec![FetchableTopicResponse {
                partitions: vec![PartitionData {
                    records: Some(Records::from(records.clone())),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        let frame = body(encode_response(1, &response, 12));
        let range = frame.as_ptr_range();
        let (_, decoded) = decode_response::<FetchRequest>(frame, 12).unwrap();
        let partition = &decoded.responses[0].partitions[0];
        let read = partition.records.clone().unwrap().into_bytes();
        assert_eq!(read, records);
        assert!(range.contains(&read.as_ptr()));
    }

    #[test]
    fn produced_records_are_not_copied() {
        let large = Bytes::from(vec![5; 4000]);
        let request = ProduceRequest {
            topic_data: vec![TopicProduceData {
                name: "t".into(),
                partition_data: vec![PartitionProduceData {
                    records: Some(Records::from_parts(vec![Bytes::from_static(b"head"), large.clone()])),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        let frame = encode_request(1, None, &request, 9).unwrap();
        let pointers: Vec<_> = frame.parts.iter().map(|part| part.as_ptr()).collect();
        assert!(pointers.contains(&large.as_ptr()));
    }

    #[test]
    fn bad_responses_say_what_is_wrong() {
        let frame = body(encode_response(1, &FetchResponse::default(), 12));
        let longer = Bytes::from([frame.as_ref(), b"xy"].concat());
        let error = decode_response::<FetchRequest>(longer, 12).unwrap_err();
        assert_eq!(error.kind(), &DecodeErrorKind::TrailingBytes(2));
        let error = decode_response::<FetchRequest>(frame.slice(..8), 12).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot decode FetchResponse field throttle_time_ms at byte 5: 4 bytes needed, 3 left"
        );
        let error = decode_response::<FetchRequest>(Bytes::from_static(b"HTTP/1.1 400"), 12);
        assert!(error.is_err());
        assert!(peek_correlation_id(b"abc").is_err());
        let error = decode_response::<FetchRequest>(frame, 99).unwrap_err();
        assert!(matches!(
            error.kind(),
            DecodeErrorKind::UnsupportedVersion { version: 99, .. }
        ));
    }
}
