/*
 * Resets the committed offsets of a group.
 *
 *     reset_offsets BROKERS GROUP WHERE [--topic TOPIC]... [--execute]
 *     reset_offsets BROKERS
 *
 * WHERE is --to-earliest, --to-latest, --to-time MS (the first record of that time, in milliseconds
 * since 1970, or later) or --shift-by N (N may be negative; offsets beyond the log are moved to its
 * ends). Without --topic it resets the partitions that have a committed offset. It prints the
 * offsets, and commits them only with --execute. The group must have no members. Without a group it
 * lists the groups. Exit status: 0, 1 for an error of the brokers, 2 for wrong arguments.
 */

#include "admin.h"

enum where { NOWHERE, EARLIEST, LATEST, TIME, SHIFT };

static void list_groups(void) {
        rd_kafka_AdminOptions_t *o = options(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS);
        const rd_kafka_ListConsumerGroups_result_t *listing;
        const rd_kafka_ConsumerGroupListing_t **groups;
        const rd_kafka_error_t **errors;
        rd_kafka_event_t *event;
        size_t cnt, i;

        rd_kafka_ListConsumerGroups(rk, o, queue);
        event   = result(o);
        listing = rd_kafka_event_ListConsumerGroups_result(event);
        groups  = rd_kafka_ListConsumerGroups_result_valid(listing, &cnt);
        for (i = 0; i < cnt; i++)
                printf("%s %s\n", rd_kafka_ConsumerGroupListing_group_id(groups[i]),
                       rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupListing_state(groups[i])));
        errors = rd_kafka_ListConsumerGroups_result_errors(listing, &cnt);
        for (i = 0; i < cnt; i++)
                report_error("a broker's groups are missing", errors[i]);
        rd_kafka_event_destroy(event);
}

/* Ends the program if the group has members: their commits would overwrite the new offsets. */
static void check_has_no_members(const char *group) {
        rd_kafka_AdminOptions_t *o = options(RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS);
        const rd_kafka_ConsumerGroupDescription_t **groups;
        rd_kafka_event_t *event;
        size_t cnt;

        rd_kafka_DescribeConsumerGroups(rk, &group, 1, o, queue);
        event  = result(o);
        groups = rd_kafka_DescribeConsumerGroups_result_groups(
            rd_kafka_event_DescribeConsumerGroups_result(event), &cnt);
        if (cnt == 1) {
                report_error(group, rd_kafka_ConsumerGroupDescription_error(groups[0]));
                if (status)
                        exit(status);
                if (rd_kafka_ConsumerGroupDescription_member_count(groups[0]) > 0)
                        wrong(group, "the group has members: stop its consumers first");
        }
        rd_kafka_event_destroy(event);
}

/* Returns the committed offsets of these partitions, or with NULL of all that have one. */
static rd_kafka_topic_partition_list_t *committed(const char *group,
                                                  const rd_kafka_topic_partition_list_t *partitions) {
        rd_kafka_AdminOptions_t *o = options(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
        rd_kafka_ListConsumerGroupOffsets_t *request =
            rd_kafka_ListConsumerGroupOffsets_new(group, partitions);
        rd_kafka_topic_partition_list_t *offsets;
        const rd_kafka_group_result_t **groups;
        rd_kafka_event_t *event;
        size_t cnt;
        int i;

        if (!request)
                wrong(group, "a name is not UTF-8");
        rd_kafka_ListConsumerGroupOffsets(rk, &request, 1, o, queue);
        rd_kafka_ListConsumerGroupOffsets_destroy(request);
        event  = result(o);
        groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
            rd_kafka_event_ListConsumerGroupOffsets_result(event), &cnt);
        report_error(group, cnt == 1 ? rd_kafka_group_result_error(groups[0]) : NULL);
        if (status)
                exit(status);
        offsets = rd_kafka_topic_partition_list_copy(rd_kafka_group_result_partitions(groups[0]));
        rd_kafka_event_destroy(event);
        for (i = 0; i < offsets->cnt; i++)
                report(offsets->elems[i].topic, offsets->elems[i].err, NULL);
        if (status)
                exit(status);
        return offsets;
}

