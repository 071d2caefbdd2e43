//! The embedded cluster of `test.mock.num.brokers`.

use std::sync::Arc;

use ottla_mock::{ClusterConfig, EmbeddedCluster, SaslConfig, SaslMechanism, SaslUser, ShareGroupConfig};
use ottla_tls::{Certificates, ServerIdentity, ServerTls, material};

use crate::config::ClientConfig;
use crate::error::Error;
use crate::log::{DebugContexts, Logger};

/// Logs the cluster's requests under `debug=mock`, as long as the log exists.
pub(super) fn log_requests(embedded: &EmbeddedCluster, log: &Arc<Logger>) {
    let (context, servers) = (DebugContexts::MOCK, || embedded.bootstrap_servers());
    log.debug(context, "MOCK", || {
        format!("an embedded cluster listens at {}", servers())
    });
    if log.debugs(context) {
        // A weak reference: the cluster may outlive the client's log.
        let log = Arc::downgrade(log);
        embedded.with(|cluster| {
            cluster.observe(move |line| {
                if let Some(log) = log.upgrade() {
                    log.debug(context, "MOCK", || line);
                }
            });
        });
    }
}

/// Starts the cluster of `test.mock.num.brokers` and sets `bootstrap.servers` to its brokers; `None` when the property is 0.
/// Also returns the CA of a generated certificate (`test.mock.ssl`).
pub(super) fn start(conf: &mut ClientConfig) -> Result<(Option<EmbeddedCluster>, Option<Certificates>), Error> {
    let brokers = i32::try_from(conf.test_mock_num_brokers).unwrap_or(0);
    if brokers <= 0 {
        return Ok((None, None));
    }
    let (tls, ca) = if conf.test_mock_ssl {
        server_tls(conf)?
    } else {
        (None, None)
    };
    let defaults = ClusterConfig::default();
    // The brokers accept every batch that the client's own limit allows, its framing included.
    let own_batch = i32::try_from(conf.message_max_bytes)
        .unwrap_or(i32::MAX)
        .saturating_add(1024);
    let config = ClusterConfig {
        brokers,
        message_max_bytes: defaults.message_max_bytes.max(own_batch),
        socket_request_max_bytes: defaults
            .socket_request_max_bytes
            .max(usize::try_from(own_batch).unwrap_or(0).saturating_add(1 << 20)),
        sasl: sasl(conf)?,
        // The first member of a share group is assigned its partitions at once.
        share_groups: ShareGroupConfig {
            state_initialization_us: None,
            ..ShareGroupConfig::default()
        },
        ..defaults
    };
    let started = match tls {
        None => EmbeddedCluster::start(config),
        Some(tls) => EmbeddedCluster::start_with_tls(config, tls),
    };
    let embedded = started
        .map_err(|e| Error::system_resource("the embedded cluster of test.mock.num.brokers did not start", &e))?;
    if conf.test_mock_broker_rtt > 0 {
        let micros = u64::from(conf.test_mock_broker_rtt) * 1000;
        embedded.with(|cluster| {
            for id in cluster.broker_ids().collect::<Vec<_>>() {
                cluster.set_round_trip_us(id, micros);
            }
        });
    }
    conf.bootstrap_servers = embedded.bootstrap_servers();
    Ok((Some(embedded), ca))
}

