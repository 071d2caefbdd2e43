//! RemoveMembersFromConsumerGroup: removes members from a group, at its coordinator (LeaveGroup, KIP-345).
//!
//! To remove all members the group is described first.

use ottla_protocol::DecodeError;
use ottla_protocol::api::leave_group::{LeaveGroupRequest, MemberIdentity, MemberResponse};

use super::describe_consumer_groups::{DescribeConsumerGroups, GroupDescription, GroupQuery};
use super::group_result::coordinator;
use super::partitions::has_duplicate;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::{Error, ErrorCode};
use crate::request::{Target, unsupported};

/// The reason of a call without one.
const REASON: &str = "member was removed by an admin client";
/// Maximum length of a reason in characters, as in Java's client.
const REASON_MAX: usize = 255;

/// A member to remove.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemberToRemove {
    /// The member with this member id.
    Member(String),
    /// The static member with this `group.instance.id`.
    Static(String),
}

/// The outcome for one member.
#[derive(Debug, Clone)]
pub struct RemovedMember {
    /// The member.
    pub member: MemberToRemove,
    /// The member's error, such as UNKNOWN_MEMBER_ID; `None` on success.
    pub error: Option<Error>,
}

/// Removes members from a group. The group rebalances at once. A member that runs joins again; a static member does not
/// before it is restarted. Requires Kafka 2.4.
#[derive(Debug, Clone)]
pub struct RemoveMembersFromConsumerGroup {
    /// The group's id.
    pub group_id: String,
    /// The members, each once; `None` for all.
    pub members: Option<Vec<MemberToRemove>>,
    /// The reason, for the broker's log (KIP-800, Kafka 3.2).
    pub reason: Option<String>,
}

/// A step of the call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemovalStep {
    /// The group is described.
    Describe(GroupQuery),
    /// A member is removed.
    Remove(MemberToRemove),
}

impl RemoveMembersFromConsumerGroup {
    /// Returns the operation that describes the group.
    fn description(&self) -> DescribeConsumerGroups {
        DescribeConsumerGroups {
            groups: vec![self.group_id.clone()],
            include_authorized_operations: false,
        }
    }

    fn reason(&self) -> String {
        let reason = self.reason.as_deref().filter(|reason| !reason.is_empty());
        reason.unwrap_or(REASON).chars().take(REASON_MAX).collect()
    }
}

