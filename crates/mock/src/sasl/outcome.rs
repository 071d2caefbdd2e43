//! The results of a client's token.

/// The client that an exchange has authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) principal: String,
    /// The end of its credentials, in milliseconds since 1970.
    pub(super) expires_ms: Option<i64>,
}

/// The result of a token that is not refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Evaluation {
    /// The broker's token; the client has to send another one.
    Continue(Vec<u8>),
    /// The broker's last token; the client is authenticated.
    Complete(Vec<u8>, Identity),
}

/// The reason of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The text is sent to the client: `SaslAuthenticationException` in Kafka.
    Reported(String),
    /// The text stays with the broker, and the client receives one that reveals nothing about users: `SaslException` in
    /// Kafka.
    Concealed(String),
}

impl Failure {
    pub(super) fn reported(text: &str) -> Self {
        Self::Reported(text.to_owned())
    }

    pub(super) fn concealed(text: &str) -> Self {
        Self::Concealed(text.to_owned())
    }
}
