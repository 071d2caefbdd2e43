//! The verdict on an examined chain, and the calls of the application's callback that lead to it.

use super::chain::{Event, Examined};
use super::fault::FaultKind;
use super::policy::VerifyCallback;

/// A refusal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) kind: FaultKind,
    pub(super) depth: usize,
    pub(super) x509_code: i32,
}

/// Decides on a chain. Without a callback the first fault refuses it.
///
/// With one, the calls follow OpenSSL, whose one variable for the last fault persists from call to call: a fault overwrites it, a
/// call that sets it to 0 forgives all faults so far, and the chain is refused if it is set at the end. An application can so decide
/// at the broker's own certificate, which comes last, about the whole chain.
pub(super) fn hold(
    chain: &Examined<'_>,
    callback: Option<&dyn VerifyCallback>,
    broker: &str,
    broker_id: i32,
) -> Result<(), Refusal> {
    let Some(callback) = callback else {
        let first = chain.events.iter().find_map(|event| match event {
            Event::Fault { depth, kind } => Some(Refusal::of(kind, *depth)),
            Event::Passed { .. } => None,
        });
        return first.map_or(Ok(()), Err);
    };
    let mut pending: Vec<Refusal> = Vec::new();
    for event in &chain.events {
        let depth = match event {
            Event::Fault { depth, kind } => {
                pending.push(Refusal::of(kind, *depth));
                *depth
            }
            Event::Passed { depth } => *depth,
        };
        let Some(link) = chain.links.get(depth) else { continue };
        let code = pending.last().map_or(0, |refusal| refusal.x509_code);
        let mut answer = code;
        let depth_number = i32::try_from(depth).unwrap_or(i32::MAX);
        if let Err(text) = callback.verify(broker, broker_id, depth_number, &mut answer, link.der) {
            return Err(Refusal {
                kind: FaultKind::RefusedByApplication(text),
                depth,
                x509_code: answer,
            });
        }
        if answer == 0 {
            pending.clear();
        }
    }
    match pending.into_iter().next() {
        None => Ok(()),
        Some(refusal) => Err(refusal),
    }
}

impl Refusal {
    fn of(kind: &FaultKind, depth: usize) -> Self {
        Refusal {
            kind: kind.clone(),
            depth,
            x509_code: kind.x509_code(),
        }
    }
}
