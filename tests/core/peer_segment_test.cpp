// Which memory of other processes is accepted, and how it can be used.
#include "core/peer_segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <span>

#include "core/lasting_memory.h"

namespace steelyard::peer_segment_test {
namespace {

std::uint32_t self() { return static_cast<std::uint32_t>(getpid()); }
std::uint32_t number(int descriptor) { return static_cast<std::uint32_t>(descriptor); }

std::shared_ptr<const PeerSegment> opened(const Segment& segment) {
  return PeerSegment::open(self(), number(segment.descriptor()), segment.name());
}

// The result of `is_so`, called in a child process because it may change the process.
bool in_a_child(const std::function<bool()>& is_so) {
  const pid_t child = fork();
  if (child == 0) _exit(is_so() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(PeerSegment, SharesTheBytesWithoutACopy) {
  const auto segment = Segment::make(8192);
  const auto peer = opened(*segment);
  ASSERT_NE(peer, nullptr);
  segment->data()[4096] = std::byte{5};  // after it was mapped
  EXPECT_EQ(peer->values(4096, 1)->front(), std::byte{5});
}

// What is attached to the mapping (core/lasting_memory.h) is undone while it can still be read.
TEST(PeerSegment, LastsUntilItIsUnmapped) {
  struct Reader final : LastingMemory::Attachment {
    Reader(const std::byte* its_data, std::byte& its_last) : data(its_data), last(its_last) {}
    ~Reader() override { last = *data; }
    const std::byte* data;
    std::byte& last;
  };
  const auto segment = Segment::make(8192);
  segment->data()[5] = std::byte{7};
  auto peer = opened(*segment);
  const std::span<const std::byte> values = *peer->values(5, 10);
  std::byte last{};
  const auto attach = [&](const LastingMemory::Range&) {
    return std::make_unique<Reader>(values.data(), last);
  };
  EXPECT_FALSE(LastingMemory::attached(values.data(), 10, true, attach)) << "it is read-only";
  EXPECT_TRUE(LastingMemory::attached(values.data(), 10, false, attach));
  peer.reset();
  EXPECT_EQ(last, std::byte{7});
}

TEST(PeerSegment, RangesOutsideAreRefused) {
  const auto segment = Segment::make(100);
  const auto peer = opened(*segment);
  EXPECT_TRUE(peer->values(0, 100));
  EXPECT_TRUE(peer->values(100, 0));
  EXPECT_FALSE(peer->values(0, 101));
  EXPECT_FALSE(peer->values(101, 0));
  EXPECT_FALSE(peer->values(50, 51));
  EXPECT_FALSE(peer->values(UINT64_MAX, 2));
  EXPECT_FALSE(peer->values(2, UINT64_MAX));
}

TEST(PeerSegment, WritingToItKillsTheProcess) {
  const auto segment = Segment::make(100);
  const auto peer = opened(*segment);
  auto* place = const_cast<std::byte*>(peer->values(0, 1)->data());
  EXPECT_DEATH(*const_cast<volatile std::byte*>(place) = std::byte{1}, "");
  EXPECT_EQ(mprotect(place - Segment::head_size, 4096, PROT_READ | PROT_WRITE), -1);
}

TEST(PeerSegment, OutlivesItsMaker) {
  auto segment = Segment::make(100);
  segment->data()[0] = std::byte{6};
  const auto peer = opened(*segment);
  segment.reset();
  EXPECT_EQ(peer->values(0, 1)->front(), std::byte{6});
}

TEST(PeerSegment, AnotherNameNumberOrProcessIsRefused) {
  const auto segment = Segment::make(100);
  SegmentName other = segment->name();
  ++other.number;
  EXPECT_EQ(PeerSegment::open(self(), number(segment->descriptor()), other), nullptr);
  other = segment->name();
  ++other.process[0];
  EXPECT_EQ(PeerSegment::open(self(), number(segment->descriptor()), other), nullptr);
  EXPECT_EQ(PeerSegment::open(self(), 9999, segment->name()), nullptr);
  EXPECT_EQ(PeerSegment::open(self(), UINT32_MAX, segment->name()), nullptr);
  EXPECT_EQ(PeerSegment::open(UINT32_MAX, number(segment->descriptor()), segment->name()), nullptr);
  EXPECT_EQ(PeerSegment::open(0, 0, {}), nullptr);
}

// Opening some of these would block, or have side effects.
TEST(PeerSegment, OtherKindsOfFilesAreRefused) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const int folder = open("/", O_RDONLY), device = open("/dev/zero", O_RDONLY);
  const int own_binary = open("/proc/self/exe", O_RDONLY);
  for (const int file : {pipes[0], pipes[1], folder, device, own_binary}) {
    EXPECT_EQ(PeerSegment::open(self(), number(file), {}), nullptr);
    close(file);
  }
}

// It could be truncated or written while it is read.
TEST(PeerSegment, AnUnsealedFileIsRefused) {
  const SegmentName name{{1, 2}, 3};
  for (const int seals : {0, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_WRITE | F_SEAL_GROW}) {
    const int file = memfd_create("steelyard", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const Segment::Head head{Segment::mark, name};
    ASSERT_EQ(ftruncate(file, 4096), 0);
    ASSERT_EQ(pwrite(file, &head, sizeof head, 0), static_cast<ssize_t>(sizeof head));
    ASSERT_EQ(fcntl(file, F_ADD_SEALS, seals), 0);
    EXPECT_EQ(PeerSegment::open(self(), number(file), name), nullptr) << "seals " << seals;
    close(file);
  }
}

TEST(PeerSegment, ASegmentOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "no right to become another user; run the tests as root";
  const auto segment = Segment::make(100);
  const std::uint32_t parent = self(), descriptor = number(segment->descriptor());
  const SegmentName name = segment->name();
  EXPECT_TRUE(in_a_child([&] { return PeerSegment::open(parent, descriptor, name) != nullptr; }));
  EXPECT_TRUE(in_a_child(
      [&] { return setuid(65534) == 0 && PeerSegment::open(parent, descriptor, name) == nullptr; }));
  // Root could open it, but must refuse, too.
  int there[2], back[2];
  ASSERT_EQ(pipe(there) + pipe(back), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) != 0) _exit(1);
    const auto its = Segment::make(100);
    const std::pair<SegmentName, int> names{its->name(), its->descriptor()};
    char done = 0;
    (void)!write(there[1], &names, sizeof names);
    (void)!read(back[0], &done, 1);
    _exit(0);
  }
  std::pair<SegmentName, int> names;
  ASSERT_EQ(read(there[0], &names, sizeof names), static_cast<ssize_t>(sizeof names));
  EXPECT_EQ(PeerSegment::open(static_cast<std::uint32_t>(child), number(names.second), names.first), nullptr);
  EXPECT_EQ(write(back[1], "x", 1), 1);
  waitpid(child, nullptr, 0);
  for (const int end : {there[0], there[1], back[0], back[1]}) close(end);
}

}  // namespace
}  // namespace steelyard::peer_segment_test
