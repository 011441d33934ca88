#include "app/tools/export_command.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "app/export/onnx.h"
#include "app/export/torch_source.h"
#include "app/export/torch_state.h"
#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "core/error.h"

namespace steelyard {
namespace {

struct ExportFormat {
  std::string ending, what;
  std::string (*write)(const ExportedModel&);
};

const std::array formats{ExportFormat{".onnx", "an ONNX model", onnx_file},
                         ExportFormat{".pt", "a state_dict of PyTorch", torch_state_file},
                         ExportFormat{".py", "the model for PyTorch, class Model", torch_source}};

const ExportFormat& format_of(const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension().string();
  const auto found = std::ranges::find(formats, ending, &ExportFormat::ending);
  if (found == formats.end()) {
    refuse_usage(
        "--to " + file + ": the ending '" + ending +
        "' is of no known format: give FILE.onnx, FILE.pt for PyTorch's state_dict, or FILE.py for the "
        "model's Python code");
  }
  return *found;
}

// The model of a checkpoint; the job's data are opened only if an earlier release wrote it.
nn::Model model_of(SavedModel& saved) {
  if (auto alone = model_alone(saved)) return std::move(*alone);
  if (saved.snapshot.on_workers || !is_made_of_layers(saved.job)) {
    refuse_setup(
        "model '" + saved.job.model + "' of the checkpoint " + saved.path +
        " is code of the workers' program, and export writes models that are made of layers: use that "
        "program to save it");
  }
  open_workload(saved);
  return *saved.workload.model;
}

}  // namespace

void run_export(const ExportCommand& command) {
  for (const std::string& file : command.files) {
    (void)format_of(file);
    check_output("--to", file);
  }
  SavedModel saved = find_saved(command.saved);
  const nn::Model model = model_of(saved);
  const SampleSource& source = saved.snapshot.source;
  const ExportedModel exported{model,
                               saved.snapshot.parameters,
                               source.mean,
                               source.deviation,
                               source.class_names,
                               source.target_mean,
                               source.target_deviation,
                               "model '" + saved.job.model + "' of job '" + saved.job.name + "', " +
                                   place_of(saved.snapshot.progress)};
  for (const std::string& file : command.files) {
    const ExportFormat& format = format_of(file);
    const std::string bytes = format.write(exported);
    write_output("--to", file, bytes);
    std::printf("%s: %s, %.3g MB\n", shown_line(file).c_str(), format.what.c_str(),
                static_cast<double>(bytes.size()) / 1e6);
  }
}

}  // namespace steelyard
