//! OpenSSL's cipher strings.

use rustls::SupportedCipherSuite;
use rustls::crypto::aws_lc_rs::cipher_suite as suites;

use super::NamesError;
use super::error::shown;

/// Cipher suites in the order of preference.
#[derive(Debug, Clone)]
pub struct CipherSelection {
    /// All suites of TLS 1.3, then the chosen ones of TLS 1.2, of which there is at least one.
    pub suites: Vec<SupportedCipherSuite>,
    /// Items of the list that name no suite of this client, in their order: unknown ones, suites that this client does not
    /// have, keywords for none of its suites. Items that exclude suites, and suites of TLS 1.3, are not among them.
    pub ignored: Vec<String>,
}

/// The suites of TLS 1.3. OpenSSL's cipher strings do not concern them.
const TLS13: [SupportedCipherSuite; 3] = [
    suites::TLS13_AES_256_GCM_SHA384,
    suites::TLS13_AES_128_GCM_SHA256,
    suites::TLS13_CHACHA20_POLY1305_SHA256,
];
const TLS13_PREFIXES: [&str; 3] = ["TLS_AES_", "TLS_CHACHA20_", "TLS13_"];

/// A suite of TLS 1.2.
struct Suite {
    suite: SupportedCipherSuite,
    openssl: &'static str,
    iana: &'static str,
    ecdsa: bool,
    encryption: Encryption,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encryption {
    Aes128,
    Aes256,
    ChaCha20,
}

/// The suites of TLS 1.2, in OpenSSL's order.
static TLS12: [Suite; 6] = [
    Suite {
        suite: suites::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        openssl: "ECDHE-ECDSA-AES256-GCM-SHA384",
        iana: "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        ecdsa: true,
        encryption: Encryption::Aes256,
    },
    Suite {
        suite: suites::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        openssl: "ECDHE-RSA-AES256-GCM-SHA384",
        iana: "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        ecdsa: false,
        encryption: Encryption::Aes256,
    },
    Suite {
        suite: suites::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        openssl: "ECDHE-ECDSA-CHACHA20-POLY1305",
        iana: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        ecdsa: true,
        encryption: Encryption::ChaCha20,
    },
    Suite {
        suite: suites::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        openssl: "ECDHE-RSA-CHACHA20-POLY1305",
        iana: "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        ecdsa: false,
        encryption: Encryption::ChaCha20,
    },
    Suite {
        suite: suites::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        openssl: "ECDHE-ECDSA-AES128-GCM-SHA256",
        iana: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        ecdsa: true,
        encryption: Encryption::Aes128,
    },
    Suite {
        suite: suites::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        openssl: "ECDHE-RSA-AES128-GCM-SHA256",
        iana: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        ecdsa: false,
        encryption: Encryption::Aes128,
    },
];

impl Suite {
    /// Checks for a name of the suite, or a keyword for it.
    fn is(&self, word: &str) -> bool {
        match word {
            "ALL" | "HIGH" | "TLSv1.2" => true,
            "ECDHE" | "EECDH" | "ECDH" | "kECDHE" | "kEECDH" => true,
            "aECDSA" | "ECDSA" => self.ecdsa,
            "aRSA" => !self.ecdsa,
            "AES" | "AESGCM" | "FIPS" => self.encryption != Encryption::ChaCha20,
            "AES128" => self.encryption == Encryption::Aes128,
            "AES256" => self.encryption == Encryption::Aes256,
            "CHACHA20" => self.encryption == Encryption::ChaCha20,
            _ => word == self.openssl || word == self.iana,
        }
    }

    fn strength_bits(&self) -> u16 {
        match self.encryption {
            Encryption::Aes128 => 128,
            Encryption::Aes256 | Encryption::ChaCha20 => 256,
        }
    }
}

/// The state of OpenSSL's algorithm: every suite that is not excluded for good, and its choice. Chosen suites are in the
/// order of preference; those that are not chosen are in the order in which a later item adds them.
struct Choice {
    list: Vec<(&'static Suite, bool)>,
}

impl Choice {
    fn all() -> Self {
        Self {
            list: TLS12.iter().map(|suite| (suite, false)).collect(),
        }
    }

    /// Applies an item to the suites that have all of its words.
    fn apply(&mut self, operator: Operator, words: &str) {
        let matches = |suite: &Suite| words.split('+').all(|word| suite.is(word));
        let taken = |(suite, chosen): &(&'static Suite, bool)| match operator {
            Operator::Add => !chosen && matches(suite),
            Operator::Exclude => matches(suite),
            Operator::Remove | Operator::ToEnd => *chosen && matches(suite),
        };
        let (moved, rest): (Vec<_>, Vec<_>) = self.list.drain(..).partition(taken);
        let chosen = operator != Operator::Remove;
        let moved = moved.into_iter().map(|(suite, _)| (suite, chosen));
        self.list = match operator {
            Operator::Exclude => rest,
            Operator::Remove => moved.chain(rest).collect(),
            Operator::Add | Operator::ToEnd => rest.into_iter().chain(moved).collect(),
        };
    }

