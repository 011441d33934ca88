#include "nn/target_loss.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/check.h"
#include "nn/cpu/kernel_calls.h"

namespace steelyard::nn {
namespace {

double squared_error(double output, double target, double share, float& gradient) {
  const double distance = output - target;
  gradient = static_cast<float>(2 * share * distance);
  return share * distance * distance;
}

// At distance 0, where the absolute value has a kink, the gradient is 0.
double absolute_error(double output, double target, double share, float& gradient) {
  const double distance = output - target;
  const double sign = distance > 0 ? 1 : distance < 0 ? -1 : distance;  // 0 and NaN stay
  gradient = static_cast<float>(share * sign);
  return share * std::abs(distance);
}

// The sigmoid of s is the softmax of (s, 0): its kernel gives the same bits on every processor.
double binary_entropy(float output, float target, double share, float& gradient) {
  std::array<float, 2> to{output, 0};
  const auto scale = static_cast<float>(share);
  softmax(to.data(), to.size(), scale, -target * scale, to.data());
  gradient = to[0];
  const double s = output, t = target;
  return share * (std::max(s, 0.0) - s * t + std::log1p(std::exp(-std::abs(s))));
}

}  // namespace

double target_loss(Loss kind, const float* outputs, const float* targets, std::uint32_t size,
                   float* gradient) {
  const double share = 1.0 / size;
  double loss = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    switch (kind) {
      case Loss::mean_squared_error:
        loss += squared_error(outputs[i], targets[i], share, gradient[i]);
        break;
      case Loss::mean_absolute_error:
        loss += absolute_error(outputs[i], targets[i], share, gradient[i]);
        break;
      case Loss::binary_cross_entropy:
        loss += binary_entropy(outputs[i], targets[i], share, gradient[i]);
        break;
      case Loss::softmax_cross_entropy:
      case Loss::hinge:
        CHECK(false, "a loss of class labels takes no targets");
    }
  }
  return loss;
}

bool all_on_their_side(const float* outputs, const float* targets, std::uint32_t size) {
  for (std::uint32_t i = 0; i < size; ++i) {
    if ((outputs[i] > 0) != (targets[i] > 0.5F)) return false;
  }
  return true;
}

}  // namespace steelyard::nn
