// The guarantees of Link, tested on every kind of link.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "core/buffer.h"
#include "core/random.h"
#include "tests/transport/nets.h"

namespace steelyard::link_test {
namespace {

constexpr NodeId server{Role::shard, 5};
constexpr NodeId caller{Role::worker, 77};

// Far longer than any step here takes; only reached if the test fails.
Time soon() { return steady_now() + from_seconds(20); }

template <class Content>
const Content* get(const std::optional<Envelope>& envelope) {
  if (!envelope) return nullptr;
  return std::visit(
      []<class Receiver>(const Receiver& receiver) -> const Content* {
        if constexpr (std::is_constructible_v<Receiver, Content>) {
          return std::get_if<Content>(&receiver);
        } else {
          return nullptr;
        }
      },
      envelope->message);
}

// The next message of this type; others before it are dropped.
template <class Content>
std::optional<Content> next(Link& link, NodeId* from = nullptr) {
  const Time deadline = soon();
  while (const auto envelope = link.receive(deadline)) {
    if (const Content* content = get<Content>(envelope)) {
      if (from != nullptr) *from = envelope->from;
      return *content;
    }
  }
  return std::nullopt;
}

Envelope push(NodeId from, std::uint64_t number, std::size_t floats) {
  const auto values = std::make_shared<FloatBuffer>(floats, Memory::shared);  // lent if the link can
  for (std::size_t i = 0; i < floats; ++i) values->data()[i] = static_cast<float>(hash(number, i) % 1000);
  Push content;
  content.piece.id = number;
  content.values = Blob::of_floats(values, values->span());
  return {from, server, Message(std::in_place_type<ToShard>, content)};
}

void expect_whole(const Push& push, std::size_t floats) {
  ASSERT_TRUE(push.values.holds_floats(floats)) << "size or alignment of " << floats << " floats";
  const std::span<const float> values = push.values.floats();
  for (std::size_t i = 0; i < floats; ++i) {
    ASSERT_EQ(values[i], static_cast<float>(hash(push.piece.id, i) % 1000)) << "push " << push.piece.id;
  }
}

class AnyLink : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string why = test::unfit(GetParam());
    if (!why.empty()) GTEST_SKIP() << why;
    net = test::make_net(GetParam());
  }
  std::unique_ptr<test::Net> net;
};

TEST_P(AnyLink, KeepsOrderAndContents) {
  const auto hub = net->listener(server);
  const auto link = net->caller(caller, server);
  constexpr std::uint64_t count = 300;
  Random random(3);
  std::vector<std::size_t> sizes;
  for (std::uint64_t i = 0; i < count; ++i) {
    sizes.push_back(i % 50 == 0 ? 65536 : random.below(2500));
    link->send(push(caller, i, sizes.back()));
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    NodeId from;
    const auto got = next<Push>(*hub, &from);
    ASSERT_TRUE(got) << "push " << i;
    ASSERT_EQ(got->piece.id, i);
    ASSERT_EQ(from, caller);
    expect_whole(*got, sizes[i]);
  }
}

// Sizes around the limits at which libraries change how they store a frame.
TEST_P(AnyLink, FloatsAreAlignedAtEverySize) {
  const auto hub = net->listener(server);
  const auto link = net->caller(caller, server);
  for (std::size_t floats = 0; floats < 2200; floats += floats < 40 ? 1 : 37) {
    link->send(push(caller, floats, floats));
    const auto got = next<Push>(*hub);
    ASSERT_TRUE(got);
    expect_whole(*got, floats);
  }
}

TEST_P(AnyLink, AnswersGoToTheirSender) {
  const auto hub = net->listener(server);
  std::vector<std::unique_ptr<Link>> links;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const NodeId self{Role::worker, 100 + i};
    links.push_back(net->caller(self, server));
    links.back()->send({self, server, Message(std::in_place_type<ToShard>, Pull{1, i})});
  }
  std::set<NodeId> senders;
  for (int i = 0; i < 5; ++i) {
    NodeId from;
    const auto pull = next<Pull>(*hub, &from);
    ASSERT_TRUE(pull);
    EXPECT_EQ(from.number, 100 + pull->version);
    senders.insert(from);
    Parameters answer{1, pull->version, 0, Blob::copy_of(std::vector(3, static_cast<float>(pull->version)))};
    hub->send({server, from, Message(std::in_place_type<ToWorker>, answer)});
  }
  EXPECT_EQ(senders.size(), 5U);
  for (std::uint64_t i = 0; i < 5; ++i) {
    const auto answer = next<Parameters>(*links[i]);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->version, i);
    EXPECT_EQ(answer->values.floats()[2], static_cast<float>(i));
    EXPECT_FALSE(links[i]->receive(Time{})) << "an answer for another caller";
  }
}

