// Simulates a full disk during its lifetime: limits the size of files that this process writes.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace steelyard {

class FilesOfAtMost {
 public:
  explicit FilesOfAtMost(rlim_t size) {
    getrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit little = before_;
    little.rlim_cur = size;
    setrlimit(RLIMIT_FSIZE, &little);
  }
  ~FilesOfAtMost() { setrlimit(RLIMIT_FSIZE, &before_); }
  FilesOfAtMost(const FilesOfAtMost&) = delete;
  FilesOfAtMost& operator=(const FilesOfAtMost&) = delete;

 private:
  rlimit before_{};
};

}  // namespace steelyard
