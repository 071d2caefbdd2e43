//! SCRAM's messages against the example of RFC 7677, and refusals.

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2;

use super::*;
use crate::sasl_config::SaslUser;

/// An exchange with a user whose name and password are those of the RFC, after the client's first message.
fn begun() -> (Users, Rng, Scram, String) {
    let (mut users, mut rng) = (Users::default(), Rng::new(7));
    users.set(&SaslUser::new("user", "pencil"), &mut rng);
    let mut scram = Scram::new(ScramHash::Sha256);
    let Ok(Evaluation::Continue(answer)) = scram.evaluate(&mut users, &mut rng, b"n,,n=user,r=abc") else {
        panic!("refused");
    };
    (users, rng, scram, String::from_utf8(answer).unwrap())
}

/// Returns a client's final message of an exchange whose messages before have the header `n,,`.
fn client_final(hash: ScramHash, password: &str, first_bare: &str, server_first: &str) -> String {
    let mut parts = server_first.split(',');
    let nonce = parts.next().unwrap().strip_prefix("r=").unwrap();
    let salt = STANDARD
        .decode(parts.next().unwrap().strip_prefix("s=").unwrap())
        .unwrap();
    let iterations: u32 = parts.next().unwrap().strip_prefix("i=").unwrap().parse().unwrap();
    let iterations = NonZeroU32::new(iterations).unwrap();
    let mut salted = vec![0; hash.hmac_algorithm().tag_len()];
    pbkdf2::derive(
        hash.pbkdf2_algorithm(),
        iterations,
        &salt,
        password.as_bytes(),
        &mut salted,
    );
    let client_key = hash.hmac(&salted, b"Client Key");
    let without_proof = format!("c=biws,r={nonce}");
    let auth_message = format!("{first_bare},{server_first},{without_proof}");
    let signature = hash.hmac(&hash.digest(&client_key), auth_message.as_bytes());
    let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(k, s)| k ^ s).collect();
    format!("{without_proof},p={}", STANDARD.encode(proof))
}

