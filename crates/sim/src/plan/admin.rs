//! Worlds in which clients make admin calls.

use ottla_protocol::ApiKey;

use super::seeds::has_admin;
use super::settings::{Settings, draw_client_settings};
use crate::rng::SeededRng;

/// The kinds of faults of admin calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdminFault {
    /// Requests are answered with an error.
    RequestError,
    /// Connections break, before or after a request is served, or hang.
    RequestDisconnect,
    /// Requests are answered late.
    RequestDelay,
    /// Responses have a throttle time.
    Throttle,
    /// A group gets another coordinator.
    MoveCoordinator,
    /// A coordinator does not serve a group for a while.
    BlockCoordinator,
}

const KINDS: &[(AdminFault, &str)] = &[
    (AdminFault::RequestError, "admin request errors"),
    (AdminFault::RequestDisconnect, "admin request disconnects"),
    (AdminFault::RequestDelay, "admin request delays"),
    (AdminFault::Throttle, "admin throttles"),
    (AdminFault::MoveCoordinator, "coordinator moves of admin groups"),
    (
        AdminFault::BlockCoordinator,
        "coordinators of admin groups loading or not available",
    ),
];

impl AdminFault {
    /// Returns the name under which faults of this kind are counted.
    pub(crate) fn name(self) -> &'static str {
        let row = KINDS.iter().find(|(kind, _)| *kind == self);
        row.map_or("faults", |(_, name)| name)
    }
}

/// The latest versions of admin requests in older brokers; -1 for APIs that they lack.
const ADMIN_VERSIONS: &[(ApiKey, i16, i16)] = &[
    (ApiKey::CREATE_TOPICS, 2, 7),
    (ApiKey::DELETE_TOPICS, 1, 6),
    (ApiKey::CREATE_PARTITIONS, 0, 3),
    (ApiKey::DELETE_RECORDS, 0, 2),
    (ApiKey::DESCRIBE_CONFIGS, 1, 4),
    (ApiKey::ALTER_CONFIGS, 0, 2),
    (ApiKey::INCREMENTAL_ALTER_CONFIGS, -1, 1),
    (ApiKey::DESCRIBE_ACLS, 1, 3),
    (ApiKey::CREATE_ACLS, 1, 3),
    (ApiKey::DELETE_ACLS, 1, 3),
    (ApiKey::ELECT_LEADERS, -1, 2),
    (ApiKey::DESCRIBE_CLUSTER, -1, 2),
    (ApiKey::LIST_GROUPS, 0, 5),
    (ApiKey::DESCRIBE_GROUPS, 0, 6),
    (ApiKey::CONSUMER_GROUP_DESCRIBE, -1, 1),
    (ApiKey::DELETE_GROUPS, 0, 2),
    (ApiKey::OFFSET_DELETE, -1, 0),
    (ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS, -1, 0),
    (ApiKey::ALTER_USER_SCRAM_CREDENTIALS, -1, 0),
];

/// Admin calls of a world.
#[derive(Debug, Clone)]
pub(crate) struct AdminPlan {
    /// The settings of the clients that only make admin calls.
    pub(crate) clients: Vec<Settings>,
    /// Probability that another client makes admin calls, too.
    pub(crate) others: f64,
    /// Mean time between two calls of a client during the faults.
    pub(crate) pace_us: u64,
    /// The largest number of calls of a client at once.
    pub(crate) at_once: usize,
    /// The largest number of calls of a client during the faults.
    pub(crate) calls_max: u32,
    /// Kinds of faults with the mean time between two of them.
    pub(crate) faults: Vec<(AdminFault, u64)>,
    /// Request errors include errors that end a call.
    pub(crate) fatal_errors: bool,
    /// The latest versions of older brokers.
    pub(crate) versions: Vec<(ApiKey, i16)>,
}

impl AdminPlan {
    /// Draws the admin calls of some worlds.
    pub(crate) fn draw(seed: u64) -> Option<Self> {
        if !has_admin(seed) {
            return None;
        }
        let mut c = SeededRng::of(seed, 80);
        let clients = (0..c.pick(&[1, 1, 2])).map(|_| {
            let mut settings = Settings::new();
            draw_client_settings(&mut c, &mut settings);
            settings
        });
        let clients = clients.collect();
        let frequency = c.pick(&[0.0, 0.3, 0.6]);
        let kinds: Vec<AdminFault> = KINDS
            .iter()
            .filter(|_| c.hit(frequency))
            .map(|(kind, _)| *kind)
            .collect();
        let is_old = c.hit(0.3);
        let old = ADMIN_VERSIONS
            .iter()
            .filter(|_| is_old && c.hit(0.5))
            .collect::<Vec<_>>();
        let version = |c: &mut SeededRng, low: i16, high: i16| {
            let steps = u64::try_from(high - low).unwrap_or(0);
            low + i16::try_from(c.between(0, steps)).unwrap_or(0)
        };
        Some(AdminPlan {
            clients,
            others: c.pick(&[0.0, 0.3, 0.6]),
            pace_us: c.spread(30_000, 3_000_000),
            at_once: c.pick(&[1, 3, 3, 8]),
            calls_max: c.pick(&[10, 30, 60]),
            faults: kinds
                .into_iter()
                .map(|kind| (kind, c.spread(200_000, 10_000_000)))
                .collect(),
            fatal_errors: c.hit(0.5),
            versions: old
                .into_iter()
                .map(|(api, low, high)| (*api, version(&mut c, *low, *high)))
                .collect(),
        })
    }
}