    fn sort_by_strength(&mut self) {
        self.list
            .sort_by_key(|(suite, _)| std::cmp::Reverse(suite.strength_bits()));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Add,
    /// `-`: later items may add the suites again.
    Remove,
    /// `!`: for good.
    Exclude,
    /// `+`.
    ToEnd,
}

/// Returns the suites of an OpenSSL cipher string, as `ssl.cipher.suites` has it. It chooses among the suites of TLS 1.2;
/// those of TLS 1.3 are always included. Besides OpenSSL's names of suites, those of IANA count. `@SECLEVEL` is ignored.
///
/// # Errors
/// The list leaves no suite for TLS 1.2.
pub fn cipher_suites(list: &str) -> Result<CipherSelection, NamesError> {
    let mut choice = Choice::all();
    let (mut ignored, mut tls13_named) = (Vec::new(), false);
    let items = list.split([':', ',', ';', ' ']).filter(|item| !item.is_empty());
    for (number, item) in items.enumerate() {
        if number == 0
            && let Some(words) = first_item(item)
        {
            for word in words {
                choice.apply(Operator::Add, word);
            }
            // The profiles of NSA's Suite B are whole lists.
            if item != "DEFAULT" {
                break;
            }
            continue;
        }
        let (operator, words) = match item.split_at_checked(1) {
            Some(("!", words)) => (Operator::Exclude, words),
            Some(("-", words)) => (Operator::Remove, words),
            Some(("+", words)) => (Operator::ToEnd, words),
            Some(("@", "STRENGTH")) => {
                choice.sort_by_strength();
                continue;
            }
            Some(("@", words)) if words.starts_with("SECLEVEL=") => continue,
            _ => (Operator::Add, item),
        };
        let known = TLS12.iter().any(|suite| words.split('+').all(|word| suite.is(word)));
        if known {
            choice.apply(operator, words);
        } else if TLS13_PREFIXES.iter().any(|prefix| words.starts_with(prefix)) {
            tls13_named = true;
        } else if operator == Operator::Add {
            ignored.push(item.to_owned());
        }
    }
    let chosen: Vec<_> = choice
        .list
        .iter()
        .filter(|(_, chosen)| *chosen)
        .map(|(suite, _)| suite.suite)
        .collect();
    match chosen.is_empty() {
        true => Err(nothing_left(&ignored, tls13_named)),
        false => Ok(CipherSelection {
            suites: TLS13.into_iter().chain(chosen).collect(),
            ignored,
        }),
    }
}

/// Returns the words of an item that OpenSSL knows only at the beginning of a list.
fn first_item(item: &str) -> Option<&'static [&'static str]> {
    match item {
        "DEFAULT" => Some(&["ALL"]),
        "SUITEB128" | "SUITEB128C2" => Some(&["ECDSA+AES128", "ECDSA+AES256"]),
        "SUITEB128ONLY" => Some(&["ECDSA+AES128"]),
        "SUITEB192" => Some(&["ECDSA+AES256"]),
        _ => None,
    }
}

fn nothing_left(ignored: &[String], tls13_named: bool) -> NamesError {
    /// More items are not listed.
    const SHOWN_MAX: usize = 5;
    let mut text = "no cipher match: the list leaves no cipher suite for TLS 1.2".to_owned();
    if !ignored.is_empty() {
        let items: Vec<String> = ignored.iter().take(SHOWN_MAX).map(|item| shown(item)).collect();
        let more = if ignored.len() > SHOWN_MAX { " and others" } else { "" };
        text += &format!("; {}{more} match no suite of this client", items.join(", "));
    }
    if tls13_named {
        text += "; suites of TLS 1.3 are always offered, the list does not choose among them";
    }
    let names: Vec<&str> = TLS12.iter().map(|suite| suite.openssl).collect();
    NamesError::new(format!("{text}; the suites are {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the chosen suites of TLS 1.2 by OpenSSL's names.
    fn chosen(list: &str) -> String {
        let Ok(selection) = cipher_suites(list) else {
            return "-".to_owned();
        };
        let (tls13, tls12) = selection.suites.split_at(3);
        assert_eq!(tls13, TLS13);
        let name = |suite| TLS12.iter().find(|row| row.suite == suite).unwrap().openssl;
        let names: Vec<&str> = tls12.iter().map(|suite| name(*suite)).collect();
        names.join(":")
    }

    #[test]
    fn lists_choose_the_suites_that_openssl_chooses() {
        let expected = include_str!("../../testdata/cipher_strings.txt");
        let mut rows = 0;
        for (list, suites) in expected.lines().filter_map(|line| line.split_once('\t')) {
            assert_eq!(chosen(list), suites, "{list}");
            rows += 1;
        }
        assert!(rows > 50);
    }

    #[test]
    fn names_of_iana_choose_suites() {
        for suite in &TLS12 {
            assert_eq!(chosen(suite.iana), suite.openssl);
            let debug = format!("{:?}", suite.suite.suite());
            assert_eq!(debug, suite.iana);
        }
    }

    #[test]
    fn unknown_items_are_ignored_and_listed() {
        let selection =
            cipher_suites("kRSA:ECDHE+AESGCM:!aNULL:DHE-RSA-AES128-SHA,x y:TLS_AES_128_GCM_SHA256:@SECLEVEL=1")
                .unwrap();
        assert_eq!(selection.ignored, ["kRSA", "DHE-RSA-AES128-SHA", "x", "y"]);
        assert_eq!(selection.suites.len(), 3 + 4);
    }

    #[test]
    fn lists_that_leave_nothing_are_refused_with_the_names_there_are() {
        for list in [
            "",
            "nonsense",
            "ALL:!ALL",
            "ALL:-ECDHE",
            "TLS_AES_256_GCM_SHA384",
            "@STRENGTH",
            "!",
            "+",
        ] {
            let error = cipher_suites(list).unwrap_err().to_string();
            assert!(
                error.contains("no cipher match") && error.contains("ECDHE-RSA-AES128-GCM-SHA256"),
                "{error}"
            );
        }
        let error = cipher_suites("TLS_AES_256_GCM_SHA384").unwrap_err().to_string();
        assert!(error.contains("always offered"), "{error}");
        let error = cipher_suites("AES128-SHA:RC4").unwrap_err().to_string();
        assert!(error.contains("\"AES128-SHA\", \"RC4\" match no suite"), "{error}");
    }
}
