//! The schema language, tried on a message of its own and on real ones.

#![allow(unreachable_pub, reason = "the schema makes public structs")]

use bytes::Bytes;

use crate::api::create_topics::{CreatableTopic, CreateTopicsRequest};
use crate::api::metadata::{MetadataRequest, MetadataResponse};
use crate::api::produce::ProduceRequest;
use crate::schema::schema_struct;
use crate::wire::{self, Context};
use crate::{DecodeError, DecodeErrorKind, EncodeErrorKind, Message, Reader, TaggedFields, Uuid, Writer};

schema_struct! {
    /// One field of every kind.
    Sample {
        always: i32 [0+] = 7,
        gone: i16 [0-1],
        once: u16 [1],
        name: Option<String> [0+, null 1+],
        must_not_be_lost: i64 [2+, strict] = -1,
        inner: Option<Inner> [2+] = None,
        low_tag: String [2+, tag 1],
        high_tag: Vec<Inner> [2+, tag 5],
    }
}

schema_struct! {
    /// A struct inside.
    Inner {
        id: Uuid [0+],
        data: Bytes [0+],
    }
}

fn context(version: i16) -> Context {
    Context {
        version,
        flexible: version >= 2,
        nullable: false,
    }
}

fn encode(sample: &Sample, version: i16) -> Result<Bytes, crate::EncodeError> {
    let mut w = Writer::new();
    wire::Wire::encode(sample, &mut w, context(version))?;
    Ok(w.finish().into_bytes())
}

fn decode(bytes: Bytes, version: i16) -> Result<Sample, DecodeError> {
    let mut r = Reader::new(bytes);
    let sample = <Sample as wire::Wire>::decode(&mut r, context(version))?;
    r.finish()?;
    Ok(sample)
}

fn inner(byte: u8) -> Inner {
    Inner {
        id: Uuid([byte; 16]),
        data: Bytes::from(vec![byte; 2000]),
        ..Default::default()
    }
}

#[test]
fn defaults_are_the_schemas() {
    let sample = Sample::default();
    assert_eq!((sample.always, sample.must_not_be_lost), (7, -1));
    assert_eq!(sample.name.as_deref(), Some(""));
    assert_eq!(sample.inner, None);
}

#[test]
fn fields_stand_in_their_versions_only() {
    let sample = Sample {
        gone: 1,
        once: 2,
        ..Default::default()
    };
    assert_eq!(encode(&sample, 0).unwrap().as_ref(), [0, 0, 0, 7, 0, 1, 0, 0]);
    assert_eq!(encode(&sample, 1).unwrap().as_ref(), [0, 0, 0, 7, 0, 1, 0, 2, 0, 0]);
    let second = [&[0, 0, 0, 7, 1][..], &[0xff; 8], &[0xff, 0]].concat();
    assert_eq!(encode(&sample, 2).unwrap(), second);
    assert_eq!(decode(second.into(), 2).unwrap(), Sample::default());
}

#[test]
fn null_and_strict_are_enforced() {
    let null = Sample {
        name: None,
        ..Default::default()
    };
    let error = encode(&null, 0).unwrap_err();
    assert_eq!(
        (error.kind(), error.path().as_str()),
        (&EncodeErrorKind::NullNotAllowed(0), "name")
    );
    assert_eq!(decode(encode(&null, 1).unwrap(), 1).unwrap(), null);
    let error = decode(Bytes::from_static(&[0, 0, 0, 7, 0, 1, 0xff, 0xff]), 0).unwrap_err();
    assert_eq!(error.kind(), &DecodeErrorKind::UnexpectedNull);

    let set = Sample {
        must_not_be_lost: 5,
        ..Default::default()
    };
    let error = encode(&set, 1).unwrap_err();
    assert_eq!(error.kind(), &EncodeErrorKind::FieldNotInVersion(1));
    assert_eq!(decode(encode(&set, 2).unwrap(), 2).unwrap(), set);
}

#[test]
fn tagged_fields_are_written_in_order_and_unknown_ones_kept() {
    let tags = [0, 3, 9].map(|tag| (tag, Bytes::from(vec![tag as u8; 3])));
    let sample = Sample {
        inner: Some(inner(1)),
        low_tag: "low".into(),
        high_tag: vec![inner(2), inner(3)],
        unknown_tagged_fields: TaggedFields(tags.to_vec()),
        ..Default::default()
    };
    let bytes = encode(&sample, 2).unwrap();
    let read = decode(bytes.clone(), 2).unwrap();
    assert_eq!(read, sample);
    assert_eq!(read.unknown_tagged_fields.get(3), Some(&tags[1].1));
    let mut r = Reader::new(bytes);
    r.read_slice(4 + 1 + 8 + 1 + 16 + 2 + 2000 + 1).unwrap();
    assert_eq!(r.read_unsigned_varint(), Ok(5));
    let mut order = Vec::new();
    while r.remaining() > 0 {
        order.push(r.read_unsigned_varint().unwrap());
        let size = r.read_unsigned_varint().unwrap();
        r.read_slice(size as usize).unwrap();
    }
    assert_eq!(order, [0, 1, 3, 5, 9]);

    let error = encode(&sample, 1).unwrap_err();
    assert_eq!(error.path(), "unknown_tagged_fields");
}

