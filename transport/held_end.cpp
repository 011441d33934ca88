#include "transport/held_end.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <utility>

namespace steelyard {

HeldEnd::HeldEnd(int descriptor) : descriptor_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {}

HeldEnd::~HeldEnd() {
  if (descriptor_ >= 0) close(descriptor_);
}

HeldEnd::HeldEnd(HeldEnd&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

bool HeldEnd::closed_there() const {
  if (descriptor_ < 0) return true;
  pollfd asked{descriptor_, POLLRDHUP, 0};
  return poll(&asked, 1, 0) > 0;
}

}  // namespace steelyard
