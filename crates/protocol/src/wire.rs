//! How each Rust type of a schema field looks on the wire, in flexible and in older versions.

use bytes::Bytes;

use crate::error::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind, PathStep};
use crate::reader::Reader;
use crate::types::{Records, Uuid};
use crate::writer::{Writer, checked_len};

/// The properties that determine a value's encoding besides its type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    /// The version of the message.
    pub(crate) version: i16,
    /// The version is flexible (KIP-482): it has compact lengths and tagged sections.
    pub(crate) flexible: bool,
    /// The value may be null.
    pub(crate) nullable: bool,
}

impl Context {
    fn not_null(self) -> Self {
        Self {
            nullable: false,
            ..self
        }
    }
}

/// A type that a schema field may have.
pub(crate) trait Wire: Sized {
    /// Appends the value.
    fn encode(&self, w: &mut Writer, cx: Context) -> Result<(), EncodeError>;
    /// Reads a value.
    fn decode(r: &mut Reader, cx: Context) -> Result<Self, DecodeError>;
    /// Returns a lower bound of the bytes that a value takes; arrays are checked against it before memory is reserved.
    fn min_len(cx: Context) -> usize;
    /// Returns the value that Kafka's schemas imply where they name none: zero or empty, and for a nullable type *not*
    /// null.
    fn schema_default() -> Self;
}

/// A type that has a null form on the wire.
pub(crate) trait Nullable: Wire {
    fn encode_null(w: &mut Writer, cx: Context);
    /// Appends a value where null would have been possible.
    fn encode_present(&self, w: &mut Writer, cx: Context) -> Result<(), EncodeError>;
    fn decode_nullable(r: &mut Reader, cx: Context) -> Result<Option<Self>, DecodeError>;
    /// Returns the least bytes of a value where null is possible.
    fn nullable_min_len(cx: Context) -> usize {
        Self::min_len(cx).min(1)
    }
}

impl<T: Nullable> Wire for Option<T> {
    fn encode(&self, w: &mut Writer, cx: Context) -> Result<(), EncodeError> {
        match self {
            Some(value) if cx.nullable => value.encode_present(w, cx.not_null()),
            Some(value) => value.encode(w, cx),
            None if cx.nullable => {
                T::encode_null(w, cx);
                Ok(())
            }
            None => Err(EncodeError::new(EncodeErrorKind::NullNotAllowed(cx.version))),
        }
    }

    fn decode(r: &mut Reader, cx: Context) -> Result<Self, DecodeError> {
        match cx.nullable {
            true => T::decode_nullable(r, cx.not_null()),
            false => T::decode(r, cx).map(Some),
        }
    }

    fn min_len(cx: Context) -> usize {
        match cx.nullable {
            true => T::nullable_min_len(cx.not_null()),
            false => T::min_len(cx),
        }
    }

    fn schema_default() -> Self {
        Some(T::schema_default())
    }
}

macro_rules! fixed_size {
    ($($ty:ty: $len:literal, $read:ident, $put:ident;)*) => {$(
        impl Wire for $ty {
            fn encode(&self, w: &mut Writer, _: Context) -> Result<(), EncodeError> {
                w.$put(*self);
                Ok(())
            }

            fn decode(r: &mut Reader, _: Context) -> Result<Self, DecodeError> {
                r.$read()
            }

            fn min_len(_: Context) -> usize {
                $len
            }

            fn schema_default() -> Self {
                Self::default()
            }
        }
    )*};
}

fixed_size! {
    bool: 1, read_bool, put_bool;
    i8: 1, read_i8, put_i8;
    i16: 2, read_i16, put_i16;
    u16: 2, read_u16, put_u16;
    i32: 4, read_i32, put_i32;
    u32: 4, read_u32, put_u32;
    i64: 8, read_i64, put_i64;
    f64: 8, read_f64, put_f64;
    Uuid: 16, read_uuid, put_uuid;
}

/// The widths of a length in older versions; flexible versions always have a varint of the length plus one.
#[derive(Clone, Copy)]
enum LengthWidth {
    Short,
    Int,
}

impl LengthWidth {
    fn len(self, cx: Context) -> usize {
        match (cx.flexible, self) {
            (true, _) => 1,
            (false, Self::Short) => 2,
            (false, Self::Int) => 4,
        }
    }

    fn put_null(self, w: &mut Writer, cx: Context) {
        match (cx.flexible, self) {
            (true, _) => w.put_unsigned_varint(0),
            (false, Self::Short) => w.put_i16(-1),
            (false, Self::Int) => w.put_i32(-1),
        }
    }

