//! A consumer's session. An input is its settings and what happens to it, one operation after the other.

use std::sync::Arc;
use std::time::Duration;

use ottla_core::client::{ClientHooks, Command as CoreCommand};
use ottla_core::consumer::{Command, CommitTarget, OffsetsResult};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::Event;
use ottla_core::reply::Reply;
use ottla_core::types::{ClientKind, PartitionOffset, Topic, TopicPartition, offset};

use crate::harness::{Harness, TOPICS, one_of, pause_ms};
use crate::input::Input;
use crate::{Seen, Verdict};

/// Maximum delay of a result after the call's timeout, in milliseconds: the timers' resolution and one turn of the
/// client.
const SLACK_MS: u64 = 500;
/// Maximum time in milliseconds that a commit or leaving a group may take without faults: one dead connection is
/// detected first, after `socket.timeout.ms`, and a new one is made.
const CALM_MS: u64 = 60_000;

fn settings(input: &mut Input) -> Vec<(&'static str, String)> {
    let group = [
        ("group.id", one_of(input, &["group", "group", ""])),
        ("auto.offset.reset", one_of(input, &["earliest", "latest", "error"])),
        ("enable.auto.commit", one_of(input, &["true", "false"])),
        ("enable.auto.offset.store", one_of(input, &["true", "false"])),
        ("auto.commit.interval.ms", one_of(input, &["1000", "100"])),
        ("session.timeout.ms", one_of(input, &["6000", "10000"])),
        ("heartbeat.interval.ms", one_of(input, &["1000", "100"])),
        ("max.poll.interval.ms", one_of(input, &["10000", "300000"])),
        (
            "partition.assignment.strategy",
            one_of(input, &["range,roundrobin", "roundrobin"]),
        ),
        ("group.instance.id", one_of(input, &["", "", "static"])),
        ("enable.partition.eof", one_of(input, &["true", "false"])),
        ("check.crcs", one_of(input, &["false", "true"])),
        (
            "isolation.level",
            one_of(input, &["read_committed", "read_uncommitted"]),
        ),
        ("fetch.wait.max.ms", one_of(input, &["500", "50"])),
        ("fetch.message.max.bytes", one_of(input, &["1048576", "1"])),
        ("fetch.min.bytes", one_of(input, &["1", "10000"])),
        ("queued.min.messages", one_of(input, &["100000", "1"])),
        ("queued.max.messages.kbytes", one_of(input, &["65536", "1"])),
        ("socket.timeout.ms", one_of(input, &["3000", "10000"])),
        ("reconnect.backoff.ms", one_of(input, &["10", "100"])),
        ("reconnect.backoff.max.ms", one_of(input, &["200", "2000"])),
    ];
    group.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// A call whose answer is awaited.
#[derive(Debug)]
enum Answer {
    Done(Arc<Reply<Result<(), Error>>>),
    Rows(Arc<Reply<OffsetsResult>>),
    Names(Arc<Reply<Result<Vec<String>, Error>>>),
    Two(Arc<Reply<Result<(i64, i64), Error>>>),
}

impl Answer {
    fn take(&self) -> Option<Result<(), Error>> {
        match self {
            Answer::Done(reply) => reply.try_take(),
            Answer::Rows(reply) => reply.try_take().map(|rows| rows.map(drop)),
            Answer::Names(reply) => reply.try_take().map(|names| names.map(drop)),
            Answer::Two(reply) => reply.try_take().map(|two| two.map(drop)),
        }
    }
}

#[derive(Debug)]
struct Call {
    what: String,
    answer: Answer,
    /// When it must be answered; `u64::MAX` for one that waits for brokers.
    until_us: u64,
}

struct Session {
    harness: Harness,
    topics: Vec<Arc<Topic>>,
    calls: Vec<Call>,
    consumed: usize,
    /// The application carries out rebalances.
    rebalances: bool,
    /// A deliberate bug: answers that are errors are lost.
    is_canary: bool,
}

pub(super) fn run(data: &[u8]) -> Verdict {
    live(data, false)
}

/// A session with an application that ignores failed calls.
pub(super) fn canary(data: &[u8]) -> Verdict {
    live(data, true)
}

fn live(data: &[u8], is_canary: bool) -> Verdict {
    let mut input = Input::new(data);
    let seed = input.byte();
    let settings = settings(&mut input);
    let hooks = input.byte();
    let rebalances = hooks & 1 != 0;
    let hooks = ClientHooks {
        rebalance_event: rebalances,
        commit_event: hooks & 2 != 0,
        error_event: true,
        throttle_event: true,
        ..ClientHooks::default()
    };
    let Some(mut harness) = Harness::new(ClientKind::Consumer, &settings, hooks, seed) else {
        return Ok(Seen::Refused);
    };
    if input.flag() {
        harness.limit_versions(&mut input);
    }
    harness.fill_logs();
    let mut session = Session {
        topics: (0..TOPICS.len()).filter_map(|index| harness.topic(index)).collect(),
        harness,
        calls: Vec::new(),
        consumed: 0,
        rebalances,
        is_canary,
    };
    while !input.is_empty() && !session.harness.is_finished() {
        session.operation(&mut input);
        session.look_at_calls();
        session.harness.result()?;
    }
    session.end()
}

fn partition(input: &mut Input) -> TopicPartition {
    let byte = input.byte();
    let topic = TOPICS.get(usize::from(byte & 3)).copied().unwrap_or(TOPICS[0]);
    TopicPartition::new(topic, i32::from(byte >> 2 & 3))
}

fn some_offset(input: &mut Input) -> i64 {
    match input.byte() {
        byte @ 0..100 => byte.into(),
        100..150 => offset::BEGINNING,
        150..180 => offset::END,
        180..210 => offset::STORED,
        210..230 => offset::INVALID,
        230..250 => offset::TAIL_BASE - 3,
        _ => input.long(),
    }
}

fn rows(input: &mut Input) -> Vec<PartitionOffset> {
    let mut rows = Vec::new();
    for _ in 0..input.below(5) {
        let tp = partition(input);
        if rows.iter().all(|row: &PartitionOffset| row.tp != tp) {
            rows.push(PartitionOffset::new(tp, some_offset(input)));
        }
    }
    rows
}

fn partitions(input: &mut Input) -> Vec<TopicPartition> {
    (0..input.below(5)).map(|_| partition(input)).collect()
}

impl Session {
    fn operation(&mut self, input: &mut Input) {
        match input.below(32) {
            0..=7 => self.harness.deliver(input.byte().into()),
            8..=13 => self.harness.net_fault(input),
            14..=17 => self.harness.wait_ms(pause_ms(input)),
            18 => self.harness.cluster_fault(input),
            19..=22 => self.poll(input.byte().into(), input.flag()),
            23..=25 => self.change_assignment(input),
            26 | 27 => self.change_positions(input),
            28 => self.commit(input),
            29 => self.ask(input),
            30 => self.store(input),
            _ => match input.below(8) {
                7 => self.harness.send(CoreCommand::Terminate),
                6 => self.close(),
                _ => {}
            },
        }
        self.harness.settle();
    }

    /// Sends a command; one that waits for no broker is answered in the client's next turn.
    fn call(&mut self, command: Command, answer: Answer, within_ms: Option<u64>) {
        let what = format!("{command:?}");
        let until_us = within_ms.map_or(u64::MAX, |ms| self.harness.now_us + (ms + SLACK_MS) * 1000);
        self.harness.send(CoreCommand::Consumer(command));
        self.harness.settle();
        self.calls.push(Call { what, answer, until_us });
    }

    fn done(&mut self, make: impl FnOnce(Arc<Reply<Result<(), Error>>>) -> Command, within_ms: Option<u64>) {
        let reply = Reply::new();
        self.call(make(reply.clone()), Answer::Done(reply), within_ms);
    }

    fn rows(&mut self, make: impl FnOnce(Arc<Reply<OffsetsResult>>) -> Command, within_ms: Option<u64>) {
        let reply = Reply::new();
        self.call(make(reply.clone()), Answer::Rows(reply), within_ms);
    }

    fn change_assignment(&mut self, input: &mut Input) {
        match input.below(8) {
            0..=2 => {
                let partitions = rows(input);
                self.done(|reply| Command::Assign { partitions, reply }, Some(0));
            }
            3 => {
                let partitions = rows(input);
                self.done(|reply| Command::IncrementalAssign { partitions, reply }, Some(0));
            }
            4 => {
                let partitions = partitions(input);
                self.done(|reply| Command::IncrementalUnassign { partitions, reply }, Some(0));
            }
            5 => self.done(|reply| Command::Unassign { reply }, Some(0)),
            6 => {
                let topics = input.byte();
                let named = TOPICS.iter().enumerate().filter(|(index, _)| topics >> index & 1 == 1);
                let topics = named.map(|(_, name)| (*name).to_owned()).collect();
                self.done(|reply| Command::Subscribe { topics, reply }, Some(0));
            }
            _ => self.done(|reply| Command::Unsubscribe { reply }, Some(0)),
        }
    }

    fn change_positions(&mut self, input: &mut Input) {
        match input.below(6) {
            0 | 1 => {
                let partitions = rows(input);
                self.rows(|reply| Command::Seek { partitions, reply }, Some(0));
            }
            2 => {
                let partitions = partitions(input);
                self.rows(|reply| Command::Pause { partitions, reply }, Some(0));
            }
            3 => {
                let partitions = partitions(input);
                self.rows(|reply| Command::Resume { partitions, reply }, Some(0));
            }
            4 => {
                let (partition, offset) = (input.below(3) as i32, some_offset(input));
                let Some(topic) = self.topics.get(input.below(TOPICS.len())).cloned() else {
                    return;
                };
                let start = |reply| Command::Start {
                    topic,
                    partition,
                    offset,
                    queue: None,
                    reply,
                };
                self.done(start, Some(0));
            }
            _ => {
                let partition = input.below(3) as i32;
                let Some(topic) = self.topics.get(input.below(TOPICS.len())).cloned() else {
                    return;
                };
                let stop = |reply| Command::Stop {
                    topic,
                    partition,
                    reply,
                };
                self.done(stop, Some(0));
            }
        }
    }

    fn commit(&mut self, input: &mut Input) {
        let offsets = input.flag().then(|| rows(input));
        match input.below(3) {
            0 => {
                let target = CommitTarget::Event;
                self.harness
                    .send(CoreCommand::Consumer(Command::Commit { offsets, target }));
            }
            1 => {
                let target = CommitTarget::Queue(self.harness.shared.main_queue.clone(), 7);
                self.harness
                    .send(CoreCommand::Consumer(Command::Commit { offsets, target }));
            }
            _ => self.rows(
                |reply| Command::Commit {
                    offsets,
                    target: CommitTarget::Reply(reply),
                },
                None,
            ),
        }
    }

    /// Starts calls that query brokers or only read state.
    fn ask(&mut self, input: &mut Input) {
        let timeout_ms = u64::from(input.byte()) * 20;
        let deadline = self.harness.now() + Duration::from_millis(timeout_ms);
        match input.below(5) {
            0 => {
                let partitions = partitions(input);
                let committed = |reply| Command::Committed {
                    partitions,
                    deadline,
                    reply,
                };
                self.rows(committed, Some(timeout_ms));
            }
            1 => {
                let (tp, reply) = (partition(input), Reply::new());
                let command = Command::QueryWatermarks {
                    tp,
                    deadline,
                    reply: reply.clone(),
                };
                self.call(command, Answer::Two(reply), Some(timeout_ms));
            }
            2 => {
                let partitions = rows(input);
                let times = |reply| Command::OffsetsForTimes {
                    partitions,
                    deadline,
                    reply,
                };
                self.rows(times, Some(timeout_ms));
            }
            3 => self.rows(|reply| Command::Assignment { reply }, Some(0)),
            _ => {
                let reply = Reply::new();
                let command = Command::Subscription { reply: reply.clone() };
                self.call(command, Answer::Names(reply), Some(0));
            }
        }
    }

    fn store(&mut self, input: &mut Input) {
        let Some(registry) = self.harness.shared.consumer.clone() else {
            return;
        };
        let mut rows = rows(input);
        let _ = registry.store_offsets(&mut rows);
        registry.positions(&mut rows);
    }

    fn close(&mut self) {
        self.done(|reply| Command::Close { reply }, None);
    }

    /// Takes records and events; `obeys` if the application carries out rebalances.
    fn poll(&mut self, most: usize, obeys: bool) {
        let shared = self.harness.shared.clone();
        while let Some(event) = shared.main_queue.pop(Some(Duration::ZERO)) {
            drop(event);
        }
        for _ in 0..most {
            let item = shared.consumer_queue.pop_one(Some(Duration::ZERO), |chunk| {
                let state = chunk.partition().clone();
                let record = chunk.next()?;
                let headers = record.headers.iter().count();
                Some((record.offset, state.position().0, headers))
            });
            match item {
                None => return,
                Some(Ok((offset, position, _))) => {
                    self.consumed += 1;
                    if position != offset.saturating_add(1) {
                        return self
                            .harness
                            .violate(format!("position {position} after offset {offset}"));
                    }
                }
                Some(Err(Event::Rebalance(rebalance))) if self.rebalances && obeys => {
                    if rebalance.code == ErrorCode::L_ASSIGN_PARTITIONS {
                        let partitions = rebalance.partitions;
                        self.done(|reply| Command::Assign { partitions, reply }, Some(0));
                    } else {
                        self.done(|reply| Command::Unassign { reply }, Some(0));
                    }
                }
                Some(Err(_)) => {}
            }
        }
    }

    /// Every call is answered in its time.
    fn look_at_calls(&mut self) {
        let canary = self.is_canary;
        self.calls.retain(|call| match call.answer.take() {
            Some(answer) => canary && answer.is_err(),
            None => true,
        });
        let now_us = self.harness.now_us;
        if let Some(late) = self.calls.iter().find(|call| call.until_us < now_us) {
            let what = format!("no answer to {}", late.what);
            self.harness.violate(what);
        }
    }

    /// Checks that, without further faults, all calls end, closing completes and nothing is left.
    fn end(mut self) -> Verdict {
        if !self.harness.is_finished() {
            self.harness.restore_cluster();
            self.poll(1000, true);
            self.close();
            let until_us = self.harness.now_us + CALM_MS * 1000;
            while !self.calls.is_empty() && self.harness.now_us < until_us {
                // The application serves its queue until the consumer is closed.
                self.harness.run_without_faults(20, |_| false);
                self.poll(1000, true);
                self.look_at_calls();
                self.harness.result()?;
            }
            if let Some(call) = self.calls.first() {
                return Err(format!("no answer to {} when all goes right again", call.what));
            }
        }
        self.harness.send(CoreCommand::Terminate);
        self.harness.settle();
        self.look_at_calls();
        self.harness.result()?;
        if let Some(call) = self.calls.first() {
            return Err(format!("no answer to {} when the client has ended", call.what));
        }
        self.harness.end(self.topics)?;
        match self.consumed {
            0 => Ok(Seen::Refused),
            _ => Ok(Seen::Accepted),
        }
    }
}

/// Lives without a failure.
pub(super) fn canary_seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds();
    seeds.retain(|seed| canary(seed) == Ok(Seen::Accepted));
    seeds
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    // Twenty-one settings at their first choice, no events, the newest versions.
    let head = [0; 24];
    let operations: [&[u8]; 6] = [
        // Assign two partitions from their beginning, let all go right, poll.
        &[23, 0, 2, 0, 100, 5, 100, 0, 200, 0, 200, 19, 100, 0],
        // Subscribe, poll, commit, close.
        &[
            23, 6, 3, 0, 200, 14, 50, 0, 200, 19, 200, 1, 28, 0, 2, 0, 200, 31, 6, 0, 200,
        ],
        // Seek and pause between polls.
        &[
            23, 0, 1, 0, 0, 0, 200, 19, 1, 0, 26, 0, 1, 0, 3, 26, 2, 1, 0, 0, 200, 26, 3, 1, 0, 0, 200, 19, 9, 0,
        ],
        // The simple API, watermarks, offsets for times.
        &[
            26, 4, 0, 0, 0, 29, 50, 1, 0, 29, 50, 2, 1, 0, 5, 0, 200, 0, 200, 19, 50, 0, 23, 0, 1, 0, 0, 0, 99, 19, 9,
            0,
        ],
        // A response is lost; time passes.
        &[23, 0, 1, 0, 0, 0, 6, 8, 0, 2, 14, 200, 0, 200, 19, 50, 0],
        // A response is changed.
        &[
            23, 0, 1, 0, 0, 0, 6, 8, 0, 4, 1, 0, 9, 1, 0, 12, 7, 0, 0, 200, 14, 90, 0, 200, 19, 50, 0,
        ],
    ];
    let mut seeds: Vec<Vec<u8>> = operations.iter().map(|run| [&head, *run].concat()).collect();
    for setting in 1..head.len() - 1 {
        for choice in [1, 2] {
            let mut seed = seeds[1].clone();
            seed[setting] = choice;
            seeds.push(seed);
        }
    }
    // Settings that do not go together make no client, and some clients get nothing.
    seeds.retain(|seed| run(seed) != Ok(Seen::Refused));
    seeds
}
