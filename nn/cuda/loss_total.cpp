#include "nn/cuda/loss_total.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace steelyard::nn::cuda {

LossTotal::LossTotal(const Model& model, std::uint32_t samples)
    : options_{model.loss(), model.classes(), model.labels(), model.smoothing()},
      workspace_(std::max<std::uint64_t>(loss_workspace(options_, samples), 1)),
      sums_(1),
      pinned_(1) {}

void LossTotal::clear(Stream& stream) { stream.fill_zero(sums_.data(), sizeof(LossSums)); }

void LossTotal::add(const Context& context, std::uint32_t size, const float* scores, float* gradient) {
  add_loss(context, options_, size, scores, gradient, sums_.data(), workspace_.data());
}

void LossTotal::bring_back(Stream& stream) { stream.copy_array(pinned_.data(), sums_.data(), 1); }

Sums LossTotal::sums() const {
  const LossSums& sums = *pinned_.data();
  if (sums.no_class > 0) {
    throw Failure(ExitCode::configuration,
                  std::to_string(sums.no_class) + " labels are not classes of the model, which has " +
                      std::to_string(options_.classes) + ": make the model for this data set");
  }
  return {sums.loss, counts_answers(options_.kind) ? sums.correct : Sums::uncounted};
}

}  // namespace steelyard::nn::cuda
