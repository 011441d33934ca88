// Floods of well-formed data at a listening socket: the memory that clients can make a process hold.
#include "transport/connections.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "core/error.h"
#include "protocol/codec.h"
#include "protocol/limits.h"
#include "tests/support/thread_sanitizer.h"
#include "tests/transport/nets.h"
#include "tests/transport/raw_zmtp.h"
#include "tests/transport/security/keyring.h"
#include "transport/zmq.h"

namespace steelyard::connections_test {
namespace {

using test::RawZmtp;

constexpr NodeId honest{Role::worker, 1};

Time soon() { return steady_now() + from_seconds(60); }

bool have_descriptors(rlim_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max >= wanted;
}

class Floods : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = test::unfit("tcp");
    if (!why.empty()) GTEST_SKIP() << why;
    if (!have_descriptors(4000)) GTEST_SKIP() << "too few descriptors are allowed";
    listener = std::make_unique<ZmqLink>(context, scheduler_node);
    endpoint = listener->listen("tcp://127.0.0.1:*");
    reading = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        if (listener->receive(steady_now() + milliseconds(10))) ++received;
        most_bytes = std::max<std::uint64_t>(most_bytes, test::resident_bytes());
      }
    });
  }
  void TearDown() override { reading = {}; }

  // The number of open connections, as soon as it is at most `few` or `patience` is over.
  static std::size_t open_after(const std::vector<RawZmtp>& flood, std::size_t few, Duration patience) {
    const Time deadline = steady_now() + patience;
    while (true) {
      const auto open = static_cast<std::size_t>(
          std::ranges::count_if(flood, [](const RawZmtp& it) { return !it.closed(); }));
      if (open <= few || steady_now() >= deadline) return open;
      std::this_thread::sleep_for(milliseconds(10));
    }
  }
  // Expects that the scheduler still receives messages of an honest node.
  void expect_honest_heard() {
    const std::uint64_t before = received;
    ZmqLink link(context, honest);
    link.connect(scheduler_node, endpoint);
    link.send({honest, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
    const Time deadline = soon();
    while (received == before && steady_now() < deadline) (void)link.receive(steady_now() + milliseconds(10));
    EXPECT_GT(received, before) << "messages of an honest node no longer arrive";
  }

  ZmqContext context;
  std::unique_ptr<ZmqLink> listener;
  std::string endpoint;
  std::atomic<std::uint64_t> received{0}, most_bytes{0};
  std::jthread reading;
};

// libzmq delivers a message when its last part has arrived, and here it never does.
TEST_F(Floods, EndlessMessagesTakeAtMostAFramePerConnection) {
  if (test::under_thread_sanitizer) GTEST_SKIP() << "the sanitizer's own memory would count";
  constexpr std::uint64_t connections = 1000;
  const std::string part = RawZmtp::frame(64 << 10, true);
  std::vector<RawZmtp> flood;
  for (std::uint64_t i = 0; i < connections; ++i) {
    flood.emplace_back(endpoint);
    ASSERT_TRUE(flood.back().shake_hands(routing_id({Role::worker, i + 2}, 0, scheduler_node)));
    ASSERT_TRUE(flood.back().send(RawZmtp::frame(1, false)));
  }
  const std::uint64_t before = test::resident_bytes();
  most_bytes = 0;
  for (RawZmtp& it : flood) {
    for (std::size_t sent = 0; sent < 5 * (limits::to_scheduler / 4) && it.send(part); sent += part.size()) {
    }
  }
  EXPECT_EQ(open_after(flood, 0, from_seconds(60)), 0U);
  EXPECT_LT(most_bytes - before, connections * limits::to_scheduler);
  expect_honest_heard();
}

TEST_F(Floods, SixteenSilentConnectionsAreKept) {
  std::vector<RawZmtp> flood;
  for (int i = 0; i < 100; ++i) {
    flood.emplace_back(endpoint);
    ASSERT_TRUE(flood.back().send(RawZmtp::greeting()));
  }
  // libzmq closes all of them after three seconds.
  const std::size_t open = open_after(flood, Connections::most_at_door, from_seconds(2.5));
  EXPECT_LE(open, Connections::most_at_door);
  EXPECT_GE(open, Connections::most_at_door / 2) << "connections within the limit stay open";
  EXPECT_FALSE(flood.back().closed()) << "the oldest are closed first";
  expect_honest_heard();
}

TEST_F(Floods, ASenderOfMessagesStaysConnectedDuringAFlood) {
  RawZmtp member(endpoint);
  ASSERT_TRUE(member.shake_hands(routing_id(honest, 0, scheduler_node)));
  ASSERT_TRUE(member.send(RawZmtp::frame(100, false)));
  std::vector<RawZmtp> flood;
  for (int i = 0; i < 100; ++i) {
    flood.emplace_back(endpoint);
    (void)flood.back().send(RawZmtp::greeting());
  }
  while (!flood.front().closed(100)) {
  }
  EXPECT_FALSE(member.closed());
}

// A greeting, then a long command as the first one of the handshake: a client without keys can send that.
TEST(KeyedFloods, UnfinishedHandshakesTakeLittleMemory) {
  if (const std::string why = test::unfit("tcp"); !why.empty()) GTEST_SKIP() << why;
  const test::Keyring keys;
  const auto context = keys.context(KeyRole::scheduler);
  ZmqLink listener(*context, scheduler_node);
  const std::string endpoint = listener.listen("tcp://127.0.0.1:*");
  std::uint64_t most_bytes = 0;
  const std::uint64_t before = test::resident_bytes();
  std::vector<RawZmtp> flood;
  for (int i = 0; i < 100; ++i) {
    flood.emplace_back(endpoint);
    ASSERT_TRUE(flood.back().send(RawZmtp::greeting("CURVE") + RawZmtp::head(limits::to_scheduler, 6)));
  }
  const std::string part(64 << 10, 'x');
  for (std::size_t sent = 0; sent < limits::to_scheduler / 2; sent += part.size()) {
    for (RawZmtp& it : flood) (void)it.send(part);
    (void)listener.receive(steady_now() + milliseconds(1));
    most_bytes = std::max(most_bytes, test::resident_bytes());
  }
  std::size_t open = flood.size();
  const Time deadline = steady_now() + from_seconds(1);  // libzmq takes three
  while (open > 0 && steady_now() < deadline) {
    (void)listener.receive(steady_now() + milliseconds(10));
    open = static_cast<std::size_t>(
        std::ranges::count_if(flood, [](const RawZmtp& it) { return !it.closed(); }));
  }
  EXPECT_EQ(open, 0U);
  EXPECT_LT(most_bytes - before, 16 * limits::to_scheduler);
}

// All members connect at the same time, as after a restart of the scheduler.
class Herds : public ::testing::TestWithParam<const char*> {
 protected:
  // The threads that they share could not answer a listener within its second under the sanitizer.
  static constexpr std::uint64_t members = test::under_thread_sanitizer ? 100 : 1000;

  // Listens at the same port as before, if there was one. The port is below the ephemeral range: otherwise a
  // client that connects while nothing listens could be given that very port.
  void start_scheduler() {
    const Time deadline = soon();
    while (scheduler == nullptr) {
      try {
        auto link = std::make_unique<ZmqLink>(*hub, scheduler_node);
        endpoint = link->listen("tcp://127.0.0.1:" + std::to_string(port));
        scheduler = std::move(link);
      } catch (const Failure&) {
        if (connected) std::this_thread::sleep_for(milliseconds(10));
        if (!connected) ++port;
        ASSERT_LT(steady_now(), deadline) << "port " << port << " does not become free";
      }
    }
  }
  void connect_all() {
    connected = true;
    for (std::uint64_t i = 0; i < members; ++i) {
      links.push_back(std::make_unique<ZmqLink>(*theirs, NodeId{Role::worker, i + 1}));
      links.back()->connect(scheduler_node, endpoint);
    }
  }
  // For each member, sends a message twice a second and at once after a disconnection. All members share one
  // thread and may be slow; without this, a connection could be idle for longer than a listener allows.
  void run_members(const std::stop_token& stop) {
    Time next = steady_now();
    while (!stop.stop_requested()) {
      const bool due = steady_now() >= next;
      if (due) next = steady_now() + milliseconds(500);
      for (std::uint64_t i = 0; i < members; ++i) {
        const NodeId self{Role::worker, i + 1};
        bool send = due;
        while (links[i]->receive(steady_now())) send = true;
        if (send) links[i]->send({self, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
      }
    }
  }
  [[nodiscard]] std::size_t members_within(Duration patience) {
    std::set<NodeId> received;
    const Time deadline = steady_now() + patience;
    while (received.size() < members) {
      const auto envelope = scheduler->receive(deadline);
      if (!envelope) break;
      const auto* message = std::get_if<ToScheduler>(&envelope->message);
      if (message != nullptr && std::holds_alternative<Ready>(*message)) received.insert(envelope->from);
    }
    return received.size();
  }

  const test::Keyring keys;
  std::unique_ptr<ZmqContext> hub, theirs;
  std::unique_ptr<ZmqLink> scheduler;
  std::vector<std::unique_ptr<ZmqLink>> links;
  std::string endpoint;
  int port = 21'000;
  bool connected = false;
};

TEST_P(Herds, AThousandSimultaneousMembersConnect) {
  const std::string kind = GetParam();
  if (const std::string why = test::unfit(kind); !why.empty()) GTEST_SKIP() << why;
  if (!have_descriptors(20 * members)) GTEST_SKIP() << "too few descriptors are allowed";
  hub = kind == "keys" ? keys.context(KeyRole::scheduler) : std::make_unique<ZmqContext>();
  theirs = kind == "keys" ? keys.context(KeyRole::worker) : std::make_unique<ZmqContext>();
  start_scheduler();
  connect_all();
  const std::jthread running([this](const std::stop_token& stop) { run_members(stop); });
  EXPECT_EQ(members_within(from_seconds(60)), members);
  scheduler.reset();
  start_scheduler();
  ASSERT_NE(scheduler, nullptr);
  EXPECT_EQ(members_within(from_seconds(60)), members) << "after a restart";
}

INSTANTIATE_TEST_SUITE_P(Kinds, Herds, ::testing::Values("tcp", "keys"));

// A member that continues to send after it was refused.
TEST_F(Floods, ASecondRefusalClosesTheConnection) {
  reading = {};
  ZmqLink link(context, honest);
  link.connect(scheduler_node, endpoint);
  std::size_t refusals = 0;
  bool closed = false;
  const Time deadline = soon();
  while (!closed && steady_now() < deadline) {
    link.send({honest, scheduler_node, Message(std::in_place_type<ToScheduler>, Hello{})});
    while (const auto asked = listener->receive(steady_now() + milliseconds(20))) {
      if (std::holds_alternative<Hello>(std::get<ToScheduler>(asked->message)))
        listener->send({scheduler_node, honest,
                        Message(std::in_place_type<ToWorker>, Refuse{Refusal::name, "it has none"})});
    }
    while (const auto answer = link.receive(steady_now() + milliseconds(20))) {
      const auto& message = std::get<ToWorker>(answer->message);
      refusals += std::holds_alternative<Refuse>(message) ? 1 : 0;
      closed |= std::holds_alternative<Disconnected>(message);
    }
  }
  EXPECT_TRUE(closed);
  EXPECT_GE(refusals, 1U) << "the reason is sent first";
}

// Of twenty connections, one has sent a message that was read before the event of its connection.
TEST(AtTheDoor, AMessageReadBeforeItsConnectionEventCounts) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in place{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof place;
  ASSERT_EQ(bind(listening, reinterpret_cast<sockaddr*>(&place), size), 0);
  ASSERT_EQ(listen(listening, 32), 0);
  ASSERT_EQ(getsockname(listening, reinterpret_cast<sockaddr*>(&place), &size), 0);
  Connections connections(1000, false, true);
  std::vector<int> members, ends;
  for (int i = 0; i < 20; ++i) {
    members.push_back(socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(connect(members.back(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
    ends.push_back(accept(listening, nullptr, nullptr));
    if (i == 0) connections.received_from(ends[0]);
    connections.take({{ZMQ_EVENT_ACCEPTED, ends.back()}}, Time{});
  }
  std::this_thread::sleep_for(milliseconds(1100));  // the kernel measures their idle time
  connections.look(connections.next_look(), [] { return true; });
  const auto closed = [](int member) {
    char byte = 0;
    return recv(member, &byte, 1, MSG_DONTWAIT) == 0;
  };
  EXPECT_FALSE(closed(members[0])) << "it has sent a message";
  EXPECT_EQ(std::ranges::count_if(members, closed), 3) << "sixteen of the other nineteen stay open";
  for (const int descriptor : members) close(descriptor);
  for (const int descriptor : ends) close(descriptor);
  close(listening);
}

// The peer never stops sending, so there is always more to read.
TEST(Condemned, AnEndlessSenderIsClosedToo) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Connections connections(1000, false, true);
  connections.take({{ZMQ_EVENT_ACCEPTED, ends[0]}}, Time{});
  connections.received_from(ends[0]);
  connections.condemn(ends[0], Time{});
  connections.look(connections.next_look(), [] { return false; });
  char byte = 0;
  EXPECT_EQ(recv(ends[1], &byte, 1, MSG_DONTWAIT), 0) << "closed";
  for (const int end : ends) close(end);
}

TEST_F(Floods, AConnectionThatSendsFasterThanItIsReadIsClosed) {
  if (test::under_thread_sanitizer) GTEST_SKIP() << "the sanitizer's own memory would count";
  reading = {};
  RawZmtp flood(endpoint);
  ASSERT_TRUE(flood.shake_hands(routing_id(honest, 0, scheduler_node)));
  const std::uint64_t before = test::resident_bytes();
  most_bytes = 0;
  reading = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      (void)listener->receive(steady_now());
      most_bytes = std::max<std::uint64_t>(most_bytes, test::resident_bytes());
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  std::string batch;
  for (int i = 0; i < 1000; ++i) batch += RawZmtp::frame(100, false);
  constexpr std::size_t most = 500'000'000;
  for (std::size_t sent = 0; sent < most && flood.send(batch); sent += batch.size()) {
  }
  EXPECT_TRUE(flood.closed(1000));
  EXPECT_LT(most_bytes - before, most / 4);
}

// libzmq 4.3.4 ends the process if it sends a heartbeat through a connection that was closed by the peer
// while libzmq, because of a high-water mark, did not read from it.
TEST_F(Floods, ABusyListenerSurvivesTheEndOfAFlood) {
  reading = {};
  {
    RawZmtp flood(endpoint);
    ASSERT_TRUE(flood.shake_hands(routing_id(honest, 0, scheduler_node)));
    std::string batch;
    for (int i = 0; i < 1000; ++i) batch += RawZmtp::frame(100, false);
    for (int i = 0; i < 20; ++i) (void)flood.send(batch);
  }
  std::this_thread::sleep_for(from_seconds(2.5));  // longer than between two heartbeats
  ZmqLink link(context, {Role::worker, 2});
  link.connect(scheduler_node, endpoint);
  link.send({{Role::worker, 2}, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
  const auto received = listener->receive(soon());
  ASSERT_TRUE(received);
  EXPECT_EQ(received->from.number, 2U);
}

// The flood arrives faster than it can be answered. Its sender is no ZmqLink: closed in the middle of a
// flood, libzmq 4.3.4 can end the process, as above.
TEST_F(Floods, AFloodOfRefusedMessagesBlocksNoOtherNode) {
  reading = {};
  std::atomic<std::uint64_t> connections{1};
  const auto hello = encode(Message(std::in_place_type<ToScheduler>, Hello{})).header;
  std::string batch;
  for (int i = 0; i < 1000; ++i) {
    batch += RawZmtp::head(hello.size(), 2);
    for (const std::byte byte : hello) batch += static_cast<char>(byte);
  }
  std::jthread flooding([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      RawZmtp flood(endpoint);
      if (!flood.shake_hands(routing_id(honest, 0, scheduler_node))) continue;
      ++connections;
      while (!stop.stop_requested() && !flood.closed() && flood.send(batch)) {
      }
    }
  });
  std::uint64_t hellos = 0;
  const Time deadline = steady_now() + from_seconds(1);
  while (steady_now() < deadline) {
    const auto asked = listener->receive(deadline);
    if (!asked || !std::holds_alternative<Hello>(std::get<ToScheduler>(asked->message))) continue;
    ++hellos;
    listener->send({scheduler_node, asked->from,
                    Message(std::in_place_type<ToWorker>, Refuse{Refusal::name, "it has none"})});
  }
  EXPECT_GE(hellos, 2U);
  flooding = {};
  EXPECT_LE(hellos, 100 * (connections + 1)) << "two per connection, and some that were already queued";
}

}  // namespace
}  // namespace steelyard::connections_test
