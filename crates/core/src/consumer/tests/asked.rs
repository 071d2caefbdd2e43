//! Requests at the brokers of the tests.

use ottla_protocol::{ApiKey, Reader, Request};

use crate::connection::ConnId;

/// A request that a broker has received and not answered.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) conn: ConnId,
    pub(super) node: i32,
    pub(super) key: ApiKey,
    pub(super) correlation: i32,
    pub(super) version: i16,
    pub(super) body: Reader,
}

impl Asked {
    /// Returns true if a broker answers this request before `other`.
    pub(super) fn is_before(&self, other: &Asked) -> bool {
        self.conn == other.conn && self.correlation < other.correlation
    }

    pub(super) fn decode<R: Request>(&self) -> R {
        R::decode(&mut self.body.clone(), self.version).unwrap()
    }
}
