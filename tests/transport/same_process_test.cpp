#include "transport/same_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "transport/zmq.h"

namespace steelyard::same_process_test {
namespace {

constexpr NodeId worker{Role::worker, 7}, shard{Role::shard, 8};

Envelope pull(Version version) {
  return {worker, shard, Message(std::in_place_type<ToShard>, Pull{1, version})};
}

// Values of a push or a version arrive as they are, not as a copy of their bytes.
TEST(SameProcess, LinksPassValuesByPointerInOrder) {
  ZmqContext one, two;
  const auto links = std::make_shared<SameProcess>();
  ZmqLink from(one, worker), to(two, shard);
  from.join(links);
  to.join(links);
  from.connect(shard, "ipc:///nowhere");
  const Blob values = Blob::copy_of(std::vector<float>{1, 2});
  for (Version version = 0; version < 10; ++version) from.send(pull(version));
  Push made;
  made.values = values;
  from.send({worker, shard, Message(std::in_place_type<ToShard>, made)});
  for (Version version = 0; version < 10; ++version) {
    const auto in = to.receive(steady_now() + from_seconds(30));
    ASSERT_TRUE(in);
    EXPECT_EQ(in->from, worker);
    EXPECT_EQ(std::get<Pull>(std::get<ToShard>(in->message)).version, version);
  }
  const auto push = to.receive(steady_now() + from_seconds(30));
  ASSERT_TRUE(push);
  EXPECT_EQ(std::get<Push>(std::get<ToShard>(push->message)).values.bytes().data(), values.bytes().data());
  EXPECT_EQ(from.dropped(), 0U);
}

TEST(SameProcess, ALinkThatLeavesIsLost) {
  ZmqContext context;
  const auto links = std::make_shared<SameProcess>();
  ZmqLink to(context, shard);
  to.join(links);
  {
    ZmqLink from(context, worker);
    from.join(links);
    EXPECT_TRUE(links->has(worker));
  }
  EXPECT_FALSE(links->has(worker));
  const auto in = to.receive(steady_now() + from_seconds(30));
  ASSERT_TRUE(in);
  EXPECT_EQ(std::get<Disconnected>(std::get<ToShard>(in->message)).node, worker);
}

TEST(SameProcess, OtherNodesAreNotHere) {
  SameProcess links;
  Envelope envelope = pull(3);
  EXPECT_FALSE(links.deliver(envelope));
  EXPECT_EQ(std::get<Pull>(std::get<ToShard>(envelope.message)).version, 3U)
      << "it is still there to be sent";
}

}  // namespace
}  // namespace steelyard::same_process_test
