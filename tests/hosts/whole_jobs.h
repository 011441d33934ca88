// Jobs in every sync mode, and the conditions that must hold at their end.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_world.h"

namespace steelyard::test {

inline Job job_for(const std::string& sync, std::uint64_t samples = 120, std::uint64_t batch = 24,
                   std::uint64_t epochs = 2) {
  if (parse_sync(sync).on_arrival) return footprint_job(sync, samples, batch, epochs, 3, 2);
  Job job = toy_job(samples, batch, epochs, 3, 2);
  job.sync = parse_sync(sync);
  return job;
}

// If all pieces have equal weights, the result depends on the division of the work.
inline std::vector<std::string> violations_of(const World& world, const SyncMode& mode) {
  std::vector<std::string> violations = world.violations();
  if (mode.equal_weights) {
    std::erase_if(violations, [](const std::string& it) {
      return it.ends_with("is not what the plain loop gives") ||
             it.find("computed from parameters that are not version") != std::string::npos;
    });
  }
  return violations;
}

inline void expect_whole(World& world, const Job& job, const std::string& what) {
  const SyncMode mode = job.sync;
  ASSERT_THAT(violations_of(world, mode), testing::IsEmpty()) << what;
  ASSERT_TRUE(world.has_scheduler()) << what << ": no scheduler leads; " << world.describe();
  ASSERT_TRUE(world.scheduler().finished()) << what << ": the job hangs, " << world.describe();
  EXPECT_EQ(world.scheduler().outcome().outcome, Outcome::finished)
      << what << ": " << world.scheduler().outcome().text;
  EXPECT_EQ(world.scheduler().cursor().epoch(), job.epochs) << what;
  if (mode.equal_weights) return;
  if (mode.has_hubs()) return;  // every copy is checked during the run, and averages are rounded
  if (!mode.on_arrival) {
    EXPECT_EQ(world.parameters(), world.expected(world.scheduler().cursor().round())) << what;
    return;
  }
  if (mode.gathers() || mode.slows_late) return;  // checked during the run
  const Version all = world.scheduler().cursor().round();
  const std::vector<float> parameters = world.parameters();
  for (const Slice& slice : slices(job.layout)) {
    const std::string trouble =
        Footprints(job).look({parameters.data() + slice.begin, slice.size()}, all, all);
    EXPECT_THAT(trouble, testing::IsEmpty()) << what;
  }
}

// The name of a test parameter: a mode with its punctuation replaced.
inline std::string plain(const ::testing::TestParamInfo<const char*>& at) {
  std::string name = at.param;
  std::ranges::replace_if(
      name, [](char c) { return c == ':' || c == '-' || c == '.'; }, '_');
  return name;
}

}  // namespace steelyard::test
