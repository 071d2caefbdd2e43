//! A record in a share group: its acquisitions, and the acknowledgements that its leader has.

use ottla_mock::ArchiveCause;

use super::vocabulary::ShareAck;

/// The acquisition of a record by a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acquisition {
    pub(super) client: usize,
    pub(super) delivery_count: i32,
    pub(super) at_us: u64,
    /// The broker, and the time at which the client received the record.
    pub(super) received: Option<(i32, u64)>,
    pub(super) is_seen: bool,
    /// The client has sent its release without the application.
    pub(super) is_released: bool,
    has_ended: bool,
}

/// An acknowledgement that the leader has.
#[derive(Debug)]
struct Applied {
    client: usize,
    ack: ShareAck,
    at_us: u64,
    /// The client had several acknowledgements of this type without a result, as after two renewals. Leaders do not report
    /// which one they have: it may be any of them.
    is_guess: bool,
}

/// A record in a share group.
#[derive(Debug, Default)]
pub(super) struct Record {
    acquisitions: Vec<Acquisition>,
    /// The leader has lost its state since the last acquisition: the delivery count may be an older one.
    is_reloaded: bool,
    /// Accepted, rejected or archived.
    pub(super) is_done: bool,
    /// Archived when a lock ran out: the leader does so even if it cannot write it.
    is_archived_by_limit: bool,
    /// The client whose application learned that its acceptance or rejection has succeeded.
    pub(super) reported_done_by: Option<usize>,
    /// It may have left the share partition.
    pub(super) may_have_left: bool,
    /// The acknowledgements of applications that the leader does not have, as far as this is known, with their times.
    submitted: Vec<(usize, ShareAck, u64)>,
    /// Those that the leader has, and whose result was not reported.
    applied: Vec<Applied>,
}

impl Record {
    pub(super) fn on_unloaded(&mut self) {
        self.is_reloaded = true;
        self.acquisitions.iter_mut().for_each(|a| a.has_ended = true);
        self.is_done &= !std::mem::take(&mut self.is_archived_by_limit);
    }

    fn current(&mut self) -> Option<&mut Acquisition> {
        self.acquisitions.last_mut().filter(|a| !a.has_ended)
    }

    pub(super) fn acquire(&mut self, client: usize, delivery_count: i32, limit: i32, at_us: u64) -> Result<(), String> {
        if self.is_done || self.reported_done_by.is_some() {
            return Err("a record is delivered again that was accepted, rejected or archived".to_owned());
        }
        if let Some(holder) = self.current() {
            return Err(format!("client {} holds the record", holder.client));
        }
        let before = self.acquisitions.last().map_or(0, |a| a.delivery_count);
        if !(1..=limit).contains(&delivery_count) || delivery_count != before + 1 && !self.is_reloaded {
            return Err(format!("{before} deliveries before, {limit} are allowed"));
        }
        (self.is_reloaded, self.may_have_left) = (false, false);
        self.acquisitions.push(Acquisition {
            client,
            delivery_count,
            at_us,
            received: None,
            is_seen: false,
            is_released: false,
            has_ended: false,
        });
        Ok(())
    }

    /// Ends the acquisition of a client.
    pub(super) fn end(&mut self, client: usize, at_us: u64) -> Result<Acquisition, String> {
        let held = self.current().filter(|a| a.client == client && a.at_us <= at_us);
        let held = held.ok_or_else(|| format!("client {client} does not hold the record"))?;
        held.has_ended = true;
        Ok(*held)
    }

    /// Applies an acknowledgement that the leader has.
    pub(super) fn acknowledge(&mut self, client: usize, ack: ShareAck, at_us: u64) -> Result<(), String> {
        let is_it = |s: &(usize, ShareAck, u64)| (s.0, s.1) == (client, ack);
        let is_guess = self.submitted.iter().filter(|s| is_it(s)).count() > 1;
        match self.submitted.iter().position(is_it) {
            // Clients release records that their applications do not see.
            _ if ack == ShareAck::Release && self.is_unseen(client) => {}
            Some(at) => {
                let (client, ack, at_us) = self.submitted.remove(at);
                self.applied.push(Applied {
                    client,
                    ack,
                    at_us,
                    is_guess,
                });
            }
            None => {
                return Err(format!(
                    "client {client} sent {ack:?}, which its application did not say"
                ));
            }
        }
        match ack {
            ShareAck::Renew => {
                let held = self.current().is_some_and(|a| a.client == client);
                held.then_some(())
                    .ok_or_else(|| format!("client {client} does not hold the record"))?;
            }
            _ => _ = self.end(client, at_us)?,
        }
        self.is_done |= matches!(ack, ShareAck::Accept | ShareAck::Reject);
        self.may_have_left |= self.is_done;
        Ok(())
    }

    pub(super) fn archive(&mut self, cause: ArchiveCause) -> Result<(), String> {
        // Before the start of the log: only this leader knows.
        self.is_done |= cause != ArchiveCause::LogStart;
        self.may_have_left = true;
        self.is_archived_by_limit = cause == ArchiveCause::DeliveryCountLimit;
        Ok(())
    }

    /// Notes that a client has received the record.
    pub(super) fn receive(&mut self, client: usize, delivery_count: i32, broker: i32, now_us: u64) {
        let mut acquisitions = self.acquisitions.iter_mut().rev();
        let found = acquisitions.find(|a| a.client == client && a.delivery_count == delivery_count && !a.is_seen);
        if let Some(acquisition) = found {
            acquisition.received = Some((broker, now_us));
        }
    }

