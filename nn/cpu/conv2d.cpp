#include "nn/cpu/conv2d.h"

#include "nn/cpu/ops.h"

namespace steelyard::nn::cpu {

// From this number of input channels on, oneDNN keeps its vectors full.
constexpr std::uint32_t onednn_channels = 8;

bool suits_direct(const Conv2d& op, Shape input) {
  return input.channels < onednn_channels && op.stride == 1 && op.groups == 1 &&
         op.kernel.rows == op.kernel.columns && op.padding.rows == op.padding.columns &&
         op.padding.rows < op.kernel.rows;
}

std::unique_ptr<Op> make(const Conv2d& op, const OpPlace& place) {
  if (place.order == Order::lanes) return make_direct_conv2d(op, place, FusedRelu::no);
  return make_onednn_conv2d(op, place);
}

}  // namespace steelyard::nn::cpu
