//! Material that OpenSSL and keytool wrote (`testdata/make.sh`), good and damaged.

mod keystores;

use std::fs;
use std::path::{Path, PathBuf};

use rustls::pki_types::PrivateKeyDer;

use super::*;
use MaterialErrorKind as Kind;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

fn read(path: &str) -> Vec<u8> {
    fs::read(folder(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the names of the files whose names begin with this.
fn files(name: &str, beginning: &str) -> Vec<String> {
    let names = fs::read_dir(folder(name)).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(beginning)).collect();
    names.sort();
    names.into_iter().map(|file| format!("{name}/{file}")).collect()
}

fn fits(key: &PrivateKeyDer<'_>, certificate: &str) -> Option<bool> {
    let certificates = certificates_from_pem(&read(&format!("certificates/{certificate}.pem"))).unwrap();
    key_fits_certificate(key, &certificates[0])
}

// --- certificates ---

#[test]
fn certificates_are_read_from_every_kind_of_block() {
    let der = read("certificates/leaf.der");
    assert_eq!(certificates_from_der(&der).unwrap()[0].as_ref(), der);
    let pem = read("certificates/leaf.pem");
    assert_eq!(certificates_from_pem(&pem).unwrap()[0].as_ref(), der);
    let older = String::from_utf8(pem)
        .unwrap()
        .replace(" CERTIFICATE-", " X509 CERTIFICATE-");
    assert_eq!(certificates_from_pem(older.as_bytes()).unwrap()[0].as_ref(), der);
    let trusted = read("certificates/trusted.pem");
    assert!(String::from_utf8_lossy(&trusted).contains("BEGIN TRUSTED CERTIFICATE"));
    assert_eq!(certificates_from_pem(&trusted).unwrap()[0].as_ref(), der);
}

#[test]
fn chain_with_text_and_a_key_is_read_in_its_order() {
    let certificates = certificates_from_pem(&read("certificates/chain_with_text.pem")).unwrap();
    let single = |name: &str| {
        certificates_from_pem(&read(&format!("certificates/{name}.pem")))
            .unwrap()
            .remove(0)
    };
    assert_eq!(certificates, ["leaf", "intermediate", "root"].map(single));
    // The same with line ends of other systems.
    let text = String::from_utf8(read("certificates/chain_with_text.pem")).unwrap();
    for end in ["\r\n", "\r", "  \n"] {
        assert_eq!(
            certificates_from_pem(text.replace('\n', end).as_bytes()).unwrap(),
            certificates
        );
    }
}

#[test]
fn several_der_certificates_are_read() {
    let der = read("certificates/leaf.der");
    assert_eq!(certificates_from_der(&der.repeat(3)).unwrap().len(), 3);
}

#[test]
fn damaged_certificate_is_refused_with_its_block() {
    let text = String::from_utf8(read("certificates/chain_with_text.pem")).unwrap();
    let second = text.match_indices("-----BEGIN").nth(1).unwrap().0;
    let (before, after) = text.split_at(second);
    for (damaged, fault) in [
        (after.replacen("\nM", "\n*", 1), "base64"),
        (after.replacen("\nMII", "\nNII", 1), "no certificate"),
        (after.replacen("-----END CERTIFICATE-----", "", 1), "END line"),
        (after.replacen("\nMIIB", "\nMIIC", 1), "longer"),
    ] {
        assert_ne!(damaged, after);
        let error = certificates_from_pem(format!("{before}{damaged}").as_bytes()).unwrap_err();
        assert_eq!(
            (error.kind(), error.block()),
            (Kind::Malformed, Some((2, "CERTIFICATE"))),
            "{error}"
        );
        assert!(error.to_string().contains(fault), "{error}");
    }
}

#[test]
fn certificates_cut_off_anywhere_are_refused() {
    let der = read("certificates/leaf.der");
    for len in 0..der.len() {
        let error = certificates_from_der(&der[..len]).unwrap_err();
        let expected = if len == 0 { Kind::NoCertificate } else { Kind::Malformed };
        assert_eq!(error.kind(), expected, "{len}: {error}");
    }
}

#[test]
fn data_without_certificates_is_refused_with_what_it_is() {
    for (data, said) in [
        (read("keys/leaf.pkcs8.pem"), "only PRIVATE KEY"),
        (read("certificates/leaf.der"), "DER"),
        (Vec::new(), "empty"),
    ] {
        let error = certificates_from_pem(&data).unwrap_err();
        assert_eq!(error.kind(), Kind::NoCertificate);
        assert!(error.to_string().contains(said), "{error}");
    }
    let error = certificates_from_der(&read("certificates/leaf.pem")).unwrap_err();
    assert_eq!(error.kind(), Kind::UnsupportedFormat);
}

#[test]
fn revocation_lists_are_read() {
    let text = read("certificates/root.crl");
    assert_eq!(crls_from_pem(&text).unwrap().len(), 1);
    assert_eq!(crls_from_pem(&text.repeat(2)).unwrap().len(), 2);
    let error = crls_from_pem(&read("certificates/leaf.pem")).unwrap_err();
    assert_eq!(error.kind(), Kind::NoRevocationList);
    let damaged = String::from_utf8(text).unwrap().replacen("\nM", "\nN", 1);
    let error = crls_from_pem(damaged.as_bytes()).unwrap_err();
    assert_eq!((error.kind(), error.block()), (Kind::Malformed, Some((1, "X509 CRL"))));
}

// --- private keys ---

#[test]
fn plain_keys_are_read_in_every_form() {
    for (file, certificate) in [
        ("leaf.pkcs8.pem", "leaf"),
        ("leaf.sec1.pem", "leaf"),
        ("leaf.sec1_with_parameters.pem", "leaf"),
        ("rsa.pkcs8.pem", "rsa"),
        ("rsa.pkcs1.pem", "rsa"),
        ("P-384.pkcs8.pem", "P-384"),
        ("P-521.pkcs8.pem", "P-521"),
        ("ed25519.pkcs8.pem", "ed25519"),
    ] {
        let text = read(&format!("keys/{file}"));
        // A plain key ignores a password.
        for password in [None, Some(&b"other"[..])] {
            let key = private_key_from_pem(&text, password).unwrap();
            assert_eq!(fits(&key, certificate), Some(true), "{file}");
            assert_eq!(fits(&key, "other"), Some(false), "{file}");
        }
    }
    for (file, certificate) in [
        ("leaf.pkcs8.der", "leaf"),
        ("leaf.sec1.der", "leaf"),
        ("rsa.pkcs1.der", "rsa"),
    ] {
        let der = read(&format!("keys/{file}"));
        let key = private_key_from_der(&der, None).unwrap();
        assert_eq!(key.secret_der(), der);
        assert_eq!(fits(&key, certificate), Some(true), "{file}");
    }
}

#[test]
fn key_fits_a_certificate_of_version_1() {
    let key = private_key_from_pem(&read("keys/leaf.pkcs8.pem"), None).unwrap();
    assert_eq!(fits(&key, "version1"), Some(true));
    assert_eq!(key_fits_certificate(&key, b"damaged"), None);
}

#[test]
fn key_among_certificates_is_found() {
    let key = private_key_from_pem(&read("certificates/chain_with_text.pem"), None).unwrap();
    assert_eq!(key.secret_der(), read("keys/leaf.pkcs8.der"));
}

/// Every encrypted form of the key, with its file.
fn encrypted_keys() -> Vec<(String, Vec<u8>)> {
    let names = ["leaf.pbes", "leaf.header-"]
        .iter()
        .flat_map(|beginning| files("keys", beginning));
    names
        .filter(|name| name.ends_with(".pem"))
        .map(|name| (name.clone(), read(&name)))
        .collect()
}

#[test]
fn encrypted_keys_equal_the_plain_key() {
    let (pkcs8, sec1) = (read("keys/leaf.pkcs8.der"), read("keys/leaf.sec1.der"));
    let keys = encrypted_keys();
    assert_eq!(keys.len(), 28);
    for (file, text) in keys {
        let key = private_key_from_pem(&text, Some(b"secret")).unwrap_or_else(|error| panic!("{file}: {error}"));
        let plain = if file.contains("header") { &sec1 } else { &pkcs8 };
        assert_eq!(key.secret_der(), plain, "{file}");
    }
    let key = private_key_from_der(&read("keys/leaf.pbes2.der"), Some(b"secret")).unwrap();
    assert_eq!(key.secret_der(), pkcs8);
    let key = private_key_from_pem(&read("keys/rsa.header-aes128.pem"), Some(b"secret")).unwrap();
    assert_eq!(key.secret_der(), read("keys/rsa.pkcs1.der"));
    let key = private_key_from_pem(&read("keys/rsa.pbes2.pem"), Some(b"secret")).unwrap();
    assert_eq!(fits(&key, "rsa"), Some(true));
}

#[test]
fn password_beyond_ascii_decrypts() {
    let text = read("keys/leaf.password-not-ascii.pem");
    let key = private_key_from_pem(&text, Some("p\u{e4}ss".as_bytes())).unwrap();
    assert_eq!(key.secret_der(), read("keys/leaf.pkcs8.der"));
}

#[test]
fn missing_and_wrong_passwords_are_distinguished() {
    for (file, text) in encrypted_keys() {
        let error = private_key_from_pem(&text, None).unwrap_err();
        assert_eq!(error.kind(), Kind::PasswordNeeded, "{file}: {error}");
        assert!(error.block().is_some(), "{file}");
        let wrong: &[&[u8]] = if file.contains("scrypt") {
            &[b"Secret"]
        } else {
            &[b"Secret", b"", b"secret "]
        };
        for password in wrong {
            let error = private_key_from_pem(&text, Some(password)).unwrap_err();
            assert_eq!(error.kind(), Kind::WrongPassword, "{file}: {error}");
        }
    }
}

#[test]
fn wrong_password_is_recognized_when_the_padding_is_right_by_chance() {
    let text = read("keys/leaf.pbes2-1-iteration.pem");
    for number in 0..3000 {
        let error = private_key_from_pem(&text, Some(format!("wrong{number}").as_bytes())).unwrap_err();
        assert_eq!(error.kind(), Kind::WrongPassword, "{number}: {error}");
    }
}

#[test]
fn unsupported_keys_are_refused_by_name() {
    for (file, name) in [
        ("pbes1-rc4", "RC4"),
        ("pbes1-md5-rc2", "RC2"),
        ("pbes2-camellia", "1.2.392.200011.61.1.1.1.2"),
        ("header-camellia", "CAMELLIA-128-CBC"),
        ("secp256k1", "secp256k1"),
        ("ed448", "Ed448"),
        ("x25519", "X25519"),
        ("dsa", "DSA"),
        ("dsa-traditional", "DSA"),
        ("explicit", "parameters"),
    ] {
        let error = private_key_from_pem(&read(&format!("keys/refused.{file}.pem")), Some(b"secret")).unwrap_err();
        assert_eq!(error.kind(), Kind::UnsupportedFormat, "{file}: {error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    let text = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n";
    let error = private_key_from_pem(text.as_bytes(), None).unwrap_err();
    assert_eq!(error.kind(), Kind::UnsupportedFormat);
}

#[test]
fn keys_cut_off_anywhere_are_refused() {
    for file in ["leaf.pkcs8.der", "leaf.sec1.der", "rsa.pkcs1.der", "leaf.pbes2.der"] {
        let der = read(&format!("keys/{file}"));
        for len in 0..der.len() {
            let error = private_key_from_der(&der[..len], Some(b"secret")).unwrap_err();
            let expected = if len == 0 { Kind::NoKey } else { Kind::Malformed };
            assert_eq!(error.kind(), expected, "{file}, {len}: {error}");
        }
    }
}

#[test]
fn damaged_key_blocks_are_refused() {
    let text = String::from_utf8(read("keys/leaf.header-aes128.pem")).unwrap();
    for (from, to) in [
        ("AES-128-CBC,", "AES-128-CBC"),
        ("AES-128-CBC,", "AES-128-CBC,00"),
        ("AES-128-CBC,", "AES-128-CBC,*"),
        ("DEK-Info", "Other"),
    ] {
        let damaged = text.replacen(from, to, 1);
        let error = private_key_from_pem(damaged.as_bytes(), Some(b"secret")).unwrap_err();
        assert_ne!(error.kind(), Kind::WrongPassword, "{error}");
        assert!(
            matches!(error.kind(), Kind::Malformed | Kind::UnsupportedFormat),
            "{error}"
        );
    }
    let error = private_key_from_pem(&read("certificates/leaf.pem"), None).unwrap_err();
    assert_eq!(error.kind(), Kind::NoKey);
    assert!(error.to_string().contains("only CERTIFICATE"), "{error}");
}

#[test]
fn excessive_iterations_are_refused_before_they_cost() {
    let der = read("keys/leaf.pbes2.der");
    // 2048 iterations: INTEGER, two bytes. The length of the outer sequences stays right: the salt loses two bytes.
    let at = der.windows(4).position(|window| window == [2, 2, 8, 0]).unwrap();
    let salt = at - 10;
    assert_eq!(der[salt..salt + 2], [4, 8]);
    let mut expensive = der.clone();
    expensive.splice(salt..at + 4, [4, 6, 1, 2, 3, 4, 5, 6, 2, 4, 0x7f, 0xff, 0xff, 0xff]);
    assert_eq!(expensive.len(), der.len());
    let error = private_key_from_der(&expensive, Some(b"secret")).unwrap_err();
    assert_eq!(error.kind(), Kind::LimitExceeded);
    assert!(error.to_string().contains("2147483647"), "{error}");
}

#[test]
fn long_password_is_refused() {
    let text = read("keys/leaf.pbes2-1-iteration.pem");
    let error = private_key_from_pem(&text, Some(&[b'x'; 5000])).unwrap_err();
    assert_eq!(error.kind(), Kind::LimitExceeded);
}
