//! When certificate files are looked at, and which connections are renewed after a change.
//!
//! Before an attempt to connect, at most once per interval, the network is asked to look at the files. With a time for the
//! replacement of open connections the files are looked at in each interval, since there may be no attempt for long.

use super::config::CertificateRenewal;
use crate::sys::Instant;

/// The schedule of looks at the files.
#[derive(Debug, Default)]
pub(super) struct Certificates {
    /// Time of the last look; `None` before the first.
    looked_at: Option<Instant>,
    /// The network has not answered the last one.
    looking: bool,
}

impl Certificates {
    /// Returns whether to look at the files before an attempt to connect. Notes the look.
    pub(super) fn look_before_attempt(&mut self, renewal: &CertificateRenewal, now: Instant) -> bool {
        let due = !self.looking && self.due_at(renewal).is_some_and(|at| at <= now);
        self.looking |= due;
        if due {
            self.looked_at = Some(now);
        }
        due
    }

    /// Returns the time of the next look when open connections are replaced after a change.
    pub(super) fn next_wake(&self, renewal: &CertificateRenewal) -> Option<Instant> {
        renewal.reconnect_within?;
        let started = self.looked_at.is_some() && !self.looking;
        started.then(|| self.due_at(renewal)).flatten()
    }

    /// Notes the answer of the network.
    pub(super) fn on_looked(&mut self) {
        self.looking = false;
    }

    /// Returns the time from which a look is due. The client has read the files when it was created, but its first attempt
    /// may come much later.
    fn due_at(&self, renewal: &CertificateRenewal) -> Option<Instant> {
        let interval = renewal.interval?;
        Some(self.looked_at.map_or(Instant::ORIGIN, |at| at + interval))
    }
}
