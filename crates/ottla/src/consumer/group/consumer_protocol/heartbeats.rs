//! The heartbeats of a member: when one is due, and what it says.
//!
//! A heartbeat says everything when the member joins, and after any that was not answered well; otherwise only what has
//! changed since the last one that was.

use std::time::Duration;

use ottla_protocol::api::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;

use super::super::requests::{CoordinatorConnection, GRACE_MS, new_id, tag};
use super::{ConsumerMember, FIRST_INTERVAL_MS, HeartbeatSubscription, Partitions, Phase};
use crate::consumer::{int32, millis};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::sys::Instant;

/// The epoch of a member that joins.
const JOIN: i32 = 0;
/// The epoch of a member that leaves.
const LEAVE: i32 = -1;
/// The epoch of a static member that leaves and may come back: its partitions wait for it until its session ends.
const LEAVE_FOR_A_WHILE: i32 = -2;
/// The first version with regular expressions and with member ids that the member makes itself (KIP-1082).
const FIRST_WITH_REGEX: i16 = 1;
/// A heartbeat that is not answered for so long is lost: the coordinator is looked for again.
const ANSWER_TIMEOUT_MS: u64 = 10_000;

/// What the coordinator has been told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SentState {
    pub(super) subscription: HeartbeatSubscription,
    pub(super) owned: Partitions,
}

/// The state of the exchange of heartbeats.
#[derive(Debug)]
pub(super) struct Heartbeat {
    /// The one under way, and what it says.
    pub(super) in_flight: Option<(u64, SentState)>,
    /// What the coordinator knows; `None` when it is to be told everything.
    pub(super) acknowledged: Option<SentState>,
    /// When the next is due at the latest.
    pub(super) due: Instant,
    /// None goes out before this.
    pub(super) not_before: Instant,
    pub(super) interval_ms: u64,
    pub(super) tries: u32,
    /// The coordinator refused the subscription: it is not sent again.
    pub(super) subscription_refused: bool,
    /// The error that the application was told last.
    pub(super) reported: Option<ErrorCode>,
}

impl Heartbeat {
    pub(super) fn new() -> Self {
        Heartbeat {
            in_flight: None,
            acknowledged: None,
            due: Instant::ORIGIN,
            not_before: Instant::ORIGIN,
            interval_ms: FIRST_INTERVAL_MS,
            tries: 0,
            subscription_refused: false,
            reported: None,
        }
    }

    /// The member is not in the group any more.
    pub(super) fn forget(&mut self) {
        self.in_flight = None;
        self.acknowledged = None;
    }

    /// Something is different from when the last heartbeat failed.
    pub(super) fn clear_backoff(&mut self, now: Instant) {
        self.not_before = self.not_before.min(now);
        self.subscription_refused = false;
        self.reported = None;
    }
}

impl ConsumerMember {
    /// When the next heartbeat goes out; `None` while nothing is to be said.
    pub(super) fn next_heartbeat(&self) -> Option<Instant> {
        let h = &self.heartbeat;
        if h.in_flight.is_some() {
            return None;
        }
        let urgent = match self.phase {
            Phase::Inactive | Phase::Lost | Phase::Leaving(Some(_)) => return None,
            Phase::Joining if self.max_poll_exceeded || h.subscription_refused => return None,
            Phase::Joining => true,
            Phase::Leaving(None) if self.owned.is_empty() => true,
            Phase::Leaving(None) => false,
            Phase::Member => self.has_changes(),
        };
        Some(if urgent { h.not_before } else { h.due.max(h.not_before) })
    }

    fn has_changes(&self) -> bool {
        let h = &self.heartbeat;
        h.acknowledged.as_ref().is_none_or(|acknowledged| {
            acknowledged.owned != self.owned
                || !h.subscription_refused && acknowledged.subscription != self.subscription
        })
    }

