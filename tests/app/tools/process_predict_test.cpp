// Tables from a spreadsheet to the last prediction: train, inspect, eval and predict on raw values, as a user
// does.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/process_run.h"

namespace steelyard::process_predict_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::array names{"cat", "dog", "mouse"};
constexpr std::size_t train_rows = 120, test_rows = 30;

// Rows of three kinds that differ, in columns of unlike size and far from zero.
struct Row {
  std::array<double, 3> values;  // height, weight, length
  std::size_t kind;
};
Row row(std::size_t i) {
  const std::size_t kind = i % 3;
  const auto k = static_cast<double>(kind), noise = static_cast<double>(i * 7 % 11) / 11;
  return {{100 + 20 * k + 5 * noise, 0.001 * (k + noise / 4), -5000 + (kind == 1 ? 800 : 0) + 50 * noise},
          kind};
}

// `label`: the text for each kind; nullptr: no label column.
std::string table(std::size_t begin, std::size_t end, const char* const* label,
                  const std::string& separator = ",") {
  std::ostringstream text;
  text << "height" << separator << "weight" << separator << "length"
       << (label != nullptr ? separator + "kind" : "") << "\r\n";
  for (std::size_t i = begin; i < end; ++i) {
    const auto [values, kind] = row(i);
    text << values[0] << separator << values[1] << separator << values[2];
    if (label != nullptr) text << separator << label[kind];
    text << "\r\n";
  }
  return text.str();
}

// An array in numpy's file format.
std::string npy(const std::string& type, const std::string& shape, const std::string& bytes) {
  const std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  return std::string("\x93NUMPY\x01") + '\0' + static_cast<char>(header.size()) + '\0' + header + bytes;
}
std::string values_npy(std::size_t begin, std::size_t end) {
  std::string bytes;
  for (std::size_t i = begin; i < end; ++i) {
    for (const double value : row(i).values) {
      const auto raw = static_cast<float>(value);
      bytes.append(reinterpret_cast<const char*>(&raw), sizeof raw);
    }
  }
  return npy("<f4", "(" + std::to_string(end - begin) + ", 3)", bytes);
}
std::string kinds_npy(std::size_t begin, std::size_t end) {
  std::string bytes;
  for (std::size_t i = begin; i < end; ++i) bytes += static_cast<char>(row(i).kind);
  return npy("|u1", "(" + std::to_string(end - begin) + ",)", bytes);
}

// The lines of a prediction without their last column.
std::string without_labels(const std::string& text) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);) all += line.substr(0, line.rfind(',')) + '\n';
  return all;
}

class ProcessPredict : public ProcessTest {
 protected:
  // Trains on data from this [data] section.
  void train_on(const std::string& data) {
    const std::string job = write("own.toml", "[model]\nname = \"softmax\"\n[data]\n" + data +
                                                  "\n[train]\nbatch = 20\nepochs = 20\nlr = 0.5\n"
                                                  "[[worker]]\nname = \"ada\"\nthreads = 1\n");
    ASSERT_EQ(run({"train", job, "--run-dir", path("own")}), 0) << said_;
  }
  void train_on_tables(const std::string& train, const std::string& test, const std::string& more = "") {
    train_on("name = \"csv\"\ntrain = \"" + write("train.csv", train) + "\"\ntest = \"" +
             write("test.csv", test) + "\"\n" + more);
  }
  std::string predicted(const std::string& input, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"predict", path("own"), "--input", input};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(run(arguments), 0) << said_;
    return said_;
  }
};

