//! `rd_kafka_unittest()`: does this build compute right on this machine? Checksums, hashes and codecs choose their
//! instructions by the processor that they find, so known answers are asked for here; then records go the whole way,
//! through an embedded cluster.

use std::time::{Duration, Instant};

use bytes::Bytes;
use ottla_core::client::{Client, ClientHooks};
use ottla_core::config::Conf;
use ottla_core::error::Error;
use ottla_core::event::Event;
use ottla_core::producer::{Partitioner, Payload, Record};
use ottla_core::types::{ClientKind, PartitionOffset, TopicHooks, TopicPartition};
use ottla_protocol::compression::{Codec, compress, decompress};
use ottla_protocol::record::{BatchParams, seal_batch};
use ottla_protocol::varint;

use crate::ffi::exports;

/// Success, or the text of a failure.
type Outcome = Result<(), String>;

/// A check by its name.
type Check = (&'static str, fn() -> Outcome);

/// The checks.
const CHECKS: &[Check] = &[
    ("CRC-32C", crc32c),
    ("partitioners", partitioners),
    ("variable-length integers", varints),
    ("codecs", codecs),
    ("an embedded cluster", embedded_cluster),
];

/// The codecs by the names that `compression.codec` takes.
const CODECS: &[(&str, Codec)] = &[
    ("none", Codec::None),
    ("gzip", Codec::Gzip),
    ("snappy", Codec::Snappy),
    ("lz4", Codec::Lz4),
    ("zstd", Codec::Zstd),
];

/// Timeout of all operations on the cluster together.
const PATIENCE: Duration = Duration::from_secs(30);

/// Records of each codec.
const RECORDS: usize = 200;

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: &T, want: &T) -> Outcome {
    match got == want {
        true => Ok(()),
        false => Err(format!("{what} is {got:?}, not {want:?}")),
    }
}

/// CRC-32C bit by bit, as it is defined.
fn crc32c_by_definition(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    !crc
}

/// Record batches carry the checksum of all that follows it.
fn crc32c() -> Outcome {
    /// Where a batch has its checksum.
    const AT: std::ops::Range<usize> = 17..21;
    expect("the definition's", &crc32c_by_definition(b"123456789"), &0xe306_9283)?;
    for len in [0, 1, 7, 8, 63, 64, 4096, 100_003] {
        let body = Bytes::from(noise(len));
        let sealed = seal_batch(&BatchParams::default(), &[body], Codec::None, None).map_err(|e| e.to_string())?;
        let batch = sealed.parts().concat();
        let stored = batch
            .get(AT)
            .and_then(|crc| crc.try_into().ok())
            .map(u32::from_be_bytes);
        let computed = batch.get(AT.end..).map(crc32c_by_definition);
        expect(&format!("that of a batch with {len} bytes"), &stored, &computed)?;
    }
    Ok(())
}

/// Equal keys must reach the same partition as with other clients.
fn partitioners() -> Outcome {
    let hash = |partitioner: Partitioner, key: &str| partitioner.by_key(Some(key.as_bytes()), u32::MAX);
    for (key, crc, murmur, fnv) in [
        ("123456789", 0xcbf4_3926, None, None),
        ("foobar", 0x9ef6_1f95, Some(-790_332_482_i32), Some(0x4063_0698)),
        ("21", 0xfd77_46b4_u32, Some(-973_932_308), None),
        ("a-little-bit-long-string", 0, Some(-985_981_536), None),
        ("abc", 0x3524_41c2, Some(479_470_107), Some(0x1a47_e90b)),
        ("", 0, Some(275_646_681), Some(0x7ee3_623b)),
    ] {
        if crc != 0 {
            expect("a key's CRC-32", &hash(Partitioner::Consistent, key), &Some(crc))?;
        }
        if let Some(murmur) = murmur {
            let positive = murmur.cast_unsigned() & 0x7fff_ffff;
            expect("a key's murmur2", &hash(Partitioner::Murmur2, key), &Some(positive))?;
        }
        if let Some(fnv) = fnv {
            // Of the hash as a signed number, the absolute value.
            expect("a key's FNV-1a", &hash(Partitioner::Fnv1a, key), &Some(fnv))?;
        }
    }
    Ok(())
}

