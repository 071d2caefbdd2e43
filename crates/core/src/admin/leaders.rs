//! The leaders of a call's partitions.
//!
//! A call requests them itself rather than from the client's metadata: that request does not create topics, and its response
//! is final for topics and partitions that do not exist.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic};

use crate::cluster::{Cluster, NodeInfo, Router};
use crate::connection::{BrokerKey, Outcome};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::request::{Attempts, response_of};
use crate::sys::{Instant, earliest};
use crate::types::{NodeId, TopicPartition};

/// Time without a response after which another broker is asked as well: the first one may be frozen.
const LATE_AFTER_MS: u64 = 2000;
/// Maximum number of requests in flight.
const LOOKUPS_MAX: usize = 3;
/// Time for which a topic that brokers do not know is requested again: it may have been created just now.
const PROPAGATION_MS: u64 = 1000;
/// Interval of the search for a connected broker, in milliseconds.
const SEARCH_INTERVAL_MS: u64 = 100;

#[derive(Debug)]
struct Lookup {
    id: u64,
    broker: BrokerKey,
    topics: BTreeSet<Arc<str>>,
}

/// The leaders that are known, and the requests for others.
#[derive(Debug, Default)]
pub(super) struct Leaders {
    known: HashMap<TopicPartition, NodeId>,
    wanted: BTreeSet<Arc<str>>,
    lookups: Vec<Lookup>,
    /// When the newest request becomes late.
    late_at: Instant,
    attempts: Attempts,
    /// When a topic was first reported as missing.
    missing_since: BTreeMap<Arc<str>, Instant>,
}

/// A response about leaders.
pub(super) struct Found {
    topics: BTreeSet<Arc<str>>,
    response: HashMap<String, MetadataResponseTopic>,
}

/// The result of a look-up for one partition.
pub(super) enum Place {
    /// The response is not about the partition's topic.
    Other,
    /// The leader is known now.
    Led,
    /// The partition has no leader at present, or its topic is not known yet.
    Pending(Error),
    /// The partition does not exist, or the client may not describe it.
    Refused(Error),
}

impl Leaders {
    /// Returns a partition's leader.
    pub(super) fn leader(&self, partition: &TopicPartition) -> Option<NodeId> {
        self.known.get(partition).copied()
    }

    /// Requests the leaders of a partition's topic. The known ones stay until the response.
    pub(super) fn want(&mut self, partition: &TopicPartition) {
        let is_asked = self
            .lookups
            .iter()
            .any(|lookup| lookup.topics.contains(&partition.topic));
        if !is_asked && !self.wanted.contains(&partition.topic) {
            self.wanted.insert(partition.topic.clone());
        }
    }

    /// Forgets a leader that is the leader no more.
    pub(super) fn forget(&mut self, partition: &TopicPartition) {
        self.known.remove(partition);
    }

