// A perceptron with one hidden layer.
#include "nn/models.h"

namespace steelyard::nn {
namespace {

Model narrow(Shape input, std::uint32_t classes, const Options& options) {
  return Model(input, classes)
      .linear("fc1", static_cast<std::uint32_t>(options.whole("width")))
      .relu()
      .linear("fc2", classes);
}

}  // namespace

ModelTable narrow_rows() {
  return {{"narrow", narrow, "one hidden layer", {whole_option("width", 64, 1, 4096, "units in it")}}};
}

}  // namespace steelyard::nn
