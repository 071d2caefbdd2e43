/* Share consumers of ottla_sharepp.h: records, acknowledgements, results, exceptions of callbacks, threads. */

#include "test.hpp"

#include <functional>
#include <stdexcept>
#include <thread>

#include <ottla_sharepp.h>
#include <rdkafka_mock.h>

using ottla::share::Acknowledge;
using ottla::share::AcknowledgementResult;
using ottla::share::Conf;
using ottla::share::Consumer;
using ottla::share::Error;
using ottla::share::Record;
using ottla::share::Records;
using ottla::share::Result;
using ottla::share::TopicPartition;

typedef std::unique_ptr<Consumer> Owned;

static ProducerPtr producer;
static std::string servers;

static rd_kafka_mock_cluster_t *cluster() {
        return rd_kafka_handle_mock_cluster(producer->c_ptr());
}

static void check_fine(const Error &error) {
        CHECK_TEXT(error.text, "");
        CHECK_FINE(error.code);
}

static Conf conf_of(const std::string &group, const std::string &mode) {
        const std::string settings[][2] = {{"bootstrap.servers", servers},
                                           {"group.id", group},
                                           {"share.acknowledgement.mode", mode},
                                           {"log_level", "0"}};
        Conf conf;
        for (const auto &setting : settings)
                check_fine(conf.set(setting[0], setting[1]));
        return conf;
}

static Owned create(const Conf &conf) {
        auto created = Consumer::create(conf);
        if (!created.ok())
                bail(created.error().text);
        return std::move(created.value());
}

/** A consumer of the topic that has its group's name. */
static Owned consumer_of(const std::string &group, const std::string &mode) {
        Owned consumer = create(conf_of(group, mode));
        check_fine(consumer->subscribe({group}));
        return consumer;
}

/** A topic of one partition with these records, and a consumer in explicit mode. */
static Owned with_records(const std::string &name, const std::vector<std::string> &values) {
        CHECK_OK(rd_kafka_mock_topic_create(cluster(), name.c_str(), 1, 1));
        for (const std::string &value : values)
                CHECK_FINE(send(producer, name, 0, value));
        CHECK_FINE(producer->flush(20000));
        return consumer_of(name, "explicit");
}

/** Returns the next records that are not none; none after twenty seconds. */
static Records next(Consumer &consumer) {
        int64_t end = test_now_ms() + 20000;
        while (test_now_ms() < end) {
                auto polled = consumer.poll(500);
                check_fine(polled.error());
                if (!polled.ok() || !polled.value().empty())
                        return std::move(polled.value());
        }
        return Records();
}

/** Commits, and returns the only partition's error. */
static Error commit(Consumer &consumer) {
        auto committed = consumer.commit_sync(10000);
        check_fine(committed.error());
        CHECK_INT(committed->size(), 1);
        return committed->empty() ? Error() : committed.value()[0].second.error();
}

static std::string values(const Records &records) {
        std::string all;
        for (const Record &record : records)
                all += (all.empty() ? "" : " ") + record.value() + "/" + std::to_string(record.delivery_count());
        return all;
}

static void wrong_settings_have_errors() {
        Conf conf;
        CHECK_CODE(conf.set("no.such.property", "1").code, RdKafka::ERR__NOT_CONFIGURED);
        CHECK_CODE(conf.set("max.poll.records", "none").code, RdKafka::ERR__INVALID_ARG);
        check_fine(conf.set("group.id", "g"));
        check_fine(conf.set("auto.offset.reset", "earliest"));
        auto refused = Consumer::create(conf);
        CHECK_CODE(refused.error().code, RdKafka::ERR__INVALID_ARG);
        CHECK(refused.error().text.find("auto.offset.reset") != std::string::npos);
        CHECK(refused.value() == nullptr);
}

