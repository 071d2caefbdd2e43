//! Admin calls: their effects on the cluster, and the values that they return.
//!
//! Each topic, group, principal and user of the workload belongs to one caller, which changes it by one call at a time. Its
//! state is a set of facts, such as the number of partitions. The state is observed at the cluster whenever a broker has
//! executed a request that may change it. A request whose call has ended may still be executed; therefore a resource is
//! free for the next call only when no such request is left.

use std::collections::BTreeMap;

use ottla_core::error::{Error, ErrorCode};

/// A part of a resource that a request contains: a partition, or the whole (-1).
pub(crate) type Part = (Resource, i32);

/// The state of a resource; empty for one that does not exist.
pub(crate) type Facts = BTreeMap<String, String>;

/// The kind of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ResourceKind {
    Topic,
    /// A group without members.
    Group,
    /// The access control entries of a principal.
    Principal,
    /// The SCRAM credentials of a user.
    User,
}

/// A resource that one caller changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Resource {
    pub(crate) kind: ResourceKind,
    pub(crate) name: String,
}

/// The change of a fact; `None` for a fact that is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) resource: Resource,
    pub(crate) fact: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// A row of a call's result.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    /// The row's name; rows have it in the order of the call.
    pub(crate) key: String,
    /// The changes of a row that succeeds.
    pub(crate) changes: Vec<Change>,
    /// The row cannot succeed.
    pub(crate) must_fail: bool,
    /// Errors that the row may have without faults.
    pub(crate) accepts: &'static [ErrorCode],
}

/// The outcome of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Done,
    /// It was not done, and will not be.
    Failed,
    /// It may have been done, or may still be.
    Unknown,
}

/// A part of a resource's state that a call has returned.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) resource: Resource,
    pub(crate) facts: Vec<(String, Option<String>)>,
    /// All facts with this prefix are listed.
    pub(crate) all_of: Option<&'static str>,
}

/// A call as it is made.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) operation: &'static str,
    pub(crate) client: usize,
    pub(crate) rows: Vec<Row>,
    /// The client repeats requests that a broker may have executed.
    pub(crate) is_repeatable: bool,
    /// Brokers answer before they have done it (an operation timeout of zero).
    pub(crate) is_async: bool,
}

/// A call that is not answered, or whose requests may still be executed.
#[derive(Debug)]
struct OpenCall {
    call: Call,
    outcomes: Option<Vec<Outcome>>,
    /// Requests on their way to brokers.
    on_way: usize,
    sent: usize,
    /// The number of executed requests.
    executed: BTreeMap<Part, u32>,
}

#[derive(Debug)]
struct Owned {
    client: usize,
    call: Option<u64>,
    /// The states with the times at which they began.
    history: Vec<(u64, Facts)>,
}

/// The request of a call.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    call: u64,
    pub(crate) parts: Vec<Part>,
}

/// The observations of admin calls.
#[derive(Debug, Default)]
pub(crate) struct AdminCalls {
    last_call: u64,
    calls: BTreeMap<u64, OpenCall>,
    owned: BTreeMap<Resource, Owned>,
    /// Requests on their way, by connection and correlation id.
    requests: BTreeMap<(u64, i32), Request>,
    /// The executed ListGroups requests: the client, the broker and the time.
    listings: Vec<(usize, i32, u64)>,
    /// The request that was served last.
    served: Option<((u64, i32), Request)>,
}

/// The text of an error after which an operation may have been executed.
const MAY_BE_DONE: &str = "may have executed";

/// Returns the outcome of a row with this error. A broker that reports certain codes may have executed the request.
pub(crate) fn outcome_of(error: Option<&Error>, is_repeatable: bool) -> Outcome {
    let Some(error) = error else {
        return Outcome::Done;
    };
    match error.code {
        ErrorCode::REQUEST_TIMED_OUT | ErrorCode::UNKNOWN | ErrorCode::NETWORK_EXCEPTION => Outcome::Unknown,
        // A coordinator that cannot replicate a commit reports one of these.
        ErrorCode::COORDINATOR_NOT_AVAILABLE | ErrorCode::NOT_COORDINATOR if is_repeatable => Outcome::Unknown,
        ErrorCode::L_UNSUPPORTED_FEATURE
        | ErrorCode::L_INVALID_ARG
        | ErrorCode::L_CONFLICT
        | ErrorCode::L_UNKNOWN_PARTITION => Outcome::Failed,
        ErrorCode::L_DESTROY | ErrorCode::L_FAIL | ErrorCode::L_BAD_MSG => Outcome::Unknown,
        code if code.0 > 0 => Outcome::Failed,
        // The client reports of an operation that is not repeatable that it may have been executed. Rows without a text
        // do not have the report.
        _ if is_repeatable || error.message.is_empty() || error.message.contains(MAY_BE_DONE) => Outcome::Unknown,
        _ => Outcome::Failed,
    }
}

