#include "protocol/blob.h"

#include <gtest/gtest.h>

#include <array>

namespace steelyard::blob_test {
namespace {

TEST(Blob, LivesUntilItsLastHolderReleasesIt) {
  auto values = std::make_shared<std::vector<float>>(std::vector{1.0F, 2.0F});
  const std::weak_ptr<std::vector<float>> watched = values;
  const std::span<const float> view(*values);
  auto blob = std::make_unique<Blob>(Blob::of_floats(std::move(values), view));
  const Blob copy = *blob;
  blob.reset();
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(copy.floats()[1], 2.0F);
  EXPECT_EQ(copy.floats().data(), view.data()) << "copying a blob must not copy its bytes";
}

TEST(Blob, KnowsWhetherItHoldsFloats) {
  alignas(4) static std::array<std::byte, 12> bytes{};
  const auto blob = [&](std::size_t from, std::size_t size) {
    return Blob({}, std::span(bytes).subspan(from, size));
  };
  EXPECT_TRUE(blob(0, 8).holds_floats(2));
  EXPECT_FALSE(blob(0, 8).holds_floats(1));
  EXPECT_FALSE(blob(0, 7).holds_floats(1));
  EXPECT_FALSE(blob(1, 8).holds_floats(2)) << "floats at an odd address";
  EXPECT_TRUE(Blob().holds_floats(0));
  EXPECT_FALSE(Blob().holds_floats(1));
}

TEST(Blob, OnlyTheLastHolderMayOverwriteReceivedBytes) {
  auto values = std::make_shared<std::vector<float>>(std::vector<float>{1, 2});
  const std::span<float> view(*values);
  EXPECT_TRUE(Blob::of_floats(values, view).floats_to_write_over().empty())
      << "these bytes were not received";

  Blob received = Blob::received(std::move(values), std::as_writable_bytes(view));
  {
    const Blob copy = received;  // NOLINT(performance-unnecessary-copy-initialization)
    EXPECT_TRUE(received.floats_to_write_over().empty()) << "a copy exists";
    EXPECT_TRUE(copy.floats_to_write_over().empty());
  }
  const std::span<float> mine = received.floats_to_write_over();
  ASSERT_EQ(mine.data(), view.data());
  EXPECT_EQ(mine.size(), 2U);
  EXPECT_TRUE(Blob().floats_to_write_over().empty());
}

}  // namespace
}  // namespace steelyard::blob_test
