//! The schema language: one declaration per struct from which fields, defaults, encoder and decoder come.
//!
//! ```text
//! schema! {
//!     api PRODUCE, versions 0-13, flexible 9+;
//!
//!     /// What the struct is.
//!     request ProduceRequest -> ProduceResponse {
//!         acks: i16 [0+],
//!         ...
//!     }
//!     struct TopicProduceData { ... }
//!     response ProduceResponse { ... }
//! }
//! ```
//!
//! `flexible none` says that no version is flexible (KIP-482). A field is a line: name, type, the versions that carry
//! it, and its default where that is not zero or empty.
//!
//! | in the brackets | meaning |
//! |---|---|
//! | `3+`, `0-12`, `4` | versions 3 and later, 0 to 12, 4 only |
//! | `null 1+` | an `Option` that may be null from version 1 on; without it, it may be null in all its versions |
//! | `tag 2` | not part of the body, but tagged field number 2 |
//! | `strict` | encoding fails when the version does not carry the field and it differs from its default |
//!
//! Fields that are not strict are left out silently where the version does not carry them: Kafka's *ignorable* ones.
//!
//! Defaults are those of Kafka's own schemas: an `Option` without `= None` starts out empty, *not* null, so that a
//! default message can be written in every version.

/// The presence and encoding of a field in the versions of its message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldSpec {
    min: i16,
    max: i16,
    null_min: i16,
    null_max: i16,
    tag: Option<u32>,
    strict: bool,
}

impl FieldSpec {
    pub(crate) const fn new(min: i16, max: i16) -> Self {
        Self {
            min,
            max,
            null_min: 0,
            null_max: i16::MAX,
            tag: None,
            strict: false,
        }
    }

    pub(crate) const fn null(self, null_min: i16, null_max: i16) -> Self {
        Self {
            null_min,
            null_max,
            ..self
        }
    }

    pub(crate) const fn tag(self, tag: u32) -> Self {
        Self { tag: Some(tag), ..self }
    }

    pub(crate) const fn strict(self) -> Self {
        Self { strict: true, ..self }
    }

    const fn covers(&self, version: i16) -> bool {
        self.min <= version && version <= self.max
    }

    /// Part of the body in this version.
    #[inline(always)]
    pub(crate) const fn in_body(&self, version: i16) -> bool {
        self.tag.is_none() && self.covers(version)
    }

    /// Returns the tag under which the field travels in this version.
    #[inline(always)]
    pub(crate) const fn tag_in(&self, version: i16) -> Option<u32> {
        match self.covers(version) {
            true => self.tag,
            false => None,
        }
    }

    /// Must have its default value because this version does not carry it.
    #[inline(always)]
    pub(crate) const fn forbidden_in(&self, version: i16) -> bool {
        self.strict && !self.covers(version)
    }

    #[inline(always)]
    pub(crate) const fn context(&self, cx: crate::wire::Context) -> crate::wire::Context {
        crate::wire::Context {
            nullable: self.null_min <= cx.version && cx.version <= self.null_max,
            ..cx
        }
    }
}

/// The versions of one message: what is supported and where the flexible ones start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageVersions {
    pub(crate) min: i16,
    pub(crate) max: i16,
    pub(crate) flexible_from: i16,
}

impl MessageVersions {
    /// Returns the context of a version, or `None` when the schema does not have it.
    pub(crate) const fn context(&self, version: i16) -> Option<crate::wire::Context> {
        match self.min <= version && version <= self.max {
            true => Some(crate::wire::Context {
                version,
                flexible: version >= self.flexible_from,
                nullable: false,
            }),
            false => None,
        }
    }
}

