// Invalid frames of unknown clients are dropped and counted, and do not affect other connections.
#include "transport/zmq.h"

#include <zmq.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <thread>

#include "core/error.h"
#include "protocol/codec.h"
#include "protocol/limits.h"
#include "tests/transport/nets.h"
#include "transport/nudges.h"
#include "transport/zmq_socket.h"

namespace steelyard::zmq_test {
namespace {

using ::testing::HasSubstr;
using Frame = std::string;

constexpr NodeId honest{Role::worker, 1};

Time soon() { return steady_now() + from_seconds(20); }

Frame hello_frame() {
  const auto header =
      encode(Message(std::in_place_type<ToScheduler>, Hello{0, "x", "", DeviceKind::cpu, 0})).header;
  return {reinterpret_cast<const char*>(header.data()), header.size()};
}

class Strangers : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = test::unfit("tcp");
    if (!why.empty()) GTEST_SKIP() << why;
    context = std::make_unique<ZmqContext>();
    listener = std::make_unique<ZmqLink>(*context, scheduler_node);
    endpoint = listener->listen("tcp://127.0.0.1:*");
  }

  // A bare socket, connected to the listener.
  zmq::socket_t stranger(const std::string& id) {
    zmq::socket_t socket(*static_cast<zmq::context_t*>(context->handle()), zmq::socket_type::dealer);
    socket.set(zmq::sockopt::linger, 0);
    if (!id.empty()) socket.set(zmq::sockopt::routing_id, id);
    socket.connect(endpoint);
    return socket;
  }
  static void send_frames(zmq::socket_t& socket, const std::vector<Frame>& frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const bool last = i + 1 == frames.size();
      socket.send(zmq::buffer(frames[i]), last ? zmq::send_flags::none : zmq::send_flags::sndmore);
    }
  }
  static std::string id_of(NodeId node) {
    const RoutingId id = routing_id(node, 0, scheduler_node);
    return {reinterpret_cast<const char*>(id.data()), id.size()};
  }
  // Waits until the listener has dropped this many frames; it must deliver none.
  void expect_dropped(std::uint64_t count) {
    const Time deadline = soon();
    while (listener->dropped() < count && steady_now() < deadline) {
      EXPECT_FALSE(listener->receive(steady_now() + milliseconds(10)));
    }
    EXPECT_EQ(listener->dropped(), count);
  }
  void expect_honest_heard() {
    ZmqLink link(*context, honest);
    link.connect(scheduler_node, endpoint);
    link.send({honest, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
    const Time deadline = soon();
    while (const auto envelope = listener->receive(deadline)) {
      const auto* message = std::get_if<ToScheduler>(&envelope->message);
      if (envelope->from == honest && std::holds_alternative<Ready>(*message)) return;
    }
    ADD_FAILURE() << "messages of an honest node no longer arrive";
  }

  std::unique_ptr<ZmqContext> context;
  std::unique_ptr<ZmqLink> listener;
  std::string endpoint;
};

TEST_F(Strangers, MalformedFramesAreDroppedAndCounted) {
  auto socket = stranger(id_of({Role::worker, 9}));
  const Frame good = hello_frame();
  std::uint64_t bad = 0;
  for (const std::vector<Frame>& frames : {std::vector<Frame>{""},
                                           {"S"},
                                           {"GET / HTTP/1.1"},
                                           {good.substr(0, good.size() - 1)},
                                           {good + "x"},
                                           {good, "a payload"},
                                           {good, "", "a third frame"},
                                           {Frame(200'000, 'S')}}) {
    send_frames(socket, frames);
    ++bad;
  }
  expect_dropped(bad);
  send_frames(socket, {good});
  const auto received = listener->receive(soon());
  ASSERT_TRUE(received) << "a valid message on the same connection";
  EXPECT_EQ(received->from, (NodeId{Role::worker, 9}));
  expect_honest_heard();
}

TEST_F(Strangers, NudgesAreIgnored) {
  auto socket = stranger(id_of({Role::worker, 9}));
  const auto header = nudge_frame().header;
  const Frame nudge(reinterpret_cast<const char*>(header.data()), header.size());
  send_frames(socket, {nudge});
  send_frames(socket, {nudge});
  send_frames(socket, {hello_frame()});
  ASSERT_TRUE(listener->receive(soon())) << "messages after them must arrive";
  send_frames(socket, {nudge + "x"});
  expect_dropped(1);
}

TEST_F(Strangers, InvalidRoutingIdsAreDropped) {
  auto nameless = stranger("");
  auto short_name = stranger("worker");
  auto wrong_role = stranger("Z" + id_of(honest).substr(1));
  std::string compute = id_of(honest);
  compute[0] = static_cast<char>('A' + static_cast<int>(Role::compute));
  auto pseudo = stranger(compute);
  send_frames(nameless, {hello_frame()});
  send_frames(short_name, {hello_frame()});
  send_frames(pseudo, {hello_frame()});
  send_frames(wrong_role, {hello_frame()});
  expect_dropped(4);
  expect_honest_heard();
}

TEST_F(Strangers, AnotherProtocolVersionIsReported) {
  auto socket = stranger(id_of({Role::worker, 9}));
  Frame header = hello_frame();
  header[2] = 77;
  send_frames(socket, {header});
  const auto received = listener->receive(soon());
  ASSERT_TRUE(received);
  EXPECT_EQ(received->from, (NodeId{Role::worker, 9}));
  const auto* message = std::get_if<ToScheduler>(&received->message);
  ASSERT_TRUE(message != nullptr && std::holds_alternative<VersionMismatch>(*message));
  EXPECT_EQ(std::get<VersionMismatch>(*message).protocol, 77U);
}

TEST_F(Strangers, OverlongFramesAreDropped) {
  auto longest = stranger(id_of({Role::worker, 9}));
  send_frames(longest, {Frame(limits::to_scheduler, 'S')});
  expect_dropped(1);
  auto oversize = stranger(id_of({Role::worker, 10}));
  send_frames(oversize, {Frame(limits::to_scheduler + 5000, 'S')});  // libzmq closes such a connection
  EXPECT_FALSE(listener->receive(steady_now() + milliseconds(200)));
  EXPECT_EQ(listener->dropped(), 1U);
  expect_honest_heard();
}

TEST_F(Strangers, InvalidFramesOfAListenerAreDropped) {
  zmq::socket_t fake(*static_cast<zmq::context_t*>(context->handle()), zmq::socket_type::router);
  fake.set(zmq::sockopt::linger, 0);
  fake.bind("tcp://127.0.0.1:*");
  ZmqLink link(*context, honest);
  link.connect(scheduler_node, fake.get(zmq::sockopt::last_endpoint));
  link.send({honest, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
  zmq::message_t id, received;
  ASSERT_TRUE(fake.recv(id));
  ASSERT_TRUE(fake.recv(received));
  const auto answer = [&](const std::vector<Frame>& frames) {
    fake.send(zmq::buffer(id.data(), id.size()), zmq::send_flags::sndmore);
    send_frames(fake, frames);
  };
  const auto gone = encode(Message(std::in_place_type<ToWorker>, Resend{1, 2, {0, 1}})).header;
  const Frame good(reinterpret_cast<const char*>(gone.data()), gone.size());
  answer({"nonsense"});
  answer({good, "", "a third frame"});
  answer({good});
  ASSERT_TRUE(link.receive(soon())) << "the valid message must arrive";
  EXPECT_FALSE(link.receive(steady_now() + milliseconds(50))) << "and only that one";
  EXPECT_EQ(link.dropped(), 2U);
}

TEST_F(Strangers, APortInUseIsNamedWithARemedy) {
  ZmqLink second(*context, {Role::shard, 3});
  try {
    second.listen(endpoint);
    ADD_FAILURE() << "two links listen on " << endpoint;
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(), HasSubstr(endpoint));
    EXPECT_THAT(failure.what(), HasSubstr("choose another port"));
  }
}

TEST_F(Strangers, InvalidEndpointsAreRefused) {
  for (const char* nonsense : {"", "127.0.0.1:5000", "tcp://", "udp://127.0.0.1:1"}) {
    ZmqLink link(*context, honest);
    EXPECT_THROW(link.connect(scheduler_node, nonsense), Failure) << nonsense;
    ZmqLink other(*context, {Role::shard, 3});
    EXPECT_THROW(other.listen(nonsense), Failure) << nonsense;
  }
}

// libzmq allows 1,023 sockets by default, and a connection takes three.
TEST_F(Strangers, AWorkerCanConnectToManyShards) {
  constexpr std::uint64_t many = 400;
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < 8 * many) GTEST_SKIP() << "too few descriptors are allowed";
  ZmqLink worker(*context, honest);
  for (std::uint64_t i = 1; i <= many; ++i) worker.connect({Role::shard, i}, endpoint);
}

// An unreachable place must not delay the other.
TEST_F(Strangers, APeerIsFoundAtOneOfSeveralPlaces) {
  ZmqLink link(*context, honest);
  const std::string nowhere = "tcp://127.0.0.1:1";
  link.connect(scheduler_node, nowhere + "," + endpoint);
  const Time deadline = soon();
  std::optional<Envelope> received;
  while (!received && steady_now() < deadline) {
    link.send({honest, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
    received = listener->receive(steady_now() + milliseconds(20));
  }
  ASSERT_TRUE(received);
  EXPECT_EQ(received->from, honest);
}

// Another process may listen at the endpoint of a former node, and must not accept its messages.
TEST_F(Strangers, MessagesForAnotherNodeAreDropped) {
  const NodeId gone{Role::shard, 41}, here{Role::shard, 42}, worker{Role::worker, 5};
  ZmqLink fresh(*context, here), link(*context, worker);
  const std::string place = fresh.listen("tcp://127.0.0.1:*");
  link.connect(gone, place);
  const Time deadline = soon();
  while (fresh.dropped() == 0 && steady_now() < deadline) {
    link.send({worker, gone, Message(std::in_place_type<ToShard>, Ping{1})});
    EXPECT_FALSE(fresh.receive(steady_now() + milliseconds(20)));
  }
  EXPECT_GT(fresh.dropped(), 0U);
  link.disconnect(gone);
  link.connect(here, place);
  link.send({worker, here, Message(std::in_place_type<ToShard>, Ping{1})});
  EXPECT_TRUE(fresh.receive(soon()));
}

// Two places with a scheduler at each. Only the leader's messages count; the other's exit goes unnoticed.
TEST_F(Strangers, TheSchedulerOfTheHigherGenerationLeads) {
  auto former = std::make_unique<ZmqLink>(*context, scheduler_node);
  const std::string second = former->listen("tcp://127.0.0.1:*");
  ZmqLink link(*context, honest);
  link.connect(scheduler_node, second + "," + endpoint);
  const auto meet = [&](ZmqLink& scheduler) {
    const Time deadline = soon();
    while (steady_now() < deadline) {
      link.send({honest, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
      if (scheduler.receive(steady_now() + milliseconds(20))) return true;
      (void)link.receive(Time{});
    }
    return false;
  };
  ASSERT_TRUE(meet(*former) && meet(*listener)) << "both places are tried until one answers";
  const auto beat = [&](ZmqLink& scheduler, std::uint64_t generation) {
    scheduler.send(
        {scheduler_node, honest, Message(std::in_place_type<ToWorker>, SchedulerBeat{1, generation})});
    const Time deadline = steady_now() + milliseconds(300);
    while (const auto got = link.receive(deadline)) {  // without a leader, the link reported each place
      if (std::holds_alternative<SchedulerBeat>(std::get<ToWorker>(got->message))) return true;
    }
    return false;
  };
  EXPECT_TRUE(beat(*former, 0));
  EXPECT_TRUE(beat(*listener, 1));
  EXPECT_FALSE(beat(*former, 0));
  former.reset();
  EXPECT_FALSE(link.receive(steady_now() + milliseconds(300)))
      << "the exit of a scheduler that does not lead is not reported";
  EXPECT_TRUE(beat(*listener, 1));
}

// Sends a message repeatedly until the other side receives a Body. Returns whether it does.
template <class Body, class Receiver>
bool reaches(ZmqLink& from, ZmqLink& to, NodeId sender, NodeId receiver, const Receiver& message) {
  const Time deadline = soon();
  while (steady_now() < deadline) {
    from.send({sender, receiver, Message(message)});
    (void)from.receive(Time{});  // a link works only while it receives
    while (const auto got = to.receive(steady_now() + milliseconds(20))) {
      const auto* received = std::get_if<Receiver>(&got->message);
      if (received != nullptr && std::holds_alternative<Body>(*received)) return true;
    }
  }
  return false;
}

// Otherwise it would wait for its claim to time out, and keep the members that never lost their connection.
TEST_F(Strangers, AFormerLeaderLearnsThatItWasSuperseded) {
  const NodeId arbiter{Role::shard, 7};
  auto former = std::make_unique<ZmqLink>(*context, scheduler_node);
  const std::string second = former->listen("tcp://127.0.0.1:*");
  ZmqLink shard(*context, arbiter);
  shard.connect(scheduler_node, second + "," + endpoint);
  const auto to_shard = [&]<class Body>(ZmqLink& from, const Body& message) {
    return reaches<Body>(from, shard, scheduler_node, arbiter, ToShard(message));
  };
  const auto from_shard = [&]<class Body>(ZmqLink& to, const Body& message) {
    return reaches<Body>(shard, to, arbiter, scheduler_node, ToScheduler(message));
  };
  ASSERT_TRUE(from_shard(*former, Arbitrates{}) && from_shard(*listener, Arbitrates{}));
  ASSERT_TRUE(to_shard(*former, SchedulerBeat{1, 0}) && to_shard(*listener, SchedulerBeat{1, 1}));
  EXPECT_TRUE(to_shard(*former, LeaderClaim{1, 5, arbiter, 0}));
  EXPECT_TRUE(from_shard(*former, LeaderGrant{5, false}));
  former.reset();
  for (const Time deadline = soon(); !former && steady_now() < deadline;) {
    auto again = std::make_unique<ZmqLink>(*context, scheduler_node);
    try {
      (void)again->listen(second);
      former = std::move(again);
    } catch (const Failure&) {  // libzmq closes the former socket later
      std::this_thread::sleep_for(milliseconds(5));
    }
  }
  ASSERT_TRUE(former);
  EXPECT_TRUE(to_shard(*former, LeaderClaim{1, 5, arbiter, 0})) << "the shard has connected again";
  EXPECT_TRUE(from_shard(*former, LeaderGrant{5, false}));
}

// Its earlier messages had no receiver, so it must send them again.
TEST_F(Strangers, AConnectionWithoutALeaderIsReported) {
  auto former = std::make_unique<ZmqLink>(*context, scheduler_node);
  const std::string first = former->listen("tcp://127.0.0.1:*");
  former.reset();
  ZmqLink link(*context, honest);
  link.connect(scheduler_node, first + "," + endpoint);
  const auto got = link.receive(soon());
  ASSERT_TRUE(got);
  EXPECT_TRUE(std::holds_alternative<Disconnected>(std::get<ToWorker>(got->message)));
}

TEST_F(Strangers, RoutingIdsNameTheirNode) {
  const RoutingId id = routing_id({Role::checkpointer, 0x0123456789abcdefULL}, 42, {Role::shard, 7});
  EXPECT_EQ(node_of(id.data(), id.size()), (NodeId{Role::checkpointer, 0x0123456789abcdefULL}));
  EXPECT_NE(id, routing_id({Role::checkpointer, 0x0123456789abcdefULL}, 43, {Role::shard, 7}))
      << "each socket has its own identity";
  EXPECT_EQ(peer_number(id), 7U);
  EXPECT_FALSE(node_of(id.data(), id.size() - 1));
}

}  // namespace
}  // namespace steelyard::zmq_test
