#include "app/hosts/errands.h"

#include <gmock/gmock.h>

#include <fstream>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::errands_test {
namespace {

Errand shell(const std::string& name, const std::string& script) { return {name, {"sh", "-c", script}}; }

TEST(Errands, EachHasItsOutputAndItsEnd) {
  std::vector<Errand> errands{shell("a", "echo one; echo two"),
                              shell("b", "echo bad >&2; echo worse >&2; exit 3")};
  run_all(errands);
  EXPECT_TRUE(errands[0].went_well());
  EXPECT_EQ(errands[0].output, "one\ntwo\n");
  EXPECT_FALSE(errands[1].went_well());
  EXPECT_EQ(errands[1].status >> 8, 3);
  EXPECT_EQ(errands[1].said(), "bad; worse");
}

// The second waits for the first.
TEST(Errands, RunAtTheSameTime) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "done").string();
  std::vector<Errand> errands{shell("waits", "while ! [ -e " + file + " ]; do sleep 0.01; done"),
                              shell("makes", "touch " + file)};
  run_all(errands);
  EXPECT_TRUE(errands[0].went_well());
}

TEST(Errands, AFileIsTheInputOfEach) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "text").string();
  std::ofstream(file) << "hello\n";
  std::vector<Errand> errands{shell("a", "cat"), shell("b", "cat"), shell("c", "cat")};
  errands[0].input = errands[1].input = file;
  run_all(errands);
  EXPECT_EQ(errands[0].output, "hello\n");
  EXPECT_EQ(errands[1].output, "hello\n");
  EXPECT_EQ(errands[2].output, "") << "no input";
}

TEST(Errands, AMissingProgramFails) {
  std::vector<Errand> errands{{"a", {"no-such-program"}}};
  run_all(errands);
  EXPECT_FALSE(errands[0].went_well());
}

}  // namespace
}  // namespace steelyard::errands_test
