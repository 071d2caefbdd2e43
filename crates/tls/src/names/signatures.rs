//! Names of signature algorithms.

use rustls::SignatureScheme;

use super::NamesError;
use super::error::shown;

/// A signature algorithm with the names that OpenSSL has for it: that of TLS 1.3, and those that join algorithm and hash.
struct Row {
    name: &'static str,
    joined: &'static [&'static str],
    /// None: the client does not have it.
    scheme: Option<SignatureScheme>,
}

const fn row(name: &'static str, joined: &'static [&'static str], scheme: Option<SignatureScheme>) -> Row {
    Row { name, joined, scheme }
}

use SignatureScheme as Scheme;
static ALGORITHMS: [Row; 23] = [
    row(
        "ecdsa_secp256r1_sha256",
        &["ECDSA+SHA256"],
        Some(Scheme::ECDSA_NISTP256_SHA256),
    ),
    row(
        "ecdsa_secp384r1_sha384",
        &["ECDSA+SHA384"],
        Some(Scheme::ECDSA_NISTP384_SHA384),
    ),
    row(
        "ecdsa_secp521r1_sha512",
        &["ECDSA+SHA512"],
        Some(Scheme::ECDSA_NISTP521_SHA512),
    ),
    row("ed25519", &[], Some(Scheme::ED25519)),
    row(
        "rsa_pss_rsae_sha256",
        &["RSA-PSS+SHA256", "PSS+SHA256"],
        Some(Scheme::RSA_PSS_SHA256),
    ),
    row(
        "rsa_pss_rsae_sha384",
        &["RSA-PSS+SHA384", "PSS+SHA384"],
        Some(Scheme::RSA_PSS_SHA384),
    ),
    row(
        "rsa_pss_rsae_sha512",
        &["RSA-PSS+SHA512", "PSS+SHA512"],
        Some(Scheme::RSA_PSS_SHA512),
    ),
    row("rsa_pkcs1_sha256", &["RSA+SHA256"], Some(Scheme::RSA_PKCS1_SHA256)),
    row("rsa_pkcs1_sha384", &["RSA+SHA384"], Some(Scheme::RSA_PKCS1_SHA384)),
    row("rsa_pkcs1_sha512", &["RSA+SHA512"], Some(Scheme::RSA_PKCS1_SHA512)),
    row("ed448", &[], None),
    row("rsa_pss_pss_sha256", &[], None),
    row("rsa_pss_pss_sha384", &[], None),
    row("rsa_pss_pss_sha512", &[], None),
    row("ecdsa_sha224", &["ECDSA+SHA224"], None),
    row("ecdsa_sha1", &["ECDSA+SHA1"], None),
    row("rsa_pkcs1_sha224", &["RSA+SHA224"], None),
    row("rsa_pkcs1_sha1", &["RSA+SHA1"], None),
    row("dsa_sha1", &["DSA+SHA1"], None),
    row("dsa_sha224", &["DSA+SHA224"], None),
    row("dsa_sha256", &["DSA+SHA256"], None),
    row("dsa_sha384", &["DSA+SHA384"], None),
    row("dsa_sha512", &["DSA+SHA512"], None),
];

/// Returns the algorithms of a list separated by colons, as `ssl.sigalgs.list` has it, in its order: `RSA+SHA256` or
/// `rsa_pkcs1_sha256`. Names ignore case. An item that begins with `?` may be unknown, as in OpenSSL 3.3.
///
/// # Errors
/// A name is unknown, the client does not have the algorithm, or the list is empty.
pub fn signature_algorithms(list: &str) -> Result<Vec<SignatureScheme>, NamesError> {
    let mut schemes = Vec::new();
    for item in list.split(':').map(str::trim).filter(|item| !item.is_empty()) {
        let (name, may_be_unknown) = match item.strip_prefix('?') {
            Some(name) => (name, true),
            None => (item, false),
        };
        let names = |row: &&Row| {
            let mut all = row.joined.iter().chain([&row.name]);
            all.any(|known| known.eq_ignore_ascii_case(name))
        };
        let found = ALGORITHMS.iter().find(names);
        match found.and_then(|row| row.scheme) {
            Some(scheme) if schemes.contains(&scheme) => {}
            Some(scheme) => schemes.push(scheme),
            None if may_be_unknown => {}
            None => {
                let fault = if found.is_some() {
                    "is not supported"
                } else {
                    "is not a known signature algorithm"
                };
                let text = format!("{} {fault}; the signature algorithms are {}", shown(name), known());
                return Err(NamesError::new(text));
            }
        }
    }
    match schemes.is_empty() {
        true => {
            let text = format!(
                "the list names no signature algorithm; the signature algorithms are {}",
                known()
            );
            Err(NamesError::new(text))
        }
        false => Ok(schemes),
    }
}

fn known() -> String {
    let supported = ALGORITHMS.iter().filter(|row| row.scheme.is_some());
    let names: Vec<&str> = supported
        .map(|row| row.joined.first().copied().unwrap_or(row.name))
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::crypto::aws_lc_rs::default_provider;

    #[test]
    fn both_kinds_of_names_find_algorithms() {
        let found = signature_algorithms("RSA+SHA256:ECDSA+SHA256:rsa_pss_rsae_sha256:RSA-PSS+SHA384:ed25519").unwrap();
        assert_eq!(
            found,
            [
                Scheme::RSA_PKCS1_SHA256,
                Scheme::ECDSA_NISTP256_SHA256,
                Scheme::RSA_PSS_SHA256,
                Scheme::RSA_PSS_SHA384,
                Scheme::ED25519
            ]
        );
        assert_eq!(
            signature_algorithms("rsa_pkcs1_sha256:RSA+SHA256").unwrap(),
            [Scheme::RSA_PKCS1_SHA256]
        );
    }

    #[test]
    fn the_library_has_every_algorithm_that_is_offered() {
        let supported = default_provider().signature_verification_algorithms.supported_schemes();
        for row in &ALGORITHMS {
            if let Some(scheme) = row.scheme {
                assert!(supported.contains(&scheme), "{}", row.name);
                assert_eq!(signature_algorithms(row.name).unwrap(), [scheme]);
            }
        }
    }

    #[test]
    fn unknown_and_absent_names_are_refused_with_the_names_there_are() {
        for (list, fault) in [
            ("RSA+SHA256:RSA+MD4", "\"RSA+MD4\" is not a known signature algorithm"),
            ("RSA+SHA1", "\"RSA+SHA1\" is not supported"),
            ("ed448", "is not supported"),
            ("", "names no signature algorithm"),
            ("?unknown", "names no signature algorithm"),
        ] {
            let error = signature_algorithms(list).unwrap_err().to_string();
            assert!(error.contains(fault) && error.contains("RSA+SHA256"), "{list}: {error}");
        }
    }
}
