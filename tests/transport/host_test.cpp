// A host moves envelopes and tells the time; it decides nothing.
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

// Counts its wakes, echoes what it hears to the recorder, ends on Stop.
struct Echo {
  void step(Time, const Envelope& in, Outbox& out) {
    const auto& message = std::get<ToWorker>(in.message);
    if (std::holds_alternative<Stop>(message)) stopped = true;
    out.send<ToRecorder>(recorder_node, Note{"heard"});
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

// A scheduler that hears so many signs of life, and judges who was silent whenever it is woken.
struct Judge {
  void step(Time, const Envelope&, Outbox&) { ++heard; }
  void wake(Time now, Outbox&) {
    heard_when_woken.push_back(heard);
    next = now + milliseconds(1);
  }
  [[nodiscard]] Time deadline() const { return next; }
  [[nodiscard]] bool finished() const { return heard_when_woken.size() >= 2; }
  Time next;
  int heard = 0;
  std::vector<int> heard_when_woken;
};

// Mail of which so much has queued up; what is still on its way comes to whoever waits for it.
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
  Duration stop{};  // for how long the first look takes
};

TEST(Host, WhatHasQueuedUpIsReadBeforeAnybodyIsJudged) {
  Mail mail;
  mail.queued = 1000;
  mail.stop = milliseconds(5);
  Judge judge;
  host(judge, self, mail);
  EXPECT_EQ(judge.heard_when_woken, (std::vector{0, 1000}));
}

TEST(Host, WhoWasStoppedWaitsForWhatIsStillOnItsWay) {
  Mail mail;
  mail.queued = 1;
  mail.on_the_way = 3;
  mail.stop = stopped_after + milliseconds(100);
  Judge judge;
  host(judge, self, mail);
  EXPECT_EQ(judge.heard_when_woken, (std::vector{0, 4}));
}

TEST(Host, AFloodKeepsNobodyFromWaking) {
  Mail mail;
  mail.queued = Mail::endless;
  Judge judge;
  host(judge, self, mail);
  EXPECT_EQ(judge.heard_when_woken.size(), 2U);
}

// Endpoints come over the wire: one that makes no sense is a peer that cannot be reached, not the end.
TEST(Host, AnEndpointThatMakesNoSenseIsToldToTheMachine) {
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
  out.send<ToRecorder>(recorder_node, Note{"nobody records"});
  deliver(link, {}, out.take());
  EXPECT_EQ(link.disconnected, 1);
  EXPECT_EQ(link.sent, 1);
  ASSERT_EQ(link.posted.size(), 1U);
  EXPECT_EQ(link.posted[0].to, self);
  const auto& told = std::get<Unreachable>(std::get<ToWorker>(link.posted[0].message));
  EXPECT_EQ(told.node, (NodeId{Role::shard, 1}));
  EXPECT_EQ(told.endpoint, "nonsense");
  EXPECT_EQ(told.why, "nonsense");
}

}  // namespace
}  // namespace steelyard::host_test
