//! Renewal of certificates: the schedule of checks of the certificate files, and the replacement of connections after a
//! change.
//!
//! A *look* is a check whether the files have changed; changed files are loaded. The core requests a look, and the transport
//! performs it. The core requests one before an attempt to connect, at most once per `ssl.certificate.refresh.interval.ms`.
//! With `ssl.certificate.refresh.reconnect.ms` it also requests one in each interval, since there may be no attempt for a
//! long time.
//!
//! The transport opens no TLS connection while a look is in progress. So an attempt that begins after the request uses
//! the files that the look finds. If the files have changed, connections whose attempts began before the request are
//! replaced, even those that are not up yet.

use super::config::CertificateRenewal;
use crate::sys::Instant;

/// The schedule of looks at the files.
#[derive(Debug, Default)]
pub(super) struct Certificates {
    /// Time at which the last look was requested; `None` before the first.
    looked_at: Option<Instant>,
    /// The transport has not reported the result of the last look yet.
    looking: bool,
}

impl Certificates {
    /// Returns whether to request a look before an attempt to connect. If so, records that a look is in progress.
    pub(super) fn look_before_attempt(&mut self, renewal: &CertificateRenewal, now: Instant) -> bool {
        let due = !self.looking && self.due_at(renewal).is_some_and(|at| at <= now);
        self.looking |= due;
        if due {
            self.looked_at = Some(now);
        }
        due
    }

    /// Returns the time of the next periodic look; `None` unless open connections are replaced after a change.
    pub(super) fn next_wake(&self, renewal: &CertificateRenewal) -> Option<Instant> {
        renewal.reconnect_within?;
        let started = self.looked_at.is_some() && !self.looking;
        started.then(|| self.due_at(renewal)).flatten()
    }

    /// Records that a look has ended. Returns the time at which it was requested: attempts that began earlier use the
    /// files as they were before it.
    pub(super) fn on_looked(&mut self, now: Instant) -> Instant {
        self.looking = false;
        self.looked_at.unwrap_or(now)
    }

    /// Returns the time from which a look is due; `None` if looks are disabled. The first look is due at once: the
    /// client has read the files at its creation, but its first attempt may be much later.
    fn due_at(&self, renewal: &CertificateRenewal) -> Option<Instant> {
        let interval = renewal.interval?;
        Some(self.looked_at.map_or(Instant::ORIGIN, |at| at + interval))
    }
}

/// The replacement of a connection after a renewal of certificates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replacement {
    /// Attempts that began before this time use the old certificates.
    pub(super) renewed_at: Instant,
    /// Time from which the connection accepts no further request, and is closed once none is in flight.
    pub(super) at: Instant,
}

impl Replacement {
    /// Combines this replacement with one that is already scheduled (`before`). The earlier time of the two applies, so that
    /// further renewals do not postpone a replacement.
    pub(super) fn after(self, before: Option<Replacement>) -> Self {
        Replacement {
            at: before.map_or(self.at, |before| before.at.min(self.at)),
            ..self
        }
    }
}
