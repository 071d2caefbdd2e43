//! Messages as the application makes them.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use ottla::error::ErrorCode;
use ottla::producer::Record;
use ottla::records::{HeadersIn, Payload};
use ottla::sys::Clock;
use ottla::types::PARTITION_UA;

use super::{Loan, ProducerWorkload};
use crate::canary::Canary;
use crate::check::{Accepted, Place};
use crate::message::{self, Carrier, Fingerprint, MessageId};
use crate::trace::trace;
use crate::world::World;

/// How a message's value is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueOwnership {
    Copied,
    /// Given: the client refers to it, or copies it.
    Shared,
    /// Lent: the application wants its address back.
    Lent,
}

/// A value with a token by which it shows whether somebody has a hold on it.
struct TrackedValue {
    value: Vec<u8>,
    _token: Option<Arc<()>>,
}

impl AsRef<[u8]> for TrackedValue {
    fn as_ref(&self) -> &[u8] {
        &self.value
    }
}

/// The bytes of a message's key.
#[derive(Debug)]
enum Key {
    None,
    Id([u8; MessageId::LEN]),
    Text(Vec<u8>),
}

impl Key {
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Key::None => None,
            Key::Id(id) => Some(id),
            Key::Text(text) => Some(text),
        }
    }
}

/// A header's name and value.
type Pair<'a> = (&'a [u8], Option<&'a [u8]>);

/// Headers that messages may have besides: names repeat, and any part may be empty.
const MORE_HEADERS: &[Pair<'static>] = &[
    (b"other", None),
    (b"other", Some(b"")),
    (b"", Some(b"no name")),
    (b"trace", Some(b"0123456789abcdef0123456789abcdef")),
    (b"other", Some(b"last")),
];
/// How far off times are that messages name: within what brokers take, and beyond.
const TIME_OFF_MS: u64 = 1_800_000;
const TIME_OFF_TOO_FAR_MS: i64 = 3 * 86_400_000;

impl ProducerWorkload {
    /// Makes a message and hands it to the client.
    pub(super) fn produce(
        &mut self,
        world: &mut World,
        client: usize,
        topic: usize,
        partition: i32,
        size: usize,
    ) -> Result<MessageId, ErrorCode> {
        let id = world.check.produced.next_id(self.client);
        let carrier = match () {
            () if world.app_rng.hit(self.plan.null_value) => Carrier::Key,
            () if world.app_rng.hit(self.plan.header) => Carrier::Header,
            () => Carrier::Value,
        };
        let value = message::make_value(id, carrier, size);
        let id_bytes = id.to_bytes();
        let key = self.make_key(world, id, carrier);
        let headers = self.make_headers(world, carrier, &id_bytes);
        let (timestamp_ms, may_bear) = self.make_time(world, client);
        let handing = match () {
            () if value.is_none() => ValueOwnership::Copied,
            () if world.app_rng.hit(self.plan.shared) => ValueOwnership::Shared,
            () if world.app_rng.hit(self.plan.lent) => ValueOwnership::Lent,
            () => ValueOwnership::Copied,
        };
        let promise = self.plan.promise(topic);
        // Refused messages leave their number to the next.
        self.tries += 1;
        let opaque = (self.tries << 32) | id.number as usize;
        let mut token = (handing == ValueOwnership::Shared).then(|| Arc::new(()));
        let held = token.as_ref().map_or_else(Weak::new, Arc::downgrade);
        let address = value.as_ref().map(|v| v.as_ptr().addr());
        let place = match partition {
            PARTITION_UA => promise.partitioner.place(key.bytes(), opaque),
            pending => Place::At(pending),
        };
        let partition = match place {
            Place::Rest(number) if world.is_canary(Canary::Misplaced) => (number % 2) as i32,
            _ => partition,
        };
        let headers_lost = usize::from(!headers.is_empty() && world.is_canary(Canary::LostHeader));
        let record = Record {
            key: key.bytes(),
            value: match (&value, handing) {
                (None, _) => Payload::Null,
                (Some(v), ValueOwnership::Copied) => Payload::Copy(v),
                (Some(v), ValueOwnership::Lent) => Payload::Lent(v),
                (Some(v), ValueOwnership::Shared) => Payload::Shared(Bytes::from_owner(TrackedValue {
                    value: v.clone(),
                    _token: token.take(),
                })),
            },
            headers: HeadersIn::List(&headers[..headers.len() - headers_lost]),
            timestamp_ms: match timestamp_ms {
                named @ 1.. if world.is_canary(Canary::WrongTime) => named + 1,
                given => given,
            },
            opaque,
        };
        let value_len = value.as_ref().map_or(0, Vec::len);
        let target = world.clients[client].topics[topic].clone();
        let shared = world.shared(client);
        let accumulator = shared.producer.as_ref().ok_or(ErrorCode::L_FAIL)?;
        if let Err(error) = accumulator.produce(&target, partition, record) {
            trace!(
                world.trace,
                "c{client} app is refused {} to {} [{partition}]: {error}",
                id.number,
                target.name()
            );
            if held.strong_count() > 0 {
                world.check.violate(format!("{id:?} is refused, and its value kept"));
            }
            return Err(error.code);
        }
        trace!(
            world.trace,
            "c{client} app produces {} to {} [{partition}], {value_len} bytes {handing:?}",
            id.number,
            target.name()
        );
        let accepted = Accepted {
            promise,
            place,
            at_us: world.now_us,
            value_len,
            key: Fingerprint::of(key.bytes()),
            headers: Fingerprint::of_headers(headers.iter().copied()),
            timestamp_ms: may_bear,
        };
        let address = address.filter(|_| handing == ValueOwnership::Lent);
        self.loans.insert(id.number, Loan { held, address });
        let referred = handing == ValueOwnership::Shared && value_len > shared.conf.message_copy_max_bytes as usize;
        world.coverage.count("messages referred to", u64::from(referred));
        world.counters(client).accepted += 1;
        count_message(world, handing, &accepted, timestamp_ms);
        world.check.produced.on_accepted(self.client, target.name(), accepted);
        Ok(id)
    }

