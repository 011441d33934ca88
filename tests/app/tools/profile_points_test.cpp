#include "app/tools/profile_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace steelyard::points_test {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Profile made() {
  Profile profile{.name = "box",
                  .device = "cpu",
                  .model = "lenet5",
                  .data = "synthetic",
                  .workers = 2,
                  .repeats = 9,
                  .alone = {{1, 0.5, 0.01}, {32, 2, 0.02}},
                  .together = {{1, 0.6, 0.01}, {32, 3, 0.04}}};
  return profile;
}

TEST(ProfilePoints, SizesAreSpaced) {
  EXPECT_THAT(profile_sizes(1), ElementsAre(1));
  EXPECT_THAT(profile_sizes(10), ElementsAre(1, 2, 4, 8, 10));
  EXPECT_THAT(profile_sizes(64), ElementsAre(1, 2, 4, 8, 12, 16, 24, 32, 48, 64));
  EXPECT_THAT(profile_sizes(330, 32), ElementsAre(32, 64, 128, 256, 320)) << "1, 2, 4, 8 and 10 grains";
}

TEST(ProfilePoints, APointIsAMedianAndItsSpread) {
  const ProfilePoint point = profile_point(32, {0.005, 0.001, 0.004, 0.002, 0.003});
  EXPECT_EQ(point.samples, 32U);
  EXPECT_DOUBLE_EQ(point.ms, 3);
  EXPECT_DOUBLE_EQ(point.spread, 2.0 / 3) << "2 and 4 are the quartiles";
  EXPECT_DOUBLE_EQ(profile_point(1, {0.002, 0.004}).ms, 3);
  EXPECT_DOUBLE_EQ(profile_point(1, {0.002}).spread, 0);
}

// One of nine measurements, disturbed by another program, changes neither median nor spread.
TEST(ProfilePoints, OneOutlierIsIgnored) {
  const ProfilePoint point = profile_point(1, {1, 1, 1, 1, 50, 1, 1, 1, 1});
  EXPECT_DOUBLE_EQ(point.ms, 1000);
  EXPECT_DOUBLE_EQ(point.spread, 0);
}

TEST(ProfilePoints, AnExactLineIsFitted) {
  std::vector<ProfilePoint> points;
  for (const std::uint64_t n : profile_sizes(512))
    points.push_back({n, 0.4 + 0.02 * static_cast<double>(n), 0});
  const ProfileLine line = profile_line(points);
  EXPECT_NEAR(line.constant, 0.4, 1e-9);
  EXPECT_NEAR(line.per_sample, 0.02, 1e-9);
  EXPECT_THAT(line.error, DoubleNear(0, 1e-9));
}

TEST(ProfilePoints, ALineHasNoNegativeTerms) {
  // ms per sample grow with the size: without the clamp the constant would be negative.
  const ProfileLine convex = profile_line({{1, 0.01, 0}, {10, 0.2, 0}, {100, 4, 0}});
  EXPECT_EQ(convex.constant, 0);
  EXPECT_GT(convex.per_sample, 0);
  const ProfileLine falling = profile_line({{1, 3, 0}, {100, 2, 0}});
  EXPECT_EQ(falling.per_sample, 0);
  EXPECT_GT(falling.constant, 2);
  const ProfileLine single = profile_line({{4, 2, 0}});
  EXPECT_DOUBLE_EQ(single.per_sample, 0.5) << "one size: through the origin";
  EXPECT_EQ(profile_line({}).per_sample, 0);
}

TEST(ProfilePoints, ACubicIsFitted) {
  std::vector<ProfilePoint> points;
  for (const std::uint64_t n : profile_sizes(512)) {
    const auto b = static_cast<double>(n);
    points.push_back({n, 2 + 0.5 * b + 1e-6 * b * b * b, 0});
  }
  const ProfileCubic cubic = profile_cubic(points);
  EXPECT_NEAR(cubic.ms[1], 0.5, 1e-6);
  EXPECT_NEAR(cubic.ms[3], 1e-6, 1e-9);
  EXPECT_NEAR(cubic.pearson, 1, 1e-9);
  EXPECT_NEAR(cubic.spearman, 1, 1e-9);
  EXPECT_EQ(profile_cubic({}).pearson, 0);
}

TEST(ProfilePoints, TheTableShowsBothAndTheirRatio) {
  const std::string table = profile_table(made());
  EXPECT_THAT(table,
              AllOf(HasSubstr("lenet5 on synthetic, cpu, box: median of 9"), HasSubstr("each of 2 together"),
                    HasSubstr("      32     2.000      16000   2.0 %       3.000      10667   4.0 %"),
                    HasSubstr("1.50x"), HasSubstr("time_ms = ["), HasSubstr("as a cubic"),
                    HasSubstr("Pearson 1.0000, Spearman 1.0000")));
  EXPECT_THAT(table, Not(HasSubstr("noisy")));
}

TEST(ProfilePoints, TheTableShowsThreadsAndPrecision) {
  Profile profile = made();
  profile.threads = 4;
  profile.precision = "bf16";
  EXPECT_THAT(profile_table(profile), HasSubstr("lenet5 on synthetic, cpu, 4 threads, bf16, box: median"));
  const auto json = nlohmann::json::parse(profile_json(profile));
  EXPECT_EQ(json["threads"], 4);
  EXPECT_EQ(json["precision"], "bf16");
}

TEST(ProfilePoints, NoisyTimesAreMarked) {
  Profile profile = made();
  profile.together[1].spread = 0.35;
  EXPECT_THAT(profile_table(profile), AllOf(HasSubstr("35.0 %"), HasSubstr("The times are noisy")));
}

TEST(ProfilePoints, OneWorkerHasNoTimesTogether) {
  Profile profile = made();
  profile.workers = 1;
  profile.together.clear();
  EXPECT_THAT(profile_table(profile), AllOf(Not(HasSubstr("together")), Not(HasSubstr("slower"))));
  EXPECT_EQ(nlohmann::json::parse(profile_json(profile))["together"].size(), 0U);
}

TEST(ProfilePoints, TheFileHasTheKeysThatScenariosRead) {
  const auto json = nlohmann::json::parse(profile_json(made()));
  EXPECT_EQ(json["steelyard_profile"], 1);
  EXPECT_EQ(json["name"], "box");
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_EQ(json["model"], "lenet5");
  ASSERT_EQ(json["alone"].size(), 2U);
  EXPECT_EQ(json["alone"][1]["samples"], 32);
  EXPECT_EQ(json["alone"][1]["ms"], 2.0);
  EXPECT_EQ(json["together"][0]["ms"], 0.6);
}

}  // namespace
}  // namespace steelyard::points_test
