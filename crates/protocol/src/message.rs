//! The traits of messages.

use std::ops::RangeInclusive;

use crate::{ApiKey, DecodeError, EncodeError, Reader, Writer};

/// A request or response body that can be written and read in every version of its schema.
pub trait Message: Sized + Default + Clone + PartialEq + std::fmt::Debug {
    /// The API that the message belongs to.
    const KEY: ApiKey;
    /// The message's schema name, as in `FetchResponse`.
    const NAME: &'static str;
    /// The oldest version.
    const MIN_VERSION: i16;
    /// The newest version.
    const MAX_VERSION: i16;
    /// All versions.
    const VERSIONS: RangeInclusive<i16> = Self::MIN_VERSION..=Self::MAX_VERSION;

    /// Appends the body, without header, in `version`. Fields that the version does not carry are left out, unless the
    /// schema marks them strict and they are set.
    ///
    /// # Errors
    /// [`EncodeError`] when the schema lacks `version`, a field cannot be written in it, or a length is beyond the
    /// protocol's limits. Bytes appended before the error stay in `w`.
    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError>;

    /// Reads a body in `version`, leaving `r` after it. Fields that the version does not carry get their defaults.
    ///
    /// # Errors
    /// [`DecodeError`] when the schema lacks `version` or the bytes are malformed.
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError>;

    /// Returns the version of the request or response header that goes with `version` of the message.
    fn header_version(version: i16) -> i16;
}

/// A message that a client sends.
pub trait Request: Message {
    /// The broker's response, in the same version.
    type Response: Message;
}
