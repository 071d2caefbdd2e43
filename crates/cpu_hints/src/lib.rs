//! What only the processor itself gives: hints which memory is needed soon, and its own counter. The hints change nothing
//! but time, and are nothing where the processor has none. And a counter of forks, which only the C library gives. All of
//! it is `unsafe` underneath, which is why it has a crate of its own.

pub mod forks;

use std::mem::MaybeUninit;

/// Bytes that the cache fetches at once.
const LINE: usize = 64;

/// The line of this address will be read soon. Any address will do, one of no memory too.
#[inline]
pub fn will_read(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads nothing and is ignored where nothing is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// These bytes will be read soon.
#[inline]
pub fn will_read_all(bytes: &[u8]) {
    for line in bytes.chunks(LINE) {
        will_read(line.as_ptr());
    }
    // Lines are not where chunks are: the last byte may be in one more.
    if let Some(last) = bytes.last() {
        will_read(last);
    }
}

/// The processor's counter, which counts some billions a second. Reading it does not wait for what was begun before, as a
/// look at the clock does. `None` where there is none. Another processor of the machine may have another count.
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

/// This memory will be written soon.
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
    fn any_address_will_do() {
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
