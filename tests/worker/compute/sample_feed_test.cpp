#include "worker/compute/sample_feed.h"

#include <gmock/gmock.h>

#include "nn/models.h"
#include "tests/worker/made_data.h"
#include "worker/compute/engines.h"
#include "worker/compute/feed.h"
#include "worker/compute/kept_data.h"
#include "worker/compute/kept_feed.h"

namespace steelyard::sample_feed_test {
namespace {

class KeepingEngine final : public Engine {
 public:
  explicit KeepingEngine(const KeptData* kept) : kept_(kept) {}
  nn::Sums train(std::span<const float>, Samples&, std::span<float>, const FinalRange&) override {
    return {};
  }
  nn::Sums evaluate(std::span<const float>, Samples&) override { return {}; }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override { return cpu_sizes; }
  [[nodiscard]] std::uint64_t bytes() const override { return 0; }
  [[nodiscard]] const KeptData* kept_data() const override { return kept_; }

 private:
  const KeptData* const kept_;
};

TEST(SampleFeed, NamesSamplesOnlyForEnginesThatKeepThem) {
  const auto set = std::make_shared<NumberedData>(10);
  const DataSets data{set, set, "numbers"};
  const KeptData kept(data, std::vector<std::uint32_t>(20, 1), {});
  for (const bool keeps : {false, true}) {
    const KeepingEngine engine(keeps ? &kept : nullptr);
    const std::unique_ptr<SampleFeed> feed = make_feed(data, engine, Job());
    const auto request = feed->request({.positions = {0, 10}});
    const nn::MicroBatch* const batch = feed->next(request);
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch->kept != nullptr, keeps);
    EXPECT_EQ(batch->inputs == nullptr, keeps);
    EXPECT_EQ(batch->count, 10U);
    EXPECT_EQ(batch->size, 16U);
  }
}

}  // namespace
}  // namespace steelyard::sample_feed_test
