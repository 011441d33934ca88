// A host moves envelopes and provides the time; it makes no decisions.
#include "transport/host.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "transport/local.h"

namespace steelyard::host_test {
namespace {

constexpr NodeId self{Role::worker, 1};

// Counts its wakes, sends a note to the recorder for each message, finishes on Stop.
struct Echo {
  void step(Time, const Envelope& in, Outbox& out) {
    const auto& message = std::get<ToWorker>(in.message);
    if (std::holds_alternative<Stop>(message)) stopped = true;
    out.send<ToRecorder>(recorder_node, Note{"received"});
    out.send<ToCompute>(compute_node, Abandon{1});
    out.send<ToScheduler>(scheduler_node, Ready{});
  }
  void wake(Time now, Outbox&) {
    ++wakes;
    next = now + milliseconds(5);
  }
  [[nodiscard]] Time deadline() const { return next; }
  [[nodiscard]] bool finished() const { return stopped && wakes >= 3; }
  Time next;
  int wakes = 0;
  bool stopped = false;
};

TEST(Host, DeliversWakesAndEnds) {
  LocalNetwork network;
  const auto scheduler = network.join(scheduler_node);
  const auto link = network.join(self);
  scheduler->send({scheduler_node, self, Message(std::in_place_type<ToWorker>, SchedulerBeat{})});
  scheduler->send({scheduler_node, self, Message(std::in_place_type<ToWorker>, Stop{})});
  int recorded = 0, computed = 0;
  Echo echo;
  host(echo, self, *link,
       [&](const Envelope& envelope) { (envelope.to == recorder_node ? recorded : computed) += 1; });
  EXPECT_EQ(recorded, 2);
  EXPECT_EQ(computed, 2);
  EXPECT_GE(echo.wakes, 3) << "once at the start, then at its deadlines";
  EXPECT_TRUE(scheduler->receive(Time{}));
  EXPECT_TRUE(scheduler->receive(Time{}));
  EXPECT_FALSE(scheduler->receive(Time{}));
}

// Records how many messages it had received at each wake, as a scheduler that checks for silent members.
struct Judge {
  void step(Time, const Envelope&, Outbox&) { ++received; }
  void wake(Time now, Outbox&) {
    received_when_woken.push_back(received);
    next = now + milliseconds(1);
  }
  [[nodiscard]] Time deadline() const { return next; }
  [[nodiscard]] bool finished() const { return received_when_woken.size() >= 2; }
  Time next;
  int received = 0;
  std::vector<int> received_when_woken;
};

// A link with `queued` messages. `on_the_way` more arrive only if receive() waits.
struct Mail : Link {
  void connect(NodeId, const std::string&) override {}
  void disconnect(NodeId) override {}
  void send(Envelope) override {}
  void post(std::vector<Envelope>) override {}
  std::optional<Envelope> receive(Time deadline) override {
    std::this_thread::sleep_for(std::exchange(stop, {}));
    const bool waits = deadline > steady_now();
    if (queued == 0 && !(waits && on_the_way > 0)) return std::nullopt;
    if (queued != endless) --(queued > 0 ? queued : on_the_way);
    return Envelope{{Role::worker, 2}, self, Message(std::in_place_type<ToWorker>, SchedulerBeat{})};
  }
  static constexpr int endless = -1;
  int queued = 0, on_the_way = 0;
  Duration stop{};  // how long the first receive() takes
};

TEST(Host, QueuedMessagesAreDeliveredBeforeAWake) {
  Mail mail;
  mail.queued = 1000;
  mail.stop = milliseconds(5);
  Judge judge;
  host(judge, self, mail);
  EXPECT_EQ(judge.received_when_woken, (std::vector{0, 1000}));
}

TEST(Host, AStoppedProcessFirstWaitsForMessagesInTransit) {
  Mail mail;
  mail.queued = 1;
  mail.on_the_way = 3;
  mail.stop = stopped_after + milliseconds(100);
  Judge judge;
  host(judge, self, mail);
  EXPECT_EQ(judge.received_when_woken, (std::vector{0, 4}));
}

TEST(Host, AFloodDoesNotPreventWakes) {
  Mail mail;
  mail.queued = Mail::endless;
  Judge judge;
  host(judge, self, mail);
  EXPECT_EQ(judge.received_when_woken.size(), 2U);
}

// A woken scheduler may run in place of this thread, while shards wait for the rest.
TEST(Host, MessagesToTheSchedulerAreSentLast) {
  struct Listed : Mail {
    void send(Envelope envelope) override { to.push_back(envelope.to); }
    std::vector<NodeId> to;
  } link;
  constexpr NodeId first{Role::shard, 1}, second{Role::shard, 2};
  Outbox out(self);
  out.send<ToScheduler>(scheduler_node, Ready{});
  out.send<ToShard>(second, Ping{});
  out.send<ToScheduler>(scheduler_node, Goodbye{});
  out.send<ToShard>(first, Ping{});
  deliver(link, {}, out.take());
  EXPECT_EQ(link.to, (std::vector{second, first, scheduler_node, scheduler_node}));
}

// Endpoints come from messages: an invalid one makes its peer unreachable, but must not end the process.
TEST(Host, AnInvalidEndpointIsReportedAsUnreachable) {
  struct Picky : Link {
    void connect(NodeId, const std::string&) override { throw Failure(ExitCode::configuration, "nonsense"); }
    void disconnect(NodeId) override { ++disconnected; }
    void send(Envelope) override { ++sent; }
    std::optional<Envelope> receive(Time) override { return std::nullopt; }
    void post(std::vector<Envelope> envelopes) override {
      for (Envelope& envelope : envelopes) posted.push_back(std::move(envelope));
    }
    int disconnected = 0, sent = 0;
    std::vector<Envelope> posted;
  } link;
  Outbox out(self);
  out.send<ToLink>(link_node, Connect{{Role::shard, 1}, "nonsense"});
  out.send<ToLink>(link_node, Disconnect{{Role::shard, 1}});
  out.send<ToScheduler>(scheduler_node, Ready{});
  out.send<ToRecorder>(recorder_node, Note{"not recorded"});
  deliver(link, {}, out.take());
  EXPECT_EQ(link.disconnected, 1);
  EXPECT_EQ(link.sent, 1);
  ASSERT_EQ(link.posted.size(), 1U);
  EXPECT_EQ(link.posted[0].to, self);
  const auto& unreachable = std::get<Unreachable>(std::get<ToWorker>(link.posted[0].message));
  EXPECT_EQ(unreachable.node, (NodeId{Role::shard, 1}));
  EXPECT_EQ(unreachable.endpoint, "nonsense");
  EXPECT_EQ(unreachable.why, "nonsense");
}

}  // namespace
}  // namespace steelyard::host_test
