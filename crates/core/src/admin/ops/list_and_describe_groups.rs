//! ListAndDescribeGroups: the groups of every broker with their members, as `rd_kafka_list_groups()` returns them.

use ottla_protocol::DecodeError;
use ottla_protocol::api::describe_groups::{DescribeGroupsRequest, DescribedGroup};
use ottla_protocol::api::list_groups::ListGroupsRequest;

use crate::admin::node::Node;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of};
use crate::error::Error;
use crate::request::Target;
use crate::types::NodeId;

/// The highest version of DescribeGroups in which an unknown group has a state instead of an error (KIP-1043).
const DESCRIBE_VERSION_MAX: i16 = 5;

/// A group as its coordinator described it.
#[derive(Debug, Clone)]
pub struct Group {
    /// The coordinator.
    pub coordinator: Node,
    /// The description.
    pub described: DescribedGroup,
}

/// Groups of all brokers that answered.
#[derive(Debug, Clone, Default)]
pub struct DescribedGroups {
    /// By broker, in the brokers' order.
    pub groups: Vec<Group>,
    /// The first error of a broker whose groups are missing.
    pub error: Option<Error>,
}

/// Lists the groups of all brokers with their members. Fails when no group was listed and a broker did not answer.
#[derive(Debug, Clone, Default)]
pub struct ListAndDescribeGroups {
    /// The only group to list, or all.
    pub group: Option<String>,
}

/// A step at one broker.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The broker lists its groups.
    List(NodeId),
    /// The broker describes a group.
    Describe(NodeId, String),
}

impl Operation for ListAndDescribeGroups {
    const NAME: &'static str = "ListAndDescribeGroups";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = Step;
    type Row = Option<Group>;
    type Output = DescribedGroups;

    fn keys(&self) -> Keys<Step> {
        Keys::EachBroker(Step::List)
    }

    fn target(&self, key: &Step) -> Target {
        let (Step::List(node) | Step::Describe(node, _)) = key;
        Target::Broker(*node)
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn kind(&self, key: &Step) -> u8 {
        matches!(key, Step::Describe(..)).into()
    }

    fn send(&self, keys: &[Step], to: &mut To<'_, '_>) -> Result<(), Error> {
        let name = |key: &Step| match key {
            Step::List(_) => None,
            Step::Describe(_, group) => Some(group.clone()),
        };
        let groups: Vec<String> = keys.iter().filter_map(name).collect();
        if groups.is_empty() {
            return to.send(&ListGroupsRequest::default());
        }
        let request = DescribeGroupsRequest {
            groups,
            ..Default::default()
        };
        to.send_up_to(&request, DESCRIBE_VERSION_MAX)
    }

    fn read(&self, keys: &[Step], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let node = answer.broker().id;
        if let Some(Step::Describe(..)) = keys.first() {
            let groups = answer.decode::<DescribeGroupsRequest>()?.groups.into_iter();
            let verdict = |described: DescribedGroup| {
                let key = Step::Describe(node, described.group_id.clone());
                (
                    key,
                    Verdict::Done(Some(Group {
                        coordinator: answer.broker().clone(),
                        described,
                    })),
                )
            };
            return Ok(groups.map(verdict).collect());
        }
        let response = answer.decode::<ListGroupsRequest>()?;
        let verdict = match error_of(response.error_code, None) {
            Some(error) if error.retriable => Verdict::Retry(error),
            Some(error) => Verdict::Refused(error),
            None => {
                let names = response.groups.into_iter().map(|group| group.group_id);
                let names = names.filter(|id| self.group.as_ref().is_none_or(|only| only == id));
                let keys: Vec<Step> = names.map(|id| Step::Describe(node, id)).collect();
                match keys.is_empty() {
                    true => Verdict::Done(None),
                    false => Verdict::Become(keys),
                }
            }
        };
        Ok(vec![(Step::List(node), verdict)])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<DescribedGroups, Error> {
        let mut listing = DescribedGroups::default();
        for row in rows.into_values() {
            match row {
                Ok(group) => listing.groups.extend(group),
                Err(error) => {
                    listing.error.get_or_insert(error);
                }
            }
        }
        match listing.error.take() {
            Some(error) if listing.groups.is_empty() => Err(error),
            error => Ok(DescribedGroups { error, ..listing }),
        }
    }
}
