#include "nn/cuda/buckets.h"

#include <gmock/gmock.h>

#include "nn/models.h"

namespace steelyard::nn::cuda::buckets_test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Weights and biases of 12, 9, 6 and 4 floats, without gaps.
Model four_layers() { return Model({1, 1, 3}, 2).linear("a", 3).linear("b", 2).relu().linear("c", 2); }

Plan plan_of(const Model& model) { return make_plan(model, Backend::reference); }

std::vector<Interval> all_parts(const std::vector<Bucket>& buckets) {
  std::vector<Interval> parts;
  for (const Bucket& bucket : buckets) parts.insert(parts.end(), bucket.parts.begin(), bucket.parts.end());
  return parts;
}

TEST(Buckets, EachCompletesWithTheStepThatFillsIt) {
  const Model model = four_layers();
  const Plan plan = plan_of(model);
  const std::vector<Bucket> forward = forward_buckets(plan, 13);
  EXPECT_THAT(all_parts(forward), ElementsAre(Interval{0, 20}, Interval{20, 26}))
      << "neighbours are one part; the rest is smaller";
  EXPECT_LT(forward[0].last_step, forward[1].first_step);
  const std::vector<Bucket> backward = backward_buckets(plan, 13);
  EXPECT_THAT(all_parts(backward), ElementsAre(Interval{12, 26}, Interval{0, 12}));
  EXPECT_GT(backward[0].first_step, backward[0].last_step);
  EXPECT_GT(backward[0].last_step, backward[1].first_step);
}

TEST(Buckets, SmallOnesHaveOneStepEach) {
  EXPECT_THAT(all_parts(forward_buckets(plan_of(four_layers()), 1)),
              ElementsAre(Interval{0, 12}, Interval{12, 20}, Interval{20, 26}));
}

TEST(Buckets, CoverEveryModelOnce) {
  for (const char* name : {"resnet20", "vit", "gpt"}) {
    ModelOptions options{{8, 8, 3}, 3, {}};
    if (name == std::string("gpt")) options = {{1, 8, 1}, 256, {}};
    const Model model = make_model(name, options);
    for (const std::uint64_t least : {std::uint64_t{1}, model.parameters() / 5, model.parameters()}) {
      const Plan plan = plan_of(model);
      for (const auto& buckets : {forward_buckets(plan, least), backward_buckets(plan, least)}) {
        IntervalSet covered;
        for (const Interval& part : all_parts(buckets)) EXPECT_TRUE(covered.add_if_absent(part));
        EXPECT_EQ(covered.count(), model.parameters()) << name;
      }
    }
  }
}

TEST(Buckets, AreOfAMegabyteOrMore) {
  EXPECT_EQ(bucket_floats(1000), 1U << 18);
  EXPECT_EQ(bucket_floats(160'000'000), 10'000'000U);
  EXPECT_THAT(forward_buckets(plan_of(four_layers()), bucket_floats(26)), SizeIs(1));
}

}  // namespace
}  // namespace steelyard::nn::cuda::buckets_test
