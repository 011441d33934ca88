#include "transport/dealer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/transport/nets.h"
#include "transport/zmq_context.h"

namespace steelyard::dealer_test {
namespace {

constexpr NodeId worker{Role::worker, 1};

class DealerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = test::unfit("tcp"); !why.empty()) GTEST_SKIP() << why;
  }
  Dealer::Line open(const std::string& place) {
    return open_line(*static_cast<zmq::context_t*>(context_.handle()), nullptr, keys_,
                     {routing_id(worker, 0, scheduler_node), Traffic::control, place, false});
  }
  ZmqContext context_;
  const KnownKeys keys_{nullptr};
};

TEST_F(DealerTest, OpensALineBeforeAnyoneListensThere) {
  const Dealer::Line line = open("ipc://@steelyard-test-unbound");
  EXPECT_EQ(line.place, "ipc://@steelyard-test-unbound");
  EXPECT_EQ(line.key, "");
  EXPECT_EQ(line.descriptor, -1);
  EXPECT_TRUE(line.socket);
}

TEST_F(DealerTest, AnInvalidPlaceIsAFailureThatNamesIt) {
  try {
    open("nowhere");
    FAIL() << "not a place";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(), testing::HasSubstr("cannot connect to nowhere"));
    EXPECT_THAT(failure.what(), testing::HasSubstr("tcp://host:port"));
  }
}

TEST_F(DealerTest, TheOnlyLineIsUsedAndOfSeveralTheLeaders) {
  Dealer dealer{"a", {}, nullptr};
  dealer.lines.push_back(open("ipc://@steelyard-test-a"));
  EXPECT_FALSE(dealer.leads_nowhere());
  EXPECT_EQ(&dealer.line(), dealer.lines.data());
  dealer.lines.push_back(open("ipc://@steelyard-test-b"));
  EXPECT_TRUE(dealer.leads_nowhere());
  EXPECT_TRUE(dealer.leader.believes(steady_now(), 1, std::optional<std::uint64_t>(3)));
  EXPECT_FALSE(dealer.leads_nowhere());
  EXPECT_EQ(&dealer.line(), &dealer.lines[1]);
}

}  // namespace
}  // namespace steelyard::dealer_test
