//! A member's calls and their answers.

use std::sync::Arc;

use ottla::client::Command as CoreCommand;
use ottla::consumer::{Command, CommitTarget, OffsetsResult};
use ottla::error::{Error, ErrorCode};
use ottla::reply::Reply;
use ottla::sys::Instant;
use ottla::types::{PartitionOffset, TopicPartition, offset};

use super::plan::{CommitMode, GroupProtocol};
use super::{Done, Life, MemberWorkload, Next};
use crate::check::Tp;
use crate::plan::SOCKET_TIMEOUT_MAX_MS;
use crate::trace::trace;
use crate::world::{Phase, World};

/// A call that is not answered yet.
#[derive(Debug)]
pub(super) enum PendingCall {
    Subscribe(Done),
    Unsubscribe(Done),
    Assign(Done),
    Unassign(Done),
    /// Incremental, either way.
    Change(Done),
    Seek(Arc<Reply<OffsetsResult>>),
    /// With what is to be committed.
    Commit(Arc<Reply<OffsetsResult>>, Vec<(Tp, Next)>),
    Committed(Arc<Reply<OffsetsResult>>, u64),
}

/// Calls that wait for no broker are answered within this time.
const CALL_US: u64 = 1_000_000;
/// What was asked while faults happened is answered within this time.
const CALM_US: u64 = SOCKET_TIMEOUT_MAX_MS * 1000;
/// Closing gives up after 10 s; timers have no finer promise.
const CLOSE_US: u64 = 10_500_000;

fn pairs(rows: Vec<PartitionOffset>) -> Vec<(Tp, i64, ErrorCode)> {
    let rows = rows.into_iter();
    rows.map(|r| ((r.tp.topic.to_string(), r.tp.partition), r.offset, r.error))
        .collect()
}

fn tps_of(rows: &[PartitionOffset]) -> Vec<Tp> {
    let tps = rows.iter().map(|r| (r.tp.topic.to_string(), r.tp.partition));
    tps.collect()
}

impl MemberWorkload {
    // ---------------------------------------------------------------- questions

    pub(super) fn subscribe(&mut self, world: &mut World, client: usize) {
        let mut chosen: Vec<String> = Vec::new();
        let probability = world.app_rng.pick(&[1.0, 1.0, 0.5]);
        for topic in &self.plan.topics {
            if world.app_rng.hit(probability) {
                chosen.push(topic.clone());
            }
        }
        if chosen.is_empty() {
            let at = world.app_rng.below(self.plan.topics.len());
            chosen.push(self.plan.topics[at].clone());
        }
        world.coverage.count("subscriptions", 1);
        self.subscription = chosen.iter().cloned().collect();
        self.life = Life::Subscribed;
        let reply = Reply::new();
        let topics = match self.plan.by_pattern {
            true => vec![format!("^(?:{})$", chosen.join("|"))],
            false => chosen,
        };
        let pending = PendingCall::Subscribe(reply.clone());
        self.send(world, client, pending, Command::Subscribe { topics, reply });
    }

    pub(super) fn unsubscribe(&mut self, world: &mut World, client: usize) {
        world.coverage.count("unsubscriptions", 1);
        self.life = Life::Idle;
        let reply = Reply::new();
        let pending = PendingCall::Unsubscribe(reply.clone());
        self.send(world, client, pending, Command::Unsubscribe { reply });
    }

    pub(super) fn close(&mut self, world: &mut World, client: usize) {
        trace!(world.trace, "c{client} app closes the consumer");
        world.coverage.count("members closed", 1);
        self.life = Life::Closing;
        self.positions_at_close = world.check.groups.positions(self.client);
        let reply = Reply::new();
        self.closing = Some((reply.clone(), world.now_us));
        world
            .shared(client)
            .send(CoreCommand::Consumer(Command::Close { reply }));
    }

