//! CPU time of the calling thread, in laps.

/// Clock reads for the calibration.
const READS: u64 = 10_000;

/// Returns the CPU time of the calling thread in nanoseconds. Time in which another program has the core does not count.
fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec to the pointer, which is valid for that.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0, "this system has no clock for the CPU time of threads");
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Divides a thread's CPU time into laps. A lap ends with one clock read, a system call, whose calibrated duration is
/// subtracted.
#[derive(Debug)]
pub(crate) struct Laps {
    last_ns: u64,
    read_ns: u64,
}

impl Laps {
    /// Calibrates the duration of a clock read, and begins a lap.
    pub(crate) fn start() -> Self {
        let begin_ns = thread_cpu_ns();
        for _ in 0..READS {
            std::hint::black_box(thread_cpu_ns());
        }
        let last_ns = thread_cpu_ns();
        Laps {
            last_ns,
            read_ns: (last_ns - begin_ns) / (READS + 1),
        }
    }

    /// Returns the calibrated duration of a clock read in nanoseconds.
    pub(crate) fn read_ns(&self) -> u64 {
        self.read_ns
    }

    /// Ends a lap and begins the next one. Returns the CPU time of the lap in nanoseconds.
    pub(crate) fn end(&mut self) -> u64 {
        let now_ns = thread_cpu_ns();
        let took_ns = (now_ns - self.last_ns).saturating_sub(self.read_ns);
        self.last_ns = now_ns;
        took_ns
    }
}
