#include "app/launch/children.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.h"

namespace steelyard::children_test {
namespace {

// A log may contain arbitrary bytes.
TEST(Children, LastLinesOfALogAreEscaped) {
  const TemporaryFolder folder;
  const std::string log = (folder.path() / "worker.log").string();
  std::ofstream(log) << "one\ntwo\033[2J\nthree\r\n" << std::string(100'000, 'x');
  EXPECT_EQ(last_lines(log, 3).substr(0, 33), "  two\\x1b[2J\n  three\\x0d\n  xxxxxx");
  EXPECT_LT(last_lines(log, 3).size(), 2100U);
  EXPECT_EQ(last_lines(log + ".not", 3), "");
}

}  // namespace
}  // namespace steelyard::children_test
