// tests/scheduler/transcript_script.cpp checks after every line of every transcript that a restored scheduler
// equals the saved one.
#include "scheduler/scheduler.h"

#include <gtest/gtest.h>

#include "balancing/policies.h"
#include "core/error.h"
#include "tests/scheduler/transcript_script.h"

namespace steelyard::saved_state_test {
namespace {

constexpr Time now{std::chrono::seconds(5)}, later{std::chrono::seconds(1005)};

TEST(SavedState, IsRestoredOnAnyClock) {
  test::Script script;
  for (const char* line : {"job workers=1", "s1: Hello left", "w1: Hello ann", "k: Beat", "wait 1"})
    script.run(line);
  const std::string state = script.scheduler().save(now);
  Scheduler elsewhere(script.job(), {}, balancing::make_policy("equal"));
  elsewhere.restore(state, later);
  EXPECT_EQ(elsewhere.deadline() - later, script.scheduler().deadline() - now);
  EXPECT_EQ(elsewhere.save(later), state);
  ASSERT_NE(elsewhere.members().worker({Role::worker, 1}), nullptr);
  EXPECT_EQ(elsewhere.members().worker({Role::worker, 1})->name, "ann");
}

TEST(SavedState, InvalidStateIsRefused) {
  test::Script script;
  for (const char* line : {"job workers=1", "s1: Hello left", "w1: Hello ann"}) script.run(line);
  const std::string state = script.scheduler().save(now);
  for (std::size_t size = 0; size < state.size(); ++size) {
    Scheduler other(script.job(), {}, balancing::make_policy("equal"));
    EXPECT_THROW(other.restore(state.substr(0, size), now), Failure) << size;
  }
  Scheduler other(script.job(), {}, balancing::make_policy("equal"));
  EXPECT_THROW(other.restore(state + "x", now), Failure);
}

}  // namespace
}  // namespace steelyard::saved_state_test
