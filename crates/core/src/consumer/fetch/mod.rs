//! Fetching: from consumed partitions to records in their queues.
//!
//! Record data stays in the buffer of its response ([`Buffer`](ottla_protocol::Buffer), reused if large) or is decompressed
//! into a bounded one, is checked (CRC with `check.crcs`), and becomes one [`Chunk`](crate::event::Chunk) in the partition's
//! queue, which forwards to the consumer's. A consumed chunk returns its bytes to the budget, which wakes the fetcher if it
//! waits for space.
//!
//! - `fetcher`: one Fetch request in flight per broker;
//! - `partitions`: decisions about each consumed partition;
//! - `positions`: positions, fetch states, and the indexes over them;
//! - `leaders`: ready partitions and waits of each broker;
//! - `budget`: the byte budget, `queued.max.messages.kbytes`;
//! - `request`, `response`: the parts of the messages;
//! - `session`: fetch sessions (KIP-227);
//! - `opening`: batches that jobs decompress before their turn;
//! - `growth`: estimates of their sizes;
//! - `pending_data`: record data to chunks: checks, decompression, aborted transactions;
//! - `validation`: detection of truncated logs with older brokers (KIP-320);
//! - `metadata_changes`: new leaders and topics;
//! - `missing`: partitions that metadata lacks;
//! - `coalescing`: synchronised fetches of an idle client;
//! - `counts`, `settings`: counters for statistics, and the settings.

mod budget;
mod coalescing;
mod counts;
mod fetcher;
mod growth;
mod leaders;
mod metadata_changes;
mod missing;
mod opening;
mod partitions;
mod pending_data;
mod positions;
mod request;
mod response;
mod session;
mod settings;
#[cfg(test)]
mod tests;
mod validation;

pub use counts::Received;
pub(super) use fetcher::Fetcher;
pub(super) use positions::{FetchState, Next, Origin, Position};
