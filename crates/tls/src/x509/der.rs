//! Elements of DER: one-byte tags, definite and minimal lengths.

pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(crate) const ENUMERATED: u8 = 0x0a;
pub(crate) const UTF8_STRING: u8 = 0x0c;
pub(crate) const PRINTABLE_STRING: u8 = 0x13;
pub(crate) const T61_STRING: u8 = 0x14;
pub(crate) const IA5_STRING: u8 = 0x16;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const UNIVERSAL_STRING: u8 = 0x1c;
pub(crate) const BMP_STRING: u8 = 0x1e;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// The first rule of DER or X.509 that the bytes break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// One element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
    /// Tag, length and content.
    pub(crate) whole: &'a [u8],
}

/// A sequence of elements that is read from the front.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the tag of the next element.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    pub(crate) fn next(&mut self) -> Result<Element<'a>, Malformed> {
        let (&[tag, first], mut after) = self
            .rest
            .split_first_chunk::<2>()
            .ok_or(Malformed("an element is cut off"))?;
        if tag & 0x1f == 0x1f {
            return Err(Malformed("a tag has more than one byte"));
        }
        let length = match first {
            0..=0x7f => usize::from(first),
            0x81..=0x84 => {
                let (bytes, rest) = after
                    .split_at_checked(usize::from(first & 0x7f))
                    .ok_or(Malformed("a length is cut off"))?;
                after = rest;
                let length = bytes.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
                if length < 0x80 || bytes.first() == Some(&0) {
                    return Err(Malformed("a length is longer than necessary"));
                }
                usize::try_from(length).map_err(|_| Malformed("a length is too large"))?
            }
            _ => return Err(Malformed("a length is indefinite or too large")),
        };
        let (content, rest) = after
            .split_at_checked(length)
            .ok_or(Malformed("an element is cut off"))?;
        let whole = self
            .rest
            .split_at_checked(self.rest.len() - rest.len())
            .map_or(&[][..], |(whole, _)| whole);
        self.rest = rest;
        Ok(Element { tag, content, whole })
    }

    /// Reads the next element, which must have this tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Result<Element<'a>, Malformed> {
        match self.next()? {
            element if element.tag == tag => Ok(element),
            _ => Err(Malformed("an element has another type than expected")),
        }
    }

    /// Reads the next element if it has this tag.
    pub(crate) fn optional(&mut self, tag: u8) -> Result<Option<Element<'a>>, Malformed> {
        match self.peek() {
            Some(next) if next == tag => self.next().map(Some),
            _ => Ok(None),
        }
    }

    /// Checks that no element follows.
    pub(crate) fn finish(&self) -> Result<(), Malformed> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(Malformed("bytes follow the last element")),
        }
    }
}

/// Reads bytes that are one element with this tag.
pub(crate) fn single(bytes: &[u8], tag: u8) -> Result<Element<'_>, Malformed> {
    let mut reader = Reader::new(bytes);
    let element = reader.expect(tag)?;
    reader.finish()?;
    Ok(element)
}

/// Reads a bit string of whole bytes.
pub(crate) fn bytes_of_bit_string<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    match reader.expect(BIT_STRING)?.content.split_first() {
        Some((0, bytes)) => Ok(bytes),
        _ => Err(Malformed("a bit string has unused bits")),
    }
}

/// Reads a boolean that may be missing, which means false.
pub(crate) fn optional_boolean(reader: &mut Reader<'_>) -> Result<bool, Malformed> {
    match reader.optional(BOOLEAN)?.map(|element| element.content) {
        None | Some([0]) => Ok(false),
        // OpenSSL accepts any non-zero value.
        Some([_]) => Ok(true),
        Some(_) => Err(Malformed("a boolean has a wrong length")),
    }
}
