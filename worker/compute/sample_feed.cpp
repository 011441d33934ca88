#include "worker/compute/sample_feed.h"

#include <utility>

#include "core/processor.h"
#include "worker/compute/feed.h"
#include "worker/compute/kept_feed.h"

namespace steelyard {

std::unique_ptr<SampleFeed> make_feed(DataSets data, const Engine& engine, const Job& job) {
  BatchSizes sizes(engine.micro_batch_sizes(), engine.micro_batch_seconds(), job.grain);
  if (const KeptData* const kept = engine.kept_data())
    return std::make_unique<KeptFeed>(*kept, std::move(data), job.seed, std::move(sizes), job.grain);
  return std::make_unique<Feed>(std::move(data), job.seed, sizes, job.grain,
                                Feed::threads_for(engine.work_place(), allowed_cores()));
}

}  // namespace steelyard
