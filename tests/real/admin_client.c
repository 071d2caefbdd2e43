/* The admin operations of librdkafka, called as standard input says: admin/program.h. Runs on librdkafka as well. */
#include "admin/configs.h"
#include "admin/groups.h"
#include "admin/program.h"
#include "admin/security.h"
#include "admin/topics.h"

const Operation OPERATIONS[] = {
    {"CreateTopics", OP(CREATETOPICS), create_topics, print_create_topics},
    {"DeleteTopics", OP(DELETETOPICS), delete_topics, print_delete_topics},
    {"CreatePartitions", OP(CREATEPARTITIONS), create_partitions, print_create_partitions},
    {"AlterConfigs", OP(ALTERCONFIGS), alter_configs, print_alter_configs},
    {"IncrementalAlterConfigs", OP(INCREMENTALALTERCONFIGS), incremental_alter_configs, print_incremental_alter_configs},
    {"DescribeConfigs", OP(DESCRIBECONFIGS), describe_configs, print_describe_configs},
    {"DeleteRecords", OP(DELETERECORDS), delete_records, print_delete_records},
    {"ListOffsets", OP(LISTOFFSETS), list_offsets, print_list_offsets},
    {"DescribeTopics", OP(DESCRIBETOPICS), describe_topics, print_describe_topics},
    {"DescribeCluster", OP(DESCRIBECLUSTER), describe_cluster, print_describe_cluster},
    {"ElectLeaders", OP(ELECTLEADERS), elect_leaders, print_elect_leaders},
    {"DeleteGroups", OP(DELETEGROUPS), delete_groups, print_delete_groups},
    {"ListConsumerGroups", OP(LISTCONSUMERGROUPS), list_groups, print_list_groups},
    {"DescribeConsumerGroups", OP(DESCRIBECONSUMERGROUPS), describe_groups, print_describe_groups},
    {"ListConsumerGroupOffsets", OP(LISTCONSUMERGROUPOFFSETS), list_group_offsets, print_list_group_offsets},
    {"AlterConsumerGroupOffsets", OP(ALTERCONSUMERGROUPOFFSETS), alter_group_offsets, print_alter_group_offsets},
    {"DeleteConsumerGroupOffsets", OP(DELETECONSUMERGROUPOFFSETS), delete_group_offsets, print_delete_group_offsets},
    {"CreateAcls", OP(CREATEACLS), create_acls, print_create_acls},
    {"DescribeAcls", OP(DESCRIBEACLS), describe_acls, print_describe_acls},
    {"DeleteAcls", OP(DELETEACLS), delete_acls, print_delete_acls},
    {"DescribeUserScramCredentials", OP(DESCRIBEUSERSCRAMCREDENTIALS), describe_scram, print_describe_scram},
    {"AlterUserScramCredentials", OP(ALTERUSERSCRAMCREDENTIALS), alter_scram, print_alter_scram},
    {0},
};

int main(int argc, char **argv) {
    return run(argc, argv);
}
