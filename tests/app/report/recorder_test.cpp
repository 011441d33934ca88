#include "app/report/recorder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "server/checkpoint/checkpoint.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::recorder_test {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() : bar_(out_, {false, false, 80}) {
    file_ = parse_job(
        "[train]\nbatch = 100\nepochs = 4\n[[worker]]\nname = \"fast\"\n[[worker]]\nname = \"slow\"\n",
        "j.toml");
    set_samples(file_.job, 1000, 500);
  }

  // A round of 100 samples in which the fast worker takes 75 and 0.1 s, the slow one 25 and `slow` s.
  static RoundRecord a_round(Round round, double slow = 0.1) {
    RoundRecord r;
    r.round = round;
    r.epoch = round / 10;
    r.positions = {round % 10 * 100, round % 10 * 100 + 100};
    r.rate = 0.05;
    r.seconds = std::max(0.1, slow) + 0.025;
    r.loss = 1.5;
    r.accuracy = 0.5;
    r.parts = {{0, "fast", 75, 0.1}, {1, "slow", 25, slow}};
    return r;
  }
  static RoundRecord an_evaluation(Round round, double accuracy) {
    RoundRecord r;
    r.round = round;
    r.purpose = Purpose::evaluate;
    r.positions = {0, 500};
    r.seconds = 1;
    r.loss = 1.25;
    r.accuracy = accuracy;
    return r;
  }
  static Time at(double s) { return Time{from_seconds(s)}; }

  [[nodiscard]] std::vector<nlohmann::json> lines() const {
    std::ifstream in(root_ + "/run/rounds.jsonl");
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
  RunDirectory run() {
    if (!run_) run_ = RunDirectory::create(root_ + "/run");
    return *run_;
  }

  const TemporaryFolder folder_;
  const std::string root_ = folder_.path().string();
  JobFile file_;
  std::ostringstream out_;
  ProgressBar bar_;
  std::optional<RunDirectory> run_;
};

TEST_F(RecorderTest, EachRoundIsOneLine) {
  Recorder recorder(file_, run(), bar_);
  recorder.handle(a_round(12, 0.3), at(1));
  recorder.handle(an_evaluation(13, 0.75), at(2));
  recorder.handle(Ended{}, at(3));
  const auto all = lines();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["round"], 12);
  EXPECT_EQ(all[0]["epoch"], 1);
  EXPECT_EQ(all[0]["purpose"], "train");
  EXPECT_EQ(all[0]["begin"], 200);
  EXPECT_EQ(all[0]["end"], 300);
  EXPECT_EQ(all[0]["lr"], 0.05);
  EXPECT_EQ(all[0]["workers"], nlohmann::json({"fast", "slow"}));
  EXPECT_EQ(all[0]["shares"], nlohmann::json({75, 25}));
  EXPECT_EQ(all[0]["compute_ms"], nlohmann::json({100.0, 300.0}));
  EXPECT_EQ(all[0]["round_ms"], 325.0);
  EXPECT_THAT(all[0]["se"].get<double>(), DoubleNear(1, 1e-12));  // (0.3 - 0.1) / 0.2
  EXPECT_TRUE(all[0]["percent_of_ideal"].is_number());
  EXPECT_EQ(all[0]["loss"], 1.5);
  EXPECT_EQ(all[0]["accuracy"], 0.5);
  EXPECT_EQ(all[1]["purpose"], "evaluate");
  EXPECT_TRUE(all[1]["lr"].is_null());
  EXPECT_TRUE(all[1]["percent_of_ideal"].is_null());
  EXPECT_EQ(all[1]["accuracy"], 0.75);
}

TEST_F(RecorderTest, TrialsBesideARoundAreNotAmongItsShares) {
  Recorder recorder(file_, run(), bar_);
  RoundRecord round = a_round(12);
  round.trials = {{1, "slow", 32, 0.4}};
  recorder.handle(round, at(1));
  recorder.handle(a_round(13), at(2));
  recorder.handle(Ended{}, at(3));
  const auto all = lines();
  EXPECT_EQ(all[0]["trials"],
            nlohmann::json::parse(R"([{"worker":"slow","samples":32,"compute_ms":400.0}])"));
  EXPECT_EQ(all[0]["shares"], nlohmann::json({75, 25}));
  EXPECT_FALSE(all[1].contains("trials"));
}

