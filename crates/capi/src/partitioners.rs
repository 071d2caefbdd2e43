//! The partitioners that the library brings, for use in the application's own.

use std::ffi::c_void;

use ottla_core::producer::Partitioner;
use ottla_core::types::PARTITION_UA;

use crate::ffi::{self, FromC, exports};
use crate::handle::TopicHandle;

/// Chooses as a partitioner would that the library brings.
///
/// # Safety
/// `key` is NULL or has `key_len` readable bytes.
unsafe fn choose(
    partitioner: Partitioner,
    rkt: *const TopicHandle,
    key: *const c_void,
    key_len: usize,
    partition_count: i32,
) -> i32 {
    let Ok(count @ 1..) = u32::try_from(partition_count) else {
        return PARTITION_UA;
    };
    // SAFETY: by the caller's promise.
    let (key, rkt) = unsafe { (ffi::bytes(key, key_len), <&TopicHandle>::from_c(rkt)) };
    if let Some(partition) = partitioner.by_key(key, count) {
        return i32::try_from(partition).unwrap_or(PARTITION_UA);
    }
    let random = || i32::try_from(fastrand::u32(..count)).unwrap_or(0);
    // A partition without a leader is taken only when some draws found no other.
    let first = random();
    let available = |p: i32| rkt.is_none_or(|rkt| is_available(rkt, p));
    std::iter::once(first)
        .chain((0..8).map(|_| random()))
        .find(|p| available(*p))
        .unwrap_or(first)
}

fn is_available(rkt: &TopicHandle, partition: i32) -> bool {
    let producer = rkt.client().ok().and_then(|c| c.shared().producer.as_ref());
    producer.is_some_and(|p| p.is_partition_available(rkt.topic(), partition))
}

/// Defines the exported function of a partitioner.
macro_rules! partitioners {
    ($($(#[$doc:meta])* $name:ident = $partitioner:ident;)*) => {
        exports! {$(
            $(#[$doc])*
            fn $name(
                rkt: *const TopicHandle, key: *const c_void, key_len: usize, partition_count: i32,
                topic_opaque: *mut c_void, message_opaque: *mut c_void,
            ) -> i32, or PARTITION_UA; {
                let _ = (topic_opaque, message_opaque);
                // SAFETY: by the API's contract.
                unsafe { choose(Partitioner::$partitioner, rkt, key, key_len, partition_count) }
            }
        )*}
    };
}

partitioners! {
    /// Any partition.
    rd_kafka_msg_partitioner_random = Random;
    /// By CRC-32 of the key.
    rd_kafka_msg_partitioner_consistent = Consistent;
    /// By CRC-32 of the key, any for records without one.
    rd_kafka_msg_partitioner_consistent_random = ConsistentRandom;
    /// As the Java client, records without a key in one partition.
    rd_kafka_msg_partitioner_murmur2 = Murmur2;
    /// As the Java client.
    rd_kafka_msg_partitioner_murmur2_random = Murmur2Random;
    /// By FNV-1a of the key.
    rd_kafka_msg_partitioner_fnv1a = Fnv1a;
    /// By FNV-1a of the key, any for records without one.
    rd_kafka_msg_partitioner_fnv1a_random = Fnv1aRandom;
}

exports! {
    /// Returns whether a partition has a leader, for partitioners.
    fn rd_kafka_topic_partition_available(rkt: &TopicHandle, partition: i32) -> i32, or 0; {
        is_available(rkt, partition).into()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn partitioners_agree_with_known_values() {
        let call = |p, key: &CStr| {
            // SAFETY: a string.
            unsafe {
                choose(
                    p,
                    std::ptr::null(),
                    key.as_ptr().cast(),
                    key.to_bytes().len(),
                    1_000_000,
                )
            }
        };
        // CRC-32 of "123456789" is 0xcbf43926.
        assert_eq!(
            call(Partitioner::Consistent, c"123456789"),
            (0xcbf4_3926_u32 % 1_000_000) as i32
        );
        // SAFETY: no key.
        let any = unsafe { choose(Partitioner::Random, std::ptr::null(), std::ptr::null(), 0, 3) };
        assert!((0..3).contains(&any));
        // SAFETY: no key.
        let none = unsafe { choose(Partitioner::Random, std::ptr::null(), std::ptr::null(), 0, 0) };
        assert_eq!(none, PARTITION_UA);
    }
}