impl AdminCalls {
    // ---------------------------------------------------------------- resources

    /// Adds a resource of a client with its present state.
    pub(crate) fn add(&mut self, resource: Resource, client: usize, now_us: u64, facts: Facts) {
        let owned = Owned {
            client,
            call: None,
            history: vec![(now_us, facts)],
        };
        self.owned.insert(resource, owned);
    }

    /// Returns the resources of a kind.
    pub(crate) fn all(&self, kind: ResourceKind) -> impl Iterator<Item = &Resource> {
        self.owned.keys().filter(move |resource| resource.kind == kind)
    }

    /// Returns the number of a client's resources of a kind, and those that no call changes.
    pub(crate) fn of_client(&self, client: usize, kind: ResourceKind) -> (usize, Vec<Resource>) {
        let of_client = |(resource, owned): &(&Resource, &Owned)| resource.kind == kind && owned.client == client;
        let own: Vec<_> = self.owned.iter().filter(of_client).collect();
        let free = own.iter().filter(|(_, owned)| owned.call.is_none());
        (own.len(), free.map(|(resource, _)| (*resource).clone()).collect())
    }

    /// Returns the latest state of a resource.
    pub(crate) fn facts(&self, resource: &Resource) -> Facts {
        let last = self.owned.get(resource).and_then(|owned| owned.history.last());
        last.map(|(_, facts)| facts.clone()).unwrap_or_default()
    }

    /// Returns the time at which the latest state of a resource began.
    pub(crate) fn changed_at_us(&self, resource: &Resource) -> u64 {
        let last = self.owned.get(resource).and_then(|owned| owned.history.last());
        last.map_or(0, |(at_us, _)| *at_us)
    }

    /// Records the state of a resource.
    pub(crate) fn on_state(&mut self, resource: &Resource, now_us: u64, facts: Facts) {
        if let Some(owned) = self.owned.get_mut(resource)
            && owned.history.last().is_none_or(|(_, last)| *last != facts)
        {
            owned.history.push((now_us, facts));
        }
    }

    // ---------------------------------------------------------------- calls

    /// Records a call. Its resources are free.
    pub(crate) fn on_call(&mut self, call: Call) -> u64 {
        self.last_call += 1;
        for change in call.rows.iter().flat_map(|row| &row.changes) {
            if let Some(owned) = self.owned.get_mut(&change.resource) {
                owned.call = Some(self.last_call);
            }
        }
        let open = OpenCall {
            call,
            outcomes: None,
            on_way: 0,
            sent: 0,
            executed: BTreeMap::new(),
        };
        self.calls.insert(self.last_call, open);
        self.last_call
    }

    /// Records a request about these resources. The call that changes them has sent it.
    pub(crate) fn on_sent(&mut self, connection: u64, correlation: i32, parts: Vec<Part>) {
        let call = parts.iter().find_map(|(resource, _)| self.owned.get(resource)?.call);
        if let Some(open) = call.and_then(|id| self.calls.get_mut(&id)) {
            open.on_way += 1;
            open.sent += 1;
            let call = call.unwrap_or_default();
            self.requests.insert((connection, correlation), Request { call, parts });
        }
    }

    /// Records that a request is sent a second time, on another connection.
    pub(crate) fn on_repeated(&mut self, connection: u64, second: u64, correlation: i32) {
        let sent = self.requests.get(&(connection, correlation)).cloned();
        let sent = sent.or_else(|| {
            self.served
                .take()
                .filter(|(key, _)| *key == (connection, correlation))
                .map(|(_, request)| request)
        });
        if let Some(request) = sent {
            if let Some(open) = self.calls.get_mut(&request.call) {
                open.on_way += 1;
            }
            self.requests.insert((second, correlation), request);
        }
    }

    /// Records that a broker has listed its groups for a client.
    pub(crate) fn on_listing(&mut self, client: usize, broker: i32, now_us: u64) {
        self.listings.push((client, broker, now_us));
    }

