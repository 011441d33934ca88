// The load that a worker reports of its machine, and its effect on the worker's time.
//
//   ln T(now) = ln T(then) + gain_cpu * load growth + gain_memory * pressure growth
//
// Each gain is learned on line (LeadingSignal). The memory signal is fitted to what the CPU share leaves
// unexplained, because a co-tenant usually takes both.
#pragma once

namespace steelyard::balancing {

// LeadingSignal: the effect of the CPU share, or of the available memory, on the time, learned on line:
//
//   ln(t_after / t_before) = -gain * ln(c_after / c_before)
//
// with c the share or the megabytes. Gain 1: half the share doubles the time. Gain 0: the signal has no
// effect, as on a GPU. Regression through the origin with a prior of 0 and slow forgetting: a signal that
// only jitters gets a gain near 0, so its jitter has little effect.
class LeadingSignal {
 public:
  // -ln of the share: grows with the time. Shares below a twentieth count as a twentieth.
  static double load(double cpu);

  // -ln of the megabytes: only differences have a meaning.
  static double pressure(double memory);

  // `growth`: of the logarithm of the time. `load_growth`: of the load. `variance`: noise of `growth`.
  void observe(double growth, double load_growth, double variance);

  [[nodiscard]] double gain() const;  // not negative

  // Whether this growth of the load explains that growth of the time, which takes a gain of about 1.
  [[nodiscard]] static bool explains(double growth, double load_growth);

  void serialize(auto& fields) { fields(product_, square_); }

 private:
  double product_ = 0, square_ = 0;  // sums over rounds, in units of their variance
};

// The signals that a worker reports beside its times; -1: unknown.
struct Signals {
  double cpu = -1;     // free share of the CPU
  double memory = -1;  // MB available
};

class MachineSignals {
 public:
  void start(const Signals& told) { last_ = told; }  // with the first measurement

  // The logarithm of the factor by which a batch takes longer now than the last one did.
  [[nodiscard]] double foretold(const Signals& now) const;

  // Whether the reported signals explain this growth of the logarithm of the time.
  [[nodiscard]] bool explain(double growth, const Signals& told) const;

  // A measurement: growth of the logarithm of the time since the last one, and its standard deviation.
  void learn(double growth, double deviation, const Signals& told);

  void serialize(auto& fields) { fields(last_.cpu, last_.memory, cpu_, memory_); }

 private:
  // Since the last measurement; 0 if unknown.
  [[nodiscard]] double load_growth(const Signals& now) const;
  [[nodiscard]] double pressure_growth(const Signals& now) const;

  Signals last_;  // reported with the last measurement
  LeadingSignal cpu_, memory_;
};

}  // namespace steelyard::balancing
