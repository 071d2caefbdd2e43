//! Ottla: an Apache Kafka client.
//!
//! This crate is the client for applications in Rust. It re-exports a selection of [`ottla_core`], whose other items
//! (managers, connections, event loop) are internal: they change without notice.
//!
//! A [`Client`](client::Client) is a producer or a consumer with one I/O thread. Its configuration is a
//! [`Conf`](config::Conf), which sets properties by name; `docs/CONFIGURATION.md` lists them. The client reports deliveries,
//! records and errors as [`Event`](event::Event)s in [`Queue`](event::Queue)s. [`Admin`](admin::Admin) administers a cluster,
//! [`ShareConsumer`](share::ShareConsumer) is a member of a share group.
//!
//! ```
//! use std::time::Duration;
//!
//! use ottla::client::{Client, ClientHooks, DeliveryMode};
//! use ottla::config::Conf;
//! use ottla::event::Event;
//! use ottla::producer::{Payload, Record};
//! use ottla::types::{ClientKind, PARTITION_UA, TopicHooks};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut conf = Conf::new();
//!     // Runs an embedded cluster in this process, instead of `bootstrap.servers`.
//!     conf.set("test.mock.num.brokers", "1")?;
//!     let (settings, topic_settings) = conf.finalize(ClientKind::Producer)?;
//!     let hooks = ClientHooks { delivery: DeliveryMode::All, ..ClientHooks::default() };
//!     let client = Client::new(ClientKind::Producer, settings, topic_settings, hooks)?;
//!     let topic = client.topic("greetings", None, TopicHooks::default())?;
//!     let record = Record { value: Payload::Copy(b"hello"), ..Record::default() };
//!     client.produce(&topic, PARTITION_UA, record, false)?;
//!     let report = client.main_queue().pop(Some(Duration::from_secs(10)));
//!     let Some(Event::Delivery(delivery)) = report else {
//!         return Err("no delivery report in ten seconds".into());
//!     };
//!     match &delivery.error {
//!         None => println!("delivered to partition {}", delivery.partition),
//!         Some(error) => return Err(error.to_string().into()),
//!     }
//!     client.destroy();
//!     Ok(())
//! }
//! ```

pub mod admin;

/// The client and its hooks.
pub mod client {
    pub use ottla_core::client::{
        CallerPolling, Client, ClientHooks, CommitMode, DeliveryMode, NameHook, SaslHooks, TlsHooks, TokenSource,
    };
    pub use ottla_core::cluster::{MetadataReply, MetadataScope};
}

/// Configuration properties, set by name.
pub mod config {
    pub use ottla_core::config::{
        ClientConfig, Conf, ConfError, ConfErrorKind, IntoText, Secret, TopicConf, TopicConfig,
    };
}

/// Consumer: groups and rebalances.
pub mod consumer {
    pub use ottla_core::consumer::{GroupInfo, OffsetsResult, RebalanceProtocol};
}

/// Errors.
pub mod error {
    pub use ottla_core::error::{Action, Error, ErrorCode, Fault};
}

/// Events and the queues that hold them.
pub mod event {
    pub use ottla_core::event::{
        Chunk, CommitResult, DeliveredRecord, Delivery, Event, PartitionNotice, PartitionState, Queue, Rebalance,
        RecordRef, Throttle, TokenRequest,
    };
}

/// Hooks of the application that the client calls for requests, records and connection states.
pub mod interceptor {
    pub use ottla_core::interceptor::{BrokerState, Interceptor, RequestInfo};
}

/// Log lines and their contexts.
pub mod log {
    pub use ottla_core::log::{DebugContexts, LogLine, LogSink, level};
}

/// Producer: records and partitioners.
pub mod producer {
    pub use ottla_core::producer::{Partitioner, Payload, Record};
    pub use ottla_core::records::HeadersIn;
}

/// Replies to calls that return before their result is known.
pub mod reply {
    pub use ottla_core::reply::Reply;
}

