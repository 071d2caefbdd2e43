//! DeleteGroups: removes groups without members with their offsets (KIP-229).

use ottla_protocol::DecodeError;
use ottla_protocol::api::delete_groups::DeleteGroupsRequest;

use super::group_result::{GroupResult, check_group_names, coordinator, in_order};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts};
use crate::error::Error;
use crate::request::Target;

/// Deletes groups, each with its error: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, or a timeout.
#[derive(Debug, Clone)]
pub struct DeleteGroups(pub Vec<String>);

impl Operation for DeleteGroups {
    const NAME: &'static str = "DeleteGroups";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = String;
    type Row = ();
    type Output = Vec<GroupResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_group_names(&self.0, "delete")
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.0.clone())
    }

    fn target(&self, key: &String) -> Target {
        coordinator(key)
    }

    /// The second time the group does not exist.
    fn is_repeatable(&self, _: &Options) -> bool {
        false
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        to.send(&DeleteGroupsRequest {
            groups_names: keys.to_vec(),
            ..Default::default()
        })
    }

    fn read(&self, _: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let rows = answer.decode::<DeleteGroupsRequest>()?.results.into_iter();
        Ok(rows
            .map(|row| (row.group_id, Verdict::of(row.error_code, None, ())))
            .collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<GroupResult>, Error> {
        Ok(in_order(self.0.iter(), &rows, |()| None))
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, BrokerId, CoordinatorKind, ErrorCode as BrokerError};

    use super::*;
    use crate::error::ErrorCode;
    use crate::test_kit::{World, within_ms};

    /// Three brokers, each of which coordinates one of the groups `a`, `b` and `c`.
    fn world() -> World {
        let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
        w.add_topic("t", &[1]);
        for (group, broker) in [("a", 1), ("b", 2), ("c", 3)] {
            w.brokers()
                .set_coordinator(CoordinatorKind::Group, group, BrokerId(broker));
            w.commit_offset_of(group, "t", 0, 1);
        }
        w
    }

    fn delete(names: &[&str]) -> DeleteGroups {
        DeleteGroups(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn codes(results: Vec<GroupResult>) -> Vec<(String, ErrorCode)> {
        let code = |r: GroupResult| (r.group_id, r.error.map_or(OK, |e| e.code));
        results.into_iter().map(code).collect()
    }

    const OK: ErrorCode = ErrorCode::NO_ERROR;

    #[test]
    fn groups_are_deleted_at_their_coordinators_in_the_order_of_the_call() {
        let mut w = world();
        let deleted = w.ask(delete(&["c", "none", "a"])).unwrap();
        let expected = [("c", OK), ("none", ErrorCode::GROUP_ID_NOT_FOUND), ("a", OK)];
        assert_eq!(codes(deleted), expected.map(|(name, code)| (name.to_owned(), code)));
    }

    #[test]
    fn a_coordinator_that_moved_or_loads_is_asked_again() {
        let mut w = world();
        let errors = [
            BrokerError::COORDINATOR_LOAD_IN_PROGRESS,
            BrokerError::NOT_COORDINATOR,
            BrokerError::COORDINATOR_NOT_AVAILABLE,
        ];
        w.fail_next(ApiKey::DELETE_GROUPS, &errors);
        assert_eq!(codes(w.ask(delete(&["b"])).unwrap()), [("b".to_owned(), OK)]);
        assert_eq!(w.count(ApiKey::DELETE_GROUPS), 4);
    }

    #[test]
    fn without_a_broker_each_group_has_a_timeout() {
        let mut w = world();
        w.take_down(&[1, 2, 3]);
        let late = w.ask_with(delete(&["b", "a"]), within_ms(500)).unwrap();
        let timeout = ErrorCode::L_TIMED_OUT;
        let text = late[0].error.as_ref().map(|e| e.message.clone());
        let pinned = "Failed while waiting for response from broker: Local: Timed out";
        assert_eq!(text.as_deref(), Some(pinned));
        assert_eq!(codes(late), [("b".to_owned(), timeout), ("a".to_owned(), timeout)]);
    }

    #[test]
    fn nothing_and_duplicates_are_refused() {
        let mut w = world();
        let text = |w: &mut World, names: &[&str]| w.ask(delete(names)).unwrap_err().message;
        assert_eq!(text(&mut w, &[]), "No groups to delete");
        assert_eq!(text(&mut w, &["a", "b", "a"]), "Duplicate groups not allowed");
    }
}
