//! The bodies of requests and responses. An input is the API's key, the version, and the body.

use bytes::Bytes;
use ottla_protocol::ApiKey;
use ottla_protocol::api::{APIS, Api, Direction, TranscodeError};

use crate::input::Input;
use crate::memory::within;
use crate::{Seen, Verdict, vectors};

/// Bytes of memory for each byte of a body: an element of an array takes a byte on the wire at the least, and a struct
/// with some strings in memory.
const FACTOR: usize = 400;
/// Besides, for frames and error texts.
const BASE_BYTES: usize = 4096;

pub(super) fn requests(data: &[u8]) -> Verdict {
    run(Direction::Request, data)
}

pub(super) fn responses(data: &[u8]) -> Verdict {
    run(Direction::Response, data)
}

fn run(direction: Direction, data: &[u8]) -> Verdict {
    let mut input = Input::new(data);
    let (key, version) = (input.byte(), input.byte());
    let api = Api::find(ApiKey(key.into())).or_else(|| APIS.get(usize::from(key) % APIS.len()));
    let api = api.ok_or("no API")?;
    transcode(api, direction, in_range(api, version), input.rest()).map_err(|what| {
        let version = in_range(api, version);
        format!("{} {direction:?} version {version}: {what}", api.name())
    })
}

/// Returns the requested version if it exists, otherwise an existing one.
fn in_range(api: &Api, version: u8) -> i16 {
    let (min, max) = api.versions().into_inner();
    let asked = i16::from(version);
    match api.versions().contains(&asked) {
        true => asked,
        false => min + asked % (max - min + 1),
    }
}

/// Checks that a decoded message encodes, and that the encoding is stable. It may be shorter than the input, which can
/// have another encoding of the same message.
pub(super) fn transcode(api: &Api, direction: Direction, version: i16, body: &[u8]) -> Verdict {
    let body = Bytes::copy_from_slice(body);
    let once = within(BASE_BYTES + body.len() * FACTOR, || {
        api.transcode(direction, version, body.clone())
    })?;
    let once = match once {
        Ok(frame) => frame.into_bytes(),
        Err(TranscodeError::Decode(error)) => {
            ensure!(error.offset() <= body.len(), "the error is beyond the end: {error}");
            ensure!(error.to_string().len() < 1000, "a long error: {error}");
            return Ok(Seen::Refused);
        }
        Err(TranscodeError::Encode(error)) => return Err(format!("decoded, but cannot be written: {error}")),
    };
    match api.transcode(direction, version, once.clone()) {
        Ok(twice) => ensure!(
            twice.into_bytes() == once,
            "what was written is written differently again"
        ),
        Err(error) => return Err(format!("what was written is refused: {error}")),
    }
    Ok(Seen::Accepted)
}

pub(super) fn request_seeds() -> Vec<Vec<u8>> {
    seeds(Direction::Request)
}

pub(super) fn response_seeds() -> Vec<Vec<u8>> {
    seeds(Direction::Response)
}

fn seeds(direction: Direction) -> Vec<Vec<u8>> {
    let vectors = vectors::all().filter(|vector| vector.direction == direction);
    vectors
        .map(|vector| {
            let head = [vector.key.to_be_bytes()[1], vector.version.to_be_bytes()[1]];
            [&head, vector.body.as_slice()].concat()
        })
        .collect()
}
