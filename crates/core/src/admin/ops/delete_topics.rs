//! DeleteTopics: deletes topics at the controller.

use ottla_protocol::DecodeError;
use ottla_protocol::api::delete_topics::{DeleteTopicState, DeleteTopicsRequest};

use super::topic_result::{TopicResult, check_not_empty, in_order};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdicts};
use crate::error::Error;
use crate::request::Target;

/// Deletes topics, by name, with all their records and waits until they are deleted.
#[derive(Debug, Clone)]
pub struct DeleteTopics(pub Vec<String>);

impl Operation for DeleteTopics {
    const NAME: &'static str = "DeleteTopics";
    type Key = String;
    type Row = ();
    type Output = Vec<TopicResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_not_empty(Self::NAME, self.0.is_empty())
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.0.clone())
    }

    fn target(&self, _: &String) -> Target {
        Target::Controller
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        false
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        let mut request = DeleteTopicsRequest {
            timeout_ms: to.operation_timeout_ms(),
            ..Default::default()
        };
        if to.version::<DeleteTopicsRequest>()? < DeleteTopicsRequest::TOPIC_STRUCTS_SINCE {
            request.topic_names = keys.to_vec();
        } else {
            let topic = |name: &String| DeleteTopicState {
                name: Some(name.clone()),
                ..Default::default()
            };
            request.topics = keys.iter().map(topic).collect();
        }
        to.send(&request)
    }

    fn read(&self, _: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let rows = answer.decode::<DeleteTopicsRequest>()?.responses.into_iter();
        let verdicts = rows.filter_map(|t| Some((t.name?, answer.begun(t.error_code, t.error_message))));
        Ok(verdicts.collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<TopicResult>, Error> {
        Ok(in_order(self.0.iter(), &rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    #[test]
    fn nothing_is_refused() {
        let error = DeleteTopics(Vec::new()).check(&Options::default()).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_INVALID_ARG);
    }
}
