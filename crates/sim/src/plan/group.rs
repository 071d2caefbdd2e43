//! The groups of a world: drawn apart from the rest of the plan.

use std::collections::BTreeSet;

use super::faults::GroupFaultPlan;
use super::settings::draw_client_settings;
use super::topics::TopicPlan;
use crate::check::Reset;
use crate::rng::SeededRng;

/// The commit mode of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitMode {
    /// Automatic commits of delivered records.
    Auto,
    /// Automatic commits of offsets that the application stores after processing.
    AutoStored,
    /// Synchronous calls, after processing.
    Sync,
    /// Asynchronous calls.
    Async,
    /// No commits.
    Never,
}

/// The group protocol of the members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupProtocol {
    /// The classic protocol.
    Classic,
    /// The consumer protocol (KIP-848).
    Consumer,
    /// Each client that follows another in its slot speaks either protocol.
    Migrating,
}

impl GroupProtocol {
    fn draw(c: &mut SeededRng) -> Self {
        c.pick(&[
            GroupProtocol::Classic,
            GroupProtocol::Classic,
            GroupProtocol::Consumer,
            GroupProtocol::Migrating,
        ])
    }

    /// Returns true when some members speak the consumer protocol.
    pub(crate) fn has_consumer_protocol(self) -> bool {
        self != GroupProtocol::Classic
    }
}

/// The actions and settings of a member.
#[derive(Debug, Clone)]
pub(crate) struct MemberPlan {
    pub(crate) group: String,
    pub(crate) group_protocol: GroupProtocol,
    /// Its client speaks the consumer protocol.
    pub(crate) is_consumer: bool,
    /// In the classic protocol, its rebalances are cooperative (KIP-429).
    pub(crate) is_cooperative: bool,
    settings: Vec<(String, String)>,
    /// Settings for the classic protocol.
    classic: Vec<(String, String)>,
    /// Settings for the consumer protocol.
    consumer: Vec<(String, String)>,
    /// It subscribes to a pattern.
    pub(crate) by_pattern: bool,
    /// All topics of the world.
    pub(crate) topics: Vec<String>,
    /// The application handles rebalance events.
    pub(crate) by_event: bool,
    pub(crate) is_static: bool,
    pub(crate) reset: Reset,
    pub(crate) session_ms: u64,
    pub(crate) heartbeat_ms: u64,
    pub(crate) max_poll_ms: u64,
    pub(crate) commit: CommitMode,
    /// The number of records between two commits.
    pub(crate) commit_every: u64,
    /// Processes and commits its records before it releases partitions.
    pub(crate) commit_on_revoke: bool,
    /// Does so also when the partitions are lost.
    pub(crate) commits_when_lost: bool,
    /// Processes records in a later turn than it receives them.
    pub(crate) processes_later: bool,
    /// Mean time between two turns.
    pub(crate) pace_us: u64,
    /// Mean number of records in a turn.
    pub(crate) most: u64,
    /// The processing time of a record during faults, with a queue of fetched records behind it.
    pub(crate) record_us: Option<u64>,
    /// Mean time between two disruptive actions.
    pub(crate) action_every_us: u64,
    /// The time of its first start.
    pub(crate) starts_at_us: u64,
    /// The longest time between two clients of the member.
    pub(crate) returns_us: u64,
}

/// The groups of a world.
#[derive(Debug, Clone)]
pub(crate) struct GroupsPlan {
    pub(crate) members: Vec<MemberPlan>,
    pub(crate) faults: GroupFaultPlan,
    /// `group.initial.rebalance.delay.ms`.
    pub(crate) initial_delay_ms: i32,
    /// A member leaves for good after the faults, and the others take over.
    pub(crate) one_leaves: bool,
    /// `group.consumer.heartbeat.interval.ms`.
    pub(crate) consumer_heartbeat_ms: u64,
    /// `group.consumer.session.timeout.ms`.
    pub(crate) consumer_session_ms: u64,
    pub(crate) regex_interval_ms: i32,
    /// Unclean elections occur: committed records are lost.
    pub(crate) may_lose_committed: bool,
}

