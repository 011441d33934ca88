// Failure: a set-up that cannot work, thrown where it is found and caught once, in cli.
//
// The message names the thing, the place and the remedy. The exit code tells a launcher whether
// a retry makes sense.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

// "Did you mean ...?": the known word that is nearest to a wrong one.

// Edits that turn one into the other, where an edit inserts, removes or replaces a letter or swaps two
// neighbours (Damerau 1964, in its restricted form: no letter is edited twice). Capitals and small letters
// are the same, and so are '-' and '_'.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest candidate, the first of equally near ones; empty if none is near enough to be meant: more than
// a third of the longer word would have to change.
std::string near_match(std::string_view word, const std::vector<std::string>& candidates);

// `; did you mean "lr"?`, or nothing if nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// The same, and all that there are.
std::string among(std::string_view word, const std::vector<std::string>& known);

// "a, b, c"
std::string joined(const std::vector<std::string>& words);

enum class ExitCode : int {
  ok = 0,
  failed = 1,          // training failed: non-finite numbers, or anything unclassified
  usage = 2,           // the command line is wrong
  unreachable = 69,    // a peer was not there in time; a retry may work
  io = 74,             // disk full, damaged file
  temporary = 75,      // told to leave; start again
  protocol = 76,       // another version, or another job
  configuration = 78,  // the job file is wrong
};

class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace steelyard
