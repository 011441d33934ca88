// When payloads are lent, which loans are accepted, and how leases end.
#include "transport/shared_memory/shared_memory_transfer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "core/buffer_pool.h"

namespace steelyard::shared_memory_transfer_test {
namespace {

using Bytes = SharedMemoryTransfer::Bytes;

// A message with its values in this buffer of the pool.
Frames message(const std::shared_ptr<FloatBuffer>& buffer) {
  Push push;
  push.values = Blob::of_floats(buffer, buffer->span());
  return encode(Message(std::in_place_type<ToShard>, std::move(push)));
}
std::shared_ptr<FloatBuffer> filled(BufferPool& pool, float value) {
  auto buffer = pool.take();
  std::ranges::fill(buffer->span(), value);
  return buffer;
}

struct Side {
  explicit Side(bool lends = true)
      : trial(lends ? Segment::make(0) : nullptr),
        lending(std::make_unique<SharedMemoryTransfer>(trial.get(), memory)) {}
  const std::unique_ptr<Segment> trial;
  PeerMemory memory;
  std::unique_ptr<SharedMemoryTransfer> lending;
};

// The introduction of both ends of a connection, before any message.
void introduce(Side& from, Side& to) {
  std::optional<Bytes> frame = from.lending->introduction();
  for (Side *sender = &from, *receiver = &to; frame; std::swap(sender, receiver))
    frame = receiver->lending->hear(*frame)->answer;
}

class SharedMemoryTransferTest : public ::testing::Test {
 protected:
  void SetUp() override { introduce(worker, server); }
  // The payload as the server receives it, if the worker lends it.
  Blob borrow(const Frames& frames) {
    if (!worker.lending->take(frames)) return {};
    return server.lending->hear(*worker.lending->batch())->messages.at(0).payload;
  }
  void return_leases() {
    if (const auto frame = server.lending->batch()) (void)worker.lending->hear(*frame);
  }
  // Delivers this loan to the server instead of the worker's.
  std::optional<SharedMemoryTransfer::Heard> hear(const Loan& loan) {
    const Bytes header = message(filled(pool, 0)).header;
    return server.lending->hear(encode_lending(Batch{{}, {{loan, header}}}));
  }
  [[nodiscard]] Loan sound_loan(const FloatBuffer& buffer) const {
    return {1, buffer.segment()->name().number, static_cast<std::uint32_t>(buffer.segment()->descriptor()), 0,
            buffer.size() * sizeof(float)};
  }

