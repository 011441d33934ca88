#include "balancing/predict/predictors.h"

#include "balancing/predict/arima.h"
#include "balancing/predict/ema.h"
#include "balancing/predict/last.h"
#include "balancing/predict/narx.h"
#include "balancing/predict/rnn.h"
#include "core/error.h"

namespace steelyard::balancing {
namespace {

// Functions and not prototypes: a seed makes each one different.
struct Entry {
  std::string name;
  std::unique_ptr<Predictor> (*make)(std::uint64_t seed);
};

const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = {
      {"last", [](std::uint64_t) -> std::unique_ptr<Predictor> { return std::make_unique<Last>(); }},
      {"ema", [](std::uint64_t) -> std::unique_ptr<Predictor> { return std::make_unique<Ema>(); }},
      {"arima", [](std::uint64_t) -> std::unique_ptr<Predictor> { return std::make_unique<Arima>(); }},
      {"rnn", [](std::uint64_t seed) -> std::unique_ptr<Predictor> { return std::make_unique<Rnn>(seed); }},
      {"narx", [](std::uint64_t seed) -> std::unique_ptr<Predictor> { return std::make_unique<Narx>(seed); }},
  };
  return entries;
}

}  // namespace

std::unique_ptr<Predictor> make_predictor(const std::string& name, std::uint64_t seed) {
  std::string known;
  for (const Entry& entry : table()) {
    if (entry.name == name) return entry.make(seed);
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  throw Failure(ExitCode::configuration, "unknown predictor '" + name + "'; choose one of " + known);
}

std::vector<std::string> predictor_names() {
  std::vector<std::string> names;
  for (const Entry& entry : table()) names.push_back(entry.name);
  return names;
}

}  // namespace steelyard::balancing