// A model that predicts one number has an error in place of the accuracy.
TEST_F(RecorderTest, NumbersHaveAnErrorInTheirUnits) {
  file_.job.model_options["loss"] = "mse";
  SampleSource source;
  source.target_mean = {5}, source.target_deviation = {200};
  Recorder recorder(file_, run(), bar_, false, {file_.job, source});
  RoundRecord round = a_round(12), evaluation = an_evaluation(13, -1);
  round.accuracy = -1;
  evaluation.loss = 0.25;
  recorder.handle(round, at(1));
  recorder.handle(evaluation, at(2));
  recorder.handle(a_round(13), at(3));
  recorder.handle(Ended{}, at(4));
  const auto all = lines();
  EXPECT_FALSE(all[0].contains("rmse")) << "a round of training has its loss only";
  EXPECT_EQ(all[1]["rmse"], 100);
  EXPECT_TRUE(all[1]["accuracy"].is_null());
  EXPECT_EQ(nlohmann::json::parse(verdict_json(recorder.verdict()))["rmse"], 100);
  EXPECT_THAT(recorder.summary(), AllOf(HasSubstr("test RMSE           100\n"),
                                        HasSubstr("test loss           0.25"), Not(HasSubstr("accuracy"))));
}

// Its gradients were added, but all of its workers were lost before they reported.
TEST_F(RecorderTest, ARoundWithoutReportsHasNullMeasurements) {
  Recorder recorder(file_, run(), bar_);
  recorder.handle(a_round(12), at(1));
  RoundRecord silent = a_round(13);
  silent.loss = silent.accuracy = 0;
  silent.parts.clear();
  recorder.handle(silent, at(2));
  recorder.handle(Ended{}, at(3));
  const auto all = lines();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1]["begin"], 300);
  EXPECT_EQ(all[1]["lr"], 0.05);
  for (const char* unknown : {"loss", "accuracy", "percent_of_ideal", "efficiency"}) {
    EXPECT_TRUE(all[0][unknown].is_number()) << unknown;
    EXPECT_TRUE(all[1][unknown].is_null()) << unknown;
  }
  EXPECT_THAT(out_.str(), Not(HasSubstr("loss 0.0000")));
}

// A recorder that replaces a killed one and receives the same messages writes the same files.
TEST_F(RecorderTest, ReplayedMessagesMakeTheSameFiles) {
  std::string events, rounds;
  {
    Recorder first(file_, run(), bar_);
    first.flush(at(0));
    events = folder_.text("run/events.jsonl");
    first.handle(a_round(12, 0.3), at(1));
    first.handle(Note{"word"}, at(1.5));
    first.flush(at(2));
    rounds = folder_.text("run/rounds.jsonl");
  }
  const std::string whole = folder_.text("run/events.jsonl");
  std::filesystem::resize_file(run().rounds(), 0);
  std::filesystem::resize_file(run().events(), events.size());
  Recorder second(file_, run(), bar_, true);
  second.handle(a_round(12, 0.3), at(1));
  second.handle(Note{"word"}, at(1.5));
  second.flush(at(3));
  EXPECT_EQ(folder_.text("run/rounds.jsonl"), rounds);
  EXPECT_EQ(folder_.text("run/events.jsonl"), whole);
  EXPECT_EQ(second.verdict().rounds, 1U);
}

