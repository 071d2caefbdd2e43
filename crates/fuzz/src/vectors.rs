//! Messages as Kafka's own serializer writes them: the seeds of the decoders.

use ottla_protocol::api::Direction;

/// Lines of API key, name, direction, version, body in hexadecimal, and JSON, separated by tabs.
const FILES: [&str; 2] = [
    include_str!("../../protocol/tests/vectors/kafka-4.3.tsv"),
    include_str!("../../protocol/tests/vectors/kafka-3.9-removed.tsv"),
];

/// One message, without its header.
pub(crate) struct Vector {
    pub(crate) key: i16,
    pub(crate) direction: Direction,
    pub(crate) version: i16,
    pub(crate) body: Vec<u8>,
}

/// Returns all of them.
pub(crate) fn all() -> impl Iterator<Item = Vector> {
    FILES.iter().flat_map(|file| file.lines()).filter_map(parse)
}

fn parse(line: &str) -> Option<Vector> {
    let mut fields = line.split('\t');
    let key = fields.next()?.parse().ok()?;
    let direction = match fields.nth(1)? {
        "request" => Direction::Request,
        _ => Direction::Response,
    };
    let version = fields.next()?.parse().ok()?;
    let hex = fields.next()?;
    let byte = |at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let body: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
    Some(Vector {
        key,
        direction,
        version,
        body: body?,
    })
}
