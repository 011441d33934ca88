#include "app/processes/replay_mark.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace steelyard {

ReplayMark::ReplayMark(std::string path) : path_(std::move(path)) {
  const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return;
  // Blocks are taken at once: to write to a map that has none on a full disk would end the process.
  if (::posix_fallocate(file, 0, sizeof(Place)) == 0) {
    void* map = ::mmap(nullptr, sizeof(Place), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) place_ = static_cast<Place*>(map);
  }
  ::close(file);
  if (place_ == nullptr) return;
  // A process that was killed at an earlier record had not come to the one that counts.
  if (place_->behind > place_->counted) {
    place_->counted = place_->behind;
    place_->times = 1;
  } else if (place_->behind != 0 && place_->behind == place_->counted) {
    place_->times = place_->times + 1;
  }
  place_->behind = 0;
  if (place_->counted > 0) ended_ = Ended{static_cast<std::size_t>(place_->counted - 1), place_->times};
}

ReplayMark::~ReplayMark() {
  if (place_ != nullptr) ::munmap(const_cast<Place*>(place_), sizeof(Place));
}

void ReplayMark::acting(std::size_t begin) {
  if (place_ != nullptr) place_->behind = begin + 1;
}

void ReplayMark::done() {
  if (place_ == nullptr) return;
  place_->behind = 0;
  place_->counted = 0;
  place_->times = 0;
  ended_.reset();
  ::unlink(path_.c_str());
}

}  // namespace steelyard
