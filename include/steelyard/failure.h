// Failure: the exception for a set-up that cannot work. run() catches it.
//
// The message says what is wrong, where, and the remedy. The exit code shows a launcher whether a retry makes
// sense.
#pragma once

#include <stdexcept>
#include <string>

namespace steelyard {

enum class ExitCode : int {
  ok = 0,
  failed = 1,          // training failed: non-finite numbers, or anything unclassified
  usage = 2,           // the command line is wrong
  unreachable = 69,    // connecting to a peer timed out; a retry may work
  io = 74,             // disk full, damaged file
  temporary = 75,      // removed from the job, or no slot is free; start again
  protocol = 76,       // the peer has another version or another job
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
