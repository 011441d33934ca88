#include "app/tools/input_pictures.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "core/error.h"
#include "core/options.h"
#include "worker/data/data_sets.h"
#include "worker/data/normalization.h"
#include "worker/data/pictures/picture.h"
#include "worker/data/pictures/picture_folder.h"
#include "worker/data/sets/pictures.h"

namespace steelyard {
namespace {

// Data sets whose raw values are bytes of pictures.
bool is_picture_data(const std::string& name) {
  constexpr const char* names[]{"pictures", "idx", "fashion-mnist", "digits", "cifar-10", "cifar-100"};
  return std::ranges::find(names, name) != std::end(names);
}

// How the job's data set reads pictures: by its own options, or at the size of the model's samples.
PictureReading reading_for(const Job& job, const nn::Model& model) {
  const auto* row = find_choice("pictures", DataTable{}, built_in_data_sets());
  const bool own = job.data == row->name;
  PictureReading reading = picture_reading(
      Options("data set 'pictures'", row->options, own ? job.data_options : OptionTexts{{"train", ""}}));
  const nn::Shape input = model.input();
  if (!own) reading.format = {input.height, input.width, input.channels};
  return reading;
}

// The pictures of a folder, or of one file; returns the folder of each, empty for one beside the folders.
void add(const std::string& path, std::vector<Pictures::Labelled>& files, std::vector<std::string>& labels) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    files.push_back({path, 0});
    labels.emplace_back();
    return;
  }
  PictureFolder folder = list_pictures(path);
  if (folder.files.empty())
    throw Failure(ExitCode::io,
                  path + ": there are no pictures (*.png, *.jpg, *.jpeg) in it: give another folder");
  for (PictureFolder::File& it : folder.files) {
    files.push_back({std::move(it.path), 0});
    labels.push_back(it.folder == PictureFolder::no_folder ? "" : folder.folders[it.folder]);
  }
}

}  // namespace

bool holds_pictures(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) || is_picture(path);
}

InputSamples input_pictures(const std::vector<std::string>& paths, const Normalization& by, const Job& job,
                            const SampleSource& source, const nn::Model& model) {
  const nn::Shape input = model.input();
  if (!is_picture_data(job.data) || (input.channels != 1 && input.channels != 3)) {
    refuse_setup(paths.front() + ": the model was trained on data set '" + job.data +
                 "', not on pictures: give a CSV file, or an array of NumPy");
  }
  std::vector<Pictures::Labelled> files;
  InputSamples it;
  for (const std::string& path : paths) add(path, files, it.labels);
  const std::uint64_t size = files.size();
  const PictureReading reading = reading_for(job, model);
  auto pictures = std::make_shared<PictureDataSet>(
      std::make_shared<const Pictures>(std::move(files), reading), 0, size, model.classes());
  pictures->normalize(by);
  it.data = std::move(pictures);
  if (it.data->shape() != input) {
    it.data =
        std::make_shared<PaddedDataSet>(it.data, input.height, input.width, zero_inputs(by, input.channels));
  }
  const bool labelled = std::ranges::any_of(it.labels, [&](const std::string& label) {
    return std::ranges::find(source.class_names, label) != source.class_names.end();
  });
  if (!labelled) it.labels.clear();
  return it;
}

}  // namespace steelyard
