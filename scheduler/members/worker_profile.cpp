#include "scheduler/members/worker_profile.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "balancing/cost/correlation.h"
#include "balancing/cost/curves.h"

namespace steelyard {
namespace {

using balancing::TimedBatch;

bool are_times(const std::vector<BatchTime>& times, const Job& job) {
  std::uint64_t before = 0;
  for (const BatchTime& it : times) {
    if (it.samples <= before || it.samples > job.train_samples) return false;
    if (!(it.seconds > 0 && it.seconds <= longest_batch)) return false;
    before = it.samples;
  }
  return !times.empty();
}

// With further points up to `most` samples, on the line through the last two; through 0 and the only one.
std::vector<TimedBatch> continued(const std::vector<BatchTime>& times, std::uint64_t most) {
  std::vector<TimedBatch> points;
  for (const BatchTime& it : times) points.push_back({static_cast<double>(it.samples), it.seconds});
  const TimedBatch last = points.back(),
                   former = points.size() > 1 ? points[points.size() - 2] : TimedBatch{};
  const double slope = std::clamp((last.seconds - former.seconds) / (last.samples - former.samples), 0.0,
                                  last.seconds / last.samples);
  const auto end = static_cast<double>(most);
  for (double samples = last.samples; samples < end;) {
    samples = std::min(2 * samples, end);
    points.push_back({samples, last.seconds + slope * (samples - last.samples)});
  }
  return points;
}

// A fit whose rounding errors are 0 instead of terms.
balancing::Cubic fitted(const std::vector<TimedBatch>& points) {
  constexpr double rounding = 1e-9;  // relative to the longest time
  balancing::Cubic curve = balancing::fit_cubic(points);
  double power = 1;
  for (double& term : curve.terms) {
    if (std::abs(term) * power < rounding * points.back().seconds) term = 0;
    power *= points.back().samples;
  }
  return curve;
}

std::string described(const std::string& name, const std::vector<BatchTime>& times,
                      const balancing::Cubic& curve, std::uint64_t most) {
  std::vector<double> measured, predicted;
  for (const BatchTime& it : times) {
    measured.push_back(it.seconds);
    predicted.push_back(curve(static_cast<double>(it.samples)));
  }
  char text[256];
  std::snprintf(text, sizeof text,
                "%zu batches up to %llu samples; ms = %.4g + %.4g b + %.4g b^2 + %.4g b^3; Pearson %.4f, "
                "Spearman %.4f",
                times.size(), static_cast<unsigned long long>(times.back().samples), 1000 * curve.terms[0],
                1000 * curve.terms[1], 1000 * curve.terms[2], 1000 * curve.terms[3],
                balancing::pearson(predicted, measured), balancing::spearman(predicted, measured));
  return "worker '" + name + "' measured " + text +
         (most > 0 ? "; its memory holds " + std::to_string(most) + " samples" : "");
}

}  // namespace

std::string adopt_profile(const Job& job, const Ready& ready, WorkerMember& worker) {
  worker.curve = {};
  const auto known = std::ranges::find(job.curves, worker.name, &WorkerCurve::name);
  if (known != job.curves.end()) {
    std::copy_n(known->terms.begin(), std::min(known->terms.size(), worker.curve.size()),
                worker.curve.begin());
    return {};
  }
  if (!job.profile) return {};
  if (!are_times(ready.times, job)) {
    return "warning: worker '" + worker.name +
           "' sent an impossible profile: it counts as the mean of the other workers";
  }
  if (ready.most >= job.grain) worker.most = worker.most > 0 ? std::min(worker.most, ready.most) : ready.most;
  const std::uint64_t most = std::min(worker.most > 0 ? worker.most : UINT64_MAX, job.global_batch);
  const balancing::Cubic curve = fitted(continued(ready.times, most));
  worker.curve = curve.terms;
  return described(worker.name, ready.times, curve, ready.most);
}

}  // namespace steelyard