/// Tokens of SASL/OAUTHBEARER from the application (KIP-255).
///
/// A client with `sasl.mechanisms=OAUTHBEARER` gets its tokens from the identity provider that its settings name
/// (`sasl.oauthbearer.method=oidc`), from a provider of the application, or as answers to events; see
/// [`TokenSource`](client::TokenSource). User names and passwords are properties, which
/// [`Client::set_sasl_credentials`](client::Client::set_sasl_credentials) replaces.
///
/// # A provider
///
/// A thread of the client calls the provider at the start and when 80 % of a token's life have passed. After a failure it
/// calls again, after 1 s at first and at most 12 s later.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use ottla::client::{Client, ClientHooks, MetadataScope, SaslHooks, TokenSource};
/// use ottla::config::Conf;
/// use ottla::sasl::{Token, TokenError, TokenProvider};
/// use ottla::types::ClientKind;
///
/// /// A real provider asks an identity service.
/// #[derive(Debug)]
/// struct Constant;
///
/// impl TokenProvider for Constant {
///     fn fetch(&self) -> Result<Token, TokenError> {
///         // {"alg":"none"} and {"sub":"alice","exp":4102444800}: brokers in production do not accept it.
///         let text = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6NDEwMjQ0NDgwMH0.".to_owned();
///         Ok(Token {
///             value: text.into(),
///             expires_ms: 4_102_444_800_000,
///             principal: "alice".to_owned(),
///             extensions: Vec::new(),
///         })
///     }
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let mut conf = Conf::new();
///     conf.set("test.mock.num.brokers", "1")?;
///     conf.set("test.mock.sasl.mechanisms", "OAUTHBEARER")?;
///     conf.set("sasl.mechanisms", "OAUTHBEARER")?;
///     let (settings, topic_settings) = conf.finalize(ClientKind::Producer)?;
///     let hooks = ClientHooks {
///         sasl: SaslHooks { token: TokenSource::Provider(Arc::new(Constant)) },
///         ..ClientHooks::default()
///     };
///     let client = Client::new(ClientKind::Producer, settings, topic_settings, hooks)?;
///     client.metadata(MetadataScope::AllTopics, Some(Duration::from_secs(20)))?;
///     client.destroy();
///     Ok(())
/// }
/// ```
///
/// # Events
///
/// With [`TokenSource::Application`](client::TokenSource::Application) the client requests tokens with
/// [`Event::TokenRefresh`](event::Event::TokenRefresh) in its main queue, or with `enable_sasl_queue` in
/// [`Client::sasl_queue`](client::Client::sasl_queue). The answer may come from any thread. Calls that wait do not serve
/// queues: another thread does, or the answer precedes the call.
///
/// ```
/// use std::time::Duration;
///
/// use ottla::client::{Client, ClientHooks, MetadataScope, SaslHooks, TokenSource};
/// use ottla::config::Conf;
/// use ottla::event::Event;
/// use ottla::types::ClientKind;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let mut conf = Conf::new();
///     conf.set("test.mock.num.brokers", "1")?;
///     conf.set("test.mock.sasl.mechanisms", "OAUTHBEARER")?;
///     conf.set("sasl.mechanisms", "OAUTHBEARER")?;
///     conf.set("sasl.oauthbearer.config", "tenant=7")?;
///     let (settings, topic_settings) = conf.finalize(ClientKind::Producer)?;
///     let hooks = ClientHooks {
///         sasl: SaslHooks { token: TokenSource::Application },
///         ..ClientHooks::default()
///     };
///     let client = Client::new(ClientKind::Producer, settings, topic_settings, hooks)?;
///     let Some(Event::TokenRefresh(request)) = client.main_queue().pop(Some(Duration::from_secs(20))) else {
///         return Err("the client requests no token".into());
///     };
///     assert_eq!(&*request.config, "tenant=7");
///     let token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6NDEwMjQ0NDgwMH0.";
///     match client.set_token(token, 4_102_444_800_000, "alice", &[]) {
///         Ok(()) => {}
///         Err(error) => client.set_token_failure(&error.message)?,
///     }
///     client.metadata(MetadataScope::AllTopics, Some(Duration::from_secs(20)))?;
///     client.destroy();
///     Ok(())
/// }
/// ```
pub mod sasl {
    pub use ottla_core::sasl::{Token, TokenError, TokenProvider};
}

pub mod share;

/// Statistics, which the client emits with `statistics.interval.ms`.
pub mod stats {
    pub use ottla_core::stats::{Broker, Eos, Fatal, Group, Partition, Statistics, Summary, Topic, Toppar};
}

/// Certificates and keys from memory, for [`TlsHooks`](client::TlsHooks) and
/// [`Client::replace_certificates`](client::Client::replace_certificates).
pub mod tls {
    pub use ottla_core::client::{Certificates, PrivateKey, Replacement, VerifyCallback};
    pub use ottla_core::client::{Encoding, MaterialError, ca_certificates, client_certificate, private_key};
}

/// Topics, partitions, offsets and other types that several modules use.
pub mod types {
    pub use ottla_core::types::{
        ClientKind, GroupMetadata, NodeId, PARTITION_UA, PartitionOffset, PersistStatus, TimestampType, Topic,
        TopicHooks, TopicPartition, Uuid, offset,
    };
}

/// Runs the examples in Rust of `docs/ADMIN.md` as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/ADMIN.md")]
pub mod admin_guide {}

/// Runs the examples in Rust of `docs/SHARE.md` as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/SHARE.md")]
pub mod share_guide {}
