//! The kit of the managers' tests: a client's whole core against brokers of `ottla_mock`, on virtual time.
//!
//! - `world`: [`World`], a client with a clock and a network; time, faults and requests;
//! - `network`: the network, which connects the core to [`ottla_mock::Cluster`], records every request, and holds requests
//!   that a test wants to see before the cluster does;
//! - `peer`: requests of other clients, such as producers that fill a log and further members of a group;
//! - `records`: record data for scripted responses;
//! - `consumer`, `producer`: commands and events of one kind of client;
//! - `admin`: admin calls;
//! - `share`: commands and events of a share consumer, and its application;
//! - `metadata`: [`MetadataClient`], the metadata manager without a core, whose changes the test takes itself.
//!
//! The cluster answers as Kafka does. A test changes it as operators and failures do ([`World::brokers`]), and injects
//! errors and delays by the cluster's fault rules. Only a response that no cluster gives (malformed data, an error code of a
//! table) is scripted: [`World::hold`] keeps requests of an API from the cluster, [`World::next`] returns them, and
//! [`World::serve`] passes one on or [`World::answer`] responds in the cluster's place.

mod admin;
mod clock;
mod consumer;
pub(crate) mod metadata;
mod network;
mod peer;
mod producer;
pub(crate) mod records;
mod share;
mod world;

pub(crate) use admin::{with_operations, within_ms};
pub(crate) use clock::{EPOCH_MS, VirtualClock};
pub(crate) use consumer::{Fetch, Got, record, take_from, take_one_from};
pub(crate) use metadata::MetadataClient;
pub(crate) use network::Arrival;
pub(crate) use producer::{Report, Sent, broker_error, report, strings};
pub(crate) use share::{Acquired, ShareApplication};
pub(crate) use world::{Client, World, WorldBuilder};