TEST_P(AnyLink, ALostCallerIsReported) {
  const auto hub = net->listener(server);
  auto one = net->caller(caller, server);
  const NodeId other_node{Role::worker, 78};
  const auto other = net->caller(other_node, server);
  one->send(push(caller, 1, 4));
  other->send(push(other_node, 2, 4));
  ASSERT_TRUE(next<Push>(*hub));
  ASSERT_TRUE(next<Push>(*hub));
  one.reset();
  const auto lost = next<Disconnected>(*hub);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->node, caller);
  other->send(push(other_node, 3, 4));
  const auto still = next<Push>(*hub);
  ASSERT_TRUE(still) << "the other one is still connected";
  EXPECT_EQ(still->piece.id, 3U);
}

TEST_P(AnyLink, ALostListenerIsReportedAndReconnected) {
  auto hub = net->listener(server);
  const auto link = net->caller(caller, server);
  link->send(push(caller, 1, 4));
  ASSERT_TRUE(next<Push>(*hub));
  for (int time = 0; time < 2; ++time) {
    hub.reset();
    const auto lost = next<Disconnected>(*link);
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->node, server);
    link->send(push(caller, 0, 4));  // may arrive later or never
    hub = net->listener(server);
    std::optional<Push> got;
    for (std::uint64_t number = 10; !got && number < 1000; ++number) {
      link->send(push(caller, number, 4));
      (void)link->receive(steady_now() + milliseconds(20));
      const auto envelope = hub->receive(steady_now() + milliseconds(20));
      if (const Push* content = get<Push>(envelope)) got = *content;
    }
    ASSERT_TRUE(got) << "the connection was not restored";
    hub->send({server, caller, Message(std::in_place_type<ToWorker>, VersionExpired{1, 2})});
    EXPECT_TRUE(next<VersionExpired>(*link)) << "answers arrive, too";
  }
}

TEST_P(AnyLink, MessagesToUnknownNodesAreDropped) {
  const auto hub = net->listener(server);
  hub->send({server, caller, Message(std::in_place_type<ToWorker>, VersionExpired{1, 2})});
  const auto link = net->caller(caller, server);
  link->send(push(caller, 1, 4));
  ASSERT_TRUE(next<Push>(*hub));
  hub->send({server, {Role::worker, 4711}, Message(std::in_place_type<ToWorker>, VersionExpired{3, 4})});
  hub->send({server, caller, Message(std::in_place_type<ToWorker>, VersionExpired{5, 6})});
  const auto gone = next<VersionExpired>(*link);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->wanted, 5U);
}

TEST_P(AnyLink, ReceiveReturnsAtItsDeadline) {
  const auto hub = net->listener(server);
  const Time deadline = steady_now() + milliseconds(30);
  EXPECT_FALSE(hub->receive(deadline));
  EXPECT_GE(steady_now(), deadline);
}

TEST_P(AnyLink, PostsOfOtherThreadsArrive) {
  const auto hub = net->listener(server);
  constexpr std::uint64_t threads = 4, each = 200;
  std::vector<std::thread> posting;
  for (std::uint64_t t = 0; t < threads; ++t) {
    posting.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < each; ++i) {
        hub->post({{{Role::compute, t}, server, Message(std::in_place_type<ToShard>, Pull{t, i})}});
      }
    });
  }
  std::vector<std::uint64_t> expected(threads);
  for (std::uint64_t n = 0; n < threads * each; ++n) {
    const auto pull = next<Pull>(*hub);
    ASSERT_TRUE(pull) << n << " arrived";
    EXPECT_EQ(pull->version, expected.at(pull->term)++) << "in the order of their thread";
  }
  for (std::thread& thread : posting) thread.join();
}

TEST_P(AnyLink, APostWakesAWaitingReceiver) {
  const auto hub = net->listener(server);
  std::thread poster([&] {
    std::this_thread::yield();
    hub->post({{link_node, server, Message(std::in_place_type<ToShard>, Interrupt{})}});
  });
  EXPECT_TRUE(next<Interrupt>(*hub));
  poster.join();
}

INSTANTIATE_TEST_SUITE_P(Every, AnyLink, ::testing::Values("local", "tcp", "ipc", "shared", "keys"),
                         [](const auto& it) { return std::string(it.param); });

}  // namespace
}  // namespace steelyard::link_test
