/* SASL: tokens by callback, with its exceptions; the SASL queue; the background thread; credentials that change. */

#include <atomic>
#include <stdexcept>
#include <thread>

#include "test.hpp"

using RdKafka::Conf;

static bool contains(const std::string &text, const char *part) {
        return text.find(part) != std::string::npos;
}

/** A configuration with an embedded cluster whose brokers want this mechanism. */
static ConfPtr cluster_conf(const char *mechanism) {
        ConfPtr conf = new_conf();
        set(conf, "test.mock.num.brokers", "1");
        set(conf, "test.mock.sasl.mechanisms", mechanism);
        set(conf, "test.mock.sasl.users", "alice:secret");
        set(conf, "sasl.mechanisms", mechanism);
        set(conf, "reconnect.backoff.ms", "20");
        set(conf, "reconnect.backoff.max.ms", "100");
        return conf;
}

static bool connects(RdKafka::Handle *handle, int timeout_ms) {
        RdKafka::Metadata *metadata = NULL;
        RdKafka::ErrorCode err = handle->metadata(false, NULL, &metadata, timeout_ms);
        delete metadata;
        return err == RdKafka::ERR_NO_ERROR;
}

/** Sets tokens that end in 2100; {"alg":"none"}.{"sub":"alice","exp":4102444800}. */
struct Refreshes : RdKafka::OAuthBearerTokenRefreshCb {
        std::atomic<int> calls{0};
        std::atomic<bool> elsewhere{false};
        bool throws = false;
        RdKafka::ErrorCode code = RdKafka::ERR_NO_ERROR;
        std::string config, failure;
        const std::thread::id thread = std::this_thread::get_id();

        void oauthbearer_token_refresh_cb(RdKafka::Handle *handle, const std::string &given) override {
                calls++;
                config = given;
                if (std::this_thread::get_id() != thread)
                        elsewhere = true;
                if (throws)
                        throw std::runtime_error("no token");
                if (!failure.empty()) {
                        code = handle->oauthbearer_set_token_failure(failure);
                        return;
                }
                std::list<std::string> extensions = {"traceId", "a b"};
                std::string errstr;
                code = handle->oauthbearer_set_token(
                    "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6NDEwMjQ0NDgwMH0.",
                    INT64_C(4102444800000), "alice", extensions, errstr);
        }
};

struct Errors : RdKafka::EventCb {
        int count = 0;
        RdKafka::ErrorCode code = RdKafka::ERR_NO_ERROR;
        std::string text;

        void event_cb(RdKafka::Event &event) override {
                if (event.type() != RdKafka::Event::EVENT_ERROR || event.err() == RdKafka::ERR__ALL_BROKERS_DOWN)
                        return;
                count++;
                code = event.err();
                text = event.str();
        }
};

static ConfPtr token_conf(Refreshes &refreshes) {
        ConfPtr conf = cluster_conf("OAUTHBEARER");
        std::string errstr;
        RdKafka::OAuthBearerTokenRefreshCb *callback = &refreshes;
        CHECK_INT(conf->set("oauthbearer_token_refresh_cb", callback, errstr), Conf::CONF_OK);
        callback = NULL;
        CHECK_INT(conf->get(callback), Conf::CONF_OK);
        CHECK(callback == &refreshes);
        set(conf, "sasl.oauthbearer.config", "principal=alice");
        return conf;
}

template <class Done, class Poll>
static void poll_until(Done done, Poll poll) {
        for (int64_t until = test_now_ms() + 20000; !done() && test_now_ms() < until;)
                poll();
}

static void callback_in_poll() {
        Refreshes refreshes;
        ProducerPtr p = new_producer(token_conf(refreshes));
        poll_until([&] { return refreshes.calls > 0; }, [&] { p->poll(100); });
        CHECK_CODE(refreshes.code, RdKafka::ERR_NO_ERROR);
        CHECK(refreshes.config == "principal=alice");
        CHECK(!refreshes.elsewhere);
        CHECK(connects(p.get(), 20000));
        CHECK(p->get_sasl_queue() == NULL);
        std::unique_ptr<RdKafka::Error> error(p->sasl_background_callbacks_enable());
        REQUIRE(error != NULL);
        CHECK_CODE(error->code(), RdKafka::ERR__NOT_CONFIGURED);
}

static void callback_in_consume() {
        Refreshes refreshes;
        ConfPtr conf = token_conf(refreshes);
        set(conf, "group.id", "g");
        ConsumerPtr c = new_consumer(conf);
        poll_until([&] { return refreshes.calls > 0; }, [&] { delete c->consume(100); });
        CHECK(connects(c.get(), 20000));
        c->close();
}

static void exceptions_are_thrown_by_poll() {
        Refreshes refreshes;
        refreshes.throws = true;
        ProducerPtr p = new_producer(token_conf(refreshes));
        std::string caught;
        poll_until([&] { return !caught.empty(); }, [&] {
                try {
                        p->poll(100);
                } catch (const std::runtime_error &e) {
                        caught = e.what();
                }
        });
        CHECK(caught == "no token");
}

