// From which batch on slow workers pay beside fast ones, such as processors beside a GPU. Pure.
//
// A slow worker's share must at least be worth its own exchange, and a share is at least a grain: a worker
// with a two hundredth of the speed deserves one sample in 200. Larger rounds have room for it. Simulated
// under bsp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/candidates.h"
#include "core/json.h"

namespace steelyard {

struct BatchAdvice {
  static constexpr double slower = 4;          // times as slow as the fastest: a slow worker
  static constexpr double least_gain = 0.02;   // relative; a smaller one does not count
  static constexpr std::uint64_t factor = 64;  // the largest batch tried, in batches of the job

  std::vector<std::string> fast, slow;
  std::uint64_t largest = 0;  // batch tried
  std::optional<std::uint64_t>
      batch;        // the smallest at which the slow workers pay: the job's, or a larger one
  double gain = 0;  // there, relative to the fast workers without them
};

// Nothing if no worker is slow.
std::optional<BatchAdvice> batch_advice(const Job& job, const std::vector<MeasuredWorker>& measured);

std::string advice_text(const BatchAdvice& advice, std::uint64_t batch);  // one line; `batch`: of the job
// {"fast":[...],"slow":[...],"batch","gain","largest_batch"}; batch and gain are null if they do not pay.
Json advice_json(const BatchAdvice& advice);

}  // namespace steelyard
