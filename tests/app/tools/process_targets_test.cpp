// Models that predict numbers, or several answers of 0 and 1, from a table to the exported file: train, eval,
// predict, inspect, status, runs and export, as a user does.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "core/json.h"
#include "tests/support/process_run.h"

namespace steelyard::process_targets_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int train_rows = 120, test_rows = 30;

// Price and weight follow from size and age; "large" and "new" are answers.
std::string table(int begin, int end, bool labels) {
  std::ostringstream text;
  text << "size,age" << (labels ? ",price,weight,large,new" : "") << '\n';
  for (int i = begin; i < end; ++i) {
    const int size = 40 + i * 37 % 160, age = i * 23 % 90;
    text << size << ',' << age;
    if (labels)
      text << ',' << 250000 + 2000 * size - 900 * age << ',' << 0.5 + 0.01 * size << ','
           << (size > 120 ? 1 : 0) << ',' << (age < 40 ? 1 : 0);
    text << '\n';
  }
  return text.str();
}

std::vector<std::vector<double>> numbers_of(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);  // names
  std::vector<std::vector<double>> rows;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(std::stod(field));
  }
  return rows;
}

class ProcessTargets : public ProcessTest {
 protected:
  void train_on(const std::string& loss, const std::string& label, const std::string& more = "") {
    const std::string job =
        write("own.toml", "[model]\nname = \"mlp\"\nhidden = [16]\nloss = \"" + loss +
                              "\"\n[data]\nname = \"csv\"\ntrain = \"" +
                              write("train.csv", table(0, train_rows, true)) + "\"\ntest = \"" +
                              write("test.csv", table(train_rows, train_rows + test_rows, true)) +
                              "\"\ncolumns = [\"size\", \"age\"]\nlabel = " + label + "\n" + more +
                              "[train]\nbatch = 20\nepochs = 60\noptimizer = \"adam\"\nlr = 0.02\n"
                              "[[worker]]\nthreads = 1\n[[worker]]\nthreads = 2\n");
    ASSERT_EQ(run({"train", job, "--run-dir", path("own")}), 0) << said_;
  }
  std::string output(const std::vector<std::string>& arguments) {
    EXPECT_EQ(run(arguments), 0) << said_;
    return said_;
  }
  double metric(const std::string& name) {
    const std::size_t at = said_.find("  " + name + " ");
    return at == std::string::npos ? NAN : std::stod(said_.substr(at + 2 + name.size()));
  }
};

TEST_F(ProcessTargets, NumbersAreLearnedAndPredictedInTheirUnits) {
  train_on("mse", "\"price\"");
  EXPECT_THAT(said_, AllOf(HasSubstr("test loss"), HasSubstr("test RMSE"), Not(HasSubstr("accuracy"))));
  EXPECT_EQ(parse_json(text_of(path("own/result.json")))["accuracy"], nullptr);
  EXPECT_TRUE(parse_json(text_of(path("own/result.json")))["test_loss"].is_number());
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"status", path("own")}, {"runs", folder_.path()}, {"inspect", path("own")}})
    EXPECT_THAT(output(command), AllOf(HasSubstr("RMSE"), Not(HasSubstr("accuracy")))) << command.front();
  output({"report", path("own"), "--output", path("run.html")});
  EXPECT_THAT(text_of(path("run.html")), HasSubstr("test RMSE"));
  EXPECT_THAT(output({"inspect", path("own")}),
              AllOf(HasSubstr("targets"), HasSubstr("1 name: price"), HasSubstr("size, age; label price")));

  EXPECT_THAT(output({"eval", path("own")}), AllOf(HasSubstr("30 test samples"), Not(HasSubstr("accuracy"))));
  const double rmse = metric("RMSE"), mae = metric("MAE"), r2 = metric("R2");
  EXPECT_GT(r2, 0.98);
  EXPECT_LT(rmse, 20000);
  EXPECT_NEAR(parse_json(text_of(path("own/result.json")))["rmse"].get<double>(), rmse, 1e-4 * rmse);
  const std::string of_test_set = output({"predict", path("own")});
  EXPECT_THAT(of_test_set, StartsWith("sample,price,price_label\n0,"));
  double squares = 0, distances = 0;
  for (const auto& row : numbers_of(of_test_set)) {
    squares += std::pow(row[1] - row[2], 2) / test_rows;
    distances += std::abs(row[1] - row[2]) / test_rows;
  }
  EXPECT_NEAR(std::sqrt(squares), rmse, 1) << "the metrics are those of the predictions";
  EXPECT_NEAR(distances, mae, 1);

  // The checkpoint is enough, with labels and without.
  const std::string bare = write("new.csv", table(train_rows, train_rows + test_rows, false));
  const std::string labelled = write("labelled.csv", table(train_rows, train_rows + test_rows, true));
  std::filesystem::remove(path("train.csv"));
  std::filesystem::remove(path("test.csv"));
  EXPECT_EQ(output({"predict", path("own"), "--input", labelled}), of_test_set);
  EXPECT_THAT(output({"predict", path("own"), "--input", bare}), StartsWith("sample,price\n0,"));
  output({"eval", path("own"), "--input", labelled});
  EXPECT_NEAR(metric("RMSE"), rmse, 1e-3 * rmse);
  EXPECT_EQ(run({"eval", path("own"), "--input", bare}), 74);
  EXPECT_THAT(said_, HasSubstr("new.csv: it has no labels"));
}

