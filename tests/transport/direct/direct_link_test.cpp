// Links with a direct connection: order, and processes that are killed or stopped.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <set>
#include <vector>

#include "core/buffer.h"
#include "core/random.h"
#include "tests/support/temporary_folder.h"
#include "tests/transport/nets.h"
#include "transport/zmq.h"

namespace steelyard::direct_link_test {
namespace {

constexpr NodeId worker{Role::worker, 1}, shard{Role::shard, 2};

Time soon() { return steady_now() + from_seconds(20); }

Envelope numbered_pull(std::uint64_t number) {
  return {worker, shard, Message(std::in_place_type<ToShard>, Pull{1, number})};
}
Envelope numbered_answer(std::uint64_t number) {
  return {shard, worker, Message(std::in_place_type<ToWorker>, VersionExpired{number, 0})};
}
Envelope push(std::uint64_t number, Memory memory) {
  const auto values = std::make_shared<FloatBuffer>(100, memory);
  Push content;
  content.piece.id = number;
  content.values = Blob::of_floats(values, values->span());
  return {worker, shard, Message(std::in_place_type<ToShard>, content)};
}

// The number of such a message.
std::optional<std::uint64_t> number_of(const Envelope& in) {
  if (const auto* to_worker = std::get_if<ToWorker>(&in.message)) {
    const auto* answer = std::get_if<VersionExpired>(to_worker);
    return answer == nullptr ? std::nullopt : std::optional(answer->wanted);
  }
  const auto& to_shard = std::get<ToShard>(in.message);
  if (const auto* pull = std::get_if<Pull>(&to_shard)) return pull->version;
  if (const auto* content = std::get_if<Push>(&to_shard)) return content->piece.id;
  return std::nullopt;
}

// Lets both work until both have a direct connection. Only messages without a number are lost here.
bool become_direct(ZmqLink& one, NodeId its, ZmqLink& other, NodeId others) {
  const Time deadline = soon();
  while ((!one.is_direct(others) || !other.is_direct(its)) && steady_now() < deadline) {
    (void)one.receive(steady_now() + milliseconds(2));
    (void)other.receive(steady_now() + milliseconds(2));
  }
  return one.is_direct(others) && other.is_direct(its);
}

class DirectLink : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = test::unfit("shared"); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  // Forks a worker that connects to the shard, waits until they are directly connected, and calls `then`.
  pid_t start(const std::function<void(ZmqLink&)>& then) {
    const pid_t child = fork();
    if (child == 0) {
      ZmqContext context;
      ZmqLink link(context, worker, Memory::shared);
      link.connect(shard, endpoint_);
      while (!link.is_direct(shard)) (void)link.receive(steady_now() + milliseconds(2));
      then(link);
      _exit(0);
    }
    children_.insert(child);
    return child;
  }
  // The next message that is no lost connection, or nothing after Disconnected.
  static std::optional<Envelope> next(ZmqLink& link) {
    const Time deadline = soon();
    while (auto in = link.receive(deadline)) {
      if (number_of(*in)) return in;
      const auto* to_shard = std::get_if<ToShard>(&in->message);
      if (to_shard != nullptr && std::holds_alternative<Disconnected>(*to_shard)) return std::nullopt;
    }
    ADD_FAILURE() << "no message came";
    return std::nullopt;
  }

