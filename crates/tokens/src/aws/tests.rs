use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::json;

use super::credentials::Credentials;
use super::*;
use crate::http::{Deadline, Environment, HttpsTrust};
use crate::test_folder::Folder;
use crate::test_server::{Answer, Server};
use crate::token::Token;

const KEYS: [(&str, &str); 2] = [
    ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY", "hidden/secret+key"),
];
/// A port on which nothing listens.
const NOWHERE: &str = "http://127.0.0.1:9";

fn settings(config: &str) -> AwsSettings {
    AwsSettings {
        config: Some(config.to_owned()),
        ..AwsSettings::default()
    }
}

fn environment(variables: &[(&str, &str)]) -> Environment {
    let mut all = vec![("AWS_EC2_METADATA_SERVICE_ENDPOINT", NOWHERE), ("HOME", "/nowhere")];
    all.extend_from_slice(variables);
    Environment::of(&all)
}

fn msk(config: &str, variables: &[(&str, &str)]) -> MskIam {
    MskIam::with_environment(settings(config), environment(variables)).unwrap()
}

fn fetched(config: &str, variables: &[(&str, &str)]) -> Result<Token, String> {
    let error = msk(config, variables).fetch();
    error.map_err(|error| {
        let text = error.0;
        assert!(!text.contains("hidden") && !text.contains('\n'), "{text}");
        let start = "Failed to create an AWS MSK IAM token: ";
        text.strip_prefix(start).unwrap_or_else(|| panic!("{text}")).to_owned()
    })
}

/// Returns the parameters of a token's URL, in order.
fn parameters(token: &Token) -> (String, Vec<(String, String)>) {
    let url = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(token.value.as_bytes()).unwrap()).unwrap();
    let (base, query) = url.split_once('?').unwrap();
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap());
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    (base.to_owned(), pairs.collect())
}

fn parameter(token: &Token, name: &str) -> Option<String> {
    let found = parameters(token).1.into_iter().find(|(other, _)| other == name);
    found.map(|(_, value)| value)
}

fn in_minutes(minutes: i64) -> i64 {
    crate::clock::now_ms() / 1000 + minutes * 60
}

fn iso(seconds: i64) -> String {
    let compact = super::time::amz_date(seconds * 1000);
    let part = |from: usize, to: usize| &compact[from..to];
    format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(9, 11),
        part(11, 13),
        part(13, 15)
    )
}

