//! The readable trace of a world.

use std::fmt::Arguments;

/// The receiver of trace lines.
pub type TraceSink = Box<dyn FnMut(&str)>;

/// Writes trace lines, when it has a sink.
pub(crate) struct Trace {
    sink: Option<TraceSink>,
    now_us: u64,
}

impl Trace {
    pub(crate) fn new(sink: Option<TraceSink>) -> Self {
        Trace { sink, now_us: 0 }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.sink.is_some()
    }

    pub(crate) fn set_now(&mut self, now_us: u64) {
        self.now_us = now_us;
    }

    pub(crate) fn line(&mut self, text: Arguments<'_>) {
        if let Some(sink) = &mut self.sink {
            let (s, us) = (self.now_us / 1_000_000, self.now_us % 1_000_000);
            sink(&format!("{s:5}.{us:06} {text}"));
        }
    }
}

/// Writes a line of a trace. The arguments are not evaluated when the trace is off.
macro_rules! trace {
    ($trace:expr, $($arg:tt)*) => {
        if $trace.is_on() {
            $trace.line(format_args!($($arg)*));
        }
    };
}
pub(crate) use trace;
