#include "app/launch/socket_directory.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::socket_directory_test {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Leaves a socket behind, as a killed process does.
void leave_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::copy(path.begin(), path.end(), address.sun_path);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(socket);
}

class SocketDirectoryTest : public ::testing::Test {
 protected:
  SocketDirectoryTest() { setenv("TMPDIR", folder_.path().c_str(), 1); }
  ~SocketDirectoryTest() override {
    former_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", former_.c_str(), 1);
  }

  [[nodiscard]] std::string abandoned(const std::string& name) const {
    std::string path = folder_.path("steelyard-sockets-" + name);
    fs::create_directory(path);
    fs::permissions(path, fs::perms::owner_all);
    leave_socket(path + "/scheduler");
    return path;
  }

  const std::string former_ = getenv("TMPDIR") == nullptr ? "" : getenv("TMPDIR");
  const TemporaryFolder folder_;
};

// A user with write access to a directory that we empty could choose what we remove.
TEST_F(SocketDirectoryTest, OnlyPrivateDirectoriesOfThisUserAreCleaned) {
  const std::string open = abandoned("open"), ours = abandoned("ours"), others = abandoned("others");
  fs::permissions(open, fs::perms::owner_all | fs::perms::group_all);
  const bool can_give = ::chown(others.c_str(), 12345, 12345) == 0;  // as root
  { const SocketDirectory sockets; }
  EXPECT_TRUE(fs::exists(open));
  EXPECT_FALSE(fs::exists(ours));
  EXPECT_EQ(fs::exists(others), can_give);
}

TEST_F(SocketDirectoryTest, IsPrivateAndRemovedAfterwards) {
  std::string path;
  {
    const SocketDirectory sockets;
    path = sockets.path();
    EXPECT_THAT(path, StartsWith(folder_.path("steelyard-sockets-")));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    leave_socket(path + "/server-0");
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(SocketDirectoryTest, LeftoversOfAKilledRunAreRemoved) {
  const std::string left = abandoned("killed");
  const SocketDirectory sockets;
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(sockets.path()));
}

TEST_F(SocketDirectoryTest, SocketsOfARunningProcessAreKept) {
  const SocketDirectory first;
  leave_socket(first.path() + "/scheduler");
  { const SocketDirectory second; }
  EXPECT_TRUE(fs::is_socket(first.path() + "/scheduler"));
}

TEST_F(SocketDirectoryTest, OnlySocketsAreRemoved) {
  const std::string left = abandoned("with-a-file");
  folder_.write("steelyard-sockets-with-a-file/notes", "mine");
  const fs::path file = folder_.write("steelyard-sockets-file", "mine");
  const std::string other = folder_.path("steelyard-other");
  fs::create_directory(other);
  fs::create_directory_symlink(other, folder_.path("steelyard-sockets-link"));
  leave_socket(other + "/theirs");
  const SocketDirectory sockets;
  EXPECT_FALSE(fs::exists(left + "/scheduler"));
  EXPECT_TRUE(fs::exists(left + "/notes"));
  EXPECT_TRUE(fs::exists(file));
  EXPECT_TRUE(fs::is_socket(other + "/theirs"));
}

TEST_F(SocketDirectoryTest, ConcurrentStartsDoNotInterfere) {
  std::vector<std::thread> runs;
  std::atomic<int> lost{0};
  for (int i = 0; i < 4; ++i) {
    runs.emplace_back([&] {
      for (int j = 0; j < 100; ++j) {
        const SocketDirectory sockets;
        lost += fs::exists(sockets.path()) ? 0 : 1;
      }
    });
  }
  for (std::thread& run : runs) run.join();
  EXPECT_EQ(lost, 0);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(SocketDirectoryTest, AMissingTmpdirIsReported) {
  setenv("TMPDIR", folder_.path("none").c_str(), 1);
  try {
    const SocketDirectory sockets;
    ADD_FAILURE() << "it was made";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::io);
    EXPECT_THAT(failure.what(), HasSubstr("set TMPDIR to one that is writable"));
  }
}

TEST_F(SocketDirectoryTest, APathTooLongForSocketsIsReported) {
  const std::string deep = folder_.path(std::string(90, 'x'));
  fs::create_directory(deep);
  setenv("TMPDIR", deep.c_str(), 1);
  try {
    const SocketDirectory sockets;
    ADD_FAILURE() << "it was made";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(), ::testing::AllOf(HasSubstr(deep), HasSubstr("letters too long for sockets"),
                                                 HasSubstr("set TMPDIR to a shorter one, such as /tmp")));
  }
  EXPECT_TRUE(fs::is_empty(deep));
}

TEST(UserSocketDirectory, MustExistWithRoomForNames) {
  const auto refusal = [](const std::string& directory) -> std::string {
    try {
      require_room_for_sockets(directory);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::configuration);
      return failure.what();
    }
    return "";
  };
  const TemporaryFolder folder;
  EXPECT_EQ(refusal(folder.path().string()), "");
  EXPECT_THAT(refusal("/nowhere"), HasSubstr("there is no directory /nowhere"));
  const fs::path deep = folder.path() / std::string(90, 'x');
  fs::create_directory(deep);
  EXPECT_THAT(refusal(deep.string()), HasSubstr("too long for sockets"));
}

}  // namespace
}  // namespace steelyard::socket_directory_test
