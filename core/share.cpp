#include "core/share.h"

#include <system_error>

#include "core/error.h"

namespace steelyard {

namespace fs = std::filesystem;

fs::path shared_file(const std::string& name) {
  std::error_code trouble;
  const fs::path self = fs::read_symlink("/proc/self/exe", trouble);
  if (trouble) refuse_setup("/proc/self/exe cannot be read: " + trouble.message() + ": mount /proc");
  const fs::path file = self.parent_path().parent_path() / "share/steelyard" / name;
  if (fs::exists(file, trouble)) return file;
  refuse_setup(file.string() + " does not exist, and it comes with " + self.string() +
               ": copy the whole installation, not only the program, or install it again");
}

}  // namespace steelyard
