// Files and functions that fit a reader's head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/tidy/source_tree.h"

namespace steelyard::test::size_test {
namespace {

using ::testing::IsEmpty;

constexpr std::size_t longest_file = 500, longest_function = 60, longest_line = 110;

// Functions that may be longer: a part of the signature, and why.
const std::map<std::string, std::string> long_functions{
    {"TEST(JobFile, KeysSetTheMembersOfTheSameName)", "its text is one job file that has every key"},
    {"tested_elsewhere", "a table, one row a file"},
};

bool is_kernel(const SourceFile& file) {
  return file.ends_with(".kernel.cpp") || file.ends_with("_kernel.h");
}

struct Function {
  std::string signature;
  std::size_t first = 0, lines = 0;
};

// Counts braces. A function is a pair of braces at the outermost depth, or directly within namespaces and
// classes, with a parenthesis before it; lambdas and blocks inside count with their function.
class FunctionFinder {
 public:
  std::vector<Function> find(const SourceFile& file) {
    for (std::size_t i = 0; i < file.code.size(); ++i) {
      const std::string& line = file.code[i];
      if (line.starts_with('#')) continue;
      for (const char c : line) take(c, i + 1);
      head_ += ' ';
    }
    return found_;
  }

 private:
  void take(char c, std::size_t line) {
    if (inside_ > 0) {
      inside_ += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (inside_ == 0) {
        found_.back().lines = line - found_.back().first + 1;
        head_.clear();
      }
      return;
    }
    if (c == '(') ++round_;
    if (c == ')') --round_;
    if (c == '{' && round_ == 0) {
      if (opens_scope()) {
        head_.clear();
      } else {
        found_.push_back({head_, start_ == 0 ? line : start_, 1});
        inside_ = 1;
      }
      start_ = 0;
    } else if ((c == ';' || c == '}') && round_ == 0) {
      head_.clear();
      start_ = 0;
    } else {
      if (start_ == 0 && std::isspace(static_cast<unsigned char>(c)) == 0) start_ = line;
      head_ += c;
    }
  }
  // Whether what stands before the brace makes a namespace or a type; then functions are looked for inside.
  [[nodiscard]] bool opens_scope() const {
    if (head_.find('(') != std::string::npos && head_.find("operator") == std::string::npos &&
        head_.find("alignas") == std::string::npos) {
      return false;
    }
    return std::ranges::any_of(
        std::vector<std::string>{"namespace", "class ", "struct ", "union ", "extern"},
        [&](const std::string& word) { return head_.find(word) != std::string::npos; });
  }

  std::vector<Function> found_;
  std::string head_;       // of what may become a function
  std::size_t start_ = 0;  // its first line
  int inside_ = 0;         // depth of braces inside a function
  int round_ = 0;          // depth of parentheses outside of functions
};

TEST(Sizes, FilesHaveFiveHundredLinesAtTheMost) {
  std::vector<std::string> findings;
  for (const SourceFile& file : source_tree()) {
    if (is_code(file) && !is_kernel(file) && file.lines.size() > longest_file) {
      findings.push_back(file.path + ": " + std::to_string(file.lines.size()) + " lines");
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
}

TEST(Sizes, FunctionsHaveSixtyLinesAtTheMost) {
  std::vector<std::string> findings;
  std::set<std::string> exempted;
  std::size_t functions = 0;
  for (const SourceFile& file : source_tree()) {
    if (!is_code(file) || is_kernel(file)) continue;
    for (const Function& it : FunctionFinder().find(file)) {
      ++functions;
      if (it.lines <= longest_function) continue;
      const auto exempt = std::ranges::find_if(long_functions, [&](const auto& entry) {
        return it.signature.find(entry.first) != std::string::npos;
      });
      if (exempt != long_functions.end()) {
        exempted.insert(exempt->first);
        continue;
      }
      findings.push_back(file.path + ':' + std::to_string(it.first) + ": " + std::to_string(it.lines) +
                         " lines");
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
  EXPECT_EQ(exempted.size(), long_functions.size()) << "an exemption that is no longer needed";
  EXPECT_GT(functions, 500U) << "the counter is blind";
}

TEST(Sizes, LinesFitTheFormat) {
  std::vector<std::string> findings;
  for (const SourceFile& file : source_tree()) {
    if (!is_code(file)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (file.lines[i].size() > longest_line && file.lines[i].find("://") == std::string::npos) {
        findings.push_back(file.path + ':' + std::to_string(i + 1));
      }
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
}

TEST(Sizes, TheCounterCounts) {
  SourceFile file;
  file.path = "a.cpp";
  file.lines = {"namespace a {",
                "struct B {",
                "  int c() { return 1; }",
                "  int d{0};",
                "};",
                "int e(int x,",
                "      int y)",
                "{",
                "  if (x) {",
                "    return \"}\"[0];  // }",
                "  }",
                "  return [&] { return y; }();",
                "}",
                "}"};
  split_code(file);
  const auto functions = FunctionFinder().find(file);
  std::vector<std::size_t> lines;
  for (const Function& it : functions) {
    if (it.signature.find('(') != std::string::npos) lines.push_back(it.lines);
  }
  EXPECT_THAT(lines, ::testing::ElementsAre(1, 8));
}

}  // namespace
}  // namespace steelyard::test::size_test
