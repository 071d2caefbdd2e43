//! Share consumers (KIP-932): members of a share group, which read the same partitions together and acknowledge single
//! records.
//!
//! The members of a share group may outnumber the partitions of its topics. Each record is delivered to one member at a time
//! and is locked for it for a limited time; a record that its member does not acknowledge in that time, or releases, is
//! delivered again, up to a number of deliveries. Share groups require Kafka 4.1, where they are a preview, or 4.2.
//! `docs/SHARE.md` is the guide.
//!
//! ```
//! use std::time::Duration;
//!
//! use ottla::admin::{Admin, ConfigChange, ConfigChanges, NewTopic, Options, ResourceType};
//! use ottla::client::{Client, ClientHooks};
//! use ottla::config::Conf;
//! use ottla::producer::{Payload, Record};
//! use ottla::share::{Acknowledge, ShareConsumer};
//! use ottla::types::{ClientKind, TopicHooks};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // A producer with an embedded cluster in this process, instead of `bootstrap.servers`.
//!     let mut conf = Conf::new();
//!     conf.set("test.mock.num.brokers", "1")?;
//!     let (settings, topic_settings) = conf.finalize(ClientKind::Producer)?;
//!     let producer = Client::new(ClientKind::Producer, settings, topic_settings, ClientHooks::default())?;
//!     let servers = producer.with_embedded(|cluster| cluster.bootstrap_servers()).ok_or("no cluster")?;
//!
//!     let admin = Admin::from(&producer);
//!     admin.create_topics([NewTopic::new("jobs", 2, 1)], &Options::default()).wait()?.all()?;
//!     // A new share group begins at the end of its partitions. This setting is made before its first member joins.
//!     let settings = ConfigChanges {
//!         kind: ResourceType::GROUP,
//!         name: "workers".into(),
//!         changes: vec![ConfigChange::set("share.auto.offset.reset", "earliest")],
//!     };
//!     admin.incremental_alter_configs([settings], &Options::default()).wait()?.all()?;
//!     let jobs = producer.topic("jobs", None, TopicHooks::default())?;
//!     for value in ["resize", "broken", "upload"] {
//!         let record = Record { value: Payload::Copy(value.as_bytes()), ..Record::default() };
//!         producer.produce(&jobs, 0, record, true)?;
//!     }
//!
//!     let mut conf = Conf::new();
//!     conf.set("bootstrap.servers", &*servers)?;
//!     conf.set("group.id", "workers")?;
//!     conf.set("share.acknowledgement.mode", "explicit")?;
//!     let mut consumer = ShareConsumer::new(&conf)?;
//!     consumer.subscribe(["jobs"])?;
//!     let mut accepted = Vec::new();
//!     let mut rejected = 0;
//!     while accepted.len() + rejected < 3 {
//!         let records = consumer.poll(Duration::from_secs(10))?;
//!         for record in &records {
//!             match record.value() {
//!                 Some(b"broken") if record.delivery_count() < 2 => consumer.acknowledge(&record, Acknowledge::Release)?,
//!                 Some(b"broken") => {
//!                     consumer.acknowledge(&record, Acknowledge::Reject)?;
//!                     rejected += 1;
//!                 }
//!                 value => {
//!                     accepted.push(value.unwrap_or_default().to_vec());
//!                     consumer.acknowledge(&record, Acknowledge::Accept)?;
//!                 }
//!             }
//!         }
//!     }
//!     consumer.commit_sync(Duration::from_secs(10))?.all()?;
//!     consumer.close()?;
//!     assert_eq!(accepted, [b"resize", b"upload"]);
//!     producer.destroy();
//!     Ok(())
//! }
//! ```
//!
//! # Acknowledgement modes
//!
//! `share.acknowledgement.mode` is a property of the consumer:
//!
//! - `implicit`, the default: the next poll, or a commit, accepts the records of the last poll. Records that were polled before
//!   [`close`](ShareConsumer::close) and were not committed are delivered again.
//! - `explicit`: the application acknowledges each record of a poll before the next poll, which fails with
//!   [`L_STATE`](crate::error::ErrorCode::L_STATE) otherwise.
//!
//! # Threads
//!
//! One thread at a time uses a [`ShareConsumer`], which is `Send` and not `Sync`. [`ShareRecords`] can be processed by other
//! threads; the consumer's thread acknowledges their records with [`ShareConsumer::acknowledge_offset`]. A [`Wakeup`] ends a
//! waiting poll from any thread. Use one consumer for each thread where threads shall acknowledge by themselves.
//!
//! # Results of acknowledgements
//!
//! An acknowledgement takes effect when the broker has accepted it. It may fail: the lock ran out, the partition has another
//! leader, the connection was lost. The record is then delivered again, and its processing must bear that. The results are
//! those of [`ShareConsumer::commit_sync`], or are passed to the callback of [`ShareConsumer::on_acknowledged`], or are returned
//! by [`ShareConsumer::poll_results`].

mod consumer;
mod records;

pub use crate::admin::Results;
pub use consumer::ShareConsumer;
pub use ottla_core::client::ShareWakeup as Wakeup;
pub use ottla_core::event::{AcknowledgementResult, OffsetRange};
pub use ottla_core::share::AcknowledgeType as Acknowledge;
pub use records::{ShareRecord, ShareRecords, Unreadable};
