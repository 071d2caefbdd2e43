//! What goes wrong with groups: coordinators that move, load or are not to be found, and the requests made to them.

use ottla_mock::{BrokerId, CoordinatorKind};
use ottla_protocol::{ApiKey, ErrorCode};

use super::FaultEvent;
use super::codes;
use crate::rng::SeededRng;
use crate::trace::trace;
use crate::world::{World, WorldEvent};

type E = ErrorCode;

/// The requests of groups.
const APIS: &[ApiKey] = &[
    ApiKey::FIND_COORDINATOR,
    ApiKey::JOIN_GROUP,
    ApiKey::SYNC_GROUP,
    ApiKey::HEARTBEAT,
    ApiKey::LEAVE_GROUP,
    ApiKey::CONSUMER_GROUP_HEARTBEAT,
    ApiKey::OFFSET_COMMIT,
    ApiKey::OFFSET_FETCH,
];

/// The kinds of faults of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupFault {
    /// Another broker coordinates a group.
    MoveCoordinator,
    /// A coordinator does not serve a group for a while.
    BlockCoordinator,
    /// Requests are answered with an error.
    RequestError,
    /// Requests meet a broken connection, before or after they are served.
    RequestDisconnect,
    /// Requests are answered late.
    RequestDelay,
}

const KINDS: &[(GroupFault, &str)] = &[
    (GroupFault::MoveCoordinator, "coordinator moves"),
    (GroupFault::BlockCoordinator, "coordinators loading or not available"),
    (GroupFault::RequestError, "group request errors"),
    (GroupFault::RequestDisconnect, "group request disconnects"),
    (GroupFault::RequestDelay, "group request delays"),
];

/// Which of them a world has, and how often.
#[derive(Debug, Clone)]
pub(crate) struct GroupFaultPlan {
    kinds: Vec<(GroupFault, u64)>,
    /// Errors that no retry helps against are among the request errors.
    fatal_errors: bool,
}

impl GroupFaultPlan {
    pub(crate) fn draw(c: &mut SeededRng) -> Self {
        let probability = c.pick(&[0.0, 0.3, 0.5]);
        let mut kinds = Vec::new();
        for (kind, _) in KINDS {
            if c.hit(probability) {
                kinds.push((*kind, c.spread(200_000, 30_000_000)));
            }
        }
        GroupFaultPlan {
            kinds,
            fatal_errors: c.hit(0.4),
        }
    }
}

impl World {
    pub(super) fn start_group_faults(&mut self) {
        let plan = self.plan.groups.as_ref().map(|g| g.faults.clone());
        for (kind, mean_us) in plan.into_iter().flat_map(|p| p.kinds) {
            self.next_group_strike(kind, mean_us);
        }
    }

    fn next_group_strike(&mut self, kind: GroupFault, mean_us: u64) {
        let pause = self.faults.rng.between(mean_us / 10, mean_us * 2);
        self.after_us(pause, WorldEvent::Fault(FaultEvent::StrikeGroup(kind, mean_us)));
    }

    pub(super) fn strike_group(&mut self, kind: GroupFault, mean_us: u64) {
        if !self.net.faults_enabled {
            return;
        }
        self.cluster.advance_clock(ottla_mock::Time(self.now_us));
        match kind {
            GroupFault::MoveCoordinator => self.move_coordinator(),
            GroupFault::BlockCoordinator => self.block_coordinator(),
            GroupFault::RequestError => self.push_group_error(),
            GroupFault::RequestDisconnect => {
                let api = self.faults.rng.pick(APIS);
                self.push_disconnect_on(api);
            }
            GroupFault::RequestDelay => {
                let api = self.faults.rng.pick(APIS);
                self.push_delay_on(api);
            }
        }
        let name = KINDS
            .iter()
            .find(|(k, _)| *k == kind)
            .map_or("faults", |(_, name)| name);
        self.coverage.fault(name);
        self.next_group_strike(kind, mean_us);
    }

    fn any_group(&mut self) -> String {
        let groups = self.group_members.groups();
        groups[self.faults.rng.below(groups.len())].clone()
    }

    fn move_coordinator(&mut self) {
        let group = self.any_group();
        let ids: Vec<BrokerId> = self.cluster.broker_ids().collect();
        let broker = self.faults.rng.pick(&ids);
        trace!(self.trace, "FAULT {group} gets coordinator {broker}");
        self.cluster.set_coordinator(CoordinatorKind::Group, &group, broker);
    }

    fn block_coordinator(&mut self) {
        let group = self.any_group();
        let error = self
            .faults
            .rng
            .pick(&[E::COORDINATOR_LOAD_IN_PROGRESS, E::COORDINATOR_NOT_AVAILABLE]);
        trace!(self.trace, "FAULT the coordinator of {group} answers {error:?}");
        self.cluster
            .set_coordinator_error(CoordinatorKind::Group, &group, Some(error));
        let outage = self.outage_us();
        self.after_us(outage, WorldEvent::Fault(FaultEvent::EndCoordinatorError(group)));
    }

    pub(super) fn end_coordinator_error(&mut self, group: &str) {
        self.cluster.advance_clock(ottla_mock::Time(self.now_us));
        self.cluster.set_coordinator_error(CoordinatorKind::Group, group, None);
    }

    fn push_group_error(&mut self) {
        let api = self.faults.rng.pick(APIS);
        let fatal = self.plan.groups.as_ref().is_some_and(|g| g.faults.fatal_errors) && self.faults.rng.hit(0.3);
        if let Some(row) = codes::of(api) {
            self.push_errors(*row, fatal);
        }
    }

    pub(super) fn heal_groups(&mut self) {
        for group in self.group_members.groups() {
            self.end_coordinator_error(&group);
        }
    }
}
