#include "transport/host.h"

#include <gtest/gtest.h>

#include "protocol/codec.h"
#include "protocol/keys.h"

namespace steelyard::door_test {
namespace {

constexpr NodeId shard{Role::shard, 3}, worker{Role::worker, 4};
const std::string own(40, 'a'), wrong(40, 'b');

template <class Receiver, class Said>
std::optional<Envelope> arrived(NodeId from, Said said, const std::string& key) {
  const Frames frames = encode(Message(std::in_place_type<Receiver>, std::move(said)));
  return let_in(scheduler_node, from, key, frames.header, Blob{});
}

std::string endpoint_told(const std::string& endpoint, const std::string& key) {
  Hello hello;
  hello.name = "s0";
  hello.endpoint = endpoint;
  const auto envelope = arrived<ToScheduler>(shard, hello, key);
  EXPECT_TRUE(envelope);
  return envelope ? std::get<Hello>(std::get<ToScheduler>(envelope->message)).endpoint : "";
}

// Whoever announces the endpoint of another, or a key that is none of its own, misleads nobody.
TEST(Door, AnAnnouncedEndpointHasTheKeyOfItsConnection) {
  EXPECT_EQ(endpoint_told("tcp://a:1;" + own, own), "tcp://a:1;" + own);
  EXPECT_EQ(endpoint_told("tcp://a:1;" + wrong, own), "tcp://a:1;" + own);
  EXPECT_EQ(endpoint_told("tcp://a:1", own), "tcp://a:1;" + own);
  EXPECT_EQ(endpoint_told("", own), "") << "a worker has none";
}

TEST(Door, InPlainTextAnEndpointStaysAsItIs) {
  EXPECT_EQ(endpoint_told("tcp://a:1", ""), "tcp://a:1");
  EXPECT_EQ(endpoint_told("tcp://a:1;" + own, ""), "tcp://a:1;" + own);
}

TEST(Door, OnlyWhatTheSenderMaySayGetsIn) {
  EXPECT_TRUE(arrived<ToScheduler>(worker, Ready{}, ""));
  EXPECT_FALSE(arrived<ToScheduler>(worker, CheckpointerBeat{}, ""));
  EXPECT_FALSE(arrived<ToWorker>(worker, SchedulerBeat{}, "")) << "not for the scheduler";
  const std::vector<std::byte> nonsense(7, std::byte{9});
  EXPECT_FALSE(let_in(scheduler_node, worker, "", nonsense, Blob{}));
  EXPECT_FALSE(let_in(scheduler_node, worker, "", std::vector<std::byte>(largest_header + 1), Blob{}));
}

}  // namespace
}  // namespace steelyard::door_test