impl GroupsPlan {
    /// `late` is the generator of properties that were added later, which keeps the draws of the others.
    pub(crate) fn draw(c: &mut SeededRng, late: &mut SeededRng, topics: &[TopicPlan], fault_phase_us: u64) -> Self {
        let groups = c.pick(&[1, 1, 1, 2]);
        let mut members = Vec::new();
        for group in 0..groups {
            let strategies = c.pick(STRATEGIES);
            let reset = c.pick(&[
                Reset::Earliest,
                Reset::Earliest,
                Reset::Earliest,
                Reset::Latest,
                Reset::Error,
            ]);
            let statics = c.pick(&[0.0, 0.0, 0.5, 1.0]);
            let group_protocol = GroupProtocol::draw(late);
            let assignor = late.pick(&["", "uniform", "range"]);
            for _ in 0..c.between(1, 4) {
                let name = format!("group-{group}");
                let strategy = c.pick(strategies);
                let is_static = c.hit(statics);
                let number = members.len();
                let mut member =
                    MemberPlan::draw(c, (name, number), (strategy, reset, is_static), topics, fault_phase_us);
                member.set_group_protocol(late, group_protocol, assignor);
                members.push(member);
            }
        }
        GroupsPlan {
            members,
            faults: GroupFaultPlan::draw(c),
            initial_delay_ms: if c.hit(0.7) { 0 } else { c.between(1, 3000) as i32 },
            one_leaves: c.hit(0.5),
            consumer_heartbeat_ms: late.spread(100, 3000),
            consumer_session_ms: late.spread(9000, 15_000),
            regex_interval_ms: late.pick(&[0, 0, 10_000]),
            may_lose_committed: false,
        }
    }
}

/// The assignors of the members of a group: all members share one. Eager and cooperative assignors do not mix.
const STRATEGIES: &[&[&str]] = &[
    &["range"],
    &["roundrobin"],
    &["range,roundrobin"],
    &["range,roundrobin", "roundrobin,range"],
    &["roundrobin", "range,roundrobin"],
];

/// As [`STRATEGIES`], with sticky assignors.
const STICKY_STRATEGIES: &[&[&str]] = &[
    &["sticky"],
    &["sticky,range", "range,sticky"],
    &["roundrobin,sticky", "sticky"],
    &["cooperative-sticky"],
    &["cooperative-sticky"],
    &["cooperative-sticky"],
    &["cooperative-sticky"],
];

const RACKS: &[&str] = &["rack-a", "rack-b", "rack-c"];

impl GroupsPlan {
    /// Draws properties that were added still later: sticky assignors, patterns in the classic protocol, and racks.
    /// Returns the racks of the brokers.
    pub(crate) fn refine(&mut self, c: &mut SeededRng, brokers: usize) -> Vec<String> {
        let names: BTreeSet<String> = self.members.iter().map(|m| m.group.clone()).collect();
        for name in names {
            let strategies = c.hit(0.6).then(|| c.pick(STICKY_STRATEGIES));
            let patterns = c.pick(&[0.0, 0.0, 0.5, 1.0]);
            for member in self.members.iter_mut().filter(|m| m.group == name) {
                if let Some(strategies) = strategies {
                    member.set_classic(c.pick(strategies));
                }
                member.by_pattern |= member.group_protocol != GroupProtocol::Consumer && c.hit(patterns);
            }
        }
        if !c.hit(0.3) {
            return Vec::new();
        }
        for member in &mut self.members {
            if c.hit(0.8) {
                let rack = c.pick(RACKS).to_owned();
                member.settings.push(("client.rack".to_owned(), rack));
            }
        }
        (0..brokers).map(|_| c.pick(RACKS).to_owned()).collect()
    }
}

impl GroupsPlan {
    /// Slows down the applications of some members.
    pub(crate) fn slow_down(&mut self, c: &mut SeededRng) {
        for member in &mut self.members {
            let limit_us = member.max_poll_ms * 1000 / 2;
            if c.hit(0.6) {
                member.record_us = Some(c.spread(10_000, 1_000_000).min(limit_us));
            }
        }
    }
}

impl MemberPlan {
    fn draw(
        c: &mut SeededRng,
        (group, number): (String, usize),
        (strategy, reset, is_static): (&str, Reset, bool),
        topics: &[TopicPlan],
        fault_phase_us: u64,
    ) -> Self {
        let session_ms = c.spread(1000, 15_000);
        let heartbeat_ms = c.between(session_ms / 10, session_ms / 3);
        let max_poll_ms = c.spread(session_ms.max(3000), 30_000);
        let by_event = c.hit(0.6);
        let commit = c.pick(&[
            CommitMode::Auto,
            CommitMode::Auto,
            CommitMode::AutoStored,
            CommitMode::Sync,
            CommitMode::Async,
            CommitMode::Never,
        ]);
        let mut plan = MemberPlan {
            group_protocol: GroupProtocol::Classic,
            is_consumer: false,
            is_cooperative: false,
            settings: Vec::new(),
            classic: Vec::new(),
            consumer: Vec::new(),
            by_pattern: false,
            topics: topics.iter().map(|t| t.name.clone()).collect(),
            by_event,
            is_static,
            reset,
            session_ms,
            heartbeat_ms,
            max_poll_ms,
            commit,
            // An application without rebalance events commits at once.
            commit_every: if by_event { c.spread(1, 200) } else { 1 },
            commit_on_revoke: c.hit(0.7),
            commits_when_lost: c.hit(0.3),
            // An application without rebalance events processes at once: it could not detect lost partitions.
            processes_later: by_event && c.hit(0.4),
            pace_us: c.spread(1000, 1_000_000),
            most: c.spread(1, 500),
            record_us: None,
            action_every_us: c.spread(1_000_000, 60_000_000),
            starts_at_us: if c.hit(0.5) { 0 } else { c.between(0, fault_phase_us) },
            returns_us: c.spread(1000, 30_000_000),
            group,
        };
        plan.settings = plan.draw_settings(c, number);
        plan.set_classic(strategy);
        plan
    }