    pub(super) fn assign(&mut self, world: &mut World, client: usize, partitions: Vec<PartitionOffset>) {
        let tps = tps_of(&partitions);
        world.begin_ownership(client, self.client, &tps, false);
        let reply = Reply::new();
        let pending = PendingCall::Assign(reply.clone());
        self.send(world, client, pending, Command::Assign { partitions, reply });
    }

    pub(super) fn assign_more(&mut self, world: &mut World, client: usize, partitions: Vec<PartitionOffset>) {
        world.begin_ownership(client, self.client, &tps_of(&partitions), true);
        let reply = Reply::new();
        let pending = PendingCall::Change(reply.clone());
        self.send(world, client, pending, Command::IncrementalAssign { partitions, reply });
    }

    pub(super) fn unassign_some(&mut self, world: &mut World, client: usize, partitions: Vec<PartitionOffset>) {
        let tps = tps_of(&partitions);
        self.taken.retain(|(tp, _, _)| !tps.contains(tp));
        self.to_commit.retain(|tp, _| !tps.contains(tp));
        // Whoever else is told of them from now on may have them.
        world.check.groups.on_given_up(self.client, &tps);
        let partitions = partitions.into_iter().map(|row| row.tp).collect();
        let reply = Reply::new();
        let pending = PendingCall::Change(reply.clone());
        self.send(
            world,
            client,
            pending,
            Command::IncrementalUnassign { partitions, reply },
        );
    }

    pub(super) fn unassign(&mut self, world: &mut World, client: usize) {
        self.taken.clear();
        self.to_commit.clear();
        let reply = Reply::new();
        let pending = PendingCall::Unassign(reply.clone());
        self.send(world, client, pending, Command::Unassign { reply });
    }

    pub(super) fn seek(&mut self, world: &mut World, client: usize, tp: Tp) {
        let reply = Reply::new();
        let tp = TopicPartition::new(tp.0.as_str(), tp.1);
        let partitions = vec![PartitionOffset::new(tp, offset::BEGINNING)];
        let pending = PendingCall::Seek(reply.clone());
        self.send(world, client, pending, Command::Seek { partitions, reply });
    }

    pub(super) fn ask_committed(&mut self, world: &mut World, client: usize) {
        let owned: Vec<Tp> = world.check.groups.owned(self.client).into_iter().collect();
        if owned.is_empty() {
            return;
        }
        let tp = &owned[world.app_rng.below(owned.len())];
        let partitions = vec![TopicPartition::new(tp.0.as_str(), tp.1)];
        let wait_us = world.app_rng.spread(1000, 20_000_000);
        let deadline = Instant::from_micros(world.now_us + wait_us);
        let reply = Reply::new();
        let pending = PendingCall::Committed(reply.clone(), wait_us);
        self.send(
            world,
            client,
            pending,
            Command::Committed {
                partitions,
                deadline,
                reply,
            },
        );
    }

    /// Commits what was processed, in the member's manner. `waits`: the result is waited for in any case.
    pub(super) fn commit(&mut self, world: &mut World, client: usize, waits: bool) {
        self.uncommitted = 0;
        let waits = match self.plan.commit {
            CommitMode::Auto | CommitMode::AutoStored | CommitMode::Never => return,
            CommitMode::Sync => true,
            CommitMode::Async => waits,
        };
        let what: Vec<(Tp, Next)> = std::mem::take(&mut self.to_commit).into_iter().collect();
        let rows: Vec<_> = what.iter().map(|(tp, next)| next.row(tp)).collect();
        if rows.is_empty() {
            return;
        }
        world.coverage.count("commits asked for", 1);
        let offsets = Some(rows);
        if waits {
            let reply = Reply::new();
            let pending = PendingCall::Commit(reply.clone(), what);
            let target = CommitTarget::Reply(reply);
            return self.send(world, client, pending, Command::Commit { offsets, target });
        }
        let target = CommitTarget::Event;
        let command = Command::Commit { offsets, target };
        trace!(world.trace, "c{client} app asks {command:?}");
        world.shared(client).send(CoreCommand::Consumer(command));
    }

