//! Log lines and the debug contexts that switch them on.
//!
//! Each module logs its own decisions. Debug lines are formatted by closures, which are called only for lines that are
//! written. `docs/LOGS.md` is the manual.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::config::DEBUG_CONTEXTS;

/// Syslog levels.
pub mod level {
    /// An error that needs intervention.
    pub const ERROR: i32 = 3;
    /// A problem that the client recovers from.
    pub const WARNING: i32 = 4;
    /// Normal but significant.
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
    /// `admin`
    pub const ADMIN: DebugContexts = DebugContexts(0x4000);
    /// `eos`: the idempotent and the transactional producer
    pub const EOS: DebugContexts = DebugContexts(0x8000);
    /// `mock`: the embedded cluster
    pub const MOCK: DebugContexts = DebugContexts(0x1_0000);
    /// `assignor`
    pub const ASSIGNOR: DebugContexts = DebugContexts(0x2_0000);
    /// `conf`
    pub const CONF: DebugContexts = DebugContexts(0x4_0000);
    /// `telemetry`: metrics for the cluster (KIP-714)
    pub const TELEMETRY: DebugContexts = DebugContexts(0x8_0000);

    /// Returns the union of both sets.
    #[must_use]
    pub const fn with(self, other: DebugContexts) -> DebugContexts {
        DebugContexts(self.0 | other.0)
    }

    /// Returns whether any context of `other` is in this set.
    pub const fn intersects(self, other: DebugContexts) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the names of the contexts in the property `debug`, separated by commas.
    pub fn names(self) -> String {
        let single = DEBUG_CONTEXTS.iter().filter(|(_, bits)| bits.count_ones() == 1);
        let set: Vec<&str> = single
            .filter(|(_, bit)| self.0 & bit.cast_unsigned() != 0)
            .map(|(name, _)| *name)
            .collect();
        set.join(",")
    }
}

/// A log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// A syslog level, 0 to 7.
    pub level: i32,
    /// A short upper-case word for the kind of line.
    pub facility: &'static str,
    /// The text.
    pub message: String,
    /// The contexts of the line.
    pub contexts: DebugContexts,
}

/// The destination of log lines. Called from any thread.
pub type LogSink = Arc<dyn Fn(LogLine) + Send + Sync>;

/// Filters log lines and passes them to the sink. The filter is cheap. Thread-safe.
pub struct Logger {
    sink: LogSink,
    max_level: AtomicI32,
    contexts: DebugContexts,
    /// The contexts in effect at the present level: all of `contexts`, or none. One load decides on a line.
    debugged: AtomicU32,
}

impl Logger {
    /// Creates a logger that writes lines up to `max_level` (a syslog level) and debug lines of `contexts`.
    pub fn new(sink: LogSink, max_level: i32, contexts: DebugContexts) -> Self {
        let logger = Logger {
            sink,
            max_level: AtomicI32::new(max_level),
            contexts,
            debugged: AtomicU32::new(0),
        };
        logger.set_max_level(max_level);
        logger
    }

    /// Creates a logger that writes nothing.
    pub fn silent() -> Self {
        Logger::new(Arc::new(|_| {}), -1, DebugContexts::default())
    }

    /// Returns whether a debug line of one of `contexts` would be written.
    #[inline]
    pub fn debugs(&self, contexts: DebugContexts) -> bool {
        DebugContexts(self.debugged.load(Ordering::Relaxed)).intersects(contexts)
    }

    /// Returns the level up to which lines are written.
    pub fn max_level(&self) -> i32 {
        self.max_level.load(Ordering::Relaxed)
    }

    /// Changes the level up to which lines are written. Below [`level::DEBUG`] no context writes anything.
    pub fn set_max_level(&self, level: i32) {
        let contexts = if level >= level::DEBUG { self.contexts.0 } else { 0 };
        self.max_level.store(level, Ordering::Relaxed);
        self.debugged.store(contexts, Ordering::Relaxed);
    }

    /// Writes a line if its level is enabled.
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

    /// Writes a debug line if one of its contexts is enabled; otherwise `message` is not called.
    #[inline]
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

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    #[test]
    fn contexts_have_the_names_of_the_debug_property() {
        let both = DebugContexts::GENERIC.with(DebugContexts::FETCH);
        assert_eq!(both.names(), "generic,fetch");
        for (context, name) in [
            (DebugContexts::BROKER, "broker"),
            (DebugContexts::TOPIC, "topic"),
            (DebugContexts::METADATA, "metadata"),
            (DebugContexts::FEATURE, "feature"),
            (DebugContexts::QUEUE, "queue"),
            (DebugContexts::MSG, "msg"),
            (DebugContexts::PROTOCOL, "protocol"),
            (DebugContexts::CGRP, "cgrp"),
            (DebugContexts::SECURITY, "security"),
            (DebugContexts::CONSUMER, "consumer"),
            (DebugContexts::ADMIN, "admin"),
            (DebugContexts::EOS, "eos"),
            (DebugContexts::MOCK, "mock"),
            (DebugContexts::ASSIGNOR, "assignor"),
            (DebugContexts::CONF, "conf"),
            (DebugContexts::TELEMETRY, "telemetry"),
        ] {
            assert_eq!(context.names(), name);
        }
        assert_eq!(DebugContexts::default().names(), "");
    }

    #[test]
    fn the_level_switches_contexts_off_and_on_again() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let to = lines.clone();
        let logger = Logger::new(
            Arc::new(move |line: LogLine| to.lock().push(line.message)),
            level::DEBUG,
            DebugContexts::MSG,
        );
        let say = |text: &'static str| logger.debug(DebugContexts::MSG, "TEST", || text.to_owned());
        say("on");
        logger.debug(DebugContexts::FETCH, "TEST", || unreachable!("another context"));
        logger.set_max_level(level::INFO);
        logger.debug(DebugContexts::MSG, "TEST", || unreachable!("the level is lower"));
        logger.set_max_level(level::DEBUG);
        say("on again");
        assert_eq!(*lines.lock(), ["on", "on again"]);
    }
}