    /// Sends a request for the topics that are wanted.
    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, router: &mut Router) {
        let is_late = !self.lookups.is_empty() && self.late_at <= ctx.now && self.lookups.len() < LOOKUPS_MAX;
        if !self.attempts.is_due(ctx.now) || self.wanted.is_empty() && !is_late {
            return;
        }
        let broker = match is_late {
            false => cluster.any_connection(ctx),
            true => {
                let asked: Vec<BrokerKey> = self.lookups.iter().map(|lookup| lookup.broker).collect();
                cluster.another_connection(ctx, &asked)
            }
        };
        let Some(broker) = broker else { return };
        let mut topics = std::mem::take(&mut self.wanted);
        if is_late {
            topics.extend(self.lookups.iter().flat_map(|lookup| lookup.topics.iter().cloned()));
        }
        let topic = |name: &Arc<str>| MetadataRequestTopic {
            name: Some(name.to_string()),
            ..Default::default()
        };
        let tag = router.next_tag();
        let timeout = ctx.socket_timeout();
        let sent = broker.version::<MetadataRequest>().and_then(|version| {
            let request = MetadataRequest {
                topics: Some(topics.iter().map(topic).collect()),
                allow_auto_topic_creation: version < MetadataRequest::AUTO_CREATION_FLAG_SINCE,
                ..Default::default()
            };
            broker.send(ctx, tag, &request, version, timeout)
        });
        if sent.is_err() {
            self.wanted = topics;
            self.attempts.back_off(ctx);
            return;
        }
        ctx.log.debug(DebugContexts::ADMIN, "LEADERS", || {
            format!(
                "requesting the leaders of {} topic(s) from broker {}",
                topics.len(),
                broker.key.node
            )
        });
        self.late_at = ctx.now.plus_ms(LATE_AFTER_MS << self.lookups.len());
        self.lookups.push(Lookup {
            id: tag.id,
            broker: broker.key,
            topics,
        });
    }

    /// Returns when [`poll`](Self::poll) is due. While no broker is connected no event announces one.
    pub(super) fn wake(&self, now: Instant) -> Option<Instant> {
        let wanted = (!self.wanted.is_empty()).then(|| self.attempts.next_at().max(now.plus_ms(SEARCH_INTERVAL_MS)));
        let late = !self.lookups.is_empty() && self.lookups.len() < LOOKUPS_MAX;
        let late = late.then(|| match self.late_at > now {
            true => self.late_at,
            false => now.plus_ms(SEARCH_INTERVAL_MS),
        });
        earliest(wanted, late)
    }

    /// Returns whether a request has this id.
    pub(super) fn is_in_flight(&self, id: u64) -> bool {
        self.lookups.iter().any(|lookup| lookup.id == id)
    }

    /// Handles the outcome of a request. Returns the response.
    pub(super) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        (key, id, outcome): (BrokerKey, u64, Outcome),
    ) -> Option<Found> {
        let at = self.lookups.iter().position(|lookup| lookup.id == id)?;
        let lookup = self.lookups.remove(at);
        let response = match response_of::<MetadataRequest>(ctx, key, outcome) {
            Ok(response) => response,
            Err(_) => {
                if self.lookups.is_empty() {
                    self.wanted.extend(lookup.topics);
                    self.attempts.back_off(ctx);
                }
                return None;
            }
        };
        self.attempts.reset();
        // The first response counts; later ones are ignored.
        self.lookups.retain(|other| !other.topics.is_subset(&lookup.topics));
        Self::add_nodes(ctx, cluster, &response);
        let rows = response.topics.into_iter();
        Some(Found {
            topics: lookup.topics,
            response: rows.filter_map(|topic| Some((topic.name.clone()?, topic))).collect(),
        })
    }

    /// Adds the brokers that the client does not know.
    fn add_nodes(ctx: &mut Ctx<'_>, cluster: &mut Cluster, response: &MetadataResponse) {
        for broker in &response.brokers {
            let node = NodeId(broker.node_id);
            let port = u16::try_from(broker.port).ok().filter(|port| *port > 0);
            if let (Some(port), None) = (port, cluster.node(node))
                && node.0 >= 0
            {
                let info = NodeInfo {
                    host: broker.host.clone(),
                    port,
                    rack: broker.rack.clone(),
                };
                cluster.add_node(ctx, node, info);
            }
        }
    }

    /// Takes a partition's leader from a response.
    pub(super) fn take(&mut self, now: Instant, found: &Found, partition: &TopicPartition) -> Place {
        if !found.topics.contains(&partition.topic) {
            return Place::Other;
        }
        let Some(topic) = found.response.get(&*partition.topic) else {
            return self.missing(now, partition);
        };
        match ErrorCode::from(topic.error_code) {
            ErrorCode::NO_ERROR => {}
            ErrorCode::UNKNOWN_TOPIC_OR_PART => return self.missing(now, partition),
            code if code.action().is_retriable() => return Place::Pending(code.into()),
            code => return Place::Refused(code.into()),
        }
        self.missing_since.remove(&partition.topic);
        let row = topic
            .partitions
            .iter()
            .find(|row| row.partition_index == partition.partition);
        match row {
            None => Place::Refused(ErrorCode::L_UNKNOWN_PARTITION.into()),
            Some(row) if row.leader_id < 0 => Place::Pending(ErrorCode::LEADER_NOT_AVAILABLE.into()),
            Some(row) => {
                self.known.insert(partition.clone(), NodeId(row.leader_id));
                Place::Led
            }
        }
    }

    fn missing(&mut self, now: Instant, partition: &TopicPartition) -> Place {
        let error = Error::from(ErrorCode::UNKNOWN_TOPIC_OR_PART);
        let since = *self.missing_since.entry(partition.topic.clone()).or_insert(now);
        match now < since.plus_ms(PROPAGATION_MS) {
            true => Place::Pending(error),
            false => Place::Refused(error),
        }
    }
}
