//! Record data of a partition: batches and message sets in any order, compressed or not.

use bytes::Bytes;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{
    Batch, BatchHeader, BatchIter, BatchParams, ControlRecord, Header, MessageSetRecord, Record, RecordEncoder,
    TimestampType, seal_batch, write_message_set,
};

use crate::input::Input;
use crate::memory::within;
use crate::{Seen, Verdict};

/// Maximum decompressed size of a batch.
const LIMIT_BYTES: usize = 64 * 1024;

/// Reads record data: all of it, twice over, and writes again what could be read.
pub(super) fn read(data: &[u8]) -> Verdict {
    let data = Bytes::copy_from_slice(data);
    let mut iter = BatchIter::new(data.clone());
    let (mut walked, mut seen) = (0, Seen::Refused);
    while let Some(batch) = iter.next() {
        let Ok(batch) = batch else {
            ensure!(iter.next().is_none(), "the walk goes on after an error");
            return Ok(seen);
        };
        ensure!(!batch.bytes().is_empty(), "an empty batch");
        walked += batch.bytes().len();
        if one_batch(&batch)? == Seen::Accepted {
            seen = Seen::Accepted;
        }
    }
    let left = iter.remaining();
    ensure!(
        walked + left == data.len(),
        "{walked} walked and {left} left of {} bytes",
        data.len()
    );
    if let Some(needed) = iter.needed_bytes() {
        ensure!(
            left == 0 || needed > left,
            "{needed} bytes are there: {left}, and no batch came"
        );
    }
    Ok(seen)
}

fn one_batch(batch: &Batch) -> Verdict {
    let intact = batch.verify_crc().is_ok();
    check_assign(batch, intact)?;
    // A decompressor may hold its output twice while it grows.
    let limit = 4 * LIMIT_BYTES + 4 * batch.bytes().len() + 256 * 1024;
    let records = within(limit, || batch.decompress(LIMIT_BYTES))?;
    let Ok(records) = records else {
        return Ok(Seen::Refused);
    };
    let compressed = batch.header().is_compressed();
    let bytes = records.bytes().len();
    ensure!(
        !compressed || bytes <= LIMIT_BYTES,
        "{bytes} bytes, more than {LIMIT_BYTES}"
    );
    let most = records.record_count().unwrap_or(bytes);
    let mut all = Vec::new();
    for record in records.clone().into_records() {
        ensure!(all.len() <= most, "more than {most} records");
        all.push(record);
    }
    for (owned, borrowed) in all.iter().zip(&records) {
        let same = match (owned, &borrowed) {
            (Ok(a), Ok(b)) => {
                let parts = a.key.as_deref() == b.key && a.value.as_deref() == b.value;
                parts && a.offset == b.offset && a.headers.iter().eq(b.headers.iter())
            }
            (Err(a), Err(b)) => a == b,
            _ => false,
        };
        ensure!(same, "the two ways to read differ: {owned:?}, {borrowed:?}");
        if let Ok(record) = borrowed {
            let _ = ControlRecord::parse(&record);
            let count = record.headers.iter().count();
            ensure!(
                count <= record.headers.len(),
                "{count} headers of {}",
                record.headers.len()
            );
        }
    }
    ensure!(all.iter().rev().skip(1).all(Result::is_ok), "an error is not the last");
    let whole: Result<Vec<Record>, _> = all.into_iter().collect();
    let Ok(whole) = whole else {
        return Ok(Seen::Refused);
    };
    if whole
        .iter()
        .any(|record| record.headers.iter().any(|header| header.is_err()))
    {
        return Ok(Seen::Refused);
    }
    written_again(batch.header(), &whole)?;
    Ok(Seen::Accepted)
}

/// Checks that a leader sets the offset of a batch without changing the records or repairing a wrong checksum.
fn check_assign(batch: &Batch, intact: bool) -> Result<(), String> {
    for time in [None, Some(1_000)] {
        let Some(assigned) = batch.assign(77, 5, time) else {
            ensure!(batch.header().magic != 2, "a batch of magic 2 cannot be assigned");
            return Ok(());
        };
        let again = BatchIter::new(assigned.into_bytes()).next();
        let Some(Ok(again)) = again else {
            return Err(format!("an assigned batch is no batch: {again:?}"));
        };
        ensure!(
            again.header().base_offset == 77,
            "offset {}",
            again.header().base_offset
        );
        ensure!(
            time.is_some() || again.verify_crc().is_ok() == intact,
            "the checksum was {intact} before"
        );
    }
    Ok(())
}

