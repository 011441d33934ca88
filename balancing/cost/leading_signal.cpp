#include "balancing/cost/leading_signal.h"

#include <algorithm>
#include <cmath>

namespace steelyard::balancing {
namespace {

constexpr double least_share = 0.05;
constexpr double signal_memory = 0.995;  // per round
constexpr double prior = 4;              // 1 / variance of the gain before anything is known
constexpr double clear_move = 0.2;       // of the load; with less, a large growth has other reasons
constexpr double least_match = 0.5;      // of a gain of 1: as far off, or its inverse, is called about 1

}  // namespace

double LeadingSignal::load(double cpu) { return -std::log(std::clamp(cpu, least_share, 1.0)); }

double LeadingSignal::pressure(double memory) { return -std::log(std::max(memory, 1.0)); }

void LeadingSignal::observe(double growth, double load_growth, double variance) {
  product_ = signal_memory * product_ + growth * load_growth / variance;
  square_ = signal_memory * square_ + load_growth * load_growth / variance;
}

double LeadingSignal::gain() const { return std::max(0.0, product_ / (square_ + prior)); }

bool LeadingSignal::explains(double growth, double load_growth) {
  if (std::abs(load_growth) < clear_move) return false;
  const double needed = growth / load_growth;
  return needed > least_match && needed < 1 / least_match;
}

}  // namespace steelyard::balancing
