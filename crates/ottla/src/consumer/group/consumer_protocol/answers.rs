//! What becomes of a member by the answers to its heartbeats.

use ottla_protocol::api::consumer_group_heartbeat::ConsumerGroupHeartbeatResponse;

use super::lookup::Lookup;
use super::{ConsumerMember, Partitions, Phase};
use crate::cluster::{Cluster, is_coordinator_error};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::sys::Instant;

/// How long a coordinator takes to match a pattern with its topics, in milliseconds, when it has not much to do.
const MATCHING_MS: u64 = 300;

impl ConsumerMember {
    pub(in crate::consumer::group) fn is_heartbeat(&self, id: u64) -> bool {
        self.heartbeat.in_flight.as_ref().is_some_and(|(sent, _)| *sent == id)
    }

    pub(in crate::consumer::group) fn is_leave(&self, id: u64) -> bool {
        self.phase == Phase::Leaving(Some(id))
    }

    /// A heartbeat was answered, or not; true when the coordinator has to be looked for again.
    pub(in crate::consumer::group) fn on_heartbeat(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &Cluster,
        result: Result<ConsumerGroupHeartbeatResponse, Error>,
    ) -> bool {
        let sent = self.heartbeat.in_flight.take();
        let response = match result {
            Ok(response) => response,
            Err(error) => {
                self.back_off(ctx);
                return error.code != ErrorCode::L_BAD_MSG;
            }
        };
        let code: ErrorCode = response.error_code.into();
        if !code.is_ok() {
            let words = response.error_message.unwrap_or_default();
            return self.on_refused(ctx, code, &words);
        }
        let h = &mut self.heartbeat;
        let before = std::mem::replace(&mut h.acknowledged, sent.map(|(_, acknowledged)| acknowledged));
        let resubscribed = before.map(|b| b.subscription).as_ref() != h.acknowledged.as_ref().map(|s| &s.subscription);
        h.tries = 0;
        h.reported = None;
        h.not_before = Instant::ORIGIN;
        h.interval_ms = crate::consumer::millis(response.heartbeat_interval_ms).max(1);
        h.due = ctx.now.plus_ms(h.interval_ms);
        let nothing = response
            .assignment
            .as_ref()
            .is_none_or(|a| a.topic_partitions.is_empty());
        if resubscribed && nothing && !self.subscription.regex().is_empty() {
            // Which topics fit is found out behind this answer.
            h.due = ctx.now.plus_ms(h.interval_ms.min(MATCHING_MS));
        }
        self.epoch = response.member_epoch;
        if self.phase == Phase::Joining {
            self.phase = Phase::Member;
            self.incarnation += 1;
            if let Some(id) = response.member_id.filter(|id| !id.is_empty()) {
                self.member_id = id;
            }
            ctx.log.debug(DebugContexts::CGRP, "JOINGROUP", || {
                format!("joined as {} with epoch {}", self.member_id, self.epoch)
            });
        }
        if let Some(assignment) = response.assignment {
            self.target = Partitions::from_wire(assignment.topic_partitions);
            self.lookup = Lookup::default();
            self.prune_names();
            self.resolve_names(cluster);
        }
        self.proceed();
        false
    }

    fn on_refused(&mut self, ctx: &mut Ctx<'_>, code: ErrorCode, words: &str) -> bool {
        let text = match words {
            "" => code.description().into_owned(),
            words => words.to_owned(),
        };
        ctx.log.debug(DebugContexts::CGRP, "REFUSED", || {
            format!("ConsumerGroupHeartbeat with epoch {} was refused: {text}", self.epoch)
        });
        let joined = self.is_in();
        match code {
            ErrorCode::FENCED_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::GROUP_ID_NOT_FOUND if joined => {
                self.heartbeat.not_before = ctx.now;
                self.on_lost();
            }
            ErrorCode::UNRELEASED_INSTANCE_ID => {
                let instance = self.instance_id.as_deref().unwrap_or_default();
                let text = format!("another member of the group has group.instance.id={instance}");
                self.report_fatal(code, text);
            }
            ErrorCode::FENCED_INSTANCE_ID => {
                let text = "another member joined with the same group.instance.id".to_owned();
                self.report_fatal(code, text);
            }
            ErrorCode::UNSUPPORTED_ASSIGNOR => {
                let name = &ctx.conf.group_remote_assignor;
                self.report_fatal(code, format!("group.remote.assignor={name}: {text}"));
            }
            ErrorCode::UNSUPPORTED_VERSION => self.unsupported(),
            ErrorCode::INVALID_REQUEST => self.report_fatal(code, format!("ConsumerGroupHeartbeat failed: {text}")),
            // A member stays in the group with what it had subscribed to before.
            ErrorCode::INVALID_REGULAR_EXPRESSION => self.refuse_subscription(ctx, code, &text),
            ErrorCode::TOPIC_AUTHORIZATION_FAILED if joined => self.refuse_subscription(ctx, code, &text),
            code if is_coordinator_error(code) => {
                self.back_off(ctx);
                return true;
            }
            code => {
                self.back_off(ctx);
                if !code.action().is_retriable() {
                    // It takes somebody's hand to mend this.
                    let later = ctx.now.plus_ms(self.heartbeat.interval_ms);
                    self.heartbeat.not_before = self.heartbeat.not_before.max(later);
                    self.report_once(Error::new(code, format!("ConsumerGroupHeartbeat failed: {text}")));
                }
            }
        }
        false
    }

    /// The coordinator refuses the subscription: it is not told it again until the application has another one.
    fn refuse_subscription(&mut self, ctx: &mut Ctx<'_>, code: ErrorCode, text: &str) {
        self.back_off(ctx);
        self.heartbeat.subscription_refused = true;
        let topics = self.subscription.topics().join(", ");
        self.report_once(Error::new(
            code,
            format!("the subscription to {topics} was refused: {text}"),
        ));
    }

    /// The broker does not know the protocol, or has it switched off.
    pub(super) fn unsupported(&mut self) {
        let text = "the brokers do not support group.protocol=consumer, which needs Apache Kafka 4.0 or later and the \
                    feature group.version=1; use group.protocol=classic";
        self.report_fatal(ErrorCode::UNSUPPORTED_VERSION, text.to_owned());
    }

    /// The heartbeat that leaves was answered, or not: there is nothing more to be done.
    pub(in crate::consumer::group) fn on_left(&mut self) {
        self.forget_group();
        self.phase = Phase::Lost;
        self.proceed();
    }

    /// The coordinator knows something new, or doubts this member: a heartbeat tells what it is.
    pub(in crate::consumer::group) fn heartbeat_now(&mut self, now: Instant) {
        self.heartbeat.due = self.heartbeat.due.min(now);
    }
}
