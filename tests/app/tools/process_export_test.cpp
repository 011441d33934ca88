// `steelyard export` through the binary. tests/bindings/python/test_export.py and test_pypi_export.py run the
// files.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/support/process_run.h"

namespace steelyard::process_export_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ProcessExport : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(run(train("run", {"train.epochs=1"})), 0) << said_;
  }
};

TEST_F(ProcessExport, WritesEachFileInTheFormatOfItsEnding) {
  ASSERT_EQ(run({"export", path("run"), "--to", path("m.onnx"), "--to", path("m.pt"), "--to", path("m.py")}),
            0)
      << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("m.onnx: an ONNX model"), HasSubstr("m.pt: a state_dict"),
                           HasSubstr("m.py: the model for PyTorch")));
  EXPECT_THAT(text_of(path("m.onnx")), AllOf(HasSubstr("steelyard"), HasSubstr("fc.weight")));
  EXPECT_THAT(text_of(path("m.pt")), StartsWith("PK"));
  EXPECT_THAT(text_of(path("m.py")), HasSubstr("class Model(nn.Module):"));
}

TEST_F(ProcessExport, NeedsNoDataOfTheJob) {
  std::string job = text_of(path("run/job.toml"));
  const std::size_t begin = job.find("[data]"), end = job.find("\n[", begin);
  ASSERT_NE(end, std::string::npos);
  job.replace(begin, end - begin, "[data]\nname = \"idx\"\ndir = \"/nowhere\"\n");
  write("run/job.toml", job);
  ASSERT_EQ(run({"export", path("run"), "--to", path("m.onnx")}), 0) << said_;
}

TEST_F(ProcessExport, RefusesWhatItCannotWrite) {
  EXPECT_EQ(run({"export", path("run"), "--to", path("m.h5")}), 2);
  EXPECT_THAT(said_, AllOf(HasSubstr("--to " + path("m.h5")), HasSubstr("'.h5' is of no known format"),
                           HasSubstr("give FILE.onnx, FILE.pt")));
  EXPECT_EQ(run({"export", path("run"), "--to", path("none/m.pt")}), 74);
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  EXPECT_EQ(run({"export", path("nothing"), "--to", path("m.pt")}), 74);
  EXPECT_THAT(said_, HasSubstr("is neither a checkpoint nor a run"));
}

}  // namespace
}  // namespace steelyard::process_export_test
