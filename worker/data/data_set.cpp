#include "worker/data/data_set.h"

#include <algorithm>
#include <span>

#include "core/error.h"
#include "core/options.h"

namespace steelyard {

void read_sample(const DataSet& data, std::uint64_t index, float* into, std::uint32_t* labels,
                 const std::function<std::string()>& place) {
  try {
    data.read(index, into, labels);
  } catch (...) {
    in_name_of(place(), [] { throw; });
  }
  const std::span all(labels, data.labels());
  const auto wrong = std::ranges::find_if(all, [&](std::uint32_t label) { return label >= data.classes(); });
  if (wrong == all.end()) return;
  throw Failure(ExitCode::configuration,
                place() + ": its label is " + std::to_string(*wrong) + ", and with " +
                    std::to_string(data.classes()) + " classes labels go from 0 to " +
                    std::to_string(data.classes() - 1) + ": correct the label, or classes()");
}

}  // namespace steelyard
