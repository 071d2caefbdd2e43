//! The transactions of a world: drawn apart from the rest of the plan.

use super::faults::TransactionFaultPlan;
use super::settings::{Settings, draw_client_settings};
use crate::chain::group;
use crate::rng::SeededRng;

/// A worker that writes transactions: a source of inputs, or a processor that reads one topic and writes the next.
#[derive(Debug, Clone)]
pub(crate) struct TxnWorkerPlan {
    /// `transactional.id`, or a part of it.
    pub(crate) name: String,
    /// The topic that it writes; 0 for a source.
    pub(crate) stage: usize,
    /// The partitions that it reads of the topic before.
    pub(crate) inputs: Vec<i32>,
    pub(crate) producer: Settings,
    pub(crate) consumer: Settings,
    /// The number of inputs that a source makes during faults.
    pub(crate) items: u64,
    /// Mean time between two turns.
    pub(crate) pace_us: u64,
    /// Mean number of records in a transaction.
    pub(crate) per_transaction: u64,
    /// Probabilities that a transaction is aborted without an error, and that an empty one is begun.
    pub(crate) abort: f64,
    pub(crate) empty: f64,
    /// The timeouts of calls.
    pub(crate) call_us: u64,
    /// Mean time between two disruptive actions.
    pub(crate) action_every_us: u64,
    pub(crate) transaction_ms: u64,
    /// The longest time between two clients of the worker.
    pub(crate) returns_us: u64,
    /// It runs the production loop with this plan.
    pub(crate) loop_plan: Option<LoopPlan>,
}

/// The plan of a processor that runs the production loop.
#[derive(Debug, Clone)]
pub(crate) struct LoopPlan {
    /// `processing.guarantee` is at_least_once.
    pub(crate) repeats: bool,
    /// `commit.interval.ms`
    pub(crate) commit_ms: u64,
    /// All processes of the worker share one `instance.id`.
    pub(crate) named: bool,
    /// It is a static member of its group.
    pub(crate) is_static: bool,
    /// `max.poll.interval.ms`
    pub(crate) max_poll_ms: u64,
    /// Additional settings of its consumer.
    pub(crate) consumer: Settings,
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

/// A reader of the chain.
#[derive(Debug, Clone)]
pub(crate) struct ReaderPlan {
    pub(crate) committed: bool,
    pub(crate) settings: Settings,
    pub(crate) pace_us: u64,
}

/// The transactions of a world.
#[derive(Debug, Clone)]
pub(crate) struct TransactionsPlan {
    /// The numbers of partitions of the topics, from the first input to the last output.
    pub(crate) partitions: Vec<i32>,
    pub(crate) workers: Vec<TxnWorkerPlan>,
    pub(crate) readers: Vec<ReaderPlan>,
    pub(crate) faults: TransactionFaultPlan,
    /// The cluster's level of `transaction.version`.
    pub(crate) version: i16,
    pub(crate) marker_delay_us: u64,
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

    /// Makes processors run the production loop, exactly once or at least once (`repeats`).
    pub(crate) fn run_loops(&mut self, c: &mut SeededRng, repeats: bool) {
        for worker in self.workers.iter_mut().filter(|w| w.stage > 0) {
            worker.loop_plan = Some(LoopPlan::draw(c, worker.transaction_ms / 2, repeats));
        }
    }

    /// Returns true when processors may repeat inputs.
    pub(crate) fn repeats(&self) -> bool {
        self.workers.iter().flat_map(|w| &w.loop_plan).any(|l| l.repeats)
    }

    /// Returns true when processors run the production loop.
    pub(crate) fn has_loops(&self) -> bool {
        self.workers.iter().any(|w| w.loop_plan.is_some())
    }

    /// Returns the number of the last topic.
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

    /// Returns the instance id of the worker's `starts`th process: its own, or one for all.
    pub(crate) fn instance(&self, starts: u32) -> String {
        match &self.loop_plan {
            Some(loop_plan) if !loop_plan.named => format!("{}-{starts}", self.name),
            _ => self.name.clone(),
        }
    }

    /// Returns the `transactional.id` of that process.
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
