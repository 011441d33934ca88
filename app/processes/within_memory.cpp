#include "app/processes/within_memory.h"

#include <unistd.h>

#include <new>

#include "core/error.h"

namespace steelyard {

void within_memory(const std::string& role, const Job& job, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    throw Failure(
        ExitCode::failed,
        "there is not enough memory for " + role + ": model '" + job.model + "' has " +
            std::to_string(job.layout.size()) + " parameters, " +
            std::to_string(job.layout.size() * sizeof(float) / 1'000'000 + 1) +
            " MB, and it holds them several times: make the model smaller, or use a larger machine");
  }
}

std::uint64_t memory_of_machine() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace steelyard
