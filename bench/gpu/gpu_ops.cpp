// Each op of the CUDA column: its results for 32 samples, in each precision that affects it, must equal the
// reference's.
#include <algorithm>
#include <memory>

#include "bench/gpu/compared.h"
#include "bench/gpu/device_op.h"
#include "bench/gpu/gpu_sections.h"
#include "bench/gpu/rows.h"
#include "bench/gpu/timing.h"
#include "bench/nn/op_cases.h"
#include "bench/pairs.h"

namespace steelyard::bench {
namespace {

// The material and the reference's results of one op, made by its first case and kept for its other
// precisions.
struct Expected {
  OpCase it;
  std::unique_ptr<OpRun> drawn{};  // `reference` may overwrite its own values in backward
  std::vector<OpResult> results{};

  void make() {
    if (drawn) return;
    drawn = std::make_unique<OpRun>(it, Column::reference);
    OpRun reference(it, Column::reference);
    reference.forward_and_backward();
    results = reference.results();
  }
};

void check(Expected& expected, Precision precision, const std::string& title) {
  expected.make();
  DeviceOp op(expected.it, *expected.drawn, nn::largest_micro_batch, precision);
  op.add_passes();
  auto got = op.results();
  spoil_if_planted(got[0].numbers);
  double most = 0;
  for (std::size_t k = 0; k < expected.results.size(); ++k) {
    const double share = relative_distance(got[k].numbers, expected.results[k].numbers);
    expect(share <= tolerance(precision),  // false for NaN
           op.implementation() + ": the " + expected.results[k].what + " differs from the reference's by " +
               short_number(share) + " of its length");
    most = std::max(most, share);
  }
  print({title, "correct", short_number(most * 1e6) + " ppm", op.implementation()});
}

}  // namespace

std::vector<Case> op_cases_on_device() {
  std::vector<Case> cases;
  for (const OpCase& it : op_cases()) {
    const auto expected = std::make_shared<Expected>(Expected{it});
    for (const Precision precision : every_precision) {
      // tf32 affects products on devices only, bf16 all stored numbers.
      if (precision == Precision::tf32 && (it.flops(1) == 0 || !measures())) continue;
      const std::string title = "op " + it.title() + ", " + name(precision);
      cases.push_back({title, [=] { check(*expected, precision, title); }});
    }
  }
  return cases;
}

}  // namespace steelyard::bench
