//! Commands of the application's threads to the core.

use crate::error::{Error, ErrorCode};
use crate::{admin, cluster, consumer, credentials, producer, share};

/// A command of an application thread to the core.
#[derive(Debug)]
pub enum Command {
    /// For the cluster manager.
    Cluster(cluster::Command),
    /// For the producer.
    Producer(producer::Command),
    /// For the consumer.
    Consumer(consumer::Command),
    /// For the manager of a share consumer.
    Share(share::Command),
    /// For the admin manager.
    Admin(admin::Command),
    /// For the manager of credentials.
    Credentials(credentials::Command),
    /// The application has replaced certificates; the texts are warnings about them.
    CertificatesReplaced(Vec<String>),
    /// Ends the client: pending calls and records fail, connections are closed.
    Terminate,
}

impl Command {
    /// Fails a command that arrives after the client's end with [`ErrorCode::L_DESTROY`].
    pub fn refuse(self) {
        self.fail(Error::new(ErrorCode::L_DESTROY, "the client is being destroyed"));
    }

    /// Fails a command, so that its caller does not wait for a reply.
    pub fn fail(self, error: Error) {
        match self {
            Command::Cluster(command) => command.refuse(error),
            Command::Producer(command) => command.refuse(error),
            Command::Consumer(command) => command.refuse(error),
            Command::Share(command) => command.refuse(error),
            Command::Admin(command) => command.refuse(error),
            Command::Credentials(_) | Command::CertificatesReplaced(_) | Command::Terminate => {}
        }
    }
}