  const TemporaryFolder folder_;
  const std::string endpoint_ = "ipc://" + (folder_.path() / "shard").string();
  std::set<pid_t> children_;
};

TEST_F(DirectLink, OrderIsKeptAcrossBothWays) {
  ZmqContext context;
  ZmqLink listener(context, shard, Memory::shared), caller(context, worker, Memory::shared);
  caller.connect(shard, listener.listen(endpoint_));
  ASSERT_TRUE(become_direct(caller, worker, listener, shard));
  Random random(5);
  constexpr std::uint64_t count = 2000;
  for (std::uint64_t i = 0, got = 0; got < count;) {
    const std::uint64_t kind = random.below(4);
    if (i < count && kind < 3) {
      if (kind == 0) caller.send(numbered_pull(i));
      if (kind == 1) caller.send(push(i, Memory::own));  // through ZeroMQ
      if (kind == 2) caller.send(push(i, Memory::shared));
      listener.send(numbered_answer(i++));
      continue;
    }
    while (caller.receive(Time{})) {  // sends the rest of the batch before it waits
    }
    for (auto in = listener.receive(i == count ? soon() : Time{}); in; in = listener.receive(Time{})) {
      ASSERT_EQ(number_of(*in), got++);
    }
  }
}

TEST_F(DirectLink, WithoutSharedMemoryMessagesGoThroughZeroMq) {
  ZmqContext context;
  ZmqLink listener(context, shard), caller(context, worker);
  caller.connect(shard, listener.listen(endpoint_));
  caller.send(numbered_pull(1));
  ASSERT_TRUE(listener.receive(soon()));
  listener.send(numbered_answer(2));
  ASSERT_TRUE(caller.receive(soon()));
  EXPECT_FALSE(caller.is_direct(shard));
  EXPECT_FALSE(listener.is_direct(worker));
}

TEST_F(DirectLink, AServerWithoutSharedMemoryAnswersNoRequest) {
  ZmqContext context;
  ZmqLink listener(context, shard), caller(context, worker, Memory::shared);
  caller.connect(shard, listener.listen(endpoint_));
  for (std::uint64_t i = 0; i < 3; ++i) {
    caller.send(numbered_pull(i));
    ASSERT_EQ(number_of(*listener.receive(soon())), i);
    listener.send(numbered_answer(i));
    ASSERT_EQ(number_of(*caller.receive(soon())), i);
  }
  EXPECT_FALSE(caller.is_direct(shard));
  EXPECT_FALSE(listener.is_direct(worker));
}

// A grant goes to all places of the scheduler, so through ZeroMQ.
TEST_F(DirectLink, AGrantKeepsItsPlaceInTheOrder) {
  ZmqContext context;
  ZmqLink listener(context, scheduler_node), caller(context, shard, Memory::shared);
  caller.connect(scheduler_node, listener.listen(endpoint_));
  ASSERT_TRUE(become_direct(caller, shard, listener, scheduler_node));
  caller.send({shard, scheduler_node, Message(std::in_place_type<ToScheduler>, LeaderGrant{1, true})});
  caller.send({shard, scheduler_node, Message(std::in_place_type<ToScheduler>, ShardBeat{})});
  const auto first = listener.receive(soon()), second = listener.receive(soon());
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(std::holds_alternative<LeaderGrant>(std::get<ToScheduler>(first->message)));
  EXPECT_TRUE(std::holds_alternative<ShardBeat>(std::get<ToScheduler>(second->message)));
}

// It ends before it has read what it was sent.
TEST_F(DirectLink, AKilledProcessWithUnreadMessagesIsLostAfterItsLastMessage) {
  const pid_t child = start([](ZmqLink& link) {
    link.send(numbered_pull(0));
    (void)link.receive(Time{});  // sends it
    raise(SIGSTOP);
    for (std::uint64_t i = 1; i < 100; ++i) link.send(numbered_pull(i));
    link.send(push(100, Memory::own));  // sends the batch before it
    kill(getpid(), SIGKILL);
  });
  ZmqContext context;
  ZmqLink listener(context, shard, Memory::shared);
  listener.listen(endpoint_);
  ASSERT_TRUE(next(listener));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  (void)listener.receive(Time{});
  ASSERT_TRUE(listener.is_direct(worker));
  for (std::uint64_t i = 0; i < 10; ++i) listener.send(numbered_answer(i));
  (void)listener.receive(Time{});  // sends them
  kill(child, SIGCONT);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  children_.erase(child);
  for (std::uint64_t i = 1; i < 100; ++i) {
    const auto in = next(listener);
    ASSERT_TRUE(in) << i;
    EXPECT_EQ(number_of(*in), i);
  }
}

TEST_F(DirectLink, ACallerThatConnectsAgainKeepsOrderAndIsDirectAgain) {
  ZmqContext context;
  ZmqLink listener(context, shard, Memory::shared), caller(context, worker, Memory::shared);
  const std::string place = listener.listen(endpoint_);
  std::vector<std::uint64_t> got;
  for (std::uint64_t round = 0; round < 5; ++round) {
    caller.connect(shard, place);
    const Time deadline = soon();
    while ((!caller.is_direct(shard) || !listener.is_direct(worker)) && steady_now() < deadline) {
      (void)caller.receive(steady_now() + milliseconds(2));
      while (const auto in = listener.receive(steady_now() + milliseconds(2)))
        if (const auto number = number_of(*in)) got.push_back(*number);
    }
    ASSERT_TRUE(caller.is_direct(shard) && listener.is_direct(worker));
    caller.send(numbered_pull(10 * round));
    (void)caller.receive(Time{});              // sends it
    const auto in = listener.receive(soon());  // and all that was sent through ZeroMQ before
    ASSERT_TRUE(in && number_of(*in) == 10 * round);
    got.push_back(10 * round);
    for (std::uint64_t i = 1; i < 10; ++i) caller.send(numbered_pull(10 * round + i));
    (void)caller.receive(Time{});  // sends them
    caller.disconnect(shard);
  }
  for (const Time deadline = soon(); got.size() < 50 && steady_now() < deadline;)
    if (const auto in = listener.receive(steady_now() + milliseconds(2)))
      if (const auto number = number_of(*in)) got.push_back(*number);
  ASSERT_EQ(got.size(), 50U);
  EXPECT_TRUE(std::ranges::is_sorted(got));
}

// The loss of a server that is stopped is not reported, but its connections have ended.
TEST_F(DirectLink, AStoppedServerKeepsNoDirectConnection) {
  const pid_t child = fork();
  if (child == 0) {
    ZmqContext context;
    ZmqLink link(context, shard, Memory::shared);
    link.connect(scheduler_node, endpoint_);
    while (!link.is_direct(scheduler_node)) (void)link.receive(steady_now() + milliseconds(2));
    raise(SIGSTOP);
    _exit(0);
  }
  children_.insert(child);
  ZmqContext context;
  ZmqLink listener(context, scheduler_node);
  listener.listen(endpoint_);
  const auto receive_until_direct_is = [&](bool direct) {
    for (const Time deadline = soon(); listener.is_direct(shard) != direct && steady_now() < deadline;)
      if (const auto in = listener.receive(steady_now() + milliseconds(20))) return false;
    return listener.is_direct(shard) == direct;
  };
  ASSERT_TRUE(receive_until_direct_is(true));
  EXPECT_TRUE(receive_until_direct_is(false)) << "and no Disconnected";
}

TEST_F(DirectLink, AKilledProcessIsLostAfterItsLastMessage) {
  start([](ZmqLink& link) {
    for (std::uint64_t i = 0; i < 100; ++i) link.send(numbered_pull(i));
    (void)link.receive(Time{});  // sends the last batch
    kill(getpid(), SIGKILL);
  });
  ZmqContext context;
  ZmqLink listener(context, shard, Memory::shared);
  listener.listen(endpoint_);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto in = next(listener);
    ASSERT_TRUE(in) << i;
    EXPECT_EQ(number_of(*in), i);
  }
  EXPECT_FALSE(next(listener)) << "Disconnected";
  listener.send(numbered_answer(0));
  EXPECT_EQ(listener.dropped(), 1U);
}