// Another recorder, with another clock, restores the saved state.
TEST_F(RecorderTest, ContinuesFromASavedState) {
  std::string saved;
  Recorder whole(file_, run(), bar_);
  for (Round round = 0; round < 14; ++round) {
    if (round == 12) saved = whole.save(at(12.5));
    whole.handle(a_round(round, 0.1 + 0.01 * static_cast<double>(round)), at(1 + static_cast<double>(round)));
  }
  whole.handle(an_evaluation(14, 0.75), at(15));
  whole.flush(at(15));
  const std::vector<nlohmann::json> expected = lines();
  Recorder second(file_, run(), bar_, true);
  second.restore(saved, at(1012.5));
  for (Round round = 12; round < 14; ++round)
    second.handle(a_round(round, 0.1 + 0.01 * static_cast<double>(round)),
                  at(1001 + static_cast<double>(round)));
  second.handle(an_evaluation(14, 0.75), at(1015));
  second.flush(at(1015));
  const std::vector<nlohmann::json> all = lines();
  ASSERT_EQ(all.size(), expected.size() + 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(all[all.size() - 3 + i], expected[expected.size() - 3 + i]);
  EXPECT_EQ(second.summary(), whole.summary());
  for (const std::string& other : {saved.substr(1), saved + "x", std::string()})
    EXPECT_THROW(second.restore(other, at(0)), Failure);
}

TEST_F(RecorderTest, TensorboardReceivesTheSameNumbers) {
  Recorder recorder(file_, run(), bar_);
  recorder.show_on(std::make_unique<TensorboardFile>(run().tensorboard(), 1e9));
  recorder.handle(a_round(12, 0.3), at(1));
  recorder.handle(an_evaluation(13, 0.75), at(2));
  const std::string events = folder_.text("run/tensorboard/events.out.tfevents.1000000000.steelyard");
  for (const std::string tag : {"train/loss", "train/learning_rate", "speed/percent_of_ideal", "share/fast",
                                "compute_ms/slow", "test/accuracy"})
    EXPECT_THAT(events, testing::HasSubstr(tag));
}

TEST_F(RecorderTest, PiecesOfOneWorkerAreSummedToOneShare) {
  RoundRecord r = a_round(0);
  r.parts = {{1, "slow", 20, 0.1}, {0, "fast", 75, 0.1}, {1, "slow", 5, 0.05}};
  Recorder recorder(file_, run(), bar_);
  recorder.handle(r, at(1));
  recorder.handle(Ended{}, at(2));
  EXPECT_EQ(lines().at(0)["shares"], nlohmann::json({75, 25}));
  EXPECT_EQ(lines().at(0)["compute_ms"], nlohmann::json({100.0, 150.0}));
}

TEST_F(RecorderTest, ALineHasMeasuredCpuAndMemory) {
  Recorder recorder(file_, run(), bar_);
  RoundRecord r = a_round(0);
  r.parts = {{0, "fast", 75, 0.1}, {1, "slow", 25, 0.1}};
  recorder.handle(r, at(1));
  r.parts[1].cpu = 0.75;
  r.parts[1].memory = 1500.4;
  recorder.handle(r, at(2));
  recorder.handle(Ended{}, at(3));
  EXPECT_FALSE(lines().at(0).contains("cpu")) << "no worker measured it";
  EXPECT_EQ(lines().at(1)["cpu"], nlohmann::json({nullptr, 0.75}));
  EXPECT_EQ(lines().at(1)["memory_mb"], nlohmann::json({nullptr, 1500.0}));
}

// Slots are assigned in the order of joining.
TEST_F(RecorderTest, WorkersAreSortedByName) {
  RoundRecord r = a_round(0);
  r.parts = {{0, "box-10", 25, 0.1}, {1, "box-9", 40, 0.1}, {2, "anvil", 35, 0.1}};
  Recorder recorder(file_, run(), bar_);
  recorder.handle(r, at(1));
  r.parts[2].name = "box-11";  // a new worker in the slot of anvil
  recorder.handle(r, at(2));
  recorder.handle(Ended{}, at(3));
  EXPECT_THAT(out_.str(), HasSubstr("anvil 35 + box-9 40 + box-10 25"));
  EXPECT_EQ(lines().at(0)["workers"], nlohmann::json({"anvil", "box-9", "box-10"}));
  EXPECT_EQ(lines().at(0)["shares"], nlohmann::json({35, 40, 25}));
  EXPECT_THAT(recorder.summary(),
              ::testing::ContainsRegex("anvil +35.0[^\n]*\n +box-9 +40[^\n]*\n +box-10 +25[^\n]*\n +box-11"));
}

// Names and reasons come from other processes and are not trusted.
TEST_F(RecorderTest, TheSummaryFitsTheTerminalAndHasNoControlCharacters) {
  RoundRecord r = a_round(0);
  r.parts[0].name = "\033[2J\n" + std::string(3000, 'x');
  r.staleness = {50, 30, 20, 10};
  Recorder recorder(file_, run(), bar_);
  recorder.handle(r, at(1));
  recorder.handle(an_evaluation(10, 0.6), at(2));
  recorder.handle(Ended{Outcome::storage,
                        "worker '\033[1mx\x7f' said: " + std::string(40, 'y') + " why",
                        {},
                        {r.staleness}},
                  at(3));
  std::istringstream summary(recorder.summary());
  for (std::string line; std::getline(summary, line);) {
    EXPECT_TRUE(line.size() <= 80 + 2 || line.find(root_) != std::string::npos)
        << line;  // an ellipsis has 3 bytes
    EXPECT_TRUE(std::ranges::none_of(line, [](unsigned char c) { return c < 0x20 || c == 0x7F; })) << line;
  }
  EXPECT_THAT(recorder.summary(), HasSubstr("\\x1b[2J\\nxxx"));
  EXPECT_THAT(recorder.summary(), HasSubstr(": worker '\\x1b[1mx\\x7f' said:"));
}

TEST_F(RecorderTest, LinesAreValidJsonDespiteNanAndInvalidNames) {
  RoundRecord r = a_round(0);
  r.loss = std::numeric_limits<double>::quiet_NaN();
  r.parts[0].name = "\xff\"\n";
  Recorder recorder(file_, run(), bar_);
  recorder.handle(r, at(1));
  r.parts.clear();
  recorder.handle(r, at(2));
  recorder.handle(Ended{}, at(3));
  ASSERT_EQ(lines().size(), 2U);
  EXPECT_TRUE(lines()[0]["loss"].is_null());
  EXPECT_THAT(out_.str(), HasSubstr("loss not finite"));
}

// 1000 notes per second.
TEST_F(RecorderTest, EventsAreWrittenAtOnce) {
  Recorder recorder(file_, run(), bar_);
  for (const char* worker : {"a", "b"}) {
    const std::string text = std::string("worker '") + worker + "' joined";
    recorder.handle(Note{text}, at(1));
    std::ifstream in(root_ + "/run/events.jsonl");
    std::string last;
    for (std::string line; std::getline(in, line);) last = line;
    EXPECT_THAT(last, HasSubstr(text));
  }
}

TEST_F(RecorderTest, EventsAreLimitedToAMegabytePerMinute) {
  Recorder recorder(file_, run(), bar_);
  recorder.handle(a_round(0), at(0));
  const std::string text(500, '\x01');  // six characters each in JSON
  for (int i = 0; i < 20'000; ++i) recorder.handle(Note{text}, at(i / 1000.0));
  recorder.flush(at(20));
  EXPECT_LT(fs::file_size(run().events()), 1'000'000U);
  EXPECT_LT(out_.str().size(), 3'000'000U) << "the terminal output is limited too";
  recorder.handle(Note{"a quiet word"}, at(100));
  recorder.handle(Note{std::string(1'000'000, 'x')}, at(101));
  recorder.flush(at(102));
  std::ifstream in(run().events());
  std::vector<std::string> events;
  for (std::string line; std::getline(in, line);) events.push_back(line);
  ASSERT_GT(events.size(), 3U);
  EXPECT_THAT(events[events.size() - 3], HasSubstr("events are left out here"));
  EXPECT_THAT(events[events.size() - 2], HasSubstr("a quiet word"));
  EXPECT_LT(events.back().size(), 5000U);
}

TEST_F(RecorderTest, ProgressShowsTheTimeLeft) {
  Recorder recorder(file_, run(), bar_);
  recorder.handle(a_round(0), at(100));
  EXPECT_EQ(out_.str(),
            "epoch 1/4  round 1  loss 1.5000  800 samples/s  shares fast 75 + slow 25  100% of ideal\n");
  out_.str("");
  recorder.handle(an_evaluation(10, 0.6), at(108));
  recorder.handle(a_round(10), at(110));  // ten of the forty rounds in ten seconds
  EXPECT_EQ(out_.str(),
            "epoch 2/4  round 11  loss 1.5000  accuracy 60.00%  800 samples/s  shares fast 75 + slow 25  "
            "100% of ideal  "
            "0:29 left\n");
  recorder.handle(Note{"worker slow is lost"}, at(110.1));
  EXPECT_THAT(out_.str(), HasSubstr("worker slow is lost\n"));
}

TEST_F(RecorderTest, TheSteadyRateExcludesTheFirstTenRounds) {
  Recorder recorder(file_, run(), bar_);
  for (Round k = 0; k < 10; ++k) recorder.handle(a_round(k, 0.975), at(static_cast<double>(k)));
  recorder.handle(an_evaluation(10, 0.75), at(10));
  for (Round k = 10; k < 30; ++k) recorder.handle(a_round(k), at(static_cast<double>(k)));
  recorder.handle(an_evaluation(30, 0.625), at(30));
  Ended ended{Outcome::finished, "", {}};
  ended.progress.seconds = 75;
  recorder.handle(ended, at(31));

  const Verdict v = recorder.verdict();
  EXPECT_EQ(v.outcome, Outcome::finished);
  EXPECT_EQ(v.accuracy, 0.625);
  EXPECT_EQ(v.rounds, 30U);
  EXPECT_EQ(v.seconds, 75);
  EXPECT_THAT(v.samples_per_second, DoubleNear(3000 / 12.5, 1e-9));
  EXPECT_THAT(v.steady_samples_per_second, DoubleNear(800, 1e-9));
  EXPECT_THAT(recorder.summary(),
              AllOf(HasSubstr("finished\n"), HasSubstr("62.50 %   (best 75.00 %, round 10)"),
                    HasSubstr("1:15   (30 rounds)"), HasSubstr("240   (800 after the tenth round)"),
                    HasSubstr("fast                75.0 samples in 100.00 ms a round"),
                    HasSubstr("slow                25.0 samples in 391.67 ms a round"), HasSubstr("none"),
                    HasSubstr(root_ + "/run"), Not(HasSubstr("warning"))));
}

// Equal shares for unequal workers, until the speed curves are known: 0.3 s instead of the possible 0.15 s.
TEST_F(RecorderTest, PercentOfIdealComesFromMeasuredCurves) {
  Recorder recorder(file_, run(), bar_);
  for (Round k = 0; k < 60; ++k) {
    RoundRecord r = a_round(k);
    const double share = 50 + static_cast<double>(k % 5) - 2;  // a curve needs more than one share
    r.parts = {{0, "fast", static_cast<std::uint64_t>(share), share * 0.002},
               {1, "slow", static_cast<std::uint64_t>(100 - share), (100 - share) * 0.006}};
    r.seconds = (100 - share) * 0.006;
    recorder.handle(r, at(static_cast<double>(k)));
  }
  EXPECT_THAT(recorder.verdict().percent_of_ideal, DoubleNear(50, 3));
  EXPECT_THAT(recorder.verdict().efficiency, DoubleNear(0.5, 0.03))
      << "333 of the possible 500 + 167 samples per second";
  EXPECT_THAT(recorder.verdict().computing, DoubleNear(1, 1e-9))
      << "the slow worker computes for the whole round";
  recorder.handle(Ended{Outcome::finished, "", {}}, at(60));
  EXPECT_THAT(lines().back()["efficiency"].get<double>(), DoubleNear(0.15 / 0.288, 1e-9))
      << "efficiency of the last round";
  EXPECT_THAT(recorder.summary(), HasSubstr("efficiency          50 %   (computing: 100 % of a round)"));
}

// Without a barrier the ideal is undefined (docs/benchmarks.md).
TEST_F(RecorderTest, WithoutABarrierThereIsNoPercentOfIdeal) {
  file_.job.sync = parse_sync("asp");
  Recorder recorder(file_, run(), bar_);
  for (Round k = 0; k < 20; ++k) recorder.handle(a_round(k), at(static_cast<double>(k)));
  EXPECT_EQ(recorder.verdict().percent_of_ideal, -1);
  EXPECT_EQ(recorder.verdict().efficiency, -1);
  recorder.handle(Ended{Outcome::finished, "", {}}, at(20));
  EXPECT_THAT(recorder.summary(), AllOf(Not(HasSubstr("percent of ideal")), Not(HasSubstr("efficiency"))));
  EXPECT_TRUE(lines()[15]["percent_of_ideal"].is_null());
  EXPECT_TRUE(lines()[15]["efficiency"].is_null());
}

// The score of a script may give only a loss, which may be negative.
TEST_F(RecorderTest, WithoutAnAccuracyTheTestLossIsShown) {
  Recorder recorder(file_, run(), bar_);
  recorder.show_on(std::make_unique<TensorboardFile>(run().tensorboard(), 1e9));
  RoundRecord round = a_round(0), first = an_evaluation(1, -1), second = an_evaluation(2, -1);
  round.accuracy = -1;
  first.loss = -2.5, second.loss = -1.25;
  for (const RoundRecord& it : {round, first, second}) recorder.handle(it, at(1));
  round.round = 3;
  recorder.handle(round, at(20));
  recorder.handle(Ended{Outcome::finished, "", {}}, at(21));
  for (const auto& line : lines()) EXPECT_TRUE(line["accuracy"].is_null());
  const auto result = nlohmann::json::parse(verdict_json(recorder.verdict()));
  EXPECT_TRUE(result["accuracy"].is_null());
  EXPECT_EQ(result["test_loss"], -1.25);
  EXPECT_THAT(recorder.summary(), AllOf(HasSubstr("test loss           -1.2500   (best -2.5000, round 1)"),
                                        Not(HasSubstr("accuracy"))));
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("test loss -1.2500"), Not(HasSubstr("acc"))));
  EXPECT_THAT(folder_.text("run/tensorboard/events.out.tfevents.1000000000.steelyard"),
              AllOf(HasSubstr("test/loss"), Not(HasSubstr("accuracy"))));
}

