//! Unsecured tokens: JSON Web Tokens without a signature (RFC 7515, appendix A.5), for tests.

use std::fmt::{self, Write as _};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use zeroize::Zeroizing;

use crate::clock::now_ms;
use crate::text::shown;
use crate::token::{SettingsError, Token, TokenError, TokenProvider};

/// The property of these settings.
const PROPERTY: &str = "sasl.oauthbearer.config";
/// The life of tokens without `lifeSeconds`, in seconds.
const LIFE_SECONDS: u32 = 3600;
/// Maximum length of the settings, in bytes.
const CONFIG_LEN_MAX: usize = 64 << 10;

/// A provider of unsecured tokens (`enable.sasl.oauthbearer.unsecure.jwt`). They prove no identity.
#[derive(Clone, PartialEq, Eq)]
pub struct UnsecuredJwt {
    principal_claim: String,
    principal: String,
    scope_claim: String,
    scope: Vec<String>,
    life_seconds: u32,
    extensions: Vec<(String, String)>,
}

/// Prints no values of extensions.
impl fmt::Debug for UnsecuredJwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsecuredJwt")
            .field("principal", &self.principal)
            .finish_non_exhaustive()
    }
}

impl UnsecuredJwt {
    /// Creates a provider from the text of `sasl.oauthbearer.config`: pairs `key=value`, separated by spaces. Values
    /// cannot contain spaces.
    ///
    /// | key | value |
    /// |---|---|
    /// | `principal` | the principal; required |
    /// | `principalClaimName` | the claim of the principal; default `sub` |
    /// | `scope` | scopes, separated by commas; default none |
    /// | `scopeClaimName` | the claim of the scopes; default `scope` |
    /// | `lifeSeconds` | the token's life in seconds, 1 to 2147483647; default 3600 |
    /// | `extension_NAME` | the SASL extension NAME |
    ///
    /// # Errors
    /// A key is unknown or occurs twice, a value is empty or invalid, or there is no principal. The texts are librdkafka's,
    /// except that values are not repeated: the property is one of those that are not shown.
    pub fn new(config: &str) -> Result<Self, SettingsError> {
        let invalid = |text: &str| SettingsError::invalid(PROPERTY, text);
        if config.len() > CONFIG_LEN_MAX {
            return Err(invalid(&format!("it has more than {CONFIG_LEN_MAX} bytes")));
        }
        let mut found = Found::default();
        for pair in config.split(' ').filter(|pair| !pair.is_empty()) {
            found.add(pair)?;
        }
        let Some(principal) = found.principal else {
            return Err(invalid("no principal=<value>"));
        };
        let provider = UnsecuredJwt {
            principal_claim: found.principal_claim.unwrap_or("sub").to_owned(),
            principal: principal.to_owned(),
            scope_claim: found.scope_claim.unwrap_or("scope").to_owned(),
            scope: scopes(found.scope.unwrap_or_default()),
            life_seconds: found.life_seconds.unwrap_or(LIFE_SECONDS),
            extensions: found.extensions,
        };
        for (key, value) in [
            ("principal", principal),
            ("principalClaimName", &provider.principal_claim),
            ("scopeClaimName", &provider.scope_claim),
            ("scope", found.scope.unwrap_or_default()),
        ] {
            if value.contains('"') {
                return Err(invalid(&format!("{key} cannot contain a '\"' character")));
            }
        }
        let reserved = ["iat", "exp"];
        for (key, claim) in [
            ("principalClaimName", &provider.principal_claim),
            ("scopeClaimName", &provider.scope_claim),
        ] {
            if reserved.contains(&claim.as_str()) {
                return Err(invalid(&format!("{key} cannot be {claim}, which is another claim")));
            }
        }
        if !provider.scope.is_empty() && provider.scope_claim == provider.principal_claim {
            return Err(invalid("principalClaimName and scopeClaimName are the same"));
        }
        Ok(provider)
    }

    /// Returns the token that is created at a time, in milliseconds since 1970.
    pub fn token_at(&self, now_ms: i64) -> Token {
        let expires_ms = now_ms.saturating_add(i64::from(self.life_seconds) * 1000);
        let mut claims = Zeroizing::new(String::new());
        // A String accepts every write.
        let _ = write!(
            claims,
            "{{{}:{},\"iat\":{},\"exp\":{}",
            json_text(&self.principal_claim),
            json_text(&self.principal),
            numeric_date(now_ms),
            numeric_date(expires_ms)
        );
        if !self.scope.is_empty() {
            let scope: Vec<String> = self.scope.iter().map(|scope| json_text(scope)).collect();
            let _ = write!(claims, ",{}:[{}]", json_text(&self.scope_claim), scope.join(","));
        }
        claims.push('}');
        let header = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
        let claims = Zeroizing::new(BASE64_URL_SAFE_NO_PAD.encode(claims.as_bytes()));
        Token {
            value: Zeroizing::new(format!("{header}.{}.", claims.as_str())),
            expires_ms,
            principal: self.principal.clone(),
            extensions: self.extensions.clone(),
        }
    }
}

