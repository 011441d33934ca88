// A checkpoint to compute with: its parameters, the model of its job and, if needed, the job's data.
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

// A checkpoint, and changes to its job.
struct SavedOptions {
  std::string path;                    // of the checkpoint, or of a run, for its newest checkpoint
  std::string job_file;                // empty: job.toml of its run
  std::vector<std::string> overrides;  // key=value
  std::string data;                    // replaces the job's data set; empty: does not
};

// The checkpoint at `path`, or the newest valid one if `path` is a run. Damaged ones are skipped, with a
// warning on standard error. Throws Failure (usage) if the path has no checkpoint.
std::string find_checkpoint(const std::string& path);

// The job.toml of the run that contains a checkpoint; empty if it is not in a run.
std::string job_beside(const std::string& checkpoint);

struct SavedModel {
  std::string path;
  Snapshot snapshot;
  Job job;              // complete, once the workload is open
  Workload workload{};  // once it is open
};

// Checkpoint and job, without a workload. Throws Failure if the checkpoint is damaged or has no job.
SavedModel find_saved(const SavedOptions& options);
// Opens the job's data, and makes its model. Throws Failure if the data cannot be opened or has no test
// samples, or if the model's tensors differ from the checkpoint's.
void open_workload(SavedModel& saved);
// The model of a checkpoint from find_saved(), made without the job's data. Returns std::nullopt if it is not
// made of layers, or if the checkpoint does not record the shape of its samples. Throws Failure if the
// tensors of the job's model differ from the checkpoint's.
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

// Cuts [0, samples) into a part for each processor, of whole micro-batches except the last, and calls `work`
// with the number and positions of each part, on a thread each. Rethrows an exception of `work`.
void in_parts(std::uint64_t samples, const std::function<void(std::size_t part, Interval positions)>& work);
std::size_t most_parts();

// "round 160, epoch 5 and 4096 samples"
std::string place_of(const Progress& progress);

}  // namespace steelyard
