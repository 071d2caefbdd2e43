//! The invariants of share groups (KIP-932): what leaders report about records, what applications see of them, and the
//! acknowledgements between both.
//!
//! - A record that was accepted or rejected is not delivered again, a record has one holder, and none is delivered more
//!   often than allowed (`record`).
//! - An application sees what its client has acquired, each acquisition at most once, with the leader's delivery count, and
//!   not after the client has lost the session.
//! - Leaders have the acknowledgements of applications, no others. A result is that of the leader (`results`).
//! - A client acknowledges what it holds, once (`wire`).

mod groups;
mod record;
mod results;
mod vocabulary;
mod wire;

pub(crate) use groups::ShareGroups;
pub(crate) use vocabulary::SeenRecord;
pub(crate) use wire::{WireAck, WireAcquired};
