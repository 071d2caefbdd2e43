//! Prefetch hints for the processor, its cycle counter, a counter of forks, and an option of sockets.
//!
//! The hints affect only speed, and do nothing on processors other than x86-64. The underlying instructions and system
//! interfaces are `unsafe`; this crate wraps them in safe functions.
//!
//! Without the hints, three rows of the benchmark use more CPU time: `copied payload` 6 % (more in 10 of 12 rounds),
//! `1 kB, copied` 20 % (more in 10 of 10 rounds) and `500 partitions, keyed` 24 % (more in 19 of 19 rounds, 16 % while the
//! machine had nothing else to do), measured with `bench/compare.py --only "1 kB, copied" --build without=FOLDER`.

pub mod forks;
pub mod sockets;

use std::mem::MaybeUninit;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches the cache line of an address for reading. Accepts any address, mapped or not.
#[inline]
pub fn will_read(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch does not fault, and is ignored for unmapped addresses.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches the cache lines of these bytes for reading.
#[inline]
pub fn will_read_all(bytes: &[u8]) {
    for line in bytes.chunks(LINE) {
        will_read(line.as_ptr());
    }
    // The chunks are not aligned to cache lines, so the last byte may be in a further line.
    if let Some(last) = bytes.last() {
        will_read(last);
    }
}

/// Returns the processor's cycle counter, which advances by some 10^9 per second; `None` on processors other than x86-64.
/// The read is not ordered with earlier instructions, unlike a read of the clock. Counters of different processors may
/// differ.
#[inline]
pub fn ticks() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: the instruction reads a register.
        Some(unsafe { std::arch::x86_64::_rdtsc() })
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// Prefetches this memory for writing.
#[inline]
pub fn will_write<T>(memory: &mut [MaybeUninit<T>]) {
    let first = memory.as_ptr().cast::<u8>();
    for offset in (0..size_of_val(memory)).step_by(LINE) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
            // SAFETY: as above.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(first.wrapping_add(offset).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (first, offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_address_is_prefetched_without_effect() {
        for address in [std::ptr::null(), std::ptr::without_provenance(usize::MAX)] {
            will_read(address);
        }
        let mut memory = Vec::with_capacity(1000);
        memory.push(7);
        will_write(memory.spare_capacity_mut());
        will_write::<u64>(&mut []);
        assert_eq!(memory, [7]);
    }
}
