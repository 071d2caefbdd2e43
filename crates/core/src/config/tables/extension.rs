//! Properties of plugins, interceptors and the embedded cluster.

/// Passes its rows to the macro of the next table.
macro_rules! extension_rows {
    ($next:ident $($more:ident)* ; $($rows:tt)*) => { $next! { $($more)* ; $($rows)*

"plugin.library.paths" plugin_library_paths: String = text() =>
    "Plugins to load into the client, separated by `;`.";
"interceptors" interceptors: usize = pointer("rd_kafka_conf_interceptor_add_on_new") =>
    "Interceptors that plugins or the application have added.";
"test.mock.num.brokers" test_mock_num_brokers: u32 = int(0, 10_000, 0).count().hidden() =>
    "Start an embedded cluster of this many brokers and use it in place of `bootstrap.servers`, without encryption. \
     For demos and tests; 0 starts none. It accepts messages as large as the client's `message.max.bytes` allows.";
"test.mock.broker.rtt" test_mock_broker_rtt: u32 = int(0, 3_600_000, 0).ms().hidden() =>
    "Round-trip time that the brokers of the embedded cluster simulate.";
"ut_handle_ProduceResponse" ut_handle_produce_response: usize = pointer("").hidden() =>
    "Hook of another library's unit tests. Cannot be set.";

    } };
}
pub(super) use extension_rows;
