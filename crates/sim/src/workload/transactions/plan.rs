//! What a world of transactions has: drawn apart from the rest of the plan.

use crate::faults::TransactionFaultPlan;
use crate::rng::SeededRng;
use crate::workload::producer::draw_client_settings;

type Settings = Vec<(String, String)>;

/// What writes transactions: a source of inputs, or a processor that reads one topic and writes the next.
#[derive(Debug, Clone)]
pub(crate) struct TxnWorkerPlan {
    /// `transactional.id`, or a part of it.
    pub(crate) name: String,
    /// Which topic it writes: 0 for a source.
    pub(crate) stage: usize,
    /// The partitions that it reads of the topic before.
    pub(crate) inputs: Vec<i32>,
    pub(crate) producer: Settings,
    pub(crate) consumer: Settings,
    /// Inputs that a source makes while faults happen.
    pub(super) items: u64,
    /// Mean time between two turns.
    pub(super) pace_us: u64,
    /// Records in a transaction.
    pub(super) per_transaction: u64,
    /// How likely a transaction is given up that nothing is wrong with, and how likely one is begun for nothing.
    pub(super) abort: f64,
    pub(super) empty: f64,
    /// The timeouts of calls.
    pub(super) call_us: u64,
    /// Mean time between two deeds.
    pub(super) action_every_us: u64,
    pub(crate) transaction_ms: u64,
    /// A client that goes is followed by another one after this time at most.
    pub(crate) returns_us: u64,
    /// It runs the production loop.
    pub(crate) loop_plan: Option<LoopPlan>,
}

/// How a processor runs the production loop.
#[derive(Debug, Clone)]
pub(crate) struct LoopPlan {
    /// `processing.guarantee` is at_least_once.
    pub(super) repeats: bool,
    /// `commit.interval.ms`
    pub(super) commit_ms: u64,
    /// All processes in its place have one `instance.id`.
    pub(super) named: bool,
    /// It is a static member of its group.
    pub(super) is_static: bool,
    /// `max.poll.interval.ms`
    pub(super) max_poll_ms: u64,
    /// What its consumer is set besides.
    pub(super) consumer: Settings,
}

impl LoopPlan {
    fn draw(c: &mut SeededRng, commit_max_ms: u64, repeats: bool) -> Self {
        let max_poll_ms = c.spread(10_000, 60_000);
        let mut consumer = Settings::new();
        let mut set = |name: &str, value: String| consumer.push((name.into(), value));
        match c.pick(&["", "", "range", "consumer"]) {
            "consumer" => set("group.protocol", "consumer".into()),
            strategy => {
                if !strategy.is_empty() {
                    set("partition.assignment.strategy", strategy.into());
                }
                set("session.timeout.ms", c.spread(6000, 10_000).to_string());
                set("heartbeat.interval.ms", c.spread(500, 2000).to_string());
            }
        }
        set("max.poll.interval.ms", max_poll_ms.to_string());
        LoopPlan {
            repeats,
            commit_ms: c.spread(10, commit_max_ms),
            named: c.hit(0.5),
            is_static: c.hit(0.3),
            max_poll_ms,
            consumer,
        }
    }
}

/// What reads what came out.
#[derive(Debug, Clone)]
pub(crate) struct ReaderPlan {
    pub(crate) committed: bool,
    pub(crate) settings: Settings,
    pub(super) pace_us: u64,
}

/// The transactions of a world.
#[derive(Debug, Clone)]
pub(crate) struct TransactionsPlan {
    /// Of the topics from the first inputs to the last output.
    pub(crate) partitions: Vec<i32>,
    pub(crate) workers: Vec<TxnWorkerPlan>,
    pub(crate) readers: Vec<ReaderPlan>,
    pub(crate) faults: TransactionFaultPlan,
    /// The cluster's level of `transaction.version`.
    pub(crate) version: i16,
    pub(crate) marker_delay_us: u64,
}

/// The name of the topic that a stage writes.
pub(crate) fn topic(stage: usize) -> String {
    format!("chain-{stage}")
}

/// The group under which a stage keeps how far it has read.
pub(crate) fn group(stage: usize) -> String {
    format!("stage-{stage}")
}

