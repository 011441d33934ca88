// Errors in user code, in whole processes: each is reported once with its place, and no worker is restarted
// repeatedly.
#include <gmock/gmock.h>

#include <new>

#include "app/processes/endpoint.h"
#include "core/error.h"
#include "tests/support/process_run.h"

namespace steelyard::process_user_code_test {
namespace {

using testing::HasSubstr;

class UserCode : public ProcessTest {
 protected:
  // Returns the output of `train` and all its processes, and sets its exit code.
  std::string train_with(const std::vector<std::string>& settings, int& code) {
    const std::string job =
        write("own.toml",
              "[model]\nname = \"wide\"\n[data]\nname = \"spoilt\"\n[train]\nbatch = 100\nepochs = 1\n"
              "[cluster]\nservers = 1\n[[worker]]\n");
    std::vector<std::string> arguments{"train", job, "--run-dir", path("run")};
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    Process run(path("log"), arguments, {}, "steelyard_spoilt");
    code = run.code().value_or(-1);
    EXPECT_TRUE(run.living().empty());
    std::string output = run.output();
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(path("run") + "/log", ignored))
      output += text_of(entry.path());
    return output;
  }
  static std::size_t times(const std::string& what, const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
    return count;
  }
};

TEST_F(UserCode, ExceptionsInPrepareAreReportedBeforeAnythingStarts) {
  int code = 0;
  EXPECT_THAT(train_with({"data.how=prepare"}, code),
              testing::MatchesRegex(
                  "[^ ]+ error   steelyard: data set 'spoilt': it threw an exception: no such table\n"))
      << "nothing else";
  EXPECT_EQ(code, 1);
}

TEST_F(UserCode, ALabelOutOfRangeIsReportedWithItsSample) {
  int code = 0;
  const std::string output = train_with({"data.how=label"}, code);
  EXPECT_THAT(output, HasSubstr("data set 'spoilt', training sample 301 (position "));
  EXPECT_THAT(output, HasSubstr(" of epoch 1): its label is 3, and with 3 classes labels go from 0 to 2"));
  EXPECT_NE(code, 0);
}

TEST_F(UserCode, ExceptionsInReadAreReportedWithTheSample) {
  int code = 0;
  EXPECT_THAT(train_with({"data.how=throw"}, code),
              HasSubstr(" of epoch 1): it threw an exception: the table is gone"));
  EXPECT_NE(code, 0);
}

TEST_F(UserCode, AModelTooLargeForAnyMachineIsReported) {
  int code = 0;
  EXPECT_THAT(train_with({"model.width=8000000"}, code),
              HasSubstr("steelyard: the model has 64000056000003 parameters, 256000224 MB, in more than "));
  EXPECT_EQ(code, 78);
}

TEST(MemoryCheck, ReportsTheRoleAndTheSizeOfTheModel) {
  Job job;
  job.model = "wide";
  append(job.layout, "w", {1'000'000});
  try {
    memory_check("a worker", job, [] { throw std::bad_alloc(); });
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::failed);
    EXPECT_THAT(failure.what(),
                testing::StartsWith("not enough memory for a worker: model 'wide' has 1000000 "
                                    "parameters, 5 MB, and it holds them several times"));
  }
}

}  // namespace
}  // namespace steelyard::process_user_code_test