static void failures_are_events() {
        Refreshes refreshes;
        Errors errors;
        std::string errstr;
        refreshes.failure = "no such client";
        ConfPtr conf = token_conf(refreshes);
        CHECK_INT(conf->set("event_cb", static_cast<RdKafka::EventCb *>(&errors), errstr), Conf::CONF_OK);
        ProducerPtr p = new_producer(conf);
        poll_until([&] { return errors.count > 0; }, [&] { p->poll(100); });
        CHECK_CODE(refreshes.code, RdKafka::ERR_NO_ERROR);
        CHECK_CODE(errors.code, RdKafka::ERR__AUTHENTICATION);
        CHECK(errors.text == "Failed to acquire SASL OAUTHBEARER token: no such client");
        CHECK_CODE(p->oauthbearer_set_token_failure(""), RdKafka::ERR__INVALID_ARG);
}

static void background_thread() {
        Refreshes refreshes;
        std::string errstr;
        ConfPtr conf = token_conf(refreshes);
        CHECK_INT(conf->enable_sasl_queue(true, errstr), Conf::CONF_OK);
        ProducerPtr p = new_producer(conf);
        CHECK(p->sasl_background_callbacks_enable() == NULL);
        CHECK(connects(p.get(), 20000));
        CHECK(refreshes.elsewhere);
        CHECK_INT(refreshes.calls, 1);
}

static void sasl_queue_forwarded_by_the_application() {
        Refreshes refreshes;
        std::string errstr;
        ConfPtr conf = token_conf(refreshes);
        CHECK_INT(conf->enable_sasl_queue(true, errstr), Conf::CONF_OK);
        ProducerPtr p = new_producer(conf);
        p->poll(300);
        CHECK_INT(refreshes.calls, 0);
        std::unique_ptr<RdKafka::Queue> queue(p->get_sasl_queue()), background(p->get_background_queue());
        REQUIRE(queue != NULL && background != NULL);
        CHECK_CODE(queue->forward(background.get()), RdKafka::ERR_NO_ERROR);
        CHECK(connects(p.get(), 20000));
        CHECK(refreshes.elsewhere);
}

static void arguments() {
        Refreshes refreshes;
        ProducerPtr p = new_producer(token_conf(refreshes));
        const std::list<std::string> none, odd = {"name"}, digit = {"k1", "v"};
        const int64_t later = INT64_C(4102444800000);
        for (const std::list<std::string> *extensions : {&odd, &digit}) {
                std::string errstr;
                CHECK_CODE(p->oauthbearer_set_token("t", later, "me", *extensions, errstr), RdKafka::ERR__INVALID_ARG);
                CHECK(contains(errstr, "extension"));
        }
        std::string errstr;
        CHECK_CODE(p->oauthbearer_set_token("t", 1, "me", none, errstr), RdKafka::ERR__INVALID_ARG);
        CHECK(contains(errstr, "1970"));
        CHECK_CODE(p->oauthbearer_set_token("t", later, "me", none, errstr), RdKafka::ERR_NO_ERROR);

        ProducerPtr other = new_producer(new_conf());
        CHECK_CODE(other->oauthbearer_set_token("t", later, "me", none, errstr), RdKafka::ERR__STATE);
        CHECK(contains(errstr, "OAUTHBEARER"));
        CHECK_CODE(other->oauthbearer_set_token_failure("none"), RdKafka::ERR__STATE);
        ConfPtr topic(Conf::create(Conf::CONF_TOPIC));
        CHECK_INT(topic->enable_sasl_queue(true, errstr), Conf::CONF_INVALID);
}

static void credentials_are_replaced() {
        Errors errors;
        std::string errstr;
        ConfPtr conf = cluster_conf("PLAIN");
        set(conf, "sasl.username", "alice");
        set(conf, "sasl.password", "wrong");
        CHECK_INT(conf->set("event_cb", static_cast<RdKafka::EventCb *>(&errors), errstr), Conf::CONF_OK);
        ProducerPtr p = new_producer(conf);
        CHECK(!connects(p.get(), 1000));
        poll_until([&] { return errors.count > 0; }, [&] { p->poll(100); });
        CHECK_CODE(errors.code, RdKafka::ERR__AUTHENTICATION);
        CHECK(contains(errors.text, "Authentication failed"));
        CHECK(p->sasl_set_credentials("alice", "secret") == NULL);
        CHECK(connects(p.get(), 20000));
        std::unique_ptr<RdKafka::Error> error(p->sasl_set_credentials("alice", ""));
        REQUIRE(error != NULL);
        CHECK_CODE(error->code(), RdKafka::ERR__INVALID_ARG);
}

int main() {
        RUN(callback_in_poll);
        RUN(callback_in_consume);
        RUN(exceptions_are_thrown_by_poll);
        RUN(failures_are_events);
        RUN(background_thread);
        RUN(sasl_queue_forwarded_by_the_application);
        RUN(arguments);
        RUN(credentials_are_replaced);
        return test_end();
}
