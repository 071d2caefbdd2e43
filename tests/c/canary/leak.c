/* Not a test: a program that forgets a list, which the suite "memory" must notice. */
#include <rdkafka.h>

int main(void) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(4);
        rd_kafka_topic_partition_list_add(l, "forgotten", 0);
        l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_destroy(l);
        return 0;
}
