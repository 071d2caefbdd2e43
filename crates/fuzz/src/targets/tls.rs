//! Certificates, keys, keystores, and lists of names for TLS.
//!
//! Seeds are files with few iterations of key derivation, so that an input costs little.

use ottla_tls::material::{self, MaterialError, MaterialErrorKind as Kind};
use ottla_tls::names::{self, NamesError};

use crate::memory::within;
use crate::{Seen, Verdict};

const PASSWORD: &str = "secret";
/// Memory besides that in proportion to the input.
const MEMORY_BASE: usize = 64 * 1024;
/// scrypt holds 64 MiB at most, and 1 MiB of blocks.
const MEMORY_SCRYPT: usize = 66 << 20;

macro_rules! file {
    ($path:literal) => {
        include_bytes!(concat!("../../../tls/testdata/", $path)).to_vec()
    };
}

/// Checks an error's text.
fn refused(error: &MaterialError) -> Verdict {
    let text = error.to_string();
    ensure!(!text.is_empty() && text.len() < 2000, "refused with the text {text:?}");
    ensure!(!text.contains(PASSWORD), "the password is in the text {text:?}");
    let block = error.block().map(|(number, _)| number);
    ensure!(block != Some(0), "blocks are counted from 1");
    Ok(Seen::Refused)
}

pub(super) fn pem(data: &[u8]) -> Verdict {
    let limit = MEMORY_BASE + 64 * data.len();
    let mut seen = Seen::Refused;
    match within(limit, || material::certificates_from_pem(data))? {
        Ok(certificates) => {
            ensure!(!certificates.is_empty(), "no certificate and no error");
            let der: Vec<u8> = certificates.iter().flat_map(|one| one.as_ref()).copied().collect();
            let again = material::certificates_from_der(&der);
            ensure!(again.as_ref() == Ok(&certificates), "as DER they became {again:?}");
            seen = Seen::Accepted;
        }
        Err(error) => _ = refused(&error)?,
    }
    match within(limit, || material::crls_from_pem(data))? {
        Ok(lists) => {
            ensure!(!lists.is_empty(), "no revocation list and no error");
            seen = Seen::Accepted;
        }
        Err(error) => _ = refused(&error)?,
    }
    match within(limit, || material::private_key_from_pem(data, None))? {
        Ok(key) => {
            let again = material::private_key_from_der(key.secret_der(), None);
            ensure!(again.as_ref() == Ok(&key), "as DER the key became {again:?}");
            seen = Seen::Accepted;
        }
        Err(error) => {
            ensure!(error.kind() != Kind::WrongPassword, "no password is not a wrong one");
            refused(&error)?;
        }
    }
    Ok(seen)
}

pub(super) fn pem_seeds() -> Vec<Vec<u8>> {
    vec![
        file!("certificates/chain_with_text.pem"),
        file!("certificates/trusted.pem"),
        file!("certificates/root.crl"),
        file!("keys/leaf.sec1_with_parameters.pem"),
        file!("keys/rsa.pkcs1.pem"),
        file!("keys/ed25519.pkcs8.pem"),
    ]
}

pub(super) fn pem_words() -> Vec<String> {
    let labels = [
        "CERTIFICATE",
        "TRUSTED CERTIFICATE",
        "X509 CRL",
        "PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
    ];
    let lines = labels.iter().flat_map(|label| {
        [
            format!("-----BEGIN {label}-----\n"),
            format!("\n-----END {label}-----\n"),
        ]
    });
    let headers = ["Proc-Type: 4,ENCRYPTED\n", "DEK-Info: AES-128-CBC,", "\r\n", "\u{feff}"];
    lines.chain(headers.map(str::to_owned)).collect()
}

/// Reads the input both as text and as DER.
pub(super) fn private_keys(data: &[u8]) -> Verdict {
    let password = Some(PASSWORD.as_bytes());
    let mut seen = Seen::Refused;
    for read in [material::private_key_from_pem, material::private_key_from_der] {
        match within(MEMORY_SCRYPT + 64 * data.len(), || read(data, password))? {
            Ok(key) => {
                let again = material::private_key_from_der(key.secret_der(), None);
                ensure!(again.as_ref() == Ok(&key), "as DER the key became {again:?}");
                seen = Seen::Accepted;
            }
            Err(error) => {
                ensure!(error.kind() != Kind::PasswordNeeded, "there is a password");
                refused(&error)?;
            }
        }
    }
    Ok(seen)
}

pub(super) fn private_key_seeds() -> Vec<Vec<u8>> {
    vec![
        file!("keys/leaf.pbes2-1-iteration.pem"),
        file!("keys/leaf.pbes2-scrypt-cheap.pem"),
        file!("keys/leaf.header-aes256.pem"),
        file!("keys/leaf.header-des3.pem"),
        file!("keys/leaf.header-des.pem"),
        file!("keys/leaf.pkcs8.der"),
        file!("keys/leaf.sec1.der"),
        file!("keys/rsa.pkcs1.der"),
    ]
}

