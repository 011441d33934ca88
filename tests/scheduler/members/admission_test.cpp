// Which nodes may join, under which name and in which slot.
#include "scheduler/members/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/toy_job.h"

namespace steelyard::admission_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Time at(double seconds) { return Time{} + from_seconds(seconds); }

Hello named(const std::string& name) { return {0, name, "tcp://box:7071", DeviceKind::cpu, 0}; }
NodeId worker(std::uint64_t id) { return {Role::worker, id}; }
NodeId shard(std::uint64_t id) { return {Role::shard, id}; }

class AdmissionTest : public ::testing::Test {
 protected:
  Admission::Answer hello(double when, NodeId from, const std::string& name, Phase phase = Phase::gathering) {
    return admission.answer(at(when), from, named(name), phase);
  }
  static Refusal refusal(const Admission::Answer& answer) {
    return std::get<Admission::Refused>(answer).reason;
  }
  static std::uint32_t slot(const Admission::Answer& answer) {
    return std::get<Admission::Admitted>(answer).slot;
  }

  Job job = test::toy_job(80, 40, 1, 2, 2);  // of two workers and two shards
  Members members;
  std::list<RoundState> rounds;
  Admission admission{job, members, rounds};
};

TEST_F(AdmissionTest, ASecondHelloOfTheSameNodeChangesNothing) {
  EXPECT_EQ(slot(hello(1, worker(1), "ann")), 0U);
  EXPECT_EQ(slot(hello(1, worker(2), "ben")), 1U);
  const auto again = std::get<Admission::Admitted>(hello(2, worker(1), "ann"));
  EXPECT_EQ(again.slot, 0U);
  EXPECT_THAT(again.remark, IsEmpty());
  EXPECT_THAT(members.workers, SizeIs(2));
}

TEST_F(AdmissionTest, ANameIsRefusedForNowOnceItsOwnerSendsAMessage) {
  hello(1, worker(1), "ann");
  const auto first = hello(2, worker(9), "ann");
  EXPECT_TRUE(std::holds_alternative<Admission::AskAgainLater>(first)) << "its owner may be gone";
  members.worker(worker(1))->last_heard = at(2.1);
  EXPECT_EQ(refusal(hello(2.2, worker(9), "ann")), Refusal::full);
}

TEST_F(AdmissionTest, TheNameOfALostWorkerIsReusedWithItsSlot) {
  hello(1, worker(1), "ann");
  hello(1, worker(2), "ben");
  members.worker(worker(2))->present = false;
  EXPECT_EQ(slot(hello(2, worker(9), "ben")), 1U);
  EXPECT_EQ(members.worker(worker(2)), nullptr);
}

TEST_F(AdmissionTest, EmptyNamesOtherJobsAndLateHellosAreRefused) {
  EXPECT_EQ(refusal(hello(1, worker(1), "")), Refusal::name);
  Hello other = named("ann");
  other.fingerprint = fingerprint(job) + 1;
  EXPECT_EQ(refusal(admission.answer(at(1), worker(1), other, Phase::gathering)), Refusal::other_job);
  EXPECT_EQ(refusal(hello(1, worker(1), "ann", Phase::stopping)), Refusal::finished);
  EXPECT_THAT(members.workers, IsEmpty());
}

TEST_F(AdmissionTest, AWorkerThatCannotHoldAGrainIsRefused) {
  job.grain = 32;
  Hello small = named("ann");
  small.max_batch = 31;
  const auto answer = admission.answer(at(1), worker(1), small, Phase::gathering);
  EXPECT_EQ(refusal(answer), Refusal::memory);
  EXPECT_THAT(std::get<Admission::Refused>(answer).text,
              AllOf(HasSubstr("'ann' holds 31"), HasSubstr("grains of 32"), HasSubstr("max_batch of 32")));
  EXPECT_THAT(members.workers, IsEmpty());
  small.max_batch = 32;
  EXPECT_EQ(slot(admission.answer(at(1), worker(1), small, Phase::gathering)), 0U);
}

TEST_F(AdmissionTest, ShardsBeyondTheJobsNumberAreRefused) {
  EXPECT_EQ(slot(hello(1, shard(1), "left")), 0U);
  EXPECT_THAT(admission.roster().shards, IsEmpty()) << "one is missing";
  EXPECT_EQ(slot(hello(1, shard(2), "right")), 1U);
  EXPECT_EQ(refusal(hello(1, shard(3), "third")), Refusal::full);
  EXPECT_TRUE(admission.has_all_shards());
  EXPECT_THAT(admission.roster().shards, SizeIs(2));
}

TEST_F(AdmissionTest, AReplacedServerChangesTheRosterAndUnreadiesWorkers) {
  hello(1, shard(1), "left");
  hello(1, shard(2), "right");
  hello(1, worker(1), "ann");
  members.worker(worker(1))->ready = true;
  const std::uint64_t number = admission.roster_number();
  members.shards.at(0).broken = true;
  EXPECT_EQ(slot(hello(2, shard(3), "left")), 0U);
  EXPECT_GT(admission.roster_number(), number);
  EXPECT_FALSE(members.worker(worker(1))->ready);
}

TEST_F(AdmissionTest, AServerThatReturnsEmptyEndsTheTraining) {
  hello(1, shard(1), "left");
  members.shards.at(0).broken = true;
  const auto answer = hello(2, shard(3), "left", Phase::running);
  EXPECT_EQ(std::get<EndJob>(answer).outcome, Outcome::server_lost);
}

TEST_F(AdmissionTest, AnUnreachableServerEndpointIsRefused) {
  Hello hello = named("left");
  hello.endpoint = "tcp://0.0.0.0:7071";
  const auto answer = admission.answer(at(1), shard(1), hello, Phase::gathering);
  EXPECT_EQ(refusal(answer), Refusal::endpoint);
  EXPECT_THAT(std::get<Admission::Refused>(answer).text, HasSubstr("--advertise"));
}

TEST_F(AdmissionTest, LostWorkersWithoutOpenPiecesAreForgotten) {
  for (std::uint64_t i = 0; i < 68; ++i) {
    hello(1, worker(i + 1), "w" + std::to_string(i));
    members.worker(worker(i + 1))->present = false;
  }
  RoundState round(BeginRound{1, 0, 0, {0, 10}, 10, false, false}, Purpose::train, Time{});
  round.add(1, {{0, 10}, 7});
  rounds.push_back(round);
  hello(2, worker(100), "new");
  EXPECT_THAT(members.workers, SizeIs(2));
  EXPECT_TRUE(members.workers.contains(7));
}

}  // namespace
}  // namespace steelyard::admission_test
