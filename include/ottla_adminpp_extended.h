/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ottla_adminpp_extended.h: admin operations in C++11 that librdkafka does not have, all of those in
 * ottla_admin.h, over whose functions the header is a layer. Programs that use this header do not link
 * with librdkafka. The rules of ottla_adminpp.h hold here too.
 *
 *      ottla::admin::ExtendedAdmin admin(producer.get());
 *      ottla::admin::GroupFilter empty;
 *      empty.states = {RD_KAFKA_GROUP_STATE_EMPTY};
 *      auto listed = admin.list_groups(empty).wait();
 *      for (const auto &group : listed->groups)
 *              std::cout << group.group_id << "\n";
 *
 * The header includes one for each area, with arguments, results and calls:
 *
 *  - ottla_adminpp_cluster.h: log directories, reassignments, quotas, resources with settings,
 *    features, the metadata quorum, brokers
 *  - ottla_adminpp_transactions.h: transactions, producers of partitions, delegation tokens
 *  - ottla_adminpp_groups.h: groups of all types and their members, offsets of share groups
 */

#ifndef _OTTLA_ADMINPP_EXTENDED_H_
#define _OTTLA_ADMINPP_EXTENDED_H_

#include "ottla_adminpp_groups.h"

namespace ottla {
namespace admin {

/** Admin with the operations that librdkafka does not have. */
class ExtendedAdmin : public GroupCalls {
       public:
        /** Makes admin calls with a producer or consumer, which must live longer. */
        explicit ExtendedAdmin(RdKafka::Handle *client) : GroupCalls(client) {
        }

        /** Makes admin calls with a client of the C interface. */
        explicit ExtendedAdmin(rd_kafka_t *client) : GroupCalls(client) {
        }
};

}  // namespace admin
}  // namespace ottla

#endif /* _OTTLA_ADMINPP_EXTENDED_H_ */
