// Values in the memory of the host executor's device, lent to another process and back.
#include "nn/cuda/peer_values.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nn/cuda/array_kernels.h"
#include "nn/cuda/device_arithmetic.h"
#include "nn/cuda/device_values.h"
#include "tests/nn/cuda/arrays.h"
#include "tests/nn/cuda/written_buffer.h"

namespace steelyard::nn::cuda::peer_values_test {
namespace {

constexpr std::uint64_t size = 100;
using Floats = std::vector<float>;

// The exit code of a child that runs this: 0 if it is so.
int in_another_process(const std::function<bool()>& is_so) {
  const pid_t child = fork();
  if (child == 0) _exit(is_so() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Floats on_host(const DeviceValues& values) {
  const auto its = values.on_host().values;
  return {its.begin(), its.end()};
}

// Of segments, in this process.
std::ptrdiff_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::ptrdiff_t count = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("/memfd:steelyard") != std::string::npos) ++count;
  return count;
}

class LentValues : public testing::Test {
 protected:
  std::shared_ptr<DeviceBuffer> written(float value) { return written_buffer(pool, stream, source, value); }
  [[nodiscard]] static std::shared_ptr<const DeviceValues> part_of(
      const std::shared_ptr<DeviceBuffer>& buffer) {
    return std::make_shared<CudaValues>(0, buffer, buffer->values().subspan(10, 20));
  }
  // As another process has it.
  std::shared_ptr<const DeviceValues> borrowed(const DevicePlace& place,
                                               std::shared_ptr<const void> lease = nullptr) {
    return other->borrow(place, std::move(lease));
  }

