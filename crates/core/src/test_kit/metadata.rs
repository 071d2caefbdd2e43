//! The metadata manager without a core: the test takes its changes, which a core passes on to the other managers.

use std::sync::{Arc, Mutex};

use ottla_mock::ClusterConfig;
use ottla_protocol::api::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::{ApiKey, Uuid};

use super::network::Arrival;
use super::world::{Client, World, WorldBuilder, sink, start_time};
use crate::cluster::{Change, Cluster, Command, MetadataReply, MetadataScope, Router};
use crate::config::ClientConfig;
use crate::connection::{ConnectionConfig, ConnectionEvent, ConnectionTable, NetAction, NetEvent, Owner};
use crate::context::Ctx;
use crate::error::Error;
use crate::log::{DebugContexts, Logger};
use crate::reply::Reply;
use crate::sys::{Instant, Rng, earliest};
use crate::types::ClientKind;

/// Connections, the metadata manager, and a router of another manager's requests.
pub(crate) struct MetadataClient {
    pub(crate) cluster: Cluster,
    pub(crate) router: Router,
    pub(crate) connections: ConnectionTable,
    rng: Rng,
    log: Logger,
    conf: ClientConfig,
}

impl MetadataClient {
    pub(crate) fn parts(&mut self, now: Instant) -> (&mut Cluster, &mut Router, Ctx<'_>) {
        let ctx = Ctx {
            now,
            wall_ms: 0,
            connections: &mut self.connections,
            rng: &mut self.rng,
            log: &self.log,
            conf: &self.conf,
        };
        (&mut self.cluster, &mut self.router, ctx)
    }
}

impl Client for MetadataClient {
    type Shared = ();

    fn on_net(&mut self, event: NetEvent, now: Instant) {
        self.connections.on_net(event, now);
    }

    fn drive(&mut self, now: Instant, _: i64) -> Option<Instant> {
        self.connections.poll(now);
        while let Some(event) = self.connections.next_event() {
            let (cluster, router, mut ctx) = self.parts(now);
            match event {
                ConnectionEvent::Up { key } => cluster.on_connection_up(&mut ctx, key),
                ConnectionEvent::Down { key, error, .. } => {
                    router.on_connection_down(&mut ctx, key, error.as_ref());
                    cluster.on_connection_down(&mut ctx, error.as_ref());
                }
                ConnectionEvent::Outcome { key, tag, outcome } if tag.owner == Owner::Admin => {
                    router.on_outcome(&mut ctx, key, tag.id, &outcome);
                }
                ConnectionEvent::Outcome { key, tag, outcome } => cluster.on_outcome(&mut ctx, key, tag.id, outcome),
                ConnectionEvent::Names { lookup, result } => cluster.on_names(&mut ctx, lookup, result),
                ConnectionEvent::Throttled { .. }
                | ConnectionEvent::SendReady { .. }
                | ConnectionEvent::SaslWorkDone { .. }
                | ConnectionEvent::Released => {}
            }
        }
        let (cluster, _, mut ctx) = self.parts(now);
        let wake = cluster.poll(&mut ctx);
        match self.connections.has_event() {
            true => Some(now),
            false => earliest(wake, self.connections.next_wake()),
        }
    }

    fn next_action(&mut self) -> Option<NetAction> {
        self.connections.next_action()
    }

    fn metadata(&mut self) -> &mut Cluster {
        &mut self.cluster
    }
}

impl World<MetadataClient> {
    /// Creates a producer's metadata manager with these bootstrap servers.
    pub(crate) fn new(bootstrap: &str, settings: &[(&str, &str)]) -> Self {
        World::of(ClientKind::Producer, bootstrap, settings, |_| {}, 4)
    }

    pub(crate) fn of(
        kind: ClientKind,
        bootstrap: &str,
        settings: &[(&str, &str)],
        change: impl FnOnce(&mut ClusterConfig),
        seed: u64,
    ) -> Self {
        let mut builder = WorldBuilder::new(kind);
        builder.bootstrap = bootstrap.into();
        change(&mut builder.cluster);
        let (conf, ..) = builder.settings(settings, &[]);
        let (clock, now) = start_time();
        let log = Arc::new(Mutex::new(Vec::new()));
        let mut core = MetadataClient {
            cluster: Cluster::default(),
            router: Router::new(Owner::Admin),
            connections: ConnectionTable::new(ConnectionConfig::new(&conf), Rng::from_seed(3)),
            rng: Rng::from_seed(seed),
            log: Logger::new(sink(&log), 7, DebugContexts::TOPIC),
            conf,
        };
        let (cluster, _, mut ctx) = core.parts(now);
        cluster.add_bootstrap_list(&mut ctx, bootstrap);
        World {
            core,
            shared: (),
            net: builder.network(),
            clock,
            now,
            log,
        }
    }