#[test]
fn a_token_is_the_url_that_botocore_signs() {
    // By aws-msk-iam-sasl-signer-python 1.0.2 with botocore 1.44.8 at this time; tests/real/test_aws.py repeats it.
    let credentials = Credentials::fixed(
        "AKIDEXAMPLE",
        "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        Some("to/ken=="),
    );
    let provider = msk("region=eu-north-1", &[]);
    let token = provider.token("eu-north-1", &credentials, 1_440_938_160_500, "signer/1.0 x");
    let (base, parameters) = parameters(&token);
    assert_eq!(base, "https://kafka.eu-north-1.amazonaws.com/");
    let expected = [
        ("Action", "kafka-cluster%3AConnect"),
        ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
        (
            "X-Amz-Credential",
            "AKIDEXAMPLE%2F20150830%2Feu-north-1%2Fkafka-cluster%2Faws4_request",
        ),
        ("X-Amz-Date", "20150830T123600Z"),
        ("X-Amz-Expires", "900"),
        ("X-Amz-Security-Token", "to%2Fken%3D%3D"),
        ("X-Amz-SignedHeaders", "host"),
        ("X-Amz-Signature", BOTOCORE_SIGNATURE),
        ("User-Agent", "signer%2F1.0%20x"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(parameters, expected);
    assert_eq!(token.expires_ms, 1_440_939_060_000);
    assert_eq!(token.principal, "AKIDEXAMPLE");
}

const BOTOCORE_SIGNATURE: &str = "b1806445c7fa2cd2fc1e5d3ad9a6364e73e54d7c8e8dde256e071937cc7ac488";

#[test]
fn credentials_of_the_environment_come_first() {
    let mut variables = KEYS.to_vec();
    variables.extend([("AWS_REGION", "us-east-2"), ("AWS_PROFILE", "unknown")]);
    let token = fetched("extension_a=b", &variables).unwrap();
    assert_eq!(token.principal, "AKIDEXAMPLE");
    assert_eq!(parameters(&token).0, "https://kafka.us-east-2.amazonaws.com/");
    assert_eq!(parameter(&token, "X-Amz-Security-Token"), None);
    assert_eq!(token.extensions, [("a".to_owned(), "b".to_owned())]);
    assert!((token.expires_ms / 1000 - in_minutes(15)).abs() < 10);
    variables.push(("AWS_SESSION_TOKEN", "session"));
    let token = fetched("region=us-west-1", &variables).unwrap();
    assert_eq!(parameter(&token, "X-Amz-Security-Token").as_deref(), Some("session"));
    assert_eq!(parameters(&token).0, "https://kafka.us-west-1.amazonaws.com/");
}

#[test]
fn profiles_have_credentials_and_regions() {
    let folder = Folder::new("aws-profiles");
    let config = folder.write(
        "config",
        "[default]\nregion=a-1\n[profile dev]\nregion=b-1\naws_access_key_id=CONFIG\n",
    );
    let keys = "[default]\naws_access_key_id=ONE\naws_secret_access_key=hidden\n\
                [dev]\naws_access_key_id=TWO\naws_secret_access_key=hidden\naws_session_token=t\n";
    let credentials = folder.write("credentials", keys);
    let files = [
        ("AWS_CONFIG_FILE", config.as_str()),
        ("AWS_SHARED_CREDENTIALS_FILE", credentials.as_str()),
    ];
    let token = fetched("", &files).unwrap();
    assert_eq!(
        (token.principal.as_str(), parameters(&token).0.as_str()),
        ("ONE", "https://kafka.a-1.amazonaws.com/")
    );
    let mut variables = files.to_vec();
    variables.push(("AWS_PROFILE", "dev"));
    let token = fetched("", &variables).unwrap();
    assert_eq!(
        (token.principal.as_str(), parameters(&token).0.as_str()),
        ("TWO", "https://kafka.b-1.amazonaws.com/")
    );
    let mut variables = files.to_vec();
    variables.extend_from_slice(&KEYS);
    assert_eq!(fetched("profile=dev", &variables).unwrap().principal, "TWO");
    let error = fetched("profile=other region=a-1", &variables).unwrap_err();
    assert!(
        error.starts_with("profile other: ") && error.contains("does not have it"),
        "{error}"
    );
}

#[test]
fn a_web_identity_is_exchanged_by_sts() {
    let folder = Folder::new("aws-web");
    let token_file = folder.write("token", "hidden.web.token\n");
    let credentials = json!({
        "AccessKeyId": "ASIAWEB", "SecretAccessKey": "hidden", "SessionToken": "session", "Expiration": in_minutes(5),
    });
    let result = json!({"Credentials": credentials});
    let answer = json!({"AssumeRoleWithWebIdentityResponse": {"AssumeRoleWithWebIdentityResult": result}});
    let failure = r#"{"Error":{"Code":"InvalidIdentityToken","Message":"bad hidden.web.token"}}"#;
    let server = Server::start(vec![Answer::json(answer.to_string()), Answer::error(400, failure)]);
    let (url, role) = (server.url("/"), "arn:aws:iam::1:role/r");
    let variables = [
        ("AWS_ENDPOINT_URL_STS", url.as_str()),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", &token_file),
        ("AWS_ROLE_ARN", role),
    ];
    let token = fetched("region=a-1", &variables).unwrap();
    assert_eq!(token.principal, "ASIAWEB");
    assert_eq!(
        token.expires_ms / 1000,
        in_minutes(5),
        "not longer than the credentials"
    );
    let request = server.request();
    assert_eq!(request.header("authorization"), None);
    let expected = [
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", "2011-06-15"),
        ("RoleArn", role),
        ("RoleSessionName", "ottla"),
        ("WebIdentityToken", "hidden.web.token"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(request.form(), expected);
    let error = fetched("region=a-1", &variables).unwrap_err();
    let expected = format!(
        "STS AssumeRoleWithWebIdentity at \"{url}\": HTTP status 400 Bad Request: InvalidIdentityToken: bad ***"
    );
    assert_eq!(error, expected);
    let error = fetched("region=a-1", &variables[..2]).unwrap_err();
    assert_eq!(error, "AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not");
}

#[test]
fn a_profile_assumes_a_role_by_a_signed_request() {
    let folder = Folder::new("aws-role");
    let config = "[profile dev]\nrole_arn=arn:aws:iam::1:role/r\nsource_profile=base\nexternal_id=ext\nrole_session_name=me\n\
                  [profile loop]\nrole_arn=r\nsource_profile=back\n[profile back]\nrole_arn=r\nsource_profile=loop\n\
                  [profile base]\naws_access_key_id=BASE\naws_secret_access_key=hidden\naws_session_token=hidden-session\n\
                  [profile process]\ncredential_process=run\n";
    let config = folder.write("config", config);
    let credentials = json!({"AccessKeyId": "ASIAROLE", "SecretAccessKey": "hidden", "SessionToken": "s", "Expiration": iso(in_minutes(60))});
    let answer = json!({"AssumeRoleResponse": {"AssumeRoleResult": {"Credentials": credentials}}});
    let server = Server::start(vec![Answer::json(answer.to_string())]);
    let url = server.url("/");
    let variables = [("AWS_ENDPOINT_URL_STS", url.as_str()), ("AWS_CONFIG_FILE", &config)];
    let token = fetched("region=a-1 profile=dev", &variables).unwrap();
    assert_eq!(token.principal, "ASIAROLE");
    let request = server.request();
    let authorization = request.header("authorization").unwrap();
    let expected = "AWS4-HMAC-SHA256 Credential=BASE/";
    assert!(authorization.starts_with(expected), "{authorization}");
    let names = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, ";
    assert!(authorization.contains(names), "{authorization}");
    assert_eq!(request.header("x-amz-security-token"), Some("hidden-session"));
    let form = request.form();
    for pair in [
        ("Action", "AssumeRole"),
        ("ExternalId", "ext"),
        ("RoleSessionName", "me"),
    ] {
        assert!(form.contains(&(pair.0.to_owned(), pair.1.to_owned())), "{form:?}");
    }
    let error = fetched("region=a-1 profile=loop", &variables).unwrap_err();
    assert!(error.contains("more than 5 profiles"), "{error}");
    let error = fetched("region=a-1 profile=process", &variables).unwrap_err();
    assert_eq!(error, "profile process: credential_process is not supported");
    assert_eq!(server.further(), 0);
}

#[test]
fn containers_have_an_address_and_a_token() {
    let folder = Folder::new("aws-container");
    let body = json!({"AccessKeyId": "ASIATASK", "SecretAccessKey": "hidden", "Token": "s", "Expiration": iso(in_minutes(60))});
    let server = Server::start(vec![Answer::json(body.to_string())]);
    let url = server.url("/creds?x=hidden");
    let file = folder.write("token", "hidden-authorization\n");
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &file),
        ("http_proxy", NOWHERE),
    ];
    assert_eq!(fetched("region=a-1", &variables).unwrap().principal, "ASIATASK");
    assert_eq!(server.request().header("authorization"), Some("hidden-authorization"));
    let elsewhere = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.com/")];
    let error = fetched("region=a-1", &elsewhere).unwrap_err();
    assert!(error.contains("not one of a container"), "{error}");
    let refused = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:9/?x=hidden")];
    let error = fetched("region=a-1", &refused).unwrap_err();
    assert!(
        error.starts_with("container credentials from \"http://127.0.0.1:9/?x=***\": "),
        "{error}"
    );
}

#[test]
fn machines_have_credentials_and_a_region() {
    let plain = |text: &str| Answer::Full(200, "text/plain", text.to_owned());
    let body =
        json!({"AccessKeyId": "ASIAVM", "SecretAccessKey": "hidden", "Token": "s", "Expiration": iso(in_minutes(60))});
    let server = Server::start(vec![
        plain("session-1"),
        plain("eu-west-3"),
        plain("session-2"),
        plain("my role\n"),
        plain(&body.to_string()),
    ]);
    let url = server.url("/");
    let token = fetched(
        "",
        &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url), ("http_proxy", NOWHERE)],
    )
    .unwrap();
    assert_eq!(token.principal, "ASIAVM");
    assert_eq!(parameters(&token).0, "https://kafka.eu-west-3.amazonaws.com/");
    let requests: Vec<_> = (0..5).map(|_| server.request()).collect();
    let lines: Vec<&str> = requests.iter().map(|request| request.line.as_str()).collect();
    let expected = [
        "PUT /latest/api/token HTTP/1.1",
        "GET /latest/meta-data/placement/region HTTP/1.1",
        "PUT /latest/api/token HTTP/1.1",
        "GET /latest/meta-data/iam/security-credentials/ HTTP/1.1",
        "GET /latest/meta-data/iam/security-credentials/my%20role HTTP/1.1",
    ];
    assert_eq!(lines, expected);
    assert_eq!(requests[0].header("x-aws-ec2-metadata-token-ttl-seconds"), Some("60"));
    assert_eq!(requests[4].header("x-aws-ec2-metadata-token"), Some("session-2"));
}

