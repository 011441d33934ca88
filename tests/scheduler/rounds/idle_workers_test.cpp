// Notes about workers without samples.
#include "scheduler/rounds/idle_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::idle_workers_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class IdleWorkersTest : public ::testing::Test {
 protected:
  IdleWorkersTest() {
    for (const std::uint32_t slot : {0U, 1U}) {
      WorkerMember it;
      it.node = {Role::worker, 100 + slot};
      it.slot = slot;
      it.name = slot == 0 ? "desktop" : "laptop";
      it.ready = true;
      members_.add(it);
    }
  }
  // Begins this many rounds in which only these slots get pieces. Returns all notes.
  Orders rounds(std::uint64_t count, const std::vector<std::uint32_t>& busy) {
    Orders orders, notes;
    for (const std::uint32_t slot : busy) orders.push_back(Assign{slot, {}});
    for (std::uint64_t i = 0; i < count; ++i) {
      for (Order& note : idle_.begin(members_, orders)) notes.push_back(std::move(note));
    }
    return notes;
  }

  Members members_;
  IdleWorkers idle_{"steelyard"};
};

TEST_F(IdleWorkersTest, AWorkerWithoutSamplesIsNotedOnce) {
  EXPECT_THAT(rounds(9, {0}), IsEmpty());
  const Orders notes = rounds(1, {0});
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(std::get<Remark>(notes[0]).text,
              HasSubstr("worker 'laptop' is idle: policy 'steelyard' gave it no samples for 10 rounds"));
  EXPECT_THAT(rounds(100, {0}), IsEmpty());
}

TEST_F(IdleWorkersTest, ARoundWithSamplesBeginsTheCountAgain) {
  EXPECT_THAT(rounds(9, {0}), IsEmpty());
  EXPECT_THAT(rounds(1, {0, 1}), IsEmpty());
  EXPECT_THAT(rounds(9, {0}), IsEmpty());
}

TEST_F(IdleWorkersTest, AnAbsentWorkerIsNotIdle) {
  members_.workers.at(1).present = false;
  EXPECT_THAT(rounds(20, {0}), IsEmpty());
}

}  // namespace
}  // namespace steelyard::idle_workers_test
