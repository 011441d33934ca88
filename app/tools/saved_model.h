// A checkpoint to compute with: its parameters, and the model and, where they are needed, the data of the job
// that wrote it.
#pragma once

#include <steelyard/model.h>

#include <steelyard/engine.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/interval.h"
#include "protocol/job.h"
#include "server/checkpoint/checkpoint.h"
#include "worker/compute/feed.h"
#include "worker/compute/workload.h"

namespace steelyard {

// A checkpoint to compute with, and what of its job is otherwise.
struct SavedOptions {
  std::string path;                    // of the checkpoint, or of a run: its newest
  std::string job_file;                // empty: the one of the run around it
  std::vector<std::string> overrides;  // key=value
  std::string data;                    // another data set than the job's; empty: none
};

// The checkpoint that `path` names: itself, or the newest good one of a run. Those passed over are told on
// standard error. Throws Failure (usage) for a path with no checkpoint.
std::string find_checkpoint(const std::string& path);

// The job.toml of the run that a checkpoint lies in; empty if there is none.
std::string job_beside(const std::string& checkpoint);

struct SavedModel {
  std::string path;
  Snapshot snapshot;
  Job job;              // complete, once the workload is open
  Workload workload{};  // once it is open
};

// Checkpoint and job, without a workload. Throws Failure for a damaged checkpoint, and without a job.
SavedModel find_saved(const SavedOptions& options);
// Opens the data that the job names, and makes its model. Throws Failure for data that cannot be opened or
// has no test samples, and if the model has other tensors.
void open_workload(SavedModel& saved);
// The model of a checkpoint from find_saved(), made without the job's data. Nothing if it is not made of
// layers, or if the checkpoint does not say which samples it takes. Throws Failure if the job's model has
// other tensors.
std::optional<nn::Model> model_alone(const SavedModel& saved);

// The samples of the test set at these positions, in micro-batches. Belongs to one thread.
class TestSamples final : public Samples {
 public:
  TestSamples(const DataSets& data, Interval positions, std::vector<std::uint32_t> sizes);

  const nn::MicroBatch* next() override;
  [[nodiscard]] bool at_end() const override { return rest_.empty(); }

 private:
  const SampleOrder order_;
  BatchBuffer buffer_;
  Interval rest_;
};

// Cuts [0, samples) into a part for each processor, whole micro-batches but for the last, and calls `work`
// with the number and the positions of each, at the same time. What one of them throws is thrown.
void in_parts(std::uint64_t samples, const std::function<void(std::size_t part, Interval positions)>& work);
std::size_t most_parts();

// "round 160, epoch 5 and 4096 samples"
std::string place_of(const Progress& progress);

}  // namespace steelyard