    fn make_key(&self, world: &mut World, id: MessageId, carrier: Carrier) -> Key {
        let number = world.app_rng.below(20);
        let c = &mut world.app_rng;
        match carrier {
            Carrier::Key => Key::Id(id.to_bytes()),
            _ if !c.hit(self.plan.keyed) => Key::None,
            _ if c.hit(self.plan.odd_key) => {
                let len = c.pick(&[0, 0, 1, 2, 3, 4, 7, 40, 300]);
                Key::Text((0..len).map(|at: u64| (at * 37 + c.between(0, 3) * 85) as u8).collect())
            }
            _ => Key::Text(format!("key-{number}").into_bytes()),
        }
    }

    fn make_headers<'a>(&self, world: &mut World, carrier: Carrier, id: &'a [u8]) -> Vec<Pair<'a>> {
        let mut out: Vec<Pair<'a>> = Vec::new();
        if carrier == Carrier::Header {
            out.extend([(message::HEADER, Some(id)), (b"other".as_slice(), None)]);
        }
        if world.app_rng.hit(self.plan.more_headers) {
            let from = world.app_rng.below(MORE_HEADERS.len());
            out.extend_from_slice(&MORE_HEADERS[from..]);
        }
        out
    }

    /// The time to give with a message, 0 for none, and the times that it may then bear.
    fn make_time(&self, world: &mut World, client: usize) -> (i64, (i64, i64)) {
        let clock = &world.clients[client].clock;
        let (now_ms, settled) = (clock.wall_ms(), !clock.was_set_lately());
        let named = match () {
            () if world.app_rng.hit(self.plan.mistimed) => now_ms + TIME_OFF_TOO_FAR_MS,
            () if world.app_rng.hit(self.plan.timed) => {
                now_ms - world.app_rng.between(0, 2 * TIME_OFF_MS) as i64 + TIME_OFF_MS as i64
            }
            () if settled => return (0, (now_ms - 1, now_ms + 1)),
            () => return (0, (i64::MIN, i64::MAX)),
        };
        (named, (named, named))
    }
}

fn count_message(world: &mut World, handing: ValueOwnership, accepted: &Accepted, timestamp_ms: i64) {
    let keyed = matches!(accepted.place, Place::Rest(_));
    let count = &mut world.coverage;
    count.count("messages", 1);
    count.count("messages shared", u64::from(handing == ValueOwnership::Shared));
    count.count("messages lent", u64::from(handing == ValueOwnership::Lent));
    count.count(
        "messages with headers",
        u64::from(accepted.headers != Fingerprint::default()),
    );
    count.count("messages that name their time", u64::from(timestamp_ms != 0));
    count.count("messages with a place by their key", u64::from(keyed));
}
