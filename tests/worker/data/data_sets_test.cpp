#include "worker/data/data_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/options.h"
#include "tests/worker/data/data_checks.h"
#include "tests/worker/made_data.h"
#include "worker/data/sets/synthetic.h"

namespace steelyard::data_sets_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::string& name, const OptionTexts& options, const DataTable& extra = {},
                    ExitCode code = ExitCode::configuration) {
  try {
    open_data(name, options, extra);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), code);
    return failure.what();
  }
  return "no failure";
}

TEST(OpenData, ErrorsListTheTable) {
  EXPECT_THAT(refusal("mnist", {}),
              AllOf(HasSubstr("'mnist'"), HasSubstr("valid: " + joined(names_of({}, built_in_data_sets())))));
  EXPECT_THAT(names_of({}, built_in_data_sets()),
              testing::IsSupersetOf({"bytes", "cifar-10", "cifar-100", "csv", "digits", "fashion-mnist",
                                     "idx", "libsvm", "npy", "synthetic"}));
  const DataTable extra{{"my-own", [](const Options&) { return DataSets{}; }}};
  EXPECT_THAT(refusal("mnist", {}, extra),
              HasSubstr("valid: my-own, " + joined(names_of({}, built_in_data_sets()))));
}

TEST(OpenData, TheUsersTableTakesPrecedence) {
  const DataTable extra{{"synthetic",
                         [](const Options& options) {
                           EXPECT_EQ(options.text("anything"), "goes");
                           auto set = std::make_shared<SyntheticDataSet>(SyntheticOptions{.samples = 3});
                           return DataSets{set, set};
                         },
                         "a test's own",
                         {text_option("anything", "", "")}}};
  EXPECT_EQ(open_data("synthetic", {{"anything", "goes"}}, extra).test->size(), 3u);
}

TEST(OpenData, RefusesSetsThatDoNotMatch) {
  const auto make = [](SyntheticOptions options) {
    return std::make_shared<const SyntheticDataSet>(options);
  };
  const auto refused = [&](DataSets sets) {
    return refusal("own", {}, {{"own", [&](const Options&) { return sets; }}});
  };
  EXPECT_THAT(refused({make({}), nullptr}), HasSubstr("data set 'own': it is incomplete"));
  EXPECT_THAT(refused({make({}), make({.shape = {28, 27, 1}})}), HasSubstr("differ in shape"));
  EXPECT_THAT(refused({make({}), make({.classes = 9})}), HasSubstr("differ in shape or classes"));
  const auto two = std::make_shared<TargetData>(9);
  EXPECT_EQ(open_data("own", {},
                      {{"own",
                        [&](const Options&) {
                          return DataSets{two, two};
                        }}})
                .train->targets(),
            2U);
  EXPECT_THAT(refused({two, std::make_shared<NumberedData>(9)}), HasSubstr("differ in shape or classes"));
  class ThreeClasses final : public TargetData {
   public:
    using TargetData::TargetData;
    [[nodiscard]] std::uint32_t classes() const override { return 3; }
  };
  const auto three = std::make_shared<ThreeClasses>(9);
  EXPECT_THAT(refused({three, three}), HasSubstr("as many classes as targets"));
}

// The options of pictures keep the targets of their samples.
TEST(OpenData, PicturesMayHaveTargets) {
  const TemporaryFolder folder;
  const std::string x = folder.write("x.npy", npy<float>("<f4", "(3, 2, 2)", std::vector<float>(12, 1)))
                            .string(),
                    y = folder.write("y.npy", npy<float>("<f4", "(3, 2)", {1, 2, 3, 4, 5, 6})).string();
  const DataSets sets = open_data("npy", {{"train_inputs", x},
                                          {"train_labels", y},
                                          {"test_inputs", x},
                                          {"test_labels", y},
                                          {"targets", "numbers"},
                                          {"scale_targets", "false"},
                                          {"pad", "4"},
                                          {"train_samples", "2"}});
  EXPECT_EQ(sets.train->size(), 2U);
  EXPECT_EQ(sets.train->shape(), (nn::Shape{4, 4, 1}));
  EXPECT_EQ(sets.train->targets(), 2U);
  EXPECT_THAT(targets_of(*sets.train, 1), testing::ElementsAre(3, 4));
}

TEST(OpenData, SyntheticTakesItsOptions) {
  const DataSets plain = open_data("synthetic", {});
  EXPECT_EQ(plain.train->size(), 10000u);
  EXPECT_EQ(plain.test->size(), 1000u);
  EXPECT_EQ(plain.train->shape(), (nn::Shape{28, 28, 1}));
  EXPECT_EQ(plain.train->classes(), 10u);

  const DataSets sets = open_data("synthetic", {{"train", "50"},
                                                {"test", "20"},
                                                {"classes", "4"},
                                                {"height", "3"},
                                                {"width", "5"},
                                                {"channels", "2"},
                                                {"noise", "0.5"},
                                                {"seed", "9"}});
  EXPECT_EQ(sets.train->size(), 50u);
  EXPECT_EQ(sets.test->size(), 20u);
  EXPECT_EQ(sets.test->shape(), (nn::Shape{3, 5, 2}));
  EXPECT_EQ(sets.test->classes(), 4u);

  const SyntheticDataSet same(
      {.samples = 20, .classes = 4, .shape = {3, 5, 2}, .noise = 0.5, .seed = 9, .part = 1});
  std::vector<float> got(30), wanted(30);
  std::uint32_t label = 0, wanted_label = 0;
  sets.test->read(11, got.data(), &label);
  same.read(11, wanted.data(), &wanted_label);
  EXPECT_EQ(got, wanted);
  EXPECT_EQ(label, wanted_label);
}

