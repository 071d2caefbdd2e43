//! Names of topics whose ids the coordinator named: from the cluster's metadata, or else by asking the coordinator.

use std::collections::BTreeSet;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};

use super::super::requests::{CoordinatorConnection, new_id, tag};
use super::{ConsumerMember, Phase};
use crate::cluster::Cluster;
use crate::consumer::millis;
use crate::context::Ctx;
use crate::error::Error;
use crate::sys::Instant;

/// The first version in which brokers look topics up by id.
const FIRST_BY_ID: i16 = 12;

/// The look-up of topic names.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    in_flight: Option<u64>,
    not_before: Instant,
    tries: u32,
}

impl ConsumerMember {
    fn unnamed(&self) -> impl Iterator<Item = Uuid> + '_ {
        self.target.topics().filter(|id| !self.names.contains_key(id))
    }

    /// Takes names from what is known of topics; true when there was one.
    pub(super) fn resolve_names(&mut self, cluster: &Cluster) -> bool {
        let known = |id: Uuid| Some((id, cluster.topic_by_id(id)?.clone()));
        let found: Vec<_> = self.unnamed().filter_map(known).collect();
        let any = !found.is_empty();
        self.names.extend(found);
        any
    }

    /// Forgets names that nothing refers to.
    pub(super) fn prune_names(&mut self) {
        let (owned, target) = (&self.owned, &self.target);
        self.names.retain(|id, _| owned.has_topic(*id) || target.has_topic(*id));
    }

    pub(super) fn next_lookup(&self) -> Option<Instant> {
        let wanted = self.phase == Phase::Member && self.lookup.in_flight.is_none() && self.unnamed().next().is_some();
        wanted.then_some(self.lookup.not_before)
    }

    pub(super) fn send_lookup(&mut self, ctx: &mut Ctx<'_>, to: &CoordinatorConnection<'_>, next_id: &mut u64) {
        if self.next_lookup().is_none_or(|at| at > ctx.now) {
            return;
        }
        let Some(version) = to.versions.pick::<MetadataRequest>() else {
            return self.back_off_lookup(ctx);
        };
        let by_id = |topic_id| MetadataRequestTopic {
            topic_id,
            name: None,
            ..Default::default()
        };
        let request = MetadataRequest {
            topics: (version >= FIRST_BY_ID).then(|| self.unnamed().map(by_id).collect()),
            allow_auto_topic_creation: version < 4,
            ..Default::default()
        };
        let id = new_id(next_id);
        let timeout = Duration::from_millis(millis(ctx.conf.socket_timeout_ms));
        match ctx
            .connections
            .send(to.key, ctx.now, tag(id), &request, version, timeout)
        {
            Ok(()) => self.lookup.in_flight = Some(id),
            Err(_) => self.back_off_lookup(ctx),
        }
    }

    fn back_off_lookup(&mut self, ctx: &mut Ctx<'_>) {
        self.lookup.not_before = ctx.now + ctx.retry_delay(self.lookup.tries);
        self.lookup.tries = self.lookup.tries.saturating_add(1);
    }

    pub(in crate::consumer::group) fn is_lookup(&self, id: u64) -> bool {
        self.lookup.in_flight == Some(id)
    }

    /// A look-up was answered. What has no name yet is asked for again: brokers learn of topics at different times.
    pub(in crate::consumer::group) fn on_looked_up(
        &mut self,
        ctx: &mut Ctx<'_>,
        result: Result<MetadataResponse, Error>,
    ) {
        self.lookup.in_flight = None;
        let wanted: BTreeSet<Uuid> = self.unnamed().collect();
        for topic in result.into_iter().flat_map(|r| r.topics) {
            if let Some(name) = topic.name.filter(|_| wanted.contains(&topic.topic_id)) {
                self.names.insert(topic.topic_id, name.into());
            }
        }
        if self.unnamed().next().is_some() {
            self.back_off_lookup(ctx);
        }
        self.proceed();
    }
}