/// Builds a [`FieldSpec`] from the contents of a field's brackets.
macro_rules! field_spec {
    (@more $spec:expr;) => { $spec };
    (@more $spec:expr; null $min:tt + $(, $($rest:tt)*)?) => {
        $crate::schema::field_spec!(@more $spec.null($min, i16::MAX); $($($rest)*)?)
    };
    (@more $spec:expr; null $min:tt - $max:tt $(, $($rest:tt)*)?) => {
        $crate::schema::field_spec!(@more $spec.null($min, $max); $($($rest)*)?)
    };
    (@more $spec:expr; tag $tag:tt $(, $($rest:tt)*)?) => {
        $crate::schema::field_spec!(@more $spec.tag($tag); $($($rest)*)?)
    };
    (@more $spec:expr; strict $(, $($rest:tt)*)?) => {
        $crate::schema::field_spec!(@more $spec.strict(); $($($rest)*)?)
    };
    ($min:tt + $(, $($rest:tt)*)?) => {
        $crate::schema::field_spec!(@more $crate::schema::FieldSpec::new($min, i16::MAX); $($($rest)*)?)
    };
    ($min:tt - $max:tt $(, $($rest:tt)*)?) => {
        $crate::schema::field_spec!(@more $crate::schema::FieldSpec::new($min, $max); $($($rest)*)?)
    };
    ($only:tt $(, $($rest:tt)*)?) => {
        $crate::schema::field_spec!(@more $crate::schema::FieldSpec::new($only, $only); $($($rest)*)?)
    };
}

/// A field's default: the one given, else what the type implies.
macro_rules! field_default {
    ($ty:ty, $default:expr) => {
        $default
    };
    ($ty:ty) => {
        <$ty as $crate::wire::Wire>::schema_default()
    };
}

