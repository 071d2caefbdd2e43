//! The names of topics that the coordinator identifies by id: from metadata, or looked up at the coordinator.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};

use super::partitions::Partitions;
use crate::cluster::Cluster;
use crate::consumer::group::coordinator_connection::{CoordinatorConnection, new_id, tag};
use crate::consumer::units::millis;
use crate::context::Ctx;
use crate::error::Error;
use crate::sys::Instant;
use crate::types::TopicPartition;

/// Names of topics by id, and the look-up of missing ones.
#[derive(Debug, Default)]
pub(super) struct TopicNames {
    names: BTreeMap<Uuid, Arc<str>>,
    in_flight: Option<u64>,
    not_before: Instant,
    tries: u32,
}

impl TopicNames {
    pub(super) fn contains(&self, id: Uuid) -> bool {
        self.names.contains_key(&id)
    }

    /// Returns the partitions of topics with a known name, in order.
    pub(super) fn named(&self, partitions: &Partitions) -> Vec<TopicPartition> {
        let rows = partitions
            .iter()
            .filter_map(|(id, p)| Some(TopicPartition::new(self.names.get(&id)?.clone(), p)));
        let mut rows: Vec<TopicPartition> = rows.collect();
        rows.sort();
        rows
    }

    fn missing<'a>(&'a self, target: &'a Partitions) -> impl Iterator<Item = Uuid> + 'a {
        target.topics().filter(|id| !self.contains(*id))
    }

    /// Adds names from metadata; returns true if there was one.
    pub(super) fn resolve(&mut self, cluster: &Cluster, target: &Partitions) -> bool {
        let known = |id: Uuid| Some((id, cluster.topic_by_id(id)?.clone()));
        let found: Vec<_> = self.missing(target).filter_map(known).collect();
        let any = !found.is_empty();
        self.names.extend(found);
        any
    }

    /// Forgets names of topics that are neither owned nor in the target assignment.
    pub(super) fn prune(&mut self, owned: &Partitions, target: &Partitions) {
        self.names.retain(|id, _| owned.has_topic(*id) || target.has_topic(*id));
    }

    /// Ignores the look-up in flight, and ends its backoff.
    pub(super) fn reset_lookup(&mut self) {
        self.in_flight = None;
        self.not_before = Instant::ORIGIN;
        self.tries = 0;
    }

    /// When to send the next look-up; `None` if no name is missing or one is in flight.
    pub(super) fn next_lookup(&self, target: &Partitions) -> Option<Instant> {
        let wanted = self.in_flight.is_none() && self.missing(target).next().is_some();
        wanted.then_some(self.not_before)
    }

    /// Sends a look-up of the missing names.
    pub(super) fn send_lookup(
        &mut self,
        ctx: &mut Ctx<'_>,
        to: &CoordinatorConnection<'_>,
        target: &Partitions,
        last_id: &mut u64,
    ) {
        let Some(version) = to.versions.pick::<MetadataRequest>() else {
            return self.back_off(ctx);
        };
        let by_id = |topic_id| MetadataRequestTopic {
            topic_id,
            name: None,
            ..Default::default()
        };
        let request = MetadataRequest {
            topics: (version >= MetadataRequest::LOOKUP_BY_ID_SINCE).then(|| self.missing(target).map(by_id).collect()),
            allow_auto_topic_creation: version < MetadataRequest::AUTO_CREATION_FLAG_SINCE,
            ..Default::default()
        };
        let id = new_id(last_id);
        let timeout = Duration::from_millis(millis(ctx.conf.socket_timeout_ms));
        match ctx
            .connections
            .send(to.key, ctx.now, tag(id), &request, version, timeout)
        {
            Ok(()) => self.in_flight = Some(id),
            Err(_) => self.back_off(ctx),
        }
    }

    fn back_off(&mut self, ctx: &mut Ctx<'_>) {
        self.not_before = ctx.now + ctx.retry_delay(self.tries);
        self.tries = self.tries.saturating_add(1);
    }

    pub(super) fn is_lookup(&self, id: u64) -> bool {
        self.in_flight == Some(id)
    }

    /// Handles the result of a look-up. Names that are still missing are looked up again, as brokers learn of topics at
    /// different times.
    pub(super) fn on_response(
        &mut self,
        ctx: &mut Ctx<'_>,
        target: &Partitions,
        result: Result<MetadataResponse, Error>,
    ) {
        self.in_flight = None;
        let wanted: BTreeSet<Uuid> = self.missing(target).collect();
        for topic in result.into_iter().flat_map(|r| r.topics) {
            if let Some(name) = topic.name.filter(|_| wanted.contains(&topic.topic_id)) {
                self.names.insert(topic.topic_id, name.into());
            }
        }
        if self.missing(target).next().is_some() {
            self.back_off(ctx);
        }
    }
}