TEST_F(ProcessPredict, ATableIsTrainedAndPredictedWithItsNames) {
  // As Excel writes them in Europe and in America.
  train_on_tables("\xEF\xBB\xBF" + table(0, train_rows, names.data(), ";"),
                  table(train_rows, train_rows + test_rows, names.data()));
  EXPECT_EQ(accuracy("own"), 1);
  ASSERT_EQ(run({"predict", path("own")}), 0) << said_;
  const std::string of_test_set = said_;
  EXPECT_THAT(of_test_set, AllOf(StartsWith("sample,class,probability,label\n0,cat,"),
                                 HasSubstr(",cat\n1,dog,"), HasSubstr(",dog\n2,mouse,")));
  EXPECT_EQ(predicted(path("test.csv")), of_test_set) << "raw values are normalised as in training";

  ASSERT_EQ(run({"inspect", path("own")}), 0) << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("3 names: cat, dog, mouse"), HasSubstr("height, weight, length; label kind")));
  EXPECT_THAT(text_of(path("own/checkpoints/" + std::to_string(newest_checkpoint("own").progress.version) +
                           "/MANIFEST.json")),
              AllOf(HasSubstr("\"mouse\""), HasSubstr("\"length\"")));

  // The checkpoint is enough.
  const std::string bare = write("new.csv", table(train_rows, train_rows + test_rows, nullptr, "\t"));
  const std::string labelled = write("labelled.csv", table(train_rows, train_rows + test_rows, names.data()));
  std::filesystem::remove(path("train.csv"));
  std::filesystem::remove(path("test.csv"));
  EXPECT_EQ(predicted(bare), without_labels(of_test_set));
  EXPECT_EQ(predicted(labelled), of_test_set);
  EXPECT_EQ(predicted(write("new.npy", values_npy(train_rows, train_rows + test_rows))),
            without_labels(of_test_set));
  ASSERT_EQ(run({"eval", path("own"), "--input", labelled}), 0) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("test accuracy       100.00 %   (30 of 30)"),
                           HasSubstr("macro F1            1.0000"), HasSubstr("AUC                 1.0000"),
                           Not(HasSubstr("top-5")), HasSubstr("mouse       10     1.0000  1.0000  1.0000")));
  EXPECT_EQ(run({"eval", path("own"), "--input", bare}), 74);
  EXPECT_THAT(said_, HasSubstr("new.csv: it has no labels"));
  EXPECT_EQ(run({"eval", path("own"), "--input", write("cow.csv", "kind,height,weight,length\ncow,1,2,3\n")}),
            74);
  EXPECT_THAT(said_, HasSubstr("label 'cow' is not among those of the training set"));
}

TEST_F(ProcessPredict, EvalGivesTheAccuracyOfTheTraining) {
  train_on_tables(table(0, train_rows, names.data()),
                  table(train_rows, train_rows + test_rows, names.data()));
  ASSERT_EQ(run({"eval", path("own")}), 0) << said_;
  const std::string of_test_set = said_.substr(said_.find("  test loss"));
  ASSERT_EQ(run({"eval", path("own"), "--input", path("test.csv")}), 0) << said_;
  EXPECT_EQ(said_.substr(said_.find("  test loss")), of_test_set);
}

// The class of each line is that of the highest score.
TEST_F(ProcessPredict, ScoresAreAnArrayOfNumpy) {
  train_on_tables(table(0, train_rows, names.data()),
                  table(train_rows, train_rows + test_rows, names.data()));
  ASSERT_EQ(run({"predict", path("own"), "--scores", path("scores.npy")}), 0) << said_;
  const std::string file = text_of(path("scores.npy"));
  EXPECT_THAT(file, AllOf(StartsWith("\x93NUMPY\x01"), HasSubstr("'descr': '<f4'"), HasSubstr("(30, 3)")));
  const std::size_t begin = file.find('\n') + 1;
  EXPECT_EQ(begin % 64, 0U);
  ASSERT_EQ(file.size(), begin + test_rows * 3 * sizeof(float));
  std::istringstream lines(said_);
  std::string line;
  std::getline(lines, line);
  for (std::size_t i = 0; std::getline(lines, line); ++i) {
    std::array<float, 3> scores{};
    std::memcpy(scores.data(), file.data() + begin + i * sizeof scores, sizeof scores);
    const auto best = std::ranges::max_element(scores) - scores.begin();
    EXPECT_THAT(line, HasSubstr("," + std::string(names[static_cast<std::size_t>(best)]) + ","));
  }
}

