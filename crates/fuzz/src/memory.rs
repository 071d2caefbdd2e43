//! What an input may cost in memory.

/// Runs `f`, which may hold `limit` bytes at once at the most, on this thread and in Rust's allocator.
pub(crate) fn within<T>(limit: usize, f: impl FnOnce() -> T) -> Result<T, String> {
    let mut result = None;
    let info = allocation_counter::measure(|| result = Some(f()));
    if info.bytes_max > limit as u64 {
        return Err(format!("{} bytes held at once, {limit} are allowed", info.bytes_max));
    }
    result.ok_or_else(|| "nothing was run".to_owned())
}
