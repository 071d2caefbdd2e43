//! Exchanges of SCRAM: published and computed vectors, refusals, and the cache of keys.

use super::*;
use crate::sasl::Credentials;

/// The messages of one exchange.
struct Vector {
    hash: ScramHash,
    username: &'static str,
    password: &'static str,
    client_nonce: &'static str,
    client_first: &'static str,
    server_first: &'static str,
    client_final: &'static str,
    server_final: &'static str,
}

/// The example of RFC 7677, section 3.
const RFC_7677: Vector = Vector {
    hash: ScramHash::Sha256,
    username: "user",
    password: "pencil",
    client_nonce: "rOprNGfwEbeRWgbNEkqO",
    client_first: "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
    server_first: "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
    client_final: "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    server_final: "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
};

/// Computed with `hashlib.pbkdf2_hmac` and `hmac` of Python's standard library. The user name needs escapes, and the password
/// is not ASCII.
const SHA_512: Vector = Vector {
    hash: ScramHash::Sha512,
    username: "a=b,c",
    password: "p\u{e4}ssword",
    client_nonce: "cN7+0123456789abcdefABCD",
    client_first: "n,,n=a=3Db=2Cc,r=cN7+0123456789abcdefABCD",
    server_first: "r=cN7+0123456789abcdefABCDserver!~part,s=AAECAwQFBgcICQoLDA0ODxAREhM=,i=8192",
    client_final: "c=biws,r=cN7+0123456789abcdefABCDserver!~part,\
                   p=LXmW19JWpFD+j4N3mmP0PC+7qb5xGc9UEeqjEXoWnm3JxLTR+sd9n7FLuOr4YgYdDImR1TSGGPML6egR5cBvtA==",
    server_final: "v=2cTm+BZOxT6N2TNWZ6lPfgVFVp6c91n22Sy6TlDC+Ex2wa8Og8kn8dV009xTytHDKIQjx7mECxxI7DnCS+/GOg==",
};

impl Vector {
    /// Returns an exchange whose first message is sent.
    fn started(&self) -> Scram {
        let credentials = ScramCredentials::new(self.hash, self.username, self.password);
        let mut scram = Scram::with_nonce(Arc::new(credentials), self.client_nonce.into());
        assert_eq!(text(&scram.start().unwrap()), self.client_first);
        scram
    }

