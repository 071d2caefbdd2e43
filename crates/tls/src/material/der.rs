//! A reader of DER, the encoding of certificates, keys and keystores (ITU-T X.690).
//!
//! Elements are slices of the input: reading allocates nothing but joined octet strings. Keystores of some programs are in
//! BER with indefinite lengths; [`definite`] converts them first.

use std::borrow::Cow;

use super::MaterialError;

pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
const CONSTRUCTED: u8 = 0x20;
/// Tag of `[0]`, constructed: explicit fields.
pub(super) const CONTEXT_0: u8 = 0xa0;
/// Tag of `[0]`, primitive: implicit octet strings.
pub(super) const CONTEXT_0_PRIMITIVE: u8 = 0x80;

/// Maximum nesting of BER elements with indefinite lengths. Keystores need about 8.
const DEPTH_MAX: usize = 32;

/// An encoding error: the text says which rule is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DerError(pub(super) &'static str);

impl From<DerError> for MaterialError {
    fn from(error: DerError) -> Self {
        Self::malformed(format!("the DER encoding is damaged: {}", error.0))
    }
}

/// An element: its tag, its content, and its whole encoding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
    pub(super) whole: &'a [u8],
}

/// Reads one element after the other.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the next element.
    pub(super) fn element(&mut self) -> Result<Element<'a>, DerError> {
        let (tag, header, length) = header(self.rest)?;
        let length = length.ok_or(DerError("an element has no definite length"))?;
        let end = header.checked_add(length).ok_or(DerError(TOO_LONG))?;
        let whole = self.rest.get(..end).ok_or(DerError(TOO_LONG))?;
        let content = whole.get(header..).unwrap_or_default();
        self.rest = self.rest.get(end..).unwrap_or_default();
        Ok(Element { tag, content, whole })
    }

    /// Returns the content of the next element, which must have this tag.
    pub(super) fn expect(&mut self, tag: u8) -> Result<&'a [u8], DerError> {
        let element = self.element()?;
        match element.tag == tag {
            true => Ok(element.content),
            false => Err(DerError("an element has an unexpected type")),
        }
    }

    /// Returns the content of the next element if it has this tag.
    pub(super) fn optional(&mut self, tag: u8) -> Result<Option<&'a [u8]>, DerError> {
        match self.rest.first() == Some(&tag) {
            true => self.expect(tag).map(Some),
            false => Ok(None),
        }
    }

    /// Returns a reader of the next element, a SEQUENCE.
    pub(super) fn sequence(&mut self) -> Result<Self, DerError> {
        self.expect(SEQUENCE).map(Self::new)
    }

    /// Returns the next element, a non-negative INTEGER.
    pub(super) fn number(&mut self) -> Result<u64, DerError> {
        number(self.expect(INTEGER)?)
    }

    /// Returns the next element, an INTEGER, if there is one.
    pub(super) fn optional_number(&mut self) -> Result<Option<u64>, DerError> {
        self.optional(INTEGER)?.map(number).transpose()
    }

    /// Returns the next element, an OCTET STRING with this primitive tag; BER may have split it into several.
    pub(super) fn octets(&mut self, tag: u8) -> Result<Cow<'a, [u8]>, DerError> {
        let element = self.element()?;
        if element.tag == tag {
            return Ok(Cow::Borrowed(element.content));
        }
        if element.tag != tag | CONSTRUCTED {
            return Err(DerError("an element has an unexpected type"));
        }
        let mut joined = Vec::new();
        let mut parts = Reader::new(element.content);
        while !parts.is_empty() {
            joined.extend_from_slice(parts.expect(OCTET_STRING)?);
        }
        Ok(Cow::Owned(joined))
    }
}

const TOO_LONG: &str = "an element is longer than the data";

fn number(content: &[u8]) -> Result<u64, DerError> {
    let first = content.first().ok_or(DerError("a number is empty"))?;
    if first & 0x80 != 0 {
        return Err(DerError("a number is negative"));
    }
    content.iter().try_fold(0u64, |value, byte| {
        let shifted = value.checked_mul(256).ok_or(DerError("a number is too large"))?;
        Ok(shifted | u64::from(*byte))
    })
}

/// Returns the tag, the length of the header, and the length of the content unless it is indefinite.
fn header(data: &[u8]) -> Result<(u8, usize, Option<usize>), DerError> {
    let (tag, first) = match data {
        [tag, first, ..] => (*tag, *first),
        _ => return Err(DerError("the data ends within an element")),
    };
    if tag & 0x1f == 0x1f {
        return Err(DerError("an element has an unknown type"));
    }
    match first {
        0..0x80 => Ok((tag, 2, Some(usize::from(first)))),
        0x80 => Ok((tag, 2, None)),
        0x81..=0x84 => {
            let count = usize::from(first & 0x7f);
            let bytes = data.get(2..2 + count);
            let bytes = bytes.ok_or(DerError("the data ends within an element"))?;
            let length = bytes
                .iter()
                .fold(0usize, |length, byte| length << 8 | usize::from(*byte));
            Ok((tag, 2 + count, Some(length)))
        }
        _ => Err(DerError(TOO_LONG)),
    }
}

/// Returns the first element of the data with definite lengths throughout.
pub(super) fn definite(data: &[u8]) -> Result<Cow<'_, [u8]>, DerError> {
    let mut rest = data;
    if let Ok(element) = Reader::new(data).element() {
        // Only constructed elements hold further ones, and lengths inside of a DER element are definite.
        rest = element.whole;
        if !has_indefinite(element.content, DEPTH_MAX) {
            return Ok(Cow::Borrowed(element.whole));
        }
    }
    let mut converted = Vec::with_capacity(rest.len());
    convert(&mut rest, &mut converted, DEPTH_MAX)?;
    Ok(Cow::Owned(converted))
}

