#include "app/processes/initial_state.h"

#include <gmock/gmock.h>

#include <functional>

#include "core/error.h"
#include "tests/support/temporary_folder.h"
#include "worker/data/sets/synthetic.h"

namespace steelyard::initial_state_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class InitialStateTest : public ::testing::Test {
 protected:
  InitialStateTest() {
    job_.seed = 1;
    job_.data = "synthetic";
    job_.global_batch = 10;
    append(job_.layout, "w", {2, 3});
    job_.layout.slice_size = 16;
    job_.train_samples = 100;
    source_ = source_of(job_, data(7));
  }

  static DataSets data(std::uint64_t seed, std::uint64_t samples = 100) {
    SyntheticOptions options;
    options.samples = samples;
    options.seed = seed;
    options.shape = {2, 2, 1};
    return {.train = std::make_shared<SyntheticDataSet>(options), .test = nullptr, .name = "synthetic"};
  }
  [[nodiscard]] static SampleSource source_of(const Job& job, DataSets sets) {
    Workload workload;
    workload.data = std::move(sets);
    return sample_source(job, describe(workload));
  }
  // A snapshot of the job, `offset` samples into an epoch.
  [[nodiscard]] Snapshot a_snapshot(Position offset) const {
    Snapshot s;
    s.progress = {1000, 40, 3, offset, 12.5, ""};
    s.seed = 1;
    s.layout = job_.layout;
    s.parameters.assign(job_.layout.size(), 0.5F);
    s.source = source_;
    return s;
  }
  std::string written(Position offset) {
    return write_checkpoint(folder_.path("checkpoints"), a_snapshot(offset));
  }
  std::vector<std::string> check(Position offset, const Job& job, const SampleSource& source) {
    const std::string path = written(offset);
    return check_resumable(path, read_manifest(path), job, source);
  }
  static std::string refusal(const std::function<void()>& action, ExitCode code = ExitCode::configuration) {
    try {
      action();
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), code);
      return failure.what();
    }
    return "";
  }

  const TemporaryFolder folder_;
  Job job_;
  SampleSource source_;
};

TEST_F(InitialStateTest, ASourceIdentifiesItsSamples) {
  EXPECT_EQ(source_.data, "synthetic");
  EXPECT_EQ(source_.samples, 100U);
  EXPECT_EQ(source_.batch, 10U);
  EXPECT_EQ(source_of(job_, data(7)), source_);
  EXPECT_NE(source_of(job_, data(8)).hash, source_.hash);
}

TEST_F(InitialStateTest, WithinAnEpochSeedAndSamplesMustStay) {
  EXPECT_THAT(check(30, job_, source_), IsEmpty());
  Job other = job_;
  other.seed = 9;
  EXPECT_THAT(refusal([&] { check(30, other, source_); }),
              AllOf(HasSubstr("seed = 9 in [job]: the checkpoint " + folder_.path("checkpoints") + "/40"),
                    HasSubstr("at sample 30"), HasSubstr("resume with that, or continue from")));
  EXPECT_THAT(
      refusal([&] { check(30, job_, source_of(job_, data(8))); }),
      AllOf(HasSubstr("[data] gives other training samples"), HasSubstr("resume with the same [data]")));
  other = job_;
  other.train_samples = 120;
  EXPECT_THAT(refusal([&] { check(30, other, source_of(other, data(7, 120))); }),
              AllOf(HasSubstr("has 120 training samples"), HasSubstr("the 100 of \"synthetic\"")));
}

TEST_F(InitialStateTest, OtherSettingsMayChangeWithinAnEpoch) {
  Job other = job_;
  other.global_batch = 20;
  other.sync = parse_sync("local:4");
  other.schedule.base = 0.5;
  other.epochs = 100;
  other.shards = 3;
  EXPECT_THAT(check(30, other, source_of(other, data(7))), IsEmpty());
}

TEST_F(InitialStateTest, ChangesAtTheStartOfAnEpochAreReported) {
  Job other = job_;
  other.seed = 9;
  EXPECT_THAT(check(0, other, source_of(other, data(8))),
              ElementsAre(AllOf(HasSubstr("seed = 9"), HasSubstr("it was 1 before")),
                          HasSubstr("other training samples from here on")));
}