    /// Returns true when a broker has listed its groups for a client since that time.
    pub(crate) fn has_listed(&self, client: usize, broker: i32, since_us: u64) -> bool {
        let mut listings = self.listings.iter().rev().take_while(|(.., at_us)| *at_us >= since_us);
        listings.any(|(by, of, _)| (*by, *of) == (client, broker))
    }

    /// Returns a request that a broker serves.
    pub(crate) fn request(&self, connection: u64, correlation: i32) -> Option<Request> {
        self.requests.get(&(connection, correlation)).cloned()
    }

    /// Records that a broker has served a request, and executed it for these parts. Their states were recorded.
    ///
    /// # Errors
    /// The client has repeated a request that is not repeatable.
    pub(crate) fn on_served(&mut self, connection: u64, correlation: i32, executed: &[Part]) -> Result<(), String> {
        let Some(request) = self.requests.remove(&(connection, correlation)) else {
            return Ok(());
        };
        self.served = Some(((connection, correlation), request.clone()));
        let Some(open) = self.calls.get_mut(&request.call) else {
            return Ok(());
        };
        open.on_way = open.on_way.saturating_sub(1);
        for part in executed {
            let count = open.executed.entry(part.clone()).or_default();
            *count += 1;
            if *count > 1 && !open.call.is_repeatable {
                return Err(format!(
                    "client {}: {} of {part:?} was executed twice",
                    open.call.client, open.call.operation
                ));
            }
        }
        self.release(request.call)
    }

    /// Records that the broker's side of a connection has ended: its other requests are never served.
    ///
    /// # Errors
    /// The final state of a resource is none of its call.
    pub(crate) fn on_closed(&mut self, connection: u64) -> Result<(), String> {
        let range = (connection, i32::MIN)..=(connection, i32::MAX);
        let lost: Vec<((u64, i32), u64)> = self.requests.range(range).map(|(key, r)| (*key, r.call)).collect();
        for (key, call) in lost {
            self.requests.remove(&key);
            if let Some(open) = self.calls.get_mut(&call) {
                open.on_way = open.on_way.saturating_sub(1);
            }
            self.release(call)?;
        }
        Ok(())
    }

    /// Records the end of a call without a result: its client or its queue is gone.
    ///
    /// # Errors
    /// The state of a resource is none of the call.
    pub(crate) fn on_abandoned(&mut self, call: u64) -> Result<(), String> {
        if let Some(open) = self.calls.get_mut(&call) {
            open.outcomes = Some(vec![Outcome::Unknown; open.call.rows.len()]);
        }
        self.release(call)
    }

    /// Checks the result of a call: the names and the errors of its rows. The states of its resources were recorded.
    /// Returns the outcomes of the rows.
    ///
    /// # Errors
    /// The result contradicts the state of the cluster.
    pub(crate) fn on_result(&mut self, id: u64, rows: &[(String, Option<Error>)]) -> Result<Vec<Outcome>, String> {
        let Some(open) = self.calls.get_mut(&id) else {
            return Err(format!("call {id} has two results"));
        };
        let call = &open.call;
        let name = format!("client {}: {} (call {id})", call.client, call.operation);
        if open.outcomes.is_some() {
            return Err(format!("{name} has two results"));
        }
        let asked: Vec<&String> = call.rows.iter().map(|row| &row.key).collect();
        if !rows.iter().map(|(key, _)| key).eq(asked.iter().copied()) {
            let found: Vec<&String> = rows.iter().map(|(key, _)| key).collect();
            return Err(format!("{name}: rows {found:?} instead of {asked:?}"));
        }
        // After the error of a coordinator that has executed a commit, the look-up of another one may fail.
        let of_coordinator = open.executed.keys().any(|(part, _)| part.kind == ResourceKind::Group);
        let is_repeated = call.is_repeatable && (open.sent > 1 || of_coordinator);
        let mut outcomes = Vec::new();
        for (row, (_, error)) in call.rows.iter().zip(rows) {
            let outcome = match outcome_of(error.as_ref(), call.is_repeatable) {
                // An earlier request may have been executed.
                Outcome::Failed if is_repeated => Outcome::Unknown,
                // A broker that has begun an operation may still refuse it.
                Outcome::Done if call.is_async => Outcome::Unknown,
                outcome => outcome,
            };
            if outcome == Outcome::Done && row.must_fail {
                return Err(format!("{name}: {} was done, which is impossible", row.key));
            }
            outcomes.push(outcome);
        }
        open.outcomes = Some(outcomes.clone());
        self.check_states(id)?;
        self.release(id)?;
        Ok(outcomes)
    }

