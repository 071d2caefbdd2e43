//! Distinguished names: as text for people, and their common names.

use super::der::{
    BMP_STRING, IA5_STRING, Malformed, OBJECT_IDENTIFIER, PRINTABLE_STRING, Reader, SEQUENCE, SET, T61_STRING,
    UNIVERSAL_STRING, UTF8_STRING,
};

/// Maximum number of attributes that are read from a name.
const ATTRIBUTES_MAX: usize = 64;
/// Maximum length of a printed name in bytes; the rest is left out.
const TEXT_MAX: usize = 1024;

const COMMON_NAME: &[u8] = &[0x55, 4, 3];

/// One attribute of a name.
struct Attribute<'a> {
    oid: &'a [u8],
    tag: u8,
    value: &'a [u8],
    /// The attribute belongs to the same relative name as the attribute before it.
    joined: bool,
}

/// Returns a name in the form of RFC 4514, which is Kafka's form of principals: `CN=broker,O=Example,C=CZ`.
///
/// `name` is the content of the name's sequence.
pub(crate) fn to_text(name: &[u8]) -> String {
    let Ok(attributes) = attributes(name) else {
        return "(unreadable)".to_owned();
    };
    let mut text = String::new();
    // OpenSSL and Kafka print the last attribute first.
    for attribute in attributes.iter().rev() {
        push_attribute(&mut text, attribute);
        text.push(if attribute.joined { '+' } else { ',' });
        if text.len() > TEXT_MAX {
            text.truncate(text.floor_char_boundary(TEXT_MAX));
            text.push('…');
            return text;
        }
    }
    text.pop();
    text
}

/// Returns the common names of a name, in the order of the certificate.
pub(crate) fn common_names(name: &[u8]) -> Vec<String> {
    let attributes = attributes(name).unwrap_or_default();
    let common = attributes.iter().filter(|attribute| attribute.oid == COMMON_NAME);
    common
        .filter_map(|attribute| decode(attribute.tag, attribute.value))
        .collect()
}

fn attributes(name: &[u8]) -> Result<Vec<Attribute<'_>>, Malformed> {
    let mut all = Vec::new();
    let mut relatives = Reader::new(name);
    while !relatives.is_empty() {
        let mut relative = Reader::new(relatives.expect(SET)?.content);
        let mut joined = false;
        while !relative.is_empty() {
            let mut attribute = Reader::new(relative.expect(SEQUENCE)?.content);
            let oid = attribute.expect(OBJECT_IDENTIFIER)?.content;
            let value = attribute.next()?;
            if all.len() == ATTRIBUTES_MAX {
                return Err(Malformed("a name has too many attributes"));
            }
            all.push(Attribute {
                oid,
                tag: value.tag,
                value: value.content,
                joined,
            });
            joined = true;
        }
    }
    Ok(all)
}

fn push_attribute(text: &mut String, attribute: &Attribute<'_>) {
    match short_name(attribute.oid) {
        Some(short) => text.push_str(short),
        None => text.push_str(&dotted(attribute.oid)),
    }
    text.push('=');
    let Some(value) = decode(attribute.tag, attribute.value) else {
        text.push('#');
        for byte in attribute.value.iter().take(32) {
            text.push_str(&format!("{byte:02x}"));
        }
        return;
    };
    let last = value.chars().count().saturating_sub(1);
    for (index, c) in value.chars().enumerate().take(TEXT_MAX) {
        match c {
            '"' | '+' | ',' | ';' | '<' | '>' | '\\' => text.extend(['\\', c]),
            '#' | ' ' if index == 0 => text.extend(['\\', c]),
            ' ' if index == last => text.extend(['\\', c]),
            // A log line must stay one line.
            c if c.is_control() => text.extend(c.escape_default()),
            c => text.push(c),
        }
    }
}

