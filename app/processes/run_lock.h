// RunLock: one run at a time in a run directory, so that a second --resume does not train beside the first.
//
// The lock is one on DIRECTORY/lock, and the kernel's: it ends when the last process that has the file open
// is gone, whatever ended it. `train` takes it before it changes anything, and its scheduler inherits the
// open file: so whichever of the two ends last holds it, and there is no moment without it. A scheduler that
// was started by hand, or by `launch`, takes it itself. The file stays; in it is who had it last. Where a
// file system knows no locks, nobody is kept out.
#pragma once

#include <string>

namespace steelyard {

class RunLock {
 public:
  // `inherited`, if not negative, is the number under which the parent had the file open and handed it on.
  // Throws Failure (io) that names the directory and the process that has it, (usage) if nothing was handed
  // on.
  explicit RunLock(const std::string& directory, int inherited = -1);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  [[nodiscard]] int descriptor() const { return file_; }  // closed by exec, unless somebody changes that

 private:
  int file_;
};

// Whether a process of this machine has the lock of a run directory; asks without taking it, so that it keeps
// nobody out. False where the system does not tell.
bool in_use(const std::string& directory);

}  // namespace steelyard
