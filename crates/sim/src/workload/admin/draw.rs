//! The draws of a call: its resources, and the changes of their states.

use ottla_core::admin::Options;

use crate::admin_wire::{facts_of, principal};
use crate::check::{Change, Claim, Facts, Resource, ResourceKind, Row};
use crate::logs::ADMIN_NAMES;
use crate::rng::SeededRng;
use crate::world::World;

/// The largest number of resources of a kind that a client has during the faults.
const RESOURCES_MAX: usize = 6;

/// The world and the client of a call that is drawn.
pub(super) struct Draw<'a> {
    pub(super) world: &'a mut World,
    pub(super) rng: &'a mut SeededRng,
    pub(super) client: usize,
    pub(super) is_calm: bool,
    pub(super) options: &'a mut Options,
    pub(super) next_name: &'a mut u32,
}

impl Draw<'_> {
    /// Returns up to `most` of the client's resources, in a drawn order, each free and with its state.
    pub(super) fn free(&mut self, kind: ResourceKind, most: u64) -> Vec<(Resource, Facts)> {
        self.free_or_new(kind, most, 0.4)
    }

    /// Returns resources as [`free`](Self::free) does, most of them such that exist.
    pub(super) fn existing(&mut self, kind: ResourceKind, most: u64) -> Vec<(Resource, Facts)> {
        let mut chosen = self.free_or_new(kind, 3 * most, 0.05);
        let some = self.rng.between(1, most) as usize;
        // The sort keeps the drawn order.
        if self.rng.hit(0.9) {
            chosen.sort_by_key(|(_, facts)| facts.is_empty());
        }
        chosen.truncate(some);
        chosen
    }

    fn free_or_new(&mut self, kind: ResourceKind, most: u64, new: f64) -> Vec<(Resource, Facts)> {
        let (count, mut free) = self.world.check.admin.of_client(self.client, kind);
        if free.is_empty() && self.is_calm || count < RESOURCES_MAX && self.rng.hit(new) {
            free.push(self.add(kind));
        }
        let wanted = self.rng.between(1, most) as usize;
        let mut chosen = Vec::new();
        while chosen.len() < wanted && !free.is_empty() {
            let resource = free.swap_remove(self.rng.below(free.len()));
            let facts = self.world.check.admin.facts(&resource);
            chosen.push((resource, facts));
        }
        chosen
    }

    /// Adds a resource with a new name.
    fn add(&mut self, kind: ResourceKind) -> Resource {
        *self.next_name += 1;
        let name = match kind {
            ResourceKind::Principal => principal(self.client, *self.next_name),
            _ => format!("{ADMIN_NAMES}{}-{}", self.client, self.next_name),
        };
        let resource = Resource { kind, name };
        let facts = facts_of(&self.world.cluster, &resource);
        let now_us = self.world.now_us();
        self.world.check.admin.add(resource.clone(), self.client, now_us, facts);
        resource
    }

    /// Returns up to `most` resources of any client, each once.
    pub(super) fn any(&mut self, kind: ResourceKind, most: u64) -> Vec<Resource> {
        let mut all: Vec<Resource> = self.world.check.admin.all(kind).cloned().collect();
        let wanted = self.rng.between(1, most) as usize;
        let mut chosen = Vec::new();
        while chosen.len() < wanted && !all.is_empty() {
            chosen.push(all.swap_remove(self.rng.below(all.len())));
        }
        chosen
    }

    /// Returns true when brokers have reported a topic for long enough that all clients can find it.
    pub(super) fn is_visible(&self, topic: &Resource, facts: &Facts) -> bool {
        let delay_us = self.world.plan.cluster.topic_creation_delay_us;
        facts.contains_key("exists") && self.world.check.admin.changed_at_us(topic) + delay_us < self.world.now_us()
    }

    /// Returns the state after a change, which is that before when the call only validates.
    pub(super) fn change(&self, resource: &Resource, facts: &Facts, fact: &str, after: Option<String>) -> Change {
        let before = facts.get(fact).cloned();
        let after = if self.options.validate_only {
            before.clone()
        } else {
            after
        };
        Change {
            resource: resource.clone(),
            fact: fact.to_owned(),
            before,
            after,
        }
    }
}

/// Returns the change of a fact, whether or not the call only validates.
pub(super) fn change(resource: &Resource, facts: &Facts, fact: &str, after: Option<String>) -> Change {
    Change {
        resource: resource.clone(),
        fact: fact.to_owned(),
        before: facts.get(fact).cloned(),
        after,
    }
}

/// Returns a row that succeeds with these changes.
pub(super) fn row(key: impl Into<String>, changes: Vec<Change>) -> Row {
    Row {
        key: key.into(),
        changes,
        ..Row::default()
    }
}

/// Returns a row that cannot succeed.
pub(super) fn impossible(key: impl Into<String>, resource: &Resource, facts: &Facts) -> Row {
    Row {
        must_fail: true,
        ..row(key, vec![unchanged(resource, facts)])
    }
}

/// Returns the change that leaves a resource as it is.
pub(super) fn unchanged(resource: &Resource, facts: &Facts) -> Change {
    change(resource, facts, "exists", facts.get("exists").cloned())
}

/// Returns the statement that a resource has these facts.
pub(super) fn claim(resource: &Resource, facts: Vec<(String, Option<String>)>) -> Claim {
    Claim {
        resource: resource.clone(),
        facts,
        all_of: None,
    }
}

/// Returns the statement that a resource exists, or not.
pub(super) fn exists(resource: &Resource, exists: bool) -> Claim {
    claim(resource, vec![("exists".into(), exists.then(|| "yes".into()))])
}
