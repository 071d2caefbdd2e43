/* The groups of the cluster, and the names of their states and types. */
#define _POSIX_C_SOURCE 200809L
#include <sys/socket.h>

#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

static void states_and_types_have_names(void) {
        static const char *const states[] = {"Unknown", "PreparingRebalance", "CompletingRebalance",
                                             "Stable",  "Dead",               "Empty"};
        static const char *const types[]  = {"Unknown", "Consumer", "Classic"};
        int i;

        for (i = 0; i < RD_KAFKA_CONSUMER_GROUP_STATE__CNT; i++) {
                CHECK_STR(rd_kafka_consumer_group_state_name(i), states[i]);
                CHECK_INT(rd_kafka_consumer_group_state_code(states[i]), i);
        }
        for (i = 0; i < RD_KAFKA_CONSUMER_GROUP_TYPE__CNT; i++) {
                CHECK_STR(rd_kafka_consumer_group_type_name(i), types[i]);
                CHECK_INT(rd_kafka_consumer_group_type_code(types[i]), i);
        }
        CHECK(rd_kafka_consumer_group_state_name(RD_KAFKA_CONSUMER_GROUP_STATE__CNT) == NULL);
        CHECK(rd_kafka_consumer_group_type_name(RD_KAFKA_CONSUMER_GROUP_TYPE__CNT) == NULL);
        CHECK_INT(rd_kafka_consumer_group_state_code("stable"), RD_KAFKA_CONSUMER_GROUP_STATE_STABLE);
        CHECK_INT(rd_kafka_consumer_group_state_code("Assigned"), 0);
        CHECK_INT(rd_kafka_consumer_group_type_code("CLASSIC"), RD_KAFKA_CONSUMER_GROUP_TYPE_CLASSIC);
        CHECK_INT(rd_kafka_consumer_group_type_code("none"), 0);
}

/* A consumer of topic "t" that has its partitions. */
static rd_kafka_t *member(const char *group, const char *client_id) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_conf_t *conf              = test_conf();
        int64_t until                      = test_now_ms() + 30000;
        int cnt                            = 0;
        rd_kafka_t *c;

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", group);
        test_set(conf, "client.id", client_id);
        c = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(c);
        rd_kafka_topic_partition_list_add(l, "t", RD_KAFKA_PARTITION_UA);
        CHECK_OK(rd_kafka_subscribe(c, l));
        rd_kafka_topic_partition_list_destroy(l);
        while (!cnt && test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(c, 50);
                if (m)
                        rd_kafka_message_destroy(m);
                if (!rd_kafka_assignment(c, &l)) {
                        cnt = l->cnt;
                        rd_kafka_topic_partition_list_destroy(l);
                }
        }
        CHECK(cnt > 0);
        return c;
}

static const struct rd_kafka_group_info *find(const struct rd_kafka_group_list *l,
                                              const char *group) {
        int i;
        for (i = 0; i < l->group_cnt; i++)
                if (!strcmp(l->groups[i].group, group))
                        return &l->groups[i];
        return NULL;
}

static void check_member_group(const struct rd_kafka_group_info *g, rd_kafka_t *c) {
        const struct rd_kafka_group_member_info *m;
        char *id = rd_kafka_memberid(c);

        CHECK_OK(g->err);
        CHECK_STR(g->state, "Stable");
        CHECK_STR(g->protocol_type, "consumer");
        CHECK_STR(g->protocol, "range");
        CHECK(g->broker.host && g->broker.host[0]);
        CHECK(g->broker.port > 0);
        REQUIRE(g->member_cnt == 1);
        m = &g->members[0];
        CHECK_STR(m->member_id, id);
        CHECK(m->client_host && m->client_host[0]);
        /* A subscription begins with its version and contains "t". */
        CHECK(m->member_metadata_size > 2 && m->member_metadata);
        CHECK(m->member_assignment_size > 2 && m->member_assignment);
        rd_kafka_mem_free(NULL, id);
}

