//! Signatures of AWS, version 4.

use std::fmt::Write as _;

use aws_lc_rs::{digest, hmac};
use zeroize::Zeroizing;

use super::credentials::Credentials;
use super::time::amz_date;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Region, service and time of a signature.
pub(super) struct Scope<'s> {
    pub(super) region: &'s str,
    pub(super) service: &'s str,
    pub(super) now_ms: i64,
}

impl Scope<'_> {
    fn day(&self) -> String {
        amz_date(self.now_ms).chars().take(8).collect()
    }

    fn text(&self) -> String {
        format!("{}/{}/{}/aws4_request", self.day(), self.region, self.service)
    }

    /// Returns the key of signatures.
    fn key(&self, credentials: &Credentials) -> Zeroizing<Vec<u8>> {
        let start = Zeroizing::new(format!("AWS4{}", credentials.secret_access_key.as_str()));
        let mut key = Zeroizing::new(start.as_bytes().to_vec());
        for part in [self.day().as_str(), self.region, self.service, "aws4_request"] {
            key = hmac(&key, part.as_bytes());
        }
        key
    }

    /// Returns the signature of a canonical request.
    fn sign(&self, credentials: &Credentials, canonical: &str) -> String {
        let hash = sha256_hex(canonical.as_bytes());
        let text = format!("{ALGORITHM}\n{}\n{}\n{hash}", amz_date(self.now_ms), self.text());
        hex(&hmac(&self.key(credentials), text.as_bytes()))
    }
}

/// A request to sign.
pub(super) struct Signable<'r> {
    pub(super) method: &'r str,
    pub(super) host: &'r str,
    pub(super) path: &'r str,
    pub(super) query: &'r [(&'r str, &'r str)],
    /// The SHA-256 of the body in hexadecimal.
    pub(super) body_hash: &'r str,
}

impl Signable<'_> {
    fn canonical(&self, query: &str, headers: &[(&str, &str)]) -> String {
        let mut text = format!("{}\n{}\n{query}\n", self.method, self.path);
        for (name, value) in headers {
            // A String accepts every write.
            let _ = writeln!(text, "{name}:{value}");
        }
        let _ = write!(text, "\n{}\n{}", names(headers), self.body_hash);
        text
    }

    /// Returns the query of a presigned URL, which is valid for a number of seconds.
    pub(super) fn presigned_query(
        &self,
        credentials: &Credentials,
        scope: &Scope<'_>,
        expires_s: u32,
    ) -> Zeroizing<String> {
        let credential = format!("{}/{}", credentials.access_key_id, scope.text());
        let (date, expires) = (amz_date(scope.now_ms), expires_s.to_string());
        let mut parameters = self.query.to_vec();
        parameters.extend([
            ("X-Amz-Algorithm", ALGORITHM),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", &date),
            ("X-Amz-Expires", &expires),
            ("X-Amz-SignedHeaders", "host"),
        ]);
        if let Some(token) = &credentials.session_token {
            parameters.push(("X-Amz-Security-Token", token));
        }
        let mut query = canonical_query(&parameters);
        let signature = scope.sign(credentials, &self.canonical(&query, &[("host", self.host)]));
        query.push_str("&X-Amz-Signature=");
        query.push_str(&signature);
        query
    }

    /// Returns the value of the header `Authorization`. `headers` are further signed headers: names in lower case, in
    /// alphabetical order, without `host`, `x-amz-date` and `x-amz-security-token`.
    pub(super) fn authorization(
        &self,
        credentials: &Credentials,
        scope: &Scope<'_>,
        headers: &[(&str, &str)],
    ) -> String {
        let date = amz_date(scope.now_ms);
        let mut all = headers.to_vec();
        all.extend([("host", self.host), ("x-amz-date", date.as_str())]);
        if let Some(token) = &credentials.session_token {
            all.push(("x-amz-security-token", token));
        }
        all.sort_unstable();
        let query = canonical_query(self.query);
        let signature = scope.sign(credentials, &self.canonical(&query, &all));
        format!(
            "{ALGORITHM} Credential={}/{}, SignedHeaders={}, Signature={signature}",
            credentials.access_key_id,
            scope.text(),
            names(&all)
        )
    }
}

fn names(headers: &[(&str, &str)]) -> String {
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    names.join(";")
}

/// Returns encoded parameters in the order of their encoded names and values.
fn canonical_query(parameters: &[(&str, &str)]) -> Zeroizing<String> {
    let mut pairs: Vec<(String, String)> = parameters
        .iter()
        .map(|(name, value)| (percent_encoded(name), percent_encoded(value)))
        .collect();
    pairs.sort_unstable();
    let texts: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Zeroizing::new(texts.join("&"))
}

/// Returns a text with all bytes but letters, digits and `-._~` as `%XX` (RFC 3986).
pub(super) fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 3);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            // A String accepts every write.
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// Returns a SHA-256 in hexadecimal.
pub(super) fn sha256_hex(data: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, data).as_ref())
}

fn hmac(key: &[u8], data: &[u8]) -> Zeroizing<Vec<u8>> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    Zeroizing::new(hmac::sign(&key, data).as_ref().to_vec())
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // A String accepts every write.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    // The credentials, requests and signatures are those of AWS's documentation and of its test suite for signers.

    fn credentials(id: &str, secret: &str) -> Credentials {
        Credentials::fixed(id, secret, None)
    }

    fn example() -> Credentials {
        credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    }

    const AUGUST_2015_MS: i64 = 1_440_938_160_000;

    #[test]
    fn the_key_is_the_documented_one() {
        let scope = Scope {
            region: "us-east-1",
            service: "iam",
            now_ms: 1_329_264_000_000,
        };
        let expected = "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d";
        assert_eq!(hex(&scope.key(&example())), expected);
    }

    #[test]
    fn headers_are_signed_as_documented() {
        let scope = |service| Scope {
            region: "us-east-1",
            service,
            now_ms: AUGUST_2015_MS,
        };
        let vanilla = Signable {
            method: "GET",
            host: "example.amazonaws.com",
            path: "/",
            query: &[],
            body_hash: &sha256_hex(b""),
        };
        let expected = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                        SignedHeaders=host;x-amz-date, \
                        Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
        assert_eq!(vanilla.authorization(&example(), &scope("service"), &[]), expected);
        let list_users = Signable {
            host: "iam.amazonaws.com",
            query: &[("Version", "2010-05-08"), ("Action", "ListUsers")],
            ..vanilla
        };
        let headers = [("content-type", "application/x-www-form-urlencoded; charset=utf-8")];
        let signed = list_users.authorization(&example(), &scope("iam"), &headers);
        let expected = "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7";
        assert!(signed.ends_with(expected), "{signed}");
    }

    #[test]
    fn urls_are_presigned_as_documented() {
        let scope = Scope {
            region: "us-east-1",
            service: "s3",
            now_ms: 1_369_353_600_000,
        };
        let object = Signable {
            method: "GET",
            host: "examplebucket.s3.amazonaws.com",
            path: "/test.txt",
            query: &[],
            body_hash: "UNSIGNED-PAYLOAD",
        };
        let credentials = credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
        let query = object.presigned_query(&credentials, &scope, 86_400);
        let expected = "X-Amz-Algorithm=AWS4-HMAC-SHA256\
                        &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
                        &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
                        &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
        assert_eq!(query.as_str(), expected);
    }
}
