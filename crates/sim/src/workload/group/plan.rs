//! What groups a world has: drawn apart from the rest of the plan.

use std::collections::BTreeSet;

use crate::check::Reset;
use crate::faults::GroupFaultPlan;
use crate::plan::TopicPlan;
use crate::rng::SeededRng;
use crate::workload::producer::draw_client_settings;

/// How a member commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitMode {
    /// Automatically, what was handed out.
    Auto,
    /// Automatically, what the application has stored after processing.
    AutoStored,
    /// By calls that wait for their result, after processing.
    Sync,
    /// By calls that do not wait.
    Async,
    /// Not at all.
    Never,
}

/// Which protocol the members of a group speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupProtocol {
    /// The classic protocol.
    Classic,
    /// The consumer protocol (KIP-848).
    Consumer,
    /// Each client that follows another may speak the other protocol.
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

    /// Whether some members speak the consumer protocol.
    pub(crate) fn has_consumer_protocol(self) -> bool {
        self != GroupProtocol::Classic
    }
}

/// What a member does, and how it is set.
#[derive(Debug, Clone)]
pub(crate) struct MemberPlan {
    pub(crate) group: String,
    pub(crate) group_protocol: GroupProtocol,
    /// Its client speaks the consumer protocol.
    pub(crate) is_consumer: bool,
    /// While it speaks the classic protocol it keeps what stays its own (KIP-429).
    pub(crate) is_cooperative: bool,
    settings: Vec<(String, String)>,
    /// What is set besides while it speaks the classic protocol.
    classic: Vec<(String, String)>,
    /// What is set besides while it speaks the consumer protocol.
    consumer: Vec<(String, String)>,
    /// It subscribes by a pattern.
    pub(super) by_pattern: bool,
    /// All topics of the world.
    pub(crate) topics: Vec<String>,
    /// The application carries out rebalances itself.
    pub(crate) by_event: bool,
    pub(crate) is_static: bool,
    pub(crate) reset: Reset,
    pub(crate) session_ms: u64,
    pub(crate) heartbeat_ms: u64,
    pub(crate) max_poll_ms: u64,
    pub(super) commit: CommitMode,
    /// Records between two commits.
    pub(super) commit_every: u64,
    /// Processes and commits what it has before it gives partitions up.
    pub(super) commit_on_revoke: bool,
    /// Does so even when it is told that the partitions are lost.
    pub(super) commits_when_lost: bool,
    /// Processes what it took in a later turn.
    pub(super) processes_later: bool,
    /// Mean time between two turns.
    pub(super) pace_us: u64,
    /// Records in a turn.
    pub(super) most: u64,
    /// While faults happen, the application takes this long for each record, with a queue of fetched records behind it.
    pub(super) record_us: Option<u64>,
    /// Mean time between two deeds.
    pub(super) action_every_us: u64,
    /// When it begins.
    pub(crate) starts_at_us: u64,
    /// A client that goes is followed by another one after this time at most.
    pub(crate) returns_us: u64,
}

/// The groups of a world.
#[derive(Debug, Clone)]
pub(crate) struct GroupsPlan {
    pub(crate) members: Vec<MemberPlan>,
    pub(crate) faults: GroupFaultPlan,
    /// `group.initial.rebalance.delay.ms`.
    pub(crate) initial_delay_ms: i32,
    /// Somebody leaves in peace, and the others take over.
    pub(crate) one_leaves: bool,
    /// `group.consumer.heartbeat.interval.ms`.
    pub(crate) consumer_heartbeat_ms: u64,
    /// `group.consumer.session.timeout.ms`.
    pub(crate) consumer_session_ms: u64,
    pub(crate) regex_interval_ms: i32,
    /// Replicas that lag behind may be elected: committed records are lost.
    pub(crate) may_lose_committed: bool,
}

impl GroupsPlan {
    /// `late` decides what was added to worlds later, so that the others stay what they were.
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

/// What the members of a group may be set to: all have one in common. Eager strategies and cooperative ones do not mix.
const STRATEGIES: &[&[&str]] = &[
    &["range"],
    &["roundrobin"],
    &["range,roundrobin"],
    &["range,roundrobin", "roundrobin,range"],
    &["roundrobin", "range,roundrobin"],
];

/// As [`STRATEGIES`], with those that mind what members had.
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
    /// What was added to worlds still later: sticky strategies, patterns in the classic protocol, and racks, of which
    /// the brokers' are given back.
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
    /// Makes applications of some members slow.
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
            // Who does not hear of rebalances has to commit at once, too.
            commit_every: if by_event { c.spread(1, 200) } else { 1 },
            commit_on_revoke: c.hit(0.7),
            commits_when_lost: c.hit(0.3),
            // Who does not hear of rebalances has to process at once: it could not know what it has lost.
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

    /// Which protocol the member's group speaks, and which server-side assignor it asks for.
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

    /// All that its client is set to.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let own = match self.is_consumer {
            true => &self.consumer,
            false => &self.classic,
        };
        self.settings.iter().chain(own).cloned().collect()
    }

    /// Whether nobody else may own what this member has been given and has not given up: not so while everybody gives
    /// everything up at each rebalance, and members may miss one; nor for static members of the classic protocol, whose
    /// last word stands for who follows them.
    pub(crate) fn is_exclusive(&self) -> bool {
        let keeps = self.is_cooperative && self.group_protocol == GroupProtocol::Classic && !self.is_static;
        self.by_event && (self.is_consumer || keeps)
    }

    /// Whether it keeps what stays its own while the assignments of others change.
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
        // Only this tells where a reader stands that has nothing to read.
        let eof = self.reset == Reset::Latest || c.hit(0.8);
        set("enable.partition.eof", eof.to_string());
        set(
            "isolation.level",
            c.pick(&["read_committed", "read_uncommitted"]).into(),
        );
        set("fetch.wait.max.ms", c.spread(50, 1000).to_string());
        // Growth of topics must be noticed in time.
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
