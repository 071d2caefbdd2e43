//! Share consumers (KIP-932): `rd_kafka_share_t`.
//!
//! - `gate`: one thread at a time;
//! - `handle`: the type of `rd_kafka_share_t`;
//! - `callback`: the acknowledgement commit callback and its lists of offsets;
//! - `messages`: the batches that polls return;
//! - `consumer`: creation, subscription, polling, the end;
//! - `acknowledge`, `commit`: acknowledgements and their commits;
//! - `services`: log, authentication, and functions that librdkafka does not have (`ottla_share.h`).

pub mod acknowledge;
pub mod callback;
pub mod commit;
pub mod consumer;
pub mod gate;
pub mod handle;
pub mod messages;
pub mod services;
