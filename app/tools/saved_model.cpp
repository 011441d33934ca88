#include "app/tools/saved_model.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <future>
#include <thread>

#include "app/config/job_file.h"
#include "app/config/prepare_job.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "core/error.h"
#include "server/checkpoint/manifest.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

Job job_of(const SavedOptions& options, const std::string& checkpoint) {
  const std::string file = options.job_file.empty() ? job_beside(checkpoint) : options.job_file;
  if (file.empty()) {
    refuse_usage(checkpoint + ": is not in a run directory with a job.toml: give the job file with --job");
  }
  JobFile read = read_job_file(file, options.overrides);
  show_notices(read.notices);
  Job job = std::move(read.job);
  if (!options.data.empty() && options.data != job.data) {
    job.data = options.data;
    job.data_options.clear();  // another data set has other options
  }
  return job;
}

void require_tensors(const SavedModel& saved, const Layout& layout) {
  if (layout.tensors == saved.snapshot.layout.tensors) return;
  refuse_setup("the checkpoint " + saved.path + " does not fit model '" + saved.job.model +
               "' for data set '" + saved.job.data +
               "': give the job file that it was trained with, with --job");
}

}  // namespace

std::string find_checkpoint(const std::string& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path + "/" + manifest_file, ignored)) return path;
  const std::string there = path + "/checkpoints";
  if (!fs::is_directory(there, ignored)) {
    throw Failure(ExitCode::io,
                  path +
                      ": is neither a checkpoint nor a run: give one, as in runs/job-1/checkpoints/1180 or "
                      "runs/job-1");
  }
  std::vector<std::string> warnings;
  const auto tell = [&] {
    for (const std::string& it : warnings) std::fprintf(stderr, "%s\n", shown_line(it).c_str());
  };
  try {
    const std::string newest = newest_checkpoint(there, &warnings);
    tell();
    return newest;
  } catch (const Failure&) {
    tell();
    throw;
  }
}

std::string job_beside(const std::string& checkpoint) {
  std::error_code ignored;
  const fs::path run = fs::absolute(fs::path(checkpoint) / "").parent_path().parent_path().parent_path();
  return fs::is_regular_file(run / "job.toml", ignored) ? (run / "job.toml").string() : "";
}

SavedModel find_saved(const SavedOptions& options) {
  SavedModel it;
  it.path = find_checkpoint(options.path);
  it.job = job_of(options, it.path);
  it.snapshot = read_checkpoint(it.path);
  return it;
}

std::optional<nn::Model> model_alone(const SavedModel& saved) {
  const SampleSource& source = saved.snapshot.source;
  const nn::Shape input{source.height, source.width, source.channels};
  if (input.size() == 0 || source.classes == 0 || !is_made_of_layers(saved.job)) return std::nullopt;
  nn::Model model = model_of(saved.job, input, source.classes);
  model.check();
  require_tensors(saved, model.layout());
  return model;
}

void open_workload(SavedModel& it) {
  it.workload = workload_of(it.job, {.max_batch = nn::largest_micro_batch});
  require_tensors(it, it.workload.layout);
  if (!it.workload.data.test) {
    refuse_setup("data set '" + it.job.data + "' has no test samples: give another with --data");
  }
  complete(it.job, described(it.workload));
}

TestSamples::TestSamples(const DataSets& data, Interval positions, std::vector<std::uint32_t> sizes)
    : order_(data, Purpose::evaluate, 0, 0),
      buffer_(data.test->shape(), data.test->labels(), std::move(sizes), data.test->targets()),
      rest_(positions) {}

const nn::MicroBatch* TestSamples::next() {
  if (rest_.empty()) return nullptr;
  const nn::MicroBatch& batch = buffer_.fill(order_, rest_);
  rest_.begin += batch.count;
  return &batch;
}

std::size_t most_parts() { return std::max(1U, std::thread::hardware_concurrency()); }

void in_parts(std::uint64_t samples, const std::function<void(std::size_t, Interval)>& work) {
  constexpr std::uint64_t whole = nn::largest_micro_batch;
  const std::uint64_t each = (samples / whole / most_parts() + 1) * whole;
  std::vector<std::future<void>> running;
  for (std::uint64_t begin = 0; begin < samples; begin += each) {
    const Interval part{begin, std::min(begin + each, samples)};
    running.push_back(std::async(std::launch::async, work, running.size(), part));
  }
  for (auto& it : running) it.get();
}

std::string place_of(const Progress& progress) {
  std::string text =
      "round " + std::to_string(progress.version) + ", epoch " + std::to_string(progress.epoch);
  return progress.offset == 0 ? text : text + " and " + std::to_string(progress.offset) + " samples";
}

}  // namespace steelyard
