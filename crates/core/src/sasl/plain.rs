//! `PLAIN` (RFC 4616): one token with user name and password, without protection of its own.

use std::fmt;

use zeroize::Zeroizing;

use super::mechanism::{Mechanism, SaslError, Step, check_login};

/// An exchange of `PLAIN`. User name and password are sent in UTF-8 as they are: brokers compare them without SASLprep.
pub struct Plain {
    username: String,
    password: Zeroizing<String>,
}

impl Plain {
    /// Returns an exchange with these credentials.
    pub fn new(username: &str, password: &str) -> Self {
        Plain {
            username: username.to_owned(),
            password: Zeroizing::new(password.to_owned()),
        }
    }
}

/// Prints neither user name nor password.
impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plain").finish_non_exhaustive()
    }
}

impl Mechanism for Plain {
    /// Returns `NUL user NUL password`; the authorization identity before the first NUL is empty.
    fn start(&mut self) -> Result<Vec<u8>, SaslError> {
        check_login("PLAIN", &self.username, &self.password)?;
        Ok(format!("\0{}\0{}", self.username, *self.password).into_bytes())
    }

    /// Completes the exchange. Kafka's token is empty; one with content is accepted, as librdkafka does.
    fn step(&mut self, _: &[u8]) -> Result<Step, SaslError> {
        Ok(Step::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Rng;

    #[test]
    fn the_token_of_rfc_4616_has_an_empty_authorization_identity() {
        // The example of RFC 4616, section 4.
        assert_eq!(
            Plain::new("tim", "tanstaaftanstaaf").start().unwrap(),
            b"\0tim\0tanstaaftanstaaf"
        );
        assert_eq!(Plain::new("jürgen", "ß").start().unwrap(), "\0jürgen\0ß".as_bytes());
        assert_eq!(Plain::new("tim", "x").step(b"").unwrap(), Step::Done);
    }

    #[test]
    fn nul_and_empty_credentials_are_refused() {
        for (username, password, name) in [
            ("", "p", "sasl.username"),
            ("u", "", "sasl.password"),
            ("u\0v", "p", "sasl.username"),
            ("u", "p\0", "sasl.password"),
        ] {
            let error = Plain::new(username, password).start().unwrap_err();
            assert!(error.0.starts_with(name), "{error}");
        }
    }

    #[test]
    fn debug_output_has_no_credentials() {
        let credentials = super::super::Credentials::plain("alice", "secret");
        let exchange = credentials.mechanism("broker", &mut Rng::from_seed(1)).unwrap();
        for text in [format!("{credentials:?}"), format!("{exchange:?}")] {
            assert!(!text.contains("alice") && !text.contains("secret"), "{text}");
        }
    }
}