TEST(OpenData, RefusesInvalidOptions) {
  EXPECT_THAT(refusal("synthetic", {{"size", "3"}}),
              AllOf(HasSubstr("no option 'size'"),
                    HasSubstr("valid: train, test, classes, height, width, channels, noise, seed")));
  EXPECT_THAT(refusal("fashion-mnist", {{"folder", "/"}}),
              HasSubstr("valid: dir, pad, crop, flip, train_samples, test_samples"));
  for (const char* bad : {"", "0", "-1", "12x", "1e3", "99999999999999999999"}) {
    EXPECT_THAT(refusal("synthetic", {{"train", bad}}),
                HasSubstr("train = '" + std::string(bad) + "': give"));
  }
  EXPECT_THAT(refusal("synthetic", {{"classes", "1"}}), HasSubstr("from 2 to"));
  for (const char* bad : {"-0.1", "nan", "inf", "loud"}) {
    EXPECT_THAT(refusal("synthetic", {{"noise", bad}}), HasSubstr("noise = "));
  }
  EXPECT_THAT(refusal("synthetic", {{"height", "16384"}, {"width", "16384"}}),
              HasSubstr("make the pictures smaller"));
}

TEST(OpenData, PictureSetsCanBeShortened) {
  const DataSets all = open_data("fashion-mnist", {});
  const DataSets few = open_data("fashion-mnist", {{"train_samples", "100"}, {"test_samples", "20"}});
  EXPECT_EQ(few.train->size(), 100U);
  EXPECT_EQ(few.test->size(), 20U);
  EXPECT_EQ(sample_of(*few.train, 99).values, sample_of(*all.train, 99).values);
  EXPECT_THAT(refusal("fashion-mnist", {{"test_samples", "10001"}}),
              HasSubstr("test_samples = 10001: the set has 10000 samples: give at most as many"));
}

TEST(OpenData, IdxTakesAFolderOrSingleFiles) {
  const TemporaryFolder folder;
  const Bytes images = idx_bytes({2, 1, 1}, {10, 20}), labels = idx_bytes({2}, {0, 1});
  folder.write("train-images-idx3-ubyte", images);
  folder.write("train-labels-idx1-ubyte.gz", gzipped(labels));
  folder.write("t10k-images-idx3-ubyte.gz", gzipped(images));
  folder.write("t10k-labels-idx1-ubyte", labels);
  const auto other = folder.write("other", idx_bytes({1, 1, 1}, {30}));
  const auto label = folder.write("label", idx_bytes({1}, {1}));

  EXPECT_EQ(open_data("idx", {{"dir", folder.path()}}).test->size(), 2u);
  const DataSets sets = open_data(
      "idx", {{"dir", folder.path()}, {"test_images", other}, {"test_labels", label}, {"classes", "5"}});
  EXPECT_EQ(sets.train->size(), 2u);
  EXPECT_EQ(sets.test->size(), 1u);
  EXPECT_EQ(sets.train->classes(), 5u);

  EXPECT_THAT(refusal("idx", {{"test_images", other}}),
              HasSubstr("no option train_images: give this file, or dir"));
  EXPECT_THAT(refusal("idx", {{"dir", folder.path() / "absent"}}, {}, ExitCode::io),
              HasSubstr("absent/train-images-idx3-ubyte does not exist"));
}

TEST(OpenData, FashionMnistErrorsSayHowToInstallIt) {
  EXPECT_THAT(refusal("fashion-mnist", {{"dir", "/nowhere/at/all"}}),
              AllOf(HasSubstr("no folder /nowhere/at/all"), HasSubstr("dataset-fashion-mnist"),
                    HasSubstr("script/setup"), HasSubstr("data.dir")));
}

TEST(OpenData, FashionMnistHasThePublishedContents) {
  if (!std::filesystem::is_directory("/usr/share/datasets/fashion-mnist")) {
    GTEST_SKIP() << "the Debian package dataset-fashion-mnist is not installed";
  }
  const DataSets sets = open_data("fashion-mnist", {});
  ASSERT_EQ(sets.train->size(), 60000u);
  ASSERT_EQ(sets.test->size(), 10000u);
  EXPECT_EQ(sets.train->shape(), (nn::Shape{28, 28, 1}));
  std::vector<int> counts(10);
  std::vector<float> values(784);
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < sets.train->size(); ++i) {
    std::uint32_t label = 0;
    sets.train->read(i, values.data(), &label);
    ++counts.at(label);
    for (const float value : values) {
      sum += value;
      squares += static_cast<double>(value) * value;
    }
  }
  EXPECT_THAT(counts, testing::Each(6000));
  EXPECT_NEAR(sum / (784 * 60000.0), 0, 1e-5);
  EXPECT_NEAR(squares / (784 * 60000.0), 1, 1e-5);
}

}  // namespace
}  // namespace steelyard::data_sets_test
