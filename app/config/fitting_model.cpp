#include "app/config/fitting_model.h"

#include "app/config/prepare_job.h"
#include "core/error.h"

namespace steelyard {
namespace {

struct MadeFor {
  nn::Shape shape;
  const char* needs;
};
// Samples that each built-in model was written for, the smallest first.
constexpr MadeFor sample_kinds[] = {{{28, 28, 1}, "pictures, for example of 28 x 28"},
                                    {{32, 32, 3}, "pictures, for example of 32 x 32 in three colours"},
                                    {{224, 224, 3}, "pictures, for example of 224 x 224 in three colours"},
                                    {{1, 64, 1}, "texts (data set 'bytes')"}};

bool is_made_for(const Job& job, nn::Shape shape, std::uint32_t classes) {
  try {
    (void)model_of(job, shape, classes);
    return true;
  } catch (const Failure&) {
    return false;
  }
}

std::string samples_text(const DataSet& data) {
  const nn::Shape shape = data.shape();
  const std::string count = std::to_string(shape.size());
  if (shape.height == 1 && shape.width == 1) return count + (shape.size() == 1 ? " column" : " columns");
  if (data.labels() > 1) return "texts of " + count + " tokens";
  return "pictures of " + to_string(shape);
}

}  // namespace

nn::Model fitting_model(const Job& job, const DataSet& data) {
  const nn::Shape shape = data.shape();
  try {
    return model_of(job, shape, data.classes());
  } catch (const Failure& trouble) {
    // The layers of a job file are the user's: the message names the one that does not fit.
    if (trouble.code() != ExitCode::configuration || !job.model_layers.empty()) throw;
    for (const auto& [needed, needs] : sample_kinds) {
      if (needed == shape || !is_made_for(job, needed, data.classes())) continue;
      const bool is_picture = shape.height > 1 && needed.height > 1;
      const std::string side = std::to_string(needed.height);
      refuse_setup(
          "model '" + job.model + "' " +
          (job.model == Job().model ? "(the default, if [model] gives no name) " : "") + "needs " + needs +
          "; data set '" + job.data + "' has " + samples_text(data) + ": try name = \"mlp\" in [model]" +
          (!is_picture              ? ""
           : job.data == "pictures" ? ", or size = [" + side + ", " + side +
                                          "] and channels = " + std::to_string(needed.channels) + " in [data]"
                                    : ", or pad = " + side + " in [data]"));
    }
    throw;
  }
}

}  // namespace steelyard