TEST_F(InitialStateTest, AnotherModelIsRefused) {
  Job other = job_;
  other.layout = {};
  append(other.layout, "w", {3, 2});
  EXPECT_THAT(refusal([&] { check(0, other, source_); }), HasSubstr("is of another model"));
  Job layers = job_;
  layers.model_layers = {
      {"linear", "", {}, {{"outputs", "3"}}}, {"relu", "", {}, {}}, {"linear", "", {}, {}}};
  source_ = source_of(layers, data(7));
  EXPECT_THAT(check(0, layers, source_), IsEmpty());
  layers.model_layers.insert(layers.model_layers.begin() + 1, {"dropout", "", {}, {}});
  EXPECT_THAT(check(0, layers, source_of(layers, data(7))), IsEmpty());
  layers.model_layers[2].kind = "tanh";
  EXPECT_THAT(refusal([&] { check(0, layers, source_of(layers, data(7))); }),
              HasSubstr("layer 2 (without dropout) was 'relu', and is 'tanh' in [[model.layer]]"));
  layers.model_layers.resize(1);
  EXPECT_THAT(refusal([&] { check(0, layers, source_of(layers, data(7))); }),
              HasSubstr("was 'relu', and is missing"));
}

// Messages of one resumption must not count in the other.
TEST_F(InitialStateTest, EachResumptionOfACheckpointHasItsOwnTerm) {
  const std::string path = written(30);
  const Snapshot one = resumed_beginning(path, job_, source_), other = resumed_beginning(path, job_, source_);
  EXPECT_GT(one.progress.term, 1000U);
  EXPECT_GT(other.progress.term, 1000U);
  EXPECT_NE(one.progress.term, other.progress.term);
  EXPECT_EQ(one.progress.version, 40U);
  EXPECT_EQ(one.parameters, a_snapshot(30).parameters);
  EXPECT_EQ(one.source, source_);
}

TEST_F(InitialStateTest, AnotherOptimizerStartsWithoutTheOldState) {
  using Kind = nn::Optimizer::Kind;
  Snapshot saved = a_snapshot(0);
  saved.state = {std::vector<float>(saved.layout.size(), 3.0F)};
  saved.steps = 40;
  const std::string path = write_checkpoint(folder_.path("with_state"), saved);
  for (const auto& [kind, kept] : {std::pair(Kind::momentum, true),
                                   {Kind::nesterov, true},
                                   {Kind::sgd, false},
                                   {Kind::adam, false},
                                   {Kind::lars, false}}) {
    Job other = job_;
    other.optimizer.kind = kind;
    other.layout = nn::layout_for(other.optimizer, other.layout);
    const Snapshot from = resumed_beginning(path, other, source_);
    EXPECT_EQ(from.state.size(), kept ? 1U : 0U) << static_cast<int>(kind);
    EXPECT_EQ(from.steps, kept ? 40U : 0U);
    const auto notes = check_resumable(path, read_manifest(path), other, source_);
    if (kept) {
      EXPECT_THAT(notes, IsEmpty());
    } else {
      EXPECT_THAT(notes, ElementsAre(HasSubstr("its state starts at zero")));
    }
  }
}

TEST_F(InitialStateTest, NonCheckpointsAreRefusedWithASuggestion) {
  const std::string path = written(30);
  EXPECT_NO_THROW(require_checkpoint(path));
  const auto required = [&](const std::string& it) {
    return refusal([&] { require_checkpoint(it); }, ExitCode::usage);
  };
  EXPECT_THAT(required(folder_.path()), AllOf(HasSubstr("--resume-from " + folder_.path().string()),
                                              HasSubstr("not a checkpoint"), HasSubstr("as in " + path)));
  EXPECT_THAT(required(folder_.path("checkpoints")), HasSubstr("as in " + path));
  EXPECT_THAT(required(folder_.path("nowhere")), HasSubstr("as in runs/job-1/checkpoints/1180"));
  EXPECT_THAT(required(path + "/MANIFEST.json"), HasSubstr("not a checkpoint"));
}

TEST_F(InitialStateTest, WorkersAndServersCannotContinueEachOthersSteps) {
  job_.optimizer.kind = nn::Optimizer::Kind::worker;
  EXPECT_THAT(refusal([&] { check(0, job_, source_); }),
              AllOf(HasSubstr("servers took the steps"), HasSubstr("resume with the same script")));
}

}  // namespace
}  // namespace steelyard::initial_state_test
