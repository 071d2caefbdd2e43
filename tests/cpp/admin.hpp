/*
 * admin.hpp: what the tests of ottla_adminpp_extended.h share. A test sets `producer` in main(); its cluster has
 * the topic "t".
 */

#ifndef OTTLA_TEST_ADMIN_HPP
#define OTTLA_TEST_ADMIN_HPP

#include "test.hpp"

#include <ottla_adminpp_extended.h>

using ottla::admin::ExtendedAdmin;
using ottla::admin::NewTopic;
using ottla::admin::Options;
using ottla::admin::Result;
using ottla::admin::TopicPartition;

static ProducerPtr producer;

inline ExtendedAdmin admin() {
        return ExtendedAdmin(producer.get());
}

inline TopicPartition tp(int32_t partition) {
        return TopicPartition("t", partition);
}

/** Returns the value of a call that must succeed. */
template <class T>
T must(Result<T> result) {
        CHECK_TEXT(result.error().text, "");
        CHECK_FINE(result.error().code);
        return result.value();
}

#endif /* OTTLA_TEST_ADMIN_HPP */
