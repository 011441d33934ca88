#include "balancing/predict/predictors.h"

#include "balancing/predict/arima.h"
#include "balancing/predict/averages.h"
#include "balancing/predict/narx.h"
#include "balancing/predict/rnn.h"

namespace steelyard::balancing {
namespace {

template <class It>
std::unique_ptr<Predictor> plain(std::uint64_t, const Options&) {
  return std::make_unique<It>();
}
template <class It>
std::unique_ptr<Predictor> seeded(std::uint64_t seed, const Options&) {
  return std::make_unique<It>(seed);
}

}  // namespace

const PredictorTable& built_in_predictors() {
  static const PredictorTable table{
      {"last", plain<Last>, "the speed of the last round"},
      {"ema", plain<Ema>, "an exponential moving average"},
      {"arima", plain<Arima>, "ARIMA, fitted to the last rounds"},
      {"rnn", seeded<Rnn>, "a small recurrent network, trained online"},
      {"narx", seeded<Narx>, "a small network over past speeds and CPU shares, trained online"}};
  return table;
}

std::unique_ptr<Predictor> make_predictor(const std::string& name, std::uint64_t seed,
                                          const PredictorTable& own) {
  return make_choice("predictor", name, {}, own, built_in_predictors(), seed);
}

std::vector<std::string> predictor_names(const PredictorTable& own) {
  return names_of(own, built_in_predictors());
}

}  // namespace steelyard::balancing
