#include "nn/models.h"

#include "core/text.h"

namespace steelyard::nn {
const ModelTable& built_in_models() {
  static const ModelTable table = table_of(model_files());
  return table;
}

OptionTexts texts_of(const std::map<std::string, double>& values) {
  OptionTexts texts;
  for (const auto& [name, value] : values) texts[name] = number_text(value);
  return texts;
}

Model make_model(const std::string& name, const ModelOptions& options, const ModelTable& extra) {
  Model model = make_choice("model", name, texts_of(options.values), extra, built_in_models(), options.input,
                            options.classes);
  in_name_of("model '" + name + "'", [&] { model.check(); });
  return model;
}

}  // namespace steelyard::nn
