#include "nn/optimizer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "core/error.h"

namespace steelyard::nn {
namespace {

void require(bool good, const char* key, double value, const char* remedy) {
  if (good) return;
  throw Failure(ExitCode::configuration, "learning rate schedule: " + std::string(key) + " = " +
                                             std::to_string(value) + ": " + remedy);
}

// Epochs are sums of fractions: a whole number missed by rounding still counts as reached.
double steps_reached(double epochs_done, double step_epochs) {
  return std::floor(epochs_done / step_epochs + 1e-9);
}

// The entry of a table. Places within an epoch are quotients of integers, and may miss by rounding, too.
double entry_reached(double epochs_done, double step_epochs) {
  if (step_epochs >= 1) return steps_reached(epochs_done, step_epochs);
  const double in_an_epoch = std::ceil(1 / step_epochs - 1e-9), epochs = std::floor(epochs_done);
  const double within = std::floor((epochs_done - epochs) / step_epochs + 1e-6);
  return epochs * in_an_epoch + std::min(within, in_an_epoch - 1);
}

double rate_in(const std::vector<double>& rates, double entry) {
  return entry < static_cast<double>(rates.size()) ? rates[static_cast<std::size_t>(entry)] : rates.back();
}

void demand_step_epochs(const Schedule& s) {
  require(std::isfinite(s.step_epochs) && s.step_epochs > 0, "step_epochs", s.step_epochs,
          "give a positive number of epochs");
}

void validate_table(const Schedule& s) {
  demand_step_epochs(s);
  require(s.warmup == 0, "warmup", s.warmup, "a table includes the warm-up in its rates: leave warmup out");
  require(!s.rates.empty() && s.rates.size() <= max_rates, "number of rates",
          static_cast<double>(s.rates.size()), "give a table from 1 to 1000000 rates");
  for (const double rate : s.rates)
    require(std::isfinite(rate) && rate >= 0, "rates", rate, "give rates of at least 0");
}

}  // namespace

void validate(const Schedule& s) {
  require(std::isfinite(s.base) && s.base > 0, "base", s.base, "give a positive rate");
  require(s.warmup >= 0 && s.warmup < 1, "warmup", s.warmup,
          "give a share of the training, at least 0 and below 1");
  require(std::isfinite(s.epochs) && s.epochs > 0, "epochs", s.epochs,
          "give the length of the training in epochs");
  if (s.kind == Schedule::Kind::step) {
    demand_step_epochs(s);
    require(std::isfinite(s.step_factor) && s.step_factor > 0, "step_factor", s.step_factor,
            "give a positive factor");
  }
  if (s.kind == Schedule::Kind::cosine) {
    require(std::isfinite(s.final) && s.final >= 0, "final", s.final, "give a rate of at least 0");
  }
  if (s.kind == Schedule::Kind::table) validate_table(s);
}

double learning_rate(const Schedule& s, double epochs_done) {
  const double warm = s.warmup * s.epochs;
  if (epochs_done < warm) return s.base * epochs_done / warm;
  switch (s.kind) {
    case Schedule::Kind::constant:
      break;
    case Schedule::Kind::step:
      return s.base * std::pow(s.step_factor, steps_reached(epochs_done, s.step_epochs));
    case Schedule::Kind::cosine: {
      const double t = std::min(1.0, (epochs_done - warm) / (s.epochs - warm));
      return s.final + (s.base - s.final) * (1 + std::cos(std::numbers::pi * t)) / 2;
    }
    case Schedule::Kind::table:
      if (!s.rates.empty()) return rate_in(s.rates, entry_reached(epochs_done, s.step_epochs));
      break;
  }
  return s.base;
}

}  // namespace steelyard::nn
