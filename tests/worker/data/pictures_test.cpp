#include "worker/data/sets/pictures.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/made_pictures.h"
#include "tests/worker/data/data_checks.h"
#include "tests/worker/made_data.h"
#include "worker/compute/feed.h"
#include "worker/data/data_sets.h"

namespace steelyard::pictures_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Three classes, whose pictures differ in size and kind of file.
class Pictures : public testing::Test {
 protected:
  void SetUp() override { write("all", 60, 1); }
  void write(const std::string& name, std::uint64_t count, std::uint64_t seed) {
    const char* const classes[]{"cat", "dog", "mouse"};
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto n = static_cast<std::uint32_t>(i);
      const test::Pixels pixels = test::patterned(20 + n % 7, 18 + n % 5, hash(seed, i));
      const std::string path = name + '/' + classes[i % 3] + "/" + std::to_string(i);
      if (i % 2 == 0) folder_.write(path + ".png", test::png_of(pixels));
      if (i % 2 == 1) folder_.write(path + ".jpg", test::jpeg_of(pixels));
    }
  }
  DataSets open(OptionTexts more = {}) {
    more.emplace("train", folder_.path("all"));
    if (!more.contains("test")) more.emplace("holdout", "0.25");
    more.emplace("size", "[8, 6]");
    return open_data("pictures", more);
  }
  std::string refused(const OptionTexts& options, ExitCode code = ExitCode::configuration) {
    return complaint_of([&] { open(options); }, code);
  }

  TemporaryFolder folder_;
};

TEST_F(Pictures, HaveTheClassesOfTheirFolders) {
  const DataSets sets = open();
  EXPECT_THAT(sets.class_names, ElementsAre("cat", "dog", "mouse"));
  EXPECT_EQ(sets.train->shape(), (nn::Shape{8, 6, 3}));
  EXPECT_EQ(sets.train->size() + sets.test->size(), 60U);
  EXPECT_NEAR(static_cast<double>(sets.test->size()), 15, 9);
  std::map<std::string, int> seen;
  for (const auto& set : {sets.train, sets.test}) {
    for (std::uint64_t i = 0; i < set->size(); ++i) {
      const std::string name = set->name(i);
      EXPECT_THAT(name, HasSubstr("/" + sets.class_names[sample_of(*set, i).labels[0]] + "/"));
      ++seen[name];
    }
  }
  EXPECT_EQ(seen.size(), 60U) << "no picture is in both sets";
}

TEST_F(Pictures, AreTheSameForAnyNumberOfThreadsAndAnyCache) {
  const DataSets plain = open({{"threads", "1"}, {"cache", "0"}});
  for (const auto& [threads, cache] : {std::pair{"4", "512M"}, {"4", "2K"}, {"2", "0"}, {"1", "1K"}}) {
    const DataSets sets = open({{"threads", threads}, {"cache", cache}});
    BatchBuffer buffer(sets.train->shape(), 1, cpu_sizes), expected(sets.train->shape(), 1, cpu_sizes);
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      for (std::uint64_t at = 0; at < sets.train->size(); at += 32) {
        const Interval positions{at, sets.train->size()};
        const nn::MicroBatch& batch = buffer.fill(SampleOrder(sets, Purpose::train, 7, epoch), positions);
        const nn::MicroBatch& wanted = expected.fill(SampleOrder(plain, Purpose::train, 7, epoch), positions);
        ASSERT_EQ(batch.size, wanted.size);
        EXPECT_TRUE(std::equal(batch.inputs, batch.inputs + batch.size * 144, wanted.inputs));
        EXPECT_TRUE(std::equal(batch.labels, batch.labels + batch.size, wanted.labels));
      }
    }
  }
}

