#include <CLI/CLI.hpp>

#include "app/cli/commands.h"
#include "app/tools/eval_command.h"
#include "app/tools/export_command.h"
#include "app/tools/inspect_command.h"
#include "app/tools/predict_command.h"

namespace steelyard {
namespace {

void add_inspect(Commands& all) {
  auto [app, it] = all.add(
      "inspect", "show and verify the contents of a run, a checkpoint or a safetensors file", run_inspect);
  app.add_option("path", it.path,
                 "a run directory (its newest checkpoint), a checkpoint, or a safetensors file")
      ->required();
  add_json(app, it.json, "the same facts");
  app.footer("Examples:\n  steelyard inspect runs/job-1\n  steelyard inspect runs/job-1 --json -");
}

void add_saved(CLI::App& app, SavedOptions& it) {
  app.add_option("checkpoint", it.path, "a checkpoint, or a run directory (its newest)")->required();
  app.add_option("--job", it.job_file, "job file that it was trained with (default: job.toml of its run)");
  add_settings(app, it.overrides, "replace a key of the job file, as in data.dir=/data");
}

void add_eval(Commands& all) {
  auto [app, it] = all.add("eval", "compute loss and accuracy of a checkpoint on the test set", run_eval);
  add_saved(app, it.saved);
  app.add_option("--data", it.saved.data, "use this data set instead of the job's, as in synthetic");
  app.add_option(
      "--input", it.inputs,
      "a CSV file with labels, or folders with a subfolder of pictures for each class, instead of the job's "
      "test set; values are raw, as in its training data");
  app.add_flag("--normalized", it.normalized, "the values of --input are normalised already");
  add_json(app, it.json, "the metrics of all classes");
  app.footer(
      "Prints loss, accuracy, macro F1, AUC and top-5 accuracy, and precision, recall and F1 of up to 20 "
      "classes. For a model that predicts numbers: RMSE, MAE and R2; for answers of 0 and 1: exact match, "
      "macro F1, and precision, recall, F1 and AUC of each.\nExamples:\n  steelyard eval runs/job-1\n  "
      "steelyard eval runs/job-1 --input new.csv");
}

void add_predict(Commands& all) {
  auto [app, it] =
      all.add("predict", "predict class and probability of each sample, from a checkpoint", run_predict);
  add_saved(app, it.saved);
  app.add_option(
      "--input", it.inputs,
      "samples: PNG and JPEG pictures, and folders of them; or a CSV file, with or without labels; or an "
      "array of NumPy in an npy or npz file (pictures.npz:x_test), [sample][row][column][channel] or "
      "[sample][feature]; values are raw, "
      "as in the training data, and are normalised as in training; raw pixels are integers to 255 "
      "or floats to 1 (default: the job's test set)");
  app.add_flag("--normalized", it.normalized, "the values of --input are normalised already");
  app.add_option("--out", it.output, "write to this file; - for standard output");
  add_json(app, it.json, "the predictions", ", instead of lines");
  app.add_option("--scores", it.scores,
                 "also write the scores of all classes to this file, as an array of NumPy "
                 "[sample][class] (npy), for metrics of your own")
      ->type_name("FILE");
  app.footer(
      "Writes one line per sample: number or file, class, probability (softmax of the scores), and label if "
      "it is "
      "known. For a model that predicts numbers: a column for each of them, by name, in the units of the "
      "data (under binary cross-entropy the probability of 1), then its label as NAME_label.\n"
      "Examples:\n  steelyard predict runs/job-1 --out classes.csv\n"
      "  steelyard predict runs/job-1 --input new.csv\n"
      "  steelyard predict runs/pets --input tom.jpg rex.png\n"
      "  steelyard predict runs/job-1/checkpoints/1180 --input pictures.npy");
}

void add_export(Commands& all) {
  auto [app, it] = all.add("export", "write the model of a checkpoint for ONNX or PyTorch", run_export);
  add_saved(app, it.saved);
  app.add_option(
         "--to", it.files,
         "FILE.onnx: an ONNX model, whose first nodes normalise its inputs as in training; FILE.pt: a "
         "state_dict of PyTorch; FILE.py: the model as Python code, for that state_dict")
      ->required()
      ->type_name("FILE");
  app.footer(
      "docs/models.md states inputs and outputs of the files.\n"
      "Examples:\n  steelyard export runs/job-1 --to model.onnx\n"
      "  steelyard export runs/job-1/checkpoints/1180 --to model.pt --to model.py");
}

}  // namespace

void add_model_tools(Commands& all) {
  for (auto* const add : {add_inspect, add_eval, add_predict, add_export}) add(all);
}

}  // namespace steelyard
