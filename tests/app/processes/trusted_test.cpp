#include "app/processes/endpoint.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::trusted_test {
namespace {

// In a process of its own: it is for good.
int in_child(bool (*is_so)()) {
  const pid_t child = fork();
  if (child == 0) _exit(is_so() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Trusted, WithoutKeysThereIsPlainText) {
  EXPECT_EQ(trust_for("", KeyRole::worker, "ada", true), nullptr);
  EXPECT_EQ(prctl(PR_GET_DUMPABLE), 1);
}

TEST(Trusted, KeysThatAreNotThereAreRefused) {
  EXPECT_THROW((void)trust_for("/nowhere", KeyRole::worker, "ada", true), Failure);
}

TEST(Trusted, MemoryWithKeysInItIsKeptClosed) {
  EXPECT_EQ(in_child([] {
              const TemporaryFolder folder;
              write_key(folder.path("keys"), make_key(KeyRole::worker, "ada"));
              const auto trust = trust_for(folder.path("keys"), KeyRole::worker, "ada", false);
              rlimit core{1, 1};
              getrlimit(RLIMIT_CORE, &core);
              return trust != nullptr && core.rlim_max == 0 && prctl(PR_GET_DUMPABLE) == 0;
            }),
            0);
  EXPECT_EQ(in_child([] {
              keep_memory_closed(true);
              return prctl(PR_GET_DUMPABLE) == 1;
            }),
            0)
      << "others have to read what it lends";
}

}  // namespace
}  // namespace steelyard::trusted_test
