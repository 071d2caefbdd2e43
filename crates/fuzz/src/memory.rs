//! Limits on the memory that processing an input takes.

/// Runs `f`; fails if it holds more than `limit` bytes of Rust's allocator at once on this thread.
pub(crate) fn within<T>(limit: usize, f: impl FnOnce() -> T) -> Result<T, String> {
    let mut result = None;
    let info = allocation_counter::measure(|| result = Some(f()));
    if info.bytes_max > limit as u64 {
        return Err(format!("{} bytes held at once, {limit} are allowed", info.bytes_max));
    }
    result.ok_or_else(|| "nothing was run".to_owned())
}