impl TokenProvider for UnsecuredJwt {
    fn fetch(&self) -> Result<Token, TokenError> {
        Ok(self.token_at(now_ms()))
    }
}

/// The settings that have been found so far.
#[derive(Default)]
struct Found<'c> {
    principal_claim: Option<&'c str>,
    principal: Option<&'c str>,
    scope_claim: Option<&'c str>,
    scope: Option<&'c str>,
    life_seconds: Option<u32>,
    extensions: Vec<(String, String)>,
}

impl<'c> Found<'c> {
    fn add(&mut self, pair: &'c str) -> Result<(), SettingsError> {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(unrecognized(pair));
        };
        let place = match key {
            "principalClaimName" => &mut self.principal_claim,
            "principal" => &mut self.principal,
            "scopeClaimName" => &mut self.scope_claim,
            "scope" => &mut self.scope,
            "lifeSeconds" => return self.add_life(value),
            _ => match key.strip_prefix("extension_") {
                Some(name) => return self.add_extension(name, value),
                None => return Err(unrecognized(key)),
            },
        };
        if value.is_empty() {
            return Err(empty(key));
        }
        match place.replace(value) {
            None => Ok(()),
            Some(_) => Err(multiple(key)),
        }
    }

    fn add_life(&mut self, value: &str) -> Result<(), SettingsError> {
        const KEY: &str = "lifeSeconds";
        if value.is_empty() {
            return Err(empty(KEY));
        }
        let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(SettingsError::invalid(PROPERTY, format_args!("non-integral '{KEY}='")));
        }
        let seconds = value.parse::<i64>().ok().and_then(|n| i32::try_from(n).ok());
        let Some(seconds) = seconds.and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0) else {
            let text = format_args!("value out of range of positive int '{KEY}='");
            return Err(SettingsError::invalid(PROPERTY, text));
        };
        match self.life_seconds.replace(seconds) {
            None => Ok(()),
            Some(_) => Err(multiple(KEY)),
        }
    }

    fn add_extension(&mut self, name: &str, value: &str) -> Result<(), SettingsError> {
        if name.is_empty() {
            return Err(SettingsError::invalid(PROPERTY, "empty 'extension_' key"));
        }
        crate::extensions::check(PROPERTY, name, value)?;
        if self.extensions.iter().any(|(other, _)| other == name) {
            return Err(multiple(&format!("extension_{}", shown(name))));
        }
        self.extensions.push((name.to_owned(), value.to_owned()));
        Ok(())
    }
}

fn empty(key: &str) -> SettingsError {
    SettingsError::invalid(PROPERTY, format_args!("empty '{key}='"))
}

fn multiple(key: &str) -> SettingsError {
    SettingsError::invalid(PROPERTY, format_args!("multiple '{key}='"))
}

fn unrecognized(key: &str) -> SettingsError {
    SettingsError(format!("Unrecognized {PROPERTY} beginning at: {}", shown(key)))
}