static void subscriptions_are_replaced() {
        Owned consumer = create(conf_of("subscriptions", "implicit"));
        CHECK_CODE(consumer->poll(0).error().code, RdKafka::ERR__STATE);
        CHECK(consumer->subscription()->empty());
        check_fine(consumer->subscribe({"b", "^a"}));
        check_fine(consumer->subscribe({"^c", "d"}));
        auto topics = consumer->subscription();
        REQUIRE(topics.ok() && topics->size() == 2);
        CHECK_TEXT(topics.value()[0] + topics.value()[1], "^cd");
        CHECK_CODE(consumer->subscribe({"e", "e"}).code, RdKafka::ERR__INVALID_ARG);
        CHECK_CODE(consumer->subscribe({""}).code, RdKafka::ERR__INVALID_ARG);
        check_fine(consumer->unsubscribe());
        CHECK(consumer->subscription()->empty());
        check_fine(consumer->close());
}

static void records_have_all_fields() {
        Owned consumer               = with_records("fields", {});
        RdKafka::Headers *headers    = RdKafka::Headers::create();
        const std::string with_nulls = std::string("a\0b", 3);
        headers->add("h", "1");
        headers->add("h", NULL, 0);
        CHECK_FINE(producer->produce("fields", 0, RdKafka::Producer::RK_MSG_COPY,
                                     const_cast<char *>(with_nulls.data()), with_nulls.size(), "key", 3, 123456,
                                     headers, NULL));
        CHECK_FINE(producer->produce("fields", 0, RdKafka::Producer::RK_MSG_COPY, NULL, 0, NULL, 0, 0, NULL));
        CHECK_FINE(producer->flush(20000));
        std::vector<Records> polled;
        size_t cnt = 0;
        while (cnt < 2) {
                polled.push_back(next(*consumer));
                REQUIRE(!polled.back().empty());
                cnt += polled.back().size();
                for (const Record &record : polled.back())
                        check_fine(consumer->acknowledge(record));
        }
        const Record first = polled.front()[0];
        check_fine(first.error());
        CHECK_TEXT(first.topic(), "fields");
        CHECK_INT(first.partition(), 0);
        CHECK_INT(first.offset(), 0);
        CHECK(first.has_key() && first.has_value());
        CHECK_TEXT(first.key(), "key");
        CHECK(first.value() == with_nulls && first.len() == 3 && first.payload() != NULL);
        CHECK_INT(first.timestamp_ms(), 123456);
        CHECK_INT(first.delivery_count(), 1);
        auto found = first.headers();
        REQUIRE(found.size() == 2);
        CHECK_TEXT(found[0].name + found[0].value + found[1].name, "h1h");
        CHECK(!found[0].is_null && found[1].is_null);
        const Record last = polled.back()[polled.back().size() - 1];
        CHECK_INT(last.offset(), 1);
        CHECK(!last.has_key() && !last.has_value() && last.headers().empty());
        CHECK_INT(last.value().size(), 0);
        check_fine(commit(*consumer));
}

static void a_poll_accepts_in_implicit_mode() {
        with_records("implicit", {"a", "b"});
        Owned consumer = consumer_of("implicit", "implicit");
        Records records = next(*consumer);
        CHECK_TEXT(values(records), "a/1 b/1");
        REQUIRE(!records.empty());
        CHECK_CODE(consumer->acknowledge(records[0]).code, RdKafka::ERR__STATE);
        check_fine(commit(*consumer));
        auto again = consumer->commit_sync(0);
        CHECK(again.ok() && again->empty());
        check_fine(consumer->close());
        consumer      = consumer_of("implicit", "implicit");
        auto nothing  = consumer->poll(1500);
        CHECK(nothing.ok() && nothing->empty());
}

