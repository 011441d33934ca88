#include "tests/support/toy_job.h"

#include "core/random.h"

namespace steelyard::test {

Job toy_job(std::uint64_t samples, std::uint64_t batch, std::uint64_t epochs, std::uint32_t workers,
            std::uint32_t shards, std::uint64_t parameters, std::uint64_t slice_size) {
  Job job;
  job.name = "toy";
  job.train_samples = samples;
  job.test_samples = 10;
  job.global_batch = batch;
  job.epochs = epochs;
  job.workers = workers;
  job.shards = shards;
  append(job.layout, "weight", {parameters});
  job.layout.slice_size = slice_size;
  job.optimizer = {nn::Optimizer::Kind::momentum, 0.5, 0.0};
  job.schedule.base = 0.25;
  job.schedule.epochs = static_cast<double>(epochs);
  return job;
}

Job footprint_job(const std::string& sync, std::uint64_t samples, std::uint64_t batch, std::uint64_t epochs,
                  std::uint32_t workers, std::uint32_t shards, std::uint64_t slices) {
  const std::uint64_t rounds = epochs * ((samples + batch - 1) / batch);
  Job job = toy_job(samples, batch, epochs, workers, shards, slices * rounds, rounds);
  job.sync = parse_sync(sync);
  job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
  return job;
}

float toy_gradient(Position position, std::uint64_t epoch, std::uint64_t element) {
  return static_cast<float>(static_cast<int>(hash(position, epoch, element) % 17) - 8);
}

}  // namespace steelyard::test
