//! Blocks of PEM text (RFC 7468), with the headers of RFC 1421.
//!
//! Text outside of blocks is skipped. Lines end with any combination of carriage return and line feed, and spaces around
//! them are ignored, so that files survive editors and indentation.

use zeroize::Zeroizing;

use super::{MaterialError, MaterialErrorKind};

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";
/// Longer labels are not labels.
const LABEL_MAX: usize = 64;

/// A block, possibly a private key, and so without `Debug`: its number in the text, from 1, its label, and its lines.
pub(super) struct Block<'a> {
    pub(super) number: usize,
    pub(super) label: &'a str,
    /// Lines such as `DEK-Info: AES-128-CBC,…`.
    headers: Vec<&'a [u8]>,
    lines: Vec<&'a [u8]>,
    damage: Option<&'static str>,
}

impl<'a> Block<'a> {
    /// Returns the bytes of the block.
    ///
    /// # Errors
    /// The block is not complete, or not base64.
    pub(super) fn decode(&self) -> Result<Zeroizing<Vec<u8>>, MaterialError> {
        let decoded = match self.damage {
            Some(damage) => Err(damage),
            None => decode_base64(&self.lines),
        };
        decoded.map_err(|damage| self.fault(MaterialError::malformed(damage)))
    }

    /// Returns a header's value.
    pub(super) fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().find_map(|line| {
            let (found, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
            found.trim().eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Returns the error with the block's number and label.
    pub(super) fn fault(&self, error: MaterialError) -> MaterialError {
        error.in_block(self.number, self.label)
    }
}

/// Returns the blocks of a text.
pub(super) fn blocks(text: &[u8]) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut open = false;
    for line in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
        if let Some((label, damage)) = line.strip_prefix(BEGIN).and_then(label) {
            if open && let Some(block) = blocks.last_mut() {
                block.damage = Some("its END line is missing");
            }
            let number = blocks.len() + 1;
            blocks.push(Block {
                number,
                label,
                headers: Vec::new(),
                lines: Vec::new(),
                damage,
            });
            open = damage.is_none();
            continue;
        }
        let Some(block) = blocks.last_mut().filter(|_| open) else {
            continue;
        };
        if let Some(end) = line.strip_prefix(END) {
            open = false;
            if end.strip_suffix(DASHES) != Some(block.label.as_bytes()) {
                block.damage = Some("its END line has another label than its BEGIN line");
            }
        } else if block.lines.is_empty() && line.contains(&b':') {
            block.headers.push(line);
        } else if !line.is_empty() {
            block.lines.push(line);
        }
    }
    if open && let Some(block) = blocks.last_mut() {
        block.damage = Some("its END line is missing");
    }
    blocks
}

/// Returns the label of a BEGIN line, and the fault of the line.
fn label(line: &[u8]) -> Option<(&str, Option<&'static str>)> {
    let end = line.windows(DASHES.len()).position(|window| window == DASHES)?;
    let (label, after) = line.split_at_checked(end)?;
    let label = std::str::from_utf8(label).ok()?;
    if label.len() > LABEL_MAX || label.contains(|c: char| c.is_control()) {
        return None;
    }
    let damage = match after.strip_prefix(DASHES) {
        Some(b"") => None,
        Some(rest) if rest.starts_with(b"\\n") => Some("it contains the characters \\n where lines must end"),
        _ => Some("its BEGIN line is not a line of its own"),
    };
    Some((label, damage))
}

/// Returns the error for a text without a block that was looked for; the text says what is there instead.
pub(super) fn nothing_found(kind: MaterialErrorKind, wanted: &str, text: &[u8]) -> MaterialError {
    /// More labels are not listed.
    const LABELS_MAX: usize = 5;
    let blocks = blocks(text);
    let mut labels: Vec<&str> = Vec::new();
    for block in &blocks {
        if !labels.contains(&block.label) && labels.len() < LABELS_MAX {
            labels.push(block.label);
        }
    }
    let found = match text {
        [] => "the data is empty".to_owned(),
        _ if !labels.is_empty() => format!("only {}", labels.join(", ")),
        [0xfe, 0xed, 0xfe, 0xed, ..] => "the data looks like a Java keystore (JKS)".to_owned(),
        [0x30, 0x80..=0x84, ..] => "the data looks like DER or PKCS#12".to_owned(),
        [0xfe, 0xff, ..] | [0xff, 0xfe, ..] | [0, ..] | [_, 0, ..] => "the data is not ASCII text".to_owned(),
        _ => "the data has no line -----BEGIN …-----".to_owned(),
    };
    MaterialError::new(kind, format!("no {wanted} in PEM format: {found}"))
}

/// Decodes base64 lines into a buffer that never moves, so that no copy of a key stays in memory.
fn decode_base64(lines: &[&[u8]]) -> Result<Zeroizing<Vec<u8>>, &'static str> {
    const DAMAGE: &str = "its base64 text is damaged";
    let characters: usize = lines.iter().map(|line| line.len()).sum();
    let mut decoded = Zeroizing::new(Vec::with_capacity(characters / 4 * 3 + 3));
    let (mut bits, mut count, mut padding) = (0u32, 0usize, 0usize);
    for character in lines.iter().copied().flatten() {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b' ' | b'\t' => continue,
            b'=' => {
                padding += 1;
                0
            }
            _ => return Err(DAMAGE),
        };
        if padding > 0 && *character != b'=' {
            return Err(DAMAGE);
        }
        bits = bits << 6 | u32::from(value);
        count += 1;
        if count % 4 == 0 {
            let kept = 3usize.checked_sub(padding).filter(|kept| *kept > 0).ok_or(DAMAGE)?;
            let [_, bytes @ ..] = bits.to_be_bytes();
            decoded.extend(bytes.iter().take(kept));
            bits = 0;
        }
    }
    match count % 4 {
        0 if count > 0 => Ok(decoded),
        0 => Err("it is empty"),
        _ => Err("its base64 text is incomplete"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Result<Vec<u8>, String> {
        let text = format!("-----BEGIN A-----\n{text}\n-----END A-----\n");
        let decoded = blocks(text.as_bytes())[0].decode();
        decoded.map(|bytes| bytes.to_vec()).map_err(|error| error.to_string())
    }

    #[test]
    fn base64_is_decoded() {
        assert_eq!(decoded("Zm9vYmFy").unwrap(), b"foobar");
        assert_eq!(decoded("Zm9v\r\n  YmE= ").unwrap(), b"fooba");
        assert_eq!(decoded("Zm9vYg==").unwrap(), b"foob");
        assert_eq!(decoded("+/+/").unwrap(), [0xfb, 0xff, 0xbf]);
    }

    #[test]
    fn damaged_base64_is_refused_with_block_and_label() {
        for bad in [
            "Zm9",
            "Zm9v=mFy",
            "Zm9v====",
            "Zm=v",
            "Zm9*",
            "Zm9vYg=="[..7].as_ref(),
            "",
            "Zg==Zg==",
        ] {
            let error = decoded(bad).unwrap_err();
            assert!(error.starts_with("PEM block 1 (A): it"), "{bad}: {error}");
        }
    }

    #[test]
    fn blocks_are_found_between_other_text() {
        let text = "\u{feff}-----BEGIN A-----\r\nZm9v\r\n-----END A-----\r\nBag Attributes: x\n\
            \x20\x20-----BEGIN B C-----\n  Zm9v\n  -----END B C-----";
        let blocks = blocks(text.as_bytes());
        let labels: Vec<_> = blocks.iter().map(|block| (block.number, block.label)).collect();
        assert_eq!(labels, [(1, "A"), (2, "B C")]);
        assert!(blocks.iter().all(|block| &block.decode().unwrap()[..] == b"foo"));
    }

    #[test]
    fn headers_are_apart_from_the_bytes() {
        let text = "-----BEGIN A-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: DES-CBC,00\n\nZm9v\n-----END A-----\n";
        let blocks = blocks(text.as_bytes());
        assert_eq!(blocks[0].header("dek-info"), Some("DES-CBC,00"));
        assert_eq!(blocks[0].header("Other"), None);
        assert_eq!(&blocks[0].decode().unwrap()[..], b"foo");
    }

    #[test]
    fn damaged_lines_around_a_block_are_named() {
        for (text, fault) in [
            ("-----BEGIN A-----\nZm9v", "END line is missing"),
            (
                "-----BEGIN A-----\nZm9v\n-----BEGIN B-----\nZm9v\n-----END B-----",
                "END line is missing",
            ),
            ("-----BEGIN A-----\nZm9v\n-----END B-----", "another label"),
            ("-----BEGIN A-----\\nZm9v\\n-----END A-----", "characters \\n"),
            ("-----BEGIN A----- Zm9v -----END A-----", "line of its own"),
        ] {
            let error = blocks(text.as_bytes())[0].decode().unwrap_err();
            assert!(error.to_string().contains(fault), "{text}: {error}");
            assert_eq!(error.block(), Some((1, "A")));
        }
    }

    #[test]
    fn text_without_the_wanted_block_is_described() {
        for (data, described) in [
            (&b""[..], "empty"),
            (b"-----BEGIN A-----\n", "only A"),
            (b"\xfe\xed\xfe\xed\0\0", "JKS"),
            (b"\x30\x82\x01\x02", "PKCS#12"),
            (b"\xff\xfe-\0-\0", "not ASCII"),
            (b"hello", "-----BEGIN"),
        ] {
            let error = nothing_found(MaterialErrorKind::NoKey, "key", data);
            assert!(error.to_string().contains(described), "{error}");
        }
    }
}
