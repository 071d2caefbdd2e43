//! The rules of the security properties.

use super::conf::Conf;
use super::refusal::refuse;
use super::tables::Prop;
use crate::error::Error;

/// Checks the rules between security properties.
pub(super) fn check(conf: &Conf) -> Result<(), Error> {
    check_certificates(conf)?;
    let protocol = conf.choice(Prop::security_protocol);
    if protocol.as_str().ends_with("ssl") {
        check_openssl(conf)?;
    }
    if protocol.as_str().starts_with("sasl_") {
        check_mechanism(conf)?;
    }
    if conf.text(Prop::sasl_mechanisms) == "OAUTHBEARER" {
        check_oauthbearer(conf)?;
    }
    Ok(())
}

/// Refuses extensions of OpenSSL, which is not the TLS of this library.
fn check_openssl(conf: &Conf) -> Result<(), Error> {
    const INSTEAD: &str = "not with this library, whose TLS is not OpenSSL: set ssl.key.location and \
                           ssl.certificate.location, or ssl.keystore.location";
    let engine = conf.text(Prop::ssl_engine_location);
    if !engine.is_empty() {
        return Err(refuse("ssl.engine.location", engine, INSTEAD));
    }
    if conf.is_pointer_set(Prop::ssl_engine_callback_data) {
        return Err(refuse("ssl_engine_callback_data", "(set)", INSTEAD));
    }
    let id = conf.text(Prop::ssl_engine_id);
    if id != "dynamic" && !id.is_empty() {
        return Err(refuse("ssl.engine.id", id, INSTEAD));
    }
    let providers = conf.text(Prop::ssl_providers);
    let known = |name: &str| matches!(name.trim(), "" | "default" | "legacy" | "base");
    match providers.split(',').find(|name| !known(name)) {
        Some(_) => Err(refuse(
            "ssl.providers",
            providers,
            "only default and legacy: the TLS of this library is not OpenSSL",
        )),
        None => Ok(()),
    }
}

fn check_certificates(conf: &Conf) -> Result<(), Error> {
    let keystore = conf.text(Prop::ssl_keystore_location);
    if !keystore.is_empty() && conf.text(Prop::ssl_keystore_password).is_empty() {
        return Err(refuse(
            "ssl.keystore.location",
            keystore,
            "only with ssl.keystore.password",
        ));
    }
    let in_files = !conf.text(Prop::ssl_ca_location).is_empty() || !conf.text(Prop::ssl_ca_pem).is_empty();
    if conf.is_pointer_set(Prop::ssl_ca) && in_files {
        return Err(Error::invalid_arg(
            "certificates of authorities from memory are not allowed together with ssl.ca.location or ssl.ca.pem",
        ));
    }
    let location = conf.text(Prop::https_ca_location);
    if !location.is_empty() && !conf.text(Prop::https_ca_pem).is_empty() {
        return Err(refuse("https.ca.location", location, "not together with https.ca.pem"));
    }
    Ok(())
}

fn check_mechanism(conf: &Conf) -> Result<(), Error> {
    const NAME: &str = "sasl.mechanisms";
    let mechanism = conf.text(Prop::sasl_mechanisms);
    let has_password = !conf.text(Prop::sasl_username).is_empty() && !conf.text(Prop::sasl_password).is_empty();
    match mechanism {
        "GSSAPI" => check_kinit(conf),
        "OAUTHBEARER" => Ok(()),
        "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512" if has_password => Ok(()),
        "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512" => {
            Err(refuse(NAME, mechanism, "only with sasl.username and sasl.password"))
        }
        _ => Err(refuse(
            NAME,
            mechanism,
            "only GSSAPI, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER",
        )),
    }
}

/// Checks that each `%{...}` in the kinit command names a property.
fn check_kinit(conf: &Conf) -> Result<(), Error> {
    if conf.int(Prop::sasl_kerberos_min_time_before_relogin) == 0 {
        return Ok(());
    }
    let command = conf.text(Prop::sasl_kerberos_kinit_cmd);
    let mut rest = command;
    while let Some((_, after)) = rest.split_once("%{") {
        let Some((variable, after)) = after.split_once('}') else {
            return Err(refuse("sasl.kerberos.kinit.cmd", command, "a %{ has no }"));
        };
        if !conf.knows(variable) {
            let allowed = format!("%{{{variable}}} names no property");
            return Err(refuse("sasl.kerberos.kinit.cmd", command, &allowed));
        }
        rest = after;
    }
    Ok(())
}

