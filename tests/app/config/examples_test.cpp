// The example jobs can be read, and their resolved text reads back the same.
#include <gmock/gmock.h>

#include <filesystem>

#include "app/config/job_file.h"
#include "tests/support/own_registry.h"

namespace steelyard::examples_test {
namespace {

TEST(Examples, AllJobsCanBeRead) {
  const auto root = std::filesystem::path(__FILE__).parent_path() / ".." / ".." / "..";
  // The declarations of examples/own_model.cpp and own_engine.cpp; nothing is created from them here.
  const OwnRegistry own(
      {.models = {{"perceptron", nullptr, "", {whole_option("width", 32, 1, 4096, "units")}}},
       .engines = {{"logistic", nullptr}},
       .data_sets = {{"rings", nullptr, "", {whole_option("samples", 50000, 10, 1'000'000, "samples")}}}});
  ASSERT_TRUE(std::filesystem::exists(root / "examples" / "jobs" / "demo.toml"));
  for (const auto& entry : std::filesystem::directory_iterator(root / "examples" / "jobs")) {
    const JobFile file = read_job_file(entry.path().string());
    EXPECT_EQ(parse_job(file.resolved, "resolved").resolved, file.resolved);
  }
}

}  // namespace
}  // namespace steelyard::examples_test
