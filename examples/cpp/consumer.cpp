/*
 * consumer: prints the messages of topics, as a member of a group, until Ctrl-C.
 *
 *     consumer BROKERS GROUP TOPIC...
 *
 * Shows: subscribing, polling, messages and errors, the orderly end.
 */

#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <rdkafkacpp.h>

namespace {

volatile std::sig_atomic_t running = 1;

void on_signal(int) {
        running = 0;
}

std::unique_ptr<RdKafka::KafkaConsumer>
create(const std::string &brokers, const std::string &group) {
        const std::string settings[][2] = {
            {"bootstrap.servers", brokers},
            {"group.id", group},
            {"auto.offset.reset", "earliest"}, /* where a new group starts */
        };
        std::string errstr;
        std::unique_ptr<RdKafka::Conf> conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
        for (const auto &setting : settings)
                if (conf->set(setting[0], setting[1], errstr) != RdKafka::Conf::CONF_OK) {
                        std::cerr << errstr << std::endl;
                        return nullptr;
                }
        std::unique_ptr<RdKafka::KafkaConsumer> consumer(
            RdKafka::KafkaConsumer::create(conf.get(), errstr));
        if (!consumer)
                std::cerr << errstr << std::endl;
        return consumer;
}

void print_message(const RdKafka::Message &message) {
        std::cout << message.topic_name() << " [" << message.partition() << "] "
                  << message.offset() << ": ";
        if (message.key())
                std::cout << *message.key() << " = ";
        std::cout.write(static_cast<const char *>(message.payload()),
                        static_cast<std::streamsize>(message.len()));
        std::cout << std::endl;
}

}  // namespace

int main(int argc, char **argv) {
        if (argc < 4) {
                std::cerr << "usage: " << argv[0] << " BROKERS GROUP TOPIC..." << std::endl;
                return 1;
        }
        std::signal(SIGINT, on_signal);
        std::unique_ptr<RdKafka::KafkaConsumer> consumer = create(argv[1], argv[2]);
        if (!consumer)
                return 1;
        const std::vector<std::string> topics(argv + 3, argv + argc);
        RdKafka::ErrorCode err = consumer->subscribe(topics);
        if (err) {
                std::cerr << "subscribe: " << RdKafka::err2str(err) << std::endl;
                return 1;
        }

        while (running) {
                std::unique_ptr<RdKafka::Message> message(consumer->consume(500));
                if (message->err() == RdKafka::ERR__TIMED_OUT)
                        continue; /* nothing came in this time */
                if (message->err())
                        std::cerr << message->errstr() << std::endl; /* and go on */
                else
                        print_message(*message);
        }

        consumer->close(); /* commits, and leaves the group */
        return 0;
}