    /// Compares the states of a call's resources with the outcomes of its rows.
    fn check_states(&self, id: u64) -> Result<(), String> {
        let Some(open) = self.calls.get(&id) else {
            return Ok(());
        };
        let outcomes = open.outcomes.iter().flatten();
        for (row, outcome) in open.call.rows.iter().zip(outcomes) {
            let has = |value: fn(&Change) -> &Option<String>| {
                row.changes.iter().all(|change| {
                    let facts = self.owned.get(&change.resource).and_then(|owned| owned.history.last());
                    facts.and_then(|(_, facts)| facts.get(&change.fact)) == value(change).as_ref()
                })
            };
            let (is_before, is_after) = (has(|change| &change.before), has(|change| &change.after));
            let is_right = match outcome {
                Outcome::Done => is_after,
                Outcome::Failed => is_before,
                Outcome::Unknown => is_before || is_after,
            };
            if !is_right {
                let states: Vec<Facts> = row.changes.iter().map(|change| self.facts(&change.resource)).collect();
                return Err(format!(
                    "client {}: {} (call {id}) of {}: {outcome:?}, but the state is {states:?}; changes {:?}",
                    open.call.client, open.call.operation, row.key, row.changes
                ));
            }
        }
        Ok(())
    }

    /// Frees the resources of a call that is answered, if no request is on its way.
    fn release(&mut self, id: u64) -> Result<(), String> {
        let is_over = |open: &OpenCall| open.outcomes.is_some() && open.on_way == 0;
        if !self.calls.get(&id).is_some_and(is_over) {
            return Ok(());
        }
        self.check_states(id)?;
        if let Some(open) = self.calls.remove(&id) {
            for change in open.call.rows.iter().flat_map(|row| &row.changes) {
                if let Some(owned) = self.owned.get_mut(&change.resource) {
                    owned.call = None;
                }
            }
        }
        Ok(())
    }

    /// Checks that all calls have a result, at the end.
    ///
    /// # Errors
    /// The first call without one.
    pub(crate) fn check_end(&self) -> Result<(), String> {
        match self.calls.iter().find(|(_, open)| open.outcomes.is_none()) {
            Some((id, open)) => Err(format!("call {id} has no result: {:?}", open.call)),
            None => Ok(()),
        }
    }

    // ---------------------------------------------------------------- values

    /// Checks that a resource had the returned state at some time in `from_us..=to_us`.
    ///
    /// # Errors
    /// It had no such state.
    pub(crate) fn check_claim(&self, claim: &Claim, from_us: u64, to_us: u64) -> Result<(), String> {
        let states = self.states(&claim.resource, from_us, to_us);
        if states.iter().any(|facts| claim.matches(facts)) {
            return Ok(());
        }
        Err(format!(
            "{claim:?}: from {from_us} to {to_us} the resource had other states only: {states:?}"
        ))
    }

    /// Returns a state that a resource had before `now_us` and that does not match.
    pub(crate) fn stale(&self, claim: &Claim, now_us: u64) -> Option<Claim> {
        let states = self.states(&claim.resource, 0, now_us);
        let old = states.into_iter().find(|facts| !claim.matches(facts))?;
        let facts = claim
            .facts
            .iter()
            .map(|(fact, _)| (fact.clone(), old.get(fact).cloned()));
        Some(Claim {
            facts: facts.collect(),
            ..claim.clone()
        })
    }

    fn states(&self, resource: &Resource, from_us: u64, to_us: u64) -> Vec<&Facts> {
        let history = self.owned.get(resource).map_or(&[][..], |owned| &owned.history);
        let ends = history.iter().skip(1).map(|(at_us, _)| *at_us).chain([u64::MAX]);
        let during = history
            .iter()
            .zip(ends)
            .filter(|((began_us, _), ended_us)| *began_us <= to_us && *ended_us >= from_us);
        during.map(|((_, facts), _)| facts).collect()
    }
}

