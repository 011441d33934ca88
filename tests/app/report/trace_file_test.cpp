#include "app/report/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::trace_file_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(TraceFile, CreatesItsDirectory) {
  const TemporaryFolder folder;
  const NodeId worker{Role::worker, 0x3f};
  const std::string directory = (folder.path() / "a" / "b").string();
  {
    TraceFile file(directory, worker, "fast");
    file.busy("Start", Time{milliseconds(1)}, Time{milliseconds(2)});
  }
  EXPECT_THAT(folder.text("a/b/" + to_string(worker) + ".jsonl"),
              AllOf(StartsWith("{"), HasSubstr("\"name\":\"fast\""), HasSubstr("\"busy\":\"Start\""),
                    HasSubstr("\"from\":1000.0")));
  const std::string blocked = folder.write("file", "").string() + "/trace";
  EXPECT_THAT([&] { TraceFile(blocked, worker, "fast"); },
              testing::ThrowsMessage<Failure>(AllOf(HasSubstr(blocked), HasSubstr("can be written"))));
}

}  // namespace
}  // namespace steelyard::trace_file_test
