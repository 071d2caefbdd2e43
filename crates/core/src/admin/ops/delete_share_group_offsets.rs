//! DeleteShareGroupOffsets: removes the offsets of share groups without members for topics, at their coordinators (KIP-932).

use std::collections::HashMap;

use ottla_protocol::DecodeError;
use ottla_protocol::api::delete_share_group_offsets::{
    DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic, DeleteShareGroupOffsetsResponseTopic,
};

use super::group_result::{check_groups_once, coordinator};
use super::partitions::has_duplicate;
use super::topic_result::TopicResult;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::{Error, ErrorCode};
use crate::request::{ReadyBroker, Target};

/// The outcome for one group.
#[derive(Debug, Clone)]
pub struct DeletedShareGroupOffsets {
    /// The group's id.
    pub group_id: String,
    /// The topics in the order of the call, each with its error.
    pub topics: Vec<TopicResult>,
    /// The group's error; `None` on success.
    pub error: Option<Error>,
}

/// Deletes the offsets of share groups for topics. A group with members has the error NON_EMPTY_GROUP. Requires Kafka 4.1.
#[derive(Debug, Clone)]
pub struct DeleteShareGroupOffsets(
    /// The groups, each once, and their topics.
    pub Vec<(String, Vec<String>)>,
);

impl DeleteShareGroupOffsets {
    fn topics(&self, group: &str) -> &[String] {
        let row = self.0.iter().find(|(id, _)| id == group);
        row.map_or(&[], |(_, topics)| topics)
    }
}

impl Operation for DeleteShareGroupOffsets {
    const NAME: &'static str = "DeleteShareGroupOffsets";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = String;
    type Row = HashMap<String, Option<Error>>;
    type Output = Vec<DeletedShareGroupOffsets>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_groups_once(self.0.iter().map(|(id, _)| id))?;
        for (_, topics) in &self.0 {
            if topics.is_empty() {
                return Err(Error::invalid_arg("No topics are named"));
            }
            if has_duplicate(topics) {
                return Err(Error::invalid_arg("Duplicate topics not allowed"));
            }
        }
        Ok(())
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.0.iter().map(|(id, _)| id.clone()).collect())
    }

    fn target(&self, key: &String) -> Target {
        coordinator(key)
    }

    /// The second time the group has no offsets of the topics.
    fn is_repeatable(&self, _: &Options) -> bool {
        false
    }

    fn batch_max(&self, _: &ReadyBroker) -> usize {
        1
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        let Some(group) = keys.first() else { return Ok(()) };
        let topic = |name: &String| DeleteShareGroupOffsetsRequestTopic {
            topic_name: name.clone(),
            ..Default::default()
        };
        to.send(&DeleteShareGroupOffsetsRequest {
            group_id: group.clone(),
            topics: self.topics(group).iter().map(topic).collect(),
            ..Default::default()
        })
    }

    fn read(&self, keys: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<DeleteShareGroupOffsetsRequest>()?;
        let verdict = match error_of(response.error_code, response.error_message) {
            Some(error) => Verdict::Failed(error),
            None => {
                let row = |topic: DeleteShareGroupOffsetsResponseTopic| {
                    (topic.topic_name, error_of(topic.error_code, topic.error_message))
                };
                Verdict::Done(response.responses.into_iter().map(row).collect())
            }
        };
        Ok(keys.iter().cloned().zip([verdict]).collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<DeletedShareGroupOffsets>, Error> {
        let result = |(group_id, asked): &(String, Vec<String>)| {
            let (topics, error) = match row_of(&rows, group_id) {
                Err(error) => (Vec::new(), Some(error)),
                Ok(found) => {
                    let topic = |name: &String| TopicResult {
                        name: name.clone(),
                        error: found
                            .get(name)
                            .cloned()
                            .unwrap_or_else(|| Some(ErrorCode::L_BAD_MSG.into())),
                    };
                    (asked.iter().map(topic).collect(), None)
                }
            };
            DeletedShareGroupOffsets {
                group_id: group_id.clone(),
                topics,
                error,
            }
        };
        Ok(self.0.iter().map(result).collect())
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, FaultAction};
    use ottla_protocol::api::delete_share_group_offsets::DeleteShareGroupOffsetsResponse;

    use super::*;
    use crate::admin::AlterShareGroupOffsets;
    use crate::test_kit::{World, within_ms};
    use crate::types::{PartitionOffset, TopicPartition};

    /// The group `g` has offsets of `t`; the topic `u` exists.
    fn world() -> World {
        let mut w = World::producer(&[], &[]);
        w.add_topic("t", &[1]);
        w.add_topic("u", &[1]);
        let rows = vec![PartitionOffset::new(TopicPartition::new("t", 0), 2)];
        w.ask(AlterShareGroupOffsets(vec![("g".into(), rows)])).unwrap();
        w
    }

    fn delete(group: &str, topics: &[&str]) -> (String, Vec<String>) {
        (group.into(), topics.iter().map(|topic| (*topic).to_owned()).collect())
    }

    fn codes(group: &DeletedShareGroupOffsets) -> Vec<ErrorCode> {
        let code = |error: Option<&Error>| error.map_or(ErrorCode::NO_ERROR, |error| error.code);
        group.topics.iter().map(|topic| code(topic.error.as_ref())).collect()
    }

    #[test]
    fn topics_with_offsets_are_deleted_and_others_have_an_error() {
        let mut w = world();
        let call = DeleteShareGroupOffsets(vec![delete("none", &["t"]), delete("g", &["u", "t", "x"])]);
        let groups = w.ask(call).unwrap();
        let error = groups[0].error.as_ref().map(|error| error.code);
        assert_eq!(error, Some(ErrorCode::GROUP_ID_NOT_FOUND));
        let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PART;
        assert_eq!(codes(&groups[1]), [unknown, ErrorCode::NO_ERROR, unknown]);
        assert_eq!(w.brokers().share_start_offset("g", "t", 0), None);
    }

    #[test]
    fn a_lost_response_is_an_error_that_says_so() {
        let mut w = world();
        w.fault_next(ApiKey::DELETE_SHARE_GROUP_OFFSETS, FaultAction::DisconnectAfter);
        let groups = w.ask(DeleteShareGroupOffsets(vec![delete("g", &["t"])])).unwrap();
        let error = groups[0].error.as_ref().unwrap();
        assert!(error.message.ends_with("may have executed the operation"), "{error}");
        assert_eq!(w.count(ApiKey::DELETE_SHARE_GROUP_OFFSETS), 1);
    }

    #[test]
    fn a_topic_that_the_response_leaves_out_has_an_error() {
        let mut w = world();
        w.hold(ApiKey::DELETE_SHARE_GROUP_OFFSETS);
        let reply = w.begin_admin(DeleteShareGroupOffsets(vec![delete("g", &["t"])]), within_ms(1000));
        w.run_ms(100);
        let (arrival, _) = w.expect::<DeleteShareGroupOffsetsRequest>();
        w.answer(&arrival, &DeleteShareGroupOffsetsResponse::default());
        w.run_ms(10);
        let groups = reply.try_take().unwrap().unwrap();
        assert_eq!(codes(&groups[0]), [ErrorCode::L_BAD_MSG]);
    }

    #[test]
    fn nothing_and_duplicates_are_refused() {
        let mut w = world();
        let mut text = |topics: &[&str]| {
            let call = DeleteShareGroupOffsets(vec![delete("g", topics)]);
            w.ask(call).unwrap_err().message
        };
        assert_eq!(text(&[]), "No topics are named");
        assert_eq!(text(&["t", "t"]), "Duplicate topics not allowed");
    }
}