/// One struct with its encoder, decoder and defaults.
macro_rules! schema_struct {
    (
        $(#[$meta:meta])*
        $name:ident { $( $(#[$field_meta:meta])* $field:ident: $ty:ty [$($spec:tt)+] $(= $default:expr)? ),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $(
                $(#[$field_meta])*
                #[doc = concat!("\n\nVersions `", stringify!($($spec)+), "`.")]
                pub $field: $ty,
            )*
            /// Tagged fields that this schema does not know, written back by the encoder.
            pub unknown_tagged_fields: $crate::TaggedFields,
        }

        impl Default for $name {
            /// Returns the default values of Kafka's schema.
            fn default() -> Self {
                Self {
                    $( $field: $crate::schema::field_default!($ty $(, $default)?), )*
                    unknown_tagged_fields: $crate::TaggedFields::default(),
                }
            }
        }

        impl $crate::wire::Wire for $name {
            #[allow(unused_variables, unused_mut)]
            fn encode(
                &self,
                w: &mut $crate::Writer,
                cx: $crate::wire::Context,
            ) -> Result<(), $crate::EncodeError> {
                use $crate::error::PathStep;
                $({
                    const SPEC: $crate::schema::FieldSpec = $crate::schema::field_spec!($($spec)+);
                    if SPEC.in_body(cx.version) {
                        self.$field
                            .encode(w, SPEC.context(cx))
                            .map_err(|e| e.within(PathStep::Field(stringify!($field))))?;
                    } else if SPEC.forbidden_in(cx.version)
                        && self.$field != $crate::schema::field_default!($ty $(, $default)?)
                    {
                        return Err($crate::schema::not_in_version(stringify!($field), cx));
                    }
                })*
                if !cx.flexible {
                    return $crate::schema::no_tagged_section(&self.unknown_tagged_fields, cx);
                }
                let mut count = self.unknown_tagged_fields.len();
                $({
                    const SPEC: $crate::schema::FieldSpec = $crate::schema::field_spec!($($spec)+);
                    if SPEC.tag_in(cx.version).is_some()
                        && self.$field != $crate::schema::field_default!($ty $(, $default)?)
                    {
                        count += 1;
                    }
                })*
                w.put_unsigned_varint(count as u32);
                let mut unknown = self.unknown_tagged_fields.0.as_slice();
                $({
                    const SPEC: $crate::schema::FieldSpec = $crate::schema::field_spec!($($spec)+);
                    if let Some(tag) = SPEC.tag_in(cx.version)
                        && self.$field != $crate::schema::field_default!($ty $(, $default)?)
                    {
                        unknown = w.put_unknown_tagged(unknown, tag)?;
                        w.put_tagged(tag, |w| self.$field.encode(w, SPEC.context(cx)))
                            .map_err(|e| e.within(PathStep::Field(stringify!($field))))?;
                    }
                })*
                w.put_unknown_tagged(unknown, u32::MAX)?;
                Ok(())
            }

            #[allow(unused_variables)]
            fn decode(
                r: &mut $crate::Reader,
                cx: $crate::wire::Context,
            ) -> Result<Self, $crate::DecodeError> {
                use $crate::error::PathStep;
                let mut value = Self::default();
                $({
                    const SPEC: $crate::schema::FieldSpec = $crate::schema::field_spec!($($spec)+);
                    if SPEC.in_body(cx.version) {
                        value.$field = <$ty as $crate::wire::Wire>::decode(r, SPEC.context(cx))
                            .map_err(|e| e.within(PathStep::Field(stringify!($field))))?;
                    }
                })*
                if cx.flexible {
                    value.unknown_tagged_fields = $crate::schema::decode_tagged(r, |r, tag| {
                        $({
                            const SPEC: $crate::schema::FieldSpec = $crate::schema::field_spec!($($spec)+);
                            if SPEC.tag_in(cx.version) == Some(tag) {
                                value.$field = <$ty as $crate::wire::Wire>::decode(r, SPEC.context(cx))
                                    .map_err(|e| e.within(PathStep::Field(stringify!($field))))?;
                                return Ok(true);
                            }
                        })*
                        Ok(false)
                    })?;
                }
                Ok(value)
            }

            fn min_len(cx: $crate::wire::Context) -> usize {
                let mut length = usize::from(cx.flexible);
                $({
                    const SPEC: $crate::schema::FieldSpec = $crate::schema::field_spec!($($spec)+);
                    if SPEC.in_body(cx.version) {
                        length += <$ty as $crate::wire::Wire>::min_len(SPEC.context(cx));
                    }
                })*
                length
            }

            fn schema_default() -> Self {
                Self::default()
            }
        }

        impl $crate::wire::Nullable for $name {
            fn encode_null(w: &mut $crate::Writer, _: $crate::wire::Context) {
                w.put_i8(-1);
            }

            fn encode_present(
                &self,
                w: &mut $crate::Writer,
                cx: $crate::wire::Context,
            ) -> Result<(), $crate::EncodeError> {
                w.put_i8(1);
                $crate::wire::Wire::encode(self, w, cx)
            }

            fn decode_nullable(
                r: &mut $crate::Reader,
                cx: $crate::wire::Context,
            ) -> Result<Option<Self>, $crate::DecodeError> {
                match $crate::schema::decode_null_marker(r)? {
                    true => <Self as $crate::wire::Wire>::decode(r, cx).map(Some),
                    false => Ok(None),
                }
            }
        }
    };
}

/// The public face of a struct that is a whole message.
macro_rules! schema_message {
    ($name:ident, $key:expr, $label:expr, $versions:expr, |$version:ident| $header:expr) => {
        impl $crate::Message for $name {
            const KEY: $crate::ApiKey = $key;
            const NAME: &'static str = $label;
            const MIN_VERSION: i16 = $versions.min;
            const MAX_VERSION: i16 = $versions.max;

            fn encode(&self, w: &mut $crate::Writer, version: i16) -> Result<(), $crate::EncodeError> {
                $crate::schema::encode_message(self, w, version, $versions)
            }

            fn decode(r: &mut $crate::Reader, version: i16) -> Result<Self, $crate::DecodeError> {
                $crate::schema::decode_message(r, version, $versions)
            }

            fn header_version($version: i16) -> i16 {
                $header
            }
        }
    };
}

/// The messages and structs of one API.
macro_rules! schema {
    (
        api $key:ident, versions $min:tt - $max:tt, flexible $flexible:tt $(+)?;
        $( $(#[$meta:meta])* $kind:ident $name:ident $(-> $response:ident)? { $($body:tt)* } )*
    ) => {
        const VERSIONS: $crate::schema::MessageVersions = $crate::schema::MessageVersions {
            min: $min,
            max: $max,
            flexible_from: $crate::schema::flexible_from!($flexible),
        };
        $(
            $crate::schema::schema_struct! { $(#[$meta])* $name { $($body)* } }
            $crate::schema::schema_kind!($kind $name $($response)?, $crate::ApiKey::$key);
        )*
    };
}

/// Implements the role of a struct: a request, a response or a part of one.
macro_rules! schema_kind {
    (request $name:ident $response:ident, $key:expr) => {
        $crate::schema::schema_message!($name, $key, stringify!($name), VERSIONS, |version| {
            if version >= VERSIONS.flexible_from { 2 } else { 1 }
        });
        impl $crate::Request for $name {
            type Response = $response;
        }
        /// For the table of APIs.
        pub(super) type TheRequest = $name;
    };
    (response $name:ident, $key:expr) => {
        $crate::schema::schema_message!($name, $key, stringify!($name), VERSIONS, |version| {
            $crate::schema::response_header_version($key, version >= VERSIONS.flexible_from)
        });
    };
    (struct $name:ident, $key:expr) => {};
}

macro_rules! flexible_from {
    (none) => {
        i16::MAX
    };
    ($version:tt) => {
        $version
    };
}

pub(crate) use {field_default, field_spec, flexible_from, schema, schema_kind, schema_message, schema_struct};

use crate::error::{DecodeErrorKind, EncodeErrorKind, PathStep};
use crate::wire::{Context, Wire};
use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, TaggedFields, Writer};

/// Header version of a response. ApiVersions responses never have a tagged section in the header (KIP-511), so that a
/// client that does not know the broker's versions yet can read them.
pub(crate) const fn response_header_version(key: ApiKey, flexible: bool) -> i16 {
    (flexible && key.0 != ApiKey::API_VERSIONS.0) as i16
}

pub(crate) fn encode_message<M: Message + Wire>(
    message: &M,
    w: &mut Writer,
    version: i16,
    versions: MessageVersions,
) -> Result<(), EncodeError> {
    let result = match versions.context(version) {
        Some(cx) => Wire::encode(message, w, cx),
        None => Err(EncodeError::new(EncodeErrorKind::UnsupportedVersion {
            version,
            min: versions.min,
            max: versions.max,
        })),
    };
    result.map_err(|e| e.in_message(M::NAME))
}

pub(crate) fn decode_message<M: Message + Wire>(
    r: &mut Reader,
    version: i16,
    versions: MessageVersions,
) -> Result<M, DecodeError> {
    let result = match versions.context(version) {
        Some(cx) => <M as Wire>::decode(r, cx),
        None => Err(r.error(DecodeErrorKind::UnsupportedVersion {
            version,
            min: versions.min,
            max: versions.max,
        })),
    };
    result.map_err(|e| e.in_message(M::NAME))
}

#[cold]
pub(crate) fn not_in_version(field: &'static str, cx: Context) -> EncodeError {
    EncodeError::new(EncodeErrorKind::FieldNotInVersion(cx.version)).within(PathStep::Field(field))
}

/// Returns a version without tagged sections cannot carry unknown tagged fields.
pub(crate) fn no_tagged_section(fields: &TaggedFields, cx: Context) -> Result<(), EncodeError> {
    match fields.is_empty() {
        true => Ok(()),
        false => Err(not_in_version("unknown_tagged_fields", cx)),
    }
}

/// Returns the byte before a nullable struct: true when the struct follows, false for null.
pub(crate) fn decode_null_marker(r: &mut Reader) -> Result<bool, DecodeError> {
    match r.read_i8()? {
        1 => Ok(true),
        -1 => Ok(false),
        other => Err(r.error(DecodeErrorKind::InvalidNullMarker(other))),
    }
}

/// Reads a tagged section. `known` reads the value of a tag that the schema has and says whether it did; the others
/// are given back.
pub(crate) fn decode_tagged(
    r: &mut Reader,
    mut known: impl FnMut(&mut Reader, u32) -> Result<bool, DecodeError>,
) -> Result<TaggedFields, DecodeError> {
    let mut unknown = TaggedFields::default();
    let count = r.read_unsigned_varint()? as usize;
    // A tagged field takes two bytes at least.
    let remaining = r.remaining();
    if count > remaining / 2 {
        return Err(r.error(DecodeErrorKind::ArrayTooLong { count, remaining }));
    }
    for _ in 0..count {
        let tag = r.read_unsigned_varint()?;
        let size = r.read_unsigned_varint()? as usize;
        let (is_known, unused) = r.within(size, |r| known(r, tag))?;
        match (is_known, unused) {
            (true, 0) => {}
            (true, unused) => return Err(r.error(DecodeErrorKind::TaggedFieldSize { tag, unused })),
            (false, _) => unknown.0.push((tag, r.read_slice(size)?)),
        }
    }
    Ok(unknown)
}