// Its peer neither waits for it nor loses what the kernel and libzmq hold for it.
TEST_F(DirectLink, AStoppedProcessGetsAllMessagesLater) {
  constexpr std::uint64_t count = 3000;
  const pid_t child = start([](ZmqLink& link) {
    link.send(numbered_pull(0));
    (void)link.receive(Time{});  // sends it
    raise(SIGSTOP);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto in = link.receive(soon());
      if (!in || number_of(*in) != i) _exit(1);
    }
    _exit(0);
  });
  ZmqContext context;
  ZmqLink listener(context, shard, Memory::shared);
  listener.listen(endpoint_);
  ASSERT_TRUE(next(listener));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  for (std::uint64_t i = 0; i < count; ++i) listener.send(numbered_answer(i));
  EXPECT_EQ(listener.dropped(), 0U);
  kill(child, SIGCONT);
  while (waitpid(child, &status, WNOHANG) == 0) (void)listener.receive(steady_now() + milliseconds(5));
  children_.erase(child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "all in order";
}

TEST_F(DirectLink, AListenerThatComesBackIsDirectAgain) {
  ZmqContext context;
  auto listener = std::make_unique<ZmqLink>(context, shard, Memory::shared);
  ZmqLink caller(context, worker, Memory::shared);
  caller.connect(shard, listener->listen(endpoint_));
  ASSERT_TRUE(become_direct(caller, worker, *listener, shard));
  listener.reset();
  const Time deadline = soon();
  bool lost = false;
  while (!lost && steady_now() < deadline) {
    const auto in = caller.receive(deadline);
    lost = in && std::holds_alternative<Disconnected>(std::get<ToWorker>(in->message));
  }
  EXPECT_TRUE(lost);
  EXPECT_FALSE(caller.is_direct(shard));
  listener = std::make_unique<ZmqLink>(context, shard, Memory::shared);
  listener->listen(endpoint_);
  EXPECT_TRUE(become_direct(caller, worker, *listener, shard));
}

}  // namespace
}  // namespace steelyard::direct_link_test
