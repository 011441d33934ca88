// Two sides with their direct connection, and a queue in place of the ZeroMQ connection between them.
#include "transport/direct/direct_lines.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <string>

#include "core/random.h"

namespace steelyard::direct_lines_test {
namespace {

constexpr NodeId worker{Role::worker, 7}, shard{Role::shard, 9};
using Bytes = DirectLines::Bytes;

Bytes bytes(const std::string& text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}
std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// One side as a link uses it. `queue` is the ZeroMQ connection to it.
struct Side {
  NodeId peer;
  DirectLines lines{};
  std::deque<Bytes> queue{};
  std::vector<std::string> got{};

  void send(Side& other, const std::string& said, bool payload = false) {
    Frames frames{bytes(said), payload ? std::optional(Blob()) : std::nullopt};
    if (lines.send(peer, frames)) return;
    lines.sent(peer);
    other.queue.push_back(std::move(frames.header));
  }
  void read_direct() {
    while (const auto frame = lines.next(peer)) got.push_back(text(*frame));
  }
  // A frame arrives through ZeroMQ.
  void read_queue() {
    read_direct();
    lines.received(peer);
    got.push_back(text(queue.front()));
    queue.pop_front();
  }
  // Waits for nothing: what the kernel has is there.
  void wait() {
    std::vector<pollfd> watched;
    lines.watch(watched);
    poll(watched.data(), watched.size(), 0);
    for (const NodeId it : lines.readable(watched)) EXPECT_EQ(it, peer);
  }
};

struct Two {
  Two() {
    const auto request = caller.lines.ask(shard);
    Bytes answer, none;
    EXPECT_TRUE(listener.lines.hear(worker, *request, answer));
    listener.lines.sent(worker);  // the answer
    EXPECT_TRUE(caller.lines.hear(shard, answer, none));
    EXPECT_TRUE(none.empty());
    EXPECT_FALSE(caller.lines.connected(shard));
  }
  void name() {
    listener.wait();  // accepts
    listener.wait();  // reads the ticket
    EXPECT_TRUE(listener.lines.connected(worker));
    caller.read_direct();  // the ticket
    EXPECT_TRUE(caller.lines.connected(shard));
  }
  Side caller{shard}, listener{worker};
};

TEST(DirectLines, FramesGoDirectlyOnceBothHaveTheTicket) {
  Two two;
  two.caller.send(two.listener, "early");
  two.listener.send(two.caller, "early answer");
  EXPECT_EQ(two.listener.queue.size(), 1U);
  EXPECT_EQ(two.caller.queue.size(), 1U);
  two.name();
  two.caller.send(two.listener, "direct");
  two.listener.send(two.caller, "direct answer");
  EXPECT_EQ(two.listener.queue.size(), 1U);
  EXPECT_EQ(two.caller.queue.size(), 1U);
  for (Side* side : {&two.caller, &two.listener}) {
    side->read_direct();
    EXPECT_TRUE(side->got.empty()) << "it was sent after a frame that has not arrived";
    side->read_queue();
    side->read_direct();
  }
  EXPECT_EQ(two.listener.got, (std::vector<std::string>{"early", "direct"}));
  EXPECT_EQ(two.caller.got, (std::vector<std::string>{"early answer", "direct answer"}));
}

// A listening side without a descriptor for the connection closes it; what was said meanwhile is not lost.
TEST(DirectLines, ARefusedConnectionLosesNothing) {
  Two two;
  two.listener.lines = DirectLines();
  two.caller.send(two.listener, "through ZeroMQ");
  EXPECT_EQ(two.listener.queue.size(), 1U);
  two.caller.read_direct();
  two.caller.lines.drop_ended();
  EXPECT_FALSE(two.caller.lines.connected(shard));
  two.caller.send(two.listener, "as well");
  EXPECT_EQ(two.listener.queue.size(), 2U);
}

TEST(DirectLines, LongFramesAndPayloadsGoThroughZeroMq) {
  Two two;
  two.name();
  two.caller.send(two.listener, "with a payload", true);
  two.caller.send(two.listener, std::string(DirectLines::longest + 1, 'x'));
  EXPECT_EQ(two.listener.queue.size(), 2U);
  two.caller.send(two.listener, std::string(DirectLines::longest, 'x'));
  EXPECT_EQ(two.listener.queue.size(), 2U);
  two.listener.read_queue();
  two.listener.read_queue();
  two.listener.read_direct();
  ASSERT_EQ(two.listener.got.size(), 3U);
  EXPECT_EQ(two.listener.got[2].size(), DirectLines::longest);
}

// Whichever of the two ways is faster, and however long the reader takes.
TEST(DirectLines, OrderIsThatOfSending) {
  const std::uint64_t seed = 11;
  Random random(seed);
  Two two;
  two.name();
  int sent = 0;
  for (int step = 0; step < 20'000; ++step) {
    const auto what = random.below(4);
    if (what < 2) {
      const std::size_t size = what == 0 ? 0 : random.below(20'000);
      two.caller.send(two.listener, std::to_string(sent++) + " " + std::string(size, 'x'),
                      random.below(3) == 0);
    } else if (what == 2) {
      two.listener.read_direct();
    } else if (!two.listener.queue.empty()) {
      two.listener.read_queue();
    }
  }
  while (!two.listener.queue.empty()) two.listener.read_queue();
  two.listener.read_direct();
  ASSERT_EQ(two.listener.got.size(), static_cast<std::size_t>(sent));
  for (int i = 0; i < sent; ++i)
    ASSERT_EQ(std::stoi(two.listener.got[static_cast<std::size_t>(i)]), i) << seed;
}

TEST(DirectLines, AReaderThatStallsGetsAllInOrder) {
  Two two;
  two.name();
  const std::string large(10'000, 'x');
  for (int i = 0; i < 200; ++i) two.caller.send(two.listener, std::to_string(i) + large);
  EXPECT_FALSE(two.listener.queue.empty()) << "the kernel does not hold all of them";
  while (!two.listener.queue.empty()) two.listener.read_queue();
  two.listener.read_direct();
  ASSERT_EQ(two.listener.got.size(), 200U);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(std::stoi(two.listener.got[static_cast<std::size_t>(i)]), i);
}

// A held packet cannot make progress before a frame arrives, so its descriptor must not wake the link.
TEST(DirectLines, AHeldPacketIsNotWaitedFor) {
  Two two;
  two.name();
  two.caller.send(two.listener, "first", true);
  two.caller.send(two.listener, "second");
  std::vector<pollfd> watched;
  two.listener.lines.watch(watched);
  const std::size_t before = watched.size();
  two.listener.read_direct();
  watched.clear();
  two.listener.lines.watch(watched);
  EXPECT_EQ(watched.size(), before - 1);
}

TEST(DirectLines, WithoutADirectWayNothingChanges) {
  Side caller{shard}, listener{worker};
  caller.send(listener, "never asked");
  EXPECT_EQ(listener.queue.size(), 1U);
  (void)caller.lines.ask(shard);
  Bytes none;
  const Bytes elsewhere = encode_direct(DirectAnswer{*draw_direct_name(), *draw_direct_name()});
  EXPECT_TRUE(caller.lines.hear(shard, elsewhere, none)) << "valid, but no process listens there";
  EXPECT_FALSE(caller.lines.connected(shard));
  caller.send(listener, "still through ZeroMQ");
  EXPECT_EQ(listener.queue.size(), 2U);
}

TEST(DirectLines, UnexpectedFramesAreRefused) {
  Side caller{shard};
  Bytes none;
  EXPECT_FALSE(caller.lines.hear(shard, encode_direct(DirectAnswer{}), none)) << "it has not asked";
  EXPECT_FALSE(caller.lines.hear(shard, bytes("SD"), none));
  (void)caller.lines.ask(shard);
  EXPECT_FALSE(caller.lines.hear(shard, encode_direct(DirectRequest{}), none)) << "it is the one that asks";
  EXPECT_TRUE(none.empty());
}

// A connection with a wrong ticket, or without one, belongs to no peer.
TEST(DirectLines, ATicketIsNeededAndFitsOnce) {
  Two two;
  Bytes answer;
  EXPECT_TRUE(two.listener.lines.hear({Role::worker, 8}, encode_direct(DirectRequest{}), answer));
  const auto decoded = decode_direct(answer);
  const auto& its = std::get<DirectAnswer>(std::get<DirectFrame>(decoded));
  auto stranger = DirectSocket::to(its.place);
  ASSERT_TRUE(stranger);
  const DirectName wrong{its.ticket[0] + 1, its.ticket[1]};
  EXPECT_TRUE(stranger->send(std::as_bytes(std::span(wrong))));
  auto longer = DirectSocket::to(its.place);
  ASSERT_TRUE(longer);
  EXPECT_TRUE(longer->send(std::as_bytes(std::span(its.ticket)), bytes("more")));
  two.listener.wait();
  two.listener.wait();
  EXPECT_FALSE(two.listener.lines.connected({Role::worker, 8}));
  std::array<std::byte, 8> buffer{};
  for (auto* socket : {&stranger, &longer}) {
    EXPECT_FALSE((*socket)->receive(buffer));
    EXPECT_TRUE((*socket)->ended());
  }
}

DirectAnswer answer_to(DirectLines& lines, NodeId peer) {
  Bytes answer;
  EXPECT_TRUE(lines.hear(peer, encode_direct(DirectRequest{}), answer));
  lines.sent(peer);
  const auto decoded = decode_direct(answer);
  return std::get<DirectAnswer>(std::get<DirectFrame>(decoded));
}

std::size_t number_watched(DirectLines& lines) {
  std::vector<pollfd> watched;
  lines.watch(watched);
  return watched.size();
}

// A process that connects in a loop must not block the link's thread.
TEST(DirectLines, ATurnAcceptsFewConnections) {
  Side listener{worker};
  const DirectAnswer its = answer_to(listener.lines, worker);
  std::vector<std::optional<DirectSocket>> strangers;
  for (int i = 0; i < DirectLines::most_accepted + 1; ++i) strangers.push_back(DirectSocket::to(its.place));
  const std::size_t before = number_watched(listener.lines);
  listener.wait();
  EXPECT_EQ(number_watched(listener.lines), before + DirectLines::most_accepted);
  listener.wait();
  EXPECT_EQ(number_watched(listener.lines), before + DirectLines::most_accepted + 1);
}

TEST(DirectLines, ConnectionsWithoutATicketKeepNoPlace) {
  Side listener{worker}, caller{shard};
  const DirectAnswer its = answer_to(listener.lines, worker);
  std::vector<std::optional<DirectSocket>> strangers;
  for (std::size_t i = 0; i < DirectLines::most_unnamed; ++i)
    strangers.push_back(DirectSocket::to(its.place));
  (void)caller.lines.ask(shard);
  Bytes none;
  EXPECT_TRUE(caller.lines.hear(shard, encode_direct(its), none));
  for (std::size_t i = 0; i < DirectLines::most_unnamed; ++i) listener.wait();
  EXPECT_TRUE(listener.lines.connected(worker));
}

TEST(DirectLines, AnEndIsNoticedAndFramesGoThroughZeroMqAgain) {
  Two two;
  two.name();
  two.caller.send(two.listener, "last");
  two.caller.lines.forget(shard);
  two.listener.wait();
  two.listener.read_direct();
  two.listener.lines.drop_ended();
  EXPECT_EQ(two.listener.got, std::vector<std::string>{"last"});
  EXPECT_FALSE(two.listener.lines.connected(worker));
  two.listener.send(two.caller, "after it");
  EXPECT_EQ(two.caller.queue.size(), 1U);
}

TEST(DirectLines, ANewConnectionReplacesTheFormerOne) {
  Two two;
  two.name();
  two.caller.send(two.listener, "of the former connection");
  const auto request = two.caller.lines.ask(shard);
  Bytes answer, none;
  EXPECT_TRUE(two.listener.lines.hear(worker, *request, answer));
  two.listener.lines.sent(worker);
  EXPECT_TRUE(two.caller.lines.hear(shard, answer, none));
  two.name();
  two.caller.send(two.listener, "of the new one");
  two.listener.read_direct();
  EXPECT_EQ(two.listener.got, std::vector<std::string>{"of the new one"});
}

// The last word of a process that ends before it has read all packets.
TEST(DirectLines, AnEndWithUnreadPacketsLosesNothing) {
  Two two;
  two.name();
  two.listener.send(two.caller, "never read");
  two.caller.send(two.listener, "last");
  two.caller.lines.forget(shard);
  two.listener.read_direct();
  two.listener.lines.drop_ended();
  EXPECT_EQ(two.listener.got, std::vector<std::string>{"last"});
}

TEST(DirectLines, TheNumberOfLinesIsLimited) {
  DirectLines lines;
  std::vector<DirectSocket> peers;
  const auto number_connected = [&] {
    std::size_t number = 0;
    for (std::uint64_t i = 0; i < DirectLines::most_lines; ++i) number += lines.connected({Role::worker, i});
    return number;
  };
  for (std::uint64_t i = 0; i < DirectLines::most_lines; ++i) {
    const DirectAnswer its = answer_to(lines, {Role::worker, i});
    auto socket = DirectSocket::to(its.place);
    ASSERT_TRUE(socket && socket->send(std::as_bytes(std::span(its.ticket))));
    peers.push_back(std::move(*socket));
    for (int turn = 0; turn < 2; ++turn) {
      std::vector<pollfd> watched;
      lines.watch(watched);
      poll(watched.data(), watched.size(), 0);
      (void)lines.readable(watched);
    }
  }
  EXPECT_EQ(number_connected(), DirectLines::most_lines);
  EXPECT_FALSE(lines.ask({Role::shard, 1'000'000}));
  Bytes answer;
  EXPECT_TRUE(lines.hear({Role::worker, 1'000'000}, encode_direct(DirectRequest{}), answer));
  EXPECT_TRUE(answer.empty());
  EXPECT_EQ(number_connected(), DirectLines::most_lines);
  EXPECT_TRUE(lines.ask({Role::worker, 3})) << "a new connection to a known peer";
}

// Peers on other hosts ask, and never connect.
TEST(DirectLines, PeersThatNeverConnectKeepNoPlace) {
  Two two;
  two.name();
  for (std::uint64_t i = 0; i < 2 * DirectLines::most_lines; ++i)
    (void)answer_to(two.listener.lines, {Role::worker, 1000 + i});
  EXPECT_TRUE(two.listener.lines.connected(worker));
  const DirectAnswer its = answer_to(two.listener.lines, {Role::worker, 8});
  auto socket = DirectSocket::to(its.place);
  ASSERT_TRUE(socket && socket->send(std::as_bytes(std::span(its.ticket))));
  two.listener.wait();
  two.listener.wait();
  EXPECT_TRUE(two.listener.lines.connected({Role::worker, 8}));
}

}  // namespace
}  // namespace steelyard::direct_lines_test
