// Failure: a set-up that cannot work, thrown where it is found and caught once, in run().
//
// The message names the thing, the place and the remedy. The exit code tells a launcher whether
// a retry makes sense.
#pragma once

#include <stdexcept>
#include <string>

namespace steelyard {

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