#[test]
fn without_credentials_every_source_is_named() {
    let error = fetched("region=a-1", &[]).unwrap_err();
    for part in [
        "no AWS credentials: AWS_ACCESS_KEY_ID is not set",
        "AWS_WEB_IDENTITY_TOKEN_FILE is not set",
        "profile default: /nowhere/.aws/config: No such file",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is not set",
        "instance metadata: ",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let error = fetched("", &KEYS).unwrap_err();
    assert!(error.starts_with("the region is unknown: set region="), "{error}");
    let error = fetched("region=a-1", &KEYS[..1]).unwrap_err();
    assert_eq!(error, "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not");
    let odd = [KEYS[0], ("AWS_SECRET_ACCESS_KEY", "hid\nden")];
    let error = fetched("region=a-1", &odd).unwrap_err();
    assert!(error.contains("characters that credentials cannot have"), "{error}");
    let mut odd = KEYS.to_vec();
    odd.push(("AWS_REGION", "evil.example/"));
    assert!(fetched("", &odd).unwrap_err().contains("is not valid"));
    let disabled = fetched("region=a-1", &[("AWS_EC2_METADATA_DISABLED", "true")]).unwrap_err();
    assert!(disabled.ends_with("AWS_EC2_METADATA_DISABLED is set"), "{disabled}");
}

#[test]
fn sts_issues_tokens_for_an_audience() {
    let claims = json!({"sub": "arn:aws:iam::1:role/r", "exp": in_minutes(5)});
    let encode = |text: String| BASE64_URL_SAFE_NO_PAD.encode(text);
    let jwt = format!("{}.{}.sig", encode("{}".to_owned()), encode(claims.to_string()));
    let answer = json!({"GetWebIdentityTokenResponse": {"GetWebIdentityTokenResult": {"WebIdentityToken": jwt, "Expiration": 1}}});
    let refused = json!({"Error": {"Code": "AccessDenied", "Message": "no"}}).to_string();
    let server = Server::start(vec![
        Answer::json(answer.to_string()),
        Answer::error(403, &refused),
        Answer::json("{}"),
    ]);
    let config = format!(
        "region=a-1 audience=https://confluent.cloud/oidc duration_seconds=900 signing_algorithm=RS256 sts_endpoint={} \
         extension_logicalCluster=lkc tag_team=platform tag_env=prod",
        server.url("/sts")
    );
    let provider = AwsWebIdentity::with_environment(settings(&config), environment(&KEYS)).unwrap();
    let token = provider.fetch().unwrap();
    assert_eq!(token.value.as_str(), jwt);
    assert_eq!(token.principal, "arn:aws:iam::1:role/r");
    assert_eq!(token.extensions, [("logicalCluster".to_owned(), "lkc".to_owned())]);
    let request = server.request();
    assert_eq!(request.line, "POST /sts HTTP/1.1");
    let expected = [
        ("Action", "GetWebIdentityToken"),
        ("Version", "2011-06-15"),
        ("Audience.member.1", "https://confluent.cloud/oidc"),
        ("DurationSeconds", "900"),
        ("SigningAlgorithm", "RS256"),
        ("Tags.member.1.Key", "team"),
        ("Tags.member.1.Value", "platform"),
        ("Tags.member.2.Key", "env"),
        ("Tags.member.2.Value", "prod"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(request.form(), expected);
    assert!(
        request
            .header("authorization")
            .unwrap()
            .contains("/a-1/sts/aws4_request")
    );
    let error = provider.fetch().unwrap_err().0;
    assert!(
        error.ends_with("HTTP status 403 Forbidden: AccessDenied: no"),
        "{error}"
    );
    let error = provider.fetch().unwrap_err().0;
    assert!(
        error.ends_with("the answer has no GetWebIdentityTokenResponse"),
        "{error}"
    );
}

#[test]
fn the_audience_selects_the_kind_of_token() {
    let kind = |config: &str| format!("{:?}", aws_iam(settings(config)).unwrap());
    assert!(kind("region=a-1 audience=b").starts_with("AwsWebIdentity"));
    assert!(kind("region=a-1").starts_with("MskIam"));
    assert!(kind("").starts_with("MskIam"));
}

#[test]
fn settings_at_fault_are_named() {
    for (config, text) in [
        ("region", "empty 'region='"),
        ("region=a region=b", "multiple 'region='"),
        ("secret=hidden", "unknown key secret"),
        ("region=a/b", "region is not a region of AWS"),
        ("region=a/b audience=c", "region is not a region of AWS"),
        ("audience=a duration_seconds=59", "duration_seconds must be"),
        ("audience=a signing_algorithm=none", "signing_algorithm must be"),
        (
            "duration_seconds=60",
            "duration_seconds is only for tokens with an audience",
        ),
        ("tag_a=b", "tags are only for"),
        ("audience=a tag_=b", "tags need a name"),
        ("extension_auth=b", "it is the token's"),
        ("extension_a=b extension_a=c", "multiple 'extension_a='"),
    ] {
        let error = aws_iam(settings(config)).unwrap_err().0;
        let start = "Invalid sasl.oauthbearer.config: ";
        assert!(error.starts_with(start) && error.contains(text), "{config}: {error}");
        assert!(!error.contains("hidden"));
    }
    let mut trust = settings("");
    trust.trust = HttpsTrust {
        ca_location: Some("/nowhere".to_owned()),
        ca_pem: None,
    };
    assert!(aws_iam(trust).unwrap_err().0.starts_with("Invalid https.ca.location"));
}

#[test]
fn a_machine_without_the_service_costs_little_time() {
    let server = Server::start(vec![Answer::Silence]);
    let url = server.url("/");
    let provider = msk("region=a-1", &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url)]);
    let begin = std::time::Instant::now();
    provider
        .fetch_within(Deadline::after(Duration::from_secs(20)))
        .unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(15));
}
