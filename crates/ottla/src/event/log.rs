//! Log lines and the debug contexts that switch them on.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Syslog levels.
pub mod level {
    /// Something is wrong that a person must mend.
    pub const ERROR: i32 = 3;
    /// Something is wrong that the client mends itself.
    pub const WARNING: i32 = 4;
    /// Normal but worth knowing.
    pub const NOTICE: i32 = 5;
    /// Informational.
    pub const INFO: i32 = 6;
    /// Debugging; written only for contexts that `debug` names.
    pub const DEBUG: i32 = 7;
}

/// A set of debug contexts: bits as in the `debug` property's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DebugContexts(pub u32);

impl DebugContexts {
    /// `generic`
    pub const GENERIC: DebugContexts = DebugContexts(0x1);
    /// `broker`
    pub const BROKER: DebugContexts = DebugContexts(0x2);
    /// `topic`
    pub const TOPIC: DebugContexts = DebugContexts(0x4);
    /// `metadata`
    pub const METADATA: DebugContexts = DebugContexts(0x8);
    /// `feature`
    pub const FEATURE: DebugContexts = DebugContexts(0x10);
    /// `queue`
    pub const QUEUE: DebugContexts = DebugContexts(0x20);
    /// `msg`
    pub const MSG: DebugContexts = DebugContexts(0x40);
    /// `protocol`
    pub const PROTOCOL: DebugContexts = DebugContexts(0x80);
    /// `cgrp`
    pub const CGRP: DebugContexts = DebugContexts(0x100);
    /// `security`
    pub const SECURITY: DebugContexts = DebugContexts(0x200);
    /// `fetch`
    pub const FETCH: DebugContexts = DebugContexts(0x400);
    /// `consumer`
    pub const CONSUMER: DebugContexts = DebugContexts(0x2000);
    /// `eos`: the idempotent producer
    pub const EOS: DebugContexts = DebugContexts(0x8000);

    /// Whether any context of `other` is in this set.
    pub fn intersects(self, other: DebugContexts) -> bool {
        self.0 & other.0 != 0
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// A syslog level, 0 to 7.
    pub level: i32,
    /// A short upper-case word that names the kind of line.
    pub facility: &'static str,
    /// The text.
    pub message: String,
    /// The contexts it belongs to.
    pub contexts: DebugContexts,
}

/// Where lines go. Called from any thread.
pub type LogSink = Arc<dyn Fn(LogLine) + Send + Sync>;

/// Decides which lines are written and hands them on. Cheap to ask, thread-safe.
pub struct Logger {
    sink: LogSink,
    max_level: AtomicI32,
    contexts: DebugContexts,
}

impl Logger {
    /// A logger that writes lines up to `max_level` (a syslog level) and debug lines of `contexts`.
    pub fn new(sink: LogSink, max_level: i32, contexts: DebugContexts) -> Self {
        Logger {
            sink,
            max_level: AtomicI32::new(max_level),
            contexts,
        }
    }

    /// Whether a debug line of one of `contexts` would be written.
    pub fn debugs(&self, contexts: DebugContexts) -> bool {
        self.contexts.intersects(contexts)
    }

    /// The level up to which lines are written.
    pub fn max_level(&self) -> i32 {
        self.max_level.load(Ordering::Relaxed)
    }

    /// Changes the level up to which lines are written.
    pub fn set_max_level(&self, level: i32) {
        self.max_level.store(level, Ordering::Relaxed);
    }

    /// Writes a line when its level is wanted.
    pub fn log(&self, level: i32, facility: &'static str, message: impl FnOnce() -> String) {
        if level <= self.max_level() {
            (self.sink)(LogLine {
                level,
                facility,
                message: message(),
                contexts: DebugContexts::default(),
            });
        }
    }

    /// Writes a debug line when one of its contexts is on; `message` is not called otherwise.
    pub fn debug(&self, contexts: DebugContexts, facility: &'static str, message: impl FnOnce() -> String) {
        if self.debugs(contexts) {
            (self.sink)(LogLine {
                level: level::DEBUG,
                facility,
                message: message(),
                contexts,
            });
        }
    }
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logger")
            .field("contexts", &self.contexts)
            .finish_non_exhaustive()
    }
}
