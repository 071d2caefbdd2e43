//! The admin operations: their numbers, events and options, one row each.

use std::ffi::CStr;

/// A set of options.
pub(crate) type OptionSet = u16;

/// `rd_kafka_AdminOptions_set_operation_timeout()`
pub(crate) const OPERATION_TIMEOUT: OptionSet = 1;
/// `rd_kafka_AdminOptions_set_validate_only()`
pub(crate) const VALIDATE_ONLY: OptionSet = 2;
/// `rd_kafka_AdminOptions_set_match_consumer_group_states()`, `rd_kafka_AdminOptions_set_match_group_states()`, `…_types()`
pub(crate) const GROUP_FILTERS: OptionSet = 4;
/// `rd_kafka_AdminOptions_set_require_stable_offsets()`
pub(crate) const STABLE_OFFSETS: OptionSet = 8;
/// `rd_kafka_AdminOptions_set_include_authorized_operations()`
pub(crate) const AUTHORIZED_OPERATIONS: OptionSet = 16;
/// `rd_kafka_AdminOptions_set_isolation_level()`
pub(crate) const ISOLATION_LEVEL: OptionSet = 32;
/// `rd_kafka_AdminOptions_set_allow_replication_factor_change()`
pub(crate) const FACTOR_CHANGE: OptionSet = 64;
/// `rd_kafka_AdminOptions_set_match_protocol_types()`
pub(crate) const PROTOCOL_TYPES: OptionSet = 128;

/// An operation.
pub(crate) struct AdminOp {
    /// `rd_kafka_admin_op_t`
    pub(crate) number: i32,
    /// The type of its event.
    pub(crate) event: i32,
    /// The name of its event: the operation's name and `Result`.
    pub(crate) event_name: &'static CStr,
    /// The options that not every operation has.
    pub(crate) options: OptionSet,
}

/// `RD_KAFKA_ADMIN_OP_ANY`, for options of any operation.
const ANY: i32 = 0;

const fn op(number: i32, event: i32, event_name: &'static CStr, options: OptionSet) -> AdminOp {
    AdminOp {
        number,
        event,
        event_name,
        options,
    }
}

