//! The application's side of a share consumer: the rules of its calls, without waiting.
//!
//! [`Application`] has no thread, no lock and no clock. Its owner sends the commands to the core, and waits where a call
//! waits.

use std::sync::Arc;

use super::acknowledge_type::AcknowledgeType;
use super::command::{Command, PartitionAcknowledgements};
use super::delivered::Delivered;
use super::shared_state::SharedState;
use crate::config::ClientConfig;
use crate::error::{Error, ErrorCode};
use crate::event::ShareBatch;
use crate::sys::Instant;

/// The acknowledgement mode (`share.acknowledgement.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The next poll or commit accepts the records of the last poll.
    Implicit,
    /// Each record of the last poll must be acknowledged before the next one.
    Explicit,
}

/// A poll that has begun: what it sends to the core.
#[derive(Debug)]
pub struct Poll {
    acknowledgements: Vec<PartitionAcknowledgements>,
    busy_us: Option<u64>,
}

impl Poll {
    /// Returns the command of a poll that has found a batch in the queue, or that failed.
    pub fn without_waiting(self) -> Command {
        self.command(None)
    }

    /// Returns the command of a poll that waits until then.
    pub fn until(self, deadline: Instant) -> Command {
        self.command(Some(deadline))
    }

    /// Returns the acknowledgements.
    pub fn acknowledgements(&self) -> &[PartitionAcknowledgements] {
        &self.acknowledgements
    }

    fn command(self, wait_until: Option<Instant>) -> Command {
        Command::Poll {
            acknowledgements: self.acknowledgements,
            wait_until,
            busy_us: self.busy_us,
        }
    }
}

/// The state of the application's calls. One thread at a time uses it.
///
/// Order of calls: [`set_subscribed`](Self::set_subscribed); then [`begin_poll`](Self::begin_poll), the command of the poll,
/// [`on_batch`](Self::on_batch) for the batch that it returns, and acknowledgements.
#[derive(Debug)]
pub struct Application {
    shared: Arc<SharedState>,
    mode: Mode,
    is_subscribed: bool,
    delivered: Delivered,
    /// When the last batch was taken.
    taken_at: Option<Instant>,
}

impl Application {
    /// Without a subscription.
    pub fn new(shared: Arc<SharedState>, conf: &ClientConfig) -> Self {
        let mode = match conf.share_acknowledgement_mode.as_str() {
            "explicit" => Mode::Explicit,
            _ => Mode::Implicit,
        };
        Application {
            shared,
            mode,
            is_subscribed: false,
            delivered: Delivered::default(),
            taken_at: None,
        }
    }

    /// Returns whether the application acknowledges each record.
    pub fn is_explicit(&self) -> bool {
        self.mode == Mode::Explicit
    }

    /// Notes whether the consumer is subscribed. Records of earlier polls can be acknowledged in any case.
    pub fn set_subscribed(&mut self, is_subscribed: bool) {
        self.is_subscribed = is_subscribed;
    }

    // ---------------------------------------------------------------- records

    /// Begins a poll: takes the acknowledgements of the last batch; in implicit mode it accepts records without one.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) without a subscription, and in explicit mode while records of the last poll are not
    /// acknowledged.
    pub fn begin_poll(&mut self, now: Instant) -> Result<Poll, Error> {
        if !self.is_subscribed {
            return Err(Error::new(
                ErrorCode::L_STATE,
                "Consumer is not subscribed to any topics",
            ));
        }
        let unacknowledged = self.delivered.unacknowledged();
        if self.mode == Mode::Explicit && unacknowledged > 0 {
            let text = format!("{unacknowledged} records from the previous poll have not been acknowledged");
            return Err(Error::new(ErrorCode::L_STATE, text));
        }
        let busy = self.taken_at.take().map(|at| now.since(at));
        Ok(Poll {
            acknowledgements: self.take_acknowledgements(),
            busy_us: busy.map(|busy| u64::try_from(busy.as_micros()).unwrap_or(u64::MAX)),
        })
    }

    /// Returns whether a poll that has found no batch must be sent to the core. `waits` is false for one that does not wait.
    pub fn must_send(&self, poll: &Poll, waits: bool) -> bool {
        waits || !poll.acknowledgements.is_empty() || poll.busy_us.is_some() || !self.shared.is_fetching()
    }

    /// Adds the records of a batch that the application takes. Returns whether the core is to be woken, to fetch again.
    #[must_use]
    pub fn on_batch(&mut self, batch: &mut ShareBatch, now: Instant) -> bool {
        batch.on_taken();
        self.delivered.add(batch);
        self.taken_at = Some(now);
        self.shared.wakes_on_take()
    }

    // ---------------------------------------------------------------- acknowledgements

    /// Acknowledges a record of the last poll, or changes its acknowledgement; the next poll or commit sends it.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) in implicit mode, and for a record that is not of the last poll or is committed.
    pub fn acknowledge(&mut self, topic: &str, partition: i32, offset: i64, ty: AcknowledgeType) -> Result<(), Error> {
        if self.mode == Mode::Implicit {
            let text = "records are acknowledged by the next poll: set share.acknowledgement.mode=explicit";
            return Err(Error::new(ErrorCode::L_STATE, text));
        }
        self.delivered.acknowledge(topic, partition, offset, ty)
    }

    /// Returns the number of records of the last poll without an acknowledgement.
    pub fn unacknowledged(&self) -> usize {
        self.delivered.unacknowledged()
    }

    /// Takes the acknowledgements of a poll or a commit: in implicit mode records without one are accepted.
    pub fn take_acknowledgements(&mut self) -> Vec<PartitionAcknowledgements> {
        self.delivered.take(match self.mode {
            Mode::Implicit => Some(AcknowledgeType::Accept),
            Mode::Explicit => None,
        })
    }

    /// Takes the acknowledgements of a close, and forgets all other records.
    pub fn take_last_acknowledgements(&mut self) -> Vec<PartitionAcknowledgements> {
        let acknowledgements = self.delivered.take(None);
        self.delivered.clear();
        acknowledgements
    }
}