fn varints() -> Outcome {
    for (value, bytes) in [
        (0, &[0][..]),
        (-1, &[1]),
        (64, &[0x80, 0x01]),
        (i64::MIN, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
    ] {
        let mut out = Vec::new();
        varint::put_signed(&mut out, value);
        expect("an encoding", &out.as_slice(), &bytes)?;
        expect("its value", &varint::get_signed_64(bytes), &Some((value, bytes.len())))?;
    }
    Ok(())
}

/// Bytes that do not compress.
fn noise(len: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(17);
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

fn codecs() -> Outcome {
    let repetitive: Vec<u8> = b"the same again and ".iter().copied().cycle().take(200_000).collect();
    for (name, codec) in CODECS {
        for input in [&[][..], b"x", &repetitive, &noise(70_000)] {
            let packed = compress(*codec, None, input).map_err(|e| e.to_string())?;
            let unpacked = decompress(*codec, &packed, input.len()).map_err(|e| e.to_string())?;
            if unpacked != input {
                return Err(format!("{name} changed {} bytes", input.len()));
            }
            if *codec != Codec::None && input.len() > 1 && decompress(*codec, &packed, input.len() - 1).is_ok() {
                return Err(format!("{name} gave more than its limit"));
            }
        }
    }
    Ok(())
}

fn client(kind: ClientKind, settings: &[(&str, &str)]) -> Result<Client, Error> {
    let mut conf = Conf::new();
    for (name, value) in settings {
        // The names are properties, which a test of this file shows.
        let _ = conf.set(name, *value);
    }
    let (client, topic) = conf.finalize(kind)?;
    Client::new(kind, client, topic, ClientHooks::default())
}

fn value_of(i: usize) -> String {
    format!("record {i}")
}

fn produce(producer: &Client, topic: &str) -> Result<(), Error> {
    let topic = producer.topic(topic, None, TopicHooks::default())?;
    for i in 0..RECORDS {
        let value = value_of(i);
        let record = Record {
            value: Payload::Copy(value.as_bytes()),
            ..Record::default()
        };
        producer.produce(&topic, 0, record, true)?;
    }
    Ok(())
}

/// Reads all topics; returns the number of correct records.
fn consume(servers: &str, end: Instant) -> Result<usize, Error> {
    let settings = [
        ("bootstrap.servers", servers),
        ("group.id", "self-check"),
        ("enable.auto.commit", "false"),
        ("log_level", "0"),
    ];
    let consumer = client(ClientKind::Consumer, &settings)?;
    let row = |(name, _): &(&str, Codec)| PartitionOffset::new(TopicPartition::new(*name, 0), 0);
    consumer.assign(Some(CODECS.iter().map(row).collect()))?;
    let (mut right, mut seen) = (0, 0);
    while seen < CODECS.len() * RECORDS && Instant::now() < end {
        let taken = consumer
            .consumer_queue()
            .pop_one(Some(Duration::from_millis(100)), |chunk| {
                let record = chunk.next()?;
                let i = usize::try_from(record.offset).unwrap_or(usize::MAX);
                Some(record.value == Some(value_of(i).as_bytes()))
            });
        match taken {
            Some(Ok(is_right)) => {
                seen += 1;
                right += usize::from(is_right);
            }
            Some(Err(Event::Partition(notice))) => return Err(notice.error),
            Some(Err(_)) | None => {}
        }
    }
    Ok(right)
}

/// Records of every codec are written to a cluster and read back.
fn embedded_cluster() -> Outcome {
    let end = Instant::now() + PATIENCE;
    let mut servers: Option<String> = None;
    let mut first: Option<Client> = None;
    for (name, _) in CODECS {
        let mut settings = vec![("compression.codec", *name), ("linger.ms", "0"), ("log_level", "0")];
        match &servers {
            Some(servers) => settings.push(("bootstrap.servers", servers)),
            None => settings.push(("test.mock.num.brokers", "1")),
        }
        let producer = client(ClientKind::Producer, &settings).map_err(|e| e.to_string())?;
        produce(&producer, name).map_err(|e| e.to_string())?;
        while producer.outq_len() > 0 && Instant::now() < end {
            producer
                .flush_wait(Duration::from_millis(100))
                .map_err(|e| e.to_string())?;
        }
        expect("the number of records not delivered", &producer.outq_len(), &0)?;
        if servers.is_none() {
            servers = producer.with_embedded(|e| e.bootstrap_servers());
            // The cluster lives as long as its client.
            first = Some(producer);
        }
    }
    let right = consume(&servers.unwrap_or_default(), end).map_err(|e| e.to_string())?;
    drop(first);
    expect("the number of records read back", &right, &(CODECS.len() * RECORDS))
}

exports! {
    /// Checks this build on this machine; returns the number of failures, which are printed on stderr.
    fn rd_kafka_unittest() -> i32, or 1; {
        let mut failures = 0;
        for (name, check) in CHECKS {
            if let Err(why) = check() {
                failures += 1;
                eprintln!("rd_kafka_unittest: {name}: {why}");
            }
        }
        failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_holds_here() {
        for (name, check) in CHECKS {
            assert_eq!(check(), Ok(()), "{name}");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        assert_eq!(expect("one", &1, &1), Ok(()));
        assert_eq!(expect("one", &2, &1), Err("one is 2, not 1".into()));
    }
}
