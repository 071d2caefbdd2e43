/*
 * producer: sends the lines of standard input to a topic.
 *
 *     producer BROKERS TOPIC < lines.txt
 *
 * Shows: the least configuration, delivery reports, a full queue, the end without loss.
 */

#include <iostream>
#include <memory>
#include <string>

#include <rdkafkacpp.h>

namespace {

/* Called by poll() and flush(), once for each message. */
class Reports : public RdKafka::DeliveryReportCb {
       public:
        unsigned long failures = 0;

        void dr_cb(RdKafka::Message &message) override {
                if (message.err()) {
                        failures++;
                        std::cerr << "not delivered: " << message.errstr() << std::endl;
                } else
                        std::cerr << "delivered to partition " << message.partition()
                                  << " at offset " << message.offset() << std::endl;
        }
};

/* The reports must outlive the producer: they are called for as long as it exists. */
std::unique_ptr<RdKafka::Producer> create(const std::string &brokers, Reports *reports) {
        std::string errstr;
        std::unique_ptr<RdKafka::Conf> conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
        std::unique_ptr<RdKafka::Producer> producer;
        if (conf->set("bootstrap.servers", brokers, errstr) == RdKafka::Conf::CONF_OK &&
            conf->set("dr_cb", reports, errstr) == RdKafka::Conf::CONF_OK)
                producer.reset(RdKafka::Producer::create(conf.get(), errstr));
        if (!producer)
                std::cerr << errstr << std::endl;
        return producer;
}

RdKafka::ErrorCode
send_line(RdKafka::Producer &producer, const std::string &topic, const std::string &line) {
        for (;;) {
                RdKafka::ErrorCode err = producer.produce(
                    topic, RdKafka::Topic::PARTITION_UA, RdKafka::Producer::RK_MSG_COPY,
                    const_cast<char *>(line.data()), line.size(), NULL, 0, 0, NULL);
                if (err != RdKafka::ERR__QUEUE_FULL)
                        return err;
                producer.poll(1000); /* wait for deliveries, which make room */
        }
}

}  // namespace

int main(int argc, char **argv) {
        if (argc != 3) {
                std::cerr << "usage: " << argv[0] << " BROKERS TOPIC" << std::endl;
                return 1;
        }
        Reports reports;
        std::unique_ptr<RdKafka::Producer> producer = create(argv[1], &reports);
        if (!producer)
                return 1;

        for (std::string line; std::getline(std::cin, line);) {
                RdKafka::ErrorCode err = send_line(*producer, argv[2], line);
                if (err) {
                        reports.failures++;
                        std::cerr << "not accepted: " << RdKafka::err2str(err) << std::endl;
                }
                producer->poll(0); /* delivery reports of earlier lines */
        }

        if (producer->flush(30000) == RdKafka::ERR__TIMED_OUT) {
                reports.failures++;
                std::cerr << producer->outq_len() << " messages were not delivered in time"
                          << std::endl;
        }
        return reports.failures ? 1 : 0;
}
