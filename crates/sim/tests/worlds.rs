//! Worlds of fixed seeds. The suite `sim` of `make test` runs many more in an optimised build, and the regression seeds
//! and the canaries, which prove that violations are detected.

use std::cell::RefCell;
use std::rc::Rc;

use ottla_sim::{Options, run_world};

/// The number of worlds of a test.
const WORLDS: u64 = 20;

#[test]
fn nothing_is_lost_doubled_reordered_or_stuck() {
    for seed in 1..=WORLDS {
        let outcome = run_world(seed, Options::default(), None);
        assert_eq!(
            outcome.violation, None,
            "seed {seed}: cargo run --profile sim -p ottla-sim -- --seed {seed} --trace"
        );
    }
}

fn trace_of(seed: u64) -> String {
    let text = Rc::new(RefCell::new(String::new()));
    let sink = text.clone();
    run_world(
        seed,
        Options::default(),
        Some(Box::new(move |line| {
            let mut text = sink.borrow_mut();
            text.push_str(line);
            text.push('\n');
        })),
    );
    text.take()
}

#[test]
fn a_seed_gives_the_same_world_byte_for_byte() {
    for seed in 1..=WORLDS {
        let (first, second) = (trace_of(seed), trace_of(seed));
        let differs = first.lines().zip(second.lines()).find(|(a, b)| a != b);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(first.len(), second.len(), "seed {seed}");
    }
}