TEST_F(RecorderTest, FewRoundsHaveNoSteadyRate) {
  Recorder recorder(file_, run(), bar_);
  recorder.handle(a_round(0), at(1));
  EXPECT_EQ(recorder.verdict().steady_samples_per_second, -1);
  EXPECT_EQ(recorder.verdict().outcome, Outcome::running);
  EXPECT_EQ(recorder.verdict().accuracy, -1);
  EXPECT_THAT(recorder.summary(),
              AllOf(HasSubstr("not ended"), HasSubstr("few rounds"), Not(HasSubstr("tenth"))));
}

TEST_F(RecorderTest, TheVerdictNamesTheNewestCheckpoint) {
  Recorder recorder(file_, run(), bar_);
  Snapshot s;
  append(s.layout, "w", {2});
  s.layout.slice_size = 16;
  s.parameters = {1, 2};
  for (const Version version : {9, 10}) {
    s.progress.version = version;
    write_checkpoint(run().checkpoints(), s);
  }
  recorder.handle(Ended{Outcome::interrupted, "ended on request", {}}, at(1));
  EXPECT_EQ(recorder.verdict().checkpoint, root_ + "/run/checkpoints/10");
  EXPECT_THAT(recorder.summary(),
              AllOf(HasSubstr("interrupted: ended on request\n"), HasSubstr("/checkpoints/10\n")));
}

TEST_F(RecorderTest, AFullDiskCausesOneWarning) {
  const RunDirectory full = run();
  fs::create_symlink("/dev/full", full.rounds());
  Recorder recorder(file_, full, bar_);
  for (Round k = 0; k < 20; ++k) recorder.handle(a_round(k), at(static_cast<double>(k)));
  recorder.handle(Ended{}, at(30));
  const std::string shown = out_.str();
  const std::size_t first =
      shown.find("warning: " + full.rounds() + " cannot be written (No space left on device)");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(shown.find("warning", first + 1), std::string::npos);
  EXPECT_THAT(recorder.summary(), HasSubstr(full.rounds() + " is not complete: No space left on device"));
  EXPECT_EQ(recorder.verdict().rounds, 20U);
}

}  // namespace
}  // namespace steelyard::recorder_test
