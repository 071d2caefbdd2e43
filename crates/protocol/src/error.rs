//! Errors of encoding and decoding, with the path to the field at fault.

use std::fmt;

use crate::ApiKey;

/// One step from a message down to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStep {
    /// A field of a struct, under its schema name.
    Field(&'static str),
    /// An element of an array, counted from zero.
    Index(usize),
}

/// The path from the message to the field at fault. Each decoder on the call stack appends its step while the error
/// propagates, so the innermost step is first; [`fmt::Display`] prints the outermost step first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Path(Vec<PathStep>);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, step) in self.0.iter().rev().enumerate() {
            match step {
                PathStep::Field(name) if depth == 0 => write!(f, "{name}")?,
                PathStep::Field(name) => write!(f, ".{name}")?,
                PathStep::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The cause of a [`DecodeError`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The schema has no such version of the message.
    UnsupportedVersion {
        /// The requested version.
        version: i16,
        /// The oldest version of the schema.
        min: i16,
        /// The newest version of the schema.
        max: i16,
    },
    /// No message with this key and direction is known.
    UnknownApi(ApiKey),
    /// A value needs more bytes than are left.
    Truncated {
        /// Number of bytes of the value.
        needed: usize,
        /// Number of bytes that are left.
        remaining: usize,
    },
    /// A length is negative where it must not be, or larger than the protocol allows.
    InvalidLength(i64),
    /// An array claims more elements than the bytes left could hold.
    ArrayTooLong {
        /// The claimed number of elements.
        count: usize,
        /// Number of bytes that are left.
        remaining: usize,
    },
    /// A null value of a field that cannot be null in this version.
    UnexpectedNull,
    /// A variable-length integer is longer than its type allows.
    InvalidVarint,
    /// A string is not UTF-8.
    InvalidUtf8,
    /// The byte before a nullable struct is neither -1 nor 1.
    InvalidNullMarker(i8),
    /// The value of a tagged field is shorter than its declared size.
    TaggedFieldSize {
        /// The field's tag.
        tag: u32,
        /// Number of bytes of the declared size after the value.
        unused: usize,
    },
    /// Bytes are left after the end of the message; their number.
    TrailingBytes(usize),
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsupportedVersion { version, min, max } => {
                write!(f, "version {version} is outside {min} to {max}")
            }
            Self::UnknownApi(key) => write!(f, "no schema for {key}"),
            Self::Truncated { needed, remaining } => {
                write!(f, "{needed} bytes needed, {remaining} left")
            }
            Self::InvalidLength(length) => write!(f, "invalid length {length}"),
            Self::ArrayTooLong { count, remaining } => {
                write!(f, "array of {count} elements in {remaining} bytes")
            }
            Self::UnexpectedNull => f.write_str("null where this version allows none"),
            Self::InvalidVarint => f.write_str("variable-length integer too long"),
            Self::InvalidUtf8 => f.write_str("string is not valid UTF-8"),
            Self::InvalidNullMarker(byte) => write!(f, "null marker is {byte}, not -1 or 1"),
            Self::TaggedFieldSize { tag, unused } => {
                write!(f, "tagged field {tag} leaves {unused} bytes of its size unused")
            }
            Self::TrailingBytes(count) => write!(f, "{count} bytes after the end"),
        }
    }
}

/// An error of decoding: the message, the path to the field, the offset, and the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(Box<DecodeErrorInner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct DecodeErrorInner {
    message: &'static str,
    path: Path,
    offset: usize,
    kind: DecodeErrorKind,
}

impl DecodeError {
    /// Returns an error at `offset` bytes from the start of the frame.
    #[cold]
    pub fn new(offset: usize, kind: DecodeErrorKind) -> Self {
        Self(Box::new(DecodeErrorInner {
            message: "",
            path: Path::default(),
            offset,
            kind,
        }))
    }

    /// Returns the name of the message, empty for bytes outside any message.
    pub fn message(&self) -> &'static str {
        self.0.message
    }

    /// Returns the field at fault, as in `topics[2].partitions[0].records`; empty when the message as a whole is at
    /// fault.
    pub fn path(&self) -> String {
        self.0.path.to_string()
    }

    /// Returns the offset of the fault, in bytes from the start of the frame.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> &DecodeErrorKind {
        &self.0.kind
    }

    #[cold]
    pub(crate) fn within(mut self, step: PathStep) -> Self {
        self.0.path.0.push(step);
        self
    }

    #[cold]
    pub(crate) fn in_message(mut self, message: &'static str) -> Self {
        self.0.message = message;
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot decode")?;
        if !self.0.message.is_empty() {
            write!(f, " {}", self.0.message)?;
        }
        if !self.0.path.0.is_empty() {
            write!(f, " field {}", self.0.path)?;
        }
        write!(f, " at byte {}: {}", self.0.offset, self.0.kind)
    }
}

impl std::error::Error for DecodeError {}

/// The cause of an [`EncodeError`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeErrorKind {
    /// The schema has no such version of the message.
    UnsupportedVersion {
        /// The requested version.
        version: i16,
        /// The oldest version of the schema.
        min: i16,
        /// The newest version of the schema.
        max: i16,
    },
    /// The field is not in this version, and its value must not be dropped silently.
    FieldNotInVersion(i16),
    /// The field is null, which this version does not allow.
    NullNotAllowed(i16),
    /// A string, byte array, array or frame is longer than the length field of the protocol can express.
    TooLong {
        /// The length.
        length: usize,
        /// The maximum length.
        max: usize,
    },
}

impl fmt::Display for EncodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsupportedVersion { version, min, max } => {
                write!(f, "version {version} is outside {min} to {max}")
            }
            Self::FieldNotInVersion(version) => {
                write!(f, "set, but version {version} has no such field")
            }
            Self::NullNotAllowed(version) => write!(f, "null, which version {version} forbids"),
            Self::TooLong { length, max } => write!(f, "length {length} exceeds {max}"),
        }
    }
}

/// An error of encoding: the message, the path to the field, and the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeError(Box<EncodeErrorInner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct EncodeErrorInner {
    message: &'static str,
    path: Path,
    kind: EncodeErrorKind,
}

impl EncodeError {
    /// Returns an error whose message and path are not set yet.
    #[cold]
    pub fn new(kind: EncodeErrorKind) -> Self {
        Self(Box::new(EncodeErrorInner {
            message: "",
            path: Path::default(),
            kind,
        }))
    }

    /// Returns the name of the message, empty for data outside any message.
    pub fn message(&self) -> &'static str {
        self.0.message
    }

    /// Returns the field at fault, as in `topics[2].name`; empty when the message as a whole is at fault.
    pub fn path(&self) -> String {
        self.0.path.to_string()
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> &EncodeErrorKind {
        &self.0.kind
    }

    #[cold]
    pub(crate) fn within(mut self, step: PathStep) -> Self {
        self.0.path.0.push(step);
        self
    }

    #[cold]
    pub(crate) fn in_message(mut self, message: &'static str) -> Self {
        self.0.message = message;
        self
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot encode")?;
        if !self.0.message.is_empty() {
            write!(f, " {}", self.0.message)?;
        }
        if !self.0.path.0.is_empty() {
            write!(f, " field {}", self.0.path)?;
        }
        write!(f, ": {}", self.0.kind)
    }
}

impl std::error::Error for EncodeError {}