impl Operation for RemoveMembersFromConsumerGroup {
    const NAME: &'static str = "RemoveMembersFromConsumerGroup";
    type Key = RemovalStep;
    type Row = Option<Error>;
    type Output = Vec<RemovedMember>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        let Some(members) = &self.members else { return Ok(()) };
        if members.is_empty() {
            return Err(Error::invalid_arg("No members to remove"));
        }
        match has_duplicate(members) {
            true => Err(Error::invalid_arg("Duplicate members not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<RemovalStep> {
        Keys::Known(match &self.members {
            Some(members) => members.iter().cloned().map(RemovalStep::Remove).collect(),
            None => vec![RemovalStep::Describe(GroupQuery::Consumer(self.group_id.clone()))],
        })
    }

    fn target(&self, _: &RemovalStep) -> Target {
        coordinator(&self.group_id)
    }

    /// The second time the members are unknown.
    fn is_repeatable(&self, _: &Options) -> bool {
        false
    }

    fn kind(&self, key: &RemovalStep) -> u8 {
        match key {
            RemovalStep::Describe(query) => self.description().kind(query),
            RemovalStep::Remove(_) => u8::MAX,
        }
    }

    fn send(&self, keys: &[RemovalStep], to: &mut To<'_, '_>) -> Result<(), Error> {
        if let Some(RemovalStep::Describe(query)) = keys.first() {
            return self.description().send(std::slice::from_ref(query), to);
        }
        if to.version::<LeaveGroupRequest>()? < LeaveGroupRequest::MEMBER_LIST_SINCE {
            return Err(unsupported(
                "the broker cannot remove members from groups (KIP-345): that requires Kafka 2.4",
            ));
        }
        let identity = |key: &RemovalStep| {
            let (member_id, group_instance_id) = match key {
                RemovalStep::Remove(MemberToRemove::Member(id)) => (id.clone(), None),
                RemovalStep::Remove(MemberToRemove::Static(id)) => (String::new(), Some(id.clone())),
                RemovalStep::Describe(_) => return None,
            };
            Some(MemberIdentity {
                member_id,
                group_instance_id,
                reason: Some(self.reason()),
                ..Default::default()
            })
        };
        to.send(&LeaveGroupRequest {
            group_id: self.group_id.clone(),
            members: keys.iter().filter_map(identity).collect(),
            ..Default::default()
        })
    }

    fn read(&self, keys: &[RemovalStep], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        if let Some(RemovalStep::Describe(query)) = keys.first() {
            let verdicts = self.description().read(std::slice::from_ref(query), answer)?;
            let step = |(query, verdict)| (RemovalStep::Describe(query), members_of(verdict));
            return Ok(verdicts.into_iter().map(step).collect());
        }
        let response = answer.decode::<LeaveGroupRequest>()?;
        if let Some(error) = error_of(response.error_code, None) {
            let failed = |key: &RemovalStep| (key.clone(), Verdict::Failed(error.clone()));
            return Ok(keys.iter().map(failed).collect());
        }
        let removed = |member: MemberResponse| {
            let id = match member.group_instance_id {
                Some(id) => MemberToRemove::Static(id),
                None => MemberToRemove::Member(member.member_id),
            };
            (
                RemovalStep::Remove(id),
                Verdict::Done(error_of(member.error_code, None)),
            )
        };
        Ok(response.members.into_iter().map(removed).collect())
    }

    /// Returns the members in the order of the call, or sorted if all are removed. If none has a result, the error is that
    /// of the group.
    fn finish(&self, rows: Rows<Self>) -> Result<Vec<RemovedMember>, Error> {
        if rows.values().all(Result::is_err)
            && let Some(Err(error)) = rows.values().next()
        {
            return Err(error.clone());
        }
        let listed = rows.keys().filter_map(|step| match step {
            RemovalStep::Remove(member) => Some(member.clone()),
            RemovalStep::Describe(_) => None,
        });
        let members = self.members.clone().unwrap_or_else(|| listed.collect());
        let removed = |member: MemberToRemove| RemovedMember {
            error: row_of(&rows, &RemovalStep::Remove(member.clone())).unwrap_or_else(Some),
            member,
        };
        Ok(members.into_iter().map(removed).collect())
    }
}

/// Returns the verdict about the description of the group: its members are the next keys. A static member is removed by
/// its instance id, because its member id changes when it is restarted.
fn members_of(verdict: Verdict<GroupQuery, GroupDescription>) -> Verdict<RemovalStep, Option<Error>> {
    let group = match verdict {
        Verdict::Done(group) => group,
        Verdict::Failed(error) => return Verdict::Failed(error),
        Verdict::Refused(error) => return Verdict::Refused(error),
        Verdict::Retry(error) => return Verdict::Retry(error),
        Verdict::Become(keys) => return Verdict::Become(keys.into_iter().map(RemovalStep::Describe).collect()),
    };
    if group.state == "Dead" {
        let text = format!("Group {} not found.", group.group_id);
        return Verdict::Refused(Error::new(ErrorCode::GROUP_ID_NOT_FOUND, text));
    }
    let step = |member: super::describe_consumer_groups::MemberDescription| {
        RemovalStep::Remove(match member.group_instance_id {
            Some(id) => MemberToRemove::Static(id),
            None => MemberToRemove::Member(member.member_id),
        })
    };
    let steps: Vec<RemovalStep> = group.members.into_iter().map(step).collect();
    match steps.is_empty() {
        true => Verdict::Done(None),
        false => Verdict::Become(steps),
    }
}

#[cfg(test)]
mod tests;
