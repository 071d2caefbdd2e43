//! The request that lists a broker's groups, with its filters.

use std::collections::BTreeMap;

use ottla_protocol::DecodeError;
use ottla_protocol::api::list_groups::{ListGroupsRequest, ListedGroup};

use crate::admin::operation::{Answer, To, Verdict, error_of};
use crate::error::Error;
use crate::request::unsupported;
use crate::types::NodeId;

/// The types of groups that brokers have without knowing types of groups, in lower case.
const CLASSIC: &str = "classic";
const CONSUMER: &str = "consumer";

/// Returns true if a broker without types of groups has the groups of these types, and no others that they exclude.
fn are_all_types(types: &[String]) -> bool {
    let has = |name: &str| types.iter().any(|t| t.eq_ignore_ascii_case(name));
    let is_known = |t: &String| t.eq_ignore_ascii_case(CLASSIC) || t.eq_ignore_ascii_case(CONSUMER);
    types.is_empty() || has(CLASSIC) && types.iter().all(is_known)
}

/// Requests the groups of a broker in these states and of these types; empty for all.
///
/// # Errors
/// `_UNSUPPORTED_FEATURE` for filters that the broker does not have.
pub(super) fn send(states: &[String], types: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
    let version = to.version::<ListGroupsRequest>()?;
    let has_types = version >= ListGroupsRequest::TYPES_FILTER_SINCE;
    if version < ListGroupsRequest::STATES_FILTER_SINCE && !states.is_empty() {
        return Err(unsupported(
            "the broker cannot filter groups by state (KIP-518): that requires Kafka 2.6",
        ));
    }
    if !has_types && !are_all_types(types) {
        return Err(unsupported(
            "the broker cannot filter groups by type (KIP-848): that requires Kafka 3.8",
        ));
    }
    let request = ListGroupsRequest {
        states_filter: states.to_vec(),
        types_filter: if has_types { types.to_vec() } else { Vec::new() },
        ..Default::default()
    };
    to.send(&request)
}

/// Decodes the groups of a broker.
///
/// # Errors
/// A malformed response.
pub(super) fn read<K>(answer: &Answer<'_>) -> Result<Verdict<K, Vec<ListedGroup>>, DecodeError> {
    let response = answer.decode::<ListGroupsRequest>()?;
    Ok(match error_of(response.error_code, None) {
        None => Verdict::Done(response.groups),
        Some(error) if error.retriable => Verdict::Retry(error),
        Some(error) => Verdict::Refused(error),
    })
}

/// Returns the groups of all brokers, ordered by id, and the errors of brokers. While a group's coordinator moves two
/// brokers may list it.
pub(super) fn merge(
    rows: BTreeMap<NodeId, Result<Vec<ListedGroup>, Error>>,
    is_wanted: impl Fn(&ListedGroup) -> bool,
) -> (Vec<ListedGroup>, Vec<Error>) {
    let mut groups = BTreeMap::new();
    let mut errors = Vec::new();
    for row in rows.into_values() {
        match row {
            Err(error) => errors.push(error),
            Ok(listed) => {
                for group in listed.into_iter().filter(|group| is_wanted(group)) {
                    groups.entry(group.group_id.clone()).or_insert(group);
                }
            }
        }
    }
    (groups.into_values().collect(), errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_without_types_have_classic_groups_only() {
        let all = |types: &[&str]| are_all_types(&types.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
        assert!(all(&[]) && all(&["Classic"]) && all(&["consumer", "classic"]));
        assert!(!all(&["consumer"]) && !all(&["classic", "share"]) && !all(&["streams"]));
    }
}
