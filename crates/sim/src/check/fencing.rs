//! Checks that fencing errors have a cause. A producer that fails with a fencing error must have lost its transactional id:
//! another producer has initialized with the id, or the coordinator has raised the epoch to abort a transaction that timed
//! out.

use std::collections::BTreeMap;

use ottla_mock::TransactionStep;

/// A step in the history of a transactional id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// The coordinator has served InitProducerId of this client, which acquires the id.
    Taken(usize),
    /// The coordinator has served InitProducerId of this client after the client gave up the connection of the request. The
    /// epoch was raised, but the client never receives it.
    Late(usize),
    /// Another step of the coordinator.
    Step(TransactionStep),
}

/// The histories of all transactional ids.
#[derive(Debug, Default)]
pub(crate) struct Fencing {
    by_id: BTreeMap<String, Vec<Event>>,
    /// The transactional id that each client has acquired.
    taken: BTreeMap<usize, String>,
    /// A fault has injected a fencing error. From then on errors need no cause.
    injected: bool,
}

impl Fencing {
    /// Records that the coordinator serves InitProducerId of a client, possibly long after the broker received the request.
    /// `late`: the client has given up the connection of the request.
    pub(crate) fn on_taken(&mut self, id: &str, client: usize, late: bool) {
        self.by_id.entry(id.to_owned()).or_default().push(if late {
            Event::Late(client)
        } else {
            Event::Taken(client)
        });
        self.taken.insert(client, id.to_owned());
    }

    /// Records a step of the coordinator if the checks need it.
    pub(crate) fn on_step(&mut self, id: &str, step: TransactionStep) {
        if matches!(
            step,
            TransactionStep::Begun | TransactionStep::Fenced | TransactionStep::TimedOut | TransactionStep::Expired
        ) {
            self.by_id.entry(id.to_owned()).or_default().push(Event::Step(step));
        }
    }

    /// Records that a fault has injected a fencing error into a response.
    pub(crate) fn on_injected_fencing(&mut self) {
        self.injected = true;
    }

    /// Checks that a client that fails with a fencing error has lost its transactional id.
    ///
    /// # Errors
    /// The violation.
    pub(crate) fn on_fenced(&self, client: usize) -> Result<(), String> {
        if self.injected {
            return Ok(());
        }
        let id = self.taken.get(&client);
        let Some((id, history)) = id.and_then(|id| self.by_id.get_key_value(id)) else {
            return Err(format!("client {client} was fenced, and never had an id"));
        };
        let since = history.iter().skip_while(|event| **event != Event::Taken(client));
        // A transaction that is open when the client acquires the id belongs to the previous owner; aborting it does not
        // fence this client. A transaction that has begun since is the client's own: the coordinator aborts it for another
        // InitProducerId, which fences the client.
        let mut begun = false;
        let mut lost = false;
        for event in since {
            match event {
                Event::Taken(other) => lost |= *other != client,
                Event::Late(_) => lost = true,
                Event::Step(TransactionStep::TimedOut) => lost = true,
                // A producer whose transactional id has expired is assigned a new producer id. If the response is lost and
                // the producer repeats the request, the coordinator fences the repetition.
                Event::Step(TransactionStep::Expired) => lost = true,
                Event::Step(TransactionStep::Fenced) => lost |= begun,
                Event::Step(_) => begun = true,
            }
        }
        match lost {
            true => Ok(()),
            false => Err(format!(
                "client {client} was fenced, and no other producer has taken {id:?}"
            )),
        }
    }

    /// Checks that a processor loop that ends as fenced has had a rival: a client of another process with the same
    /// transactional id, or a transaction that timed out. `own` are the loop's producers in order.
    ///
    /// A fenced loop cannot distinguish a rival from a late InitProducerId of its own. It therefore replaces its
    /// producer once for each InitProducerId whose outcome is unknown, and ends only when no such request is left. So
    /// the rival may have fenced an earlier producer than the last one: a rival of any of the loop's producers is
    /// accepted.
    ///
    /// # Errors
    /// The violation.
    pub(crate) fn on_rival(&self, own: &[usize]) -> Result<(), String> {
        if self.injected {
            return Ok(());
        }
        let Some(id) = own.last().and_then(|client| self.taken.get(client)) else {
            return Err(format!("the loop of {own:?} ends as fenced, and never had an id"));
        };
        let history = self.by_id.get(id).into_iter().flatten();
        let is_own = |event: &Event| matches!(event, Event::Taken(client) if own.contains(client));
        let mut since = history.skip_while(|event| !is_own(event));
        let is_reason = |event: &Event| match event {
            Event::Taken(client) | Event::Late(client) => !own.contains(client),
            Event::Step(step) => *step == TransactionStep::TimedOut,
        };
        match since.any(is_reason) {
            true => Ok(()),
            false => Err(format!(
                "the loop of {own:?} ends as fenced, and no other process has taken {id:?}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fencing_has_a_cause() {
        use TransactionStep::{Begun, Expired, Fenced, TimedOut};
        let mut fencing = Fencing::default();
        assert!(fencing.on_fenced(1).is_err());
        // Aborting the transaction of the previous owner is no cause; neither is a transaction that is still open.
        fencing.on_taken("a", 1, false);
        fencing.on_step("a", Fenced);
        fencing.on_step("a", Begun);
        assert!(fencing.on_fenced(1).is_err());
        fencing.on_taken("b", 2, false);
        assert!(fencing.on_fenced(1).is_err());
        fencing.on_taken("a", 3, false);
        assert_eq!(fencing.on_fenced(1), Ok(()));
        assert!(fencing.on_fenced(3).is_err());
        fencing.on_step("a", TimedOut);
        assert_eq!(fencing.on_fenced(3), Ok(()));
        fencing.on_step("b", Begun);
        fencing.on_step("b", Fenced);
        assert_eq!(fencing.on_fenced(2), Ok(()));
        fencing.on_taken("c", 4, false);
        fencing.on_taken("c", 4, false);
        assert!(fencing.on_fenced(4).is_err());
        fencing.on_taken("c", 4, true);
        assert_eq!(fencing.on_fenced(4), Ok(()));
        fencing.on_taken("d", 6, false);
        fencing.on_step("d", Expired);
        assert_eq!(fencing.on_fenced(6), Ok(()));
        assert!(fencing.on_rival(&[6]).is_err());
        // A loop is not the rival of its own producer.
        assert!(fencing.on_rival(&[4]).is_err());
        assert!(fencing.on_rival(&[]).is_err());
        fencing.on_taken("c", 5, true);
        assert!(fencing.on_rival(&[5, 4]).is_err());
        assert_eq!(fencing.on_rival(&[4]), Ok(()));
    }

    #[test]
    fn rival_of_an_earlier_producer_explains_the_end_of_a_loop() {
        // The rival fences the first producer. The loop attributes that to a late request of its own, and replaces the
        // producer. The late request then fences the second producer, and the loop ends.
        let mut fencing = Fencing::default();
        fencing.on_taken("a", 9, false);
        fencing.on_taken("a", 1, false);
        assert!(fencing.on_rival(&[1]).is_err(), "the predecessor is no rival");
        fencing.on_taken("a", 1, true);
        fencing.on_taken("a", 2, false);
        assert!(fencing.on_rival(&[1, 2]).is_err(), "only its own requests were served");
        let mut fencing = Fencing::default();
        fencing.on_taken("a", 1, false);
        fencing.on_taken("a", 9, false);
        fencing.on_taken("a", 2, false);
        fencing.on_taken("a", 1, true);
        assert_eq!(fencing.on_rival(&[1, 2]), Ok(()));
    }
}
