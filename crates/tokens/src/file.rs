//! Reading of small files.

use std::fs;
use std::io::{self, Read as _};

use zeroize::Zeroizing;

/// Reads a regular file of at most `len_max` bytes.
///
/// # Errors
/// The path with the cause.
pub(crate) fn read(path: &str, len_max: usize) -> Result<Zeroizing<Vec<u8>>, String> {
    let problem = |error: io::Error| {
        let text = error.to_string();
        format!("{path}: {}", text.split(" (os error").next().unwrap_or_default())
    };
    // Opening a named pipe would block.
    if !fs::metadata(path).map_err(problem)?.is_file() {
        return Err(format!("{path}: it is not a regular file"));
    }
    let file = fs::File::open(path).map_err(problem)?;
    let limit = u64::try_from(len_max).unwrap_or(u64::MAX);
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(problem)?;
    match bytes.len() > len_max {
        true => Err(format!("{path}: it has more than {len_max} bytes")),
        false => Ok(bytes),
    }
}
