//! Names of key exchange groups: elliptic curves and hybrids with ML-KEM.

use rustls::crypto::SupportedKxGroup;
use rustls::crypto::aws_lc_rs::kx_group;

use super::NamesError;
use super::error::shown;

/// A group, and the names that OpenSSL has for it; messages print the first.
type Row = (&'static [&'static str], &'static dyn SupportedKxGroup);

static GROUPS: [Row; 7] = [
    (&["X25519"], kx_group::X25519),
    (&["P-256", "prime256v1", "secp256r1"], kx_group::SECP256R1),
    (&["P-384", "secp384r1"], kx_group::SECP384R1),
    (&["X25519MLKEM768"], kx_group::X25519MLKEM768),
    (&["SecP256r1MLKEM768"], kx_group::SECP256R1MLKEM768),
    (&["MLKEM768"], kx_group::MLKEM768),
    (&["MLKEM1024"], kx_group::MLKEM1024),
];

/// Beginnings of the names of groups that OpenSSL has and this client does not have.
const ABSENT: [&str; 15] = [
    "P-521",
    "secp521r1",
    "X448",
    "ffdhe",
    "secp256k1",
    "brainpool",
    "sect",
    "P-192",
    "P-224",
    "secp192",
    "secp224",
    "prime192",
    "secp160",
    "MLKEM512",
    "SecP384r1MLKEM1024",
];

/// Returns the groups of a list separated by colons, as `ssl.curves.list` has it, in its order. Names ignore case. An item that
/// begins with `?` may be unknown, as in OpenSSL 3.3.
///
/// # Errors
/// A name is unknown, the client does not have its group, or the list is empty.
pub fn curves(list: &str) -> Result<Vec<&'static dyn SupportedKxGroup>, NamesError> {
    let mut groups: Vec<&'static dyn SupportedKxGroup> = Vec::new();
    for item in list.split(':').map(str::trim).filter(|item| !item.is_empty()) {
        let (name, may_be_unknown) = match item.strip_prefix('?') {
            Some(name) => (name, true),
            None => (item, false),
        };
        let names = |row: &&Row| row.0.iter().any(|known| known.eq_ignore_ascii_case(name));
        match GROUPS.iter().find(names) {
            Some((_, group)) if groups.iter().any(|known| known.name() == group.name()) => {}
            Some((_, group)) => groups.push(*group),
            None if may_be_unknown => {}
            None => return Err(unknown(name)),
        }
    }
    match groups.is_empty() {
        true => Err(NamesError::new(format!(
            "the list names no curve; the curves are {}",
            known()
        ))),
        false => Ok(groups),
    }
}

fn unknown(name: &str) -> NamesError {
    let begins = |absent: &&str| {
        name.get(..absent.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(absent))
    };
    let fault = match ABSENT.iter().any(begins) {
        true => "is not supported for key exchange",
        false => "is not a known curve",
    };
    NamesError::new(format!("{} {fault}; the curves are {}", shown(name), known()))
}

fn known() -> String {
    let names: Vec<&str> = GROUPS.iter().filter_map(|(names, _)| names.first().copied()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::NamedGroup;

    fn found(list: &str) -> Vec<NamedGroup> {
        curves(list).unwrap().iter().map(|group| group.name()).collect()
    }

    #[test]
    fn every_name_finds_its_group() {
        use NamedGroup as Group;
        assert_eq!(found("X25519:P-256"), [Group::X25519, Group::secp256r1]);
        assert_eq!(found("prime256v1:secp384r1"), [Group::secp256r1, Group::secp384r1]);
        assert_eq!(
            found("secp256r1:x25519mlkem768:p-384"),
            [Group::secp256r1, Group::X25519MLKEM768, Group::secp384r1]
        );
        for (names, group) in &GROUPS {
            for name in *names {
                assert_eq!(found(name), [group.name()]);
            }
        }
    }

    #[test]
    fn repeated_names_count_once() {
        assert_eq!(
            found("P-256:X25519:secp256r1"),
            [NamedGroup::secp256r1, NamedGroup::X25519]
        );
    }

    #[test]
    fn question_mark_permits_an_unknown_name() {
        assert_eq!(found("?curve99:?X25519"), [NamedGroup::X25519]);
    }

    #[test]
    fn unknown_and_absent_names_are_refused_with_the_names_there_are() {
        for (list, fault) in [
            ("X25519:curve99", "\"curve99\" is not a known curve"),
            ("P-521", "\"P-521\" is not supported for key exchange"),
            ("x448", "is not supported"),
            ("ffdhe2048:X25519", "is not supported"),
            ("brainpoolP256r1tls13", "is not supported"),
            ("", "names no curve"),
            ("?curve99", "names no curve"),
            ("\u{e9}\u{e9}", "is not a known curve"),
        ] {
            let error = curves(list).unwrap_err().to_string();
            assert!(
                error.contains(fault) && error.contains("X25519, P-256"),
                "{list}: {error}"
            );
        }
    }
}