static void released_records_return_and_rejected_ones_do_not() {
        Owned consumer  = with_records("release", {"a", "b", "c"});
        Records records = next(*consumer);
        REQUIRE(records.size() == 3);
        CHECK_CODE(consumer->poll(0).error().code, RdKafka::ERR__STATE);
        check_fine(consumer->acknowledge(records[0]));
        check_fine(consumer->acknowledge(records[0], Acknowledge::RELEASE)); /* replaces it */
        check_fine(consumer->acknowledge(TopicPartition("release", 0), 1, Acknowledge::REJECT));
        check_fine(consumer->acknowledge(records[2], Acknowledge::RELEASE));
        CHECK_CODE(consumer->acknowledge(TopicPartition("release", 0), 3).code, RdKafka::ERR__STATE);
        CHECK_CODE(consumer->acknowledge(TopicPartition("release", -1), 0).code, RdKafka::ERR__INVALID_ARG);
        check_fine(commit(*consumer));
        CHECK_CODE(consumer->acknowledge(records[0]).code, RdKafka::ERR__STATE);
        records = next(*consumer);
        CHECK_TEXT(values(records), "a/2 c/2");
        for (const Record &record : records)
                check_fine(consumer->acknowledge(record));
        check_fine(consumer->commit_async());
        check_fine(consumer->close());
        CHECK(consumer->closed());
        CHECK_CODE(consumer->close().code, RdKafka::ERR__STATE);
        CHECK_CODE(consumer->poll(0).error().code, RdKafka::ERR__STATE);
}

static void renewed_records_stay_locked() {
        Owned consumer = with_records("renew", {"a"});
        CHECK_INT(consumer->lock_timeout_ms(), -1);
        Records records = next(*consumer);
        REQUIRE(records.size() == 1);
        CHECK_INT(consumer->lock_timeout_ms(), 30000);
        check_fine(consumer->acknowledge(records[0], Acknowledge::RENEW));
        check_fine(commit(*consumer));
        check_fine(consumer->acknowledge(TopicPartition("renew", 0), 0, Acknowledge::RENEW));
        auto nothing = consumer->poll(300);
        CHECK(nothing.ok() && nothing->empty());
        check_fine(consumer->acknowledge(records[0]));
        check_fine(commit(*consumer));
        CHECK_CODE(consumer->acknowledge(records[0]).code, RdKafka::ERR__STATE);
}

static void a_lock_that_has_run_out_is_an_error_of_its_partition() {
        rd_kafka_mock_sharegroup_set_record_lock_duration(cluster(), 1000);
        std::vector<AcknowledgementResult> results;
        Owned consumer  = with_records("late", {"a", "b"});
        Records records = next(*consumer);
        REQUIRE(records.size() == 2);
        check_fine(consumer->on_acknowledged(
            [&](const AcknowledgementResult &result) { results.push_back(result); }));
        test_sleep_ms(2000);
        for (const Record &record : records)
                check_fine(consumer->acknowledge(record));
        CHECK_CODE(commit(*consumer).code, RD_KAFKA_RESP_ERR_INVALID_RECORD_STATE);
        rd_kafka_mock_sharegroup_set_record_lock_duration(cluster(), 30000);
        REQUIRE(results.size() == 1); /* before the commit returned */
        CHECK_TEXT(results[0].partition.topic, "late");
        CHECK_INT(results[0].partition.partition, 0);
        CHECK(results[0].offsets == std::vector<int64_t>({0, 1}));
        CHECK_CODE(results[0].error.code, RD_KAFKA_RESP_ERR_INVALID_RECORD_STATE);
        CHECK(!results[0].error.text.empty());
        records = next(*consumer);
        CHECK_TEXT(values(records), "a/2 b/2");
        for (const Record &record : records)
                check_fine(consumer->acknowledge(record));
        check_fine(consumer->on_acknowledged(nullptr));
        check_fine(commit(*consumer));
        CHECK_INT(results.size(), 1);
}

