// Each op of the op table on one thread of the CPU, forward and backward, at sizes of the built-in models.
// Ops with products are measured in GFLOP/s and compared with the FMA peak. All others are measured by the
// bytes that they must at least touch, and compared with memcpy between two buffers with the same total size.
// Both use CPU time of the thread. First, each op's results are compared with the reference's.
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <vector>

#include "bench/hardware.h"
#include "bench/nn/fma_peak.h"
#include "bench/nn/op_cases.h"
#include "bench/nn/op_run.h"
#include "bench/sections.h"
#include "core/random.h"
#include "nn/cpu/onednn.h"

namespace steelyard::bench {
namespace {

// memcpy between two buffers of `bytes` in total.
class Copying {
 public:
  explicit Copying(double bytes) : from_(floats_of(bytes / 2)), to_(from_.size()) {
    Random random(from_.size());
    for (float& value : from_.span()) value = static_cast<float>(random.uniform());
  }

  void once() {
    std::memcpy(to_.data(), from_.data(), from_.size() * sizeof(float));
    expect(to_.span().back() == from_.span().back(), "ops: memcpy does not copy");
  }

 private:
  static std::size_t floats_of(double bytes) { return static_cast<std::size_t>(bytes) / sizeof(float); }
  FloatBuffer from_, to_;
};

// 1e9 units of work per second of CPU time; once() does `work` units.
double rate(double work, double for_seconds, const std::function<void()>& once) {
  double taken = 0, done = 0;
  const Duration start = thread_cpu_time();
  for (; taken < for_seconds; taken = seconds(thread_cpu_time() - start)) {
    once();
    done += work;
  }
  return done / taken * 1e-9;
}

// Throws WrongResult if results differ from the reference by more than the order of float sums explains.
void check(const OpCase& it, OpRun& run) {
  OpRun reference(it, Column::reference);
  reference.forward_and_backward();
  run.forward_and_backward();
  const auto wanted = reference.results(), got = run.results();
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < wanted[k].numbers.size(); ++i) {
      const double number = wanted[k].numbers[i];
      difference += (got[k].numbers[i] - number) * (got[k].numbers[i] - number);
      norm += number * number;
    }
    expect(difference <= 1e-10 * norm,
           "ops: " + it.title() + ": the " + wanted[k].what + " differs from the reference");
  }
}

void measure(const OpCase& it, const Effort& effort, Table& table) {
  OpRun run(it, Column::cpu);
  check(it, run);
  const bool products = run.flops() > 0;
  const double work = products ? run.flops() : run.bytes(), reading = seconds(effort.reading) / 4;
  Copying copying(run.bytes());
  const auto spreads = alternate(
      effort.pairs,
      {[&] { return rate(work, reading, [&] { run.forward_and_backward(); }); },
       [&] { return products ? fma_gigaflops(reading) : rate(work, reading, [&] { copying.once(); }); }});
  char figure[64];
  std::snprintf(figure, sizeof figure, "%-33s %5.0f us", it.title().c_str(), work / spreads[0].median * 1e-3);
  table.add({figure,
             products ? "GFLOP/s" : "GB/s",
             spreads[0],
             products ? "FMA peak" : "memcpy",
             spreads[1],
             false,
             {}});
}

}  // namespace

void ops_section(const Effort& effort, Table& table) {
  table.section("ops of the CPU, forward and backward, one thread, 32 samples");
  const auto run = [&] {
    pin(0);
    nn::onednn::use_this_thread_only();
    for (const OpCase& it : op_cases()) measure(it, effort, table);
  };
  std::async(std::launch::async, run).get();  // a separate thread, because it is pinned
}

}  // namespace steelyard::bench
