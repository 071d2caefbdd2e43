//! Fencing: a producer whose error says that another producer has its transactional id has lost it, to another producer or
//! to the coordinator, which takes it away when a transaction has timed out.

use std::collections::BTreeMap;

use ottla_mock::TransactionStep;

/// A step in the history of a transactional id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// A client took it (InitProducerId).
    Taken(usize),
    /// As above, on a connection that the client had given up: a new epoch that the client never receives.
    Late(usize),
    Step(TransactionStep),
}

/// The histories of all transactional ids.
#[derive(Debug, Default)]
pub(crate) struct Fencing {
    by_id: BTreeMap<String, Vec<Event>>,
    /// The transactional id of each client.
    taken: BTreeMap<usize, String>,
    /// A fault has injected a fencing error: reports of fencing prove nothing.
    injected: bool,
}

impl Fencing {
    /// Records that the coordinator serves a client's InitProducerId, possibly long after the broker received it.
    /// `late`: the client has given up the connection of the request.
    pub(crate) fn on_taken(&mut self, id: &str, client: usize, late: bool) {
        self.by_id.entry(id.to_owned()).or_default().push(if late {
            Event::Late(client)
        } else {
            Event::Taken(client)
        });
        self.taken.insert(client, id.to_owned());
    }

    /// Records a step of the coordinator.
    pub(crate) fn on_step(&mut self, id: &str, step: TransactionStep) {
        if matches!(
            step,
            TransactionStep::Begun | TransactionStep::Fenced | TransactionStep::TimedOut | TransactionStep::Expired
        ) {
            self.by_id.entry(id.to_owned()).or_default().push(Event::Step(step));
        }
    }

    /// Records that a fault reports a producer as fenced.
    pub(crate) fn on_injected_fencing(&mut self) {
        self.injected = true;
    }

    /// Checks that a client that ends as fenced has lost its transactional id.
    pub(crate) fn on_fenced(&self, client: usize) -> Result<(), String> {
        if self.injected {
            return Ok(());
        }
        let id = self.taken.get(&client);
        let Some((id, history)) = id.and_then(|id| self.by_id.get_key_value(id)) else {
            return Err(format!("client {client} was fenced, and never had an id"));
        };
        let since = history.iter().skip_while(|event| **event != Event::Taken(client));
        // A transaction that is open when the client gets the id belongs to another client. The client's own
        // transaction is aborted only for a late request of its own.
        let mut begun = false;
        let mut lost = false;
        for event in since {
            match event {
                Event::Taken(other) => lost |= *other != client,
                Event::Late(_) => lost = true,
                Event::Step(TransactionStep::TimedOut) => lost = true,
                // A producer whose id has expired gets another id. When the response is lost and the producer repeats
                // the request, the coordinator fences it as if it had lost the id to another producer.
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

    /// Checks that a loop that ends for a rival has had one. `own` are its producers in order.
    ///
    /// A loop cannot distinguish a rival from a request of its own that was served late, and replaces its producer as often as
    /// it has sent such requests. So it may replace the producer that lost the id to the rival, and end when a late request
    /// fences a later one: a rival of any of its producers is a reason.
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
        let mut books = Fencing::default();
        assert!(books.on_fenced(1).is_err());
        // The predecessor's transaction is none of this one's.
        books.on_taken("a", 1, false);
        books.on_step("a", Fenced);
        books.on_step("a", Begun);
        assert!(books.on_fenced(1).is_err());
        books.on_taken("b", 2, false);
        assert!(books.on_fenced(1).is_err());
        books.on_taken("a", 3, false);
        assert_eq!(books.on_fenced(1), Ok(()));
        assert!(books.on_fenced(3).is_err());
        books.on_step("a", TimedOut);
        assert_eq!(books.on_fenced(3), Ok(()));
        books.on_step("b", Begun);
        books.on_step("b", Fenced);
        assert_eq!(books.on_fenced(2), Ok(()));
        books.on_taken("c", 4, false);
        books.on_taken("c", 4, false);
        assert!(books.on_fenced(4).is_err());
        books.on_taken("c", 4, true);
        assert_eq!(books.on_fenced(4), Ok(()));
        books.on_taken("d", 6, false);
        books.on_step("d", Expired);
        assert_eq!(books.on_fenced(6), Ok(()));
        assert!(books.on_rival(&[6]).is_err());
        // A loop of which the client is one knows its own requests.
        assert!(books.on_rival(&[4]).is_err());
        assert!(books.on_rival(&[]).is_err());
        books.on_taken("c", 5, true);
        assert!(books.on_rival(&[5, 4]).is_err());
        assert_eq!(books.on_rival(&[4]), Ok(()));
    }

    #[test]
    fn a_rival_of_a_former_producer_ends_a_loop_that_its_own_late_request_fences_then() {
        // The loop takes the rival for its first producer's request, whose time comes only under the second one.
        let mut books = Fencing::default();
        books.on_taken("a", 9, false);
        books.on_taken("a", 1, false);
        assert!(books.on_rival(&[1]).is_err(), "the predecessor is no rival");
        books.on_taken("a", 1, true);
        books.on_taken("a", 2, false);
        assert!(books.on_rival(&[1, 2]).is_err(), "only its own requests were served");
        let mut books = Fencing::default();
        books.on_taken("a", 1, false);
        books.on_taken("a", 9, false);
        books.on_taken("a", 2, false);
        books.on_taken("a", 1, true);
        assert_eq!(books.on_rival(&[1, 2]), Ok(()));
    }
}