    /// Sends what is due.
    pub(in crate::consumer::group) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        to: &CoordinatorConnection<'_>,
        next_id: &mut u64,
    ) {
        let Some(version) = to.versions.pick::<ConsumerGroupHeartbeatRequest>() else {
            return self.unsupported();
        };
        if std::mem::take(&mut self.pending_leave) {
            // Nothing depends on the answer.
            let _ = self.send_leave(ctx, to, version, next_id);
        }
        if self.next_heartbeat().is_some_and(|at| at <= ctx.now) {
            match self.phase {
                Phase::Leaving(None) if self.owned.is_empty() => match self.send_leave(ctx, to, version, next_id) {
                    Some(id) => self.phase = Phase::Leaving(Some(id)),
                    None => self.on_left(),
                },
                _ => self.send_heartbeat(ctx, to, version, next_id),
            }
        }
        self.send_lookup(ctx, to, next_id);
    }

    fn send_leave(
        &self,
        ctx: &mut Ctx<'_>,
        to: &CoordinatorConnection<'_>,
        version: i16,
        next_id: &mut u64,
    ) -> Option<u64> {
        let request = ConsumerGroupHeartbeatRequest {
            group_id: to.group_id.to_owned(),
            member_id: self.member_id.clone(),
            member_epoch: match self.instance_id {
                Some(_) => LEAVE_FOR_A_WHILE,
                None => LEAVE,
            },
            instance_id: self.instance_id.clone(),
            ..Default::default()
        };
        let id = new_id(next_id);
        let timeout = Duration::from_millis(GRACE_MS);
        let sent = ctx
            .connections
            .send(to.key, ctx.now, tag(id), &request, version, timeout);
        sent.ok().map(|()| id)
    }

    fn send_heartbeat(&mut self, ctx: &mut Ctx<'_>, to: &CoordinatorConnection<'_>, version: i16, next_id: &mut u64) {
        if version < FIRST_WITH_REGEX && !self.subscription.regex().is_empty() && !self.heartbeat.subscription_refused {
            let text = "subscribing by pattern with group.protocol=consumer needs brokers of Kafka 4.0 or later";
            self.report_once(Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, text));
            self.heartbeat.subscription_refused = true;
            return;
        }
        let (request, acknowledged) = self.compose(ctx, to, version);
        let id = new_id(next_id);
        let answer_timeout = ANSWER_TIMEOUT_MS.max(2 * self.heartbeat.interval_ms);
        let timeout = Duration::from_millis(answer_timeout.min(millis(ctx.conf.socket_timeout_ms)));
        match ctx
            .connections
            .send(to.key, ctx.now, tag(id), &request, version, timeout)
        {
            Ok(()) => {
                self.may_be_member = true;
                self.heartbeat.in_flight = Some((id, acknowledged));
            }
            Err(_) => self.back_off(ctx),
        }
    }

    fn compose(
        &self,
        ctx: &Ctx<'_>,
        to: &CoordinatorConnection<'_>,
        version: i16,
    ) -> (ConsumerGroupHeartbeatRequest, SentState) {
        let (joins, subscription_refused) = (self.phase == Phase::Joining, self.heartbeat.subscription_refused);
        let before = self.heartbeat.acknowledged.as_ref().filter(|_| !joins);
        let everything = before.is_none();
        let subscribed = !subscription_refused && before.is_none_or(|b| b.subscription != self.subscription);
        let owned = before.is_none_or(|b| b.owned != self.owned);
        let regex = subscribed && version >= FIRST_WITH_REGEX;
        let assignor = Some(&ctx.conf.group_remote_assignor).filter(|a| everything && !a.is_empty());
        let rack = Some(&ctx.conf.client_rack).filter(|r| everything && !r.is_empty());
        let request = ConsumerGroupHeartbeatRequest {
            group_id: to.group_id.to_owned(),
            // A coordinator of version 0 makes the id itself.
            member_id: match joins && self.incarnation == 0 && version < FIRST_WITH_REGEX {
                true => String::new(),
                false => self.member_id.clone(),
            },
            member_epoch: if joins { JOIN } else { self.epoch },
            instance_id: self.instance_id.clone(),
            rack_id: rack.cloned(),
            rebalance_timeout_ms: match everything {
                true => int32(millis(ctx.conf.max_poll_interval_ms)),
                false => -1,
            },
            subscribed_topic_names: subscribed.then(|| self.subscription.names()),
            // Empty takes an earlier one back.
            subscribed_topic_regex: regex.then(|| self.subscription.regex()),
            server_assignor: assignor.cloned(),
            topic_partitions: owned.then(|| self.owned.to_wire()),
            ..Default::default()
        };
        let reported = before.filter(|_| !subscribed).map(|b| &b.subscription);
        let acknowledged = SentState {
            subscription: reported.unwrap_or(&self.subscription).clone(),
            owned: self.owned.clone(),
        };
        (request, acknowledged)
    }

    /// A heartbeat failed: the next one waits a little and says everything.
    pub(super) fn back_off(&mut self, ctx: &mut Ctx<'_>) {
        let h = &mut self.heartbeat;
        h.acknowledged = None;
        h.not_before = ctx.now + ctx.retry_delay(h.tries);
        h.tries = h.tries.saturating_add(1);
    }
}
