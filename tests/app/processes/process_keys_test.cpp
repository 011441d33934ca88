#include "app/processes/process_keys.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace steelyard::process_keys_test {
namespace {

using testing::Contains;
using testing::Field;

// A new key in the table of worker keys becomes an option of `steelyard worker` automatically.
TEST(ProcessKeys, WorkerOptionsIncludeTheKeysOfAJobFile) {
  WorkerOptions options;
  const std::vector<Key> keys = process_keys(options);
  for (const Key& key : worker_keys(options.spec)) EXPECT_THAT(keys, Contains(Field(&Key::name, key.name)));
  for (const char* name : {"scheduler", "keys", "exchange", "wait", "trace", "quiet", "data"})
    EXPECT_THAT(keys, Contains(Field(&Key::name, name)));
}

TEST(ProcessKeys, OneProcessHasOneDevice) {
  WorkerOptions options;
  const std::vector<Key> keys = process_keys(options);
  const Key& device = *std::ranges::find(keys, "device", &Key::name);
  EXPECT_FALSE(take_text(device, "cuda:0-3"));
  EXPECT_TRUE(take_text(device, "cuda:3"));
  EXPECT_EQ(options.spec.device, "cuda:3");
}

TEST(ProcessKeys, TheWebOptionNeedsAnAddress) {
  SchedulerOptions options;
  const std::vector<Key> keys = process_keys(options);
  const Key& web = *std::ranges::find(keys, "web", &Key::name);
  EXPECT_FALSE(take_text(web, "nowhere"));
  EXPECT_TRUE(take_text(web, ":7080"));
  EXPECT_EQ(options.results.web, ":7080");
}

TEST(ProcessKeys, NamesAreUnique) {
  WorkerOptions worker;
  ServerOptions server;
  SchedulerOptions scheduler;
  StandbyOptions standby;
  for (std::vector<Key> keys :
       {process_keys(worker), process_keys(server), process_keys(scheduler), process_keys(standby)}) {
    std::ranges::sort(keys, {}, &Key::name);
    EXPECT_EQ(std::ranges::adjacent_find(keys, {}, &Key::name), keys.end());
  }
}

}  // namespace
}  // namespace steelyard::process_keys_test