/// Splits scopes at commas. Leaves out empty and repeated ones.
fn scopes(list: &str) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for scope in list.split(',').filter(|scope| !scope.is_empty()) {
        if seen.insert(scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

/// Returns a JSON string.
fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns milliseconds as seconds with three decimals, as RFC 7519 has dates.
fn numeric_date(ms: i64) -> String {
    format!("{}.{:03}", ms.div_euclid(1000), ms.rem_euclid(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(config: &str) -> String {
        UnsecuredJwt::new(config).unwrap_err().to_string()
    }

    fn parts(token: &Token) -> (String, String) {
        let parts: Vec<&str> = token.value.split('.').collect();
        assert_eq!((parts.len(), parts[2]), (3, ""), "two parts and an empty signature");
        let text = |part: &str| String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        (text(parts[0]), text(parts[1]))
    }

    #[test]
    fn a_principal_alone_has_the_default_claims() {
        let token = UnsecuredJwt::new("principal=fubar")
            .unwrap()
            .token_at(1_549_251_467_546);
        let (header, claims) = parts(&token);
        assert_eq!(header, r#"{"alg":"none"}"#);
        assert_eq!(claims, r#"{"sub":"fubar","iat":1549251467.546,"exp":1549255067.546}"#);
        assert_eq!(token.expires_ms, 1_549_255_067_546);
        assert_eq!(token.principal, "fubar");
        assert!(token.extensions.is_empty());
    }

    #[test]
    fn every_key_has_its_effect_in_any_order() {
        let config = "  extension_b=2 principal=fubar  scopeClaimName=whatever lifeSeconds=60 \
                      extension_a= principalClaimName=fred scope=role1,,role2,role1, ";
        let token = UnsecuredJwt::new(config).unwrap().token_at(1000);
        let expected = r#"{"fred":"fubar","iat":1.000,"exp":61.000,"whatever":["role1","role2"]}"#;
        assert_eq!(parts(&token).1, expected);
        let extensions = [("b", "2"), ("a", "")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(token.extensions, extensions);
    }

    #[test]
    fn values_are_escaped_in_json() {
        let token = UnsecuredJwt::new("principal=a\\b\tc=d\u{e9}").unwrap().token_at(0);
        let claims = parts(&token).1;
        let claims: serde_json::Value = serde_json::from_str(&claims).unwrap();
        assert_eq!(claims["sub"], "a\\b\tc=d\u{e9}");
    }

    #[test]
    fn errors_have_librdkafkas_words() {
        let start = "Invalid sasl.oauthbearer.config: ";
        for (config, text) in [
            ("", "no principal=<value>"),
            ("   ", "no principal=<value>"),
            ("scope=a", "no principal=<value>"),
            ("principal=", "empty 'principal='"),
            ("principal=a principal=b", "multiple 'principal='"),
            ("principalClaimName=", "empty 'principalClaimName='"),
            ("scopeClaimName= principal=a", "empty 'scopeClaimName='"),
            ("scopeClaimName=a scopeClaimName=a", "multiple 'scopeClaimName='"),
            ("scope=", "empty 'scope='"),
            ("lifeSeconds= principal=a", "empty 'lifeSeconds='"),
            ("lifeSeconds=1 lifeSeconds=1", "multiple 'lifeSeconds='"),
            ("lifeSeconds=abc", "non-integral 'lifeSeconds='"),
            ("lifeSeconds=64bit", "non-integral 'lifeSeconds='"),
            ("lifeSeconds=-", "non-integral 'lifeSeconds='"),
            ("lifeSeconds=-64", "value out of range of positive int 'lifeSeconds='"),
            ("lifeSeconds=0", "value out of range of positive int 'lifeSeconds='"),
            (
                "lifeSeconds=2147483648",
                "value out of range of positive int 'lifeSeconds='",
            ),
            (
                "lifeSeconds=99999999999999999999",
                "value out of range of positive int 'lifeSeconds='",
            ),
            ("extension_=b", "empty 'extension_' key"),
            ("extension_a=1 extension_a=2", "multiple 'extension_a='"),
            ("principal=a\"b", "principal cannot contain a '\"' character"),
            (
                "principal=a principalClaimName=\"",
                "principalClaimName cannot contain a '\"' character",
            ),
            ("principal=a scope=\"", "scope cannot contain a '\"' character"),
            (
                "principal=a scopeClaimName=\"",
                "scopeClaimName cannot contain a '\"' character",
            ),
        ] {
            assert_eq!(error(config), format!("{start}{text}"), "{config}");
        }
    }

    #[test]
    fn unknown_keys_are_named_without_their_values() {
        let start = "Unrecognized sasl.oauthbearer.config beginning at: ";
        assert_eq!(error("principal=a b"), format!("{start}b"));
        assert_eq!(
            error("principal=a extension_noequals"),
            format!("{start}extension_noequals")
        );
        assert_eq!(error("principal=a secret=hidden"), format!("{start}secret"));
        assert_eq!(
            error("\tprincipal=a"),
            format!("{start}?principal"),
            "only spaces separate"
        );
    }

    #[test]
    fn claims_of_the_same_name_are_refused() {
        assert!(error("principal=a principalClaimName=exp").contains("principalClaimName cannot be exp"));
        assert!(error("principal=a scopeClaimName=iat").contains("scopeClaimName cannot be iat"));
        assert!(error("principal=a scope=b scopeClaimName=sub").contains("are the same"));
        UnsecuredJwt::new("principal=a scopeClaimName=sub").unwrap();
    }

    #[test]
    fn extensions_that_brokers_refuse_are_errors() {
        assert!(error("principal=a extension_auth=b").contains("auth"));
        assert!(error("principal=a extension_a1=b").contains("a1"));
        let text = error("principal=a extension_a=hidden\u{1}");
        assert!(text.contains("extension a") && !text.contains("hidden"), "{text}");
    }

    #[test]
    fn the_longest_life_does_not_overflow() {
        let provider = UnsecuredJwt::new("principal=a lifeSeconds=2147483647").unwrap();
        assert_eq!(provider.token_at(i64::MAX).expires_ms, i64::MAX);
        assert_eq!(provider.token_at(0).expires_ms, 2_147_483_647_000);
    }

    #[test]
    fn fetched_tokens_are_of_now() {
        let before = now_ms();
        let token = UnsecuredJwt::new("principal=a").unwrap().fetch().unwrap();
        assert!((before + 3_600_000..=now_ms() + 3_600_000).contains(&token.expires_ms));
        assert!(!format!("{token:?}").contains(token.value.as_str()));
    }
}
