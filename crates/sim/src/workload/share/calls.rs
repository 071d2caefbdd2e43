//! Calls of a member of a share group other than polls: subscriptions, commits and the close.

use ottla_core::client::Command;
use ottla_core::reply::Reply;
use ottla_core::share::{self, CommitCall};
use ottla_core::sys::Instant;

use super::{Life, PendingCall, ShareWorkload};
use crate::canary::Canary;
use crate::event::WorldEvent;
use crate::trace::trace;
use crate::world::World;

/// Calls that wait for no broker are completed within this time.
const CALL_US: u64 = 1_000_000;
/// Deadlines of calls are this precise.
const SLACK_US: u64 = 1_000_000;

impl ShareWorkload {
    /// Commits after a batch, or not. Returns true when it has.
    pub(super) fn commit(&mut self, world: &mut World, client: usize) -> bool {
        if !self.has_batch {
            return false;
        }
        self.has_batch = false;
        let drawn = world.app_rng.f64();
        if drawn < self.plan.commit_sync {
            let acknowledgements = self.app.take_acknowledgements();
            if acknowledgements.is_empty() {
                return false;
            }
            self.calls += 1;
            world.coverage.count("synchronous commits of share groups", 1);
            // Batches that were fetched ahead wait meanwhile.
            world.check.share.on_disturbed(client, u64::MAX);
            self.submit(world, client, &acknowledgements, Some(self.calls));
            let timeout_us = world.app_rng.spread(10_000, 60_000_000);
            let reply = Reply::new();
            let by_us = world.now_us() + timeout_us;
            let command = share::Command::Commit {
                acknowledgements,
                call: Some(CommitCall {
                    deadline: Instant::from_micros(world.now_us() + timeout_us),
                    reply: reply.clone(),
                }),
            };
            self.call(world, client, PendingCall::Commit(reply, self.calls, by_us), command);
            return true;
        }
        if drawn < self.plan.commit_sync + self.plan.commit_async {
            world.coverage.count("asynchronous commits of share groups", 1);
            self.commit_in_background(world, client);
        }
        false
    }

    fn commit_in_background(&mut self, world: &mut World, client: usize) {
        let acknowledgements = self.app.take_acknowledgements();
        if !acknowledgements.is_empty() {
            self.submit(world, client, &acknowledgements, None);
            let command = share::Command::Commit {
                acknowledgements,
                call: None,
            };
            self.send(world, client, command);
        }
    }

    // ---------------------------------------------------------------- calls

    /// Takes the answer to the pending call. Returns false when the application still waits.
    pub(super) fn take_answer(&mut self, world: &mut World, client: usize) -> bool {
        let Some((pending, since_us)) = self.pending.take() else {
            return true;
        };
        let now_us = world.now_us();
        let waits = match &pending {
            PendingCall::Subscribe(reply) | PendingCall::Unsubscribe(reply) => match reply.try_take() {
                Some(Ok(())) => None,
                Some(Err(error)) => {
                    world
                        .check
                        .violate(format!("client {client}: {pending:?} fails: {error}"));
                    None
                }
                None => Some(since_us + CALL_US),
            },
            PendingCall::Commit(reply, call, by_us) => match reply.try_take() {
                Some(Ok(results)) => {
                    self.disturb(world, client);
                    trace!(world.trace, "c{client} app receives {results:?} of commit {call}");
                    self.take_events(world, client);
                    if world.canary.active() != Some(Canary::LostAcknowledgement) {
                        let is_late = now_us >= *by_us;
                        let result = world.check.share.on_commit_results(client, *call, &results, is_late);
                        world.check.expect(result);
                    }
                    None
                }
                Some(Err(error)) => {
                    world.check.violate(format!("client {client}: a commit fails: {error}"));
                    None
                }
                None => Some(by_us + SLACK_US),
            },
            PendingCall::Poll(until_us) => match self.next_batch(world, client) {
                Some(batch) => {
                    self.deliver(world, client, batch);
                    None
                }
                None if *until_us <= now_us => None,
                None => Some(u64::MAX),
            },
        };
        match waits {
            None => true,
            Some(by_us) if by_us < now_us => {
                world
                    .check
                    .violate(format!("client {client}: {pending:?} of {since_us} is not completed"));
                true
            }
            Some(_) => {
                self.pending = Some((pending, since_us));
                false
            }
        }
    }