    /// Returns an exchange whose proof is sent.
    fn proven(&self) -> Scram {
        let mut scram = self.started();
        let Step::Respond(client_final) = scram.step(self.server_first.as_bytes()).unwrap() else {
            panic!("complete before the broker's signature")
        };
        assert_eq!(text(&client_final), self.client_final);
        scram
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Asserts that the first message of a server fails the exchange, for good.
fn refuses_first(message: impl AsRef<[u8]>, phrase: &str) {
    let mut scram = RFC_7677.started();
    let error = scram.step(message.as_ref()).unwrap_err().0;
    assert!(error.contains(phrase), "{phrase}: {error}");
    assert!(error.contains("the broker"), "it names the culprit: {error}");
    assert!(scram.step(RFC_7677.server_first.as_bytes()).is_err());
    assert_eq!(scram.credentials.derivations(), 0);
}

/// Asserts that the final message of a server fails the exchange, for good.
fn refuses_final(message: impl AsRef<[u8]>, phrase: &str) {
    let mut scram = RFC_7677.proven();
    let error = scram.step(message.as_ref()).unwrap_err().0;
    assert!(error.contains(phrase), "{phrase}: {error}");
    assert!(error.contains("the broker"), "it names the culprit: {error}");
    assert!(scram.step(RFC_7677.server_final.as_bytes()).is_err());
}

#[test]
fn exchanges_equal_the_vectors_and_end_with_the_servers_signature() {
    for vector in [RFC_7677, SHA_512] {
        let mut scram = vector.proven();
        assert_eq!(scram.step(vector.server_final.as_bytes()).unwrap(), Step::Done);
        assert!(scram.step(vector.server_final.as_bytes()).is_err(), "once");
    }
}

#[test]
fn extensions_of_the_server_are_ignored_and_part_of_the_transcript() {
    let mut scram = RFC_7677.started();
    let extended = format!("{},x=1,Y=a=b", RFC_7677.server_first);
    let Step::Respond(client_final) = scram.step(extended.as_bytes()).unwrap() else {
        panic!("complete before the broker's signature")
    };
    assert_ne!(
        text(&client_final),
        RFC_7677.client_final,
        "the proof covers the whole message"
    );
    let mut scram = RFC_7677.proven();
    let extended = format!("{},x=1", RFC_7677.server_final);
    assert_eq!(scram.step(extended.as_bytes()).unwrap(), Step::Done);
}

#[test]
fn nonces_are_new_for_each_exchange_and_follow_from_a_seed() {
    let credentials = Arc::new(ScramCredentials::new(ScramHash::Sha256, "user", "pencil"));
    let first = |rng: &mut Rng| Scram::new(credentials.clone(), rng).unwrap().start().unwrap();
    let (mut a, mut b) = (Rng::from_seed(1), Rng::from_seed(1));
    let message = first(&mut a);
    assert_eq!(message, first(&mut b));
    assert_ne!(message, first(&mut a));
    let nonce = text(&message).strip_prefix("n,,n=user,r=").unwrap();
    assert_eq!(nonce.len(), 32);
    assert!(nonce.bytes().all(|b| b.is_ascii_graphic() && b != b','));
}

#[test]
fn a_nonce_that_does_not_extend_the_clients_is_refused() {
    let rest = "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    refuses_first(format!("r=rOprNGfwEbeRWgbNEkqO,{rest}"), "adds nothing to the client's");
    refuses_first(
        format!("r=rOprNGfwEbeRWgbNEkq,{rest}"),
        "does not begin with the client's",
    );
    refuses_first(
        format!("r=XrOprNGfwEbeRWgbNEkqOX,{rest}"),
        "does not begin with the client's",
    );
    refuses_first(format!("r=,{rest}"), "does not begin with the client's");
    refuses_first(format!("r=rOprNGfwEbeRWgbNEkqO x,{rest}"), "not printable");
    refuses_first(format!("r=rOprNGfwEbeRWgbNEkqO\u{e9},{rest}"), "not printable");
}

#[test]
fn iterations_outside_of_the_limits_are_refused_with_the_limits() {
    let with = |i: &str| format!("r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i={i}");
    for i in ["1", "4095", "1000001", "4294967296", "99999999999999999999999"] {
        refuses_first(
            with(i),
            &format!("demands {i} iterations of the password's hash; 4096 to 1000000 are accepted"),
        );
    }
    for i in ["", "0", "04096", "+4096", "-1", "4096 ", "4096.5", "x"] {
        refuses_first(with(i), "its number of iterations is not a positive number");
    }
    for i in ["4096", "1000000"] {
        assert!(ServerFirst::parse(with(i).as_bytes(), RFC_7677.client_nonce).is_ok());
    }
}

#[test]
fn malformed_first_messages_are_refused() {
    let r = "r=rOprNGfwEbeRWgbNEkqOx";
    for salt in [
        "",
        "W22ZaJ0SNY7soEsUEjb6gQ",
        "W22ZaJ0SNY7soEsUEjb6gQ=",
        "W22Z-J0S",
        "W22Z J0S",
        "=",
    ] {
        refuses_first(format!("{r},s={salt},i=4096"), "its salt is empty or not base64");
    }
    refuses_first("", "r= with the nonce is not at its place");
    refuses_first("rOprNGfwEbeRWgbNEkqOx", "r= with the nonce");
    refuses_first(r, "s= with the salt");
    refuses_first(format!("{r},i=4096,s=W22Z"), "s= with the salt");
    refuses_first(format!("{r},s=W22Z"), "i= with the number of iterations");
    refuses_first(format!("s=W22Z,{r},i=4096"), "r= with the nonce");
    refuses_first(RFC_7677.server_final, "r= with the nonce");
    for end in [",", ",x", ",x=", ",xy=1", ",1=1", ",=1"] {
        refuses_first(format!("{r},s=W22Z,i=4096{end}"), "not an extension");
    }
    refuses_first(b"r=rOprNGfwEbeRWgbNEkqO\xff,s=W22Z,i=4096", "it is not UTF-8");
    refuses_first(format!("{r},s=W22Z,i=4096,x=\0"), "it contains NUL");
    let long = format!("{r}{},s=W22Z,i=4096", "x".repeat(8_192));
    refuses_first(&long, &format!("it has {} bytes, and 8192 are accepted", long.len()));
}

#[test]
fn mandatory_extensions_are_refused_wherever_they_are() {
    let phrase = "requires an extension";
    refuses_first(format!("m=x,{}", RFC_7677.server_first), phrase);
    refuses_first(format!("{},m=x", RFC_7677.server_first), phrase);
    refuses_final(format!("m=x,{}", RFC_7677.server_final), phrase);
    refuses_final(format!("{},m=x", RFC_7677.server_final), phrase);
}

#[test]
fn errors_of_the_server_are_reported_on_one_line() {
    refuses_final("e=invalid-proof", "the broker reports: invalid-proof");
    refuses_final("e=other\nerror,x=1", "the broker reports: other\\nerror");
    refuses_first("e=unknown-user", "the broker reports: unknown-user");
}

#[test]
fn a_wrong_signature_of_the_server_is_refused() {
    let right = RFC_7677.server_final.strip_prefix("v=").unwrap();
    let signature = STANDARD.decode(right).unwrap();
    for i in [0, 31] {
        let mut wrong = signature.clone();
        wrong[i] ^= 1;
        refuses_final(format!("v={}", STANDARD.encode(wrong)), "signature is wrong");
    }
    refuses_final(format!("v={}", STANDARD.encode(&signature[..31])), "signature is wrong");
    refuses_final("v=", "signature is wrong");
    refuses_final(SHA_512.server_final, "signature is wrong");
}

#[test]
fn malformed_final_messages_are_refused() {
    for message in ["", "v", "x=1", RFC_7677.server_first] {
        refuses_final(message, "v= with the signature is not at its place");
    }
    refuses_final("v=6rri*", "its signature is not base64");
    refuses_final(
        RFC_7677.server_final.trim_end_matches('='),
        "its signature is not base64",
    );
    refuses_final(format!("{},", RFC_7677.server_final), "not an extension");
    refuses_final(b"v=\xff", "it is not UTF-8");
    refuses_final(format!("v={}", "A".repeat(8_192)), "8192 are accepted");
}

#[test]
fn steps_out_of_order_are_refused() {
    let credentials = Arc::new(ScramCredentials::new(ScramHash::Sha256, "user", "pencil"));
    let mut scram = Scram::with_nonce(credentials, "n".into());
    assert!(scram.step(b"r=nx,s=W22Z,i=4096").is_err(), "nothing was sent");
    // The signature before the client's proof.
    refuses_first(RFC_7677.server_final, "is not at its place");
}

#[test]
fn nul_and_empty_credentials_are_refused() {
    for (username, password, name) in [
        ("", "p", "sasl.username"),
        ("u", "", "sasl.password"),
        ("u\0v", "p", "sasl.username"),
        ("u", "p\0", "sasl.password"),
    ] {
        let credentials = Credentials::scram(ScramHash::Sha512, username, password);
        let mut exchange = credentials.mechanism("broker", &mut Rng::from_seed(1)).unwrap();
        let error = exchange.start().unwrap_err().0;
        assert!(error.starts_with(name) && error.ends_with("SCRAM-SHA-512"), "{error}");
    }
}

/// Runs an exchange with a server that knows `alice` with the password `secret`.
fn exchange(credentials: &Credentials, rng: &mut Rng) -> bool {
    let mut server = ScriptedServer::new(ScramHash::Sha256, "alice", "secret");
    let mut client = credentials.mechanism("broker", rng).unwrap();
    let server_first = server.first(&client.start().unwrap());
    let Step::Respond(client_final) = client.step(&server_first).unwrap() else {
        panic!("complete before the broker's signature")
    };
    let Some(server_final) = server.last(&client_final) else {
        return false;
    };
    client.step(&server_final).unwrap() == Step::Done
}

#[test]
fn exchanges_of_the_same_credentials_run_pbkdf2_once() {
    let credentials = Credentials::scram(ScramHash::Sha256, "alice", "secret");
    let Credentials::Scram(scram) = &credentials else {
        unreachable!()
    };
    let mut rng = Rng::from_seed(1);
    assert_eq!(scram.derivations(), 0);
    assert!(exchange(&credentials, &mut rng));
    assert_eq!(scram.derivations(), 1);
    assert!(exchange(&credentials, &mut rng));
    assert!(exchange(&credentials.clone(), &mut rng), "a clone shares the keys");
    assert_eq!(scram.derivations(), 1);
    let other = Credentials::scram(ScramHash::Sha256, "alice", "Secret");
    assert!(!exchange(&other, &mut rng), "another password has other keys");
}

#[test]
fn debug_output_has_no_credentials() {
    let credentials = Credentials::scram(ScramHash::Sha256, "alice", "secret");
    let mut exchange = credentials.mechanism("broker", &mut Rng::from_seed(1)).unwrap();
    exchange.start().unwrap();
    let Credentials::Scram(scram) = &credentials else {
        unreachable!()
    };
    for text in [
        format!("{credentials:?}"),
        format!("{exchange:?}"),
        format!("{scram:?}"),
    ] {
        assert!(!text.contains("alice") && !text.contains("secret"), "{text}");
        assert!(text.contains("SCRAM-SHA-256"), "{text}");
    }
}
