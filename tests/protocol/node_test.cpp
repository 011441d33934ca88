#include "protocol/node.h"

#include <gtest/gtest.h>

namespace steelyard::node_test {
namespace {

TEST(Node, NamesAreShortAndDistinct) {
  EXPECT_EQ(to_string(scheduler_node), "scheduler");
  EXPECT_EQ(to_string({Role::worker, 0x3f2a}), "worker-3f2a");
  EXPECT_EQ(to_string({Role::shard, UINT64_MAX}), "shard-ffffffffffffffff");
  EXPECT_STREQ(name(Role::checkpointer), "checkpointer");
  EXPECT_STREQ(name(Role::compute), "compute");
  EXPECT_STREQ(name(Role::recorder), "recorder");
  EXPECT_STREQ(name(Role::link), "link");
}

}  // namespace
}  // namespace steelyard::node_test