fn short_name(oid: &[u8]) -> Option<&'static str> {
    let short = match oid {
        COMMON_NAME => "CN",
        [0x55, 4, 4] => "SN",
        [0x55, 4, 5] => "serialNumber",
        [0x55, 4, 6] => "C",
        [0x55, 4, 7] => "L",
        [0x55, 4, 8] => "ST",
        [0x55, 4, 9] => "street",
        [0x55, 4, 10] => "O",
        [0x55, 4, 11] => "OU",
        [0x55, 4, 12] => "title",
        [0x55, 4, 42] => "GN",
        [0x55, 4, 46] => "dnQualifier",
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1] => "emailAddress",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1] => "UID",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25] => "DC",
        _ => return None,
    };
    Some(short)
}

/// Returns an object identifier as numbers with dots.
pub(crate) fn dotted(oid: &[u8]) -> String {
    let mut text = String::new();
    let mut arc = 0_u64;
    for byte in oid.iter().take(64) {
        arc = arc << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 != 0 {
            continue;
        }
        match text.is_empty() {
            true => {
                let first = (arc / 40).min(2);
                text = format!("{first}.{}", arc - 40 * first);
            }
            false => text.push_str(&format!(".{arc}")),
        }
        arc = 0;
    }
    text
}

/// Returns a string of one of the types that names have. T.61 is read as Latin-1, as in OpenSSL.
fn decode(tag: u8, value: &[u8]) -> Option<String> {
    match tag {
        UTF8_STRING | PRINTABLE_STRING | IA5_STRING => String::from_utf8(value.to_vec()).ok(),
        T61_STRING => Some(value.iter().copied().map(char::from).collect()),
        BMP_STRING => match value.as_chunks() {
            (units, []) => {
                let units = units.iter().copied().map(u16::from_be_bytes);
                char::decode_utf16(units).collect::<Result<_, _>>().ok()
            }
            _ => None,
        },
        UNIVERSAL_STRING => match value.as_chunks() {
            (units, []) => units
                .iter()
                .copied()
                .map(|unit| char::from_u32(u32::from_be_bytes(unit)))
                .collect(),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Identifier, tag and content.
    type Part<'a> = (&'a [u8], u8, &'a [u8]);

    fn name(relatives: &[&[Part<'_>]]) -> Vec<u8> {
        let element = |tag: u8, content: &[u8]| [&[tag, u8::try_from(content.len()).unwrap()], content].concat();
        let attribute = |(oid, tag, value): &Part<'_>| {
            element(
                SEQUENCE,
                &[element(OBJECT_IDENTIFIER, oid), element(*tag, value)].concat(),
            )
        };
        let relative =
            |relative: &&[Part<'_>]| element(SET, &relative.iter().map(attribute).collect::<Vec<_>>().concat());
        relatives.iter().map(relative).collect::<Vec<_>>().concat()
    }

    #[test]
    fn names_print_in_the_form_of_rfc_4514() {
        let der = name(&[
            &[(&[0x55, 4, 6], PRINTABLE_STRING, b"CZ")],
            &[(&[0x55, 4, 10], UTF8_STRING, "Ottla, s.r.o.".as_bytes())],
            &[
                (COMMON_NAME, UTF8_STRING, b" a\n"),
                (&[0x55, 4, 11], T61_STRING, b"\xe9"),
            ],
            &[(&[0x2a, 0x03], BMP_STRING, &[0, b'x', 0x01, 0x0d])],
            &[(&[0x55, 4, 3], 0x04, b"\x01")],
        ]);
        assert_eq!(
            to_text(&der),
            "CN=#01,1.2.3=x\u{10d},OU=é+CN=\\ a\\n,O=Ottla\\, s.r.o.,C=CZ"
        );
        assert_eq!(common_names(&der), [" a\n"]);
    }

    #[test]
    fn a_name_with_too_many_attributes_is_unreadable() {
        let attribute: &[Part<'_>] = &[(COMMON_NAME, UTF8_STRING, b"a")];
        assert!(common_names(&name(&vec![attribute; ATTRIBUTES_MAX + 1])).is_empty());
        assert_eq!(
            common_names(&name(&vec![attribute; ATTRIBUTES_MAX])).len(),
            ATTRIBUTES_MAX
        );
    }
}
