//! The form of test vectors: one message a line, tab separated: API key, API name, `request` or `response`, version,
//! the body in hexadecimal without header, and the message in JSON, for people to read.

use bytes::Bytes;
use ottla_protocol::ApiKey;
use ottla_protocol::api::Direction;

/// One message as Kafka's own serializer wrote it.
#[derive(Debug, Clone)]
pub(crate) struct Vector {
    pub(crate) key: ApiKey,
    pub(crate) name: String,
    pub(crate) direction: Direction,
    pub(crate) version: i16,
    pub(crate) body: Bytes,
}

impl Vector {
    /// Parses a line; the error says what is wrong with it.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        let mut fields = line.split('\t');
        let mut field = |name: &str| fields.next().ok_or(format!("no {name}"));
        let key = field("key")?.parse().map_err(|_| "key is not a number")?;
        let name = field("name")?.to_owned();
        let direction = match field("direction")? {
            "request" => Direction::Request,
            "response" => Direction::Response,
            other => return Err(format!("{other:?} is neither request nor response")),
        };
        let version = field("version")?.parse().map_err(|_| "version is not a number")?;
        let body = parse_hex(field("body")?).ok_or("body is not hexadecimal")?;
        Ok(Self {
            key: ApiKey(key),
            name,
            direction,
            version,
            body,
        })
    }
}

impl std::fmt::Display for Vector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let direction = match self.direction {
            Direction::Request => "request",
            Direction::Response => "response",
        };
        write!(f, "{} {direction} v{}", self.name, self.version)
    }
}

fn parse_hex(text: &str) -> Option<Bytes> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty()
        .then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}
