//! Commands of the application's threads to the core.

use crate::error::{Error, ErrorCode};
use crate::{admin, cluster, consumer, producer};

/// What the application's threads ask of the core.
#[derive(Debug)]
pub enum Command {
    /// For the cluster manager.
    Cluster(cluster::Command),
    /// For the producer.
    Producer(producer::Command),
    /// For the consumer.
    Consumer(consumer::Command),
    /// For calls that belong to neither.
    Admin(admin::Command),
    /// Ends the client: everything still waiting is failed, connections are closed.
    Terminate,
}

impl Command {
    /// Answers a command that comes after the client's end, so that its caller does not wait.
    pub fn refuse(self) {
        self.fail(Error::new(ErrorCode::L_DESTROY, "the client is being destroyed"));
    }

    /// Answers a command that nobody will carry out.
    pub fn fail(self, error: Error) {
        match self {
            Command::Cluster(command) => command.refuse(error),
            Command::Producer(command) => command.refuse(error),
            Command::Consumer(command) => command.refuse(error),
            Command::Admin(command) => command.refuse(error),
            Command::Terminate => {}
        }
    }
}
