use std::time::Duration;

use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::*;
use crate::jwt::Algorithm;
use crate::test_folder::Folder;
use crate::test_server::{Answer, Received, Server, decoded};

const SECRET_TEXT: &str = "hidden-secret";

fn settings(server: &Server) -> OidcSettings {
    OidcSettings {
        token_endpoint_url: server.url("/token"),
        client_id: Some("app".to_owned()),
        client_secret: Some(Zeroizing::new(SECRET_TEXT.to_owned())),
        ..OidcSettings::default()
    }
}

fn provider(settings: OidcSettings) -> Oidc {
    Oidc::with_environment(settings, Environment::of(&[])).unwrap()
}

fn jwt(claims: &Value) -> String {
    let encode = |text: String| BASE64_URL_SAFE_NO_PAD.encode(text);
    format!(
        "{}.{}.c2ln",
        encode(json!({"alg": "RS256"}).to_string()),
        encode(claims.to_string())
    )
}

fn in_an_hour_s() -> i64 {
    now_ms() / 1000 + 3600
}

fn good() -> Answer {
    let token = jwt(&json!({"sub": "alice", "exp": in_an_hour_s()}));
    Answer::json(json!({"access_token": token, "token_type": "bearer", "expires_in": 3600}).to_string())
}

/// Returns the text of the error after one answer, without the part that names the URL.
fn error_of(answer: Answer, change: impl FnOnce(&mut OidcSettings)) -> String {
    let server = Server::start(vec![answer]);
    let mut settings = settings(&server);
    change(&mut settings);
    let error = provider(settings).fetch().unwrap_err().to_string();
    let start = format!("Failed to retrieve OIDC token from \"{}\": ", server.url("/token"));
    assert!(!error.contains(SECRET_TEXT) && !error.contains('\n'), "{error}");
    error
        .strip_prefix(&start)
        .unwrap_or_else(|| panic!("{error}"))
        .to_owned()
}

fn error(answer: Answer) -> String {
    error_of(answer, |_| ())
}

fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    fields.iter().map(owned).collect()
}

/// Sends one request by the settings and returns it.
fn request_of(change: impl FnOnce(&mut OidcSettings)) -> Received {
    let server = Server::start(vec![good()]);
    let mut settings = settings(&server);
    change(&mut settings);
    provider(settings).fetch().unwrap();
    server.request()
}

fn key_file(algorithm: Algorithm) -> (rcgen::KeyPair, String) {
    let kind = match algorithm {
        Algorithm::Rs256 => &rcgen::PKCS_RSA_SHA256,
        Algorithm::Es256 => &rcgen::PKCS_ECDSA_P256_SHA256,
    };
    let key = rcgen::KeyPair::generate_for(kind).unwrap();
    let pem = key.serialize_pem();
    (key, pem)
}

/// Verifies the signature of an assertion and returns header and claims.
fn verified(assertion: &str, algorithm: Algorithm, key: &rcgen::KeyPair) -> (Value, Value) {
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
    use rcgen::PublicKeyData as _;
    let (message, signature) = assertion.rsplit_once('.').unwrap();
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
    let public = key.der_bytes();
    match algorithm {
        Algorithm::Rs256 => UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public)
            .verify(message.as_bytes(), &signature)
            .unwrap(),
        Algorithm::Es256 => {
            assert_eq!(signature.len(), 64, "not DER");
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public)
                .verify(message.as_bytes(), &signature)
                .unwrap();
        }
    }
    let part = |part: &str| serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
    let (header, claims) = message.split_once('.').unwrap();
    (part(header), part(claims))
}

#[test]
fn a_token_has_its_claims_and_the_extensions() {
    let server = Server::start(vec![good()]);
    let mut settings = settings(&server);
    settings.extensions = Some("logicalCluster=lkc-1,identityPoolId=pool-2".to_owned());
    let provider = provider(settings);
    let token = provider.fetch().unwrap();
    assert_eq!(token.principal, "alice");
    assert!((in_an_hour_s() * 1000 - token.expires_ms).abs() < 10_000);
    assert_eq!(
        token.extensions,
        pairs(&[("logicalCluster", "lkc-1"), ("identityPoolId", "pool-2")])
    );
    assert_eq!(token.value.split('.').count(), 3);
    assert!(!format!("{provider:?}").contains(SECRET_TEXT));
}

