//! Acquires a token and prints its attributes, one a line:
//!
//! ```text
//! token oidc token.endpoint.url=http://localhost:8080/token client.id=app client.secret=secret
//! token aws_iam config="region=eu-north-1"
//! token azure_imds config="query=api-version=2018-02-01&resource=api://app"
//! token unsecured config="principal=alice"
//! ```
//!
//! The arguments are properties without the prefix `sasl.oauthbearer.`, and `https.ca.location`.

use std::process::ExitCode;

use ottla_tokens::{
    Algorithm, AwsSettings, AzureImds, AzureImdsSettings, Grant, HttpsTrust, Oidc, OidcSettings, Token, TokenProvider,
    UnsecuredJwt, aws_iam,
};

type Provider = Box<dyn TokenProvider>;

fn main() -> ExitCode {
    match run() {
        Ok(token) => {
            println!("value {}", token.value.as_str());
            println!("expires_ms {}", token.expires_ms);
            println!("principal {}", token.principal);
            for (key, value) in &token.extensions {
                println!("extension {key} {value}");
            }
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<Token, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (kind, pairs) = arguments.split_first().ok_or("usage: token KIND [PROPERTY=VALUE]...")?;
    let mut properties = Vec::new();
    for pair in pairs {
        let (name, value) = pair.split_once('=').ok_or_else(|| format!("{pair}: no ="))?;
        properties.push((name, value.to_owned()));
    }
    let provider = provider(kind, &properties)?;
    provider.fetch().map_err(|error| error.0)
}

fn provider(kind: &str, properties: &[(&str, String)]) -> Result<Provider, String> {
    let get = |name: &str| {
        let found = properties.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| value.clone())
    };
    let trust = HttpsTrust {
        ca_location: get("https.ca.location"),
        ca_pem: None,
    };
    let created: Result<Provider, _> = match kind {
        "oidc" => Oidc::new(oidc(&get, trust)).map(|it| Box::new(it) as Provider),
        "aws_iam" => aws_iam(AwsSettings {
            config: get("config"),
            extensions: get("extensions"),
            trust,
        }),
        "azure_imds" => AzureImds::new(AzureImdsSettings {
            config: get("config"),
            token_endpoint_url: get("token.endpoint.url"),
            extensions: get("extensions"),
            subject_claim: get("sub.claim.name"),
            trust,
        })
        .map(|it| Box::new(it) as Provider),
        "unsecured" => UnsecuredJwt::new(&get("config").unwrap_or_default()).map(|it| Box::new(it) as Provider),
        _ => return Err(format!("{kind}: unknown kind")),
    };
    created.map_err(|error| error.0)
}

fn oidc(get: &dyn Fn(&str) -> Option<String>, trust: HttpsTrust) -> OidcSettings {
    let mut settings = OidcSettings {
        token_endpoint_url: get("token.endpoint.url").unwrap_or_default(),
        grant: match get("grant.type").as_deref() {
            Some("urn:ietf:params:oauth:grant-type:jwt-bearer") => Grant::JwtBearer,
            _ => Grant::ClientCredentials,
        },
        client_id: get("client.id"),
        client_secret: get("client.secret").map(Into::into),
        scope: get("scope"),
        extensions: get("extensions"),
        subject_claim: get("sub.claim.name"),
        trust,
        ..OidcSettings::default()
    };
    let assertion = &mut settings.assertion;
    if get("assertion.algorithm").as_deref() == Some("ES256") {
        assertion.algorithm = Algorithm::Es256;
    }
    assertion.private_key_file = get("assertion.private.key.file");
    assertion.private_key_passphrase = get("assertion.private.key.passphrase").map(Into::into);
    assertion.file = get("assertion.file");
    assertion.template_file = get("assertion.jwt.template.file");
    assertion.aud = get("assertion.claim.aud");
    assertion.iss = get("assertion.claim.iss");
    assertion.sub = get("assertion.claim.sub");
    assertion.jti = get("assertion.claim.jti.include").as_deref() == Some("true");
    settings
}
