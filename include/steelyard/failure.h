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
  usage = 2,           // wrong usage: the command line
  unreachable = 69,    // a process or host is lost or cannot be reached; a retry may work
  io = 74,             // file or disk error: full, damaged, not writable
  temporary = 75,      // stopped on request or by a temporary problem: start it again
  protocol = 76,       // the processes have different releases or different jobs
  configuration = 78,  // wrong configuration: the job, the hosts file or the keys
};

class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace steelyard