/// The operations, by ascending number. Those of `rdkafka.h` have its numbers; those of `ottla_admin.h` have numbers from
/// 1000 on, which are also the types of their events.
pub(crate) static ADMIN_OPS: &[AdminOp] = &[
    op(1, 100, c"CreateTopicsResult", OPERATION_TIMEOUT | VALIDATE_ONLY),
    op(2, 101, c"DeleteTopicsResult", OPERATION_TIMEOUT),
    op(3, 102, c"CreatePartitionsResult", OPERATION_TIMEOUT | VALIDATE_ONLY),
    op(4, 103, c"AlterConfigsResult", VALIDATE_ONLY),
    op(5, 104, c"DescribeConfigsResult", 0),
    op(6, 105, c"DeleteRecordsResult", OPERATION_TIMEOUT),
    op(7, 106, c"DeleteGroupsResult", 0),
    op(8, 107, c"DeleteConsumerGroupOffsetsResult", 0),
    op(9, 0x400, c"CreateAclsResult", 0),
    op(10, 0x800, c"DescribeAclsResult", 0),
    op(11, 0x1000, c"DeleteAclsResult", 0),
    op(12, 0x2000, c"ListConsumerGroupsResult", GROUP_FILTERS),
    op(13, 0x4000, c"DescribeConsumerGroupsResult", AUTHORIZED_OPERATIONS),
    op(14, 0x8000, c"ListConsumerGroupOffsetsResult", STABLE_OFFSETS),
    op(15, 0x10000, c"AlterConsumerGroupOffsetsResult", 0),
    op(16, 0x20000, c"IncrementalAlterConfigsResult", VALIDATE_ONLY),
    op(17, 0x40000, c"DescribeUserScramCredentialsResult", 0),
    op(18, 0x80000, c"AlterUserScramCredentialsResult", 0),
    op(19, 0x10_0000, c"DescribeTopicsResult", AUTHORIZED_OPERATIONS),
    op(20, 0x20_0000, c"DescribeClusterResult", AUTHORIZED_OPERATIONS),
    op(21, 0x40_0000, c"ListOffsetsResult", OPERATION_TIMEOUT | ISOLATION_LEVEL),
    op(22, 0x80_0000, c"ElectLeadersResult", OPERATION_TIMEOUT),
    op(1000, 1000, c"DescribeLogDirsResult", 0),
    op(1001, 1001, c"AlterReplicaLogDirsResult", 0),
    op(1002, 1002, c"DescribeClientQuotasResult", 0),
    op(1003, 1003, c"AlterClientQuotasResult", VALIDATE_ONLY),
    op(
        1004,
        1004,
        c"AlterPartitionReassignmentsResult",
        OPERATION_TIMEOUT | FACTOR_CHANGE,
    ),
    op(1005, 1005, c"ListPartitionReassignmentsResult", OPERATION_TIMEOUT),
    op(1006, 1006, c"ListConfigResourcesResult", 0),
    op(1007, 1007, c"DescribeMetadataQuorumResult", 0),
    op(1008, 1008, c"DescribeFeaturesResult", 0),
    op(1009, 1009, c"UpdateFeaturesResult", OPERATION_TIMEOUT | VALIDATE_ONLY),
    op(1010, 1010, c"AddRaftVoterResult", OPERATION_TIMEOUT),
    op(1011, 1011, c"RemoveRaftVoterResult", 0),
    op(1012, 1012, c"UnregisterBrokerResult", 0),
    op(1020, 1020, c"ListTransactionsResult", 0),
    op(1021, 1021, c"DescribeTransactionsResult", 0),
    op(1022, 1022, c"AbortTransactionResult", 0),
    op(1023, 1023, c"FenceProducersResult", 0),
    op(1024, 1024, c"DescribeProducersResult", 0),
    op(1025, 1025, c"ForceTerminateTransactionResult", 0),
    op(1030, 1030, c"CreateDelegationTokenResult", 0),
    op(1031, 1031, c"RenewDelegationTokenResult", 0),
    op(1032, 1032, c"ExpireDelegationTokenResult", 0),
    op(1033, 1033, c"DescribeDelegationTokenResult", 0),
    op(1040, 1040, c"RemoveMembersFromConsumerGroupResult", 0),
    op(1041, 1041, c"ListGroupsResult", GROUP_FILTERS | PROTOCOL_TYPES),
    op(1042, 1042, c"DescribeClassicGroupsResult", AUTHORIZED_OPERATIONS),
    op(1043, 1043, c"DescribeShareGroupsResult", AUTHORIZED_OPERATIONS),
    op(1044, 1044, c"ListShareGroupOffsetsResult", 0),
    op(1045, 1045, c"AlterShareGroupOffsetsResult", 0),
    op(1046, 1046, c"DeleteShareGroupOffsetsResult", 0),
    op(1047, 1047, c"DescribeStreamsGroupsResult", AUTHORIZED_OPERATIONS),
];

/// Returns the operation with this name.
pub(crate) fn by_name(name: &str) -> Option<&'static AdminOp> {
    let is_it = |op: &&AdminOp| op.event_name.to_bytes().strip_suffix(b"Result") == Some(name.as_bytes());
    ADMIN_OPS.iter().find(is_it)
}

/// Returns the options of the operation with this number; `None` if there is no such operation.
pub(crate) fn options_of(number: i32) -> Option<OptionSet> {
    if number == ANY {
        return Some(OptionSet::MAX);
    }
    ADMIN_OPS.iter().find(|op| op.number == number).map(|op| op.options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_and_names_lead_to_their_rows() {
        assert!(ADMIN_OPS.is_sorted_by(|a, b| a.number < b.number));
        for op in ADMIN_OPS {
            let name = op.event_name.to_str().unwrap();
            let found = by_name(name.strip_suffix("Result").unwrap());
            assert_eq!(found.map(|op| op.event), Some(op.event));
        }
        assert!(by_name("").is_none() && by_name("CreateTopicsResult").is_none());
        assert!(options_of(23).is_none() && options_of(-1).is_none());
        assert_eq!(options_of(5), Some(0));
    }
}