fn check_oauthbearer(conf: &Conf) -> Result<(), Error> {
    let unsecured = conf.bool(Prop::enable_sasl_oauthbearer_unsecure_jwt);
    let oidc = conf.choice(Prop::sasl_oauthbearer_method) == "oidc";
    if unsecured && (oidc || conf.is_pointer_set(Prop::oauthbearer_token_refresh_cb)) {
        return Err(refuse(
            "enable.sasl.oauthbearer.unsecure.jwt",
            true,
            "neither with a token refresh callback nor with sasl.oauthbearer.method=oidc",
        ));
    }
    if !oidc {
        return Ok(());
    }
    check_token_endpoint(conf)?;
    match conf.choice(Prop::sasl_oauthbearer_grant_type) == "client_credentials" {
        true => check_client_credentials(conf),
        false => check_assertion(conf),
    }
}

fn check_token_endpoint(conf: &Conf) -> Result<(), Error> {
    if !conf.text(Prop::sasl_oauthbearer_token_endpoint_url).is_empty() {
        return Ok(());
    }
    let cloud = conf.choice(Prop::sasl_oauthbearer_metadata_authentication_type);
    match cloud.as_str() {
        "none" => Err(Error::invalid_arg(
            "sasl.oauthbearer.token.endpoint.url is not set: sasl.oauthbearer.method=oidc needs it",
        )),
        "azure_imds" if !conf.text(Prop::sasl_oauthbearer_config).contains("query=") => Err(refuse(
            "sasl.oauthbearer.metadata.authentication.type",
            cloud,
            "only with sasl.oauthbearer.token.endpoint.url or query= in sasl.oauthbearer.config",
        )),
        _ => Ok(()),
    }
}

fn check_client_credentials(conf: &Conf) -> Result<(), Error> {
    if conf.choice(Prop::sasl_oauthbearer_metadata_authentication_type) != "none" {
        return Ok(());
    }
    if conf.text(Prop::sasl_oauthbearer_client_id).is_empty() {
        return Err(Error::invalid_arg(
            "sasl.oauthbearer.client.id is not set: sasl.oauthbearer.grant.type=client_credentials needs it",
        ));
    }
    let has_assertion = [
        Prop::sasl_oauthbearer_assertion_private_key_file,
        Prop::sasl_oauthbearer_assertion_private_key_pem,
        Prop::sasl_oauthbearer_assertion_file,
    ]
    .into_iter()
    .any(|p| !conf.text(p).is_empty());
    match (
        conf.text(Prop::sasl_oauthbearer_client_secret).is_empty(),
        has_assertion,
    ) {
        (true, false) => Err(Error::invalid_arg(
            "sasl.oauthbearer.client.secret is not set: sasl.oauthbearer.grant.type=client_credentials needs it, or a private \
             key or file of an assertion (sasl.oauthbearer.assertion.*)",
        )),
        (true, true) => check_assertion(conf),
        (false, _) => Ok(()),
    }
}

fn check_assertion(conf: &Conf) -> Result<(), Error> {
    let file = conf.text(Prop::sasl_oauthbearer_assertion_file);
    let key_file = conf.text(Prop::sasl_oauthbearer_assertion_private_key_file);
    let key_pem = conf.text(Prop::sasl_oauthbearer_assertion_private_key_pem);
    if !key_file.is_empty() && !key_pem.is_empty() {
        return Err(Error::invalid_arg(
            "sasl.oauthbearer.assertion.private.key.file and sasl.oauthbearer.assertion.private.key.pem \
             are not allowed together",
        ));
    }
    if file.is_empty() {
        return match key_file.is_empty() && key_pem.is_empty() {
            true => Err(Error::invalid_arg(
                "neither sasl.oauthbearer.assertion.file nor a private key is set: \
                 sasl.oauthbearer.grant.type=urn:ietf:params:oauth:grant-type:jwt-bearer needs one",
            )),
            false => Ok(()),
        };
    }
    const MAKES_ONE: &[&str] = &["private.key.", "jwt.template.file", "claim."];
    let maker = conf.explicit().find(|p| {
        let part = p.name.strip_prefix("sasl.oauthbearer.assertion.");
        part.is_some_and(|part| MAKES_ONE.iter().any(|prefix| part.starts_with(prefix)))
    });
    match maker {
        Some(property) => Err(refuse(
            "sasl.oauthbearer.assertion.file",
            file,
            &format!("not together with {}", property.name),
        )),
        None => Ok(()),
    }
}
