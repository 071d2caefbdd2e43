//! Data from outside that tokens are made of: answers of token endpoints, settings, templates of assertions.

use ottla_tokens::{AwsSettings, TokenProvider as _, UnsecuredJwt, aws_iam, parsing};

use crate::memory::within;
use crate::{Seen, Verdict};

/// Memory besides that in proportion to the input.
const MEMORY_BASE: usize = 64 * 1024;
/// Memory for each byte: a number of one digit is a value of some 30 bytes, in lists that grow by doubling.
const MEMORY_FACTOR: usize = 128;
/// The time of all inputs, in milliseconds since 1970.
const NOW_MS: i64 = 1_800_000_000_000;

/// Checks an error's text.
fn refused(text: &str) -> Verdict {
    ensure!(!text.is_empty() && text.len() < 2000, "refused with the text {text:?}");
    ensure!(!text.contains(['\n', '\r', '\0']), "not one line: {text:?}");
    Ok(Seen::Refused)
}

pub(super) fn answers(data: &[u8]) -> Verdict {
    let limit = MEMORY_BASE + MEMORY_FACTOR * data.len();
    let mut seen = Seen::Refused;
    match within(limit, || parsing::token_answer(data, NOW_MS))? {
        Ok(token) => {
            ensure!(token.expires_ms > NOW_MS, "it expires at {}", token.expires_ms);
            let valid = |b: u8| b.is_ascii_graphic();
            ensure!(
                !token.value.is_empty() && token.value.bytes().all(valid),
                "characters of the token"
            );
            ensure!(!token.principal.is_empty(), "no principal");
            // A header can be any text; its quotes and escapes are JSON's.
            let again = format!("{{\"access_token\":\"{}\",\"expires_in\":1}}", token.value.as_str());
            let again = parsing::token_answer(again.as_bytes(), NOW_MS);
            let again = again.map_err(|cause| format!("the token alone is refused: {cause}"))?;
            ensure!(again.value == token.value, "the token alone is another");
            seen = Seen::Accepted;
        }
        Err(text) => _ = refused(&text)?,
    }
    match within(limit, || parsing::aws_credentials(data))? {
        Ok(_) => seen = Seen::Accepted,
        Err(text) => _ = refused(&text)?,
    }
    Ok(seen)
}

pub(super) fn answer_seeds() -> Vec<Vec<u8>> {
    // The claims: {"sub":"alice","exp":4102444800}, {"sub":"a","exp":4102444800.5}.
    [
        r#"{"access_token":"eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6NDEwMjQ0NDgwMH0.c2ln","token_type":"Bearer","expires_in":3600}"#,
        r#"{"id_token":"e30.eyJzdWIiOiJhIiwiZXhwIjo0MTAyNDQ0ODAwLjV9."}"#,
        r#"{"access_token":"ya29.opaque","expires_in":"86399"}"#,
        r#"{"AccessKeyId":"ASIA","SecretAccessKey":"s/+","Token":"t==","Expiration":"2027-01-15T08:00:00Z"}"#,
        r#"{"AccessKeyId":"ASIA","SecretAccessKey":"s","SessionToken":null,"Expiration":1.8e9}"#,
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

pub(super) fn answer_words() -> Vec<String> {
    let words = [
        "\"access_token\":",
        "\"id_token\":",
        "\"expires_in\":",
        "\"token_type\":",
        "\"Expiration\":",
        "\"Bearer\"",
        "e30",
        ".e30.",
        "eyJleHAiOjF9",
        "eyJzdWIiOiJhIiwiZXhwIjo0MTAyNDQ0ODAwfQ",
        "1e300",
        "-1",
        "null",
        "{}",
        "[",
        "\\u0000",
    ];
    words.map(str::to_owned).to_vec()
}

/// Splits the input at the first line break: `sasl.oauthbearer.config`, and a template of assertions.
pub(super) fn settings(data: &[u8]) -> Verdict {
    let limit = MEMORY_BASE + MEMORY_FACTOR * data.len();
    let at = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (config, template) = (
        data.get(..at).unwrap_or_default(),
        data.get(at + 1..).unwrap_or_default(),
    );
    let config = String::from_utf8_lossy(config).into_owned();
    let mut seen = Seen::Refused;
    match within(limit, || UnsecuredJwt::new(&config))? {
        Ok(provider) => {
            let token = provider.token_at(NOW_MS);
            ensure!(
                token.value.starts_with("eyJhbGciOiJub25lIn0.") && token.value.ends_with('.'),
                "{token:?}"
            );
            ensure!(token.expires_ms > NOW_MS && !token.principal.is_empty(), "{token:?}");
            ensure!(provider.fetch().is_ok(), "no token now");
            seen = Seen::Accepted;
        }
        Err(error) => _ = refused(&error.0)?,
    }
    let aws = AwsSettings {
        config: Some(config),
        ..AwsSettings::default()
    };
    // Each provider has clients for HTTP.
    match within(limit + MEMORY_BASE, || aws_iam(aws))? {
        Ok(_) => seen = Seen::Accepted,
        Err(error) => _ = refused(&error.0)?,
    }
    match within(limit, || parsing::assertion_template(template))? {
        Ok(_) => seen = Seen::Accepted,
        Err(text) => _ = refused(&text)?,
    }
    Ok(seen)
}

pub(super) fn settings_seeds() -> Vec<Vec<u8>> {
    [
        "principal=a scope=b,c lifeSeconds=60 extension_x=y principalClaimName=p scopeClaimName=s",
        "region=eu-north-1 audience=https://a/ duration_seconds=900 tag_a=b extension_x=y",
        "\n{\"header\":{\"kid\":\"k\"},\"payload\":{\"roles\":[\"a\"]}}",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

pub(super) fn settings_words() -> Vec<String> {
    let words = [
        "principal=",
        "principalClaimName=",
        "scope=",
        "scopeClaimName=",
        "lifeSeconds=",
        "extension_",
        "region=",
        "profile=",
        "audience=",
        "duration_seconds=",
        "signing_algorithm=RS256",
        "sts_endpoint=",
        "principal_name=",
        "tag_",
        "2147483647",
        "\"header\":{",
        "\"payload\":{",
        "\n",
    ];
    words.map(str::to_owned).to_vec()
}
