#include "nn/cuda/column.h"

#include <variant>

namespace steelyard::nn::cuda {

nn::Column column_of(const Context& context, Storage storage) {
  return {.make =
              [&](const OpKind& kind, const OpPlace& place) {
                return std::visit([&](const auto& op) { return cuda::make(op, place, context); }, kind);
              },
          .make_batch_norm = [&](const BatchNorm& op, const OpPlace& place,
                                 FusedTail tail) { return make_batch_norm(op, place, tail, context); },
          .storage = storage,
          .make_cast = [&](const OpPlace& place) { return make_cast(place, context); },
          .make_biased_activation =
              [&](const Activation& op, const OpPlace& place) {
                return make_biased_activation(op, place, context);
              },
          .norms_add = true};
}

}  // namespace steelyard::nn::cuda