TEST_F(ProcessPredict, ColumnsAreSkippedAndMissingValuesFilledAsInTraining) {
  std::string train = "id,height,note,kind\n", test = "note,kind,height\n";
  for (std::size_t i = 0; i < train_rows; ++i) {
    const auto [values, kind] = row(i);
    const std::string height = i % 10 == 0 ? "" : std::to_string(values[0]);
    train += std::to_string(i) + "," + height + ",\"some, text\"," + names[kind] + "\n";
  }
  for (const char* height : {"100", "NA", "140"}) test += std::string("x,cat,") + height + "\n";
  train_on_tables(train, test, "skip = [\"id\", 3]\nmissing = \"mean\"\n");
  ASSERT_EQ(run({"predict", path("own")}), 0) << said_;
  const std::string of_test_set = said_;
  EXPECT_THAT(of_test_set, AllOf(HasSubstr("0,cat,"), HasSubstr("2,mouse,")));
  EXPECT_EQ(predicted(path("test.csv")), of_test_set);
  const std::string some =
      predicted(write("drop.csv", "height\n100\nNA\n140\n"), {"--set", "data.missing=drop"});
  EXPECT_THAT(some, AllOf(HasSubstr("leaves out 1 record with missing values"), HasSubstr("\n0,cat,"),
                          Not(HasSubstr("\n1,")), HasSubstr("\n2,mouse,")));
}

TEST_F(ProcessPredict, RawFloatsOfArraysAreNormalisedAsInTraining) {
  const std::string inputs = write("test_x.npy", values_npy(train_rows, train_rows + test_rows));
  train_on("name = \"npy\"\ntrain_inputs = \"" + write("x.npy", values_npy(0, train_rows)) +
           "\"\ntrain_labels = \"" + write("y.npy", kinds_npy(0, train_rows)) + "\"\ntest_inputs = \"" +
           inputs + "\"\ntest_labels = \"" +
           write("test_y.npy", kinds_npy(train_rows, train_rows + test_rows)) + "\"");
  EXPECT_EQ(accuracy("own"), 1);
  ASSERT_EQ(run({"predict", path("own")}), 0) << said_;
  const std::string wanted = without_labels(said_);
  EXPECT_EQ(predicted(inputs), wanted);
  EXPECT_EQ(predicted(write("new.csv", table(train_rows, train_rows + test_rows, nullptr))), wanted);
  const std::string note = predicted(inputs, {"--normalized"});
  EXPECT_THAT(note, AllOf(HasSubstr("standard deviations away from that of the training data"),
                          HasSubstr("leave --normalized out")));
}

TEST_F(ProcessPredict, BytesOfArraysAreNotPixels) {
  std::string bytes, labels;
  for (std::size_t i = 0; i < 64; ++i) {
    bytes += static_cast<char>(10 + i % 2 * 200);
    bytes += static_cast<char>(i * 5 % 7);
    labels += static_cast<char>(i % 2);
  }
  const std::string x = write("x.npy", npy("|u1", "(64, 2)", bytes)),
                    y = write("y.npy", npy("|u1", "(64,)", labels));
  train_on("name = \"npy\"\ntrain_inputs = \"" + x + "\"\ntrain_labels = \"" + y + "\"\ntest_inputs = \"" +
           x + "\"\ntest_labels = \"" + y + "\"");
  ASSERT_EQ(run({"predict", path("own")}), 0) << said_;
  EXPECT_EQ(predicted(x), without_labels(said_));
}