#[test]
fn the_example_of_rfc_7677_is_accepted() {
    let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
    let iterations = NonZeroU32::new(4096).unwrap();
    let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    let proving = Proving {
        username: "user".into(),
        keys: Arc::new(ScramKeys::derive(ScramHash::Sha256, "pencil", &salt, iterations)),
        gs2_header: "n,,".into(),
        nonce: nonce.into(),
        transcript: format!("n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"),
    };
    let message = format!("c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
    let identity = Identity {
        principal: "user".into(),
        expires_ms: None,
    };
    let signature = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=".to_vec();
    assert_eq!(
        last(ScramHash::Sha256, &proving, &message),
        Ok(Evaluation::Complete(signature, identity))
    );
    let other = message.replace("dHzb", "dHzc");
    assert!(last(ScramHash::Sha256, &proving, &other).is_err());
}

#[test]
fn both_hashes_authenticate_users_with_any_name() {
    for hash in [ScramHash::Sha256, ScramHash::Sha512] {
        for (name, escaped) in [("alice", "alice"), ("a,b=c", "a=2Cb=3Dc"), ("\u{e9}", "\u{e9}")] {
            let (mut users, mut rng) = (Users::default(), Rng::new(1));
            users.set(&SaslUser::new(name, "p\u{df}"), &mut rng);
            let mut scram = Scram::new(hash);
            let bare = format!("n={escaped},r=nonce");
            let first = scram.evaluate(&mut users, &mut rng, format!("n,,{bare}").as_bytes());
            let Ok(Evaluation::Continue(answer)) = first else {
                panic!("{first:?}");
            };
            let answer = String::from_utf8(answer).unwrap();
            // The credentials of an exchange that has begun are not replaced.
            users.set(&SaslUser::new(name, "other"), &mut rng);
            let message = client_final(hash, "p\u{df}", &bare, &answer);
            let end = scram.evaluate(&mut users, &mut rng, message.as_bytes());
            let Ok(Evaluation::Complete(_, identity)) = end else {
                panic!("{end:?}");
            };
            assert_eq!((identity.principal.as_str(), identity.expires_ms), (name, None));
            let more = scram.evaluate(&mut users, &mut rng, message.as_bytes());
            assert!(matches!(more, Err(Failure::Concealed(_))), "{more:?}");
        }
    }
}

#[test]
fn the_servers_first_message_extends_the_nonce_and_has_the_users_salt() {
    let (mut users, mut rng, _, first) = begun();
    let mut second = Scram::new(ScramHash::Sha256);
    let answer = second.evaluate(&mut users, &mut rng, b"n,,n=user,r=abc");
    let Ok(Evaluation::Continue(answer)) = answer else {
        panic!("{answer:?}");
    };
    let second = String::from_utf8(answer).unwrap();
    let split = |text: &str| {
        text.split_once(",s=")
            .map(|(r, s)| (r.to_owned(), s.to_owned()))
            .unwrap()
    };
    let (first, second) = (split(&first), split(&second));
    assert!(
        first.0.starts_with("r=abc") && first.0.len() == "r=abc".len() + 26,
        "{first:?}"
    );
    assert_ne!(first.0, second.0);
    assert_eq!(first.1, second.1);
    assert!(first.1.ends_with(",i=4096"), "{first:?}");
}

#[test]
fn malformed_first_messages_and_unknown_users_are_concealed() {
    let (mut users, mut rng, ..) = begun();
    let long = format!("n,,n={},r=abc", "u".repeat(500_000));
    for message in [
        "",
        "n",
        "n,",
        "n,,",
        "y,,n=user,r=abc",
        "p=tls-unique,,n=user,r=abc",
        "n,x,n=user,r=abc",
        "n,a=,n=user,r=abc",
        "n,,m=x,n=user,r=abc",
        "n,,r=abc,n=user",
        "n,,n=,r=abc",
        "n,,n=user",
        "n,,n=user,r=",
        "n,,n=user,r=a b",
        "n,,n=user,r=abc,m=x",
        "n,,n=user,r=abc,x",
        "n,,n=user,r=abc,1=x",
        "n,,n=us=er,r=abc",
        "n,,n=us=2cer,r=abc",
        "n,,n=bob,r=abc",
        "n,,n=user,r=abc\0",
        &long,
    ] {
        let result = Scram::new(ScramHash::Sha256).evaluate(&mut users, &mut rng, message.as_bytes());
        assert!(matches!(result, Err(Failure::Concealed(_))), "{message:?}: {result:?}");
    }
    let result = Scram::new(ScramHash::Sha256).evaluate(&mut users, &mut rng, b"n,,n=\xff,r=abc");
    assert!(matches!(result, Err(Failure::Concealed(_))));
    let mut other = |message: &[u8]| Scram::new(ScramHash::Sha256).evaluate(&mut users, &mut rng, message);
    assert!(matches!(other(b"n,a=bob,n=user,r=abc"), Err(Failure::Reported(_))));
    assert!(matches!(
        other(b"n,a=user,n=user,r=abc,x=y"),
        Ok(Evaluation::Continue(_))
    ));
}

#[test]
fn a_final_message_that_proves_nothing_is_concealed() {
    let (.., server_first) = begun();
    let right = client_final(ScramHash::Sha256, "pencil", "n=user,r=abc", &server_first);
    let nonce = server_first.split(',').next().unwrap();
    let cut = format!("{}=", &right[..right.len() - 5]);
    for message in [
        String::new(),
        format!("c=biws,{nonce}"),
        format!("c=biws,{nonce},p="),
        format!("c=biws,{nonce},p=*"),
        format!("c=biws,{nonce},p=AAAA"),
        right.replace("c=biws", "c=eSws"),
        right.replace(nonce, &format!("{nonce}x")),
        right.replace(nonce, "r=abc"),
        right.replace(",p=", ",m=x,p="),
        // An extension changes the signed text.
        right.replace(",p=", ",x=y,p="),
        client_final(ScramHash::Sha256, "pencils", "n=user,r=abc", &server_first),
        client_final(ScramHash::Sha512, "pencil", "n=user,r=abc", &server_first),
        cut,
    ] {
        let (mut users, mut rng, mut scram, again) = begun();
        assert_eq!(again, server_first, "the same seed");
        let result = scram.evaluate(&mut users, &mut rng, message.as_bytes());
        assert!(matches!(result, Err(Failure::Concealed(_))), "{message:?}: {result:?}");
        // A right message does not mend it.
        let result = scram.evaluate(&mut users, &mut rng, right.as_bytes());
        assert!(matches!(result, Err(Failure::Concealed(_))), "{message:?}: {result:?}");
    }
    let (mut users, mut rng, mut scram, _) = begun();
    let result = scram.evaluate(&mut users, &mut rng, right.as_bytes());
    assert!(matches!(result, Ok(Evaluation::Complete(..))), "{result:?}");
}
