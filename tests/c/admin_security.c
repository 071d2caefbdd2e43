/* Administration at the controller: elections of leaders, access control entries, SCRAM credentials. */
#define _POSIX_C_SOURCE 200809L
#include "admin.h"

static char servers[512];

static char errstr[256];
#define ERRSTR errstr, sizeof(errstr)

/* ---- elections ----------------------------------------------------------- */

static void elect_leaders(void) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(2);
        const rd_kafka_topic_partition_result_t **results;
        const rd_kafka_topic_partition_t *row;
        rd_kafka_ElectLeaders_t *election;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        rd_kafka_topic_partition_list_add(l, "nowhere", 0);
        rd_kafka_topic_partition_list_add(l, "t", 1);
        election = rd_kafka_ElectLeaders_new(RD_KAFKA_ELECTION_TYPE_PREFERRED, l);
        rd_kafka_ElectLeaders(cluster, election, NULL, queue);
        rd_kafka_ElectLeaders_destroy(election);
        event   = result_of(RD_KAFKA_EVENT_ELECTLEADERS_RESULT, "ElectLeadersResult",
                            RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        results = rd_kafka_ElectLeaders_result_partitions(rd_kafka_event_ElectLeaders_result(event), &cnt);
        REQUIRE(results != NULL && cnt == 2);
        row = rd_kafka_topic_partition_result_partition(results[0]);
        REQUIRE(row != NULL);
        CHECK_STR(row->topic, "nowhere");
        CHECK_ERR(row->err, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_ERR(rd_kafka_error_code(rd_kafka_topic_partition_result_error(results[0])),
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_ERR(rd_kafka_error_code(rd_kafka_topic_partition_result_error(results[1])),
                  RD_KAFKA_RESP_ERR_ELECTION_NOT_NEEDED);
        rd_kafka_event_destroy(event);

        /* No partition of the cluster needs an election. */
        election = rd_kafka_ElectLeaders_new(RD_KAFKA_ELECTION_TYPE_UNCLEAN, NULL);
        rd_kafka_ElectLeaders(cluster, election, NULL, queue);
        rd_kafka_ElectLeaders_destroy(election);
        event = result_of(RD_KAFKA_EVENT_ELECTLEADERS_RESULT, "ElectLeadersResult",
                          RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        rd_kafka_ElectLeaders_result_partitions(rd_kafka_event_ElectLeaders_result(event), &cnt);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);

        rd_kafka_topic_partition_list_add(l, "t", 1);
        election = rd_kafka_ElectLeaders_new(RD_KAFKA_ELECTION_TYPE_PREFERRED, l);
        rd_kafka_ElectLeaders(cluster, election, NULL, queue);
        rd_kafka_ElectLeaders_destroy(election);
        refused(RD_KAFKA_EVENT_ELECTLEADERS_RESULT, "ElectLeadersResult", "Duplicate partitions specified");
        election = rd_kafka_ElectLeaders_new((rd_kafka_ElectionType_t)2, NULL);
        rd_kafka_ElectLeaders(cluster, election, NULL, queue);
        rd_kafka_ElectLeaders_destroy(election);
        refused(RD_KAFKA_EVENT_ELECTLEADERS_RESULT, "ElectLeadersResult", NULL);
        rd_kafka_ElectLeaders_destroy(NULL);
        rd_kafka_topic_partition_list_destroy(l);
}

/* ---- access control ------------------------------------------------------ */

static rd_kafka_AclBinding_t *binding(const char *name, rd_kafka_ResourcePatternType_t pattern) {
        return rd_kafka_AclBinding_new(RD_KAFKA_RESOURCE_TOPIC, name, pattern, "User:alice", "*",
                                       RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, ERRSTR);
}

static rd_kafka_AclBindingFilter_t *filter(const char *name, rd_kafka_ResourcePatternType_t pattern) {
        return rd_kafka_AclBindingFilter_new(RD_KAFKA_RESOURCE_TOPIC, name, pattern, NULL, NULL,
                                             RD_KAFKA_ACL_OPERATION_ANY, RD_KAFKA_ACL_PERMISSION_TYPE_ANY,
                                             ERRSTR);
}

/* Checks the reason for which an entry (0) or a filter (1) with these parts is refused. */
static void check_refusal(int is_filter, int restype, const char *name, int pattern, const char *principal,
                          const char *host, int operation, int permission, const char *text) {
        rd_kafka_AclBinding_t *acl =
            (is_filter ? rd_kafka_AclBindingFilter_new : rd_kafka_AclBinding_new)(
                (rd_kafka_ResourceType_t)restype, name, (rd_kafka_ResourcePatternType_t)pattern, principal, host,
                (rd_kafka_AclOperation_t)operation, (rd_kafka_AclPermissionType_t)permission, ERRSTR);
        CHECK(acl == NULL);
        CHECK_STR(errstr, text);
}

static void entries_and_filters_are_checked(void) {
        rd_kafka_AclBinding_t *acl;

        check_refusal(0, 2, NULL, 3, "User:a", "*", 3, 3, "Invalid resource name");
        check_refusal(0, 2, "t", 3, NULL, "*", 3, 3, "Invalid principal");
        check_refusal(0, 2, "t", 3, "User:a", NULL, 3, 3, "Invalid host");
        check_refusal(0, 1, "t", 3, "User:a", "*", 3, 3, "Invalid resource type");
        check_refusal(0, 6, "t", 3, "User:a", "*", 3, 3, "Invalid resource type");
        check_refusal(0, 2, "t", 2, "User:a", "*", 3, 3, "Invalid resource pattern type");
        check_refusal(0, 2, "t", 5, "User:a", "*", 3, 3, "Invalid resource pattern type");
        check_refusal(0, 2, "t", 3, "User:a", "*", 1, 3, "Invalid operation");
        check_refusal(0, 2, "t", 3, "User:a", "*", 13, 3, "Invalid operation");
        check_refusal(0, 2, "t", 3, "User:a", "*", 3, 1, "Invalid permission type");
        check_refusal(0, 2, "t", 3, "User:a", "*", 3, 4, "Invalid permission type");
        check_refusal(1, 0, NULL, 2, NULL, NULL, 1, 1, "Invalid resource type");
        check_refusal(1, 1, NULL, 0, NULL, NULL, 1, 1, "Invalid resource pattern type");
        check_refusal(1, 1, NULL, 2, NULL, NULL, -1, 1, "Invalid operation");
        check_refusal(1, 1, NULL, 2, NULL, NULL, 1, 0, "Invalid permission type");
        acl = filter(NULL, RD_KAFKA_RESOURCE_PATTERN_MATCH);
        REQUIRE(acl != NULL);
        CHECK(rd_kafka_AclBinding_name(acl) == NULL);
        CHECK(rd_kafka_AclBinding_principal(acl) == NULL);
        CHECK(rd_kafka_AclBinding_host(acl) == NULL);
        CHECK(rd_kafka_AclBinding_error(acl) == NULL);
        CHECK_INT(rd_kafka_AclBinding_restype(acl), RD_KAFKA_RESOURCE_TOPIC);
        CHECK_INT(rd_kafka_AclBinding_resource_pattern_type(acl), RD_KAFKA_RESOURCE_PATTERN_MATCH);
        /* A filter is not an entry. */
        rd_kafka_CreateAcls(cluster, &acl, 1, NULL, queue);
        refused(RD_KAFKA_EVENT_CREATEACLS_RESULT, "CreateAclsResult", NULL);
        rd_kafka_AclBinding_destroy(acl);
        rd_kafka_AclBinding_destroy(NULL);
        rd_kafka_DescribeAcls(cluster, NULL, NULL, queue);
        refused(RD_KAFKA_EVENT_DESCRIBEACLS_RESULT, "DescribeAclsResult", NULL);
        rd_kafka_ElectLeaders(cluster, NULL, NULL, queue);
        refused(RD_KAFKA_EVENT_ELECTLEADERS_RESULT, "ElectLeadersResult", NULL);
        rd_kafka_CreateAcls(cluster, NULL, 0, NULL, queue);
        refused(RD_KAFKA_EVENT_CREATEACLS_RESULT, "CreateAclsResult", NULL);
        rd_kafka_DeleteAcls(cluster, NULL, 0, NULL, queue);
        refused(RD_KAFKA_EVENT_DELETEACLS_RESULT, "DeleteAclsResult", NULL);

        CHECK_STR(rd_kafka_ResourcePatternType_name(RD_KAFKA_RESOURCE_PATTERN_PREFIXED), "PREFIXED");
        CHECK_STR(rd_kafka_ResourcePatternType_name(RD_KAFKA_RESOURCE_PATTERN_TYPE__CNT), "UNSUPPORTED");
        CHECK_STR(rd_kafka_AclOperation_name(RD_KAFKA_ACL_OPERATION_IDEMPOTENT_WRITE), "IDEMPOTENT_WRITE");
        CHECK_STR(rd_kafka_AclOperation_name((rd_kafka_AclOperation_t)-1), "UNSUPPORTED");
        CHECK_STR(rd_kafka_AclPermissionType_name(RD_KAFKA_ACL_PERMISSION_TYPE_DENY), "DENY");
        CHECK_STR(rd_kafka_AclPermissionType_name(RD_KAFKA_ACL_PERMISSION_TYPE__CNT), "UNSUPPORTED");
}

static void check_description(const char *name, rd_kafka_ResourcePatternType_t pattern, size_t want) {
        rd_kafka_AclBindingFilter_t *acl = filter(name, pattern);
        rd_kafka_event_t *event;
        size_t cnt = 99;

        rd_kafka_DescribeAcls(cluster, acl, NULL, queue);
        rd_kafka_AclBinding_destroy(acl);
        event = result_of(RD_KAFKA_EVENT_DESCRIBEACLS_RESULT, "DescribeAclsResult",
                          RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        rd_kafka_DescribeAcls_result_acls(rd_kafka_event_DescribeAcls_result(event), &cnt);
        CHECK_INT(cnt, want);
        rd_kafka_event_destroy(event);
}

static void acls_are_created_described_and_deleted(void) {
        rd_kafka_AclBinding_t *acls[2];
        const rd_kafka_acl_result_t **results;
        const rd_kafka_DeleteAcls_result_response_t **responses;
        const rd_kafka_AclBinding_t **matching;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        acls[0] = binding("topic", RD_KAFKA_RESOURCE_PATTERN_LITERAL);
        acls[1] = binding("to", RD_KAFKA_RESOURCE_PATTERN_PREFIXED);
        rd_kafka_CreateAcls(cluster, acls, 2, NULL, queue);
        rd_kafka_AclBinding_destroy_array(acls, 2);
        event   = result_of(RD_KAFKA_EVENT_CREATEACLS_RESULT, "CreateAclsResult",
                            RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        results = rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(event), &cnt);
        REQUIRE(results != NULL && cnt == 2);
        CHECK(rd_kafka_acl_result_error(results[0]) == NULL);
        CHECK(rd_kafka_acl_result_error(results[1]) == NULL);
        rd_kafka_event_destroy(event);

        check_description("topic", RD_KAFKA_RESOURCE_PATTERN_MATCH, 2);
        check_description("topic", RD_KAFKA_RESOURCE_PATTERN_LITERAL, 1);
        check_description(NULL, RD_KAFKA_RESOURCE_PATTERN_ANY, 2);

        acls[0] = filter("other", RD_KAFKA_RESOURCE_PATTERN_ANY);
        acls[1] = filter("to", RD_KAFKA_RESOURCE_PATTERN_PREFIXED);
        rd_kafka_DeleteAcls(cluster, acls, 2, NULL, queue);
        rd_kafka_AclBinding_destroy_array(acls, 2);
        event     = result_of(RD_KAFKA_EVENT_DELETEACLS_RESULT, "DeleteAclsResult",
                              RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        responses = rd_kafka_DeleteAcls_result_responses(rd_kafka_event_DeleteAcls_result(event), &cnt);
        REQUIRE(responses != NULL && cnt == 2);
        CHECK(rd_kafka_DeleteAcls_result_response_error(responses[0]) == NULL);
        CHECK(rd_kafka_DeleteAcls_result_response_matching_acls(responses[0], &cnt) == NULL);
        CHECK_INT(cnt, 0);
        matching = rd_kafka_DeleteAcls_result_response_matching_acls(responses[1], &cnt);
        REQUIRE(matching != NULL && cnt == 1);
        CHECK_STR(rd_kafka_AclBinding_name(matching[0]), "to");
        CHECK_STR(rd_kafka_AclBinding_principal(matching[0]), "User:alice");
        CHECK_STR(rd_kafka_AclBinding_host(matching[0]), "*");
        CHECK_INT(rd_kafka_AclBinding_operation(matching[0]), RD_KAFKA_ACL_OPERATION_READ);
        CHECK_INT(rd_kafka_AclBinding_permission_type(matching[0]), RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW);
        CHECK(rd_kafka_AclBinding_error(matching[0]) == NULL);
        rd_kafka_event_destroy(event);
        check_description(NULL, RD_KAFKA_RESOURCE_PATTERN_ANY, 1);
}

/* ---- SCRAM --------------------------------------------------------------- */

/* Checks the only credential of a user, or with iterations 0 that there is none. */
static void check_credential(const char *user, int iterations) {
        const rd_kafka_UserScramCredentialsDescription_t **users;
        const rd_kafka_ScramCredentialInfo_t *info;
        rd_kafka_event_t *event;
        rd_kafka_resp_err_t err;
        size_t cnt = 0;

        rd_kafka_DescribeUserScramCredentials(cluster, &user, 1, NULL, queue);
        event = result_of(RD_KAFKA_EVENT_DESCRIBEUSERSCRAMCREDENTIALS_RESULT,
                          "DescribeUserScramCredentialsResult", RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        users = rd_kafka_DescribeUserScramCredentials_result_descriptions(
            rd_kafka_event_DescribeUserScramCredentials_result(event), &cnt);
        REQUIRE(users != NULL && cnt == 1);
        CHECK_STR(rd_kafka_UserScramCredentialsDescription_user(users[0]), user);
        CHECK(rd_kafka_UserScramCredentialsDescription_error(users[0]) != NULL);
        err = rd_kafka_error_code(rd_kafka_UserScramCredentialsDescription_error(users[0]));
        cnt = rd_kafka_UserScramCredentialsDescription_scramcredentialinfo_count(users[0]);
        if (iterations) {
                CHECK_OK(err);
                CHECK_INT(cnt, 1);
                info = rd_kafka_UserScramCredentialsDescription_scramcredentialinfo(users[0], 0);
                CHECK_INT(rd_kafka_ScramCredentialInfo_mechanism(info), RD_KAFKA_SCRAM_MECHANISM_SHA_256);
                CHECK_INT(rd_kafka_ScramCredentialInfo_iterations(info), iterations);
        } else {
                CHECK_ERR(err, RD_KAFKA_RESP_ERR_RESOURCE_NOT_FOUND);
                CHECK_INT(cnt, 0);
        }
        CHECK(rd_kafka_UserScramCredentialsDescription_scramcredentialinfo(users[0], cnt) == NULL);
        rd_kafka_event_destroy(event);
}

static void alter(rd_kafka_UserScramCredentialAlteration_t *alteration, rd_kafka_resp_err_t err) {
        const rd_kafka_AlterUserScramCredentials_result_response_t **responses;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        rd_kafka_AlterUserScramCredentials(cluster, &alteration, 1, NULL, queue);
        rd_kafka_UserScramCredentialAlteration_destroy(alteration);
        event     = result_of(RD_KAFKA_EVENT_ALTERUSERSCRAMCREDENTIALS_RESULT,
                              "AlterUserScramCredentialsResult", RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        responses = rd_kafka_AlterUserScramCredentials_result_responses(
            rd_kafka_event_AlterUserScramCredentials_result(event), &cnt);
        REQUIRE(responses != NULL && cnt == 1);
        CHECK_STR(rd_kafka_AlterUserScramCredentials_result_response_user(responses[0]), "bob");
        CHECK_ERR(rd_kafka_error_code(rd_kafka_AlterUserScramCredentials_result_response_error(responses[0])),
                  err);
        rd_kafka_event_destroy(event);
}

static rd_kafka_UserScramCredentialAlteration_t *upsertion(int iterations, size_t password_size) {
        return rd_kafka_UserScramCredentialUpsertion_new("bob", RD_KAFKA_SCRAM_MECHANISM_SHA_256, iterations,
                                                         (const unsigned char *)"pass\0word", password_size,
                                                         NULL, 0);
}

static void credentials_are_set_described_and_removed(void) {
        check_credential("bob", 0);
        alter(upsertion(10000, 9), RD_KAFKA_RESP_ERR_NO_ERROR);
        check_credential("bob", 10000);
        alter(upsertion(4095, 9), RD_KAFKA_RESP_ERR_UNACCEPTABLE_CREDENTIAL);
        alter(rd_kafka_UserScramCredentialDeletion_new("bob", RD_KAFKA_SCRAM_MECHANISM_SHA_512),
              RD_KAFKA_RESP_ERR_RESOURCE_NOT_FOUND);
        alter(rd_kafka_UserScramCredentialDeletion_new("bob", RD_KAFKA_SCRAM_MECHANISM_SHA_256),
              RD_KAFKA_RESP_ERR_NO_ERROR);
        check_credential("bob", 0);
}

static void check_bad_alteration(rd_kafka_UserScramCredentialAlteration_t *alteration, const char *text) {
        rd_kafka_AlterUserScramCredentials(cluster, &alteration, alteration ? 1 : 0, NULL, queue);
        rd_kafka_UserScramCredentialAlteration_destroy(alteration);
        refused(RD_KAFKA_EVENT_ALTERUSERSCRAMCREDENTIALS_RESULT, "AlterUserScramCredentialsResult", text);
}

static void bad_credentials_are_refused(void) {
        const char *users[] = {"bob", "bob"}, *empty[] = {"bob", ""};

        check_bad_alteration(NULL, "At least one alteration is required");
        check_bad_alteration(
            rd_kafka_UserScramCredentialDeletion_new("", RD_KAFKA_SCRAM_MECHANISM_SHA_256),
            "Empty user at index 0");
        check_bad_alteration(
            rd_kafka_UserScramCredentialDeletion_new("bob", RD_KAFKA_SCRAM_MECHANISM_UNKNOWN),
            "SCRAM mechanism must be specified at index 0");
        check_bad_alteration(upsertion(4096, 0), "Empty password at index 0");
        check_bad_alteration(upsertion(0, 9), "Non-positive iterations at index 0");
        CHECK(rd_kafka_UserScramCredentialDeletion_new(NULL, RD_KAFKA_SCRAM_MECHANISM_SHA_256) == NULL);
        rd_kafka_DescribeUserScramCredentials(cluster, users, 2, NULL, queue);
        refused(RD_KAFKA_EVENT_DESCRIBEUSERSCRAMCREDENTIALS_RESULT, "DescribeUserScramCredentialsResult",
                "Duplicate users aren't allowed in the same request");
        rd_kafka_DescribeUserScramCredentials(cluster, empty, 2, NULL, queue);
        refused(RD_KAFKA_EVENT_DESCRIBEUSERSCRAMCREDENTIALS_RESULT, "DescribeUserScramCredentialsResult",
                "Empty users aren't allowed, index 1");
}

/* ---- every operation ----------------------------------------------------- */

/* Results of a failed call: NULL and 0. */
static void accessors_of_failed_calls_return_nothing(void) {
        rd_kafka_conf_t *conf                 = test_conf();
        rd_kafka_AclBindingFilter_t *any      = filter(NULL, RD_KAFKA_RESOURCE_PATTERN_ANY);
        rd_kafka_ElectLeaders_t *election     = rd_kafka_ElectLeaders_new(RD_KAFKA_ELECTION_TYPE_PREFERRED, NULL);
        rd_kafka_AdminOptions_t *options;
        rd_kafka_event_t *event;
        rd_kafka_t *rk;
        size_t cnt;
        int i;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rk      = test_client(RD_KAFKA_PRODUCER, conf);
        options = rd_kafka_AdminOptions_new(rk, RD_KAFKA_ADMIN_OP_ANY);
        CHECK_OK(rd_kafka_AdminOptions_set_request_timeout(options, 100, ERRSTR));
        rd_kafka_DescribeAcls(rk, any, options, queue);
        rd_kafka_DeleteAcls(rk, &any, 1, options, queue);
        rd_kafka_ElectLeaders(rk, election, options, queue);
        rd_kafka_DescribeUserScramCredentials(rk, NULL, 0, options, queue);
        for (i = 0; i < 4; i++) {
                event = rd_kafka_queue_poll(queue, 10000);
                CHECK_ERR(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR__TIMED_OUT);
                CHECK_STR(rd_kafka_event_error_string(event),
                          "Failed while waiting for controller: Local: Timed out");
                cnt = 1;
                if (rd_kafka_event_DescribeAcls_result(event))
                        CHECK(rd_kafka_DescribeAcls_result_acls(event, &cnt) == NULL);
                else if (rd_kafka_event_DeleteAcls_result(event))
                        CHECK(rd_kafka_DeleteAcls_result_responses(event, &cnt) == NULL);
                else if (rd_kafka_event_ElectLeaders_result(event))
                        CHECK(rd_kafka_ElectLeaders_result_partitions(event, &cnt) == NULL);
                else
                        CHECK(rd_kafka_DescribeUserScramCredentials_result_descriptions(event, &cnt) == NULL);
                CHECK_INT(cnt, 0);
                rd_kafka_event_destroy(event);
        }
        rd_kafka_AclBinding_destroy(any);
        rd_kafka_ElectLeaders_destroy(election);
        rd_kafka_AdminOptions_destroy(options);
        rd_kafka_destroy(rk);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        queue   = rd_kafka_queue_new(cluster);
        CHECK_INT(test_produce(cluster, "t", 1, 0, 1), 0);
        RUN(elect_leaders);
        RUN(entries_and_filters_are_checked);
        RUN(acls_are_created_described_and_deleted);
        RUN(credentials_are_set_described_and_removed);
        RUN(bad_credentials_are_refused);
        RUN(accessors_of_failed_calls_return_nothing);
        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(cluster);
        return test_end();
}
