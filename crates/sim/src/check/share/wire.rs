//! The requests and responses of share sessions: a client acknowledges what it holds, once.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::Uuid;

/// A range of offsets of a partition with the types of its acknowledgements: one for all, or one for each.
#[derive(Debug)]
pub(crate) struct WireAck {
    pub(crate) topic: Uuid,
    pub(crate) partition: i32,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) types: Vec<i8>,
}

/// A range of records that a client receives.
#[derive(Debug)]
pub(crate) struct WireAcquired {
    pub(crate) topic: Uuid,
    pub(crate) partition: i32,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) delivery_count: i32,
}

/// The numbers of types.
pub(super) const RELEASE: i8 = 2;
pub(super) const RENEW: i8 = 4;

/// The records that a client has received and not acknowledged, by broker.
#[derive(Debug, Default)]
pub(super) struct HeldRecords(pub(super) BTreeMap<i32, BTreeSet<(Uuid, i32, i64)>>);
