// Errands: commands that run at the same time, each to its end, with all that they print.
#pragma once

#include <string>
#include <vector>

namespace steelyard {

struct Errand {
  std::string name;                // unique
  std::vector<std::string> words;  // the program, found in PATH, and its arguments
  std::string input{};             // a file that is its standard input; empty: none
  // Filled by run_all().
  int status{};  // from wait()
  std::string output{}, errors{};

  [[nodiscard]] bool went_well() const { return status == 0; }
  // "LINE; LINE" of its standard error, for a message.
  [[nodiscard]] std::string said() const;
};

// If this process is killed, they are, too. Throws Failure (io) if one cannot be started.
void run_all(std::vector<Errand>& errands);

}  // namespace steelyard