    pub(super) fn subscribe(&mut self, world: &mut World, client: usize) {
        let mut topics = self.plan.topics.clone();
        if !Self::is_calm(world) && world.app_rng.hit(0.3) {
            let kept = world.app_rng.below(topics.len());
            topics = vec![topics.swap_remove(kept)];
        }
        world.coverage.count("share subscriptions", 1);
        self.disturb(world, client);
        self.must_resubscribe = false;
        self.life = Life::Subscribed;
        self.app.set_subscribed(true);
        let reply = Reply::new();
        let command = share::Command::Subscribe {
            topics,
            reply: reply.clone(),
        };
        self.call(world, client, PendingCall::Subscribe(reply), command);
    }

    pub(super) fn unsubscribe(&mut self, world: &mut World, client: usize) {
        world.coverage.count("share unsubscriptions", 1);
        self.disturb(world, client);
        self.life = Life::Idle;
        self.app.set_subscribed(false);
        let reply = Reply::new();
        let command = share::Command::Unsubscribe { reply: reply.clone() };
        self.call(world, client, PendingCall::Unsubscribe(reply), command);
    }

    fn disturb(&self, world: &mut World, client: usize) {
        let now_us = world.now_us();
        world.check.share.on_disturbed(client, now_us);
    }

    pub(super) fn close(&mut self, world: &mut World, client: usize) {
        world.coverage.count("share members closed", 1);
        world.check.share.on_disturbed(client, u64::MAX);
        self.life = Life::Closing;
        self.work.clear();
        self.renewed.clear();
        let acknowledgements = self.app.take_last_acknowledgements();
        self.submit(world, client, &acknowledgements, None);
        let reply = Reply::new();
        self.closing = Some((reply.clone(), world.now_us()));
        let command = share::Command::Close {
            acknowledgements,
            reply,
        };
        self.send(world, client, command);
    }

    /// Ends the client when it is closed.
    pub(super) fn check_close(&mut self, world: &mut World, client: usize) {
        let Some((reply, since_us)) = self.closing.take() else {
            return;
        };
        let socket_us = u64::from(world.shared(client).conf.socket_timeout_ms) * 1000;
        match reply.try_take() {
            Some(result) => {
                trace!(world.trace, "c{client} app has closed: {result:?}");
                world
                    .coverage
                    .count("closings of share members that time out", u64::from(result.is_err()));
                self.take_events(world, client);
                if let Some(what) = world.check.share.waiting_for(client) {
                    let what = format!("client {client} is closed, and no result is reported for {what}");
                    world.check.violate(what);
                }
                world.shared(client).send(Command::Terminate);
                self.gone(world, client);
            }
            None if world.now_us() > since_us + socket_us + SLACK_US => {
                world
                    .check
                    .violate(format!("client {client}: the close of {since_us} is not completed"));
            }
            None => self.closing = Some((reply, since_us)),
        }
    }

    /// Records the end of the client: another one follows.
    pub(super) fn gone(&mut self, world: &mut World, client: usize) {
        self.life = Life::Gone;
        self.pending = None;
        self.closing = None;
        self.work.clear();
        self.renewed.clear();
        self.kept = None;
        let now_us = world.now_us();
        world.check.share.on_gone(client, now_us);
        let pause_us = world.share_members.on_gone(self.slot);
        world.after_us(pause_us, WorldEvent::ShareMember(self.slot));
    }
}
