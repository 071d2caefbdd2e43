//! The reader that cuts a byte stream into frames. An input is how the stream is split, and the stream.

use bytes::Bytes;
use ottla_core::connection::{CloseReason, FrameReader};

use crate::input::Input;
use crate::memory::within;
use crate::{Seen, Verdict};

/// `receive.message.max.bytes`, larger than what a length prefix alone may make the reader reserve.
const MAX_BODY: usize = 3 << 20;
/// Bytes that a reader may hold besides those received: one read, or the reservation for the rest of a frame.
const AHEAD_BYTES: usize = 1 << 20;

/// The frames, and how the stream ends: with an error, or so.
type Cut = (Vec<Bytes>, Result<CloseReason, String>);

pub(super) fn run(data: &[u8]) -> Verdict {
    let mut input = Input::new(data);
    let splits = input.chunk();
    let stream = input.rest();
    // A buffer grows to twice its size, and while it does there is the old one, too.
    let memory = 4 * stream.len() + 4 * AHEAD_BYTES;
    let whole = within(memory, || cut(stream, &[]))?;
    let (expected, ends_badly) = model(stream);
    ensure!(
        whole.0 == expected,
        "{} frames, {} are there",
        whole.0.len(),
        expected.len()
    );
    ensure!(whole.1.is_err() == ends_badly, "the stream ends in {:?}", whole.1);
    for splits in [splits, &[1], &[4, 1], &[3, 2]] {
        let split = within(memory, || cut(stream, splits))?;
        ensure!(split.0 == whole.0, "split by {splits:?}: other frames");
        match (&split.1, &whole.1) {
            (Ok(a), Ok(b)) => ensure!(a == b, "split by {splits:?}: {a:?}, else {b:?}"),
            // Both report the bytes received so far.
            (Err(_), Err(_)) => {}
            (a, b) => return Err(format!("split by {splits:?}: {a:?}, else {b:?}")),
        }
    }
    match whole.0.is_empty() {
        true => Ok(Seen::Refused),
        false => Ok(Seen::Accepted),
    }
}

/// Feeds a stream in pieces of these sizes, in turn; zero and none is as much as fits.
fn cut(stream: &[u8], splits: &[u8]) -> Cut {
    let mut reader = FrameReader::new(MAX_BODY);
    let (mut frames, mut rest) = (Vec::new(), stream);
    let mut sizes = splits.iter().cycle();
    while !rest.is_empty() {
        let size = sizes
            .next()
            .filter(|size| **size > 0)
            .map_or(usize::MAX, |size| usize::from(*size));
        let spare = reader.spare();
        if spare.is_empty() {
            return (frames, Err("no room for the next bytes".into()));
        }
        let n = size.min(rest.len()).min(spare.len());
        spare[..n].copy_from_slice(&rest[..n]);
        reader.filled(n);
        rest = &rest[n..];
        loop {
            match reader.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(what) => return (frames, Err(what)),
            }
        }
    }
    (frames, Ok(reader.at_end()))
}

/// Returns the frames of a stream, and whether it has a length that is not allowed.
fn model(mut stream: &[u8]) -> (Vec<Bytes>, bool) {
    let mut frames = Vec::new();
    while let Some((prefix, rest)) = stream.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*prefix) as usize;
        if length > MAX_BODY {
            return (frames, true);
        }
        let Some((body, rest)) = rest.split_at_checked(length) else {
            break;
        };
        frames.push(Bytes::copy_from_slice(body));
        stream = rest;
    }
    (frames, false)
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let frames: [&[u8]; 3] = [b"", b"x", b"a longer frame that takes some pieces"];
    let mut stream = Vec::new();
    for frame in frames {
        stream.extend_from_slice(&(frame.len() as u32).to_be_bytes());
        stream.extend_from_slice(frame);
    }
    let mut seeds = Vec::new();
    for splits in [&[][..], &[1], &[7, 0], &[2, 3, 5]] {
        let head = [splits.len() as u8];
        seeds.push([&head, splits, &stream].concat());
        seeds.push([&head, splits, &stream, b"\0\0\x01\0rest"].concat());
        seeds.push([&head, splits, &stream, b"HTTP/1.1 400 Bad Request\r\n"].concat());
    }
    seeds
}
