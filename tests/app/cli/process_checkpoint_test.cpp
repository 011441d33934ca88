// inspect, eval and predict on the checkpoints of a run.
#include <gmock/gmock.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/process_run.h"

namespace steelyard::process_checkpoint_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// An array in numpy's file format.
std::string npy(const std::string& type, const std::string& shape, const std::string& bytes) {
  const std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  return std::string("\x93NUMPY\x01") + '\0' + static_cast<char>(header.size()) + '\0' + header + bytes;
}
// A matrix of floats.
std::string npy(std::size_t rows, const std::vector<float>& values) {
  return npy("<f4", "(" + std::to_string(rows) + ", " + std::to_string(values.size() / rows) + ")",
             std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

class ProcessCheckpoint : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(run(train("run", {"train.epochs=1"})), 0) << said_;
  }
  [[nodiscard]] std::string checkpoint() const { return list_checkpoints(path("run/checkpoints")).front(); }
};

TEST_F(ProcessCheckpoint, EvalReportsTheAccuracyOfTheTraining) {
  const double wanted = accuracy("run");
  for (const std::string& what : {path("run"), checkpoint()}) {
    ASSERT_EQ(run({"eval", what}), 0) << said_;
    char text[64];
    std::snprintf(text, sizeof text, "test accuracy       %.2f %%", 100 * wanted);
    EXPECT_THAT(said_, AllOf(HasSubstr(text), HasSubstr("test loss"), HasSubstr("round 32, epoch 1")));
  }
  ASSERT_EQ(run({"eval", path("run"), "--set", "data.test=64"}), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("64 test samples"));
}

TEST_F(ProcessCheckpoint, PredictGivesAClassForEachTestSample) {
  ASSERT_EQ(run({"predict", path("run"), "--out", path("classes.csv")}), 0) << said_;
  std::istringstream lines(text_of(path("classes.csv")));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "sample,class,probability,label");
  std::uint64_t samples = 0, right = 0;
  for (; std::getline(lines, line); ++samples) {
    unsigned long long sample = 0;
    unsigned best = 0, label = 0;
    double probability = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%llu,%u,%lf,%u", &sample, &best, &probability, &label), 4) << line;
    EXPECT_EQ(sample, samples);
    EXPECT_TRUE(probability >= 0.1 && probability <= 1) << line << ": the highest of ten";
    right += best == label ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(right) / static_cast<double>(samples), accuracy("run"), 1e-9);
}

TEST_F(ProcessCheckpoint, PredictReadsSamplesFromAFile) {
  std::vector<float> values(3 * 28 * 28);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13) / 13;
  const std::string input = write("it.npy", npy(3, values));
  ASSERT_EQ(run({"predict", path("run"), "--input", input}), 0) << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("sample,class,probability\n0,"), HasSubstr("\n2,"), Not(HasSubstr("\n3,"))));
  EXPECT_EQ(run({"predict", path("run"), "--input", write("odd.npy", npy(3, {1, 2, 3}))}), 78);
  EXPECT_THAT(said_, AllOf(HasSubstr("odd.npy: has shape 3 x 1"), HasSubstr("28 x 28 x 1")));
  EXPECT_EQ(run({"predict", path("run"), "--input", path("none.npy")}), 74);
}

// A checkpoint describes the samples of its model, so predictions for a file do not open the job's data set.
TEST_F(ProcessCheckpoint, PredictOnAFileDoesNotOpenTheDataSet) {
  constexpr std::size_t samples = 64;
  std::vector<float> values(samples * 6);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 13) / 13;
  std::string labels(samples, '\0');
  for (std::size_t i = 0; i < samples; ++i) labels[i] = static_cast<char>(i % 3);
  const std::string inputs = write("inputs.npy", npy(samples, values)),
                    answers = write("labels.npy", npy("|u1", "(64,)", labels));
  const std::string job =
      write("own.toml", "[model]\nname = \"mlp\"\n[data]\nname = \"npy\"\ntrain_inputs = \"" + inputs +
                            "\"\ntrain_labels = \"" + answers + "\"\ntest_inputs = \"" + inputs +
                            "\"\ntest_labels = \"" + answers +
                            "\"\n[train]\nbatch = 16\nepochs = 2\n[[worker]]\nname = \"ada\"\n");
  ASSERT_EQ(run({"train", job, "--run-dir", path("own")}), 0) << said_;
  const std::string input = write("it.npy", npy(2, {1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1}));
  ASSERT_EQ(run({"predict", path("own"), "--input", input}), 0) << said_;
  const std::string wanted = said_;
  Snapshot early = newest_checkpoint("own");  // of a release that did not record the sample shape
  early.source.height = early.source.width = early.source.channels = early.source.classes = 0;
  const std::vector<std::string> of_early{
      "predict", write_checkpoint(path("early"), early), "--job", path("own/job.toml"), "--input", input};
  EXPECT_EQ(run(of_early), 0) << said_;
  EXPECT_EQ(said_, wanted);

  std::filesystem::remove(inputs);
  std::filesystem::remove(answers);
  EXPECT_EQ(run({"predict", path("own"), "--input", input}), 0) << said_;
  EXPECT_EQ(said_, wanted);
  EXPECT_NE(run({"predict", path("own")}), 0) << "the test samples are in the removed files";
  EXPECT_NE(run(of_early), 0) << "only the data set gives the sample shape";
  EXPECT_EQ(run({"predict", path("own"), "--input", input, "--set", "model.name=softmax"}), 78);
  EXPECT_THAT(said_, HasSubstr("does not fit model 'softmax'"));
}

TEST_F(ProcessCheckpoint, InspectListsTheContentsOfACheckpoint) {
  ASSERT_EQ(run({"inspect", path("run")}), 0) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("all hashes are correct"), HasSubstr("round 32, epoch 1"),
                           HasSubstr("test accuracy"), HasSubstr("7850 in 2 tensors"),
                           HasSubstr("fc.weight  10 x 784")));
  ASSERT_EQ(run({"inspect", checkpoint() + "/model.safetensors"}), 0) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("fc.bias    10\n"), HasSubstr("steelyard.version")));
}

TEST_F(ProcessCheckpoint, DamageAndWrongPathsAreReportedWithARemedy) {
  EXPECT_EQ(run({"inspect", path("nothing")}), 74);
  EXPECT_THAT(said_, HasSubstr("neither a checkpoint nor a run"));
  const std::string alone = path("alone");
  std::filesystem::copy(checkpoint(), alone, std::filesystem::copy_options::recursive);
  EXPECT_EQ(run({"eval", alone}), 2);
  EXPECT_THAT(said_, HasSubstr("--job"));
  EXPECT_EQ(run({"eval", alone, "--job", path("run/job.toml")}), 0) << said_;
  EXPECT_EQ(run({"eval", alone, "--job", path("run/job.toml"), "--set", "model.name=mlp"}), 78);
  EXPECT_THAT(said_, HasSubstr("does not fit model 'mlp'"));

  std::fstream file(alone + "/model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\x55');
  file.close();
  EXPECT_EQ(run({"inspect", alone}), 74);
  EXPECT_THAT(said_, AllOf(HasSubstr("model.safetensors"), HasSubstr("hash is wrong")));
}

}  // namespace
}  // namespace steelyard::process_checkpoint_test
