//! Properties of plugins, interceptors and the embedded cluster.

/// Passes its rows to the macro of the next table.
macro_rules! extension_rows {
    ($next:ident $($more:ident)* ; $($rows:tt)*) => { $next! { $($more)* ; $($rows)*

"plugin.library.paths" plugin_library_paths: String = text() =>
    "Plugins to load into the client, separated by `;`.";
"interceptors" interceptors: usize = pointer("rd_kafka_conf_interceptor_add_on_new") =>
    "Interceptors that plugins or the application have added.";
"test.mock.num.brokers" test_mock_num_brokers: u32 = int(0, 10_000, 0).count().hidden() =>
    "Start an embedded cluster of this many brokers and use it in place of `bootstrap.servers`, without encryption \
     unless `test.mock.ssl` is set. For demos and tests; 0 starts none. It accepts messages as large as the client's \
     `message.max.bytes` allows.";
"test.mock.broker.rtt" test_mock_broker_rtt: u32 = int(0, 3_600_000, 0).ms().hidden() =>
    "Round-trip time that the brokers of the embedded cluster simulate.";
"test.mock.ssl" test_mock_ssl: bool = switch(false).hidden() =>
    "The brokers of the embedded cluster speak TLS, and the client uses `security.protocol=ssl`. Their certificate is \
     generated, and the client trusts it if it has no `ssl.ca.*`; with `test.mock.ssl.certificate.location` and \
     `test.mock.ssl.key.location` it is read from files. Not in librdkafka.";
"test.mock.ssl.certificate.location" test_mock_ssl_certificate_location: String = text().hidden() =>
    "File (PEM) with the certificate chain of the embedded cluster's brokers, for `test.mock.ssl`. Not in librdkafka.";
"test.mock.ssl.key.location" test_mock_ssl_key_location: String = text().hidden() =>
    "File (PEM) with the private key of `test.mock.ssl.certificate.location`. Not in librdkafka.";
"test.mock.ssl.client.ca.location" test_mock_ssl_client_ca_location: String = text().hidden() =>
    "File (PEM) with the authorities of client certificates, which the embedded cluster's brokers then require. For \
     `test.mock.ssl`. Not in librdkafka.";
"test.mock.sasl.mechanisms" test_mock_sasl_mechanisms: String = text().hidden() =>
    "SASL mechanisms of the embedded cluster's brokers, separated by commas: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, \
     OAUTHBEARER, which accepts unsecured tokens. With one of them the client uses `security.protocol=sasl_plaintext`, or \
     `sasl_ssl` with `test.mock.ssl`. Not in librdkafka.";
"test.mock.sasl.users" test_mock_sasl_users: Secret = text().hidden().sensitive() =>
    "Users of the embedded cluster's brokers for PLAIN and SCRAM: `name:password`, separated by commas. The password \
     begins after the first colon. For `test.mock.sasl.mechanisms`. Not in librdkafka.";
"test.mock.sasl.max.reauth.ms" test_mock_sasl_max_reauth_ms: u32 = int(0, 86_400_000, 0).ms().hidden() =>
    "Time after which the embedded cluster's brokers require clients to authenticate again \
     (`connections.max.reauth.ms`); 0 for never. For `test.mock.sasl.mechanisms`. Not in librdkafka.";
"ut_handle_ProduceResponse" ut_handle_produce_response: usize = pointer("").hidden() =>
    "Hook of another library's unit tests. Cannot be set.";

    } };
}
pub(super) use extension_rows;
