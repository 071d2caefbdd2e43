//! The core with its sockets, as whoever drives it sees them.

use crate::connection::NetEvent;
use crate::core::Core;
use crate::sys::{Instant, SharedClock, earliest};
use crate::transport::{Files, TcpTransport};

/// The core with its sockets. Whoever has locked it drives it.
pub(super) struct Driver {
    pub(super) core: Core,
    pub(super) transport: TcpTransport,
    pub(super) files: Files,
    pub(super) clock: SharedClock,
    /// When whoever waits for the sockets looks by itself.
    pub(super) sleeps_until: Option<Instant>,
    /// The last step left nothing for another one to do.
    pub(super) settled: bool,
}

/// What is to be done after a step.
pub(super) enum Next {
    /// Another step.
    Step,
    /// Sleep, until then at the latest.
    Sleep(Option<Instant>),
    /// The core is finished.
    End,
}

impl Driver {
    /// Has the core decide, and does what it decided.
    pub(super) fn step(&mut self) -> Next {
        let wake_at = self.core.drive(self.clock.now(), self.clock.wall_ms());
        while let Some(action) = self.core.next_action() {
            self.transport.perform(action);
        }
        while let Some(action) = self.core.next_file_action() {
            self.files.perform(action);
        }
        self.transport.flush();
        let next = if self.feed() {
            Next::Step
        } else if self.core.is_finished() {
            Next::End
        } else {
            // What the kernel took at once may have moved a timer.
            Next::Sleep(earliest(wake_at, self.core.next_connection_wake()).filter(|at| *at < Instant::NEVER))
        };
        self.settled = matches!(next, Next::Sleep(_));
        next
    }

    /// Hands what network and files report to the core; false when that leaves it nothing to decide.
    pub(super) fn feed(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.transport.next_event() {
            // Every request that is sent is written: where nobody waits for just that, it is not worth another step.
            let written = matches!(event, NetEvent::Written { .. });
            self.core.on_net(event, self.clock.now());
            any |= !written || self.core.has_connection_event();
        }
        for event in self.files.take_events() {
            self.core.on_file(event);
            any = true;
        }
        any
    }
}