/* Returns the partitions of topics. */
static rd_kafka_topic_partition_list_t *partitions_of(const char **names, size_t name_cnt) {
        rd_kafka_AdminOptions_t *o                  = options(RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
        rd_kafka_TopicCollection_t *collection      = rd_kafka_TopicCollection_of_topic_names(names, name_cnt);
        rd_kafka_topic_partition_list_t *partitions = rd_kafka_topic_partition_list_new(0);
        const rd_kafka_TopicDescription_t **topics;
        rd_kafka_event_t *event;
        size_t cnt, partition_cnt, i, j;

        if (!collection)
                wrong("--topic", "a name is not UTF-8");
        rd_kafka_DescribeTopics(rk, collection, o, queue);
        rd_kafka_TopicCollection_destroy(collection);
        event  = result(o);
        topics = rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event), &cnt);
        for (i = 0; i < cnt; i++) {
                const char *name = rd_kafka_TopicDescription_name(topics[i]);
                const rd_kafka_TopicPartitionInfo_t **infos =
                    rd_kafka_TopicDescription_partitions(topics[i], &partition_cnt);
                report_error(name, rd_kafka_TopicDescription_error(topics[i]));
                for (j = 0; j < partition_cnt; j++)
                        rd_kafka_topic_partition_list_add(partitions, name,
                                                          rd_kafka_TopicPartitionInfo_partition(infos[j]));
        }
        rd_kafka_event_destroy(event);
        if (status)
                exit(status);
        return partitions;
}

/* Returns the offsets of partitions at an OffsetSpec or a timestamp, in the same order. */
static rd_kafka_topic_partition_list_t *offsets_at(const rd_kafka_topic_partition_list_t *partitions,
                                                   int64_t spec) {
        rd_kafka_AdminOptions_t *o              = options(RD_KAFKA_ADMIN_OP_LISTOFFSETS);
        rd_kafka_topic_partition_list_t *asked  = rd_kafka_topic_partition_list_copy(partitions);
        rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(partitions->cnt);
        const rd_kafka_ListOffsetsResultInfo_t **infos;
        rd_kafka_event_t *event;
        size_t cnt, i;
        int n;

        for (n = 0; n < asked->cnt; n++)
                asked->elems[n].offset = spec;
        rd_kafka_ListOffsets(rk, asked, o, queue);
        rd_kafka_topic_partition_list_destroy(asked);
        event = result(o);
        infos = rd_kafka_ListOffsets_result_infos(rd_kafka_event_ListOffsets_result(event), &cnt);
        for (i = 0; i < cnt; i++) {
                const rd_kafka_topic_partition_t *found =
                    rd_kafka_ListOffsetsResultInfo_topic_partition(infos[i]);
                report(found->topic, found->err, NULL);
                rd_kafka_topic_partition_list_add(offsets, found->topic, found->partition)->offset =
                    found->offset;
        }
        rd_kafka_event_destroy(event);
        if (status)
                exit(status);
        return offsets;
}

/* Returns the new offsets. */
static rd_kafka_topic_partition_list_t *
targets(const rd_kafka_topic_partition_list_t *current, enum where where, int64_t value) {
        rd_kafka_topic_partition_list_t *first = offsets_at(current, RD_KAFKA_OFFSET_SPEC_EARLIEST);
        rd_kafka_topic_partition_list_t *last  = offsets_at(current, RD_KAFKA_OFFSET_SPEC_LATEST);
        rd_kafka_topic_partition_list_t *new   = offsets_at(
            current, where == TIME ? value : where == LATEST ? RD_KAFKA_OFFSET_SPEC_LATEST
                                                               : RD_KAFKA_OFFSET_SPEC_EARLIEST);
        int i;

        for (i = 0; i < new->cnt; i++) {
                rd_kafka_topic_partition_t *to = &new->elems[i];
                int64_t from                   = current->elems[i].offset;
                if (where == SHIFT) {
                        if (from < 0)
                                wrong(to->topic, "a partition has no committed offset to shift");
                        /* Bounds without overflow. */
                        if (value < first->elems[i].offset - from)
                                to->offset = first->elems[i].offset;
                        else if (value > last->elems[i].offset - from)
                                to->offset = last->elems[i].offset;
                        else
                                to->offset = from + value;
                } else if (to->offset < 0) {
                        /* No record of that time or later. */
                        to->offset = last->elems[i].offset;
                }
        }
        rd_kafka_topic_partition_list_destroy(first);
        rd_kafka_topic_partition_list_destroy(last);
        return new;
}