TEST_F(ProcessPredict, OtherFilesAreRefusedByTheirFormat) {
  train_on_tables(table(0, train_rows, names.data()),
                  table(train_rows, train_rows + test_rows, names.data()));
  const auto refused = [&](const std::string& name, const std::string& text) {
    EXPECT_EQ(run({"predict", path("own"), "--input", write(name, text)}), 74);
    return said_;
  };
  EXPECT_THAT(refused("a.csv", "height,weight\n1,2\n"),
              AllOf(HasSubstr("a.csv:1: its columns are not those of the data that the model was trained on"),
                    HasSubstr("there is no column 'length'")));
  EXPECT_THAT(refused("b.csv", std::string("h\0e\0", 4)), HasSubstr("it is UTF-16, or not a text"));
  EXPECT_THAT(refused("c.npy", "height"), HasSubstr("c.npy, byte 0: expected an array of NumPy (.npy)"));
}

TEST_F(ProcessPredict, AllFactsAreJson) {
  train_on_tables(table(0, train_rows, names.data()),
                  table(train_rows, train_rows + test_rows, names.data()));
  const auto facts = [&](const std::string& command) {
    EXPECT_EQ(run({command, path("own"), "--json", "-"}), 0) << said_;
    return nlohmann::json::parse(said_);
  };
  const nlohmann::json inspected = facts("inspect");
  EXPECT_EQ(inspected["model"], "softmax");
  EXPECT_EQ(inspected["epoch"], 20);
  EXPECT_EQ(inspected["accuracy"], 1);
  EXPECT_EQ(inspected["parameters"], 12);
  EXPECT_EQ(inspected["tensors"][0]["shape"], nlohmann::json({3, 3}));
  EXPECT_EQ(inspected["column_names"][3], "kind");
  ASSERT_EQ(inspected["mean"].size(), 3U);
  ASSERT_EQ(run({"inspect", path("own")}), 0) << said_;
  EXPECT_THAT(said_,
              ::testing::ContainsRegex("  inputs +input 'height': .raw - [0-9]+[.][0-9]. / [0-9.]+\n +input "
                                       "'weight': .raw - 0[.][0-9]+. / [-0-9.e]+\n"));
  const nlohmann::json evaluated = facts("eval");
  EXPECT_EQ(evaluated["checkpoint"], inspected["checkpoint"]);
  EXPECT_EQ(evaluated["accuracy"], 1);
  EXPECT_EQ(evaluated["test_loss"], inspected["test_loss"]);
  EXPECT_EQ(evaluated["samples"], test_rows);
  EXPECT_EQ(evaluated["classes"][2]["class"], "mouse");
  EXPECT_EQ(evaluated["classes"][2]["f1"], 1);
  EXPECT_TRUE(evaluated["top_5_accuracy"].is_null());
  const nlohmann::json predicted = facts("predict")["samples"];
  ASSERT_EQ(predicted.size(), test_rows);
  EXPECT_EQ(predicted[1]["sample"], 1);
  EXPECT_EQ(predicted[1]["class"], "dog");
  EXPECT_EQ(predicted[1]["label"], "dog");
  EXPECT_GT(predicted[1]["probability"].get<double>(), 0.5);
  ASSERT_EQ(
      run({"inspect", inspected["checkpoint"].get<std::string>() + "/model.safetensors", "--json", "-"}), 0);
  EXPECT_EQ(nlohmann::json::parse(said_)["tensors"], inspected["tensors"]);
  for (const char* command : {"inspect", "eval", "predict"})
    EXPECT_EQ(run({command, path("own"), "--json", path("nowhere/it.json")}), 74) << command;
}

// As in `steelyard predict RUN | head -1`.
TEST_F(ProcessPredict, AReaderThatLeavesIsNoError) {
  train_on_tables(table(0, train_rows, names.data()),
                  table(train_rows, train_rows + test_rows, names.data()));
  const int code = run({"predict", path("own")}, [] {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) _exit(99);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(said_, "");
}

}  // namespace
}  // namespace steelyard::process_predict_test
