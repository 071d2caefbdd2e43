//! The schedule of metadata refreshes: watched topics, the broker list, every topic.
//!
//! Refreshes that are requested while one is in flight are merged into the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::config::ClientConfig;
use crate::sys::{Instant, earliest};

/// The minimum interval between refreshes, so that topics that become due at the same time share a request.
const PAUSE: Duration = Duration::from_millis(10);
/// The pause after a refresh that could not be sent.
const SEND_RETRY: Duration = Duration::from_secs(1);

/// The number of requests for a topic at the slowest pause before pauses grow again. A cluster that has lost more than one
/// broker may need half a minute to elect a leader, and a longer pause would prolong the outage.
const STEADY_REFRESHES: u32 = 30;

/// Returns the pause before the next request for a topic of which `attempts` responses have shown no change since its
/// refresh was requested: doubled from `fast` to `slowest`, then `slowest` for [`STEADY_REFRESHES`] requests, then doubled
/// again.
fn refresh_pause(attempts: u32, fast: Duration, slowest: Duration) -> Duration {
    let sent = attempts.saturating_sub(1);
    let doubled = |from: Duration, times: u32| from.saturating_mul(1u32.checked_shl(times).unwrap_or(u32::MAX));
    let rising = doubled(fast, sent);
    if rising < slowest {
        return rising;
    }
    let times = (0..sent).take_while(|n| doubled(fast, *n) < slowest).count();
    let at_slowest = sent.saturating_sub(u32::try_from(times).unwrap_or(u32::MAX));
    doubled(slowest, at_slowest.saturating_sub(STEADY_REFRESHES))
}

/// Returns the maximum age of metadata: `topic.metadata.refresh.interval.ms`, which may be switched off, but at most
/// `metadata.max.age.ms`.
pub(super) fn refresh_interval(conf: &ClientConfig) -> Duration {
    let max_age = duration_ms(conf.metadata_max_age_ms);
    match conf.topic_metadata_refresh_interval_ms {
        ..=0 => max_age,
        ms => duration_ms(ms).min(max_age),
    }
}

/// Returns `topic.metadata.refresh.fast.interval.ms`.
pub(super) fn fast_interval(conf: &ClientConfig) -> Duration {
    duration_ms(conf.topic_metadata_refresh_fast_interval_ms)
}

/// Returns a setting in milliseconds as a duration; a negative one is zero.
pub(super) fn duration_ms(ms: impl TryInto<u64>) -> Duration {
    Duration::from_millis(ms.try_into().unwrap_or(0))
}

/// The schedule of one topic.
#[derive(Debug)]
struct Watch {
    users: usize,
    /// Responses in a row after which metadata is incomplete.
    incomplete_refreshes: u32,
    /// The time of the next refresh; an entry of [`RefreshSchedule::due`] unless it is never.
    due: Instant,
    /// The refresh of this topic by name that is in flight and not late.
    in_flight: Option<u64>,
    /// The number of responses without a change since a refresh was requested, plus one; 0 if none was requested.
    refresh_attempts: u32,
    /// When a manager began to wait for a response, with or without a change.
    confirm_since: Option<Instant>,
}

/// The schedule of refreshes.
#[derive(Debug, Default)]
pub(super) struct RefreshSchedule {
    watches: BTreeMap<Arc<str>, Watch>,
    due: BTreeSet<(Instant, Arc<str>)>,
    /// When the broker list is refreshed if no topic is due before.
    brokers_due: Option<Instant>,
    /// Set while the names of all topics are kept up to date.
    lists_all: bool,
    /// When every topic is requested, unless that request is in flight.
    all_due: Option<Instant>,
    /// The earliest time of the next refresh.
    not_before: Instant,
    /// When a refresh became due, while none was answered since.
    unanswered_since: Option<Instant>,
}

impl RefreshSchedule {
    // ---------------------------------------------------------------- watched topics

    /// Adds a use of a topic. Returns whether it is the first one; then the topic is due at once.
    pub(super) fn watch(&mut self, name: &Arc<str>, now: Instant) -> bool {
        if let Some(watch) = self.watches.get_mut(name) {
            watch.users += 1;
            return false;
        }
        let watch = Watch {
            users: 1,
            incomplete_refreshes: 0,
            due: now,
            in_flight: None,
            refresh_attempts: 0,
            confirm_since: None,
        };
        self.watches.insert(name.clone(), watch);
        self.due.insert((now, name.clone()));
        true
    }

