//! Runs every fuzz target with its seeds, its corpus, and mutations of both. The random generator has a fixed seed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;

use ottla_fuzz::{CANARIES, Seen, TARGETS, Target, check, corpus, find, mutate};

/// Returns a target's corpus: the name and the bytes of each input.
fn corpus(target: &Target) -> Vec<(String, Vec<u8>)> {
    let found = corpus::found(target).unwrap().into_iter().enumerate();
    let mut all: Vec<_> = found
        .map(|(line, data)| (format!("{}, line {}", corpus::FOUND, line + 1), data))
        .collect();
    all.extend(corpus::named(target).unwrap());
    all
}

/// Checks `count` mutations of the seeds and the corpus. Returns the number of accepted inputs.
///
/// # Errors
/// The first finding, with its input.
fn mutations(target: &Target, count: usize) -> Result<usize, String> {
    let mut inputs = (target.seeds)();
    inputs.extend(corpus(target).into_iter().map(|(_, data)| data));
    let mut rng = fastrand::Rng::with_seed(0x0771a);
    let mut accepted = 0;
    for _ in 0..count {
        let data = mutate::mutate(&inputs, &mut rng);
        match check(target, &data) {
            Ok(Seen::Accepted) => accepted += 1,
            Ok(Seen::Refused) => {}
            Err(what) => return Err(format!("{}: {what}\n{}", target.name, data.escape_ascii())),
        }
    }
    Ok(accepted)
}

#[test]
fn seeds_are_accepted() {
    for target in TARGETS.iter().chain(CANARIES) {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has no seed", target.name);
        for seed in seeds {
            let verdict = check(target, &seed);
            assert_eq!(verdict, Ok(Seen::Accepted), "{}: {}", target.name, seed.escape_ascii());
        }
    }
}

#[test]
fn corpora_have_no_findings() {
    for target in TARGETS {
        for (path, data) in corpus(target) {
            if let Err(what) = check(target, &data) {
                panic!("{}, {path}: {what}", target.name);
            }
        }
    }
}

#[test]
fn every_corpus_belongs_to_a_target() {
    for entry in fs::read_dir(corpus::folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(find(&name).is_some(), "corpus/{name} belongs to no target");
    }
}

#[test]
fn mutations_have_no_findings() {
    for target in TARGETS {
        let accepted = mutations(target, target.mutations).unwrap();
        assert!(accepted > 0, "{}: nothing was accepted", target.name);
    }
}

#[test]
fn canaries_are_found() {
    for (name, alarm) in [
        ("canary_panic", "panic"),
        ("canary_memory", "bytes held at once"),
        ("canary_producer", "never reported"),
        ("canary_consumer", "no answer"),
    ] {
        let found = mutations(find(name).unwrap(), 4000).unwrap_err();
        assert!(found.contains(alarm), "{found}");
    }
}

#[test]
fn mutations_without_coverage_miss_the_coverage_canary() {
    let target = find("canary_coverage").unwrap();
    assert!(mutations(target, 4000).is_ok());
    assert!(check(target, b"..OTTLA").is_err());
}
