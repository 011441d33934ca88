#include "app/hosts/examination.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace steelyard::examination_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Facts change the working directory.
class ExaminationTest : public testing::Test {
 protected:
  ~ExaminationTest() override { std::filesystem::current_path(before_); }

  [[nodiscard]] Json facts(Json more = Json::object()) {
    more["ask"] = "facts";
    if (!more.contains("directory")) more["directory"] = folder_.path().string();
    return examination_.answer(more);
  }

  const std::filesystem::path before_ = std::filesystem::current_path();
  const TemporaryFolder folder_;
  Examination examination_;
};

constexpr const char* job = R"(
[model]
name = "softmax"
[data]
name = "synthetic"
[[worker]]
)";

Json load(const std::vector<std::string>& data, const std::string& device = "cpu") {
  return {{"worker", "ada"}, {"data", data}, {"device", device}, {"precision", "float32"}};
}

TEST_F(ExaminationTest, FactsDescribeTheMachine) {
  const Json answer = facts();
  EXPECT_EQ(answer["answer"], "facts");
  EXPECT_GT(answer["cores"], 0);
  EXPECT_GT(answer["memory_free"], 1'000'000);
  EXPECT_GT(answer["disk_free"], 0);
  EXPECT_EQ(answer["place"], std::filesystem::canonical(folder_.path()).string());
  EXPECT_EQ(answer["writable"], true);
}

TEST_F(ExaminationTest, AMissingDirectoryIsAnError) {
  const Json answer = facts({{"directory", "/no/such/place"}});
  EXPECT_THAT(answer["error"].get<std::string>(), AllOf(HasSubstr("/no/such/place"), HasSubstr("create it")));
}

TEST_F(ExaminationTest, DataIsLoadedAsAWorkerLoadsIt) {
  const Json answer =
      facts({{"job", job}, {"loads", {load({}), load({"dir=/nowhere"}), load({}, "cuda:7")}}});
  ASSERT_EQ(answer["loads"].size(), 3U);
  EXPECT_GT(answer["loads"][0]["parameters"], 0);
  EXPECT_THAT(answer["loads"][1]["error"].get<std::string>(), HasSubstr("no option 'dir'"));
  EXPECT_THAT(answer["loads"][2]["error"].get<std::string>(), HasSubstr("worker 'ada'"));
}

TEST_F(ExaminationTest, AScriptAndItsInterpreterMustBeThere) {
  std::ofstream(folder_.path() / "train.py") << "pass\n";
  EXPECT_EQ(facts({{"python", "sh"}, {"script", "train.py"}})["script"], "");
  EXPECT_THAT(facts({{"python", "sh"}, {"script", "other.py"}})["script"].get<std::string>(),
              HasSubstr("no script other.py"));
  EXPECT_THAT(facts({{"python", "no-such-python"}, {"script", "train.py"}})["script"].get<std::string>(),
              HasSubstr("STEELYARD_PYTHON"));
}

TEST_F(ExaminationTest, ListensAndConnects) {
  const Json end =
      examination_.answer({{"ask", "listen"}, {"host", "127.0.0.1"}, {"port", "0"}, {"token", "t"}});
  Json question{{"ask", "connect"}, {"host", "127.0.0.1"}, {"token", "t"}, {"speed", 0}};
  question["port"] = std::to_string(end["port"].get<unsigned>());
  EXPECT_GT(examination_.answer(question)["round_trip_s"], 0);
  question["token"] = "x";
  EXPECT_EQ(examination_.answer(question)["code"], 69);
}

TEST_F(ExaminationTest, TheClockIsThatOfTheMachine) {
  EXPECT_NEAR(examination_.answer({{"ask", "clock"}})["seconds"].get<double>(),
              static_cast<double>(::time(nullptr)), 60);
}

TEST_F(ExaminationTest, AnUnknownQuestionHasAnEmptyAnswer) {
  EXPECT_EQ(examination_.answer({{"ask", "weather"}}), Json({{"answer", "weather"}}));
  EXPECT_EQ(examination_.answer(parse_json("no JSON")), Json({{"answer", ""}}));
}

}  // namespace
}  // namespace steelyard::examination_test
