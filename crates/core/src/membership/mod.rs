//! stub
pub(crate) struct CoordinatorConnection<'a> {
    pub(crate) broker: &'a crate::request::ReadyBroker,
    pub(crate) group_id: &'a str,
    pub(crate) commits_first: bool,
}
#[derive(Debug)]
pub(crate) struct PollWatch;
use crate::sys::Instant;
impl PollWatch {
    pub(crate) fn new(_: &crate::config::ClientConfig) -> Self {
        PollWatch
    }
    pub(crate) fn restart(&mut self, _: Instant) {}
    pub(crate) fn overdue_ms(&self, _: Instant) -> u64 {
        0
    }
    pub(crate) fn next_check(&self) -> Instant {
        Instant::NEVER
    }
    pub(crate) fn is_due(&self, _: Instant) -> bool {
        false
    }
    pub(crate) fn check(&mut self, _: Instant, _: impl Iterator<Item = crate::event::QueueActivity>) -> bool {
        true
    }
}
