#include "transport/security/key_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <barrier>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::key_files_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class KeyFiles : public ::testing::Test {
 protected:
  // A worker's key directory, with the scheduler in its allow-list.
  void SetUp() override {
    write_key(directory_, ada_);
    write_allowed(directory_, {{hub_.public_key, {KeyRole::scheduler, "hub"}}});
  }
  [[nodiscard]] Keys load(const std::string& name = "ada", KeyRole role = KeyRole::worker) const {
    return load_keys(directory_, role, name);
  }
  void expect_refused(const std::string& why, const std::string& name = "ada",
                      KeyRole role = KeyRole::worker) const {
    try {
      (void)load(name, role);
      ADD_FAILURE() << "accepted: " << why;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::configuration);
      EXPECT_THAT(failure.what(), AllOf(HasSubstr(why), Not(HasSubstr(ada_.secret.letters()))));
    }
  }
  [[nodiscard]] std::string file(const std::string& name) const { return directory_ + "/" + name; }

  const TemporaryFolder folder_;
  const std::string directory_ = folder_.path("keys");
  const KeyPair ada_ = make_key(KeyRole::worker, "ada"), hub_ = make_key(KeyRole::scheduler, "hub");
};

TEST_F(KeyFiles, WrittenKeysAreReadBack) {
  const Keys keys = load();
  EXPECT_EQ(keys.own.public_key, ada_.public_key);
  EXPECT_STREQ(keys.own.secret.letters(), ada_.secret.letters());
  EXPECT_EQ(keys.directory, directory_);
  ASSERT_EQ(keys.allowed.size(), 1U);
  EXPECT_EQ(keys.allowed.at(hub_.public_key).name, "hub");
  for (const char* name : {"ada.key", "allowed"}) {
    struct stat status {};
    ASSERT_EQ(stat(file(name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U) << name;
  }
}

TEST_F(KeyFiles, AKeyNamedAfterTheProcessIsPreferred) {
  write_key(directory_, make_key(KeyRole::worker, "worker"));
  EXPECT_EQ(load("ada").own.name, "ada");
  EXPECT_EQ(load("bob").own.name, "worker");
  EXPECT_EQ(load("bob/1").own.name, "worker") << "not a valid file name";
  expect_refused("there is no key for this server", "s0", KeyRole::server);
  expect_refused("is the key of a worker", "ada", KeyRole::server);
}

TEST_F(KeyFiles, AFileMayHaveAKeyForEachRole) {
  const KeyPair shards = make_key(KeyRole::server, "ada");
  const std::string both =
      folder_.write("both", std::string_view(secret_line(ada_) + secret_line(shards))).string();
  chmod(both.c_str(), 0600);
  EXPECT_EQ(load_keys(both, KeyRole::worker, "ada").own.public_key, ada_.public_key);
  EXPECT_EQ(load_keys(both, KeyRole::server, "ada").own.public_key, shards.public_key);
  EXPECT_THROW((void)load_keys(both, KeyRole::scheduler, "ada"), Failure);
}

TEST_F(KeyFiles, FilesAccessibleToOthersAreRefused) {
  for (const mode_t mode : {0640, 0604, 0620, 0602}) {
    chmod(file("ada.key").c_str(), mode);
    expect_refused("chmod 600");
  }
  chmod(file("ada.key").c_str(), 0400);
  EXPECT_NO_THROW((void)load());
  chmod(file("allowed").c_str(), 0666);
  expect_refused("allowed can be written by others");
  chmod(file("allowed").c_str(), 0644);
  EXPECT_NO_THROW((void)load()) << "public keys are not secret";
  chmod(directory_.c_str(), 0770);
  expect_refused("chmod 700");
}

// As Kubernetes mounts a secret for a pod whose user is not root.
TEST_F(KeyFiles, RootMayGiveAKeyToAGroupOfThisProcess) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files to other groups";
  constexpr gid_t group = 10001;
  ASSERT_EQ(chown(file("ada.key").c_str(), 0, group), 0);
  chmod(file("ada.key").c_str(), 0440);
  expect_refused("chmod 600");
  const gid_t before = getegid();
  ASSERT_EQ(setegid(group), 0);
  EXPECT_NO_THROW((void)load());
  chmod(file("ada.key").c_str(), 0460);
  expect_refused("chmod 600");
  chmod(file("ada.key").c_str(), 0444);
  expect_refused("chmod 600");
  ASSERT_EQ(setegid(before), 0);
}

TEST_F(KeyFiles, OnlyRegularFilesAreAccepted) {
  rename(file("ada.key").c_str(), folder_.path("elsewhere").c_str());
  symlink(folder_.path("elsewhere").c_str(), file("ada.key").c_str());
  expect_refused("ada.key cannot be read");
  unlink(file("ada.key").c_str());
  mkdir(file("ada.key").c_str(), 0700);
  expect_refused("is not a regular file");
  rmdir(file("ada.key").c_str());
  mkfifo(file("ada.key").c_str(), 0600);
  expect_refused("is not a regular file");
}

TEST_F(KeyFiles, MismatchedKeyHalvesAreRefused) {
  unlink(file("ada.key").c_str());
  write_key(directory_, {KeyRole::worker, "ada", ada_.public_key, hub_.secret});
  expect_refused("do not match");
}

TEST_F(KeyFiles, ASecretKeyInTheAllowListIsRefused) {
  const std::string line = secret_line(ada_);
  folder_.write("keys/allowed", std::string_view(line));
  chmod(file("allowed").c_str(), 0600);
  expect_refused("contains a secret key");
}

// The launcher passes keys in this form.
TEST_F(KeyFiles, ASingleFileMayHaveBoth) {
  const std::string text = secret_line(ada_) + allow_lines({{hub_.public_key, {KeyRole::scheduler, "hub"}}});
  folder_.write("both", std::string_view(text));
  chmod(folder_.path("both").c_str(), 0600);
  const Keys keys = load_keys(folder_.path("both"), KeyRole::worker, "any");
  EXPECT_EQ(keys.own.public_key, ada_.public_key);
  EXPECT_EQ(keys.allowed.size(), 1U);
  EXPECT_EQ(keys.directory, "");
  chmod(folder_.path("both").c_str(), 0644);
  EXPECT_THROW((void)load_keys(folder_.path("both"), KeyRole::worker, "any"), Failure);
}

// Otherwise an addition could undo a concurrent revocation.
TEST_F(KeyFiles, ConcurrentChangesOfTheListAreAllKept) {
  constexpr int each = 25;
  const auto add = [&](int from) {
    for (int i = from; i < from + each; ++i) {
      const std::string name = "w" + std::to_string(i);
      change_allowed(directory_, [&](AllowList& list) {
        list.emplace(make_key(KeyRole::worker, name).public_key, Allowed{KeyRole::worker, name});
      });
    }
  };
  { const std::jthread one(add, 0), other(add, each); }
  EXPECT_EQ(read_allowed(directory_).size(), 1U + 2 * each);
}

// Two people, or a script that runs twice: the first key stays, and the other write fails.
TEST_F(KeyFiles, OneOfSeveralConcurrentKeyWritesSucceeds) {
  for (int turn = 0; turn < 100; ++turn) {
    const std::string name = "w" + std::to_string(turn);
    constexpr std::ptrdiff_t writers = 4;
    std::barrier together(writers);
    std::mutex mutex;
    std::vector<std::string> made;
    const auto write = [&] {
      const KeyPair pair = make_key(KeyRole::worker, name);
      together.arrive_and_wait();
      try {
        write_key(directory_, pair);
      } catch (const Failure&) {
        return;
      }
      const std::lock_guard lock(mutex);
      made.push_back(pair.public_key);
    };
    {
      std::vector<std::jthread> threads;
      for (std::ptrdiff_t i = 0; i < writers; ++i) threads.emplace_back(write);
    }
    ASSERT_EQ(made.size(), 1U) << name;
    EXPECT_EQ(load(name).own.public_key, made[0]);
  }
  for (const auto& it : std::filesystem::directory_iterator(directory_))
    EXPECT_EQ(it.path().filename().string().find(".new-"), std::string::npos) << it.path();
}

TEST_F(KeyFiles, RemovingAKeyDeletesItsFile) {
  remove_key(directory_, "ada");
  EXPECT_FALSE(std::filesystem::exists(file("ada.key")));
  EXPECT_THROW(remove_key(directory_, "ada"), Failure);
  EXPECT_THROW(remove_key(directory_, "../keys/ada"), Failure);
}

TEST_F(KeyFiles, KeysAreNotOverwrittenAndListsChangeAtomically) {
  EXPECT_THROW(write_key(directory_, make_key(KeyRole::worker, "ada")), Failure);
  EXPECT_EQ(load().own.public_key, ada_.public_key);
  const std::string before = stamp_of_allowed(directory_);
  write_allowed(directory_, {});
  EXPECT_NE(stamp_of_allowed(directory_), before);
  EXPECT_TRUE(read_allowed(directory_).empty());
  for (const char* name : {"../ada", ".ada", "-ada", "a/b", ""})
    EXPECT_THROW(check_key_name(name), Failure) << name;
}

}  // namespace
}  // namespace steelyard::key_files_test
