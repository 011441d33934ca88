// NARX, the speed predictor of LB-BSP on CPU clusters (Chen et al., SoCC 2020): a small neural network over
// past values and over present and past leading signals,
//
//   v(k) = F(v(k-1), ..., v(k-p);  c(k), ..., c(k-p);  m(k), ..., m(k-p)),
//
// with c the CPU share and m the memory. As in the paper, a worker reads c(k) and m(k) before it receives its
// share. The network is trained with these readings, not with later ones, so it learns how much they
// foretell. A co-tenant that arrives inside round k is in neither c(k) nor m(k).
//
// The published sources give neither sizes nor training. Ours: p = 2, 8 tanh units, trained on line; each
// value is followed by a few Adam steps on batches drawn from the last 128 rounds. Inputs are normalised by
// the mean and deviation of these rounds; a signal that is unknown, or was constant in them, is ignored.
// Errors above 0.25 deviations count linearly, because rounds in which a co-tenant arrives are outliers.
// Until 32 values are known, and whenever its recent errors are larger than those of the last value or of the
// moving average (alpha 0.2), the better one of these two is used. Every prediction lies within [0.25, 4]
// times the last value.
//
// Nearly all of its cost is the training after an observation; bench/predictor_bench.cpp measures it.
#pragma once

#include <steelyard/predictor.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "balancing/predict/averages.h"
#include "balancing/predict/tanh_network.h"
#include "balancing/state.h"

namespace steelyard::balancing {

class Narx final : public Saved<Predictor, Narx> {
 public:
  static constexpr char title[] = "narx.2";
  explicit Narx(std::uint64_t seed);

  void observe(double value, double cpu, double memory) override;
  [[nodiscard]] double predict(double cpu_now, double memory_now) const override;

  [[nodiscard]] Narx anew() const { return Narx(seed_); }
  void serialize(auto& fields) {
    fields(seed_, seen_, at_most(capacity, history_), network_, average_, network_error_, average_error_,
           last_error_);
    for (const Moment& moment : history_) fields.require(moment[speed] > 0, "a value is not positive");
    fields.require(history_.size() == std::min<std::uint64_t>(seen_, capacity), "values are missing");
    if (fields.reads) measure_scales();  // derived from the history, so always consistent with it
  }

 private:
  static constexpr std::size_t lags = 2, inputs = 3 * lags + 2, hidden = 8;
  static constexpr std::size_t capacity = 128;  // rounds remembered
  enum Channel : std::size_t { speed, cpu, memory, channels };

  using Moment = std::array<double, channels>;  // the measurements of one round
  using Input = std::array<double, inputs>;
  struct Scale {
    double mean = 0;
    double per_unit = 0;  // 1 / deviation; 0 for a channel without information
    [[nodiscard]] double normalised(double value) const;
  };

  // After every observation: updates the scales of the history, then trains with them.
  void measure_scales();
  void train();
  [[nodiscard]] Input input(std::size_t index, double cpu_now, double memory_now) const;
  // The network's prediction for the round after history_[index - 1].
  [[nodiscard]] double network_answer(double cpu_now, double memory_now) const;

  // The last value or the moving average, whichever has had the smaller errors.
  [[nodiscard]] double simple_answer() const;

  std::uint64_t seed_;
  std::uint64_t seen_ = 0;              // values observed
  std::vector<Moment> history_;         // the last values, oldest first
  std::array<Scale, channels> scales_;  // of the history
  TanhNetwork network_;
  Ema average_;
  double network_error_ = 0, average_error_ = 0, last_error_ = 0;  // recent mean squares
};

}  // namespace steelyard::balancing
