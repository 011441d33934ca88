#include "protocol/sliced_values.h"

#include <algorithm>

namespace steelyard {

DeviceValues::OnHost SlicedValues::on_host() const {
  const std::lock_guard lock(mutex_);
  if (!host_) {
    const auto all = std::make_shared<FloatBuffer>(floats_);
    for (const auto& [slice, values] : parts_) std::ranges::copy(values.floats(), all->data() + slice.begin);
    host_ = all;
  }
  return {host_->span()};
}

}  // namespace steelyard
