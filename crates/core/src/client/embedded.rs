//! The embedded cluster of `test.mock.num.brokers`.

use std::sync::Arc;

use ottla_mock::{ClusterConfig, EmbeddedCluster};

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
pub(super) fn start(conf: &mut ClientConfig) -> Result<Option<EmbeddedCluster>, Error> {
    let brokers = i32::try_from(conf.test_mock_num_brokers).unwrap_or(0);
    if brokers <= 0 {
        return Ok(None);
    }
    let defaults = ClusterConfig::default();
    // The brokers accept every batch that the client's own limit allows, its framing included.
    let own_batch = i32::try_from(conf.message_max_bytes)
        .unwrap_or(i32::MAX)
        .saturating_add(1024);
    let embedded = EmbeddedCluster::start(ClusterConfig {
        brokers,
        message_max_bytes: defaults.message_max_bytes.max(own_batch),
        socket_request_max_bytes: defaults
            .socket_request_max_bytes
            .max(usize::try_from(own_batch).unwrap_or(0).saturating_add(1 << 20)),
        ..defaults
    })
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
    Ok(Some(embedded))
}
