// The man page and the completion of bash, from the definition of the command line: `steelyard help --man`
// and `steelyard help --completion bash`, which `cmake --install` puts where they belong.
#pragma once

#include <string>
#include <vector>

namespace steelyard {

struct OptionText {
  std::string name;   // "--run-dir"; of what has no dashes, what stands for it: "JOB"
  std::string value;  // what stands for its value; empty: it takes none
  std::string help;
  std::vector<std::string> words{};  // that the value may be; empty: a file, or anything
};

struct CommandText {
  std::string name, help;
  std::vector<OptionText> options;
  std::string footer;  // examples and what else is to be said, as lines
};

struct ProgramText {
  std::string name, version;
  std::string overview, footer;  // as lines
  std::vector<CommandText> commands;
};

std::string man_page(const ProgramText& program);

// Completes commands, their options, the words that a value may be, and otherwise files.
std::string bash_completion(const ProgramText& program);

}  // namespace steelyard
