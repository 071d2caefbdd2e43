/* Unsupported features fail with an error, and are never ignored silently. */

#include "test.hpp"

using RdKafka::Conf;

struct Refreshes : RdKafka::OAuthBearerTokenRefreshCb {
        void oauthbearer_token_refresh_cb(RdKafka::Handle *, const std::string &) {
        }
};

static bool says(const std::string &text, const char *what) {
        return text.find(what) != std::string::npos;
}

static void security_in_configurations() {
        ConfPtr conf = new_conf();
        Refreshes refreshes;
        std::string errstr;
        RdKafka::OAuthBearerTokenRefreshCb *refresh = &refreshes;
        /* Kept, and never called: the mechanism that needs it is refused. */
        CHECK_INT(conf->set("oauthbearer_token_refresh_cb", refresh, errstr), Conf::CONF_OK);
        errstr.clear();
        CHECK_INT(conf->enable_sasl_queue(true, errstr), Conf::CONF_INVALID);
        CHECK(says(errstr, "SASL"));
        /* They can be read and reset. */
        CHECK_INT(conf->get(refresh), Conf::CONF_OK);
        CHECK(refresh == &refreshes);
        refresh = NULL;
        CHECK_INT(conf->set("oauthbearer_token_refresh_cb", refresh, errstr), Conf::CONF_OK);
}

static void security_of_clients() {
        ProducerPtr p = new_producer(new_conf());
        std::string errstr;
        CHECK_CODE(p->oauthbearer_set_token("token", 1, "me", std::list<std::string>(), errstr),
                   RdKafka::ERR__STATE);
        CHECK(says(errstr, "OAUTHBEARER"));
        CHECK_CODE(p->oauthbearer_set_token_failure("none"), RdKafka::ERR__STATE);
        std::unique_ptr<RdKafka::Error> error(p->sasl_background_callbacks_enable());
        REQUIRE(error != NULL);
        CHECK_CODE(error->code(), RdKafka::ERR__NOT_IMPLEMENTED);
        CHECK(says(error->str(), "SASL"));
        error.reset(p->sasl_set_credentials("me", "secret"));
        REQUIRE(error != NULL);
        CHECK_CODE(error->code(), RdKafka::ERR__NOT_IMPLEMENTED);
        CHECK(p->get_sasl_queue() == NULL);
}

int main() {
        RUN(security_in_configurations);
        RUN(security_of_clients);
        return test_end();
}
