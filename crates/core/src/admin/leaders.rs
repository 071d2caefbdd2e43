//! The leaders of a call's partitions.
//!
//! A call requests them itself rather than from the client's metadata: that request does not create topics, and its response
//! is final for topics and partitions that do not exist.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponseTopic};

use super::lookups::{Lookups, Place};
use super::node::{Node, learn};
use crate::cluster::{Cluster, Router};
use crate::connection::{BrokerKey, Outcome};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::request::response_of;
use crate::sys::Instant;
use crate::types::{NodeId, TopicPartition};

/// Time for which a topic that brokers do not know is requested again: it may have been created just now.
const PROPAGATION_MS: u64 = 1000;

/// The leaders that are known, and the requests for others.
#[derive(Debug, Default)]
pub(super) struct Leaders {
    known: HashMap<TopicPartition, NodeId>,
    lookups: Lookups<Arc<str>>,
    /// When a topic was first reported as missing.
    missing_since: BTreeMap<Arc<str>, Instant>,
}

/// A response about leaders.
pub(super) struct Found {
    topics: BTreeSet<Arc<str>>,
    rows: HashMap<String, TopicRow>,
}

/// A topic of a response.
struct TopicRow {
    error: ErrorCode,
    /// The leader of each partition, by number; negative for none.
    leaders: HashMap<i32, i32>,
}

impl From<MetadataResponseTopic> for TopicRow {
    fn from(topic: MetadataResponseTopic) -> Self {
        let partitions = topic.partitions.iter();
        TopicRow {
            error: ErrorCode::from(topic.error_code),
            leaders: partitions.map(|row| (row.partition_index, row.leader_id)).collect(),
        }
    }
}

impl Leaders {
    /// Returns a partition's leader.
    pub(super) fn leader(&self, partition: &TopicPartition) -> Option<NodeId> {
        self.known.get(partition).copied()
    }

    /// Requests the leaders of a partition's topic. The known ones stay until the response.
    pub(super) fn want(&mut self, partition: &TopicPartition) {
        self.lookups.want(&partition.topic);
    }

    /// Forgets a leader that is the leader no more.
    pub(super) fn forget(&mut self, partition: &TopicPartition) {
        self.known.remove(partition);
    }

    /// Sends a request for the topics that are wanted.
    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, router: &mut Router) {
        let Some((broker, topics)) = self.lookups.due(ctx, cluster) else {
            return;
        };
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
        ctx.log.debug(DebugContexts::ADMIN, "LEADERS", || {
            let node = broker.key.node;
            format!("requesting the leaders of {} topic(s) from broker {node}", topics.len())
        });
        match sent {
            Ok(()) => self.lookups.on_sent(tag.id, broker.key, topics),
            Err(_) => self.lookups.on_failed(ctx, topics),
        }
    }

    /// Returns when [`poll`](Self::poll) is due.
    pub(super) fn wake(&self, now: Instant) -> Option<Instant> {
        self.lookups.wake(now)
    }

    /// Returns whether a request has this id.
    pub(super) fn is_in_flight(&self, id: u64) -> bool {
        self.lookups.is_in_flight(id)
    }

    /// Handles the outcome of a request. Returns the response.
    pub(super) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        (key, id, outcome): (BrokerKey, u64, Outcome),
    ) -> Option<Found> {
        let topics = self.lookups.take(id)?;
        let response = match response_of::<MetadataRequest>(ctx, key, outcome) {
            Ok(response) => response,
            Err(_) => {
                self.lookups.on_failed(ctx, topics);
                return None;
            }
        };
        self.lookups.on_answered(&topics);
        response
            .brokers
            .iter()
            .cloned()
            .for_each(|broker| learn(ctx, cluster, Node::from(broker)));
        let rows = response.topics.into_iter();
        Some(Found {
            topics,
            rows: rows
                .filter_map(|mut topic| Some((topic.name.take()?, topic.into())))
                .collect(),
        })
    }

    /// Takes a partition's leader from a response.
    pub(super) fn take(&mut self, now: Instant, found: &Found, partition: &TopicPartition) -> Place {
        if !found.topics.contains(&partition.topic) {
            return Place::Other;
        }
        let Some(topic) = found.rows.get(&*partition.topic) else {
            return self.missing(now, partition);
        };
        match topic.error {
            ErrorCode::NO_ERROR => {}
            ErrorCode::UNKNOWN_TOPIC_OR_PART => return self.missing(now, partition),
            code if code.action().is_retriable() => return self.pending(partition, code),
            code => return Place::Refused(code.into()),
        }
        self.missing_since.remove(&partition.topic);
        match topic.leaders.get(&partition.partition) {
            None => Place::Refused(ErrorCode::L_UNKNOWN_PARTITION.into()),
            Some(..0) => self.pending(partition, ErrorCode::LEADER_NOT_AVAILABLE),
            Some(leader) => {
                self.known.insert(partition.clone(), NodeId(*leader));
                Place::Found
            }
        }
    }

    fn missing(&mut self, now: Instant, partition: &TopicPartition) -> Place {
        let since = *self.missing_since.entry(partition.topic.clone()).or_insert(now);
        match now < since.plus_ms(PROPAGATION_MS) {
            true => self.pending(partition, ErrorCode::UNKNOWN_TOPIC_OR_PART),
            false => Place::Refused(Error::from(ErrorCode::UNKNOWN_TOPIC_OR_PART)),
        }
    }

    fn pending(&mut self, partition: &TopicPartition, code: ErrorCode) -> Place {
        self.known.remove(partition);
        Place::Pending(code.into())
    }
}
