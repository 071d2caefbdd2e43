//! The names of topics that the coordinator identifies by id: from metadata, or looked up at the coordinator.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};

use super::coordinator_connection::CoordinatorConnection;
use super::partitions::Partitions;
use crate::cluster::Cluster;
use crate::connection::{Owner, Tag};
use crate::context::Ctx;
use crate::error::Error;
use crate::request::{PendingRequest, ReadyBroker, RequestIds};
use crate::sys::Instant;
use crate::types::TopicPartition;

/// Names of topics by id, and the look-up of missing ones.
#[derive(Debug)]
pub(crate) struct TopicNames {
    /// The manager that the look-ups belong to.
    owner: Owner,
    names: BTreeMap<Uuid, Arc<str>>,
    lookup: PendingRequest,
}

impl TopicNames {
    /// Without any name. `owner` is the manager that the look-ups belong to.
    pub(crate) fn new(owner: Owner) -> Self {
        TopicNames {
            owner,
            names: BTreeMap::new(),
            lookup: PendingRequest::default(),
        }
    }

    pub(crate) fn get(&self, id: Uuid) -> Option<&Arc<str>> {
        self.names.get(&id)
    }

    pub(crate) fn contains(&self, id: Uuid) -> bool {
        self.names.contains_key(&id)
    }

    /// Returns the partitions of topics with a known name, in order.
    pub(crate) fn named(&self, partitions: &Partitions) -> Vec<TopicPartition> {
        let rows = partitions
            .iter()
            .filter_map(|(id, p)| Some(TopicPartition::new(self.get(id)?.clone(), p)));
        let mut rows: Vec<TopicPartition> = rows.collect();
        rows.sort();
        rows
    }

    fn missing<'a>(&'a self, target: &'a Partitions) -> impl Iterator<Item = Uuid> + 'a {
        target.topics().filter(|id| !self.contains(*id))
    }

    /// Adds names from metadata; returns true if there was one.
    pub(crate) fn resolve(&mut self, cluster: &Cluster, target: &Partitions) -> bool {
        let known = |id: Uuid| Some((id, cluster.topic_by_id(id)?.clone()));
        let found: Vec<_> = self.missing(target).filter_map(known).collect();
        let any = !found.is_empty();
        self.names.extend(found);
        any
    }

    /// Forgets names of topics that are in none of these sets.
    pub(crate) fn prune(&mut self, used: &[&Partitions]) {
        self.names.retain(|id, _| used.iter().any(|set| set.has_topic(*id)));
    }

    /// Ignores the look-up in flight, and ends its backoff.
    pub(crate) fn reset_lookup(&mut self) {
        self.lookup = PendingRequest::default();
    }

    /// When to send the next look-up; `None` if no name is missing or one is in flight.
    pub(crate) fn next_lookup(&self, target: &Partitions) -> Option<Instant> {
        let next_at = self.lookup.next_at()?;
        self.missing(target).next().map(|_| next_at)
    }

    /// Sends a look-up of the missing names.
    pub(crate) fn send_lookup(
        &mut self,
        ctx: &mut Ctx<'_>,
        to: &CoordinatorConnection<'_>,
        target: &Partitions,
        ids: &mut RequestIds,
    ) {
        let tag = ids.next_tag(self.owner);
        match self.send(ctx, to.broker, target, tag) {
            Ok(()) => self.lookup.on_sent(to.broker.key, tag.id),
            Err(error) => {
                self.lookup.retry(ctx, error);
            }
        }
    }

    fn send(&self, ctx: &mut Ctx<'_>, broker: &ReadyBroker, target: &Partitions, tag: Tag) -> Result<(), Error> {
        let version = broker.version::<MetadataRequest>()?;
        let by_id = |topic_id| MetadataRequestTopic {
            topic_id,
            name: None,
            ..Default::default()
        };
        let is_by_id = version >= MetadataRequest::LOOKUP_BY_ID_SINCE;
        let request = MetadataRequest {
            topics: is_by_id.then(|| self.missing(target).map(by_id).collect()),
            allow_auto_topic_creation: version < MetadataRequest::AUTO_CREATION_FLAG_SINCE,
            ..Default::default()
        };
        let timeout = ctx.socket_timeout();
        broker.send(ctx, tag, &request, version, timeout)
    }

    pub(crate) fn is_lookup(&self, id: u64) -> bool {
        self.lookup.is_in_flight(id)
    }

    /// Handles the result of a look-up. Names that are still missing are looked up again, as brokers learn of topics at
    /// different times.
    pub(crate) fn on_response(
        &mut self,
        ctx: &mut Ctx<'_>,
        target: &Partitions,
        result: Result<MetadataResponse, Error>,
    ) {
        self.lookup.on_outcome();
        let response = match result {
            Ok(response) => response,
            Err(error) => {
                self.lookup.retry(ctx, error);
                return;
            }
        };
        let wanted: BTreeSet<Uuid> = self.missing(target).collect();
        for topic in response.topics {
            if let Some(name) = topic.name.filter(|_| wanted.contains(&topic.topic_id)) {
                self.names.insert(topic.topic_id, name.into());
            }
        }
        if self.missing(target).next().is_some() {
            self.lookup.postpone(ctx);
        }
    }
}
