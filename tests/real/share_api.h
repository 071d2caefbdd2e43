/* The functions of share consumers that the programs here use, until rdkafka.h declares them. */

#ifndef OTTLA_TESTS_REAL_SHARE_API_H
#define OTTLA_TESTS_REAL_SHARE_API_H

#include "rdkafka.h"

size_t rd_kafka_messages_count(const rd_kafka_messages_t *messages);
rd_kafka_message_t *rd_kafka_messages_get(const rd_kafka_messages_t *messages, size_t index);
void rd_kafka_messages_destroy(rd_kafka_messages_t *messages);
int16_t rd_kafka_message_delivery_count(const rd_kafka_message_t *message);
rd_kafka_share_t *rd_kafka_share_consumer_new(rd_kafka_conf_t *conf, char *errstr, size_t errstr_size);
rd_kafka_resp_err_t rd_kafka_share_subscribe(rd_kafka_share_t *share, const rd_kafka_topic_partition_list_t *topics);
rd_kafka_error_t *rd_kafka_share_poll(rd_kafka_share_t *share, int timeout_ms, rd_kafka_messages_t **messages);
rd_kafka_resp_err_t rd_kafka_share_acknowledge(rd_kafka_share_t *share, const rd_kafka_message_t *message);
rd_kafka_resp_err_t rd_kafka_share_acknowledge_type(rd_kafka_share_t *share, const rd_kafka_message_t *message,
                                                    rd_kafka_share_AcknowledgeType_t type);
rd_kafka_error_t *rd_kafka_share_set_acknowledgement_commit_cb(
        rd_kafka_share_t *share,
        void (*callback)(rd_kafka_share_t *share, rd_kafka_share_partition_offsets_list_t *offsets,
                         rd_kafka_resp_err_t err, void *opaque),
        void *opaque);
size_t rd_kafka_share_partition_offsets_list_count(const rd_kafka_share_partition_offsets_list_t *list);
const rd_kafka_share_partition_offsets_t *rd_kafka_share_partition_offsets_list_get(
        const rd_kafka_share_partition_offsets_list_t *list, size_t index);
const rd_kafka_topic_partition_t *rd_kafka_share_partition_offsets_partition(
        const rd_kafka_share_partition_offsets_t *offsets);
const int64_t *rd_kafka_share_partition_offsets_offsets(const rd_kafka_share_partition_offsets_t *offsets);
size_t rd_kafka_share_partition_offsets_offsets_cnt(const rd_kafka_share_partition_offsets_t *offsets);
rd_kafka_error_t *rd_kafka_share_consumer_close(rd_kafka_share_t *share);
rd_kafka_error_t *rd_kafka_share_destroy(rd_kafka_share_t *share);

#endif