#[test]
fn client_credentials_are_sent_in_the_header() {
    let request = request_of(|_| ());
    assert_eq!(request.line, "POST /token HTTP/1.1");
    assert_eq!(request.header("authorization"), Some("Basic YXBwOmhpZGRlbi1zZWNyZXQ="));
    assert_eq!(request.header("accept"), Some("application/json"));
    assert_eq!(request.form(), pairs(&[("grant_type", "client_credentials")]));
}

#[test]
fn a_scope_is_encoded() {
    let request = request_of(|settings| settings.scope = Some("a b&grant_type=x+\u{e9}".to_owned()));
    let expected = [
        ("grant_type", "client_credentials"),
        ("scope", "a b&grant_type=x+\u{e9}"),
    ];
    assert_eq!(request.form(), pairs(&expected));
}

#[test]
fn another_claim_can_be_the_subject() {
    let token = jwt(&json!({"sub": "alice", "azp": "app-7", "exp": in_an_hour_s()}));
    let server = Server::start(vec![Answer::json(json!({"access_token": token}).to_string())]);
    let mut settings = settings(&server);
    settings.subject_claim = Some("azp".to_owned());
    assert_eq!(provider(settings).fetch().unwrap().principal, "app-7");
}

/// Returns id and secret of a request.
fn credentials(request: &Received) -> (String, String) {
    let value = request.header("authorization").unwrap().strip_prefix("Basic ").unwrap();
    let pair = String::from_utf8(BASE64_STANDARD.decode(value).unwrap()).unwrap();
    let (id, secret) = pair.split_once(':').unwrap();
    (id.to_owned(), secret.to_owned())
}

#[test]
fn ordinary_secrets_are_sent_once_as_they_are() {
    let server = Server::start(vec![Answer::error(401, "{}")]);
    let mut settings = settings(&server);
    settings.client_secret = Some(Zeroizing::new("~a/b=c&d e!\u{e9}".to_owned()));
    let provider = provider(settings);
    provider.fetch().unwrap_err();
    assert_eq!(credentials(&server.request()).1, "~a/b=c&d e!\u{e9}");
    assert_eq!(server.further(), 0);
}