pub(super) fn keystores(data: &[u8]) -> Verdict {
    let store = match within(MEMORY_SCRYPT + 64 * data.len(), || {
        material::keystore_from_pkcs12(data, PASSWORD)
    })? {
        Ok(store) => store,
        Err(error) => return refused(&error),
    };
    let all: Vec<_> = store.chain.iter().chain(&store.others).collect();
    ensure!(store.key.is_some() || !all.is_empty(), "nothing and no error");
    ensure!(store.key.is_some() || store.chain.is_empty(), "a chain without a key");
    for certificate in &all {
        let read = material::certificates_from_der(certificate);
        ensure!(read.as_ref().map(Vec::len) == Ok(1), "a certificate reads as {read:?}");
    }
    if let (Some(key), Some(leaf)) = (&store.key, store.chain.first()) {
        let fits = material::key_fits_certificate(key, leaf);
        ensure!(fits != Some(false), "the key does not fit the first certificate");
    }
    ensure!(
        store.others.iter().all(|other| !store.chain.contains(other)),
        "a certificate is in the chain and among the others"
    );
    Ok(Seen::Accepted)
}

pub(super) fn keystore_seeds() -> Vec<Vec<u8>> {
    vec![
        file!("stores/open.p12"),
        file!("stores/openssl_1_iteration.p12"),
        file!("stores/openssl_legacy_1_iteration.p12"),
    ]
}

/// Checks the text of a refused list.
fn refused_names(error: &NamesError) -> Verdict {
    let text = error.to_string();
    ensure!(!text.is_empty() && text.len() < 2000, "refused with the text {text:?}");
    Ok(Seen::Refused)
}

pub(super) fn names(data: &[u8]) -> Verdict {
    let list = String::from_utf8_lossy(data);
    let limit = MEMORY_BASE + 64 * list.len();
    let mut seen = Seen::Refused;
    match within(limit, || names::cipher_suites(&list))? {
        Ok(selection) => {
            let chosen = selection.suites.get(3..).unwrap_or_default();
            ensure!((1..=6).contains(&chosen.len()), "{} suites", chosen.len());
            let spelled: Vec<String> = chosen.iter().map(|suite| format!("{:?}", suite.suite())).collect();
            let again = names::cipher_suites(&spelled.join(":"));
            let again = again.map_err(|error| format!("{spelled:?}: {error}"))?;
            ensure!(
                again.suites == selection.suites,
                "{spelled:?} became {:?}",
                again.suites
            );
            let known = selection.ignored.iter().all(|item| list.contains(item.as_str()));
            ensure!(known, "ignored: {:?}", selection.ignored);
            seen = Seen::Accepted;
        }
        Err(error) => _ = refused_names(&error)?,
    }
    match within(limit, || names::curves(&list))? {
        Ok(groups) => {
            let spelled: Vec<String> = groups.iter().map(|group| format!("{:?}", group.name())).collect();
            let again = names::curves(&spelled.join(":")).map_err(|error| format!("{spelled:?}: {error}"))?;
            let same = again
                .iter()
                .map(|group| group.name())
                .eq(groups.iter().map(|group| group.name()));
            ensure!(same, "{spelled:?} became others");
            seen = Seen::Accepted;
        }
        Err(error) => _ = refused_names(&error)?,
    }
    match within(limit, || names::signature_algorithms(&list))? {
        Ok(schemes) => {
            let distinct = schemes
                .iter()
                .enumerate()
                .all(|(at, scheme)| !schemes.iter().take(at).any(|other| other == scheme));
            ensure!(distinct && !schemes.is_empty(), "{schemes:?}");
            seen = Seen::Accepted;
        }
        Err(error) => _ = refused_names(&error)?,
    }
    Ok(seen)
}

pub(super) fn name_seeds() -> Vec<Vec<u8>> {
    let lists = [
        "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL:-aRSA:+AES256:@STRENGTH",
        "DEFAULT:!AES128",
        "X25519:P-256:secp384r1:?X448",
        "RSA+SHA256:ECDSA+SHA256:rsa_pss_rsae_sha256:ed25519",
    ];
    lists.map(|list| list.as_bytes().to_vec()).to_vec()
}

pub(super) fn name_words() -> Vec<String> {
    let words = [
        "ALL:",
        "HIGH:",
        "ECDHE",
        "aRSA",
        "aECDSA",
        "AES",
        "AESGCM",
        "CHACHA20",
        "AES128",
        "AES256",
        "!",
        "-",
        "+",
        ":",
        "@STRENGTH",
        "@SECLEVEL=1",
        "SUITEB128",
        "ECDHE-RSA-AES128-GCM-SHA256",
        "TLS_AES_128_GCM_SHA256",
        "prime256v1",
        "X25519MLKEM768",
        "ECDSA+SHA384",
        "rsa_pkcs1_sha512",
    ];
    words.map(str::to_owned).to_vec()
}
