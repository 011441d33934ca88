// The load of a worker's machine, and its effect on the worker's time.
//
//   ln T(now) = ln T(then) + gain_cpu * load growth + gain_memory * pressure growth
//
// `then` is the last measured round, with the mean load over it. Two pairs of gains are learned on line
// (LeadingSignal): one for the load read before the round, which predicts its time; one for the mean load
// over the round, which explains its time afterwards. A load that changes inside rounds may predict little
// and explain much. The memory signal is fitted to what the CPU share leaves unexplained, because a co-tenant
// usually takes both.
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
  void start(const Signals& during) { last_ = during; }  // with the first measurement

  // The logarithm of the factor by which a batch takes longer than the last one did: predicted from the load
  // read before it, or explained by the load during it.
  [[nodiscard]] double foretold(const Signals& before) const { return ahead_.effect(growth_to(before)); }
  [[nodiscard]] double explained(const Signals& during) const { return meanwhile_.effect(growth_to(during)); }

  // Whether the load explains this growth of the logarithm of the time.
  [[nodiscard]] bool explain(double growth, const Signals& during) const;

  // A measurement: growth of the logarithm of the time since the last one, and its standard deviation.
  void learn(double growth, double deviation, const Signals& before, const Signals& during);

  void serialize(auto& fields) { fields(last_.cpu, last_.memory, ahead_, meanwhile_); }

 private:
  struct Growth {
    double load = 0, pressure = 0;
  };
  struct Gains {
    LeadingSignal cpu, memory;
    [[nodiscard]] double effect(const Growth& by) const {
      return cpu.gain() * by.load + memory.gain() * by.pressure;
    }
    void learn(double growth, const Growth& by, double variance);
    void serialize(auto& fields) { fields(cpu, memory); }
  };
  [[nodiscard]] Growth growth_to(const Signals& now) const;  // since the last measurement; 0 if unknown

  Signals last_;  // during the last measurement
  Gains ahead_, meanwhile_;
};

}  // namespace steelyard::balancing
