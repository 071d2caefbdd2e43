//! Small numbers of threads, for tables with a place for each thread.

#[cfg(ottla_loom)]
pub(crate) use model::thread_number;
#[cfg(not(ottla_loom))]
pub(crate) use system::thread_number;

#[cfg(not(ottla_loom))]
mod system {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use crate::sys::sync::Mutex;

    /// The numbers that were used and are free again, and the lowest number that was not used yet.
    static FREE: Mutex<(BTreeSet<usize>, usize)> = Mutex::new((BTreeSet::new(), 0));

    const NONE: usize = usize::MAX;

    /// Frees its number when the thread ends.
    struct Number(usize);

    impl Drop for Number {
        fn drop(&mut self) {
            CACHED.set(NONE);
            FREE.lock().0.insert(self.0);
        }
    }

    thread_local! {
        static CACHED: Cell<usize> = const { Cell::new(NONE) };
        static NUMBER: Number = Number({
            let mut free = FREE.lock();
            let (reused, next) = &mut *free;
            reused.pop_first().unwrap_or_else(|| {
                *next += 1;
                *next - 1
            })
        });
    }

    /// Returns the number of the calling thread: the lowest one that no other thread had when it was called first. A thread
    /// that calls it while it ends may get the number of another one.
    #[inline]
    pub(crate) fn thread_number() -> usize {
        match CACHED.get() {
            NONE => assign(),
            number => number,
        }
    }

    #[cold]
    fn assign() -> usize {
        match NUMBER.try_with(|n| n.0) {
            Ok(number) => {
                CACHED.set(number);
                number
            }
            // The thread ends, and has freed its number.
            Err(_) => 0,
        }
    }
}

#[cfg(ottla_loom)]
mod model {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};

    loom::lazy_static! {
        /// The number of the model's threads so far. No part of the model: every schedule has an order of its own.
        static ref NEXT: AtomicUsize = AtomicUsize::new(0);
    }

    loom::thread_local! {
        static NUMBER: Cell<usize> = Cell::new(NEXT.fetch_add(1, Ordering::Relaxed));
    }

    /// Returns the number of the calling thread.
    pub(crate) fn thread_number() -> usize {
        NUMBER.with(Cell::get)
    }
}

#[cfg(not(ottla_loom))]
#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn living_threads_have_different_numbers() {
        let own = thread_number();
        let together = Barrier::new(20);
        let numbers: HashSet<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..20)
                .map(|_| {
                    scope.spawn(|| {
                        let number = thread_number();
                        together.wait();
                        assert_eq!(thread_number(), number);
                        number
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(numbers.len(), 20);
        assert!(!numbers.contains(&own));
        assert_eq!(thread_number(), own);
    }

    #[test]
    fn numbers_of_ended_threads_are_used_again() {
        // Other tests' threads take numbers, too: far fewer at a time than begin here.
        let highest = (0..2000)
            .map(|_| std::thread::spawn(thread_number).join().unwrap())
            .max();
        assert!(highest.unwrap() < 1000, "{highest:?}");
    }
}
