//! `GSSAPI` (RFC 4752): client and broker prove to each other that the Kerberos realm knows them.
//!
//! After the security context is established, the broker offers layers of protection for the bytes of the connection.
//! Kafka's protocol has none, so the client takes "no layer". It sends no name to authorize: brokers then use the principal
//! of the ticket, as they do with librdkafka, whatever `sasl.kerberos.principal` is.

mod context;
mod credentials;
mod errors;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use credentials::GssapiCredentials;

use context::SecurityContext;
use credentials::BrokerContext;

use super::mechanism::{Mechanism, SaslError, Step, out_of_order};

/// The mechanism's registered name.
pub(super) const NAME: &str = "GSSAPI";

/// The layer of RFC 4752 that leaves bytes as they are.
const NO_LAYER: u8 = 1;

/// Length of the broker's offer: layers, and the size of its buffer for a layer in three bytes.
const OFFER_BYTES: usize = 4;

/// Returns an exchange with the broker of that host name, as it is configured or advertised.
pub(super) fn exchange(credentials: Arc<GssapiCredentials>, host: &str) -> Box<dyn Mechanism> {
    Box::new(Gssapi::new(Box::new(BrokerContext::new(credentials, host))))
}

/// An exchange of `GSSAPI`.
#[derive(Debug)]
struct Gssapi {
    context: Box<dyn SecurityContext>,
    stage: Stage,
}

/// The position in the exchange.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is sent.
    Start,
    /// A token of the context is sent, which is not complete.
    Establishing,
    /// The context is complete. The broker's offer of layers is the next token.
    Established,
    /// The choice of a layer is sent.
    Chosen,
    /// Completed or failed.
    End,
}

impl Gssapi {
    /// Returns an exchange over a context at its beginning.
    fn new(context: Box<dyn SecurityContext>) -> Self {
        Gssapi {
            context,
            stage: Stage::Start,
        }
    }

    /// Carries out a step of the context; returns its token. The last one may be empty and is sent all the same.
    fn establish(&mut self, token: Option<&[u8]>) -> Result<Vec<u8>, SaslError> {
        let progress = self.context.step(token)?;
        self.stage = match progress.complete {
            true => Stage::Established,
            false => Stage::Establishing,
        };
        Ok(progress.token)
    }

    /// Answers the broker's offer of layers.
    fn choose_layer(&mut self, challenge: &[u8]) -> Result<Vec<u8>, SaslError> {
        let offer = self.context.unwrap(challenge)?;
        let layers = match offer.first() {
            Some(layers) if offer.len() == OFFER_BYTES => *layers,
            _ => {
                return Err(SaslError(format!(
                    "the broker's offer of security layers is damaged: {} bytes instead of {OFFER_BYTES}",
                    offer.len()
                )));
            }
        };
        if layers & NO_LAYER == 0 {
            return Err(SaslError(
                "the broker requires a GSSAPI security layer (javax.security.sasl.qop without \"auth\"), which Kafka's protocol \
                 does not have: use security.protocol=sasl_ssl to encrypt the connection"
                    .into(),
            ));
        }
        let choice = self.context.wrap(&[NO_LAYER, 0, 0, 0])?;
        self.stage = Stage::Chosen;
        Ok(choice)
    }
}

impl Mechanism for Gssapi {
    /// Returns the first token of the context.
    fn start(&mut self) -> Result<Vec<u8>, SaslError> {
        match std::mem::replace(&mut self.stage, Stage::End) {
            Stage::Start => self.establish(None),
            _ => Err(out_of_order(NAME)),
        }
    }

    /// Returns true: tickets are acquired from a server.
    fn blocks(&self, _challenge: Option<&[u8]>) -> bool {
        true
    }

    /// Answers a token of the context, then the offer of layers. The exchange is complete with the broker's consent, and
    /// cannot continue after an error.
    fn step(&mut self, challenge: &[u8]) -> Result<Step, SaslError> {
        match std::mem::replace(&mut self.stage, Stage::End) {
            Stage::Establishing => self.establish(Some(challenge)).map(Step::Respond),
            Stage::Established => self.choose_layer(challenge).map(Step::Respond),
            Stage::Chosen if challenge.is_empty() => Ok(Step::Done),
            Stage::Start | Stage::Chosen | Stage::End => Err(out_of_order(NAME)),
        }
    }

    /// Returns the usual reasons for which brokers do not accept a ticket, which they do not report.
    fn refusal_advice(&self) -> Option<&str> {
        (self.stage == Stage::Establishing).then_some(
            "the broker does not accept the Kerberos ticket: its clock or the KDC's differs by more than 5 minutes, or its \
             keytab lacks the key that the KDC has for it; its log has the reason",
        )
    }

    /// Returns true after the choice of a layer.
    fn is_last_response(&self) -> bool {
        self.stage == Stage::Chosen
    }
}
