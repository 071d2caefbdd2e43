//! ListTopics: the names of all topics that the client may describe (Metadata).

use ottla_protocol::api::metadata::{MetadataRequest, MetadataResponseTopic};
use ottla_protocol::{DecodeError, Uuid};

use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::{Error, ErrorCode};
use crate::request::Target;

/// A topic of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicListing {
    /// The topic's name.
    pub name: String,
    /// Its id (KIP-516); zero from brokers before Kafka 2.8.
    pub topic_id: Uuid,
    /// The topic belongs to Kafka itself.
    pub is_internal: bool,
}

/// Lists the topics that the client may describe, by name.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListTopics {
    /// Lists Kafka's own topics, too.
    pub include_internal: bool,
}

impl Operation for ListTopics {
    const NAME: &'static str = "ListTopics";
    type Key = ();
    type Row = Vec<TopicListing>;
    type Output = Vec<TopicListing>;

    fn keys(&self) -> Keys<()> {
        Keys::Known(vec![()])
    }

    fn target(&self, (): &()) -> Target {
        Target::Any
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, _: &[()], to: &mut To<'_, '_>) -> Result<(), Error> {
        let version = to.version::<MetadataRequest>()?;
        to.send(&MetadataRequest {
            topics: (version < MetadataRequest::NULL_TOPICS_SINCE).then(Vec::new),
            allow_auto_topic_creation: version < MetadataRequest::AUTO_CREATION_FLAG_SINCE,
            ..Default::default()
        })
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<MetadataRequest>()?;
        if response.error_code != 0 {
            return Ok(vec![((), Verdict::of(response.error_code, None, Vec::new()))]);
        }
        let is_listed = |topic: &MetadataResponseTopic| {
            // A topic is listed also while its partitions have no leader; one that is being deleted is not.
            let exists = ErrorCode::from(topic.error_code) != ErrorCode::UNKNOWN_TOPIC_OR_PART;
            exists && (self.include_internal || !topic.is_internal)
        };
        let listing = |topic: MetadataResponseTopic| {
            Some(TopicListing {
                name: topic.name?,
                topic_id: topic.topic_id,
                is_internal: topic.is_internal,
            })
        };
        let topics = response.topics.into_iter().filter(is_listed).filter_map(listing);
        let mut topics: Vec<TopicListing> = topics.collect();
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(vec![((), Verdict::Done(topics))])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<TopicListing>, Error> {
        row_of(&rows, &())
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, FaultAction};
    use ottla_protocol::api::metadata::MetadataResponse;

    use super::*;
    use crate::test_kit::{World, within_ms};

    #[test]
    fn topics_are_listed_by_name_and_kafkas_own_on_request() {
        let mut w = World::producer(&[], &[]);
        w.ask(ListTopics::default()).unwrap();
        let topic = |name: &str, is_internal, error_code| MetadataResponseTopic {
            name: Some(name.into()),
            is_internal,
            error_code,
            ..Default::default()
        };
        let (leaderless, unknown) = (5, 3);
        let topics = vec![
            topic("b", false, leaderless),
            topic("__consumer_offsets", true, 0),
            topic("deleted", false, unknown),
            topic("a", false, 0),
        ];
        let names = |w: &mut World, include_internal| -> Vec<String> {
            w.drain::<MetadataRequest>();
            w.hold(ApiKey::METADATA);
            let reply = w.begin_admin(ListTopics { include_internal }, within_ms(5000));
            w.run_ms(1);
            let (arrival, request) = w.expect::<MetadataRequest>();
            assert!(request.topics.is_none() && !request.allow_auto_topic_creation);
            let response = MetadataResponse {
                topics: topics.clone(),
                ..Default::default()
            };
            w.answer(&arrival, &response);
            w.run_ms(10);
            let listed = reply.try_take().expect("a result").unwrap();
            listed.into_iter().map(|topic| topic.name).collect()
        };
        assert_eq!(names(&mut w, false), ["a", "b"]);
        assert_eq!(names(&mut w, true), ["__consumer_offsets", "a", "b"]);
    }

    #[test]
    fn a_lost_response_is_requested_again() {
        let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
        w.add_topic("t", &[1]);
        w.ask(ListTopics::default()).unwrap();
        w.fault_next(ApiKey::METADATA, FaultAction::DisconnectAfter);
        assert_eq!(w.ask(ListTopics::default()).unwrap().len(), 1);
    }
}