fn written_again(header: &BatchHeader, records: &[Record]) -> Result<(), String> {
    let codec = header.compression().unwrap_or_default();
    let written = match header.magic {
        2 => write_batch(header, records, codec)?,
        magic => {
            let set = records.iter().map(|record| MessageSetRecord {
                offset: record.offset,
                timestamp: record.timestamp,
                key: record.key.as_deref(),
                value: record.value.as_deref(),
            });
            write_message_set(magic, set, codec, None).map_err(|e| e.to_string())?
        }
    };
    let again = read_all(written)?;
    ensure!(
        again.len() == records.len(),
        "{} records became {}",
        records.len(),
        again.len()
    );
    for (before, after) in records.iter().zip(&again) {
        let same = before.key == after.key
            && before.value == after.value
            && before.offset == after.offset
            && before.timestamp == after.timestamp
            && before.headers.iter().eq(after.headers.iter());
        ensure!(same, "{before:?} became {after:?}");
    }
    Ok(())
}

fn write_batch(header: &BatchHeader, records: &[Record], codec: Codec) -> Result<Bytes, String> {
    let mut encoded = Vec::new();
    for record in records {
        let delta = record.offset.wrapping_sub(header.base_offset) as i32;
        let time = record.timestamp.wrapping_sub(header.base_timestamp);
        let (key, value) = (record.key.as_deref(), record.value.as_deref());
        let headers: Vec<Header> = record.headers.iter().flatten().collect();
        let before = encoded.len();
        RecordEncoder::append(&mut encoded, delta, time, key, value, headers.iter().copied());
        let expected = RecordEncoder::encoded_len(
            delta,
            time,
            key.map(<[u8]>::len),
            value.map(<[u8]>::len),
            headers.iter().copied(),
        );
        let took = encoded.len() - before;
        ensure!(took == expected, "a record takes {took} bytes instead of {expected}");
    }
    let params = BatchParams {
        base_offset: header.base_offset,
        partition_leader_epoch: header.partition_leader_epoch,
        timestamp_type: header.timestamp_type(),
        is_transactional: header.is_transactional(),
        is_control: header.is_control(),
        last_offset_delta: header.last_offset_delta,
        base_timestamp: header.base_timestamp,
        max_timestamp: header.max_timestamp,
        producer_id: header.producer_id,
        producer_epoch: header.producer_epoch,
        base_sequence: header.base_sequence,
        records_count: records.len() as i32,
    };
    let sealed = seal_batch(&params, &[encoded.into()], codec, None).map_err(|e| e.to_string())?;
    Ok(sealed.into_bytes())
}

/// Returns all records of data that was just written.
fn read_all(data: Bytes) -> Result<Vec<Record>, String> {
    let mut all = Vec::new();
    for batch in BatchIter::new(data) {
        let batch = batch.map_err(|e| format!("what was written is refused: {e}"))?;
        batch.verify_crc().map_err(|e| e.to_string())?;
        // Written from at most so much, with other lengths of varints.
        let records = batch.records(2 * LIMIT_BYTES + (1 << 20)).map_err(|e| e.to_string())?;
        for record in records {
            all.push(record.map_err(|e| format!("a record that was written is refused: {e}"))?);
        }
    }
    Ok(all)
}

/// Writes records made from the input, in one of the formats and codecs, and reads them back.
pub(super) fn write(data: &[u8]) -> Verdict {
    let mut input = Input::new(data);
    let magic = input.below(3) as i8;
    let codec = input.pick(&Codec::ALL);
    let header = BatchHeader {
        base_offset: input.number(),
        batch_length: 0,
        partition_leader_epoch: input.int(),
        magic,
        crc: 0,
        attributes: BatchHeader::attributes(codec, TimestampType::CreateTime, input.flag(), input.flag()),
        last_offset_delta: input.int(),
        base_timestamp: input.number(),
        max_timestamp: input.number(),
        producer_id: input.number(),
        producer_epoch: input.short().cast_signed(),
        base_sequence: input.int(),
        records_count: 0,
    };
    if magic < 2 && codec == Codec::Zstd {
        let refused = write_message_set(magic, [], codec, None);
        ensure!(refused.is_err(), "zstd in a message set");
        return Ok(Seen::Refused);
    }
    let mut records = Vec::new();
    while !input.is_empty() && records.len() < 100 {
        records.push(make_record(&mut input, magic, &header));
    }
    written_again(&header, &records)?;
    Ok(Seen::Accepted)
}