  const std::shared_ptr<DeviceExchange> exchange = exchange_on(0), other = exchange_on(0);
  Stream stream;
  PinnedArray<float> source{size};
  DevicePool pool{size};
};

TEST_F(LentValues, AnotherProcessReadsThemWhereTheyAre) {
  const auto buffer = written(3);
  const auto place = exchange->lend(*part_of(buffer));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->size, 20 * sizeof(float));
  const auto reads = [&](float value) {
    return in_another_process([&] {
      const auto there = exchange_on(0);
      const auto its = there->borrow(*place, nullptr);
      return its && on_host(*its) == Floats(20, value);
    });
  };
  EXPECT_EQ(reads(3), 0);
  EXPECT_EQ(reads(4), 1) << "the child reports what it reads";
  std::fill_n(buffer->values().data(), size, 4.0F);
  EXPECT_EQ(reads(4), 0) << "it is the same memory";
}

TEST_F(LentValues, TheTrialIsReadByAnotherProcess) {
  const DevicePlace trial = exchange->trial();
  ASSERT_GT(trial.bytes, 0U);
  EXPECT_EQ(in_another_process([&] { return exchange_on(0)->reads(trial); }), 0);
  DevicePlace strange = trial;
  ++strange.memory[4];
  EXPECT_FALSE(other->reads(strange));
  strange = trial;
  strange.offset += sizeof strange.offset;  // not the trial of `other`, which may be behind it
  EXPECT_FALSE(other->reads(strange)) << "other contents";
  EXPECT_FALSE(other->reads({}));
}

// The lender may be gone; its memory is freed with the last mapping.
TEST_F(LentValues, OutliveTheirLender) {
  int made[2];
  ASSERT_EQ(pipe(made), 0);
  int held[2];
  ASSERT_EQ(pipe(held), 0);
  const pid_t child = fork();
  if (child == 0) {
    char end = 0;
    DevicePool own(16 << 20);  // a block of its own, which the parent has not made
    const std::shared_ptr<DeviceBuffer> buffer = own.take(stream);
    stream.fill_zero(buffer->values().data(), buffer->values().size_bytes());
    buffer->written(stream);
    const auto place = exchange_on(0)->lend(*part_of(buffer));
    (void)!write(made[1], &*place, sizeof *place);
    (void)!read(held[0], &end, 1);
    _exit(0);
  }
  DevicePlace place;
  ASSERT_EQ(read(made[0], &place, sizeof place), static_cast<ssize_t>(sizeof place));
  const auto values = borrowed(place);
  ASSERT_EQ(write(held[1], "x", 1), 1);
  waitpid(child, nullptr, 0);
  for (const int end : {made[0], made[1], held[0], held[1]}) close(end);
  ASSERT_TRUE(values);
  EXPECT_EQ(on_host(*values), Floats(20, 0));
  EXPECT_FALSE(exchange_on(0)->borrow(place, nullptr)) << "it cannot be opened any more";
}

TEST_F(LentValues, TheLeaseEndsWhenNoWorkReadsThem) {
  const auto buffer = written(7);
  DeviceArray<float> seen = to_device(stream, Floats(20));
  std::optional<float> at_the_end;
  std::shared_ptr<const void> lease(seen.data(), [&](const void*) { at_the_end = seen.data()[19]; });
  Stream reader;
  {
    const auto values = borrowed(*exchange->lend(*part_of(buffer)), std::move(lease));
    const auto& its = dynamic_cast<const CudaValues&>(*values);
    add_up(reader, 20, its.begin_to_read(reader).data(), seen.data());
    its.read(reader);
    EXPECT_FALSE(at_the_end);
  }
  EXPECT_EQ(at_the_end, 7.0F) << "what the work had written when the lease ended";
}

// A shard adds them without a copy.
TEST_F(LentValues, AShardReadsThemInPlace) {
  const auto values = borrowed(*exchange->lend(*part_of(written(8))));
  const auto shard = std::make_shared<DeviceShard>(0, nullptr);
  DeviceArithmetic arithmetic(shard, Slice{10, 30}, {10, 30});
  const SliceArithmetic::Readable its = arithmetic.read({{}, values});
  EXPECT_EQ(its.values.data(), dynamic_cast<const CudaValues&>(*values).begin_to_read(stream).data());
  const auto sum = arithmetic.zeros(20);
  arithmetic.add(sum.values, its.values);
  Floats host(20);
  arithmetic.copy_out(host, sum.values);
  EXPECT_EQ(host, Floats(20, 8));
}

// Whatever their lender knows.
TEST_F(LentValues, AShardChecksThatTheyAreFinite) {
  DeviceArithmetic arithmetic(std::make_shared<DeviceShard>(0, nullptr), Slice{10, 30}, {10, 30});
  const auto finite = [&](float value) {
    const auto buffer = written(value);
    const CudaValues theirs(0, buffer, buffer->values(), {}, [] { return true; });
    return arithmetic.all_finite({{}, borrowed(*exchange->lend(theirs))});
  };
  EXPECT_TRUE(finite(9));
  EXPECT_FALSE(finite(INFINITY));
}

TEST_F(LentValues, PlacesOutsideOfTheMemoryAreRefused) {
  const auto buffer = written(1);
  const DevicePlace good = *exchange->lend(*part_of(buffer));
  ASSERT_TRUE(borrowed(good));
  std::vector<DevicePlace> bad(7, good);
  bad[0].offset = good.bytes;
  bad[1].offset = UINT64_MAX - 3;
  bad[2].size = UINT64_MAX - 3;
  bad[3].bytes += 4;         // beyond the end, or of other memory than before
  bad[4].memory[4] += 1000;  // another name
  bad[5].memory[1] = 9999;
  bad[6].offset += 1;
  for (std::size_t i = 0; i < bad.size(); ++i) EXPECT_FALSE(borrowed(bad[i])) << i;
  EXPECT_FALSE(exchange_on(0)->borrow(bad[3], nullptr)) << "longer than the memory";
}

TEST_F(LentValues, OnlyOwnValuesOfThisDeviceAreLent) {
  struct Others final : DeviceValues {
    [[nodiscard]] std::uint64_t size() const override { return 0; }
    [[nodiscard]] OnHost on_host() const override { return {}; }
  };
  EXPECT_FALSE(exchange->lend(Others()));
  const auto values = borrowed(*exchange->lend(*part_of(written(1))));
  EXPECT_FALSE(exchange->lend(*values)) << "they are borrowed";
}

// The borrower may read for ever.
TEST_F(LentValues, RetiredMemoryIsNotUsedAgain) {
  const float* place = nullptr;
  {
    const auto buffer = written(5);
    place = buffer->values().data();
    const auto values = part_of(buffer);
    ASSERT_TRUE(exchange->lend(*values));
    exchange->retire(*values);
    EXPECT_FALSE(exchange->lend(*values)) << "no more memory may be lost";
  }
  const auto one = written(6), two = written(6);
  EXPECT_NE(one->values().data(), place);
  EXPECT_NE(two->values().data(), place);
  EXPECT_EQ(place[50], 5.0F);
}

TEST_F(LentValues, MemoryThatNothingReadsIsClosed) {
  const DevicePlace place = *exchange->lend(*part_of(written(2)));
  const auto address = [&] {
    return dynamic_cast<const CudaValues&>(*borrowed(place)).buffer().values().data();
  };
  const float* const first = address();
  EXPECT_EQ(address(), first) << "it stays open";
  auto held = borrowed(place);
  other->forget_unused();
  EXPECT_EQ(address(), first) << "it is in use";
  const auto mapped = mappings();
  held.reset();
  other->forget_unused();
  EXPECT_EQ(mappings(), mapped - 1);
}

// Memory of a lender that is gone would take up the device until another connection closes.
TEST_F(LentValues, MemoryInUseWhenItsConnectionClosesIsClosedAfterThat) {
  const DevicePlace place = *exchange->lend(*part_of(written(2)));
  auto held = borrowed(place);
  other->forget_unused();
  const auto mapped = mappings();
  EXPECT_EQ(on_host(*held), Floats(20, 2));
  held.reset();
  EXPECT_EQ(mappings(), mapped - 1);
  EXPECT_EQ(on_host(*borrowed(place)), Floats(20, 2)) << "it is opened again";
}

}  // namespace
}  // namespace steelyard::nn::cuda::peer_values_test
