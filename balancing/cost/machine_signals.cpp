#include "balancing/cost/machine_signals.h"

namespace steelyard::balancing {

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

void MachineSignals::save(StateWriter& writer) const {
  writer.real(last_.cpu).real(last_.memory);
  cpu_.save(writer);
  memory_.save(writer);
}

void MachineSignals::restore(StateReader& reader) {
  last_.cpu = reader.real(), last_.memory = reader.real();
  cpu_.restore(reader);
  memory_.restore(reader);
}

}  // namespace steelyard::balancing
