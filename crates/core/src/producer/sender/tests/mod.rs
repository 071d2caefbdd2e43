//! The producer on the brokers of the test kit. Produce requests are held, so that each test decides when a broker reads one.

mod failures;
mod idempotent;
mod jobs;
mod limits;
mod random_faults;
mod retries;
mod sending;

use ottla_mock::{ApiKey, BrokerId, ErrorCode as BrokerError, FaultAction};
use ottla_protocol::api::produce::{LeaderIdAndEpoch, NodeEndpoint, ProduceResponse};
use ottla_protocol::record::BatchIter;

use crate::error::ErrorCode;
use crate::producer::Command;
use crate::reply::Reply;
use crate::sys::Instant;
use crate::test_kit::{EPOCH_MS, Sent, World, report, strings};
use crate::types::PersistStatus::{NotPersisted, Persisted, PossiblyPersisted};
use crate::types::{PARTITION_UA, PersistStatus, offset};

/// The offset of a record that is not in a log.
const INVALID: i64 = offset::INVALID;
