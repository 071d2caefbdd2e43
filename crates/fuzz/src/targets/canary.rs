//! Deliberate bugs in a decoder of a length and as many bytes.

use crate::memory::within;
use crate::{Seen, Verdict};

fn claimed(data: &[u8]) -> Option<(usize, &[u8])> {
    let (length, rest) = data.split_first_chunk::<2>()?;
    Some((u16::from_be_bytes(*length).into(), rest))
}

/// Takes as many bytes as are claimed, whether they are there or not.
pub(super) fn panic(data: &[u8]) -> Verdict {
    let Some((length, rest)) = claimed(data) else {
        return Ok(Seen::Refused);
    };
    let sum: usize = rest[..length].iter().map(|byte| usize::from(*byte)).sum();
    ensure!(sum <= length * 255, "{length} bytes come to {sum}");
    Ok(Seen::Accepted)
}

/// Sets memory aside for what is claimed.
pub(super) fn memory(data: &[u8]) -> Verdict {
    let Some((length, rest)) = claimed(data) else {
        return Ok(Seen::Refused);
    };
    let body = within(data.len() + 64, || {
        let mut body = Vec::<u8>::with_capacity(length);
        body.extend(rest.iter().take(length));
        body
    })?;
    ensure!(body.len() <= rest.len(), "more bytes than there are");
    Ok(Seen::Accepted)
}

/// Fails where no blind change would ever get to.
pub(super) fn coverage(data: &[u8]) -> Verdict {
    ensure!(!data.ends_with(b"OTTLA"), "the word was found");
    Ok(Seen::Accepted)
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    vec![vec![0, 3, 1, 2, 3]]
}
