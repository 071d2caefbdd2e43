/*
 * transactions: copies messages from one topic to another, each exactly once, until Ctrl-C.
 *
 *     transactions BROKERS GROUP FROM TO
 *
 * Shows: reading, processing, writing in transactions, with the consumed offsets as part of each
 * (KIP-447); what to do after each kind of error. One such program runs for a group at a time:
 * another with the same transactional.id takes over from it.
 */

#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <rdkafkacpp.h>

namespace {

const int TRANSACTION_MESSAGES_MAX = 100;

volatile std::sig_atomic_t running = 1;

void on_signal(int) {
        running = 0;
}

typedef std::vector<std::pair<std::string, std::string>> Settings;

std::unique_ptr<RdKafka::Conf> configure(const Settings &settings) {
        std::string errstr;
        std::unique_ptr<RdKafka::Conf> conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
        for (const auto &setting : settings)
                if (conf->set(setting.first, setting.second, errstr) != RdKafka::Conf::CONF_OK)
                        throw std::runtime_error(errstr);
        return conf;
}

/* The transaction cannot be committed. */
struct MustAbort {};

/* Calls until it succeeds; what cannot be mended by calling again is thrown. */
template <class Call>
void succeed(const char *what, Call call) {
        for (;;) {
                std::unique_ptr<RdKafka::Error> error(call());
                if (!error)
                        return;
                std::cerr << what << ": " << error->str() << std::endl;
                if (error->txn_requires_abort())
                        throw MustAbort();
                if (!error->is_retriable())
                        throw std::runtime_error(error->str());
        }
}

class Copier {
       public:
        Copier(const std::string &brokers,
               const std::string &group,
               const std::string &from,
               const std::string &to)
            : to_(to) {
                std::string errstr;
                std::unique_ptr<RdKafka::Conf> conf = configure(
                    {{"bootstrap.servers", brokers}, {"transactional.id", group + "-copier"}});
                producer_.reset(RdKafka::Producer::create(conf.get(), errstr));
                if (!producer_)
                        throw std::runtime_error(errstr);
                conf = configure({{"bootstrap.servers", brokers},
                                  {"group.id", group},
                                  {"auto.offset.reset", "earliest"},
                                  {"session.timeout.ms", "6000"}, /* after a crash */
                                  {"enable.auto.commit", "false"}}); /* the transaction commits */
                consumer_.reset(RdKafka::KafkaConsumer::create(conf.get(), errstr));
                if (!consumer_)
                        throw std::runtime_error(errstr);
                succeed("init", [&] { return producer_->init_transactions(-1); });
                RdKafka::ErrorCode err = consumer_->subscribe(std::vector<std::string>(1, from));
                if (err)
                        throw std::runtime_error(RdKafka::err2str(err));
        }

        ~Copier() {
                consumer_->close();
        }

        /* One transaction: what is there, up to a limit. */
        void copy() {
                std::unique_ptr<RdKafka::Message> first = next(500);
                if (!first)
                        return;
                /* The present identity in the group: if it rebalances before the commit, the commit fails. */
                group_.reset(consumer_->groupMetadata());
                read_.clear();
                succeed("begin", [&] { return producer_->begin_transaction(); });
                try {
                        int cnt = 0;
                        for (auto message = std::move(first); message; message = next(0)) {
                                write(*message);
                                if (++cnt == TRANSACTION_MESSAGES_MAX)
                                        break;
                        }
                        add_offsets();
                        succeed("commit", [&] { return producer_->commit_transaction(-1); });
                        std::cerr << "committed " << cnt << " messages" << std::endl;
                } catch (const MustAbort &) {
                        succeed("abort", [&] { return producer_->abort_transaction(-1); });
                        rewind();
                }
        }

       private:
        typedef std::pair<std::string, int32_t> Partition;

        /* The messages read from a partition in the present transaction. */
        struct Offsets {
                int64_t first;
                int64_t next;
        };

        std::unique_ptr<RdKafka::Message> next(int timeout_ms) {
                std::unique_ptr<RdKafka::Message> message(consumer_->consume(timeout_ms));
                if (!message->err())
                        return message;
                if (message->err() != RdKafka::ERR__TIMED_OUT)
                        std::cerr << message->errstr() << std::endl;
                return nullptr;
        }

        void write(const RdKafka::Message &message) {
                const Partition from(message.topic_name(), message.partition());
                Offsets &offsets = read_.insert({from, {message.offset(), 0}}).first->second;
                offsets.next = message.offset() + 1;
                RdKafka::ErrorCode err;
                while ((err = producer_->produce(
                            to_, RdKafka::Topic::PARTITION_UA, RdKafka::Producer::RK_MSG_COPY,
                            message.payload(), message.len(), message.key_pointer(),
                            message.key_len(), 0, NULL)) == RdKafka::ERR__QUEUE_FULL)
                        producer_->poll(100);
                if (err == RdKafka::ERR__STATE)
                        throw MustAbort(); /* an earlier message was not delivered */
                if (err)
                        throw std::runtime_error(RdKafka::err2str(err));
        }

        void add_offsets() {
                std::vector<RdKafka::TopicPartition *> offsets;
                for (const auto &from : read_)
                        offsets.push_back(RdKafka::TopicPartition::create(
                            from.first.first, from.first.second, from.second.next));
                try {
                        succeed("offsets", [&] {
                                return producer_->send_offsets_to_transaction(offsets, group_.get(),
                                                                              -1);
                        });
                } catch (...) {
                        RdKafka::TopicPartition::destroy(offsets);
                        throw;
                }
                RdKafka::TopicPartition::destroy(offsets);
        }

        /* Goes back to where the aborted transaction has begun. */
        void rewind() {
                for (const auto &from : read_) {
                        std::unique_ptr<RdKafka::TopicPartition> to(RdKafka::TopicPartition::create(
                            from.first.first, from.first.second, from.second.first));
                        /* Fails for a partition that is another member's by now: nothing is to be
                         * done for that. */
                        consumer_->seek(*to, 1000);
                }
        }

        const std::string to_;
        std::unique_ptr<RdKafka::Producer> producer_;
        std::unique_ptr<RdKafka::KafkaConsumer> consumer_;
        std::unique_ptr<RdKafka::ConsumerGroupMetadata> group_;
        std::map<Partition, Offsets> read_;
};

}  // namespace

int main(int argc, char **argv) {
        if (argc != 5) {
                std::cerr << "usage: " << argv[0] << " BROKERS GROUP FROM TO" << std::endl;
                return 1;
        }
        std::signal(SIGINT, on_signal);
        try {
                Copier copier(argv[1], argv[2], argv[3], argv[4]);
                while (running)
                        copier.copy();
        } catch (const std::exception &e) {
                std::cerr << e.what() << std::endl;
                return 1;
        }
        return 0;
}