impl Claim {
    fn matches(&self, state: &Facts) -> bool {
        let is_listed = |fact: &String| self.facts.iter().any(|(listed, _)| listed == fact);
        let is_complete = |prefix: &str| state.keys().filter(|fact| fact.starts_with(prefix)).all(is_listed);
        self.facts.iter().all(|(fact, value)| state.get(fact) == value.as_ref()) && self.all_of.is_none_or(is_complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic() -> Resource {
        Resource {
            kind: ResourceKind::Topic,
            name: "t".into(),
        }
    }

    fn facts(count: &str) -> Facts {
        Facts::from([("partitions".to_owned(), count.to_owned())])
    }

    /// A topic with one partition, and a call that adds another one.
    fn grow(is_repeatable: bool) -> (AdminCalls, u64) {
        let mut calls = AdminCalls::default();
        calls.add(topic(), 0, 1, facts("1"));
        let change = Change {
            resource: topic(),
            fact: "partitions".into(),
            before: Some("1".into()),
            after: Some("2".into()),
        };
        let row = Row {
            key: "t".into(),
            changes: vec![change],
            ..Row::default()
        };
        let id = calls.on_call(Call {
            operation: "CreatePartitions",
            client: 0,
            rows: vec![row],
            is_repeatable,
            is_async: false,
        });
        (calls, id)
    }

    fn result(error: Option<Error>) -> Vec<(String, Option<Error>)> {
        vec![("t".to_owned(), error)]
    }

    #[test]
    fn a_result_must_fit_the_state() {
        let refused = || Some(Error::from(ErrorCode::POLICY_VIOLATION));
        let (mut calls, id) = grow(false);
        assert!(calls.on_result(id, &result(None)).is_err(), "it is not done");
        let (mut calls, id) = grow(false);
        assert_eq!(calls.on_result(id, &result(refused())), Ok(vec![Outcome::Failed]));
        let (mut calls, id) = grow(false);
        calls.on_state(&topic(), 5, facts("2"));
        assert!(calls.on_result(id, &result(refused())).is_err(), "it is done");
        let (mut calls, id) = grow(false);
        calls.on_state(&topic(), 5, facts("2"));
        assert_eq!(calls.on_result(id, &result(None)), Ok(vec![Outcome::Done]));
        assert!(calls.on_result(id, &result(None)).is_err(), "a second result");
        let (mut calls, id) = grow(false);
        assert!(calls.on_result(id, &[]).is_err(), "a row is missing");
    }

    #[test]
    fn a_resource_is_free_when_no_request_is_on_its_way() {
        let (mut calls, id) = grow(false);
        calls.on_sent(7, 1, vec![(topic(), -1)]);
        let late = Error::new(ErrorCode::L_TIMED_OUT, "broker 1 may have executed the operation");
        assert_eq!(calls.on_result(id, &result(Some(late))), Ok(vec![Outcome::Unknown]));
        assert!(calls.of_client(0, ResourceKind::Topic).1.is_empty());
        calls.on_state(&topic(), 9, facts("2"));
        calls.on_served(7, 1, &[(topic(), -1)]).unwrap();
        assert_eq!(calls.of_client(0, ResourceKind::Topic).1, [topic()]);
    }

    #[test]
    fn a_second_execution_is_detected_unless_it_is_allowed() {
        for is_repeatable in [false, true] {
            let (mut calls, _) = grow(is_repeatable);
            calls.on_sent(7, 1, vec![(topic(), -1)]);
            calls.on_sent(8, 1, vec![(topic(), -1)]);
            calls.on_state(&topic(), 9, facts("2"));
            calls.on_served(7, 1, &[(topic(), -1)]).unwrap();
            assert_eq!(calls.on_served(8, 1, &[(topic(), -1)]).is_ok(), is_repeatable);
        }
    }

    #[test]
    fn a_value_must_be_one_of_the_time_of_the_call() {
        let (mut calls, _) = grow(false);
        calls.on_state(&topic(), 9, facts("2"));
        let claim = |value: &str| Claim {
            resource: topic(),
            facts: vec![("partitions".into(), Some(value.into()))],
            all_of: None,
        };
        assert!(calls.check_claim(&claim("1"), 2, 8).is_ok());
        assert!(calls.check_claim(&claim("2"), 2, 8).is_err());
        assert!(calls.check_claim(&claim("2"), 8, 10).is_ok());
        assert!(calls.check_claim(&claim("1"), 10, 12).is_err());
        assert!(calls.stale(&claim("2"), 12).is_some());
    }
}
