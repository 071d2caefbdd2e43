//! Brokers: up and down, addresses, delays, racks; brokers that join and leave the cluster.

use ottla_core::error::ErrorCode;
use ottla_mock::{AddBrokerError, BrokerId, Cluster};

use super::errors::check_broker;
use super::note;
use crate::ffi::exports;
use crate::mock_cluster::MockCluster;

/// Changes one broker, or all with -1.
fn change_brokers(cluster: &mut Cluster, id: i32, change: impl Fn(&mut Cluster, BrokerId)) -> Result<(), ErrorCode> {
    let changed = match id {
        -1 => cluster.broker_ids().collect(),
        _ => {
            check_broker(cluster, BrokerId(id), ErrorCode::BROKER_NOT_AVAILABLE)?;
            vec![BrokerId(id)]
        }
    };
    for broker in changed {
        change(cluster, broker);
    }
    Ok(())
}

fn code(outcome: Result<Result<(), ErrorCode>, ErrorCode>) -> ErrorCode {
    outcome.flatten().err().unwrap_or(ErrorCode::NO_ERROR)
}

/// Takes brokers down or up. Returns when their ports are closed or open.
fn set_down(mcluster: &MockCluster, id: i32, down: bool) -> ErrorCode {
    let brokers = mcluster.brokers();
    code(brokers.map(|brokers| {
        brokers.with_sockets(|cluster| change_brokers(cluster, id, |c, broker| c.set_broker_down(broker, down)))
    }))
}

fn add(mcluster: &MockCluster, id: i32) -> Result<(), ErrorCode> {
    let brokers = mcluster.brokers()?;
    brokers.add_broker(BrokerId(id)).map_err(|error| match error {
        AddBrokerError::InvalidId => ErrorCode::L_INVALID_ARG,
        AddBrokerError::System(_) => ErrorCode::L_CRIT_SYS_RESOURCE,
    })?;
    brokers.with(|cluster| cluster.reassign_partitions());
    Ok(())
}

exports! {
    /// Closes a broker's connections and port.
    fn rd_kafka_mock_broker_set_down(mcluster: &MockCluster, broker_id: i32)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        set_down(mcluster, broker_id, true)
    }

    /// Opens a broker's port again.
    fn rd_kafka_mock_broker_set_up(mcluster: &MockCluster, broker_id: i32)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        set_down(mcluster, broker_id, false)
    }

    /// Sets the advertised address of a broker.
    fn rd_kafka_mock_broker_set_host_port(mcluster: &MockCluster, broker_id: i32, host: &str, port: i32) {
        let Ok(port) = u16::try_from(port) else {
            return note(Err(ErrorCode::L_INVALID_ARG));
        };
        let set = mcluster.with(|cluster| change_brokers(cluster, broker_id, |c, b| c.set_address(b, host, port)));
        note(set.flatten());
    }

    /// Sets the delay of a broker's responses.
    fn rd_kafka_mock_broker_set_rtt(mcluster: &MockCluster, broker_id: i32, rtt_ms: i32)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let Ok(rtt_ms) = u64::try_from(rtt_ms) else {
            return ErrorCode::L_INVALID_ARG;
        };
        code(mcluster.with(|cluster| {
            change_brokers(cluster, broker_id, |c, b| c.set_round_trip_us(b, rtt_ms.saturating_mul(1000)))
        }))
    }

    /// Sets a broker's rack.
    fn rd_kafka_mock_broker_set_rack(mcluster: &MockCluster, broker_id: i32, rack: Option<&str>)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        code(mcluster.with(|cluster| change_brokers(cluster, broker_id, |c, b| c.set_rack(b, rack))))
    }

    /// Removes a broker from the cluster.
    fn rd_kafka_mock_broker_decommission(mcluster: &MockCluster, broker_id: i32)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        super::code(mcluster.brokers().map(|brokers| {
            brokers.with_sockets(|cluster| {
                cluster.remove_broker(BrokerId(broker_id))?;
                cluster.reassign_partitions();
                Ok(())
            })
        }))
    }

    /// Removes a broker from Metadata.
    fn rd_kafka_mock_broker_remove_from_metadata(mcluster: &MockCluster, broker_id: i32)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        code(mcluster.with(|cluster| {
            check_broker(cluster, BrokerId(broker_id), ErrorCode::BROKER_NOT_AVAILABLE)?;
            cluster.hide_broker(BrokerId(broker_id), true);
            Ok(())
        }))
    }

    /// Adds a broker to the cluster.
    fn rd_kafka_mock_broker_add(mcluster: &MockCluster, broker_id: i32)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        add(mcluster, broker_id).err().unwrap_or(ErrorCode::NO_ERROR)
    }

    /// Sets the controller in Metadata.
    fn rd_kafka_mock_set_controller_id(mcluster: &MockCluster, controller_id: i32) {
        note(mcluster.with(|cluster| cluster.set_controller(BrokerId(controller_id))));
    }
}
