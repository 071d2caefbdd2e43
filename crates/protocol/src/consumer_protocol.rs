//! The messages that consumers of a classic group exchange inside JoinGroup and SyncGroup, under the protocol type
//! `consumer`: subscriptions and assignments. The broker passes them on unread.
//!
//! Each starts with its version. A reader reads newer versions as the newest known one and leaves
//! out what follows, so that groups of different clients work together.

use bytes::Bytes;

use crate::error::DecodeErrorKind;
use crate::schema::{MessageVersions, schema_struct};
use crate::wire::Wire;
use crate::{DecodeError, EncodeError, EncodeErrorKind, Reader, Writer};

schema_struct! {
    /// A member's subscription; versions 0 to 3.
    ///
    /// - 1: the partitions that it has (KIP-429)
    /// - 2: the generation in which it got them (KIP-792)
    /// - 3: its rack (KIP-881)
    ConsumerProtocolSubscription {
        /// Names of the subscribed topics.
        topics: Vec<String> [0+],
        /// For the assignor, whatever it wants.
        user_data: Option<Bytes> [0+] = None,
        /// Partitions that the member owns, for cooperative and sticky assignors.
        owned_partitions: Vec<TopicPartition> [1+],
        /// Generation in which it got `owned_partitions`, -1 for none.
        generation_id: i32 [2+] = -1,
        /// Its `client.rack`, null for none.
        rack_id: Option<String> [3+] = None,
    }
}

schema_struct! {
    /// A member's assignment; versions 0 to 3, which are identical.
    ConsumerProtocolAssignment {
        /// The member's partitions.
        assigned_partitions: Vec<TopicPartition> [0+],
        /// From the assignor, whatever it wants.
        user_data: Option<Bytes> [0+] = None,
    }
}

schema_struct! {
    /// Partitions of one topic.
    TopicPartition {
        topic: String [0+],
        partitions: Vec<i32> [0+],
    }
}

schema_struct! {
    /// The data that a member with the strategy `sticky` puts into its subscription's user data (KIP-54); versions 0
    /// and 1. Its bytes do not say which version they are.
    ///
    /// - 1: the generation (KIP-341)
    StickyUserData {
        /// The last assignment, which the member gave up to join.
        previous_assignment: Vec<TopicPartition> [0+],
        /// The generation in which it got that, -1 for unknown.
        generation: i32 [1+] = -1,
    }
}

const VERSIONS: MessageVersions = MessageVersions {
    min: 0,
    max: 3,
    flexible_from: i16::MAX,
};

fn encode<T: Wire>(value: &T, version: i16, name: &'static str) -> Result<Bytes, EncodeError> {
    let mut w = Writer::new();
    w.put_i16(version);
    let result = match VERSIONS.context(version) {
        Some(cx) => value.encode(&mut w, cx),
        None => Err(EncodeError::new(EncodeErrorKind::UnsupportedVersion {
            version,
            min: VERSIONS.min,
            max: VERSIONS.max,
        })),
    };
    result.map_err(|e| e.in_message(name))?;
    Ok(w.finish().into_bytes())
}

fn decode<T: Wire>(bytes: Bytes, name: &'static str) -> Result<T, DecodeError> {
    let mut r = Reader::new(bytes);
    let mut read = || {
        let version = r.read_i16()?;
        match VERSIONS.context(version.min(VERSIONS.max)) {
            Some(cx) => T::decode(&mut r, cx),
            None => Err(r.error(DecodeErrorKind::UnsupportedVersion {
                version,
                min: VERSIONS.min,
                max: VERSIONS.max,
            })),
        }
    };
    read().map_err(|e| e.in_message(name))
}

impl StickyUserData {
    /// Returns the bytes of version 1.
    ///
    /// # Errors
    /// [`EncodeError`] for a length beyond the protocol's limits.
    pub fn to_bytes(&self) -> Result<Bytes, EncodeError> {
        let whole = encode(self, 1, "StickyUserData")?;
        // Without the version's number.
        Ok(whole.slice(2..))
    }

    /// Reads version 1, or else version 0.
    ///
    /// # Errors
    /// [`DecodeError`] for malformed bytes.
    pub fn from_bytes(bytes: Bytes) -> Result<Self, DecodeError> {
        let read = |version| {
            let mut r = Reader::new(bytes.clone());
            match VERSIONS.context(version) {
                Some(cx) => Self::decode(&mut r, cx),
                None => Err(r.error(DecodeErrorKind::UnsupportedVersion {
                    version,
                    min: 0,
                    max: 1,
                })),
            }
        };
        read(1).or_else(|_| read(0)).map_err(|e| e.in_message("StickyUserData"))
    }
}

