//! Every message of every API and version as Kafka's own serializer writes it: decoded, encoded, cut and damaged.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "support/vectors.rs"]
mod vectors;

use std::collections::HashSet;

use bytes::Bytes;
use ottla_protocol::api::{APIS, Api, Direction, TranscodeError};
use vectors::Vector;

const FILES: [&str; 2] = [
    include_str!("vectors/kafka-4.3.tsv"),
    include_str!("vectors/kafka-3.9-removed.tsv"),
];

/// An early-access version, gone since Kafka 4.1, of which no vector was had.
const WITHOUT_VECTOR: [&str; 1] = ["ShareGroupHeartbeat Response v0"];

fn all() -> Vec<(&'static Api, Vector)> {
    let lines = FILES.iter().flat_map(|file| file.lines());
    lines
        .map(|line| {
            let vector = Vector::parse(line).unwrap();
            (Api::find(vector.key).unwrap(), vector)
        })
        .collect()
}

#[test]
fn every_vector_comes_back_byte_for_byte() {
    for (api, vector) in all() {
        assert_eq!(api.name(), vector.name);
        let written = api
            .transcode(vector.direction, vector.version, vector.body.clone())
            .unwrap_or_else(|error| panic!("{vector}: {error}"));
        assert_eq!(written.into_bytes(), vector.body, "{vector}");
    }
}

#[test]
fn every_version_of_every_message_has_a_vector() {
    let seen: HashSet<_> = all()
        .into_iter()
        .map(|(_, vector)| (vector.key, vector.direction, vector.version))
        .collect();
    for api in APIS {
        for version in api.versions() {
            for direction in [Direction::Request, Direction::Response] {
                let what = format!("{} {direction:?} v{version}", api.name());
                let known = seen.contains(&(api.key(), direction, version));
                assert!(known || WITHOUT_VECTOR.contains(&what.as_str()), "{what}");
            }
        }
    }
}

#[test]
fn every_truncation_is_an_error_inside_the_message() {
    for (api, vector) in all() {
        for cut in 0..vector.body.len() {
            let body = vector.body.slice(..cut);
            match api.transcode(vector.direction, vector.version, body) {
                Err(TranscodeError::Decode(error)) => assert!(error.offset() <= cut, "{error}"),
                other => panic!("{vector} cut to {cut} bytes: {other:?}"),
            }
        }
    }
}

#[test]
fn bytes_after_the_end_are_an_error() {
    for (api, vector) in all() {
        let longer = Bytes::from([vector.body.as_ref(), &[0]].concat());
        let error = api.transcode(vector.direction, vector.version, longer).unwrap_err();
        assert!(matches!(error, TranscodeError::Decode(_)), "{vector}");
    }
}

/// Checks that every damaged input that decodes can be encoded, and that the encoding is stable.
fn transcode_damaged(api: &Api, vector: &Vector, body: Vec<u8>) {
    let transcode = |body| api.transcode(vector.direction, vector.version, body);
    match transcode(Bytes::from(body)) {
        Ok(frame) => {
            let first = frame.into_bytes();
            let second = transcode(first.clone()).map(|frame| frame.into_bytes());
            assert_eq!(second.as_ref(), Ok(&first), "{vector}");
        }
        Err(TranscodeError::Decode(_)) => {}
        Err(error @ TranscodeError::Encode(_)) => panic!("{vector}: {error}"),
    }
}

#[test]
fn damaged_vectors_never_panic() {
    let mut rng = fastrand::Rng::with_seed(0x0771a);
    for (api, vector) in all() {
        for _ in 0..60 {
            let mut body = vector.body.to_vec();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(..body.len().max(1));
                let edges = [0, 1, 0x7f, 0x80, 0xff, rng.u8(..)];
                if let Some(byte) = body.get_mut(at) {
                    *byte = rng.choice(edges).unwrap();
                }
            }
            transcode_damaged(api, &vector, body);
        }
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut rng = fastrand::Rng::with_seed(0xb17e5);
    for (api, vector) in all() {
        for _ in 0..20 {
            let body = (0..rng.usize(..200))
                .map(|_| match rng.bool() {
                    true => rng.u8(..4),
                    false => rng.u8(..),
                })
                .collect();
            transcode_damaged(api, &vector, body);
        }
    }
}

#[test]
fn default_messages_can_be_written_and_read_in_every_version() {
    for api in APIS {
        for version in api.versions() {
            for direction in [Direction::Request, Direction::Response] {
                let what = format!("{} {direction:?} v{version}", api.name());
                let body = api
                    .encode_default(direction, version)
                    .unwrap_or_else(|error| panic!("{what}: {error}"))
                    .into_bytes();
                let again = api.transcode(direction, version, body.clone());
                assert_eq!(again.unwrap().into_bytes(), body, "{what}");
            }
        }
    }
}

#[test]
fn versions_outside_the_schema_are_errors() {
    for api in APIS {
        for version in [api.versions().start() - 1, api.versions().end() + 1, i16::MAX] {
            for direction in [Direction::Request, Direction::Response] {
                let error = api.encode_default(direction, version).unwrap_err();
                assert!(error.to_string().contains("version"), "{error}");
                assert!(api.transcode(direction, version, Bytes::new()).is_err());
            }
        }
    }
}