  Side worker, server;
  BufferPool pool{1000, Memory::shared};
};

TEST_F(SharedMemoryTransferTest, PayloadsAreReadWithoutACopy) {
  ASSERT_EQ(worker.lending->agreed(), true);
  ASSERT_EQ(server.lending->agreed(), true);
  const auto buffer = filled(pool, 3);
  const Frames frames = message(buffer);
  ASSERT_TRUE(worker.lending->take(frames));
  const auto frame = worker.lending->batch();
  EXPECT_LT(frame->size(), frames.header.size() + 100);
  const auto received = server.lending->hear(*frame);
  ASSERT_TRUE(received && received->messages.size() == 1);
  EXPECT_TRUE(std::ranges::equal(received->messages[0].header, frames.header));
  const Blob& payload = received->messages[0].payload;
  ASSERT_TRUE(payload.holds_floats(1000));
  EXPECT_EQ(payload.floats()[999], 3.0F);
  buffer->span()[999] = 4;
  EXPECT_EQ(payload.floats()[999], 4.0F) << "the payload was copied";
  EXPECT_TRUE(payload.floats_to_write_over().empty());
}

// Messages without a payload are included, in order.
TEST_F(SharedMemoryTransferTest, MessagesAreBatched) {
  EXPECT_FALSE(worker.lending->batch());
  const Frames ping = encode(Message(std::in_place_type<ToShard>, Ping{7}));
  for (std::size_t i = 0; i < SharedMemoryTransfer::most_pending; ++i) {
    EXPECT_FALSE(worker.lending->full());
    EXPECT_TRUE(worker.lending->take(i % 2 == 0 ? message(filled(pool, static_cast<float>(i))) : ping));
  }
  EXPECT_TRUE(worker.lending->full());
  const auto frame = worker.lending->batch();
  EXPECT_FALSE(worker.lending->full());
  EXPECT_FALSE(worker.lending->batch());
  const auto received = server.lending->hear(*frame);
  ASSERT_TRUE(received && received->messages.size() == SharedMemoryTransfer::most_pending);
  for (std::size_t i = 0; i < SharedMemoryTransfer::most_pending; ++i) {
    const auto& [header, payload] = received->messages[i];
    if (i % 2 == 0) {
      EXPECT_EQ(payload.floats()[0], static_cast<float>(i));
    } else {
      EXPECT_TRUE(std::ranges::equal(header, ping.header) && payload.empty());
    }
  }
}

TEST_F(SharedMemoryTransferTest, PayloadsOutsideSegmentsAreSent) {
  BufferPool own(1000);
  EXPECT_FALSE(worker.lending->take(message(filled(own, 1))));
}

// A frame must not be longer than the socket allows.
TEST_F(SharedMemoryTransferTest, LongMessagesAreSentSeparately) {
  Frames frames = encode(Message(std::in_place_type<ToShard>, Ping{7}));
  frames.header.resize(SharedMemoryTransfer::most_pending_bytes);
  EXPECT_TRUE(worker.lending->take(frames));
  EXPECT_TRUE(worker.lending->full());
  frames.header.emplace_back();
  EXPECT_FALSE(worker.lending->take(frames));
}

TEST(LendingAgreement, BothSidesMustSupportIt) {
  for (const bool first : {false, true}) {
    Side one(first), other(!first);
    introduce(one, other);
    EXPECT_EQ(one.lending->agreed(), false);
    BufferPool pool(10, Memory::shared);
    EXPECT_FALSE(one.lending->take(message(filled(pool, 1))));
    EXPECT_FALSE(other.lending->take(message(filled(pool, 1))));
  }
}

TEST(LendingAgreement, NothingIsLentBeforeTheTrialSucceeds) {
  Side one, other;
  BufferPool pool(10, Memory::shared);
  EXPECT_EQ(one.lending->agreed(), std::nullopt);
  EXPECT_FALSE(one.lending->take(message(filled(pool, 1))));
  const auto answer = other.lending->hear(one.lending->introduction())->answer;
  EXPECT_EQ(other.lending->agreed(), std::nullopt);
  EXPECT_FALSE(other.lending->take(message(filled(pool, 1))))
      << "it has not received the result of the trial";
  (void)one.lending->hear(*answer);
  EXPECT_EQ(one.lending->agreed(), true);
}

// As from another host, where that descriptor is another file or does not exist.
TEST(LendingAgreement, AFailedTrialMeansSockets) {
  Side one, other;
  Introduction strange{static_cast<std::uint32_t>(getpid()),
                       static_cast<std::uint32_t>(one.trial->descriptor()), one.trial->name(),
                       Reading::possible};
  ++strange.segment.process[1];
  const auto answer = other.lending->hear(encode_lending(strange))->answer;
  EXPECT_EQ(other.lending->agreed(), false);
  (void)one.lending->hear(*answer);
  EXPECT_EQ(one.lending->agreed(), false);
}

TEST_F(SharedMemoryTransferTest, ALeaseEndsWithAReturnMessage) {
  auto buffer = filled(pool, 1);
  const float* place = buffer->data();
  Blob borrowed = borrow(message(buffer)), copy = borrowed;
  buffer.reset();
  borrowed = {};
  return_leases();
  EXPECT_EQ(worker.lending->lent(), 1U) << "a copy of the blob exists";
  EXPECT_NE(pool.take()->data(), place);
  copy = {};
  return_leases();
  EXPECT_EQ(worker.lending->lent(), 0U);
  const auto one = pool.take(), two = pool.take();
  EXPECT_TRUE(one->data() == place || two->data() == place) << "the buffer is not reused";
  EXPECT_FALSE(server.lending->batch()) << "it has already been returned";
}

TEST_F(SharedMemoryTransferTest, ALostConnectionRetiresItsLentSegments) {
  auto buffer = filled(pool, 1);
  const SegmentName name = buffer->segment()->name();
  const Blob borrowed = borrow(message(buffer));
  worker.lending.reset();
  buffer.reset();
  const auto next = filled(pool, 2), after = filled(pool, 2);
  EXPECT_NE(next->segment()->name(), name);
  EXPECT_NE(after->segment()->name(), name);
  EXPECT_EQ(borrowed.floats()[0], 1.0F) << "the borrowed values were overwritten";
}

TEST_F(SharedMemoryTransferTest, ReturnedSegmentsAreNotRetired) {
  auto buffer = filled(pool, 1);
  (void)borrow(message(buffer));
  return_leases();
  worker.lending.reset();
  EXPECT_FALSE(buffer->segment()->retired());
}

TEST_F(SharedMemoryTransferTest, BorrowedBlobsOutliveTheConnection) {
  Blob borrowed = borrow(message(filled(pool, 5)));
  server.lending.reset();
  server.memory.forget_unused();
  EXPECT_EQ(borrowed.floats()[0], 5.0F);
  borrowed = {};
  server.memory.forget_unused();
  EXPECT_EQ(server.memory.size(), 0U);
}

TEST_F(SharedMemoryTransferTest, UnreadableLoansAreRefused) {
  const auto buffer = filled(pool, 1);
  const Loan good = sound_loan(*buffer);
  ASSERT_EQ(hear(good)->messages.size(), 1U);
  std::vector<Loan> bad(6, good);
  bad[0].offset = 4;  // exceeds the segment
  bad[1].offset = UINT64_MAX - 3;
  bad[2].size = UINT64_MAX;
  bad[3].segment += 100;  // this descriptor is not a segment of that name
  bad[3].descriptor = 0;
  bad[4].segment += 100;
  bad[4].descriptor = 9999;
  bad[5].segment += 100;
  bad[5].descriptor = UINT32_MAX;
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const auto received = hear(bad[i]);
    ASSERT_TRUE(received);
    EXPECT_TRUE(received->messages.empty()) << "loan " << i;
    EXPECT_TRUE(received->answer) << "the lender must be notified";
  }
}

TEST_F(SharedMemoryTransferTest, PayloadsAreSentAfterALostLoan) {
  const auto buffer = filled(pool, 1);
  Loan lost = sound_loan(*buffer);
  lost.offset = 4;
  (void)worker.lending->hear(*hear(lost)->answer);
  EXPECT_EQ(worker.lending->agreed(), false);
  EXPECT_FALSE(worker.lending->take(message(buffer)));
  EXPECT_EQ(hear(sound_loan(*buffer))->messages.size(), 1U) << "loans in transit can still be read";
}

TEST(LendingAgreement, ALoanBeforeTheIntroductionIsRefused) {
  Side worker, server, silent(false);
  BufferPool pool(10, Memory::shared);
  const auto buffer = filled(pool, 1);
  const Bytes header = message(buffer).header;
  const Loan loan{1, buffer->segment()->name().number,
                  static_cast<std::uint32_t>(buffer->segment()->descriptor()), 0, 40};
  const Bytes frame = encode_lending(Batch{{}, {{loan, header}}});
  EXPECT_FALSE(server.lending->hear(frame));
  introduce(worker, silent);
  EXPECT_FALSE(silent.lending->hear(frame)) << "this side does not borrow";
}

TEST_F(SharedMemoryTransferTest, ReturnsOfUnknownLeasesAreIgnored) {
  const auto buffer = filled(pool, 1);
  const Blob borrowed = borrow(message(buffer));
  EXPECT_TRUE(worker.lending->hear(encode_lending(Batch{{0, 77, UINT64_MAX}, {}})));
  EXPECT_EQ(worker.lending->lent(), 1U);
  EXPECT_FALSE(worker.lending->hear(Bytes(20, std::byte{'S'}))) << "not a lending frame";
}

TEST_F(SharedMemoryTransferTest, TheNumberOfLoansIsLimited) {
  const auto buffer = filled(pool, 1);
  const Frames frames = message(buffer);
  std::vector<Blob> held;
  for (std::size_t i = 0; i < SharedMemoryTransfer::most_lent; ++i) held.push_back(borrow(frames));
  EXPECT_FALSE(worker.lending->take(frames)) << "it must be sent instead";
  held.clear();
  return_leases();
  EXPECT_EQ(worker.lending->lent(), 0U);
  EXPECT_TRUE(worker.lending->take(frames));
}

TEST_F(SharedMemoryTransferTest, BlobsMayBeReleasedOnAnyThread) {
  const auto buffer = filled(pool, 1);
  const Frames frames = message(buffer);
  BoundedQueue<Blob> queue(16);
  std::thread computing([&] {
    float sum = 0;
    while (const auto blob = queue.pop()) sum += blob->floats()[0];
    EXPECT_EQ(sum, 2000.0F);
  });
  for (int i = 0; i < 2000; ++i) {
    queue.push(borrow(frames));
    return_leases();
  }
  queue.close();
  computing.join();
  return_leases();
  EXPECT_EQ(worker.lending->lent(), 0U);
}

// The kernel keeps mapped memory although its owner no longer exists.
TEST(LendingDeath, AKilledLendersMappedPayloadsStayReadable) {
  int from_child[2], to_child[2];
  ASSERT_EQ(pipe(from_child) + pipe(to_child), 0);
  const auto put = [](int file, const Bytes& bytes) {
    const std::size_t size = bytes.size();
    return write(file, &size, sizeof size) + write(file, bytes.data(), size);
  };
  const auto get = [](int file) {
    std::size_t size = 0;
    Bytes bytes;
    if (read(file, &size, sizeof size) != sizeof size) return bytes;
    bytes.resize(size);
    (void)!read(file, bytes.data(), size);
    return bytes;
  };
  const pid_t child = fork();
  if (child == 0) {
    Side worker;
    BufferPool pool(1000, Memory::shared);
    put(from_child[1], worker.lending->introduction());
    const auto answer = worker.lending->hear(get(to_child[0]))->answer;
    put(from_child[1], *answer);
    for (int i = 0; i < 2; ++i) {  // the second is in another segment, which is not mapped in time
      worker.lending->take(message(filled(pool, 7)));
      put(from_child[1], *worker.lending->batch());
    }
    pause();
    _exit(1);
  }
  Side server;
  put(to_child[1], *server.lending->hear(get(from_child[0]))->answer);
  (void)server.lending->hear(get(from_child[0]));
  auto received = server.lending->hear(get(from_child[0]));
  const Bytes late = get(from_child[0]);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_TRUE(received && received->messages.size() == 1);
  EXPECT_TRUE(
      std::ranges::all_of(received->messages[0].payload.floats(), [](float value) { return value == 7; }));
  const auto too_late = server.lending->hear(late);
  EXPECT_TRUE(too_late && too_late->messages.empty()) << "its segment no longer exists";
  received.reset();
  server.lending.reset();
  server.memory.forget_unused();
  EXPECT_EQ(server.memory.size(), 0U);
  for (const int end : {from_child[0], from_child[1], to_child[0], to_child[1]}) close(end);
}

}  // namespace
}  // namespace steelyard::shared_memory_transfer_test
