/* The admin operations of ottla_admin.h, which librdkafka does not have, called as standard input says: admin/program.h. */
#include "admin/cluster.h"
#include "admin/program.h"
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
    {0},
};

int main(int argc, char **argv) {
    return run(argc, argv);
}
