//! The messages of a SCRAM server, which may not know the password.

use std::sync::{Arc, OnceLock};

use ottla_core::sasl::{Mechanism as _, Scram, ScramCredentials, ScramHash, Step};
use ottla_core::sys::Rng;

use crate::{Seen, Verdict};

const PASSWORD: &str = "pencil-of-the-user";
/// The exchange of a server that knows the password, with the nonce of [`SEED`].
const FIRST: &str = "r=sb7Rts29M6g9/rWq5ZfciIZGGvMDu1g9broker-nonce,s=MDEyMzQ1Njc4OWFiY2RlZg==,i=4096";
const SIGNATURE: &str = "hw+uDB/X3b7nOYn93xQIwPGDO2nSmDaZmWEQnDSE1ig=";
/// The client's random generator, so that its nonce is the same in each run.
const SEED: u64 = 1;

/// Returns the credentials of all inputs. They keep the keys of salts and iterations that they have met.
fn credentials() -> Arc<ScramCredentials> {
    static SHARED: OnceLock<Arc<ScramCredentials>> = OnceLock::new();
    let new = || Arc::new(ScramCredentials::new(ScramHash::Sha256, "user", PASSWORD));
    SHARED.get_or_init(new).clone()
}

/// Maximum length of an error's text: 1,000 characters of the server, each of up to 8 as an escape, and the client's words.
const TEXT_MAX: usize = 8_300;

/// Checks an error's text.
fn refused(text: &str) -> Verdict {
    ensure!(
        !text.is_empty() && text.len() < TEXT_MAX,
        "refused with the text {text:?}"
    );
    ensure!(!text.contains(['\n', '\0']), "not one line: {text:?}");
    ensure!(!text.contains(PASSWORD), "the password is in the text");
    Ok(Seen::Refused)
}

/// Splits the input at the first line break: the server's first and final message.
pub(super) fn server_messages(data: &[u8]) -> Verdict {
    let at = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (first, last) = (
        data.get(..at).unwrap_or_default(),
        data.get(at + 1..).unwrap_or_default(),
    );
    let mut rng = Rng::from_seed(SEED);
    let mut exchange = Scram::new(credentials(), &mut rng).map_err(|error| error.0)?;
    let start = exchange.start().map_err(|error| error.0)?;
    let start = String::from_utf8(start).map_err(|_| "the client's first message is not UTF-8")?;
    let client_nonce = start.strip_prefix("n,,n=user,r=").ok_or("the client's first message")?;
    let answer = match exchange.step(first) {
        Ok(Step::Respond(answer)) => answer,
        Ok(Step::Done) => return Err("done after the first message".to_owned()),
        Err(error) => {
            ensure!(exchange.step(last).is_err(), "a failed exchange goes on");
            return refused(&error.0);
        }
    };
    let answer = String::from_utf8(answer).map_err(|_| "the client's final message is not UTF-8")?;
    let nonce = answer.strip_prefix("c=biws,r=").and_then(|rest| rest.split_once(",p="));
    let (nonce, _proof) = nonce.ok_or_else(|| format!("the client's final message is {answer:?}"))?;
    ensure!(
        nonce.len() > client_nonce.len() && nonce.starts_with(client_nonce) && !nonce.contains(','),
        "the nonce is {nonce:?}"
    );
    match exchange.step(last) {
        Ok(Step::Done) => {
            let genuine = last.strip_prefix(format!("v={SIGNATURE}").as_bytes());
            ensure!(
                first == FIRST.as_bytes() && genuine.is_some(),
                "a server without the password is accepted"
            );
            ensure!(exchange.step(last).is_err(), "a completed exchange goes on");
        }
        Ok(Step::Respond(_)) => return Err("an answer to the final message".to_owned()),
        Err(error) => _ = refused(&error.0)?,
    }
    Ok(Seen::Accepted)
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    vec![
        format!("{FIRST}\nv={SIGNATURE}").into_bytes(),
        format!("{FIRST}\nv={SIGNATURE},x=extension").into_bytes(),
        format!("{FIRST},x=extension\ne=other-error").into_bytes(),
        format!("{FIRST}\nv=AAAA").into_bytes(),
    ]
}

pub(super) fn words() -> Vec<String> {
    let nonce = FIRST.split(',').next().unwrap_or_default();
    let mut words = vec![nonce.to_owned(), format!("v={SIGNATURE}")];
    words.extend(
        [
            ",s=", ",i=", ",m=", "e=", "4095", "4096", "1000000", "1000001", "QQ==", "\n",
        ]
        .map(str::to_owned),
    );
    words
}
