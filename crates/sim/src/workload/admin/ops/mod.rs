//! The table of operations: one row for each, by area.

mod acls;
mod cluster;
mod configs;
mod groups;
mod records;
mod scram;
mod topics;

use super::ask::Asked;
use super::draw::Draw;

/// The names under which the calls of an operation are counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counters {
    pub(super) done: &'static str,
    pub(super) failed: &'static str,
    pub(super) unknown: &'static str,
}

/// An operation of the workload.
pub(super) struct OperationRow {
    pub(super) name: &'static str,
    pub(super) counters: Counters,
    /// Probability that the operation is called when it is drawn.
    pub(super) weight: f64,
    /// Draws a call; `None` when there is nothing to call it for.
    pub(super) draw: fn(&mut Draw<'_>) -> Option<Box<dyn Asked>>,
}

macro_rules! operations {
    ($($name:literal $weight:literal $draw:path;)*) => {
        &[$(OperationRow {
            name: $name,
            counters: Counters {
                done: concat!($name, " done"),
                failed: concat!($name, " failed"),
                unknown: concat!($name, " unknown"),
            },
            weight: $weight,
            draw: $draw,
        }),*]
    };
}

/// All operations.
pub(super) const OPERATIONS: &[OperationRow] = operations! {
    "CreateTopics" 1.0 topics::create;
    "CreatePartitions" 1.0 topics::grow;
    "DeleteTopics" 0.4 topics::delete;
    "DescribeTopics" 0.7 topics::describe;
    "DeleteRecords" 1.0 records::delete;
    "ListOffsets" 0.7 records::list_offsets;
    "AlterConfigs" 0.6 configs::replace;
    "IncrementalAlterConfigs" 1.0 configs::change_some;
    "DescribeConfigs" 0.7 configs::describe;
    "CreateAcls" 1.0 acls::create;
    "DeleteAcls" 0.7 acls::delete;
    "DescribeAcls" 0.7 acls::describe;
    "AlterUserScramCredentials" 0.4 scram::alter;
    "DescribeUserScramCredentials" 0.7 scram::describe;
    "AlterConsumerGroupOffsets" 1.0 groups::alter_offsets;
    "ListConsumerGroupOffsets" 0.7 groups::list_offsets;
    "DeleteConsumerGroupOffsets" 0.8 groups::delete_offsets;
    "DeleteGroups" 0.5 groups::delete;
    "DescribeConsumerGroups" 0.7 groups::describe;
    "ListConsumerGroups" 0.7 groups::list;
    "DescribeCluster" 0.7 cluster::describe;
    "ElectLeaders" 0.7 cluster::elect;
};