impl TransactionsPlan {
    pub(crate) fn draw(c: &mut SeededRng) -> Self {
        let stages = c.pick(&[2, 2, 2, 3]);
        let partitions: Vec<i32> = (0..=stages).map(|_| c.between(1, 4) as i32).collect();
        let mut workers = Vec::new();
        for number in 0..c.pick(&[1, 1, 2]) {
            workers.push(TxnWorkerPlan::draw(c, 0, format!("source-{number}"), Vec::new()));
        }
        for stage in 1..=stages {
            let count = partitions[stage - 1];
            let slots = c.between(1, count.unsigned_abs().min(2).into()) as i32;
            for slot in 0..slots {
                let inputs = (0..count).filter(|p| p % slots == slot).collect();
                workers.push(TxnWorkerPlan::draw(c, stage, format!("stage-{stage}-{slot}"), inputs));
            }
        }
        let readers = [true, false].map(|committed| ReaderPlan::draw(c, committed));
        let version = c.pick(&[2, 2, 1, 0]);
        TransactionsPlan {
            partitions,
            workers,
            readers: readers.into(),
            faults: TransactionFaultPlan::draw(c),
            version,
            marker_delay_us: c.pick(&[0, 1000, 20_000, 300_000]),
        }
    }

    /// Has processors run the production loop, exactly once or at least once (`repeats`).
    pub(crate) fn run_loops(&mut self, c: &mut SeededRng, repeats: bool) {
        for worker in self.workers.iter_mut().filter(|w| w.stage > 0) {
            worker.loop_plan = Some(LoopPlan::draw(c, worker.transaction_ms / 2, repeats));
        }
    }

    /// Whether processors may do something again.
    pub(crate) fn repeats(&self) -> bool {
        self.workers.iter().flat_map(|w| &w.loop_plan).any(|l| l.repeats)
    }

    /// Whether they do.
    pub(crate) fn has_loops(&self) -> bool {
        self.workers.iter().any(|w| w.loop_plan.is_some())
    }

    /// The last topic's number.
    pub(crate) fn last(&self) -> usize {
        self.partitions.len() - 1
    }
}

impl TxnWorkerPlan {
    fn draw(c: &mut SeededRng, stage: usize, name: String, inputs: Vec<i32>) -> Self {
        let transaction_ms = c.pick(&[60_000, 30_000, 10_000, 2000]);
        let mut producer = Settings::new();
        draw_client_settings(c, &mut producer);
        let mut consumer = Settings::new();
        draw_client_settings(c, &mut consumer);
        let mut set = |name: &str, value: String| producer.push((name.into(), value));
        set("transactional.id", name.clone());
        set("transaction.timeout.ms", transaction_ms.to_string());
        set("message.timeout.ms", transaction_ms.to_string());
        set("socket.timeout.ms", c.spread(1000, transaction_ms).to_string());
        set("linger.ms", c.pick(&[0, 5, 50]).to_string());
        if c.hit(0.3) {
            set("max.in.flight", c.between(1, 5).to_string());
        }
        let mut set = |name: &str, value: String| consumer.push((name.into(), value));
        set("group.id", group(stage));
        set("enable.auto.commit", "false".into());
        set("isolation.level", "read_committed".into());
        set("auto.offset.reset", "earliest".into());
        set("fetch.wait.max.ms", c.spread(50, 1000).to_string());
        TxnWorkerPlan {
            name,
            stage,
            inputs,
            producer,
            consumer,
            items: c.spread(10, 150),
            pace_us: c.spread(1000, 300_000),
            per_transaction: c.spread(1, 20),
            abort: c.pick(&[0.0, 0.1, 0.4]),
            empty: c.pick(&[0.0, 0.0, 0.1]),
            call_us: c.spread(100_000, 60_000_000),
            action_every_us: c.spread(2_000_000, 60_000_000),
            transaction_ms,
            returns_us: c.spread(1000, 5_000_000),
            loop_plan: None,
        }
    }

    /// The name of the `starts`th process in its place: one of its own, or the same for all.
    pub(super) fn instance(&self, starts: u32) -> String {
        match &self.loop_plan {
            Some(loop_plan) if !loop_plan.named => format!("{}-{starts}", self.name),
            _ => self.name.clone(),
        }
    }

    /// The `transactional.id` of that process.
    pub(crate) fn transactional_id(&self, starts: u32) -> String {
        match self.loop_plan {
            Some(_) => format!("{}-{}", group(self.stage), self.instance(starts)),
            None => self.name.clone(),
        }
    }
}

impl ReaderPlan {
    fn draw(c: &mut SeededRng, committed: bool) -> Self {
        let mut settings = Settings::new();
        draw_client_settings(c, &mut settings);
        let level = if committed {
            "read_committed"
        } else {
            "read_uncommitted"
        };
        let mut set = |name: &str, value: String| settings.push((name.into(), value));
        set("group.id", "readers".into());
        set("enable.auto.commit", "false".into());
        set("isolation.level", level.into());
        set("auto.offset.reset", "earliest".into());
        set("fetch.wait.max.ms", c.spread(50, 1000).to_string());
        if c.hit(0.3) {
            set("fetch.message.max.bytes", c.spread(100, 10_000).to_string());
        }
        ReaderPlan {
            committed,
            settings,
            pace_us: c.spread(1000, 500_000),
        }
    }
}
