//! The assignment of groups to coordinators.

use ottla_protocol::ErrorCode;

use crate::{Cluster, ClusterConfig, CoordinatorKind};

#[test]
fn next_broker_takes_over_when_the_coordinator_stops() {
    let mut cluster = Cluster::new(ClusterConfig::default());
    let kind = CoordinatorKind::Group;
    let first = cluster.coordinator(kind, "g").unwrap();
    cluster.stop_broker(first);
    let second = cluster.coordinator(kind, "g").unwrap();
    assert_ne!(first, second);
    assert_eq!(
        cluster.state.check_group_coordinator(first, "g"),
        Err(ErrorCode::NOT_COORDINATOR)
    );
    cluster.start_broker(first);
    assert_eq!(cluster.coordinator(kind, "g"), Some(first));
    cluster.set_coordinator(kind, "g", second);
    assert_eq!(cluster.coordinator(kind, "g"), Some(second));
}

#[test]
fn coordinator_error_answers_until_cleared() {
    let mut cluster = Cluster::new(ClusterConfig::default());
    let kind = CoordinatorKind::Group;
    let broker = cluster.coordinator(kind, "g").unwrap();
    let loading = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
    cluster.set_coordinator_error(kind, "g", Some(loading));
    assert_eq!(cluster.state.check_group_coordinator(broker, "g"), Err(loading));
    assert_eq!(cluster.state.check_group_coordinator(broker, "h").err(), {
        (cluster.coordinator(kind, "h") != Some(broker)).then_some(ErrorCode::NOT_COORDINATOR)
    });
    cluster.set_coordinator_error(kind, "g", None);
    assert_eq!(cluster.state.check_group_coordinator(broker, "g"), Ok(()));
}
