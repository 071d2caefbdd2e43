/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ottla_share.h: functions of share consumers in addition to those of rdkafka.h. librdkafka does not
 * have them, so a program that calls them cannot be linked with librdkafka.
 *
 * The property `share.acquire.mode` (KIP-1206) is not in librdkafka either, see docs/CONFIGURATION.md.
 */

#ifndef _OTTLA_SHARE_H_
#define _OTTLA_SHARE_H_

#include "rdkafka.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @name Locks of records that are still being processed (KIP-1222, Kafka 4.2)
 *  @{ */

/**
 * Renews the lock of a record of the last poll, so that the application can process it for longer than
 * one lock lasts. Explicit mode only. Sends nothing: the next poll or commit does, and until then
 * another acknowledgement can replace the renewal.
 *
 * A renewal counts as an acknowledgement for the next poll, which is not refused because of it. The record
 * remains to be acknowledged with rd_kafka_share_acknowledge(), rd_kafka_share_acknowledge_type() or
 * rd_kafka_share_acknowledge_offset(), or to be renewed again, also after later polls. The polls
 * themselves do not renew it. The message itself can be used as long as its batch is not freed.
 *
 * Results are reported as those of other acknowledgements. Brokers that do not support renewals (older
 * than Kafka 4.2, or with share.renew.acknowledge.enable=false for the group) cause an error, and the lock
 * ends as before.
 *
 * @param rkmessage  A message of the last poll, or of an earlier one whose lock was renewed since. It stays
 *                   the caller's.
 *
 * @return As rd_kafka_share_acknowledge_type().
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_share_renew(rd_kafka_share_t *rkshare,
                                                   const rd_kafka_message_t *rkmessage);

/**
 * Renews the lock of the record at an offset, as rd_kafka_share_renew(); works also after the messages
 * were freed.
 *
 * @param topic      The topic's name.
 * @param partition  The partition, 0 or more.
 * @param offset     The offset, 0 or more.
 *
 * @return As rd_kafka_share_acknowledge_offset().
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_share_renew_offset(rd_kafka_share_t *rkshare,
                                                          const char *topic,
                                                          int32_t partition,
                                                          int64_t offset);

/**
 * Returns how long locks of records last, in milliseconds, as brokers stated it last
 * (group.share.record.lock.duration.ms, or the group's share.record.lock.duration.ms); -1 before the
 * first response that states it, with brokers older than Kafka 4.2, and for NULL. Thread-safe.
 */
RD_EXPORT int rd_kafka_share_lock_timeout_ms(rd_kafka_share_t *rkshare);

/** @} */

/** @name Waiting
 *  @{ */

/**
 * Ends the wait of the rd_kafka_share_poll() that is in progress or else of the next one, which then
 * returns neither messages nor an error, unless messages had arrived. Several calls before a poll count as
 * one. Thread-safe: meant for another thread or a signal handler's thread that ends the loop of polls.
 * Not async-signal-safe.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__STATE for NULL and after a fork.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_share_wakeup(rd_kafka_share_t *rkshare);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* _OTTLA_SHARE_H_ */