    fn set_classic(&mut self, strategy: &str) {
        let set = |name: &str, value: String| (name.to_owned(), value);
        self.is_cooperative = strategy == "cooperative-sticky";
        self.classic = vec![
            set("partition.assignment.strategy", strategy.to_owned()),
            set("session.timeout.ms", self.session_ms.to_string()),
            set("heartbeat.interval.ms", self.heartbeat_ms.to_string()),
        ];
    }

    /// Sets the protocol of the member's group, and its server-side assignor.
    fn set_group_protocol(&mut self, late: &mut SeededRng, group_protocol: GroupProtocol, assignor: &str) {
        self.group_protocol = group_protocol;
        self.consumer.push(("group.protocol".to_owned(), "consumer".to_owned()));
        if !assignor.is_empty() {
            self.consumer
                .push(("group.remote.assignor".to_owned(), assignor.to_owned()));
        }
        self.is_consumer = group_protocol == GroupProtocol::Consumer;
        self.by_pattern = group_protocol == GroupProtocol::Consumer && late.hit(0.3);
    }

    /// Returns all settings of its client.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let own = match self.is_consumer {
            true => &self.consumer,
            false => &self.classic,
        };
        self.settings.iter().chain(own).cloned().collect()
    }

    /// Returns true when no other member may own a partition between its assignment and its release. This is not so for
    /// eager members, which release everything in each rebalance and may miss one, nor for static members of the
    /// classic protocol, whose assignment passes to the next client of the same id.
    pub(crate) fn is_exclusive(&self) -> bool {
        let keeps = self.is_cooperative && self.group_protocol == GroupProtocol::Classic && !self.is_static;
        self.by_event && (self.is_consumer || keeps)
    }

    /// Returns true when it keeps its partitions while the assignments of others change.
    pub(crate) fn is_incremental(&self) -> bool {
        self.is_consumer || self.is_cooperative
    }

    pub(crate) fn is_by_pattern(&self) -> bool {
        self.by_pattern
    }

    fn draw_settings(&self, c: &mut SeededRng, number: usize) -> Vec<(String, String)> {
        let mut out: Vec<(String, String)> = Vec::new();
        draw_client_settings(c, &mut out);
        let mut set = |name: &str, value: String| out.push((name.into(), value));
        let reset = match self.reset {
            Reset::Earliest => "earliest",
            Reset::Latest => "latest",
            Reset::Error => "error",
        };
        set("group.id", self.group.clone());
        set("client.id", format!("member-{number}"));
        if self.is_static {
            set("group.instance.id", format!("instance-{number}"));
        }
        set("auto.offset.reset", reset.into());
        set("max.poll.interval.ms", self.max_poll_ms.to_string());
        let auto = matches!(self.commit, CommitMode::Auto | CommitMode::AutoStored);
        set("enable.auto.commit", auto.to_string());
        set(
            "enable.auto.offset.store",
            (self.commit == CommitMode::Auto).to_string(),
        );
        set("auto.commit.interval.ms", c.spread(50, 10_000).to_string());
        // For a reader without records, only the end of the partition shows its position.
        let eof = self.reset == Reset::Latest || c.hit(0.8);
        set("enable.partition.eof", eof.to_string());
        set(
            "isolation.level",
            c.pick(&["read_committed", "read_uncommitted"]).into(),
        );
        set("fetch.wait.max.ms", c.spread(50, 1000).to_string());
        // New partitions must be detected in time.
        set("topic.metadata.refresh.interval.ms", c.spread(500, 20_000).to_string());
        if c.hit(0.2) {
            set("queued.max.messages.kbytes", c.spread(1, 1000).to_string());
        }
        if c.hit(0.2) {
            set("fetch.error.backoff.ms", c.spread(50, 1000).to_string());
        }
        out
    }
}
