#include "sim/simulated_network.h"

#include <gtest/gtest.h>

namespace steelyard::sim::network_test {
namespace {

constexpr NodeId server{Role::shard, 2}, worker{Role::worker, 3}, other{Role::worker, 4};

Time at(double ms) { return Time{} + from_seconds(ms / 1000); }

Envelope push(NodeId from) { return {from, server, Message(std::in_place_type<ToShard>, Push{})}; }
Envelope pull(NodeId from) { return {from, server, Message(std::in_place_type<ToShard>, Pull{})}; }
Envelope parameters(NodeId to) { return {server, to, Message(std::in_place_type<ToWorker>, Parameters{})}; }
Envelope report(NodeId from) {
  return {from, scheduler_node, Message(std::in_place_type<ToScheduler>, Report{})};
}
Envelope start(NodeId to) { return {scheduler_node, to, Message(std::in_place_type<ToWorker>, Start{})}; }

TEST(Network, AFixedExchangeIsChargedOncePerRound) {
  Network network({.step_ms = 95}, 3, 1);
  EXPECT_EQ(network.arrival(at(10), push(worker)), at(105));
  EXPECT_EQ(network.arrival(at(10), report(worker)), at(105));
  EXPECT_EQ(network.arrival(at(105), start(worker)), at(105));
  EXPECT_EQ(network.arrival(at(105), parameters(worker)), at(105));
  EXPECT_DOUBLE_EQ(NetworkOptions{.step_ms = 95}.exchange_ms(), 95);
}

TEST(Network, EvaluationReportsPayNoExchange) {
  Network network({.step_ms = 95}, 3, 1);
  Report evaluated;
  evaluated.piece.purpose = Purpose::evaluate;
  const Envelope envelope{worker, scheduler_node, Message(std::in_place_type<ToScheduler>, evaluated)};
  EXPECT_EQ(network.arrival(at(10), envelope), at(10));
}

TEST(Network, MessagesOfAPairKeepTheirOrder) {
  Network network({.step_ms = 95}, 3, 1);
  network.arrival(at(10), push(worker));
  EXPECT_EQ(network.arrival(at(11), pull(worker)), at(105)) << "behind the push";
  EXPECT_EQ(network.arrival(at(11), pull(other)), at(11)) << "other pairs do not wait";
  EXPECT_EQ(network.arrival(at(11), parameters(worker)), at(11)) << "nor does the opposite direction";
}

// 100 MB at 10 Gbit/s take 80 ms: two slices of 40 ms, one after the other.
TEST(Network, ALinkCarriesOneTransferAtATime) {
  const NetworkOptions options{.latency_ms = 2, .bandwidth_gbps = 10, .model_mb = 100};
  Network network(options, 3, 2);
  EXPECT_EQ(network.arrival(at(0), push(worker)), at(82)) << "arrives with the last slice";
  EXPECT_EQ(network.arrival(at(0), push(worker)), at(82));
  EXPECT_EQ(network.arrival(at(0), push(other)), at(82)) << "each worker has its own link";
  EXPECT_EQ(network.arrival(at(0), parameters(worker)), at(122)) << "both directions share it";
  EXPECT_EQ(network.arrival(at(0), report(worker)), at(2)) << "messages without data take no bandwidth";
  network.slow(worker, 3);
  EXPECT_EQ(network.arrival(at(100), push(worker)), at(120 + 3 * 80 + 3 * 2)) << "slowed down";
  EXPECT_DOUBLE_EQ(options.exchange_ms(), 2 * 80 + 2 * 2);
}

TEST(Network, AWorkerMayHaveItsOwnLink) {
  Network network({.latency_ms = 2, .bandwidth_gbps = 10, .model_mb = 100}, 3, 2);
  network.link(worker, 20, 1);
  EXPECT_EQ(network.arrival(at(0), push(worker)), at(820));
  EXPECT_EQ(network.arrival(at(0), push(other)), at(82)) << "the link of the network options";
  EXPECT_EQ(network.arrival(at(900), report(worker)), at(920));
  network.cut(server, worker);
  EXPECT_EQ(network.arrival(at(1000), push(worker)), at(1820)) << "a cut does not change the link";
}

TEST(Network, ADelayedMessageDelaysItsPairOnly) {
  Network network({.latency_ms = 2}, 3, 1);
  EXPECT_EQ(network.arrival(at(0), pull(worker), milliseconds(50)), at(52));
  EXPECT_EQ(network.arrival(at(1), pull(worker)), at(52)) << "after the delayed message";
  EXPECT_EQ(network.arrival(at(1), pull(other)), at(3));
}

TEST(Network, OuterNodesMayExchangeMessages) {
  Network network({.latency_ms = 2}, 3, 1);
  const Envelope late{{Role::shard, 9}, worker, Message(std::in_place_type<ToWorker>, Pong{})};
  EXPECT_EQ(network.arrival(at(0), late, milliseconds(50)), at(52));
  EXPECT_EQ(network.arrival(at(1), late), at(52)) << "in order";
  EXPECT_EQ(network.stamp(late.from, late.to), 0U);
  network.cut(late.from, late.to);
  EXPECT_EQ(network.stamp(late.to, late.from), 1U);
  EXPECT_EQ(network.arrival(at(1), late), at(3));
}

TEST(Network, MessagesDoNotWaitForTransfersLostInACut) {
  Network network({.step_ms = 95, .bandwidth_gbps = 8, .model_mb = 100}, 3, 1);
  EXPECT_EQ(network.arrival(at(0), push(worker)), at(195));
  network.cut(server, worker);
  EXPECT_EQ(network.arrival(at(10), pull(worker)), at(10));
  EXPECT_EQ(network.arrival(at(10), parameters(worker)), at(110));
}

TEST(Network, StampsIdentifyMessagesSentBeforeACut) {
  Network network({}, 3, 1);
  const std::uint32_t before = network.stamp(worker, server);
  network.cut(server, worker);
  EXPECT_NE(network.stamp(worker, server), before);
  EXPECT_EQ(network.stamp(worker, server), network.stamp(server, worker));
  EXPECT_EQ(network.stamp(worker, scheduler_node), before) << "another connection";
}

}  // namespace
}  // namespace steelyard::sim::network_test
