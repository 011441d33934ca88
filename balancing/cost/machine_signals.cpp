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

MachineSignals::Growth MachineSignals::growth_to(const Signals& now) const {
  Growth growth;
  if (now.cpu >= 0 && last_.cpu >= 0)
    growth.load = LeadingSignal::load(now.cpu) - LeadingSignal::load(last_.cpu);
  if (now.memory >= 0 && last_.memory >= 0)
    growth.pressure = LeadingSignal::pressure(now.memory) - LeadingSignal::pressure(last_.memory);
  return growth;
}

bool MachineSignals::explain(double growth, const Signals& during) const {
  const Growth by = growth_to(during);
  return LeadingSignal::explains(growth, by.load) || LeadingSignal::explains(growth, by.pressure);
}

void MachineSignals::Gains::learn(double growth, const Growth& by, double variance) {
  cpu.observe(growth, by.load, variance);
  memory.observe(growth - cpu.gain() * by.load, by.pressure, variance);
}

void MachineSignals::learn(double growth, double deviation, const Signals& before, const Signals& during) {
  const double variance = deviation * deviation;
  ahead_.learn(growth, growth_to(before), variance);
  meanwhile_.learn(growth, growth_to(during), variance);
  if (during.cpu >= 0) last_.cpu = during.cpu;
  if (during.memory >= 0) last_.memory = during.memory;
}

}  // namespace steelyard::balancing
