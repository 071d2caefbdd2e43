//! Fencing: a producer that is told that another one has its transactional id must have lost it indeed, to another
//! producer or to the coordinator, which takes it away when a transaction was open for too long.

use std::collections::BTreeMap;

use ottla_mock::TransactionStep;

/// What happened to a transactional id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// A client took it (InitProducerId).
    Taken(usize),
    /// Likewise behind its back, on a connection that it had left: a new epoch of which it never hears.
    Late(usize),
    Step(TransactionStep),
}

/// The histories of all transactional ids.
#[derive(Debug, Default)]
pub(crate) struct Fencing {
    by_id: BTreeMap<String, Vec<Event>>,
    /// What clients have taken.
    taken: BTreeMap<usize, String>,
    /// A fault has told somebody of fencing: what is said is not to be relied upon.
    injected: bool,
}

impl Fencing {
    /// The coordinator serves a client's InitProducerId, which may be long after a broker has got it. `late`: the client has
    /// given up the connection that it came by.
    pub(crate) fn on_taken(&mut self, id: &str, client: usize, late: bool) {
        self.by_id.entry(id.to_owned()).or_default().push(if late {
            Event::Late(client)
        } else {
            Event::Taken(client)
        });
        self.taken.insert(client, id.to_owned());
    }

    /// What the coordinator did.
    pub(crate) fn on_step(&mut self, id: &str, step: TransactionStep) {
        if matches!(
            step,
            TransactionStep::Begun | TransactionStep::Fenced | TransactionStep::TimedOut | TransactionStep::Expired
        ) {
            self.by_id.entry(id.to_owned()).or_default().push(Event::Step(step));
        }
    }

    /// A fault says that a producer is fenced.
    pub(crate) fn on_injected_fencing(&mut self) {
        self.injected = true;
    }

    /// A client ends because it was fenced.
    pub(crate) fn on_fenced(&self, client: usize) -> Result<(), String> {
        if self.injected {
            return Ok(());
        }
        let id = self.taken.get(&client);
        let Some((id, history)) = id.and_then(|id| self.by_id.get_key_value(id)) else {
            return Err(format!("client {client} was fenced, and has had no id"));
        };
        let since = history.iter().skip_while(|event| **event != Event::Taken(client));
        // What is open when a client takes the id is another's. Its own is only aborted for a request of its own that was
        // late.
        let mut begun = false;
        let mut lost = false;
        for event in since {
            match event {
                Event::Taken(other) => lost |= *other != client,
                Event::Late(_) => lost = true,
                Event::Step(TransactionStep::TimedOut) => lost = true,
                // A producer that is forgotten gets another id. When the answer is lost, and it asks again, it is taken for one
                // that lost its id to another.
                Event::Step(TransactionStep::Expired) => lost = true,
                Event::Step(TransactionStep::Fenced) => lost |= begun,
                Event::Step(_) => begun = true,
            }
        }
        match lost {
            true => Ok(()),
            false => Err(format!(
                "client {client} was fenced, and nobody has taken {id:?} from it"
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
            return Err(format!("the loop of {own:?} has had no id, and finds a rival"));
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
                "the loop of {own:?} ends for a rival, and no other process has taken {id:?}"
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
