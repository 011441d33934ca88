// Options of a data set that are lists (core/option_list.h): in a job file, in its resolved copy, and in
// --set.
#include <gmock/gmock.h>

#include "app/config/job_file.h"
#include "core/error.h"

namespace steelyard::job_lists_test {
namespace {

using ::testing::HasSubstr;

const std::string worker = "[[worker]]\nname = \"ada\"\n";
const std::string table = "[data]\nname = \"csv\"\ncolumns = [\"the height\", 3]\n";

TEST(JobLists, HoldTextsAndNumbers) {
  const JobFile file = parse_job(table + worker, "j.toml", {});
  EXPECT_EQ(file.job.data_options.at("columns"), R"(["the height","3"])");
  EXPECT_THAT(file.resolved, HasSubstr("columns = [\"the height\",\"3\"]\n"));
  EXPECT_EQ(parse_job(file.resolved, "resolved", {}).job.data_options, file.job.data_options);
}

TEST(JobLists, CanBeSet) {
  const JobFile file = parse_job(table + worker, "j.toml", {"data.columns=[\"x\"]"});
  EXPECT_EQ(file.job.data_options.at("columns"), R"(["x"])");
}

TEST(JobLists, OtherListsAreRefused) {
  for (const char* bad : {"[]", "[true]", "[[1]]"}) {
    try {
      parse_job("[data]\nname = \"csv\"\nskip = " + std::string(bad) + "\n" + worker, "j.toml", {});
      ADD_FAILURE() << bad;
    } catch (const Failure& failure) {
      EXPECT_THAT(failure.what(),
                  HasSubstr("j.toml:3:8: skip = a list in [data]: an option has a plain name "
                            "and is a text, a number, true, false or a list of texts or numbers"));
    }
  }
}

}  // namespace
}  // namespace steelyard::job_lists_test