/// Returns the authentication of the embedded cluster (`test.mock.sasl.*`), `None` without mechanisms.
fn sasl(conf: &ClientConfig) -> Result<Option<SaslConfig>, Error> {
    let items = |list: &str| -> Vec<String> {
        let parts = list.split(',').filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    let mut mechanisms = Vec::new();
    for name in items(&conf.test_mock_sasl_mechanisms) {
        let known = || SaslMechanism::ALL.map(SaslMechanism::name).join(", ");
        let unknown = || format!("test.mock.sasl.mechanisms: \"{name}\" is none of {}", known());
        mechanisms.push(SaslMechanism::from_name(name.trim()).ok_or_else(|| Error::invalid_arg(unknown()))?);
    }
    if mechanisms.is_empty() {
        return Ok(None);
    }
    let mut users = Vec::new();
    for user in items(&conf.test_mock_sasl_users) {
        let Some((name, password)) = user.split_once(':').filter(|(name, _)| !name.is_empty()) else {
            let text = "test.mock.sasl.users must consist of name:password, separated by commas";
            return Err(Error::invalid_arg(text.to_owned()));
        };
        users.push(SaslUser::new(name, password));
    }
    Ok(Some(SaslConfig {
        mechanisms,
        users,
        max_reauth_ms: conf.test_mock_sasl_max_reauth_ms.into(),
        ..SaslConfig::default()
    }))
}

/// Returns the TLS of the embedded cluster, and the CA of a certificate that was generated for it.
fn server_tls(conf: &ClientConfig) -> Result<(Option<Arc<ServerTls>>, Option<Certificates>), Error> {
    const GENERATED: &str = "test.mock.ssl";
    const LOCATION: &str = "test.mock.ssl.certificate.location";
    let fail = |property: &str, text: String| Error::invalid_arg(format!("{property} failed: {text}"));
    if conf.test_mock_ssl_certificate_location.is_empty() {
        let (tls, ca) = ServerTls::generated(&["127.0.0.1", "localhost"]).map_err(|e| fail(GENERATED, e))?;
        return Ok((Some(Arc::new(tls)), Some(Arc::new(vec![ca]))));
    }
    let read = |property: &str, path: &str| std::fs::read(path).map_err(|e| fail(property, format!("{path}: {e}")));
    let chain = read(LOCATION, &conf.test_mock_ssl_certificate_location)?;
    let chain = material::certificates_from_pem(&chain).map_err(|e| fail(LOCATION, e.to_string()))?;
    const KEY: &str = "test.mock.ssl.key.location";
    let key = read(KEY, &conf.test_mock_ssl_key_location)?;
    let key = material::private_key_from_pem(&key, None).map_err(|e| fail(KEY, e.to_string()))?;
    let client_cas = match conf.test_mock_ssl_client_ca_location.as_str() {
        "" => Vec::new(),
        path => {
            const CA: &str = "test.mock.ssl.client.ca.location";
            let cas = read(CA, path)?;
            material::certificates_from_pem(&cas).map_err(|e| fail(CA, e.to_string()))?
        }
    };
    let identity = ServerIdentity { chain, key, client_cas };
    let tls = ServerTls::new(identity).map_err(|e| fail(LOCATION, e))?;
    Ok((Some(Arc::new(tls)), None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Conf;

    fn conf(mechanisms: &str, users: &str) -> ClientConfig {
        let mut conf = Conf::new();
        for (name, value) in [
            ("test.mock.sasl.mechanisms", mechanisms),
            ("test.mock.sasl.users", users),
            ("test.mock.sasl.max.reauth.ms", "5000"),
        ] {
            conf.set(name, value).unwrap();
        }
        conf.client_config()
    }

    #[test]
    fn mechanisms_and_users_are_lists() {
        let sasl = sasl(&conf("SCRAM-SHA-256, PLAIN", "alice:se:cret,bob:"))
            .unwrap()
            .unwrap();
        assert_eq!(sasl.mechanisms, [SaslMechanism::ScramSha256, SaslMechanism::Plain]);
        assert_eq!(
            sasl.users,
            [SaslUser::new("alice", "se:cret"), SaslUser::new("bob", "")]
        );
        assert_eq!(sasl.max_reauth_ms, 5000);
    }

    #[test]
    fn brokers_have_no_sasl_without_mechanisms() {
        assert!(sasl(&conf("", "alice:secret")).unwrap().is_none());
    }

    #[test]
    fn errors_name_the_property_and_no_password() {
        let error = sasl(&conf("PLAIN,GSSAPI", "")).unwrap_err();
        let expected =
            "test.mock.sasl.mechanisms: \"GSSAPI\" is none of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER";
        assert_eq!(error.message, expected);
        for users in ["secret", ":secret", "a:b,secret"] {
            let error = sasl(&conf("PLAIN", users)).unwrap_err();
            assert!(
                error.message.starts_with("test.mock.sasl.users must"),
                "{}",
                error.message
            );
            assert!(!error.message.contains("secret"));
        }
    }
}