    /// Removes a use of a topic. Returns whether it was the last one.
    pub(super) fn unwatch(&mut self, name: &str) -> bool {
        let Some(watch) = self.watches.get_mut(name) else {
            return false;
        };
        watch.users -= 1;
        if watch.users > 0 {
            return false;
        }
        if let Some((name, watch)) = self.watches.remove_entry(name) {
            self.due.remove(&(watch.due, name));
        }
        true
    }

    /// Returns whether a topic is watched.
    pub(super) fn is_watched(&self, name: &str) -> bool {
        self.watches.contains_key(name)
    }

    /// Returns the watched topics.
    pub(super) fn watched(&self) -> impl Iterator<Item = &Arc<str>> {
        self.watches.keys()
    }

    /// Requests refreshes of a topic until one contains a change.
    pub(super) fn request_refresh(&mut self, name: &str, now: Instant) {
        if let Some(watch) = self.watches.get_mut(name) {
            watch.refresh_attempts = watch.refresh_attempts.max(1);
            self.schedule(name, now);
        }
    }

    /// Requests one refresh of a topic, whose response [`take_confirmed`](Self::take_confirmed) reports.
    pub(super) fn confirm(&mut self, name: &str, now: Instant) {
        if let Some(watch) = self.watches.get_mut(name)
            && watch.confirm_since.is_none()
        {
            watch.confirm_since = Some(now);
            self.schedule(name, now);
        }
    }

    /// Ends the wait of a manager for a response about a topic if the request was sent at `sent_at` after it began.
    /// Returns whether it did.
    pub(super) fn take_confirmed(&mut self, name: &str, sent_at: Instant) -> bool {
        let watch = self.watches.get_mut(name);
        watch.is_some_and(|w| w.confirm_since.take_if(|since| *since <= sent_at).is_some())
    }

    /// Ends the requested refreshes of a topic because it has changed. Returns whether it is watched.
    pub(super) fn on_news(&mut self, name: &str) -> bool {
        let watch = self.watches.get_mut(name);
        watch.is_some_and(|watch| {
            watch.refresh_attempts = 0;
            true
        })
    }

    /// Returns whether a refresh of a topic was requested and is not answered.
    pub(super) fn is_requested(&self, name: &str) -> bool {
        let watch = self.watches.get(name);
        watch.is_some_and(|w| w.refresh_attempts > 0 || w.confirm_since.is_some())
    }

    /// Brings a topic's next refresh forward to `at`, unless it is sooner already or in flight and not late.
    pub(super) fn schedule(&mut self, name: &str, at: Instant) {
        if self
            .watches
            .get(name)
            .is_some_and(|w| w.in_flight.is_none() && w.due > at)
        {
            self.reschedule(name, at);
        }
    }

    fn reschedule(&mut self, name: &str, at: Instant) {
        let Some((name, watch)) = self.watches.get_key_value(name) else {
            return;
        };
        let (name, old) = (name.clone(), watch.due);
        self.due.remove(&(old, name.clone()));
        if let Some(watch) = self.watches.get_mut(&name) {
            watch.due = at;
        }
        if at < Instant::NEVER {
            self.due.insert((at, name));
        }
    }

    /// Schedules what request `id` was sent for, unless another one was sent since.
    pub(super) fn on_unanswered(&mut self, id: u64, names: &[Arc<str>], all: bool, at: Instant) {
        for name in names {
            let Some(watch) = self.watches.get_mut(name) else {
                continue;
            };
            if watch.in_flight == Some(id) {
                watch.in_flight = None;
            } else if !all {
                continue;
            }
            self.schedule(name, at);
        }
        if all {
            self.list_at(at);
        }
    }

    /// Schedules a topic's next refresh after a response. An incomplete topic is due soon, and less often with each
    /// response; so is one whose refresh was requested and of which the response contains no change; others are due
    /// after the ordinary interval.
    pub(super) fn on_answered(&mut self, conf: &ClientConfig, name: &str, is_incomplete: bool, now: Instant) {
        let Some(watch) = self.watches.get_mut(name) else {
            return;
        };
        watch.in_flight = None;
        if watch.confirm_since.is_some() {
            // The request was sent before the confirmation was requested.
            return self.reschedule(name, now);
        }
        let (fast, interval) = (fast_interval(conf), refresh_interval(conf));
        let slowest = duration_ms(conf.retry_backoff_max_ms).max(fast);
        let pause = if is_incomplete {
            watch.incomplete_refreshes = watch.incomplete_refreshes.saturating_add(1);
            let factor = 1u32 << (watch.incomplete_refreshes / 4).min(10);
            fast.saturating_mul(factor).min(slowest)
        } else {
            watch.incomplete_refreshes = 0;
            let pause = refresh_pause(watch.refresh_attempts, fast, slowest);
            if watch.refresh_attempts > 0 && pause < interval {
                watch.refresh_attempts += 1;
                pause
            } else {
                watch.refresh_attempts = 0;
                interval
            }
        };
        self.reschedule(name, now + pause);
    }