static void an_exception_of_a_callback_leaves_the_call_and_no_record_is_lost() {
        Owned consumer = with_records("thrown", {"a"});
        Error inside;
        bool throws = true;
        check_fine(consumer->on_acknowledged([&](const AcknowledgementResult &) {
                inside = consumer->commit_async();
                if (throws)
                        throw std::runtime_error("from the callback");
        }));
        Records records = next(*consumer);
        REQUIRE(records.size() == 1);
        check_fine(consumer->acknowledge(records[0], Acknowledge::RELEASE));
        int thrown          = 0;
        const auto catching = [&](const std::function<void()> &call) {
                try {
                        call();
                } catch (const std::runtime_error &error) {
                        thrown++;
                        CHECK_TEXT(error.what(), "from the callback");
                }
        };
        /* The commit serves the callback when the broker has answered by its end, otherwise a poll does.
         * The record returns in a poll that may also serve the callback. */
        catching([&] { check_fine(consumer->commit_async()); });
        Records again;
        for (int64_t end = test_now_ms() + 20000; (!thrown || again.empty()) && test_now_ms() < end;) {
                catching([&] {
                        auto polled = consumer->poll(5000);
                        check_fine(polled.error());
                        if (!polled->empty())
                                again = std::move(polled.value());
                });
        }
        CHECK_INT(thrown, 1);
        CHECK_TEXT(values(again), "a/2");
        CHECK_CODE(inside.code, RdKafka::ERR__STATE);
        REQUIRE(!again.empty());
        check_fine(consumer->acknowledge(again[0]));
        catching([&] {
                consumer->commit_sync(10000);
                CHECK(!"an exception");
        });
        throws = false;
        check_fine(consumer->close());
        CHECK_INT(thrown, 2);
}

static void another_thread_wakes_a_poll_and_cannot_poll() {
        Owned consumer = consumer_of("nothing", "implicit");
        Error second;
        std::thread other([&] {
                test_sleep_ms(500);
                second = consumer->poll(0).error();
                consumer->wakeup();
        });
        int64_t start = test_now_ms();
        auto polled   = consumer->poll(20000);
        CHECK(polled.ok() && polled->empty());
        CHECK(test_now_ms() - start < 15000);
        other.join();
        CHECK_CODE(second.code, RdKafka::ERR__CONFLICT);
}

static void errors_and_statistics_of_the_client_have_callbacks() {
        std::vector<RdKafka::ErrorCode> errors;
        std::string statistics;
        Conf conf = conf_of("errors", "implicit");
        check_fine(conf.set("bootstrap.servers", "127.0.0.1:1"));
        check_fine(conf.set("statistics.interval.ms", "100"));
        conf.on_error([&](const Error &error) { errors.push_back(error.code); });
        conf.on_statistics([&](const std::string &json) { statistics = json; });
        Owned consumer = create(conf);
        check_fine(consumer->subscribe({"t"}));
        for (int64_t end = test_now_ms() + 20000;
             (errors.empty() || statistics.empty()) && test_now_ms() < end;)
                consumer->poll(100);
        REQUIRE(!errors.empty() && !statistics.empty());
        CHECK(errors[0] == RdKafka::ERR__TRANSPORT || errors[0] == RdKafka::ERR__ALL_BROKERS_DOWN);
        CHECK_TEXT(statistics.substr(0, 1), "{");
}

int main() {
        producer = new_cluster();
        servers  = servers_of(producer);
        rd_kafka_mock_sharegroup_set_auto_offset_reset(cluster(), 1); /* 1: earliest */
        rd_kafka_mock_sharegroup_set_heartbeat_interval(cluster(), 100);
        RUN(wrong_settings_have_errors);
        RUN(subscriptions_are_replaced);
        RUN(records_have_all_fields);
        RUN(a_poll_accepts_in_implicit_mode);
        RUN(released_records_return_and_rejected_ones_do_not);
        RUN(renewed_records_stay_locked);
        RUN(a_lock_that_has_run_out_is_an_error_of_its_partition);
        RUN(an_exception_of_a_callback_leaves_the_call_and_no_record_is_lost);
        RUN(another_thread_wakes_a_poll_and_cannot_poll);
        RUN(errors_and_statistics_of_the_client_have_callbacks);
        producer.reset();
        return test_end();
}
