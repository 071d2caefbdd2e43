//! Hints to the processor: which memory is needed soon. They change nothing but time, and are nothing where the
//! processor has none. The standard library has them as `unsafe` instructions only, which is why they have a crate of
//! their own.

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

/// This memory will be written soon.
#[inline]
pub fn will_write(memory: &mut [MaybeUninit<u8>]) {
    for line in memory.chunks_mut(LINE) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
            // SAFETY: as above.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(line.as_ptr().cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
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
        will_write(&mut []);
        assert_eq!(memory, [7]);
    }
}