fn make_record(input: &mut Input, magic: i8, header: &BatchHeader) -> Record {
    let what = input.byte();
    let key = (what & 1 != 0).then(|| Bytes::copy_from_slice(input.chunk()));
    let value = (what & 2 != 0).then(|| Bytes::copy_from_slice(input.chunk()).repeat(input.byte().into()).into());
    let mut headers = Vec::new();
    let count = if magic == 2 { usize::from(what >> 5) } else { 0 };
    for _ in 0..count {
        let value = input.flag().then(|| input.chunk());
        let key = input.chunk();
        put_header(&mut headers, key, value);
    }
    // Magic 2 encodes a 32-bit distance from the batch's offset.
    let offset = header.base_offset.wrapping_add(input.number() as i32 as i64);
    Record {
        offset,
        timestamp: if magic == 0 { -1 } else { input.number() },
        timestamp_type: TimestampType::CreateTime,
        key,
        value,
        headers: ottla_protocol::record::Headers::from_encoded(headers.into(), count),
    }
}

fn put_header(out: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
    // As the encoder writes it behind the count.
    let mut one = Vec::new();
    RecordEncoder::append_after_value(&mut one, std::iter::once(Header { key, value }));
    out.extend_from_slice(one.get(1..).unwrap_or_default());
}

pub(super) fn read_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for magic in 0..3 {
        for codec in Codec::ALL {
            for count in [1, 5] {
                if magic == 2 || codec != Codec::Zstd {
                    seeds.extend(seed(magic, codec, count));
                }
            }
        }
    }
    // Formats in a row, and a batch that is cut off.
    let mut mixed: Vec<u8> = seeds.iter().step_by(3).flatten().copied().collect();
    mixed.truncate(mixed.len() - 10);
    seeds.push(mixed);
    seeds
}

fn seed(magic: i8, codec: Codec, count: i64) -> Option<Vec<u8>> {
    let value = Bytes::from(vec![b'v'; 40]);
    if magic < 2 {
        let set = (0..count).map(|offset| MessageSetRecord {
            offset,
            timestamp: 1,
            key: (offset % 2 == 0).then_some(b"key".as_slice()),
            value: Some(&value),
        });
        return write_message_set(magic, set, codec, None).ok().map(Into::into);
    }
    let mut records = Vec::new();
    for n in 0..count as i32 {
        let header = Header {
            key: b"header",
            value: (n % 2 == 0).then_some(b"value".as_slice()),
        };
        let headers = std::iter::repeat_n(header, n as usize);
        RecordEncoder::append(&mut records, n, 10, Some(b"key"), Some(&value), headers);
    }
    let params = BatchParams {
        last_offset_delta: count as i32 - 1,
        records_count: count as i32,
        producer_id: 5,
        producer_epoch: 1,
        base_sequence: 0,
        is_transactional: count == 1,
        ..BatchParams::default()
    };
    let sealed = seal_batch(&params, &[records.into()], codec, None).ok()?;
    Some(sealed.into_bytes().into())
}

pub(super) fn write_seeds() -> Vec<Vec<u8>> {
    let record: [u8; 20] = [0x43, 3, 1, 2, 3, 4, 9, 9, 9, 9, 2, 1, 2, b'h', b'v', 1, b'k', 0, 5, 5];
    let mut seeds = Vec::new();
    for magic in 0..3 {
        for codec in 0..if magic == 2 { 5 } else { 4 } {
            let mut seed = vec![magic, codec];
            seed.extend([0; 22]);
            seed.extend(record.repeat(3));
            seeds.push(seed);
        }
    }
    seeds
}
