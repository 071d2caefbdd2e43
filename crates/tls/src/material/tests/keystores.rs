//! Keystores.

use rustls::pki_types::CertificateDer;

use super::*;

/// Returns certificates by their names.
fn named<const N: usize>(names: [&str; N]) -> [CertificateDer<'static>; N] {
    names.map(|name| {
        certificates_from_pem(&read(&format!("certificates/{name}.pem")))
            .unwrap()
            .remove(0)
    })
}

fn opened(file: &str, password: &str) -> Keystore {
    keystore_from_pkcs12(&read(&format!("stores/{file}")), password).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn refused(data: &[u8], password: &str) -> MaterialError {
    keystore_from_pkcs12(data, password).unwrap_err()
}

#[test]
fn stores_give_key_and_chain() {
    let plain = read("keys/leaf.pkcs8.der");
    for (file, password) in [
        ("openssl.p12", "secret"),
        ("openssl_legacy.p12", "secret"),
        ("openssl_legacy_3des.p12", "secret"),
        ("openssl_rc2_128.p12", "secret"),
        ("openssl_mac_sha1.p12", "secret"),
        ("openssl_mac_sha512.p12", "secret"),
        ("openssl_no_mac.p12", "secret"),
        ("openssl_plain_certificates.p12", "secret"),
        ("openssl_plain_key.p12", "secret"),
        ("openssl_all_plain.p12", "secret"),
        ("openssl_1_iteration.p12", "secret"),
        ("openssl_legacy_1_iteration.p12", "secret"),
        ("open.p12", "secret"),
        ("open.p12", "any"),
        ("openssl_password_empty.p12", ""),
        ("openssl_password_empty_legacy.p12", ""),
        ("openssl_password_not_ascii.p12", "p\u{e4}ss"),
        ("pbmac1.p12", "secret"),
    ] {
        let store = opened(file, password);
        assert_eq!(store.key.unwrap().secret_der(), plain, "{file}");
        assert_eq!(store.chain, named(["leaf", "intermediate", "root"]), "{file}");
        assert!(store.others.is_empty(), "{file}");
    }
}

#[test]
fn stores_of_keytool_give_key_chain_and_trusted_certificates() {
    for file in ["keytool.p12", "keytool_legacy.p12"] {
        let store = opened(file, "secret");
        assert_eq!(store.key.unwrap().secret_der(), read("keys/leaf.pkcs8.der"), "{file}");
        assert_eq!(store.chain, named(["leaf", "intermediate", "root"]), "{file}");
        assert_eq!(store.others, named(["other"]), "{file}");
    }
}

#[test]
fn rsa_key_finds_its_certificate() {
    let store = opened("openssl_rsa.p12", "secret");
    assert_eq!(fits(&store.key.unwrap(), "rsa"), Some(true));
    assert_eq!(store.chain, named(["rsa"]));
}

#[test]
fn stores_of_a_key_or_of_certificates_alone_are_read() {
    let store = opened("openssl_no_key.p12", "secret");
    assert!(store.key.is_none() && store.chain.is_empty());
    assert_eq!(store.others, named(["root", "intermediate"]));
    let store = opened("openssl_no_certificate.p12", "secret");
    assert!(store.key.is_some() && store.chain.is_empty() && store.others.is_empty());
}

#[test]
fn wrong_passwords_are_recognized() {
    // Without a MAC and without encryption no password is wrong.
    for file in files("stores", "")
        .into_iter()
        .filter(|file| !file.contains("refused") && !file.contains("/open."))
    {
        let data = read(&file);
        for password in ["Secret", "secret\u{e9}"] {
            let error = refused(&data, password);
            assert_eq!(error.kind(), Kind::WrongPassword, "{file}: {error}");
        }
        if !file.contains("empty") {
            assert_eq!(refused(&data, "").kind(), Kind::WrongPassword, "{file}");
        }
    }
}

#[test]
fn other_formats_are_refused_by_name() {
    for (file, name) in [
        ("stores/refused.jks", "JKS"),
        ("stores/refused.jceks", "JCEKS"),
        ("stores/refused_rc4.p12", "RC4"),
        ("certificates/leaf.pem", "PEM"),
    ] {
        let error = refused(&read(file), "secret");
        assert_eq!(error.kind(), Kind::UnsupportedFormat, "{file}: {error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    for file in ["certificates/leaf.der", "keys/leaf.pkcs8.der"] {
        let error = refused(&read(file), "secret");
        assert_eq!(error.kind(), Kind::Malformed, "{file}: {error}");
        assert!(error.to_string().contains("no PKCS#12 keystore"), "{error}");
    }
}

#[test]
fn stores_cut_off_anywhere_are_damaged() {
    let data = read("stores/openssl_1_iteration.p12");
    for len in 0..data.len() {
        assert_eq!(refused(&data[..len], "secret").kind(), Kind::Malformed, "{len}");
    }
}

#[test]
fn damage_is_distinguished_from_a_wrong_password() {
    let data = read("stores/openssl_1_iteration.p12");
    // The MAC's salt and value are at the end: the password still decrypts.
    let mut damaged = data.clone();
    let at = damaged.len() - 20;
    damaged[at] ^= 1;
    let error = refused(&damaged, "secret");
    assert_eq!(error.kind(), Kind::Malformed, "{error}");
    assert!(error.to_string().contains("MAC"), "{error}");
    assert_eq!(refused(&damaged, "Secret").kind(), Kind::WrongPassword);
}

#[test]
fn no_flipped_bit_passes_the_mac() {
    let data = read("stores/openssl_1_iteration.p12");
    let whole = opened("openssl_1_iteration.p12", "secret");
    let mut refusals = 0;
    for at in 0..data.len() {
        let mut damaged = data.clone();
        damaged[at] ^= 1 << (at % 8);
        match keystore_from_pkcs12(&damaged, "secret") {
            // Some bits are outside of what the MAC covers, such as unused parameters.
            Ok(store) => assert_eq!(store.chain, whole.chain, "{at}"),
            Err(_) => refusals += 1,
        }
    }
    assert!(refusals > data.len() * 9 / 10, "{refusals} of {}", data.len());
}

#[test]
fn excessive_iterations_of_the_mac_are_refused() {
    let mut data = read("stores/openssl.p12");
    // The end of the store: the salt, OCTET STRING of 8 bytes, and 2048 iterations, INTEGER of 2. The length stays.
    let start = data.len() - 14;
    assert_eq!(
        (data[start..start + 2].to_vec(), data[start + 10..].to_vec()),
        (vec![4, 8], vec![2, 2, 8, 0])
    );
    data.truncate(start);
    data.extend([4, 6, 1, 2, 3, 4, 5, 6, 2, 4, 0x7f, 0xff, 0xff, 0xff]);
    assert_eq!(refused(&data, "secret").kind(), Kind::LimitExceeded);
}

/// Returns the element in BER: constructed elements with indefinite lengths, long octet strings split in two.
fn to_ber(mut data: &[u8]) -> Vec<u8> {
    let mut ber = Vec::new();
    while !data.is_empty() {
        let mut reader = der::Reader::new(data);
        let element = reader.element().unwrap();
        data = &data[element.whole.len()..];
        match element.tag {
            der::OCTET_STRING | der::CONTEXT_0_PRIMITIVE if element.content.len() > 100 => {
                ber.extend([element.tag | 0x20, 0x80]);
                for part in element.content.chunks(element.content.len().div_ceil(2)) {
                    let len = u16::try_from(part.len()).unwrap().to_be_bytes();
                    ber.extend([der::OCTET_STRING, 0x82]);
                    ber.extend(len);
                    ber.extend(part);
                }
                ber.extend([0, 0]);
            }
            tag if tag & 0x20 != 0 => {
                ber.extend([tag, 0x80]);
                ber.extend(to_ber(element.content));
                ber.extend([0, 0]);
            }
            _ => ber.extend(element.whole),
        }
    }
    ber
}

#[test]
fn stores_in_ber_are_read() {
    for file in ["openssl.p12", "openssl_legacy.p12", "keytool.p12", "pbmac1.p12"] {
        let store = keystore_from_pkcs12(&to_ber(&read(&format!("stores/{file}"))), "secret").unwrap();
        assert_eq!(store.key.unwrap().secret_der(), read("keys/leaf.pkcs8.der"), "{file}");
        assert_eq!(store.chain.len(), 3, "{file}");
    }
}
