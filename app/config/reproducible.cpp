#include "app/config/reproducible.h"

namespace steelyard {

std::string reproducible_trouble(const JobFile& file, const std::string& sync) {
  const Job& job = file.job;
  const std::string place = "reproducible = true in [cluster]: ";
  if (!(job.sync == SyncMode{}))
    return place + "under sync = \"" + sync + "\" the result depends on who was how fast: choose bsp";
  if (job.push != FloatCode::float32 || job.pull != FloatCode::float32)
    return place + "values that are coded were not shown to be the same: leave push and pull out";
  if (job.model == "external")
    return place + "who computes a model from outside need not get equal bits: choose a built-in model";
  for (const WorkerSpec& worker : file.worker_specs) {
    if (worker.device != "cpu" || worker.precision != "float32")
      return place + "worker \"" + worker.name +
             "\" has a device or a precision of its own, and so other bits: leave them out";
  }
  return {};
}

}  // namespace steelyard
