#include "balancing/cost/machine_signals.h"

#include <algorithm>
#include <cmath>

namespace steelyard::balancing {
namespace {

constexpr double least_share = 0.05;
constexpr double signal_memory = 0.995;  // per round
constexpr double prior = 4;              // 1 / variance of the gain before anything is known
constexpr double clear_move = 0.2;       // of the load; for smaller moves, a large growth has other causes
constexpr double least_match = 0.5;      // ratio to a gain of 1: from this to its inverse counts as about 1

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

double MachineSignals::load_growth(const Signals& now) const {
  if (now.cpu < 0 || last_.cpu < 0) return 0;
  return LeadingSignal::load(now.cpu) - LeadingSignal::load(last_.cpu);
}

double MachineSignals::pressure_growth(const Signals& now) const {
  if (now.memory < 0 || last_.memory < 0) return 0;
  return LeadingSignal::pressure(now.memory) - LeadingSignal::pressure(last_.memory);
}

double MachineSignals::foretold(const Signals& now) const {
  return cpu_.gain() * load_growth(now) + memory_.gain() * pressure_growth(now);
}

bool MachineSignals::explain(double growth, const Signals& told) const {
  return LeadingSignal::explains(growth, load_growth(told)) ||
         LeadingSignal::explains(growth, pressure_growth(told));
}

void MachineSignals::learn(double growth, double deviation, const Signals& told) {
  const double load = load_growth(told), pressure = pressure_growth(told), variance = deviation * deviation;
  cpu_.observe(growth, load, variance);
  memory_.observe(growth - cpu_.gain() * load, pressure, variance);
  if (told.cpu >= 0) last_.cpu = told.cpu;
  if (told.memory >= 0) last_.memory = told.memory;
}

}  // namespace steelyard::balancing
