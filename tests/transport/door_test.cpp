#include "transport/host.h"

#include <gtest/gtest.h>

#include "protocol/codec.h"
#include "protocol/keys.h"

namespace steelyard::door_test {
namespace {

constexpr NodeId shard{Role::shard, 3}, worker{Role::worker, 4};
const std::string own(40, 'a'), wrong(40, 'b');

template <class Receiver, class Content>
std::optional<Envelope> arrived(NodeId from, Content content, const std::string& key) {
  const Frames frames = encode(Message(std::in_place_type<Receiver>, std::move(content)));
  return let_in(scheduler_node, from, key, frames.header, Blob{});
}

std::string announced_endpoint(const std::string& endpoint, const std::string& key) {
  Hello hello;
  hello.name = "s0";
  hello.endpoint = endpoint;
  const auto envelope = arrived<ToScheduler>(shard, hello, key);
  EXPECT_TRUE(envelope);
  return envelope ? std::get<Hello>(std::get<ToScheduler>(envelope->message)).endpoint : "";
}

// An announced key is replaced with that of the connection, so a false announcement has no effect.
TEST(Door, AnAnnouncedEndpointHasTheKeyOfItsConnection) {
  EXPECT_EQ(announced_endpoint("tcp://a:1;" + own, own), "tcp://a:1;" + own);
  EXPECT_EQ(announced_endpoint("tcp://a:1;" + wrong, own), "tcp://a:1;" + own);
  EXPECT_EQ(announced_endpoint("tcp://a:1", own), "tcp://a:1;" + own);
  EXPECT_EQ(announced_endpoint("", own), "") << "a worker has none";
}

TEST(Door, InPlainTextAnEndpointIsUnchanged) {
  EXPECT_EQ(announced_endpoint("tcp://a:1", ""), "tcp://a:1");
  EXPECT_EQ(announced_endpoint("tcp://a:1;" + own, ""), "tcp://a:1;" + own);
}

TEST(Door, OnlyMessagesOfTheSendersRoleAreAccepted) {
  EXPECT_TRUE(arrived<ToScheduler>(worker, Ready{}, ""));
  EXPECT_FALSE(arrived<ToScheduler>(worker, CheckpointerBeat{}, ""));
  EXPECT_FALSE(arrived<ToWorker>(worker, SchedulerBeat{}, "")) << "not for the scheduler";
  const std::vector<std::byte> nonsense(7, std::byte{9});
  EXPECT_FALSE(let_in(scheduler_node, worker, "", nonsense, Blob{}));
  EXPECT_FALSE(let_in(scheduler_node, worker, "", std::vector<std::byte>(largest_header + 1), Blob{}));
}

}  // namespace
}  // namespace steelyard::door_test