TEST_F(ProcessTargets, SeveralTargetsHaveTheirNamesAndMetrics) {
  train_on("mae", "[\"price\", \"weight\"]");
  EXPECT_THAT(output({"eval", path("own")}),
              AllOf(HasSubstr("(mean of the targets)"), HasSubstr("target"), HasSubstr("\n  weight  ")));
  EXPECT_GT(metric("R2"), 0.9);
  const std::string predicted = output({"predict", path("own")});
  EXPECT_THAT(predicted, StartsWith("sample,price,weight,price_label,weight_label\n0,"));
  for (const auto& row : numbers_of(predicted)) {
    EXPECT_NEAR(row[1], row[3], 150000);
    EXPECT_NEAR(row[2], row[4], 0.5);
  }
  EXPECT_THAT(output({"inspect", path("own")}), HasSubstr("size, age; labels price, weight"));
  output({"export", path("own"), "--to", path("m.onnx"), "--to", path("m.py"), "--to", path("m.pt")});
  EXPECT_THAT(text_of(path("m.onnx")), AllOf(HasSubstr("scores"), Not(HasSubstr("probabilities")),
                                             HasSubstr("[\"price\",\"weight\"]")));
  EXPECT_THAT(
      text_of(path("m.py")),
      AllOf(HasSubstr("TARGETS = [\"price\", \"weight\"]"),
            HasSubstr("* self._target_deviation + self._target_mean"),
            HasSubstr("[samples, targets], in the units of the data; trained with the mean absolute")));
}

TEST_F(ProcessTargets, AnswersHaveProbabilitiesAndAnExactMatch) {
  train_on("bce", "[\"large\", \"new\"]");
  EXPECT_THAT(said_, HasSubstr("test accuracy"));
  const double exact = accuracy("own");
  EXPECT_GT(exact, 0.8);
  EXPECT_THAT(output({"eval", path("own")}),
              AllOf(HasSubstr("all targets right"), HasSubstr("macro F1"), HasSubstr("AUC"),
                    Not(HasSubstr("RMSE")), HasSubstr("ones  precision  recall")));
  EXPECT_NEAR(metric("exact match"), 100 * exact, 0.01) << "the accuracy of the training";
  const std::string predicted = output({"predict", path("own")});
  EXPECT_THAT(predicted, StartsWith("sample,large,new,large_label,new_label\n0,"));
  int right = 0;
  for (const auto& row : numbers_of(predicted)) {
    EXPECT_TRUE(row[1] >= 0 && row[1] <= 1);
    right += (row[1] > 0.5) == (row[3] > 0.5) && (row[2] > 0.5) == (row[4] > 0.5) ? 1 : 0;
  }
  EXPECT_NEAR(right, exact * test_rows, 0.01);
  output({"export", path("own"), "--to", path("m.onnx")});
  EXPECT_THAT(text_of(path("m.onnx")), AllOf(HasSubstr("Sigmoid"), HasSubstr("probabilities")));
}

TEST_F(ProcessTargets, ASimulatedTrainingHasALossAndNoAccuracy) {
  const std::string rows = write("t.csv", table(0, 90, true));
  const std::string scenario =
      write("s.toml",
            "[job]\npolicy = \"equal\"\nglobal_batch = 30\nepochs = 2\ntrain = true\nmodel = \"mlp\"\n"
            "data = \"csv\"\n[model]\nhidden = [4]\nloss = \"mse\"\n[data]\ntrain = \"" +
                rows + "\"\ntest = \"" + rows +
                "\"\nlabel = \"price\"\n[[worker]]\nname = \"a\"\ntime_ms = [1, 0.1]\n");
  EXPECT_THAT(output({"simulate", scenario}), AllOf(HasSubstr("test loss"), Not(HasSubstr("accuracy"))));
}

TEST_F(ProcessTargets, AnAccuracyToReachIsRefused) {
  const std::string job =
      write("bad.toml", "[model]\nname = \"mlp\"\nloss = \"mse\"\n[data]\nname = \"csv\"\ntrain = \"" +
                            write("t.csv", table(0, 9, true)) + "\"\ntest = \"" + path("t.csv") +
                            "\"\n[train]\nbatch = 3\ntarget_accuracy = 0.9\n[[worker]]\n");
  EXPECT_EQ(run({"train", job, "--run-dir", path("bad")}), 78);
  EXPECT_THAT(said_, AllOf(HasSubstr("target_accuracy = 0.9 in [train]"), HasSubstr("leave it out")));
}

}  // namespace
}  // namespace steelyard::process_targets_test