/* The outcome of ListConsumerGroups with these options. */
static rd_kafka_event_t *listing(rd_kafka_AdminOptions_t *options) {
        rd_kafka_queue_t *queue = rd_kafka_queue_new(cluster);
        rd_kafka_event_t *event;

        rd_kafka_ListConsumerGroups(cluster, options, queue);
        event = rd_kafka_queue_poll(queue, 30000);
        CHECK_INT(rd_kafka_event_type(event), RD_KAFKA_EVENT_LISTCONSUMERGROUPS_RESULT);
        CHECK_STR(rd_kafka_event_name(event), "ListConsumerGroupsResult");
        CHECK_OK(rd_kafka_event_error(event));
        rd_kafka_queue_destroy(queue);
        return event;
}

/* While the members are there: the six groups of classic members, by name, state and type. */
static void check_admin_listing(void) {
        rd_kafka_AdminOptions_t *options =
            rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS);
        rd_kafka_consumer_group_state_t states[] = {RD_KAFKA_CONSUMER_GROUP_STATE_EMPTY,
                                                    RD_KAFKA_CONSUMER_GROUP_STATE_EMPTY};
        rd_kafka_consumer_group_type_t consumer = RD_KAFKA_CONSUMER_GROUP_TYPE_CONSUMER;
        const rd_kafka_ListConsumerGroups_result_t *result;
        const rd_kafka_ConsumerGroupListing_t **groups;
        rd_kafka_event_t *event = listing(NULL);
        rd_kafka_error_t *error;
        size_t cnt = 0;

        result = rd_kafka_event_ListConsumerGroups_result(event);
        CHECK(rd_kafka_ListConsumerGroups_result_errors(result, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        groups = rd_kafka_ListConsumerGroups_result_valid(result, &cnt);
        CHECK_INT(cnt, 6);
        while (cnt-- > 0) {
                const rd_kafka_ConsumerGroupListing_t *g = groups[cnt];
                CHECK(strncmp(rd_kafka_ConsumerGroupListing_group_id(g), "group-", 6) == 0);
                CHECK_INT(rd_kafka_ConsumerGroupListing_is_simple_consumer_group(g), 0);
                CHECK_INT(rd_kafka_ConsumerGroupListing_state(g), RD_KAFKA_CONSUMER_GROUP_STATE_STABLE);
                CHECK_INT(rd_kafka_ConsumerGroupListing_type(g), RD_KAFKA_CONSUMER_GROUP_TYPE_CLASSIC);
        }
        rd_kafka_event_destroy(event);

        /* Of these there is none. */
        error = rd_kafka_AdminOptions_set_match_consumer_group_states(options, states, 2);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_error_destroy(error);
        CHECK(!rd_kafka_AdminOptions_set_match_consumer_group_states(options, states, 1));
        event = listing(options);
        rd_kafka_ListConsumerGroups_result_valid(rd_kafka_event_ListConsumerGroups_result(event), &cnt);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
        CHECK(!rd_kafka_AdminOptions_set_match_consumer_group_states(options, NULL, 0));
        CHECK(!rd_kafka_AdminOptions_set_match_consumer_group_types(options, &consumer, 1));
        event = listing(options);
        rd_kafka_ListConsumerGroups_result_valid(rd_kafka_event_ListConsumerGroups_result(event), &cnt);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
        rd_kafka_AdminOptions_destroy(options);
}

static void groups_of_all_brokers_are_listed(void) {
        const struct rd_kafka_group_list *l = NULL;
        rd_kafka_t *c[6];
        char name[16];
        int i;

        CHECK_INT(test_produce(cluster, "t", 0, 0, 1), 0);
        for (i = 0; i < 6; i++) {
                snprintf(name, sizeof(name), "group-%d", i);
                c[i] = member(name, name);
        }
        CHECK_OK(rd_kafka_list_groups(cluster, NULL, &l, 10000));
        REQUIRE(l != NULL);
        CHECK_INT(l->group_cnt, 6);
        for (i = 0; i < 6; i++) {
                const struct rd_kafka_group_info *g;
                snprintf(name, sizeof(name), "group-%d", i);
                g = find(l, name);
                if (CHECK(g != NULL)) {
                        check_member_group(g, c[i]);
                        CHECK_STR(g->members[0].client_id, name);
                }
        }
        rd_kafka_group_list_destroy(l);

        check_admin_listing();

        /* One of the groups, listed by a consumer. */
        l = NULL;
        CHECK_OK(rd_kafka_list_groups(c[3], "group-4", &l, 10000));
        REQUIRE(l != NULL);
        CHECK_INT(l->group_cnt, 1);
        CHECK_STR(l->groups[0].group, "group-4");
        check_member_group(&l->groups[0], c[4]);
        rd_kafka_group_list_destroy(l);
        for (i = 0; i < 6; i++) {
                CHECK_OK(rd_kafka_consumer_close(c[i]));
                rd_kafka_destroy(c[i]);
        }
}

static void an_unknown_group_is_not_listed(void) {
        const struct rd_kafka_group_list *l = NULL;
        CHECK_OK(rd_kafka_list_groups(cluster, "nobody", &l, 10000));
        REQUIRE(l != NULL);
        CHECK_INT(l->group_cnt, 0);
        rd_kafka_group_list_destroy(l);
}

static void list_groups_obeys_its_timeout(void) {
        const struct rd_kafka_group_list *l = NULL;
        rd_kafka_conf_t *conf               = test_conf();
        int64_t start                       = test_now_ms();
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_ERR(rd_kafka_list_groups(rk, NULL, &l, 300), RD_KAFKA_RESP_ERR__TIMED_OUT);
        CHECK(l == NULL);
        CHECK(test_now_ms() - start < 10000);
        rd_kafka_destroy(rk);
}

static int sockets_made;

static int count_socket(int domain, int type, int protocol, void *opaque) {
        (void)opaque;
        __atomic_add_fetch(&sockets_made, 1, __ATOMIC_SEQ_CST);
        return socket(domain, type, protocol);
}

/* A broker that is slow for a while keeps its connection, however impatient a call was. */
static void short_timeout_keeps_the_connection(void) {
        const struct rd_kafka_group_list *l;
        const struct rd_kafka_metadata *md;
        rd_kafka_conf_t *conf = test_conf();
        char list[512];
        pid_t broker = test_broker_process(list, sizeof(list));
        rd_kafka_t *rk;
        int before;

        REQUIRE(broker > 0 && list[0]);
        test_set(conf, "bootstrap.servers", list);
        rd_kafka_conf_set_socket_cb(conf, count_socket);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_OK(rd_kafka_list_groups(rk, NULL, &l, 10000));
        rd_kafka_group_list_destroy(l);
        before = __atomic_load_n(&sockets_made, __ATOMIC_SEQ_CST);
        kill(broker, SIGSTOP);
        /* The signal may take effect on another processor after the call. */
        waitpid(broker, NULL, WUNTRACED);
        CHECK_ERR(rd_kafka_list_groups(rk, NULL, &l, 200), RD_KAFKA_RESP_ERR__TIMED_OUT);
        CHECK_ERR(rd_kafka_metadata(rk, 0, NULL, &md, 200), RD_KAFKA_RESP_ERR__TIMED_OUT);
        kill(broker, SIGCONT);
        CHECK_OK(rd_kafka_list_groups(rk, NULL, &l, 10000));
        rd_kafka_group_list_destroy(l);
        CHECK_OK(rd_kafka_metadata(rk, 0, NULL, &md, 10000));
        rd_kafka_metadata_destroy(md);
        CHECK_INT(__atomic_load_n(&sockets_made, __ATOMIC_SEQ_CST), before);
        rd_kafka_destroy(rk);
        test_kill(broker);
}

int main(void) {
        RUN(short_timeout_keeps_the_connection);
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(states_and_types_have_names);
        RUN(groups_of_all_brokers_are_listed);
        RUN(an_unknown_group_is_not_listed);
        RUN(list_groups_obeys_its_timeout);
        rd_kafka_destroy(cluster);
        return test_end();
}