fn has_indefinite(mut rest: &[u8], depth: usize) -> bool {
    while !rest.is_empty() {
        match header(rest) {
            Ok((_, _, None)) => return true,
            Ok((tag, start, Some(length))) => {
                let end = start.saturating_add(length).min(rest.len());
                let content = rest.get(start..end).unwrap_or_default();
                if tag & CONSTRUCTED != 0 && depth > 0 && has_indefinite(content, depth - 1) {
                    return true;
                }
                rest = rest.get(end..).unwrap_or_default();
            }
            Err(_) => return false,
        }
    }
    false
}

/// Appends the next element of `rest` to `out`.
fn convert(rest: &mut &[u8], out: &mut Vec<u8>, depth: usize) -> Result<(), DerError> {
    let deeper = depth.checked_sub(1).ok_or(DerError("elements are nested too deeply"))?;
    let (tag, start, length) = header(rest)?;
    if tag & CONSTRUCTED == 0 {
        let mut reader = Reader::new(rest);
        out.extend_from_slice(reader.element()?.whole);
        *rest = reader.rest;
        return Ok(());
    }
    let body = rest.get(start..).ok_or(DerError(TOO_LONG))?;
    let mut content = Vec::new();
    if let Some(length) = length {
        let mut inner = body.get(..length).ok_or(DerError(TOO_LONG))?;
        *rest = body.get(length..).unwrap_or_default();
        while !inner.is_empty() {
            convert(&mut inner, &mut content, deeper)?;
        }
    } else {
        *rest = body;
        while !rest.starts_with(&[0, 0]) {
            convert(rest, &mut content, deeper)?;
        }
        *rest = rest.get(2..).unwrap_or_default();
    }
    write_header(tag, content.len(), out)?;
    out.extend_from_slice(&content);
    Ok(())
}

fn write_header(tag: u8, length: usize, out: &mut Vec<u8>) -> Result<(), DerError> {
    let length = u32::try_from(length).map_err(|_| DerError(TOO_LONG))?;
    out.push(tag);
    match u8::try_from(length) {
        Ok(short @ 0..0x80) => out.push(short),
        _ => {
            out.push(0x84);
            out.extend_from_slice(&length.to_be_bytes());
        }
    }
    Ok(())
}

/// Returns an object identifier as text, such as `1.2.840.113549.1.5.13`.
pub(super) fn oid_text(oid: &[u8]) -> String {
    /// Longer ones are not printed whole.
    const ARCS_MAX: usize = 20;
    let mut arcs: Vec<u64> = Vec::new();
    let mut arc = 0u64;
    for byte in oid {
        arc = arc.saturating_mul(128) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            if arcs.is_empty() {
                let first = (arc / 40).min(2);
                arcs.push(first);
                arc -= first * 40;
            }
            arcs.push(arc);
            arc = 0;
        }
        if arcs.len() >= ARCS_MAX {
            break;
        }
    }
    let arcs: Vec<String> = arcs.iter().map(u64::to_string).collect();
    arcs.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_beyond_the_data_are_refused() {
        for data in [
            &[0x30][..],
            &[0x30, 5, 1],
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
            &[0x30, 0x85],
            &[0x1f, 0],
        ] {
            assert!(Reader::new(data).element().is_err(), "{data:?}");
        }
    }

    #[test]
    fn numbers_are_read_within_64_bits() {
        assert_eq!(Reader::new(&[2, 2, 1, 0]).number(), Ok(256));
        assert!(Reader::new(&[2, 1, 0x80]).number().is_err());
        assert!(Reader::new(&[2, 0]).number().is_err());
        assert!(Reader::new(&[2, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0]).number().is_err());
    }

    #[test]
    fn indefinite_lengths_become_definite() {
        // A SEQUENCE of a constructed OCTET STRING in two parts and a number, each of unknown length.
        let ber = [0x30, 0x80, 0x24, 0x80, 4, 1, 7, 4, 1, 8, 0, 0, 2, 1, 5, 0, 0];
        let der = definite(&ber).unwrap();
        assert_eq!(&der[..], [0x30, 11, 0x24, 6, 4, 1, 7, 4, 1, 8, 2, 1, 5]);
        let mut sequence = Reader::new(&der).sequence().unwrap();
        assert_eq!(&sequence.octets(OCTET_STRING).unwrap()[..], [7, 8]);
        assert_eq!(sequence.number(), Ok(5));
    }

    #[test]
    fn indefinite_length_within_a_definite_one_is_found() {
        let ber = [0x30, 7, 0x30, 0x80, 2, 1, 5, 0, 0];
        assert_eq!(&definite(&ber).unwrap()[..], [0x30, 5, 0x30, 3, 2, 1, 5]);
    }

    #[test]
    fn deep_nesting_is_refused() {
        let mut ber = [0x30, 0x80].repeat(100_000);
        assert!(definite(&ber).is_err());
        ber.extend([0, 0].repeat(100_000));
        assert!(definite(&ber).is_err());
    }

    #[test]
    fn object_identifiers_read_as_numbers() {
        let pbes2 = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5, 13];
        assert_eq!(oid_text(&pbes2), "1.2.840.113549.1.5.13");
        assert_eq!(oid_text(&[0x60, 0x86, 0x48]), "2.16.840");
        assert_eq!(oid_text(&[]), "");
    }
}
