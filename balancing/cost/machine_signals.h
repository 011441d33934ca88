// What a worker tells of its machine, and what that says about its time.
//
//   ln T(now) = ln T(then) + gain_cpu * load growth + gain_memory * pressure growth
//
// Each gain is learned on line (leading_signal.h). The memory is asked about what the CPU share leaves
// unexplained, because a co-tenant that takes the one takes the other as well.
#pragma once

namespace steelyard::balancing {

// How much a worker's CPU share, or the memory that others leave it, says about its time, learned on line:
//
//   ln(t_after / t_before) = -gain * ln(c_after / c_before)
//
// with c the share or the megabytes. Gain 1: half of it, double the time. Gain 0: the number says nothing, as
// on a GPU. Regression through the origin with a prior of 0 and slow forgetting: a signal that only jitters
// gets a gain near 0, and its jitter moves little.
class LeadingSignal {
 public:
  // -ln of the share: what time grows with. Shares of less than a twentieth count as that.
  static double load(double cpu);

  // -ln of the megabytes: only differences mean anything.
  static double pressure(double memory);

  // `growth` of the logarithm of the time beside that of the load; `variance` is the noise of the former.
  void observe(double growth, double load_growth, double variance);

  [[nodiscard]] double gain() const;  // not negative

  // Whether this growth of the load explains that growth of the time: it would with a gain of about 1.
  [[nodiscard]] static bool explains(double growth, double load_growth);

  void serialize(auto& fields) { fields(product_, square_); }

 private:
  double product_ = 0, square_ = 0;  // sums over rounds, in units of their variance
};

// What a worker tells of its machine beside its times; -1: nothing.
struct Signals {
  double cpu = -1;     // share of it that is free, as measured
  double memory = -1;  // MB available
};

class MachineSignals {
 public:
  void start(const Signals& told) { last_ = told; }  // with the first measurement

  // The logarithm of the factor by which a batch takes longer now than the last one did.
  [[nodiscard]] double foretold(const Signals& now) const;

  // Whether what was told explains this growth of the logarithm of the time.
  [[nodiscard]] bool explain(double growth, const Signals& told) const;

  // A measurement: this growth of the logarithm of the time since the last one, with this deviation.
  void learn(double growth, double deviation, const Signals& told);

  void serialize(auto& fields) { fields(last_.cpu, last_.memory, cpu_, memory_); }

 private:
  // Since the last measurement; 0 where nothing is told.
  [[nodiscard]] double load_growth(const Signals& now) const;
  [[nodiscard]] double pressure_growth(const Signals& now) const;

  Signals last_;  // that was told with a measurement
  LeadingSignal cpu_, memory_;
};

}  // namespace steelyard::balancing