    // ---------------------------------------------------------------- answers

    /// Takes the answer to the call under way; false while there is none.
    pub(super) fn take_answer(&mut self, world: &mut World, client: usize) -> bool {
        let Some((pending, since)) = self.pending.take() else {
            return true;
        };
        let answer = match &pending {
            PendingCall::Subscribe(reply)
            | PendingCall::Unsubscribe(reply)
            | PendingCall::Assign(reply)
            | PendingCall::Unassign(reply)
            | PendingCall::Change(reply) => reply.try_take().map(|r| r.map(|()| Vec::new())),
            PendingCall::Seek(reply) | PendingCall::Commit(reply, _) | PendingCall::Committed(reply, _) => {
                reply.try_take()
            }
        };
        let Some(answer) = answer else {
            let shared = world.shared(client);
            let limit = match &pending {
                PendingCall::Commit(..) => u64::from(shared.conf.socket_timeout_ms) * 1000,
                PendingCall::Committed(_, wait_us) => *wait_us,
                _ => 0,
            };
            if world.now_us - since > limit + CALL_US + world.plan.net.thread_delay_us {
                world
                    .check
                    .violate(format!("client {client}: no answer to {pending:?}"));
            }
            self.pending = Some((pending, since));
            return false;
        };
        trace!(world.trace, "c{client} app hears {answer:?} of {pending:?}");
        self.on_answer(world, client, (pending, since), answer);
        true
    }

    fn on_answer(
        &mut self,
        world: &mut World,
        client: usize,
        (pending, since): (PendingCall, u64),
        answer: OffsetsResult,
    ) {
        match pending {
            PendingCall::Commit(_, what) => match answer {
                Ok(rows) => self.on_commit_rows(world, &pairs(rows)),
                // Who keeps partitions while the group rebalances commits them later. Who does not hear of rebalances could
                // not know whether they are its own then.
                Err(error) if error.code == ErrorCode::REBALANCE_IN_PROGRESS && self.plan.by_event => {
                    self.uncommitted += 1;
                    for (tp, next) in what {
                        self.to_commit.entry(tp).or_insert(next);
                    }
                }
                Err(_) => self.refused.extend(what.into_iter().map(|(tp, _)| tp)),
            },
            PendingCall::Committed(..) => {
                for (tp, at, error) in answer.map(pairs).unwrap_or_default() {
                    if error == ErrorCode::NO_ERROR {
                        let at = (at >= 0).then_some(at);
                        let result = world.check.groups.on_committed_offset(self.client, &tp, at, since);
                        world.check.expect(result);
                    }
                }
            }
            PendingCall::Unassign(_) => {
                world.check.groups.on_unassigned(self.client);
                self.expect_success(world, client, "unassign", answer.map(|_| ()));
            }
            PendingCall::Assign(_) => self.expect_success(world, client, "assign", answer.map(|_| ())),
            PendingCall::Change(_) => self.expect_success(world, client, "an incremental change", answer.map(|_| ())),
            PendingCall::Subscribe(_) => self.expect_success(world, client, "subscribe", answer.map(|_| ())),
            PendingCall::Unsubscribe(_) => {
                if !self.plan.by_event && self.plan.is_incremental() {
                    world.restart_ownership(self.client);
                }
                self.expect_success(world, client, "unsubscribe", answer.map(|_| ()));
            }
            PendingCall::Seek(_) => {
                for (tp, _, error) in answer.map(pairs).unwrap_or_default() {
                    // The partition may have been taken away.
                    if error == ErrorCode::NO_ERROR {
                        world.check.groups.on_sought(self.client, &tp);
                    }
                }
            }
        }
    }

    fn expect_success(&self, world: &mut World, client: usize, what: &str, answer: Result<(), Error>) {
        if let Err(error) = answer {
            world.check.violate(format!("client {client}: {what} failed: {error}"));
        }
    }

