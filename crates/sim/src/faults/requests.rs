//! Requests that are answered with errors, late, or not at all.

use ottla_mock::{Fault, FaultAction, LeaderHints};
use ottla_protocol::{ApiKey, ErrorCode};

use super::FaultEvent;
use super::codes::{self, BY_PARTITION, CODES, Codes};
use crate::trace::trace;
use crate::world::{World, WorldEvent};

impl World {
    /// Errors that no retry helps against are drawn only in worlds that have them.
    fn draws_fatal(&mut self) -> bool {
        self.plan.faults.fatal_errors && self.faults.rng.hit(0.3)
    }

    /// The codes of a request that clients have made.
    fn any_codes(&mut self) -> Codes {
        let requested_apis = &self.faults.requested_apis;
        let rows: Vec<Codes> = CODES
            .iter()
            .filter(|c| requested_apis.contains(&c.api))
            .copied()
            .collect();
        self.faults.rng.pick(&rows)
    }

    fn any_api(&mut self) -> ApiKey {
        self.any_codes().api
    }

    pub(super) fn push_request_error(&mut self) -> bool {
        let row = self.any_codes();
        let fatal = self.draws_fatal();
        self.push_errors(row, fatal);
        true
    }

    pub(super) fn push_errors(&mut self, row: Codes, fatal: bool) {
        let way = self.faults.rng.f64();
        let (codes, action): (_, fn(ErrorCode) -> FaultAction) = match fatal {
            true => (row.fatal, FaultAction::Error),
            false if way < 0.2 && !row.whole.is_empty() => (row.whole, FaultAction::WholeError),
            false if way < 0.5 && !row.after.is_empty() => (row.after, FaultAction::ErrorAfter),
            false => (row.passing, FaultAction::Error),
        };
        for _ in 0..self.faults.rng.pick(&[1, 1, 1, 2, 5]) {
            let error = self.faults.rng.pick(codes);
            let (api, action) = (row.api, action(error));
            trace!(self.trace, "FAULT the next {api} request meets {action:?}");
            let fences = matches!(error, ErrorCode::PRODUCER_FENCED | ErrorCode::INVALID_PRODUCER_EPOCH);
            if fences && api == ApiKey::INIT_PRODUCER_ID {
                self.check.fencing.on_injected_fencing();
            }
            self.coverage.fault(error.name().unwrap_or("unknown error codes"));
            self.cluster.push_fault(None, api, Fault { action, delay_us: 0 });
        }
    }

    /// One partition answers requests of one API with an error for a while.
    pub(super) fn break_partition(&mut self) -> bool {
        let api = self.faults.rng.pick(BY_PARTITION);
        let topic = self.any_topic();
        let count = self.cluster.partition_count(&topic).unwrap_or(0);
        let Some(row) = codes::of(api).filter(|_| count > 0) else {
            return false;
        };
        let partition = self.faults.rng.below(count) as i32;
        let of_all = match self.draws_fatal() {
            true => row.fatal,
            false => row.passing,
        };
        let error = self.faults.rng.pick(codes::of_partitions(api).unwrap_or(of_all));
        trace!(
            self.trace,
            "FAULT {api} of {topic} [{partition}] meets {error:?} for a while"
        );
        self.coverage.fault(error.name().unwrap_or("unknown error codes"));
        self.cluster.set_partition_error(api, &topic, partition, Some(error));
        self.faults.partition_errors.push((api, topic.clone(), partition));
        let outage = self.outage_us();
        self.after_us(
            outage,
            WorldEvent::Fault(FaultEvent::EndPartitionError(api, topic, partition)),
        );
        true
    }

    pub(super) fn push_disconnect(&mut self) -> bool {
        let api = self.any_api();
        self.push_disconnect_on(api);
        true
    }

    pub(super) fn push_disconnect_on(&mut self, api: ApiKey) {
        let action = self.faults.rng.pick(&[
            FaultAction::DisconnectBefore,
            FaultAction::DisconnectAfter,
            FaultAction::Hang,
        ]);
        trace!(self.trace, "FAULT the next {api} request meets {action:?}");
        if action == FaultAction::Hang {
            self.coverage.fault("hanging connections");
        }
        self.cluster.push_fault(None, api, Fault { action, delay_us: 0 });
    }

    pub(super) fn push_delay(&mut self) -> bool {
        let api = self.any_api();
        self.push_delay_on(api);
        true
    }

    pub(super) fn push_delay_on(&mut self, api: ApiKey) {
        let delay_us = self.faults.rng.spread(1000, 90_000_000);
        trace!(
            self.trace,
            "FAULT the next {api} request is answered {delay_us} us late"
        );
        self.cluster.push_fault(
            None,
            api,
            Fault {
                action: FaultAction::Serve,
                delay_us,
            },
        );
    }

    pub(super) fn throttle(&mut self) -> bool {
        let api = self.any_api();
        let millis = self.faults.rng.spread(1, 5000) as i32;
        trace!(self.trace, "FAULT {api} is throttled by {millis} ms");
        self.cluster.set_throttle_ms(api, millis);
        self.faults.throttled.push(api);
        let outage = self.outage_us();
        self.after_us(outage, WorldEvent::Fault(FaultEvent::EndThrottle(api)));
        true
    }

    pub(super) fn fail_producer_requests(&mut self) -> bool {
        let api = match self.faults.rng.hit(0.2) {
            true => ApiKey::INIT_PRODUCER_ID,
            false => ApiKey::PRODUCE,
        };
        let Some(row) = codes::of(api) else { return false };
        match self.faults.rng.below(4) {
            0 => self.push_delay_on(api),
            1 => self.push_disconnect_on(api),
            _ => {
                let fatal = self.draws_fatal();
                self.push_errors(*row, fatal);
            }
        }
        true
    }

    /// One record in so many is refused, and its batch with it.
    pub(super) fn reject_records(&mut self) -> bool {
        if !self.plan.faults.fatal_errors {
            return false;
        }
        let action = FaultAction::BadRecords(self.faults.rng.pick(&[1, 2, 3, 10]));
        trace!(self.trace, "FAULT the next Produce request meets {action:?}");
        self.cluster
            .push_fault(None, ApiKey::PRODUCE, Fault { action, delay_us: 0 });
        true
    }

    pub(super) fn break_leader_hints(&mut self) -> bool {
        let kinds = [LeaderHints::None, LeaderHints::Stale, LeaderHints::NoAddress];
        let hints = self.faults.rng.pick(&kinds);
        trace!(self.trace, "FAULT leader hints: {hints:?}");
        self.cluster.set_leader_hints(hints);
        let outage = self.outage_us();
        self.after_us(outage, WorldEvent::Fault(FaultEvent::EndHints));
        true
    }

    pub(super) fn heal_requests(&mut self) {
        self.cluster.set_leader_hints(LeaderHints::Current);
        for row in CODES {
            self.cluster.clear_request_errors(row.api);
        }
        self.cluster.end_hangs();
        for (api, topic, partition) in std::mem::take(&mut self.faults.partition_errors) {
            self.cluster.set_partition_error(api, &topic, partition, None);
        }
        for api in std::mem::take(&mut self.faults.throttled) {
            self.cluster.set_throttle_ms(api, 0);
        }
    }
}
