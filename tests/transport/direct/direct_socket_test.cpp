#include "transport/direct/direct_socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace steelyard::direct_socket_test {
namespace {

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

// The next packet, once there is one; empty if the socket has ended.
std::string next(DirectSocket& socket, std::size_t most = 100) {
  std::string text(most, ' ');
  for (;;) {
    if (const auto size = socket.receive(std::as_writable_bytes(std::span(text))))
      return text.substr(0, *size);
    if (socket.ended()) return "";
    pollfd waits{socket.descriptor(), POLLIN, 0};
    EXPECT_EQ(poll(&waits, 1, 20'000), 1);
  }
}

std::optional<DirectSocket> accept_next(DirectListener& listener) {
  int one = 1;
  return listener.accept(one);
}

struct Pair {
  Pair() {
    auto listener = DirectListener::make();
    auto its = DirectSocket::to(listener->name());
    auto own = accept_next(*listener);
    if (!its || !own) throw std::runtime_error("no direct connection");
    caller.emplace(std::move(*its));
    listening.emplace(std::move(*own));
  }
  std::optional<DirectSocket> caller, listening;
};

TEST(DirectSocket, PacketsKeepOrderAndBorders) {
  Pair pair;
  EXPECT_TRUE(pair.caller->send(bytes("one")));
  EXPECT_TRUE(pair.caller->send(bytes("two "), bytes("parts")));
  EXPECT_TRUE(pair.listening->send(bytes("back")));
  EXPECT_EQ(next(*pair.listening), "one");
  EXPECT_EQ(next(*pair.listening), "two parts");
  EXPECT_EQ(next(*pair.caller), "back");
  std::string nothing(10, ' ');
  EXPECT_FALSE(pair.listening->receive(std::as_writable_bytes(std::span(nothing))));
  EXPECT_FALSE(pair.listening->ended());
}

TEST(DirectSocket, SendingNeverBlocks) {
  Pair pair;
  const std::string large(10'000, 'x');
  std::size_t sent = 0;
  while (pair.caller->send(bytes(large))) ++sent;
  EXPECT_GT(sent, 3U);
  for (std::size_t i = 0; i < sent; ++i) EXPECT_EQ(next(*pair.listening, 20'000), large) << i;
  EXPECT_TRUE(pair.caller->send(bytes("again")));
  EXPECT_EQ(next(*pair.listening), "again");
}

TEST(DirectSocket, PacketsOfAProcessThatWasKilledCanStillBeRead) {
  auto listener = DirectListener::make();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto socket = DirectSocket::to(listener->name());
    if (!socket || !socket->send(bytes("last words"))) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  auto socket = accept_next(*listener);
  ASSERT_TRUE(socket);
  EXPECT_EQ(next(*socket), "last words");
  EXPECT_FALSE(socket->ended());
  EXPECT_EQ(next(*socket), "");
  EXPECT_TRUE(socket->ended());
  EXPECT_FALSE(socket->send(bytes("late"))) << "and no signal";
}

// The kernel reports packets that the other side has not read before those that it has sent.
TEST(DirectSocket, AnEndWithUnreadPacketsLosesNothing) {
  Pair pair;
  EXPECT_TRUE(pair.listening->send(bytes("never read")));
  EXPECT_TRUE(pair.caller->send(bytes("last words")));
  EXPECT_TRUE(pair.caller->send(bytes("and more")));
  pair.caller.reset();
  EXPECT_EQ(next(*pair.listening), "last words");
  EXPECT_FALSE(pair.listening->ended());
  EXPECT_EQ(next(*pair.listening), "and more");
  EXPECT_FALSE(pair.listening->ended());
  EXPECT_EQ(next(*pair.listening), "");
  EXPECT_TRUE(pair.listening->ended());
}

TEST(DirectSocket, APacketThatIsTooLongEndsTheConnection) {
  Pair pair;
  EXPECT_TRUE(pair.caller->send(bytes("12345")));
  EXPECT_TRUE(pair.caller->send(bytes("123456")));
  EXPECT_EQ(next(*pair.listening, 5), "12345");
  EXPECT_FALSE(pair.listening->ended());
  EXPECT_EQ(next(*pair.listening, 5), "");
  EXPECT_TRUE(pair.listening->ended());
}

TEST(DirectSocket, ConnectingFailsWithoutAListener) {
  EXPECT_FALSE(DirectSocket::to(*draw_direct_name()));
  DirectName former{};
  {
    const auto listener = DirectListener::make();
    former = listener->name();
  }
  EXPECT_FALSE(DirectSocket::to(former));
}

// Its own check of the user, of whichever process listens or connects, is the reason why keys are not needed.
TEST(DirectSocket, OtherUsersAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  auto listener = DirectListener::make();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (setresuid(65534, 65534, 65534) != 0) _exit(2);
    _exit(DirectSocket::to(listener->name()) ? 1 : 0);  // it sees that root listens
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(accept_next(*listener));
}

// They can read its name in /proc/net/unix.
TEST(DirectSocket, AListenerFailsAfterManyOfOtherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  auto listener = DirectListener::make();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (setresuid(65534, 65534, 65534) != 0) _exit(2);
    for (int i = 0; i < DirectListener::most_foreign; ++i) (void)DirectSocket::to(listener->name());
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 0);
  auto own = DirectSocket::to(listener->name());
  ASSERT_TRUE(own);
  int most = DirectListener::most_foreign - 1;
  EXPECT_FALSE(listener->accept(most));
  EXPECT_EQ(most, 0) << "closed connections count, too";
  EXPECT_FALSE(listener->failed());
  most = 10;
  EXPECT_FALSE(listener->accept(most)) << "it fails before it accepts its own user's";
  EXPECT_TRUE(listener->failed());
}

}  // namespace
}  // namespace steelyard::direct_socket_test
