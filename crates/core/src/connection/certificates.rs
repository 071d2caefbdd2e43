//! When certificate files are looked at, and which connections are replaced after a change.
//!
//! Before an attempt to connect, at most once per interval, the network is asked to look at the files. With a time for the
//! replacement of open connections the files are looked at in each interval, since there may be no attempt for long.
//!
//! An attempt that begins after the request for a look uses the files as the look finds them, because the network opens its
//! connection after the look. Connections whose attempts began before a look that finds changed files are replaced, those
//! included that are not up yet.

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

    /// Notes the answer of the network. Returns the time of the look: attempts that began earlier use the files as they were
    /// before it.
    pub(super) fn on_looked(&mut self, now: Instant) -> Instant {
        self.looking = false;
        self.looked_at.unwrap_or(now)
    }

    /// Returns the time from which a look is due. The client has read the files when it was created, but its first attempt
    /// may come much later.
    fn due_at(&self, renewal: &CertificateRenewal) -> Option<Instant> {
        let interval = renewal.interval?;
        Some(self.looked_at.map_or(Instant::ORIGIN, |at| at + interval))
    }
}

/// The replacement of a connection after a renewal of certificates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replacement {
    /// Attempts that began before this time use the certificates before the renewal.
    pub(super) renewed_at: Instant,
    /// Time from which the connection accepts no further request, and is closed once none is in flight.
    pub(super) at: Instant,
}

impl Replacement {
    /// Returns the replacement after another renewal, which does not postpone the one before it.
    pub(super) fn after(self, before: Option<Replacement>) -> Self {
        Replacement {
            at: before.map_or(self.at, |before| before.at.min(self.at)),
            ..self
        }
    }
}
