#include "app/tools/batch_advice.h"

#include <algorithm>

#include "app/report/terminal_text.h"
#include "core/text.h"

namespace steelyard {

std::optional<BatchAdvice> batch_advice(const Job& job, const std::vector<MeasuredWorker>& measured) {
  const auto samples = static_cast<double>(job.global_batch);
  double fastest = 0;
  for (const MeasuredWorker& it : measured)
    fastest = std::max(fastest, samples / sim::on_curve(it.curve, samples));
  BatchAdvice advice;
  std::vector<std::size_t> fast, all;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    all.push_back(i);
    const bool is_slow = BatchAdvice::slower * samples / sim::on_curve(measured[i].curve, samples) <= fastest;
    (is_slow ? advice.slow : advice.fast).push_back(measured[i].name);
    if (!is_slow) fast.push_back(i);
  }
  if (advice.slow.empty()) return std::nullopt;
  Job tried = job;
  for (std::uint64_t times = 1; times <= BatchAdvice::factor && !advice.batch; times *= 2) {
    tried.global_batch = job.global_batch * times;
    if (times > 1 && tried.global_batch > job.train_samples) break;
    advice.largest = tried.global_batch;
    const PlanMode bsp{"bsp", false};
    const double without = predicted_rate(tried, measured, fast, bsp);
    const double gain = without > 0 ? predicted_rate(tried, measured, all, bsp) / without - 1 : 0;
    if (gain < BatchAdvice::least_gain) continue;
    advice.batch = tried.global_batch;
    advice.gain = gain;
  }
  return advice;
}

std::string advice_text(const BatchAdvice& advice, std::uint64_t batch) {
  const std::string workers = joined(advice.slow) + " beside " + joined(advice.fast) + ": under bsp ";
  const std::string none = "worth less than " + number_text(100 * BatchAdvice::least_gain) + " %";
  if (!advice.batch)
    return workers + none + " at batches of " + std::to_string(batch) + " to " +
           std::to_string(advice.largest) + "; without them these processors are free for the others\n";
  const std::string gain = "+" + fixed(100 * advice.gain, 1) + " % samples/s at a batch of ";
  if (*advice.batch == batch) return workers + gain + std::to_string(batch) + "\n";
  return workers + none + " at the batch of " + std::to_string(batch) + ", " + gain +
         std::to_string(*advice.batch) + ", which trains differently\n";
}

Json advice_json(const BatchAdvice& advice) {
  return {{"fast", advice.fast},
          {"slow", advice.slow},
          {"batch", advice.batch ? Json(*advice.batch) : Json()},
          {"gain", advice.batch ? Json(advice.gain) : Json()},
          {"largest_batch", advice.largest}};
}

}  // namespace steelyard