    /// Offsets that are said to be committed were.
    pub(super) fn on_commit_rows(&mut self, world: &mut World, rows: &[(Tp, i64, ErrorCode)]) {
        for (tp, at, error) in rows {
            if *error == ErrorCode::NO_ERROR {
                world.coverage.count("offsets committed", 1);
                let result = world.check.groups.on_commit_result(self.client, tp, *at);
                world.check.expect(result);
                self.refused.remove(tp);
            } else {
                world.coverage.count("offsets not committed", 1);
                self.refused.insert(tp.clone());
                // A member knows its epoch, or can ask for it: only a rebalance of the classic protocol ends a commit so.
                let is_calm = world.now_us > world.healed_at_us.saturating_add(CALM_US);
                if *error == ErrorCode::STALE_MEMBER_EPOCH && self.plan.is_consumer && is_calm {
                    world.check.violate(format!(
                        "client {}: in peace {tp:?} @ {at} is not committed: {error:?}",
                        self.client
                    ));
                }
            }
        }
    }

    /// Ends the client once it is closed.
    pub(super) fn check_close(&mut self, world: &mut World, client: usize) {
        let Some((reply, since)) = self.closing.take() else {
            return;
        };
        let took = world.now_us - since;
        if took > CLOSE_US + world.plan.net.thread_delay_us + 100_000 {
            return world
                .check
                .violate(format!("client {client}: closing takes more than {took} us"));
        }
        let Some(answer) = reply.try_take() else {
            self.closing = Some((reply, since));
            return;
        };
        trace!(world.trace, "c{client} app hears {answer:?} of closing");
        if world.phase != Phase::Hostile && !self.never_polls {
            self.check_closed(world, client, since, answer);
        }
        self.end(world, client, "ends the client");
    }

    /// In peace a member that was closed is out of its group, and what it has read is committed.
    fn check_closed(&mut self, world: &mut World, client: usize, since: u64, answer: Result<(), Error>) {
        // Closing may have begun, and requests may have been lost, while faults happened.
        if since < world.healed_at_us.saturating_add(CLOSE_US) {
            return;
        }
        if let Err(error) = answer {
            // What it had asked on a connection that broke unnoticed is not answered in time.
            if error.code == ErrorCode::L_TIMED_OUT && world.net.has_dead_connection(client) {
                return;
            }
            return world
                .check
                .violate(format!("client {client} could not be closed in peace: {error}"));
        }
        let view = world.cluster.group_view(&self.plan.group);
        let has_abandoned_join = |member: &str| world.check.groups.has_abandoned_join(&self.plan.group, member);
        let stays = view
            .iter()
            .flat_map(|v| &v.members)
            .find(|m| m.client_id == self.client_id() && !has_abandoned_join(&m.id));
        if let Some(member) = stays.filter(|_| !self.plan.is_static) {
            return world.check.violate(format!(
                "client {client} was closed, and {} is still in the group",
                member.id
            ));
        }
        let last_word = self.plan.by_event && self.plan.commit_on_revoke;
        // Where classic members are served by a group of consumers, each member that leaves makes a new epoch at once,
        // and a commit that is on its way in the old one is refused.
        let commits = self.plan.group_protocol != GroupProtocol::Migrating
            && match self.plan.commit {
                CommitMode::Auto => true,
                CommitMode::AutoStored => last_word || !self.plan.processes_later,
                CommitMode::Sync | CommitMode::Async => last_word,
                CommitMode::Never => false,
            };
        for (tp, at) in std::mem::take(&mut self.positions_at_close) {
            let committed = world.cluster.committed_offset(&self.plan.group, &tp.0, tp.1);
            let lost_commit = world.check.groups.lost_commit(&self.plan.group, &tp);
            let reported = self.refused.contains(&tp);
            if commits && !reported && committed.max(lost_commit).is_none_or(|c| c < at) {
                world.check.violate(format!(
                    "client {client} was closed at {at} of {tp:?}, and {committed:?} is committed"
                ));
            }
        }
    }

    fn client_id(&self) -> String {
        format!("member-{}", self.slot)
    }
}
