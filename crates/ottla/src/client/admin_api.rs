//! Admin calls: the blocking ones, and the one beneath them whose result is an event.

use std::sync::Arc;
use std::time::Duration;

use super::core::Command;
use super::handle::Client;
use crate::admin::{
    self, AdminOutcome, ConfigChanges, ConfigQuery, ConsumerGroups, Destination, GroupFilters, NewPartitions, NewTopic,
    Options, Request, ResourceResult, TopicResult,
};
use crate::error::{Error, ErrorCode};
use crate::event::{Event, Queue};
use crate::sys::Instant;

impl Client {
    /// Begins an admin call, whose result comes to `queue` as [`Event::Admin`] with this `opaque`, exactly once: after
    /// [`Options::request_timeout`] at the latest. Any client can make admin calls, and several at once.
    ///
    /// All topics or resources of a call go to one broker in one request. What the broker says of one of them stands with
    /// that one. A call fails as a whole
    ///
    /// - with [`ErrorCode::L_TIMED_OUT`] when there was no answer in time, or nobody to ask;
    /// - with [`ErrorCode::L_TRANSPORT`] and the like when the connection was lost before the answer came: the broker may
    ///   have done what was asked;
    /// - with [`ErrorCode::L_INVALID_ARG`] when nothing is named, a broker is named by what is no id, or a change makes no
    ///   sense, and with [`ErrorCode::L_CONFLICT`] for the settings of two brokers in one call;
    /// - with [`ErrorCode::L_UNSUPPORTED_FEATURE`] when the broker is too old;
    /// - with [`ErrorCode::L_BAD_MSG`] when its answer makes no sense;
    /// - with [`ErrorCode::L_DESTROY`] when the client is destroyed meanwhile.
    pub fn send_admin_request(&self, request: Request, options: Options, queue: Arc<Queue>, opaque: usize) {
        let command = admin::Command::Ask {
            request,
            deadline: self.admin_deadline(&options),
            options,
            destination: Destination { queue, opaque },
        };
        self.shared().send(Command::Admin(command));
    }

    /// Begins to ask all brokers for their groups, like [`send_admin_request`](Self::send_admin_request). Of the options, only
    /// [`Options::request_timeout`] counts.
    pub fn send_group_listing(&self, filters: GroupFilters, options: &Options, queue: Arc<Queue>, opaque: usize) {
        let command = admin::Command::ListConsumerGroups {
            filters,
            deadline: self.admin_deadline(options),
            destination: Destination { queue, opaque },
        };
        self.shared().send(Command::Admin(command));
    }

    fn admin_deadline(&self, options: &Options) -> Instant {
        let socket_timeout = Duration::from_millis(self.conf().socket_timeout_ms.into());
        self.deadline(Some(options.request_timeout.unwrap_or(socket_timeout)))
    }

    fn admin_request(&self, request: Request, options: &Options) -> Result<AdminOutcome, Error> {
        let queue = Queue::new();
        self.send_admin_request(request, options.clone(), queue.clone(), 0);
        await_result(&queue)
    }

    fn request_topics(&self, request: Request, options: &Options) -> Result<Vec<TopicResult>, Error> {
        match self.admin_request(request, options)? {
            AdminOutcome::Topics(topics) => Ok(topics),
            _ => Err(unexpected_result()),
        }
    }

    fn request_resources(&self, request: Request, options: &Options) -> Result<Vec<ResourceResult>, Error> {
        match self.admin_request(request, options)? {
            AdminOutcome::Resources(resources) => Ok(resources),
            _ => Err(unexpected_result()),
        }
    }

    /// Creates topics and waits until they are there. Each has its result, in this order: TOPIC_ALREADY_EXISTS,
    /// INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, INVALID_CONFIG and so on.
    ///
    /// Fails as [`send_admin_request`](Self::send_admin_request) says.
    pub fn create_topics(&self, topics: Vec<NewTopic>, options: &Options) -> Result<Vec<TopicResult>, Error> {
        self.request_topics(Request::CreateTopics(topics), options)
    }

    /// Deletes topics with all their records and waits until they are gone.
    ///
    /// Fails as [`send_admin_request`](Self::send_admin_request) says.
    pub fn delete_topics(&self, names: Vec<String>, options: &Options) -> Result<Vec<TopicResult>, Error> {
        self.request_topics(Request::DeleteTopics(names), options)
    }

    /// Adds partitions to topics and waits until they are there. Records with a key may go to another partition from
    /// then on.
    ///
    /// Fails as [`send_admin_request`](Self::send_admin_request) says.
    pub fn create_partitions(&self, topics: Vec<NewPartitions>, options: &Options) -> Result<Vec<TopicResult>, Error> {
        self.request_topics(Request::CreatePartitions(topics), options)
    }

    /// Describes the settings of topics, groups and one broker, with where each value comes from.
    ///
    /// Fails as [`send_admin_request`](Self::send_admin_request) says.
    pub fn describe_configs(
        &self,
        resources: Vec<ConfigQuery>,
        options: &Options,
    ) -> Result<Vec<ResourceResult>, Error> {
        self.request_resources(Request::DescribeConfigs(resources), options)
    }

    /// Replaces all settings of resources: those that are not named get their defaults.
    ///
    /// Fails as [`send_admin_request`](Self::send_admin_request) says.
    pub fn alter_configs(
        &self,
        resources: Vec<ConfigChanges>,
        options: &Options,
    ) -> Result<Vec<ResourceResult>, Error> {
        self.request_resources(Request::AlterConfigs(resources), options)
    }

    /// Changes single settings of resources and leaves the others as they are (KIP-339).
    ///
    /// Fails as [`send_admin_request`](Self::send_admin_request) says.
    pub fn incremental_alter_configs(
        &self,
        resources: Vec<ConfigChanges>,
        options: &Options,
    ) -> Result<Vec<ResourceResult>, Error> {
        self.request_resources(Request::IncrementalAlterConfigs(resources), options)
    }

    /// The groups that consumers have made, of all brokers that answered in time; why the others did not stands beside.
    ///
    /// Fails as [`send_admin_request`](Self::send_admin_request) says, with [`ErrorCode::L_TIMED_OUT`] when the brokers are not known.
    pub fn list_consumer_groups(&self, filters: GroupFilters, options: &Options) -> Result<ConsumerGroups, Error> {
        let queue = Queue::new();
        self.send_group_listing(filters, options, queue.clone(), 0);
        match await_result(&queue)? {
            AdminOutcome::Groups(groups) => Ok(groups),
            _ => Err(unexpected_result()),
        }
    }
}

fn await_result(queue: &Arc<Queue>) -> Result<AdminOutcome, Error> {
    // The core keeps the deadline.
    match queue.pop(None) {
        Some(Event::Admin(result)) => result.outcome,
        _ => Err(Error::new(ErrorCode::L_FAIL, "the call was not answered")),
    }
}

fn unexpected_result() -> Error {
    Error::new(ErrorCode::L_FAIL, "the answer is to another call")
}