static void commit(const char *group, const rd_kafka_topic_partition_list_t *offsets) {
        rd_kafka_AdminOptions_t *o = options(RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS);
        rd_kafka_AlterConsumerGroupOffsets_t *request =
            rd_kafka_AlterConsumerGroupOffsets_new(group, offsets);
        const rd_kafka_topic_partition_list_t *rows;
        const rd_kafka_group_result_t **groups;
        rd_kafka_event_t *event;
        size_t cnt;
        int i;

        rd_kafka_AlterConsumerGroupOffsets(rk, &request, 1, o, queue);
        rd_kafka_AlterConsumerGroupOffsets_destroy(request);
        event  = result(o);
        groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(
            rd_kafka_event_AlterConsumerGroupOffsets_result(event), &cnt);
        report_error(group, cnt == 1 ? rd_kafka_group_result_error(groups[0]) : NULL);
        rows = cnt == 1 ? rd_kafka_group_result_partitions(groups[0]) : NULL;
        for (i = 0; rows && i < rows->cnt; i++)
                report(rows->elems[i].topic, rows->elems[i].err, NULL);
        rd_kafka_event_destroy(event);
}

static void reset(const char *group, enum where where, int64_t value, const char **topics, size_t topic_cnt,
                  int execute) {
        rd_kafka_topic_partition_list_t *asked, *current, *new;
        int i;

        check_has_no_members(group);
        asked   = topic_cnt > 0 ? partitions_of(topics, topic_cnt) : NULL;
        current = committed(group, asked);
        if (current->cnt == 0)
                wrong(group, "the group has no committed offsets: name topics with --topic");
        new = targets(current, where, value);
        for (i = 0; i < new->cnt; i++) {
                printf("%s [%d]: ", new->elems[i].topic, (int)new->elems[i].partition);
                if (current->elems[i].offset < 0)
                        printf("none");
                else
                        printf("%lld", (long long)current->elems[i].offset);
                printf(" -> %lld\n", (long long)new->elems[i].offset);
        }
        if (execute)
                commit(group, new);
        else
                fprintf(stderr, "reset_offsets: nothing is changed without --execute\n");
        if (asked)
                rd_kafka_topic_partition_list_destroy(asked);
        rd_kafka_topic_partition_list_destroy(current);
        rd_kafka_topic_partition_list_destroy(new);
}

int main(int argc, char **argv) {
        const char **topics = calloc((size_t)argc, sizeof(*topics));
        enum where where    = NOWHERE;
        int64_t value       = 0;
        size_t topic_cnt    = 0;
        int execute         = 0, i;

        program = "reset_offsets";
        if (argc < 2) {
                fprintf(stderr, "usage: reset_offsets BROKERS [GROUP WHERE [--topic TOPIC]... [--execute]]\n");
                return 2;
        }
        for (i = 3; i < argc; i++) {
                const char *next = i + 1 < argc ? argv[i + 1] : NULL;
                if (!strcmp(argv[i], "--to-earliest"))
                        where = EARLIEST;
                else if (!strcmp(argv[i], "--to-latest"))
                        where = LATEST;
                else if (!strcmp(argv[i], "--execute"))
                        execute = 1;
                else if (!strcmp(argv[i], "--to-time") && next)
                        where = TIME, value = number(argv[++i], 0, LLONG_MAX);
                else if (!strcmp(argv[i], "--shift-by") && next)
                        where = SHIFT, value = number(argv[++i], LLONG_MIN, LLONG_MAX);
                else if (!strcmp(argv[i], "--topic") && next)
                        topics[topic_cnt++] = argv[++i];
                else
                        wrong(argv[i], "no such option, or it has no value");
        }
        if (argc > 2 && where == NOWHERE)
                wrong(argv[2], "needs one of --to-earliest, --to-latest, --to-time, --shift-by");
        connect_to(argv[1]);
        if (argc == 2)
                list_groups();
        else
                reset(argv[2], where, value, topics, topic_cnt, execute);
        free(topics);
        return disconnect();
}