    fn put(self, w: &mut Writer, cx: Context, length: usize) -> Result<(), EncodeError> {
        // A string is never longer than 32767 bytes, compact or not.
        let max = match self {
            Self::Short => i16::MAX as usize,
            Self::Int => i32::MAX as usize,
        };
        let length = checked_len(length, max)?;
        match (cx.flexible, self) {
            (true, _) => w.put_unsigned_varint(length as u32 + 1),
            (false, Self::Short) => w.put_i16(length as i16),
            (false, Self::Int) => w.put_i32(length as i32),
        }
        Ok(())
    }

    /// Returns a length that is not negative, or `None` for null.
    fn read(self, r: &mut Reader, cx: Context) -> Result<Option<usize>, DecodeError> {
        let length = match (cx.flexible, self) {
            (true, _) => i64::from(r.read_unsigned_varint()?) - 1,
            (false, Self::Short) => i64::from(r.read_i16()?),
            (false, Self::Int) => i64::from(r.read_i32()?),
        };
        let max = match self {
            Self::Short => i64::from(i16::MAX),
            Self::Int => i64::from(i32::MAX),
        };
        match length {
            -1 => Ok(None),
            0.. if length <= max => Ok(Some(length as usize)),
            _ => Err(r.error(DecodeErrorKind::InvalidLength(length))),
        }
    }
}

fn required<T>(r: &Reader, value: Option<T>) -> Result<T, DecodeError> {
    value.ok_or_else(|| r.error(DecodeErrorKind::UnexpectedNull))
}

/// `Wire` and `Nullable` for a type that is a length and what it counts.
macro_rules! length_delimited {
    ([$($generics:tt)*] $ty:ty, $width:expr, |$self:ident, $w:ident, $cx:ident| $put:block,
        |$r:ident, $dcx:ident, $length:ident| $read:block) => {
        impl<$($generics)*> Wire for $ty {
            fn encode(&$self, $w: &mut Writer, $cx: Context) -> Result<(), EncodeError> {
                $width.put($w, $cx, $self.len())?;
                $put
            }

            fn decode(r: &mut Reader, cx: Context) -> Result<Self, DecodeError> {
                let value = Self::decode_nullable(r, cx)?;
                required(r, value)
            }

            fn min_len(cx: Context) -> usize {
                $width.len(cx)
            }

            fn schema_default() -> Self {
                Self::default()
            }
        }

        impl<$($generics)*> Nullable for $ty {
            fn encode_null(w: &mut Writer, cx: Context) {
                $width.put_null(w, cx);
            }

            fn encode_present(&self, w: &mut Writer, cx: Context) -> Result<(), EncodeError> {
                self.encode(w, cx)
            }

            fn decode_nullable($r: &mut Reader, $dcx: Context) -> Result<Option<Self>, DecodeError> {
                match $width.read($r, $dcx)? {
                    None => Ok(None),
                    Some($length) => $read.map(Some),
                }
            }

            fn nullable_min_len(cx: Context) -> usize {
                $width.len(cx)
            }
        }
    };
}

length_delimited!([] String, LengthWidth::Short,
    |self, w, _cx| {
        w.put_slice(self.as_bytes());
        Ok(())
    },
    |r, _cx, length| { r.read_str(length) });

length_delimited!([] Bytes, LengthWidth::Int,
    |self, w, _cx| {
        w.put_shared(self);
        Ok(())
    },
    |r, _cx, length| { r.read_slice(length) });

length_delimited!([] Records, LengthWidth::Int,
    |self, w, _cx| {
        for part in self.parts() {
            w.put_shared(part);
        }
        Ok(())
    },
    |r, _cx, length| { r.read_slice(length).map(Records::from) });

length_delimited!([T: Wire] Vec<T>, LengthWidth::Int,
    |self, w, cx| {
        for (index, element) in self.iter().enumerate() {
            element.encode(w, cx.not_null()).map_err(|e| e.within(PathStep::Index(index)))?;
        }
        Ok(())
    },
    |r, cx, length| { decode_elements(r, cx.not_null(), length) });

/// Memory reserved for an array before its first element is read, in bytes.
const ARRAY_RESERVE_BYTES: usize = 16 * 1024;

fn decode_elements<T: Wire>(r: &mut Reader, cx: Context, count: usize) -> Result<Vec<T>, DecodeError> {
    let remaining = r.remaining();
    if count > remaining / T::min_len(cx).max(1) {
        return Err(r.error(DecodeErrorKind::ArrayTooLong { count, remaining }));
    }
    let reserve = ARRAY_RESERVE_BYTES / size_of::<T>().max(1);
    let mut elements = Vec::with_capacity(count.min(reserve.max(1)));
    for index in 0..count {
        elements.push(T::decode(r, cx).map_err(|e| e.within(PathStep::Index(index)))?);
    }
    Ok(elements)
}