    /// Makes the manager keep a topic's metadata.
    pub(crate) fn watch(&mut self, topic: &str) {
        let now = self.now;
        self.core.cluster.watch(&topic.into(), now);
    }

    /// Returns the changes since the last call: names of topics, and errors of all brokers. Completes calls.
    pub(crate) fn changes(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.core.cluster.next_change())
            .filter_map(|c| match c {
                Change::Topic(name) => Some(name.to_string()),
                Change::AllBrokersDown(e) => Some(format!("down: {e}")),
                Change::Brokers => None,
                Change::Answer(answer) => {
                    answer.deliver();
                    None
                }
            })
            .collect()
    }

    /// Begins a metadata call of the application.
    pub(crate) fn call_metadata(
        &mut self,
        scope: MetadataScope,
        timeout_ms: u64,
    ) -> Arc<Reply<Result<MetadataReply, Error>>> {
        let reply = Reply::new();
        let command = Command::Metadata {
            scope,
            deadline: self.now.plus_ms(timeout_ms),
            reply: reply.clone(),
        };
        let (cluster, _, mut ctx) = self.core.parts(self.now);
        cluster.on_command(&mut ctx, command);
        reply
    }

    /// Returns the metadata requests that the test has not taken, oldest first.
    pub(crate) fn asked(&self) -> Vec<Arrival> {
        let unseen = self.net.unseen().iter();
        unseen.filter(|a| a.key == ApiKey::METADATA).cloned().collect()
    }

    /// Returns all metadata requests so far.
    pub(crate) fn asked_ever(&self) -> Vec<Arrival> {
        let all = self.net.all().iter();
        all.filter(|a| a.key == ApiKey::METADATA).cloned().collect()
    }

    /// Takes the metadata request at an index of [`asked`](Self::asked).
    pub(crate) fn take_asked(&mut self, index: usize) -> Arrival {
        self.net.take_unseen(ApiKey::METADATA, index)
    }

    /// Passes the latest held metadata request on.
    pub(crate) fn serve_last(&mut self) -> Option<Vec<String>> {
        let last = self.asked().len().checked_sub(1).expect("metadata was requested");
        let asked = self.take_asked(last);
        self.serve(&asked);
        topics_of(&asked)
    }

    /// Answers the latest held metadata request in place of its broker. Returns its topics.
    pub(crate) fn answer_last(&mut self, response: &MetadataResponse) -> Option<Vec<String>> {
        let last = self.asked().len().checked_sub(1).expect("metadata was requested");
        let asked = self.take_asked(last);
        self.answer(&asked, response);
        topics_of(&asked)
    }

    /// Breaks every connection.
    pub(crate) fn disconnect_all(&mut self) {
        for node in self.net.connected_nodes() {
            self.net.disconnect(node);
        }
    }
}

/// Returns the names of the topics in a metadata request, `None` for all.
pub(crate) fn topics_of(asked: &Arrival) -> Option<Vec<String>> {
    let request: MetadataRequest = asked.decode();
    let topics = request.topics?;
    Some(topics.into_iter().filter_map(|t| t.name).collect())
}

/// Returns a broker's row of a scripted response, with its address in the network.
fn broker(id: i32) -> MetadataResponseBroker {
    MetadataResponseBroker {
        node_id: id,
        host: format!("broker{id}"),
        port: 9000 + id,
        ..Default::default()
    }
}

/// Returns a topic's row of a scripted response: the leaders and leader epochs of its partitions.
pub(crate) fn topic(name: &str, id: u8, leaders: &[(i32, i32)]) -> MetadataResponseTopic {
    let partition = |(index, (leader, epoch)): (i32, &(i32, i32))| MetadataResponsePartition {
        partition_index: index,
        leader_id: *leader,
        leader_epoch: *epoch,
        ..Default::default()
    };
    MetadataResponseTopic {
        name: Some(name.into()),
        topic_id: Uuid([id; 16]),
        partitions: (0..).zip(leaders).map(partition).collect(),
        ..Default::default()
    }
}

/// Returns a scripted response with brokers 1 and 2.
pub(crate) fn metadata(topics: Vec<MetadataResponseTopic>) -> MetadataResponse {
    MetadataResponse {
        brokers: vec![broker(1), broker(2)],
        topics,
        ..Default::default()
    }
}
