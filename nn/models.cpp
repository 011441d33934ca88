#include "nn/models.h"

namespace steelyard::nn {
const ModelTable& built_in_models() {
  static const ModelTable table = table_of(model_files());
  return table;
}

Model make_model(const std::string& name, const ModelOptions& options, const ModelTable& extra) {
  Model model =
      make_choice("model", name, options.values, extra, built_in_models(), options.input, options.classes);
  if (!options.layers.empty() && model.nodes().size() > 1) {
    refuse_setup("model '" + name +
                 "' has layers of its own: leave [[model.layer]] out, or give [model] name = \"layers\"");
  }
  add_layers(model, options.layers);
  in_name_of("model '" + name + "'", [&] { model.check(); });
  return model;
}

}  // namespace steelyard::nn
