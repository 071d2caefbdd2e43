use super::context::Progress;
use super::*;

/// Part of the scripted context's tokens, to which it appends its argument.
const STEP: &[u8] = b"step:";

/// A context that is complete after a number of the broker's tokens, and wraps by reversing the bytes.
#[derive(Debug)]
struct Scripted {
    tokens: usize,
}

fn reversed(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().rev().copied().collect()
}

impl SecurityContext for Scripted {
    fn step(&mut self, token: Option<&[u8]>) -> Result<Progress, SaslError> {
        if token == Some(b"bad") {
            return Err(SaslError("a bad token".into()));
        }
        let Some(token) = token else {
            return Ok(Progress {
                token: STEP.to_vec(),
                complete: self.tokens == 0,
            });
        };
        self.tokens -= 1;
        let complete = self.tokens == 0;
        Ok(Progress {
            token: if complete { Vec::new() } else { [STEP, token].concat() },
            complete,
        })
    }

    fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, SaslError> {
        Ok(reversed(message))
    }

    fn unwrap(&mut self, token: &[u8]) -> Result<Vec<u8>, SaslError> {
        match token {
            b"bad" => Err(SaslError("a bad checksum".into())),
            token => Ok(reversed(token)),
        }
    }
}

fn exchange(tokens: usize) -> Gssapi {
    Gssapi::new(Box::new(Scripted { tokens }))
}

/// Returns an exchange that awaits the offer of layers.
fn established() -> Gssapi {
    let mut exchange = exchange(1);
    exchange.start().unwrap();
    exchange.step(b"mutual").unwrap();
    exchange
}

#[test]
fn an_exchange_establishes_the_context_takes_no_layer_and_ends_with_an_empty_token() {
    let mut exchange = exchange(2);
    assert!(exchange.blocks(None), "tickets are acquired");
    assert_eq!(exchange.refusal_advice(), None);
    assert_eq!(exchange.start().unwrap(), STEP);
    assert!(exchange.refusal_advice().is_some(), "the ticket is sent");
    assert_eq!(exchange.step(b"a").unwrap(), Step::Respond(b"step:a".to_vec()));
    // The context is complete without a token for the broker, which expects an empty one.
    assert_eq!(exchange.step(b"b").unwrap(), Step::Respond(Vec::new()));
    assert!(!exchange.is_last_response());
    // Kafka's brokers offer no layer, with a buffer of 64 kB.
    assert_eq!(exchange.step(&[0, 0, 1, 1]).unwrap(), Step::Respond(vec![0, 0, 0, 1]));
    assert!(exchange.is_last_response());
    assert_eq!(exchange.step(b"").unwrap(), Step::Done);
    assert!(exchange.step(b"").is_err(), "once");
}

#[test]
fn a_broker_that_requires_a_layer_is_refused() {
    // Integrity and confidentiality only.
    let error = established().step(&[0, 0, 1, 6]).unwrap_err();
    assert!(error.0.contains("requires a GSSAPI security layer"), "{error}");
    // All layers.
    assert_eq!(
        established().step(&[0, 0, 1, 7]).unwrap(),
        Step::Respond(vec![0, 0, 0, 1])
    );
}

#[test]
fn a_damaged_offer_is_refused() {
    for offer in [&b""[..], &[1], &[0, 0, 1], &[0, 0, 0, 0, 1], b"bad"] {
        let mut exchange = established();
        exchange.step(offer).unwrap_err();
        assert!(exchange.step(&[0, 0, 1, 1]).is_err(), "the exchange has ended");
    }
}

#[test]
fn a_broker_that_does_not_prove_itself_is_refused() {
    let mut exchange = exchange(1);
    exchange.start().unwrap();
    assert_eq!(exchange.step(b"bad").unwrap_err().0, "a bad token");
    assert!(exchange.step(b"mutual").is_err(), "the exchange has ended");
}

#[test]
fn a_token_after_the_choice_of_a_layer_is_refused() {
    let mut exchange = established();
    exchange.step(&[0, 0, 1, 1]).unwrap();
    assert!(exchange.step(b"more").is_err());
    assert!(exchange.step(b"").is_err());
}

#[test]
fn a_token_of_the_broker_before_the_clients_is_refused() {
    assert!(exchange(1).step(b"").is_err());
    let mut exchange = exchange(1);
    exchange.start().unwrap();
    assert!(exchange.start().is_err());
}
