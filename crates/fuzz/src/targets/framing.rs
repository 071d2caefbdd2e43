//! Headers and bodies together. An input is a frame without its length prefix; for responses, the API and the version
//! that the request had come first.

use bytes::Bytes;
use ottla_protocol::api::{self, Api, Direction};
use ottla_protocol::{
    DecodeError, Frame, Message, Reader, Request, RequestHeader, Writer, decode_response, encode_response,
    peek_correlation_id,
};

use super::messages;
use crate::input::Input;
use crate::{Seen, Verdict, vectors};

pub(super) fn requests(data: &[u8]) -> Verdict {
    let mut reader = Reader::new(Bytes::copy_from_slice(data));
    let Ok(header) = RequestHeader::decode(&mut reader) else {
        return Ok(Seen::Refused);
    };
    let header_version = header.api_key.request_header_version(header.api_version);
    let mut w = Writer::new();
    let written = header.encode(&mut w, header_version.unwrap_or(1));
    ensure!(written.is_ok(), "the header cannot be written: {written:?}");
    let again = RequestHeader::decode(&mut Reader::new(w.finish().into_bytes()));
    ensure!(again.as_ref() == Ok(&header), "{header:?} became {again:?}");
    let api = Api::find(header.api_key).filter(|api| api.versions().contains(&header.api_version));
    let Some(api) = api else {
        return Ok(Seen::Accepted);
    };
    messages::transcode(api, Direction::Request, header.api_version, reader.peek())
}

/// An API's response with its header.
type Read = fn(Bytes, i16) -> Result<(i32, Result<Frame, String>), DecodeError>;

fn read<R: Request>(frame: Bytes, version: i16) -> Result<(i32, Result<Frame, String>), DecodeError> {
    let (id, response) = decode_response::<R>(frame, version)?;
    let written = encode_response(id, &response, version).map_err(|e| e.to_string());
    Ok((id, written))
}

/// The responses that the client decodes: key, newest version, decoder.
const RESPONSES: &[(i16, i16, Read)] = &[
    row::<api::produce::ProduceRequest>(),
    row::<api::fetch::FetchRequest>(),
    row::<api::list_offsets::ListOffsetsRequest>(),
    row::<api::metadata::MetadataRequest>(),
    row::<api::offset_commit::OffsetCommitRequest>(),
    row::<api::offset_fetch::OffsetFetchRequest>(),
    row::<api::find_coordinator::FindCoordinatorRequest>(),
    row::<api::join_group::JoinGroupRequest>(),
    row::<api::heartbeat::HeartbeatRequest>(),
    row::<api::leave_group::LeaveGroupRequest>(),
    row::<api::sync_group::SyncGroupRequest>(),
    row::<api::api_versions::ApiVersionsRequest>(),
    row::<api::init_producer_id::InitProducerIdRequest>(),
    row::<api::offset_for_leader_epoch::OffsetForLeaderEpochRequest>(),
];

const fn row<R: Request>() -> (i16, i16, Read) {
    (R::KEY.0, <R as Message>::MAX_VERSION, read::<R>)
}

pub(super) fn responses(data: &[u8]) -> Verdict {
    let mut input = Input::new(data);
    let (key, version) = (i16::from(input.byte()), i16::from(input.byte()));
    let Some((key, _, read)) = RESPONSES
        .iter()
        .find(|(known, max, _)| *known == key && version <= *max)
    else {
        return Ok(Seen::Refused);
    };
    let frame = Bytes::copy_from_slice(input.rest());
    let Ok((id, written)) = read(frame.clone(), version) else {
        return Ok(Seen::Refused);
    };
    ensure!(peek_correlation_id(&frame) == Ok(id), "the correlation id is {id}");
    let written = written.map_err(|e| format!("key {key} version {version} cannot be written: {e}"))?;
    let once = written.into_bytes().slice(4..);
    match read(once.clone(), version) {
        Ok((again, Ok(twice))) => {
            ensure!(again == id, "correlation id {id} became {again}");
            ensure!(twice.into_bytes().slice(4..) == once, "written differently again");
        }
        other => {
            return Err(format!(
                "key {key} version {version}: what was written is refused: {other:?}"
            ));
        }
    }
    Ok(Seen::Accepted)
}

pub(super) fn request_seeds() -> Vec<Vec<u8>> {
    let vectors = vectors::all().filter(|vector| vector.direction == Direction::Request);
    vectors
        .filter_map(|vector| {
            let api = Api::find(ottla_protocol::ApiKey(vector.key))?;
            let header = RequestHeader {
                api_key: api.key(),
                api_version: vector.version,
                correlation_id: 7,
                client_id: Some("seed".into()),
                ..RequestHeader::default()
            };
            let mut w = Writer::new();
            let version = api.header_version(Direction::Request, vector.version);
            header.encode(&mut w, version).ok()?;
            w.put_slice(&vector.body);
            Some(w.finish().into_bytes().to_vec())
        })
        .collect()
}

pub(super) fn response_seeds() -> Vec<Vec<u8>> {
    let vectors = vectors::all().filter(|vector| vector.direction == Direction::Response);
    vectors
        .filter(|vector| RESPONSES.iter().any(|(key, _, _)| *key == vector.key))
        .filter_map(|vector| {
            let api = Api::find(ottla_protocol::ApiKey(vector.key))?;
            let mut seed = vec![vector.key.to_be_bytes()[1], vector.version.to_be_bytes()[1], 0, 0, 0, 7];
            // The tagged section of a header of version 1.
            if api.header_version(Direction::Response, vector.version) > 0 {
                seed.push(0);
            }
            seed.extend_from_slice(&vector.body);
            Some(seed)
        })
        .collect()
}
