#include "app/launch/core_part.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "core/cores.h"
#include "core/device_name.h"

namespace steelyard::core_part_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

WorkerSpec with_threads(const std::string& threads) {
  WorkerSpec worker;
  worker.threads = threads;
  return worker;
}

HostSpec host_of(const std::vector<WorkerSpec>& workers) {
  HostSpec host;
  for (const WorkerSpec& worker : workers) host.workers.push_back({worker, {}});
  return host;
}

std::vector<unsigned> numbers(const CorePart& part) { return {part.begin, part.end, part.of}; }

// Whether any worker of the host is bound.
bool binds(const std::vector<WorkerSpec>& workers) {
  const std::vector<CorePart> parts = core_parts(host_of(workers));
  EXPECT_EQ(parts.size(), workers.size());
  return std::ranges::any_of(parts, [](const CorePart& it) { return it.of > 0; });
}

TEST(CorePart, WorkersGetDisjointPartsOfTheirThreads) {
  const auto parts = core_parts(host_of({with_threads("1"), with_threads("3"), with_threads("2")}));
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_THAT(numbers(parts[0]), ElementsAre(0, 1, 6));
  EXPECT_THAT(numbers(parts[1]), ElementsAre(1, 4, 6));
  EXPECT_THAT(numbers(parts[2]), ElementsAre(4, 6, 6));
}

TEST(CorePart, NoWorkerIsBoundIfOneHasNoFixedCores) {
  const WorkerSpec plain = with_threads("2");
  EXPECT_TRUE(binds({plain, plain}));
  EXPECT_FALSE(binds({plain})) << "alone";
  EXPECT_FALSE(binds({plain, with_threads("auto")}));
  EXPECT_FALSE(binds({plain, with_threads("auto-1")}));
  WorkerSpec other = plain;
  other.background = true;
  EXPECT_FALSE(binds({plain, other}));
  other = plain;
  for (const char* device : {"cuda", "cuda:0", "auto", "host-cuda"}) {
    other.device = device;
    EXPECT_FALSE(binds({plain, other})) << device;
  }
  EXPECT_THAT(core_parts(HostSpec{}), IsEmpty());
}

TEST(CorePart, ItsCoresAreThoseOfAMachineThatTheWorkersFill) {
  const std::vector<unsigned> all = in_order_of_topology(allowed_core_numbers());
  const auto count = static_cast<unsigned>(all.size());
  ASSERT_GT(count, 0U);
  for (const bool gpu : {false, true}) {
    EXPECT_EQ(cores_of({0, count, count}, gpu), all);
    EXPECT_THAT(cores_of({count - 1, count, count}, gpu), ElementsAre(all.back()));
    EXPECT_THAT(cores_of({0, 1, count + 1}, gpu), IsEmpty()) << "more threads than cores";
    EXPECT_THAT(cores_of({0, 1, 0}, gpu), IsEmpty());
    EXPECT_THAT(cores_of({}, gpu), IsEmpty());
    EXPECT_THAT(cores_of({0, count + 1, count}, gpu), IsEmpty()) << "from another program";
    EXPECT_THAT(cores_of({1, 1, count}, gpu), IsEmpty());
  }
}

TEST(CorePart, ScriptsGetEqualPartsOfAllCores) {
  WorkerSpec script;
  script.device = automatic_device;
  const auto parts = core_parts_of_scripts(host_of({script, script, script}));
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_THAT(numbers(parts[2]), ElementsAre(2, 3, 3));
  EXPECT_TRUE(parts[2].equal_parts);
  const std::vector<unsigned> all = in_order_of_topology(allowed_core_numbers());
  const auto count = static_cast<unsigned>(all.size());
  EXPECT_EQ(cores_of({0, 1, 1, true}, false), all);
  EXPECT_THAT(cores_of({count - 1, count, count, true}, false), ElementsAre(all.back()));
  EXPECT_THAT(cores_of({0, 1, count, true}, true), IsEmpty()) << "it may use the GPU";
  EXPECT_THAT(cores_of({0, 1, count + 1, true}, false), IsEmpty()) << "they cannot be divided";
}

TEST(CorePart, NoScriptIsBoundIfOneHasOtherThreadsOrAGpu) {
  WorkerSpec script;
  script.device = automatic_device;
  const auto bound = [&](const WorkerSpec& other) {
    return core_parts_of_scripts(host_of({script, other}))[0].of;
  };
  EXPECT_EQ(bound(script), 2U);
  EXPECT_EQ(bound(WorkerSpec{}), 2U);
  EXPECT_EQ(bound(with_threads("3")), 0U);
  WorkerSpec on_gpu;
  on_gpu.device = "cuda:1";
  EXPECT_EQ(bound(on_gpu), 0U);
  EXPECT_EQ(core_parts_of_scripts(host_of({script}))[0].of, 0U) << "alone";
}

}  // namespace
}  // namespace steelyard::core_part_test
