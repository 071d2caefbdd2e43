/* The admin operations of ottla_admin.h, which librdkafka does not have, called as standard input says: admin/program.h. */
#include "admin/cluster.h"
#include "admin/group_types.h"
#include "admin/program.h"
#include "admin/tokens.h"
#include "admin/transactions.h"

const Operation OPERATIONS[] = {
    {"DescribeLogDirs", OP(DESCRIBELOGDIRS), describe_log_dirs, print_describe_log_dirs},
    {"DescribeClientQuotas", OP(DESCRIBECLIENTQUOTAS), describe_quotas, print_describe_quotas},
    {"AlterClientQuotas", OP(ALTERCLIENTQUOTAS), alter_quotas, print_alter_quotas},
    {"AlterPartitionReassignments", OP(ALTERPARTITIONREASSIGNMENTS), alter_reassignments, print_alter_reassignments},
    {"ListPartitionReassignments", OP(LISTPARTITIONREASSIGNMENTS), list_reassignments, print_list_reassignments},
    {"ListConfigResources", OP(LISTCONFIGRESOURCES), list_config_resources, print_list_config_resources},
    {"DescribeMetadataQuorum", OP(DESCRIBEMETADATAQUORUM), describe_quorum, print_describe_quorum},
    {"DescribeFeatures", OP(DESCRIBEFEATURES), describe_features, print_describe_features},
    {"UpdateFeatures", OP(UPDATEFEATURES), update_features, print_update_features},
    {"ListTransactions", OP(LISTTRANSACTIONS), list_transactions, print_list_transactions},
    {"DescribeTransactions", OP(DESCRIBETRANSACTIONS), describe_transactions, print_describe_transactions},
    {"DescribeProducers", OP(DESCRIBEPRODUCERS), describe_producers, print_describe_producers},
    {"AbortTransaction", OP(ABORTTRANSACTION), abort_transaction, print_nothing},
    {"FenceProducers", OP(FENCEPRODUCERS), fence_producers, print_fence_producers},
    {"ForceTerminateTransaction", OP(FORCETERMINATETRANSACTION), force_terminate, print_nothing},
    {"RemoveMembersFromConsumerGroup", OP(REMOVEMEMBERSFROMCONSUMERGROUP), remove_members, print_remove_members},
    {"ListGroups", OP(LISTGROUPS), list_all_groups, print_list_all_groups},
    {"AlterReplicaLogDirs", OP(ALTERREPLICALOGDIRS), alter_replica_log_dirs, print_alter_replica_log_dirs},
    {"AddRaftVoter", OP(ADDRAFTVOTER), add_voter, print_nothing},
    {"RemoveRaftVoter", OP(REMOVERAFTVOTER), remove_voter, print_nothing},
    {"UnregisterBroker", OP(UNREGISTERBROKER), unregister_broker, print_nothing},
    {"CreateDelegationToken", OP(CREATEDELEGATIONTOKEN), create_token, print_create_token},
    {"RenewDelegationToken", OP(RENEWDELEGATIONTOKEN), renew_token, print_renew_token},
    {"ExpireDelegationToken", OP(EXPIREDELEGATIONTOKEN), expire_token, print_expire_token},
    {"DescribeDelegationToken", OP(DESCRIBEDELEGATIONTOKEN), describe_tokens, print_describe_tokens},
    {"DescribeClassicGroups", OP(DESCRIBECLASSICGROUPS), describe_classic, print_describe_classic},
    {"DescribeShareGroups", OP(DESCRIBESHAREGROUPS), describe_share, print_describe_share},
    {"ListShareGroupOffsets", OP(LISTSHAREGROUPOFFSETS), list_share_offsets, print_list_share_offsets},
    {"AlterShareGroupOffsets", OP(ALTERSHAREGROUPOFFSETS), alter_share_offsets, print_alter_share_offsets},
    {"DeleteShareGroupOffsets", OP(DELETESHAREGROUPOFFSETS), delete_share_offsets, print_delete_share_offsets},
    {"DescribeStreamsGroups", OP(DESCRIBESTREAMSGROUPS), describe_streams, print_describe_streams},
    {0},
};

int main(int argc, char **argv) {
    return run(argc, argv);
}