#[test]
fn a_secret_that_servers_may_decode_is_tried_both_ways() {
    let secret = "a+b%41";
    // Nimbus' answer to a Basic header that it cannot decode.
    let refused = Answer::error(400, r#"{"error":"invalid_request"}"#);
    let server = Server::start(vec![refused, good()]);
    let mut settings = settings(&server);
    settings.client_secret = Some(Zeroizing::new(secret.to_owned()));
    let provider = provider(settings);
    provider.fetch().unwrap();
    assert_eq!(credentials(&server.request()).1, secret, "as librdkafka does");
    let second = credentials(&server.request()).1;
    assert_ne!(second, secret);
    assert_eq!(decoded(&second), secret, "as RFC 6749 requires");
    provider.fetch().unwrap();
    assert_eq!(decoded(&credentials(&server.request()).1), secret, "kept");
    assert_eq!(server.further(), 0);
}

#[test]
fn an_id_with_a_colon_is_encoded_first() {
    let request = request_of(|settings| settings.client_id = Some("urn:app".to_owned()));
    assert_eq!(credentials(&request), ("urn%3Aapp".to_owned(), SECRET_TEXT.to_owned()));
}

#[test]
fn other_failures_of_ambiguous_secrets_are_not_repeated() {
    let server = Server::start(vec![Answer::error(503, "{}")]);
    let mut settings = settings(&server);
    settings.client_secret = Some(Zeroizing::new("a+b".to_owned()));
    provider(settings).fetch().unwrap_err();
    server.request();
    assert_eq!(server.further(), 0);
}

#[test]
fn an_assertion_replaces_the_secret() {
    for algorithm in [Algorithm::Rs256, Algorithm::Es256] {
        let (key, pem) = key_file(algorithm);
        let server = Server::start(vec![good()]);
        let mut settings = settings(&server);
        settings.client_secret = None;
        settings.scope = Some("s".to_owned());
        settings.assertion.algorithm = algorithm;
        settings.assertion.private_key_pem = Some(Zeroizing::new(pem));
        settings.assertion.jti = true;
        provider(settings).fetch().unwrap();
        let request = server.request();
        assert_eq!(request.header("authorization"), None);
        let fields = request.form();
        let (header, claims) = verified(&fields[2].1, algorithm, &key);
        let assertion = fields[2].1.clone();
        let expected = [
            ("grant_type", "client_credentials"),
            (
                "client_assertion_type",
                "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            ),
            ("client_assertion", &assertion),
            ("client_id", "app"),
            ("scope", "s"),
        ];
        assert_eq!(fields, pairs(&expected));
        assert_eq!(header, json!({"alg": algorithm.name(), "typ": "JWT"}));
        let iat = claims["iat"].as_i64().unwrap();
        assert!((iat - now_ms() / 1000).abs() < 10);
        let jti = claims["jti"].as_str().unwrap();
        assert_eq!((jti.len(), &jti[14..15]), (36, "4"));
        let url = server.url("/token");
        let expected = json!({
            "iss": "app", "sub": "app", "aud": url, "iat": iat, "exp": iat + 300, "nbf": iat - 60, "jti": jti,
        });
        assert_eq!(claims, expected);
    }
}

fn jwt_bearer(settings: &mut OidcSettings, pem: &str) {
    settings.grant = Grant::JwtBearer;
    settings.assertion.private_key_pem = Some(Zeroizing::new(pem.to_owned()));
    settings.assertion.algorithm = Algorithm::Es256;
}

#[test]
fn jwt_bearer_has_the_configured_claims_only() {
    let (key, pem) = key_file(Algorithm::Es256);
    let request = request_of(|settings| {
        jwt_bearer(settings, &pem);
        settings.client_secret = None;
        settings.assertion.exp_seconds = 7;
        settings.assertion.nbf_seconds = 3;
        settings.assertion.aud = Some("the audience".to_owned());
    });
    assert_eq!(request.header("authorization"), None);
    let fields = request.form();
    assert_eq!(fields.len(), 2);
    assert_eq!(fields[0].1, "urn:ietf:params:oauth:grant-type:jwt-bearer");
    assert_eq!(fields[1].0, "assertion");
    let (_, claims) = verified(&fields[1].1, Algorithm::Es256, &key);
    let iat = claims["iat"].as_i64().unwrap();
    let expected = json!({"aud": "the audience", "iat": iat, "exp": iat + 7, "nbf": iat - 3});
    assert_eq!(claims, expected);
}

#[test]
fn jwt_bearer_with_id_and_secret_authenticates_the_client_too() {
    let (key, pem) = key_file(Algorithm::Es256);
    let request = request_of(|settings| jwt_bearer(settings, &pem));
    assert_eq!(credentials(&request), ("app".to_owned(), SECRET_TEXT.to_owned()));
    verified(&request.form()[1].1, Algorithm::Es256, &key);
}

#[test]
fn a_template_gives_what_settings_do_not() {
    let folder = Folder::new("template");
    let template = json!({
        "header": {"kid": "key-1", "alg": "none", "typ": "x"},
        "payload": {"iss": "template", "sub": "template", "exp": 1, "roles": ["a"], "jti": "fixed"},
    });
    let template = folder.write("template.json", &template.to_string());
    let (key, pem) = key_file(Algorithm::Es256);
    let request = request_of(|settings| {
        jwt_bearer(settings, &pem);
        settings.assertion.template_file = Some(template);
        settings.assertion.iss = Some("setting".to_owned());
    });
    let (header, claims) = verified(&request.form()[1].1, Algorithm::Es256, &key);
    assert_eq!(header, json!({"kid": "key-1", "alg": "ES256", "typ": "JWT"}));
    let iat = claims["iat"].as_i64().unwrap();
    let expected = json!({
        "iss": "setting", "sub": "template", "roles": ["a"], "jti": "fixed",
        "iat": iat, "exp": iat + 300, "nbf": iat - 60,
    });
    assert_eq!(claims, expected);
}

#[test]
fn a_template_comes_before_the_claims_that_rfc_7523_requires() {
    let folder = Folder::new("template-defaults");
    let template = folder.write("template.json", r#"{"payload":{"aud":"template"}}"#);
    let (key, pem) = key_file(Algorithm::Es256);
    let request = request_of(|settings| {
        jwt_bearer(settings, &pem);
        settings.grant = Grant::ClientCredentials;
        settings.client_secret = None;
        settings.assertion.template_file = Some(template);
        settings.assertion.sub = Some("setting".to_owned());
    });
    let (_, claims) = verified(&request.form()[2].1, Algorithm::Es256, &key);
    let claim = |name: &str| claims[name].as_str().unwrap().to_owned();
    assert_eq!(["aud", "sub", "iss"].map(claim), ["template", "setting", "app"]);
}

#[test]
fn an_assertion_file_is_read_for_each_token_without_its_line_end() {
    let folder = Folder::new("file");
    let server = Server::start(vec![good()]);
    let mut settings = settings(&server);
    settings.grant = Grant::JwtBearer;
    settings.assertion.file = Some(folder.write("assertion", "first.part.sig\r\n"));
    let provider = provider(settings);
    for expected in ["first.part.sig", "second.part.sig"] {
        provider.fetch().unwrap();
        assert_eq!(server.request().form()[1].1, expected);
        folder.write("assertion", "second.part.sig\n");
    }
    folder.write("assertion", "two lines\nhidden");
    let error = provider.fetch().unwrap_err().to_string();
    assert!(error.contains("Invalid sasl.oauthbearer.assertion.file: "), "{error}");
    assert!(
        error.ends_with("it does not contain one assertion") && !error.contains("hidden"),
        "{error}"
    );
    assert_eq!(server.further(), 0);
}

#[test]
fn a_key_file_is_read_for_each_assertion() {
    let folder = Folder::new("key");
    let ((old, old_pem), (new, new_pem)) = (key_file(Algorithm::Es256), key_file(Algorithm::Es256));
    let server = Server::start(vec![good()]);
    let mut settings = settings(&server);
    settings.grant = Grant::JwtBearer;
    settings.assertion.algorithm = Algorithm::Es256;
    settings.assertion.private_key_file = Some(folder.write("key.pem", &old_pem));
    let provider = provider(settings);
    provider.fetch().unwrap();
    verified(&server.request().form()[1].1, Algorithm::Es256, &old);
    folder.write("key.pem", &new_pem);
    provider.fetch().unwrap();
    verified(&server.request().form()[1].1, Algorithm::Es256, &new);
}

#[test]
fn an_id_token_suffices_for_jwt_bearer_only() {
    let token = jwt(&json!({"sub": "alice", "exp": in_an_hour_s()}));
    let answer = Answer::json(json!({"id_token": token}).to_string());
    assert_eq!(error(answer.clone()), "the answer has no \"access_token\"");
    let server = Server::start(vec![answer]);
    let mut settings = settings(&server);
    jwt_bearer(&mut settings, &key_file(Algorithm::Es256).1);
    assert_eq!(provider(settings).fetch().unwrap().principal, "alice");
}

#[test]
fn opaque_tokens_live_as_long_as_the_answer_says() {
    for life in [json!(60), json!("60"), json!(60.0)] {
        let body = json!({"access_token": "ya29.opaque", "expires_in": life});
        let server = Server::start(vec![Answer::json(body.to_string())]);
        let before = now_ms();
        let token = provider(settings(&server)).fetch().unwrap();
        assert!((before + 60_000..=now_ms() + 60_000).contains(&token.expires_ms));
        assert_eq!((token.principal.as_str(), token.value.as_str()), ("app", "ya29.opaque"));
    }
    let text = error(Answer::json(r#"{"access_token":"opaque"}"#));
    assert!(
        text.contains("is not a JWT, and the answer has no \"expires_in\""),
        "{text}"
    );
    let text = error(Answer::json(r#"{"access_token":"opaque","expires_in":0}"#));
    assert!(text.contains("expired 0 s ago"), "{text}");
}

#[test]
fn failures_name_status_error_and_description() {
    let body = r#"{"error":"invalid_client","error_description":"Unknown\nclient"}"#;
    assert_eq!(
        error(Answer::error(401, body)),
        "HTTP status 401 Unauthorized: invalid_client: Unknown?client"
    );
    assert_eq!(error(Answer::error(503, "down")), "HTTP status 503 Service Unavailable");
    assert_eq!(error(Answer::error(599, "{}")), "HTTP status 599");
    let redirect = error(Answer::error(302, ""));
    assert_eq!(redirect, "HTTP status 302 Found: redirects are not followed");
    let long = json!({"error": "e", "error_description": "x".repeat(100_000)}).to_string();
    assert!(error(Answer::error(400, &long)).len() < 400);
}

#[test]
fn servers_that_repeat_secrets_do_not_reveal_them() {
    let basic = "YXBwOmhpZGRlbi1zZWNyZXQ=";
    let body = json!({"error": format!("bad {SECRET_TEXT}"), "error_description": format!("of {basic}")});
    let text = error(Answer::error(400, &body.to_string()));
    assert_eq!(text, "HTTP status 400 Bad Request: bad ***: of ***");
    let folder = Folder::new("repeated");
    let server = Server::start(vec![Answer::error(400, r#"{"error":"bad aaa.bbb.ccc"}"#)]);
    let mut settings = settings(&server);
    settings.grant = Grant::JwtBearer;
    settings.assertion.file = Some(folder.write("assertion", "aaa.bbb.ccc"));
    let text = provider(settings).fetch().unwrap_err().0;
    assert!(text.ends_with("bad ***"), "{text}");
}

#[test]
fn answers_without_a_usable_token_are_errors() {
    let with = |token: &str| Answer::json(json!({"access_token": token}).to_string());
    let claims = |claims: Value| with(&jwt(&claims));
    let later = in_an_hour_s();
    for (answer, text) in [
        (
            Answer::Full(200, "text/html", "{}".to_owned()),
            "has the content type text/html, not application/json",
        ),
        (Answer::Full(200, "", "{}".to_owned()), "has no content type"),
        (Answer::json(""), "the answer cannot be read: it is not JSON"),
        (Answer::json("[]"), "it is not a JSON object"),
        (
            Answer::json(r#"{"access_token":hidden-secret}"#),
            "the error is in line 1",
        ),
        (Answer::json("[".repeat(200_000)), "it is not JSON"),
        (Answer::json("{}"), "no \"access_token\""),
        (Answer::json(r#"{"access_token":null}"#), "no \"access_token\""),
        (Answer::json(r#"{"access_token":""}"#), "no \"access_token\""),
        (
            Answer::json(r#"{"access_token":"x","token_type":"mac"}"#),
            "of the type mac, not Bearer",
        ),
        (with("a b"), "characters that bearer tokens cannot have"),
        (with("a.\u{1}.c"), "characters that bearer tokens cannot have"),
        (with("a..c"), "is not a JWT: its claims cannot be read"),
        (with("a.~~.c"), "is not a JWT: its claims are not in Base64"),
        (with("a.e30.c"), "has no claim \"exp\""),
        (claims(json!({"sub": "a", "exp": "soon"})), "has no claim \"exp\""),
        (claims(json!({"exp": later})), "has no claim \"sub\" with a text"),
        (
            claims(json!({"exp": later, "sub": 7})),
            "has no claim \"sub\" with a text",
        ),
        (claims(json!({"exp": 1000, "sub": "a"})), "compare this machine's clock"),
    ] {
        let problem = error(answer);
        assert!(problem.contains(text), "{text}: {problem}");
    }
}

#[test]
fn padded_tokens_and_media_types_of_json_are_accepted() {
    // The subjects' lengths need no, one and two characters of padding.
    let subjects = ["a", "ab", "abc"].map(|subject| json!({"sub": subject, "exp": in_an_hour_s()}));
    let paddings = subjects.map(|claims| {
        let padded: Vec<String> = jwt(&claims)
            .split('.')
            .map(|part| format!("{part}{}", "=".repeat((4 - part.len() % 4) % 4)))
            .collect();
        let server = Server::start(vec![Answer::json(
            json!({"access_token": padded.join(".")}).to_string(),
        )]);
        let token = provider(settings(&server)).fetch().unwrap();
        assert_eq!(token.principal, claims["sub"]);
        padded[1].matches('=').count()
    });
    assert!((0..3).all(|count| paddings.contains(&count)), "{paddings:?}");
    let token = jwt(&json!({"sub": "a", "exp": in_an_hour_s() as f64 + 0.5}));
    let body = json!({"access_token": token}).to_string();
    for media_type in [
        "application/json;charset=UTF-8",
        "APPLICATION/JSON",
        "application/token+json",
    ] {
        let server = Server::start(vec![Answer::Full(200, media_type, body.clone())]);
        assert_eq!(provider(settings(&server)).fetch().unwrap().principal, "a");
    }
}

#[test]
fn a_slow_server_ends_at_the_deadline() {
    let server = Server::start(vec![Answer::Silence]);
    let provider = provider(settings(&server));
    let error = provider
        .fetch_within(Deadline::after(Duration::from_millis(300)))
        .unwrap_err();
    assert!(error.starts_with("no answer within"), "{error}");
}

/// Checks that changed settings are refused, with a property and a text.
fn refused(property: &str, text: &str, change: impl FnOnce(&mut OidcSettings)) {
    let mut settings = OidcSettings {
        token_endpoint_url: "http://localhost/".to_owned(),
        client_id: Some("app".to_owned()),
        client_secret: Some(Zeroizing::new(SECRET_TEXT.to_owned())),
        ..OidcSettings::default()
    };
    change(&mut settings);
    let error = Oidc::new(settings).unwrap_err().0;
    assert!(!error.contains(SECRET_TEXT), "{error}");
    let start = format!("Invalid {property}: ");
    assert!(error.starts_with(&start) && error.contains(text), "{property}: {error}");
}

#[test]
fn settings_at_fault_are_named() {
    const BASE: &str = "sasl.oauthbearer.";
    let own = |name: &str, text: &str, change: fn(&mut OidcSettings)| refused(&format!("{BASE}{name}"), text, change);
    own("token.endpoint.url", "needs it", |s| s.token_endpoint_url.clear());
    own("token.endpoint.url", "not a URL", |s| {
        s.token_endpoint_url = "x".to_owned()
    });
    own("client.id", "needs it", |s| s.client_id = None);
    own("client.secret", "needs it", |s| {
        s.client_secret = Some(Zeroizing::default())
    });
    own("sub.claim.name", "empty", |s| s.subject_claim = Some(String::new()));
    own("extensions", "key=value", |s| s.extensions = Some("a".to_owned()));
    own("assertion", "neither", |s| s.grant = Grant::JwtBearer);
    own(
        "assertion.file",
        "not together with sasl.oauthbearer.assertion.claim.aud",
        |s| {
            s.grant = Grant::JwtBearer;
            s.assertion.file = Some("/nowhere".to_owned());
            s.assertion.aud = Some("a".to_owned());
        },
    );
    refused("https.ca.location", "/nowhere", |s| {
        s.trust.ca_location = Some("/nowhere".to_owned())
    });
}

#[test]
fn keys_and_templates_at_fault_are_named() {
    const FILE: &str = "sasl.oauthbearer.assertion.private.key.file";
    const PEM: &str = "sasl.oauthbearer.assertion.private.key.pem";
    const TEMPLATE: &str = "sasl.oauthbearer.assertion.jwt.template.file";
    let folder = Folder::new("faults");
    let ec = key_file(Algorithm::Es256).1;
    let key = folder.write("key.pem", &ec);
    let garbage = folder.write("garbage", "garbage");
    refused(FILE, "not together with", |s| {
        jwt_bearer(s, &ec);
        s.assertion.private_key_file = Some(key.clone());
    });
    for (path, text) in [
        ("/nowhere", "/nowhere: No such file"),
        ("/dev/null", "not a regular file"),
        (garbage.as_str(), "garbage: no private key"),
        (key.as_str(), "RS256 needs an RSA key"),
    ] {
        refused(FILE, text, |s| {
            s.grant = Grant::JwtBearer;
            s.assertion.private_key_file = Some(path.to_owned());
        });
    }
    refused(PEM, "ES256 needs an EC key", |s| {
        jwt_bearer(s, &key_file(Algorithm::Rs256).1)
    });
    let odd = folder.write("odd.json", r#"{"claims":{}}"#);
    let array = folder.write("array.json", r#"{"header":[]}"#);
    for (path, text) in [
        (garbage, "it is not JSON"),
        (odd, "the member claims"),
        (array, "header is not an object"),
    ] {
        refused(TEMPLATE, text, |s| {
            jwt_bearer(s, &ec);
            s.assertion.template_file = Some(path);
        });
    }
}

#[test]
fn encrypted_keys_need_their_passphrase() {
    let pem = include_str!("testdata/encrypted.pem");
    let of = |passphrase: Option<&str>| {
        let mut settings = OidcSettings {
            token_endpoint_url: "http://localhost/".to_owned(),
            ..OidcSettings::default()
        };
        jwt_bearer(&mut settings, pem);
        settings.assertion.private_key_passphrase = passphrase.map(|text| Zeroizing::new(text.to_owned()));
        Oidc::new(settings)
    };
    of(Some("test-passphrase")).unwrap();
    for passphrase in [None, Some("wrong")] {
        let error = of(passphrase).unwrap_err().0;
        assert!(
            error.starts_with("Invalid sasl.oauthbearer.assertion.private.key.pem: "),
            "{error}"
        );
        assert!(
            error.ends_with("check sasl.oauthbearer.assertion.private.key.passphrase"),
            "{error}"
        );
    }
}
