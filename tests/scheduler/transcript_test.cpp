// Plays every transcript in tests/scheduler/transcripts and compares. After an intended change, run with
// STEELYARD_REWRITE=1 in the environment to rewrite the answers, and review the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/scheduler/transcript_script.h"

namespace steelyard::transcript_test {
namespace {

std::string played(const std::filesystem::path& path) {
  std::ifstream in(path);
  test::Script script;
  std::string text;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("    ")) continue;
    text += line + '\n';
    for (const std::string& answer : script.run(line)) text += "    " + answer + '\n';
  }
  EXPECT_EQ(script.replayed().sent, script.sent()) << path << ": the replayed journal gives other messages";
  return text;
}

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Transcripts, TheSchedulerSendsTheWrittenAnswers) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(STEELYARD_TRANSCRIPTS)) {
    if (entry.path().extension() != ".txt") continue;
    ++count;
    const std::string now = played(entry.path());
    EXPECT_EQ(now.find("BROKEN"), std::string::npos) << entry.path() << ":\n" << now;
    if (std::getenv("STEELYARD_REWRITE") != nullptr) {
      std::ofstream(entry.path()) << now;
    } else {
      EXPECT_EQ(now, read(entry.path())) << entry.path();
    }
  }
  EXPECT_GE(count, 10U);
}

}  // namespace
}  // namespace steelyard::transcript_test