macro_rules! with_version {
    ($name:ident) => {
        impl $name {
            /// The newest version.
            pub const MAX_VERSION: i16 = VERSIONS.max;

            /// Returns the version number and the fields of `version`.
            ///
            /// # Errors
            /// [`EncodeError`] for a version other than 0 to 3, or a length beyond the protocol's limits.
            pub fn to_bytes(&self, version: i16) -> Result<Bytes, EncodeError> {
                encode(self, version, stringify!($name))
            }

            /// Reads any version, and of versions that are not known yet what is known. Bytes after that are ignored.
            ///
            /// # Errors
            /// [`DecodeError`] for a negative version or malformed bytes.
            pub fn from_bytes(bytes: Bytes) -> Result<Self, DecodeError> {
                decode(bytes, stringify!($name))
            }
        }
    };
}

with_version!(ConsumerProtocolSubscription);
with_version!(ConsumerProtocolAssignment);

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(topic: &str) -> TopicPartition {
        TopicPartition {
            topic: topic.into(),
            partitions: vec![1, 2],
            ..Default::default()
        }
    }

    #[test]
    fn versions_carry_what_they_have() {
        let full = ConsumerProtocolSubscription {
            topics: vec!["a".into(), "b".into()],
            user_data: Some(Bytes::from_static(b"data")),
            owned_partitions: vec![partition("a")],
            generation_id: 5,
            rack_id: Some("rack".into()),
            ..Default::default()
        };
        let read = |version| ConsumerProtocolSubscription::from_bytes(full.to_bytes(version).unwrap());
        assert_eq!(read(3).unwrap(), full);
        let second = read(2).unwrap();
        assert_eq!((second.generation_id, second.rack_id), (5, None));
        let oldest = read(0).unwrap();
        assert_eq!((oldest.generation_id, oldest.owned_partitions), (-1, vec![]));
        assert!(full.to_bytes(4).is_err());
    }

    #[test]
    fn newer_versions_are_read_as_far_as_known() {
        let assignment = ConsumerProtocolAssignment {
            assigned_partitions: vec![partition("t")],
            ..Default::default()
        };
        let mut bytes = assignment.to_bytes(3).unwrap().to_vec();
        bytes[..2].copy_from_slice(&9i16.to_be_bytes());
        bytes.extend_from_slice(b"what version 9 adds");
        let read = ConsumerProtocolAssignment::from_bytes(bytes.into()).unwrap();
        assert_eq!(read, assignment);
        assert!(ConsumerProtocolAssignment::from_bytes(Bytes::from_static(&[0xff, 0xff])).is_err());
        assert!(ConsumerProtocolAssignment::from_bytes(Bytes::new()).is_err());
    }

    #[test]
    fn sticky_user_data_has_no_version() {
        let data = StickyUserData {
            previous_assignment: vec![partition("t")],
            generation: 7,
            ..Default::default()
        };
        let bytes = data.to_bytes().unwrap();
        // As Java and librdkafka write it: one topic, its name, its two partitions, the generation.
        let mut expected = vec![0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2];
        let without_generation = expected.clone();
        expected.extend([0, 0, 0, 7]);
        assert_eq!(bytes.as_ref(), expected);
        assert_eq!(StickyUserData::from_bytes(bytes).unwrap(), data);
        let old = StickyUserData::from_bytes(without_generation.into()).unwrap();
        assert_eq!(
            (old.previous_assignment, old.generation),
            (data.previous_assignment, -1)
        );
        assert!(StickyUserData::from_bytes(Bytes::from_static(&[0, 0, 0, 9])).is_err());
    }

    /// The bytes that a Java consumer sends for one topic in version 0.
    #[test]
    fn known_bytes() {
        let subscription = ConsumerProtocolSubscription {
            topics: vec!["ab".into()],
            ..Default::default()
        };
        let expected = [0, 0, 0, 0, 0, 1, 0, 2, b'a', b'b', 255, 255, 255, 255];
        assert_eq!(subscription.to_bytes(0).unwrap().as_ref(), expected);
    }
}