    /// Notes that a client sends the release of a record that its application has not seen.
    pub(super) fn release_unseen(&mut self, client: usize) {
        let last = self.acquisitions.iter_mut().rev().find(|a| a.client == client);
        if let Some(last) = last.filter(|a| !a.is_seen) {
            last.is_released = true;
        }
    }

    /// Returns true when the application of the client has not seen its last acquisition.
    pub(super) fn is_unseen(&self, client: usize) -> bool {
        self.last_of(client).is_some_and(|a| !a.is_seen)
    }

    /// Returns the last acquisition of a client.
    pub(super) fn last_of(&self, client: usize) -> Option<&Acquisition> {
        self.acquisitions.iter().rev().find(|a| a.client == client)
    }

    /// Notes that an application sees the record.
    pub(super) fn see(&mut self, client: usize, delivery_count: i32) -> Result<(), String> {
        // The clients of other members cannot know of it: their batches may be those of a former leader.
        if self.reported_done_by == Some(client) {
            return Err("the application was informed that its acceptance or rejection has succeeded".to_owned());
        }
        // A former leader's response may arrive after one of the new leader.
        let mut acquisitions = self
            .acquisitions
            .iter_mut()
            .rev()
            .filter(|a| a.client == client && !a.is_seen);
        if let Some(found) = acquisitions.find(|a| a.delivery_count == delivery_count) {
            found.is_seen = true;
            return Ok(());
        }
        Err(match self.last_of(client) {
            None => "the client has not acquired the record".to_owned(),
            Some(last) if last.is_seen => "the record was delivered before, and not acquired again".to_owned(),
            Some(last) => format!("the leader's delivery count is {}", last.delivery_count),
        })
    }

    /// Records an acknowledgement of an application.
    pub(super) fn submit(&mut self, client: usize, ack: ShareAck, at_us: u64) -> Result<(), String> {
        // It may have been acquired again since.
        if !self.acquisitions.iter().any(|a| a.client == client && a.is_seen) {
            return Err("the application has not seen the record".to_owned());
        }
        self.submitted.push((client, ack, at_us));
        Ok(())
    }

    /// Returns true when the leader has the acknowledgement of this time, and no result was reported.
    pub(super) fn is_applied(&self, client: usize, ack: ShareAck, at_us: u64) -> bool {
        self.position_applied(client, ack, at_us).is_some()
    }

    /// Returns true when the leader has the acknowledgement of this time for certain, and no result was reported: it cannot
    /// have another one of the same kind instead.
    pub(super) fn is_applied_for_certain(&self, client: usize, ack: ShareAck, at_us: u64) -> bool {
        let is_other_open = self.submitted.iter().any(|s| (s.0, s.1) == (client, ack));
        let mut applied = self.applied.iter();
        applied.any(|a| (a.client, a.ack, a.at_us) == (client, ack, at_us) && !(a.is_guess && is_other_open))
    }

    /// Notes that an acknowledgement has succeeded. Returns true if the leader has it.
    pub(super) fn take_applied(&mut self, client: usize, ack: ShareAck, at_us: u64) -> bool {
        let Some(at) = self.position_applied(client, ack, at_us) else {
            return false;
        };
        let applied = self.applied.remove(at);
        if applied.at_us != at_us
            && let Some(other) = self.submitted.iter_mut().find(|s| **s == (client, ack, at_us))
        {
            other.2 = applied.at_us;
        }
        true
    }

    /// Notes that an acknowledgement may have succeeded. Returns true if the leader has it.
    pub(super) fn take_lost(&mut self, client: usize, ack: ShareAck, at_us: u64) -> bool {
        let is_it = |a: &&mut Applied| (a.client, a.ack, a.at_us) == (client, ack, at_us) && a.is_guess;
        if let Some(applied) = self.applied.iter_mut().find(is_it)
            && let Some(other) = self.submitted.iter_mut().find(|s| (s.0, s.1) == (client, ack))
        {
            // The leader has this one or the other, whose result follows.
            std::mem::swap(&mut applied.at_us, &mut other.2);
            return false;
        }
        self.take_applied(client, ack, at_us)
    }

    /// Notes that an acknowledgement has failed. Returns true if the leader has it nevertheless.
    pub(super) fn take_failed(&mut self, client: usize, ack: ShareAck, at_us: u64) -> bool {
        if let Some(at) = self.submitted.iter().position(|s| *s == (client, ack, at_us)) {
            self.submitted.remove(at);
            return false;
        }
        let is_it = |a: &Applied| (a.client, a.ack, a.at_us) == (client, ack, at_us);
        let Some(at) = self.applied.iter().position(is_it) else {
            return false;
        };
        // The leader may have had another one of the same kind.
        let other = self.submitted.iter().position(|s| (s.0, s.1) == (client, ack));
        match other.filter(|_| self.applied[at].is_guess) {
            Some(other) => self.applied[at].at_us = self.submitted.remove(other).2,
            None => {
                self.applied.remove(at);
                return true;
            }
        }
        false
    }

    fn position_applied(&self, client: usize, ack: ShareAck, at_us: u64) -> Option<usize> {
        let is_kind = |a: &Applied| (a.client, a.ack) == (client, ack);
        let exact = self.applied.iter().position(|a| is_kind(a) && a.at_us == at_us);
        exact.or_else(|| self.applied.iter().position(|a| is_kind(a) && a.is_guess))
    }
}