#[test]
fn a_tagged_field_must_fill_its_size() {
    // Name empty, strict field, no inner struct, one tagged field with tag 1 of three bytes: a string of one.
    let head = [&[0, 0, 0, 7, 1][..], &[0xff; 8], &[0xff]].concat();
    let bytes = [head.as_slice(), &[1, 1, 3, 2, b'x', b'y']].concat();
    let error = decode(bytes.into(), 2).unwrap_err();
    assert_eq!(error.kind(), &DecodeErrorKind::TaggedFieldSize { tag: 1, unused: 1 });
    // And may not read past it: two bytes claimed by the string, one there.
    let bytes = [head.as_slice(), &[1, 1, 2, 3, b'x', b'y']].concat();
    let error = decode(bytes.into(), 2).unwrap_err();
    assert_eq!(
        error.kind(),
        &DecodeErrorKind::Truncated {
            needed: 2,
            remaining: 1
        }
    );
    // More fields claimed than bytes left.
    let bytes = [head.as_slice(), &[0xff, 0xff, 0xff, 0xff, 0x0f]].concat();
    let error = decode(bytes.into(), 2).unwrap_err();
    assert!(matches!(error.kind(), DecodeErrorKind::ArrayTooLong { .. }));
}

#[test]
fn arrays_are_not_believed() {
    // Metadata response v1: 2^31 - 1 brokers in eight bytes.
    let bytes = [&i32::MAX.to_be_bytes()[..], &[0; 8]].concat();
    let error = MetadataResponse::decode(&mut Reader::new(bytes.into()), 1).unwrap_err();
    let expected = DecodeErrorKind::ArrayTooLong {
        count: i32::MAX as usize,
        remaining: 8,
    };
    assert_eq!((error.kind(), error.path().as_str()), (&expected, "brokers"));
    // A broker takes at least twelve bytes here, so that one fits and two do not.
    let bytes = [&2i32.to_be_bytes()[..], &[0; 23]].concat();
    let error = MetadataResponse::decode(&mut Reader::new(bytes.into()), 1).unwrap_err();
    assert!(matches!(error.kind(), DecodeErrorKind::ArrayTooLong { count: 2, .. }));
    let error = MetadataResponse::decode(&mut Reader::new(Bytes::from_static(&[255, 255, 255, 254])), 1);
    assert_eq!(error.unwrap_err().kind(), &DecodeErrorKind::InvalidLength(-2));
}

#[test]
fn errors_lead_to_the_field() {
    let request = CreateTopicsRequest {
        topics: vec![
            CreatableTopic::default(),
            CreatableTopic {
                name: "n".repeat(40_000),
                ..Default::default()
            },
        ],
        ..Default::default()
    };
    let error = request.encode(&mut Writer::new(), 5).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot encode CreateTopicsRequest field topics[1].name: length 40000 exceeds 32767"
    );
    let bytes = Bytes::from_static(&[0, 0, 0, 1, 0, 2, 0xc3, 0x28, 0, 0, 0, 0]);
    let error = MetadataRequest::decode(&mut Reader::new(bytes), 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot decode MetadataRequest field topics[0].name at byte 6: string is not valid UTF-8"
    );
}

#[test]
fn what_an_old_version_cannot_say_is_refused() {
    let transactional = ProduceRequest {
        transactional_id: Some("txn".into()),
        ..Default::default()
    };
    let error = transactional.encode(&mut Writer::new(), 2).unwrap_err();
    assert_eq!(error.path(), "transactional_id");
    let all_topics = MetadataRequest {
        topics: None,
        ..Default::default()
    };
    let error = all_topics.encode(&mut Writer::new(), 0).unwrap_err();
    assert_eq!(error.kind(), &EncodeErrorKind::NullNotAllowed(0));
    let error = all_topics.encode(&mut Writer::new(), 14).unwrap_err();
    assert!(matches!(error.kind(), EncodeErrorKind::UnsupportedVersion { .. }));
}
