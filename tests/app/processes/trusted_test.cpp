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

// In a child process, because the effect is permanent.
int in_child(bool (*is_so)()) {
  const pid_t child = fork();
  if (child == 0) _exit(is_so() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Trusted, WithoutKeysConnectionsArePlainText) {
  EXPECT_EQ(trust_for("", KeyRole::worker, "ada", true), nullptr);
  EXPECT_EQ(prctl(PR_GET_DUMPABLE), 1);
}

TEST(Trusted, MissingKeysAreRefused) {
  EXPECT_THROW((void)trust_for("/nowhere", KeyRole::worker, "ada", true), Failure);
}

TEST(Trusted, MemoryWithKeysIsProtected) {
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
      << "other processes must read its shared memory";
}

}  // namespace
}  // namespace steelyard::trusted_test
