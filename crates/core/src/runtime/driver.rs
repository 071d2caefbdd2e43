//! The core with its sockets and files, driven one step at a time.

use crate::connection::NetEvent;
use crate::core::Core;
use crate::sys::{Instant, SharedClock, earliest};
use crate::transport::{Files, TcpTransport};

/// The core with its sockets and files. The thread that holds its lock drives it.
pub(super) struct Driver {
    pub(super) core: Core,
    pub(super) transport: TcpTransport,
    pub(super) files: Files,
    pub(super) clock: SharedClock,
    /// The end of the current poll's timeout.
    pub(super) sleeps_until: Option<Instant>,
    /// No further step is necessary before the next event or timer.
    pub(super) settled: bool,
}

/// The action after a step.
pub(super) enum Next {
    /// Another step.
    Step,
    /// Wait for events, until this time at the latest.
    Sleep(Option<Instant>),
    /// The core is finished.
    End,
}

impl Driver {
    /// Drives the core once and performs its network and file actions.
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
            // Writes that completed immediately may have moved a timer.
            Next::Sleep(earliest(wake_at, self.core.next_connection_wake()).filter(|at| *at < Instant::NEVER))
        };
        self.settled = matches!(next, Next::Sleep(_));
        next
    }

    /// Passes the events of network and files to the core. Returns false if they require no further step.
    pub(super) fn feed(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.transport.next_event() {
            // A written request requires a step only if a manager waits for that event.
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
