//! Rules: what happens to the requests that match an API, a broker, a topic and a partition.

use ottla_protocol::{ApiKey, Reader};

use crate::faults::Fault;
use crate::ids::BrokerId;
use crate::request_parts::{RequestPart, request_parts};
use crate::topics::Topics;

/// A pattern of requests. A field that is `None` matches every request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestMatch {
    /// The API.
    pub api: Option<ApiKey>,
    /// The broker that receives the request.
    pub broker: Option<BrokerId>,
    /// A topic that the request names. Only Produce, Fetch, ListOffsets, Metadata and OffsetCommit requests have one.
    pub topic: Option<String>,
    /// A partition that the request names.
    pub partition: Option<i32>,
}

impl RequestMatch {
    /// Returns the pattern of an API's requests.
    pub fn api(api: ApiKey) -> Self {
        Self {
            api: Some(api),
            ..Self::default()
        }
    }

    /// Returns true when a request with these parts matches.
    pub(crate) fn matches(&self, broker: BrokerId, api: ApiKey, parts: &[RequestPart]) -> bool {
        let names_part = parts.iter().any(|part| {
            self.topic.as_ref().is_none_or(|topic| *topic == part.topic)
                && self.partition.is_none_or(|partition| partition == part.partition)
        });
        self.api.is_none_or(|a| a == api)
            && self.broker.is_none_or(|b| b == broker)
            && (names_part || (self.topic.is_none() && self.partition.is_none()))
    }
}

/// A fault for the requests that match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The matching requests.
    pub on: RequestMatch,
    /// The number of matching requests that are served before the rule applies.
    pub skip: u32,
    /// The number of requests that the rule applies to after those; `None` for all.
    pub times: Option<u32>,
    /// The fault.
    pub fault: Fault,
}

/// The id of a rule in its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(pub u64);

/// All rules, in the order of their addition.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    rules: Vec<(RuleId, Rule)>,
    last_id: u64,
}

impl Rules {
    /// Returns true when a rule depends on the parts of this API's requests.
    fn needs_parts(&self, api: ApiKey) -> bool {
        let mut rules = self.rules.iter().map(|(_, rule)| &rule.on);
        rules.any(|on| on.api.is_none_or(|a| a == api) && (on.topic.is_some() || on.partition.is_some()))
    }

    pub(crate) fn add(&mut self, rule: Rule) -> RuleId {
        self.last_id += 1;
        let id = RuleId(self.last_id);
        self.rules.push((id, rule));
        id
    }

    /// Removes a rule. Returns true when it was in force.
    pub(crate) fn remove(&mut self, id: RuleId) -> bool {
        let before = self.rules.len();
        self.rules.retain(|(known, _)| *known != id);
        self.rules.len() < before
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    /// Returns the fault of the rules for a request, and counts the request. `reader` is at the body.
    pub(crate) fn apply(
        &mut self,
        topics: &Topics,
        broker: BrokerId,
        api: ApiKey,
        version: i16,
        reader: &Reader,
    ) -> Option<Fault> {
        let parts = match self.needs_parts(api) {
            true => request_parts(topics, api, version, reader),
            false => Vec::new(),
        };
        let matches = |on: &RequestMatch| on.matches(broker, api, &parts);
        let mut used_up = None;
        let mut fault = None;
        for (id, rule) in self.rules.iter_mut().filter(|(_, rule)| matches(&rule.on)) {
            if rule.skip > 0 {
                rule.skip -= 1;
                continue;
            }
            fault = Some(rule.fault);
            if let Some(times) = &mut rule.times {
                *times = times.saturating_sub(1);
                used_up = (*times == 0).then_some(*id);
            }
            break;
        }
        if let Some(id) = used_up {
            self.remove(id);
        }
        fault
    }
}
