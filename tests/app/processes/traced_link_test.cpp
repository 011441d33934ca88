#include "app/processes/traced_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "transport/local.h"

namespace steelyard::traced_link_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr NodeId worker{Role::worker, 0x7}, shard{Role::shard, 0x8};

TEST(TracedLink, RecordsTheMessagesThatItForwards) {
  const TemporaryFolder folder;
  LocalNetwork network;
  const auto far = network.join(shard), near = network.join(worker);
  {
    const auto link = traced(*near, folder.path().string(), worker, "fast");
    Push push;
    push.piece.id = 4;
    push.slice = 1;
    link->send({worker, shard, Message(std::in_place_type<ToShard>, push)});
    ASSERT_TRUE(far->receive(Time{})) << "it is forwarded";
    far->send({shard, worker, Message(std::in_place_type<ToWorker>, Parameters{0, 3, 2, {}})});
    ASSERT_TRUE(link->receive(Time{}));
    Computed computed;
    computed.report.piece.round = 9;
    computed.report.piece.positions = {10, 30};
    computed.report.seconds = 0.5;
    link->post({{compute_node, worker, Message(std::in_place_type<ToWorker>, computed)}});
    ASSERT_TRUE(link->receive(Time{}));
    link->post({{link_node, worker, Message(std::in_place_type<ToWorker>, Interrupt{})}});
    ASSERT_TRUE(link->receive(Time{}));
  }
  EXPECT_THAT(
      folder.text(to_string(worker) + ".jsonl"),
      AllOf(HasSubstr("\"said\":\"push 4/1\""), HasSubstr("\"heard\":\"parameters 3/2\""),
            HasSubstr("\"busy\":\"Parameters\""), HasSubstr("\"computed\":\"round 9\""),
            HasSubstr("\"samples\":20"), HasSubstr("\"busy\":\"Computed\""), Not(HasSubstr("heard\":\"\""))));
}

TEST(TracedLink, WithoutADirectoryNothingIsTraced) {
  LocalNetwork network;
  const auto near = network.join(worker);
  EXPECT_EQ(traced(*near, "", worker, "fast"), nullptr);
}

}  // namespace
}  // namespace steelyard::traced_link_test