    // ---------------------------------------------------------------- brokers and every topic

    /// Schedules the refresh of the broker list at `at` or earlier.
    pub(super) fn refresh_brokers(&mut self, at: Instant) {
        self.brokers_due = Some(self.brokers_due.map_or(at, |due| due.min(at)));
    }

    /// Schedules the refresh of the broker list at `at`, if none is scheduled.
    pub(super) fn ensure_brokers(&mut self, at: Instant) {
        self.brokers_due.get_or_insert(at);
    }

    /// Schedules the next refresh of the broker list after a response.
    pub(super) fn on_brokers(&mut self, next: Instant) {
        self.brokers_due = Some(next);
    }

    /// Starts or stops to keep the names of all topics up to date.
    pub(super) fn list_all(&mut self, now: Instant, wanted: bool) {
        self.lists_all = wanted;
        self.all_due = wanted.then_some(now);
    }

    /// Schedules the next request for every topic, if their names are kept up to date.
    pub(super) fn list_at(&mut self, at: Instant) {
        if self.lists_all {
            self.all_due = Some(at);
        }
    }

    /// Returns whether the next request for every topic is scheduled.
    pub(super) fn is_list_scheduled(&self) -> bool {
        self.all_due.is_some()
    }

    /// Schedules everything at once.
    pub(super) fn start_over(&mut self, now: Instant) {
        self.unanswered_since = None;
        self.brokers_due = Some(now);
        self.list_at(now);
        let names: Vec<Arc<str>> = self.watches.keys().cloned().collect();
        for name in names {
            self.reschedule(&name, now);
        }
    }

    // ---------------------------------------------------------------- sending

    /// Returns whether a refresh is due and may be sent.
    pub(super) fn may_send(&mut self, now: Instant) -> bool {
        let topic_due = self.due.first().is_some_and(|due| due.0 <= now);
        let brokers_due = self.brokers_due.is_some_and(|at| at <= now);
        if !topic_due && !brokers_due && !self.is_list_due(now) {
            return false;
        }
        self.unanswered_since.get_or_insert(now);
        self.not_before <= now
    }

    /// Returns whether every topic is to be requested.
    pub(super) fn is_list_due(&self, now: Instant) -> bool {
        self.all_due.is_some_and(|at| at <= now)
    }

    /// Returns the topics that are due.
    pub(super) fn due_topics(&self, now: Instant) -> impl Iterator<Item = &Arc<str>> {
        self.due.iter().take_while(move |due| due.0 <= now).map(|due| &due.1)
    }

    /// Notes that refresh `id` of these topics was sent.
    pub(super) fn on_sent(&mut self, id: u64, names: &[Arc<str>], all: bool, now: Instant) {
        for name in names {
            self.reschedule(name, Instant::NEVER);
            // A topic that becomes urgent does not wait for a response about every topic.
            if let Some(watch) = self.watches.get_mut(name).filter(|_| !all) {
                watch.in_flight = Some(id);
            }
        }
        self.brokers_due = None;
        if all {
            self.all_due = None;
        }
        self.not_before = now + PAUSE;
    }

    /// Notes that a refresh could not be sent.
    pub(super) fn on_send_failed(&mut self, now: Instant) {
        self.not_before = now + SEND_RETRY;
    }

    /// Postpones all refreshes until `at`.
    pub(super) fn delay_until(&mut self, at: Instant) {
        self.not_before = self.not_before.max(at);
    }

    /// Notes a response of whichever request.
    pub(super) fn note_answer(&mut self) {
        self.unanswered_since = None;
    }

    /// Returns when the oldest unanswered refresh became due.
    pub(super) fn unanswered_since(&self) -> Option<Instant> {
        self.unanswered_since
    }

    /// Returns when the next refresh is due.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        let due = earliest(self.due.first().map(|due| due.0), self.all_due);
        earliest(due, self.brokers_due).map(|at| at.max(self.not_before))
    }
}

#[cfg(test)]
mod tests;
