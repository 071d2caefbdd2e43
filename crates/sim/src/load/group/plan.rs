//! What groups a world has: drawn apart from the rest of the plan.

use crate::chance::Chance;
use crate::check::Reset;
use crate::faults::GroupFaultPlan;
use crate::load::producer::draw_client_settings;
use crate::plan::TopicPlan;

/// How a member commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitHow {
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

/// What a member does, and how it is set.
#[derive(Debug, Clone)]
pub(crate) struct MemberPlan {
    pub(crate) group: String,
    pub(crate) settings: Vec<(String, String)>,
    /// All topics of the world.
    pub(crate) topics: Vec<String>,
    /// The application carries out rebalances itself.
    pub(crate) by_event: bool,
    pub(crate) is_static: bool,
    pub(crate) reset: Reset,
    pub(crate) session_ms: u64,
    pub(crate) heartbeat_ms: u64,
    pub(crate) max_poll_ms: u64,
    pub(super) commit: CommitHow,
    /// Records between two commits.
    pub(super) commit_every: u64,
    /// Processes and commits what it has before it gives partitions up.
    pub(super) commit_on_revoke: bool,
    /// Does so even when it is told that the partitions are lost.
    pub(super) careless: bool,
    /// Processes what it took in a later turn.
    pub(super) dawdles: bool,
    /// Mean time between two turns.
    pub(super) pace_us: u64,
    /// Records in a turn.
    pub(super) most: u64,
    /// Mean time between two deeds.
    pub(super) deed_every_us: u64,
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
}

impl GroupsPlan {
    pub(crate) fn draw(c: &mut Chance, topics: &[TopicPlan], fault_phase_us: u64) -> Self {
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
            for _ in 0..c.between(1, 4) {
                let name = format!("group-{group}");
                let strategy = c.pick(strategies);
                let is_static = c.hit(statics);
                let number = members.len();
                members.push(MemberPlan::draw(
                    c,
                    (name, number),
                    (strategy, reset, is_static),
                    topics,
                    fault_phase_us,
                ));
            }
        }
        GroupsPlan {
            members,
            faults: GroupFaultPlan::draw(c),
            initial_delay_ms: if c.hit(0.7) { 0 } else { c.between(1, 3000) as i32 },
            one_leaves: c.hit(0.5),
        }
    }
}

/// What the members of a group may be set to: all have one in common.
const STRATEGIES: &[&[&str]] = &[
    &["range"],
    &["roundrobin"],
    &["range,roundrobin"],
    &["range,roundrobin", "roundrobin,range"],
    &["roundrobin", "range,roundrobin"],
];

impl MemberPlan {
    fn draw(
        c: &mut Chance,
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
            CommitHow::Auto,
            CommitHow::Auto,
            CommitHow::AutoStored,
            CommitHow::Sync,
            CommitHow::Async,
            CommitHow::Never,
        ]);
        let mut plan = MemberPlan {
            settings: Vec::new(),
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
            careless: c.hit(0.3),
            // Who does not hear of rebalances has to process at once: it could not know what it has lost.
            dawdles: by_event && c.hit(0.4),
            pace_us: c.spread(1000, 1_000_000),
            most: c.spread(1, 500),
            deed_every_us: c.spread(1_000_000, 60_000_000),
            starts_at_us: if c.hit(0.5) { 0 } else { c.between(0, fault_phase_us) },
            returns_us: c.spread(1000, 30_000_000),
            group,
        };
        plan.settings = plan.draw_settings(c, strategy, number);
        plan
    }

    fn draw_settings(&self, c: &mut Chance, strategy: &str, number: usize) -> Vec<(String, String)> {
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
        set("partition.assignment.strategy", strategy.into());
        set("auto.offset.reset", reset.into());
        set("session.timeout.ms", self.session_ms.to_string());
        set("heartbeat.interval.ms", self.heartbeat_ms.to_string());
        set("max.poll.interval.ms", self.max_poll_ms.to_string());
        let auto = matches!(self.commit, CommitHow::Auto | CommitHow::AutoStored);
        set("enable.auto.commit", auto.to_string());
        set("enable.auto.offset.store", (self.commit == CommitHow::Auto).to_string());
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