TEST_F(Pictures, AreNormalisedByChannel) {
  const DataSets sets = open();
  EXPECT_EQ(sets.normalization.mean.size(), 3U);
  std::vector<double> mean(3);
  for (std::uint64_t i = 0; i < sets.train->size(); ++i) {
    const Sample sample = sample_of(*sets.train, i);
    for (std::size_t at = 0; at < sample.values.size(); ++at) mean[at % 3] += sample.values[at];
  }
  for (const double it : mean) EXPECT_NEAR(it / static_cast<double>(48 * sets.train->size()), 0, 1e-4);
  EXPECT_EQ(open({{"channels", "1"}}).normalization.mean.size(), 1U);
}

TEST_F(Pictures, ATestFolderHasTheSameClasses) {
  write("other", 12, 2);
  const DataSets sets = open({{"test", folder_.path("other")}});
  EXPECT_EQ(sets.train->size(), 60U);
  EXPECT_EQ(sets.test->size(), 12U);
  folder_.write("other/horse/a.png", test::png_of(test::patterned(9, 9, 1)));
  EXPECT_THAT(refused({{"test", folder_.path("other")}}, ExitCode::io),
              AllOf(HasSubstr("horse: class 'horse' is not among those of"), HasSubstr("mouse"),
                    HasSubstr("remove the folder")));
}

TEST_F(Pictures, TheFirstOnesAreOfAllClasses) {
  const DataSets sets = open({{"train_samples", "12"}});
  std::set<std::uint32_t> labels;
  for (std::uint64_t i = 0; i < 12; ++i) labels.insert(sample_of(*sets.train, i).labels[0]);
  EXPECT_EQ(labels.size(), 3U);
  EXPECT_THAT(sets.train->name(0), HasSubstr("/all/"));
}

TEST_F(Pictures, TheHeldOutOnesStayIfMoreAreAdded) {
  const auto names = [](const DataSet& set) {
    std::set<std::string> all;
    for (std::uint64_t i = 0; i < set.size(); ++i) all.insert(set.name(i));
    return all;
  };
  const auto before = names(*open().test);
  folder_.write("all/cat/new.png", test::png_of(test::patterned(9, 9, 1)));
  const auto after = names(*open().test);
  EXPECT_TRUE(std::ranges::includes(after, before));
  EXPECT_NE(names(*open({{"seed", "2"}}).test), after);
}

TEST_F(Pictures, ADamagedPictureIsNamedWhenItIsRead) {
  const DataSets sets = open({{"threads", "3"}});
  const std::string file = sets.test->name(0);
  std::filesystem::resize_file(file, 30);
  EXPECT_THAT(complaint_of([&] { sample_of(*sets.test, 0); }), HasSubstr(file + ": the "));
}

TEST_F(Pictures, OptionsThatDoNotFitAreRefused) {
  EXPECT_THAT(refused({{"holdout", "0"}}), HasSubstr("no option test: give a folder, or holdout = 0.1"));
  EXPECT_THAT(refused({{"test", folder_.path("all")}, {"holdout", "0.1"}}), HasSubstr("leave one out"));
  EXPECT_THAT(refused({{"holdout", "0.00001"}}), HasSubstr("none is chosen for the test set"));
  EXPECT_THAT(refused({{"holdout", "0.99"}}), HasSubstr("is left for training: give a smaller share"));
  EXPECT_THAT(refused({{"size", "[1, 2, 3]"}}), HasSubstr("size has 3 numbers: give rows and columns"));
  EXPECT_THAT(refused({{"cache", "many"}}), HasSubstr("give a number of bytes, as in 512M or 4G"));
  EXPECT_THAT(refused({{"train", "s3://pets/train"}}),
              AllOf(HasSubstr("only files of this machine are read"), HasSubstr("parquet_rows.py")));
  std::filesystem::rename(folder_.path("all"), folder_.path("train"));
  write("test", 6, 1);
  EXPECT_THAT(refused({{"train", folder_.path()}}),
              AllOf(HasSubstr("its subfolders are not classes: give train = "), HasSubstr("and test = ")));
}

}  // namespace
}  // namespace steelyard::pictures_test
