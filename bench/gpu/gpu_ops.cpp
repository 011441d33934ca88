// Each op of the CUDA column. First its results for 32 samples, in each precision that affects it, must equal
// the reference's. Then the time of both passes for 512 samples is compared with a limit: for ops with
// products cuBLASLt's own rate, for all others the rate of memory copies, by the bytes that they must at
// least touch.
#include <algorithm>
#include <cmath>

#include "bench/gpu/device_op.h"
#include "bench/gpu/gpu_limits.h"
#include "bench/gpu/gpu_sections.h"
#include "bench/gpu/rows.h"
#include "bench/gpu/timing.h"
#include "bench/nn/op_cases.h"
#include "bench/pairs.h"

namespace steelyard::bench {
namespace {

constexpr auto every_precision = {Precision::float32, Precision::tf32, Precision::bf16};
constexpr std::uint32_t measured_samples = 512;

// The largest allowed difference, relative to the norm of a result: sums are in float32 in another order (and
// may use Winograd's method); factors have 11 significant bits in tf32 and 8 in bf16.
double tolerance(Precision precision) {
  return precision == Precision::float32 ? 1e-4 : precision == Precision::tf32 ? 2e-3 : 2e-2;
}

// The largest distance of a result from the reference, relative to its norm.
double check(const OpCase& it, const OpRun& drawn, const OpRun& reference, Precision precision) {
  DeviceOp op(it, drawn, nn::largest_micro_batch, precision);
  op.add_passes();
  const auto wanted = reference.results(), got = op.results();
  double most = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    double distance = 0, length = 0;
    for (std::size_t i = 0; i < wanted[k].numbers.size(); ++i) {
      const double number = wanted[k].numbers[i];
      distance += (got[k].numbers[i] - number) * (got[k].numbers[i] - number);
      length += number * number;
    }
    const double share = length > 0 ? std::sqrt(distance / length) : std::sqrt(distance);
    expect(share <= tolerance(precision),  // false for NaN
           op.implementation() + ": the " + wanted[k].what + " differs from the reference's by " +
               short_number(share) + " of its length");
    most = std::max(most, share);
  }
  return most;
}

struct Limits {
  double copies = copied_bytes_per_second();
  std::vector<double> products;  // in the order of Precision
  Limits() {
    for (std::size_t i = 0; i < every_precision.size(); ++i) {
      products.push_back(multiplied_flops_per_second(static_cast<Precision>(i)));
    }
  }
};

void measure(const OpCase& it, const OpRun& material, Precision precision, const Limits& limits) {
  DeviceOp op(it, material, measured_samples, precision);
  const double taken = median_seconds(op.stream(), [&] { op.add_passes(); });
  const bool products = it.flops(1) > 0;
  const double rate =
      (products ? it.flops(measured_samples) : it.bytes(op.traits(), measured_samples)) / taken;
  const double limit = products ? limits.products[static_cast<std::size_t>(precision)] : limits.copies;
  print({"op " + it.title() + (products ? ", " + name(precision) : ""),
         short_number(taken * 1e6) + " us, " +
             (products ? short_number(rate * 1e-12) + " TFLOP/s" : short_number(rate * 1e-9) + " GB/s"),
         short_number(100 * rate / limit) + (products ? " % of cuBLASLt" : " % of copies"),
         op.implementation()});
}

void print_limits(const Limits& limits) {
  print({"limit: copies of memory, 1 GB", short_number(limits.copies * 1e-9) + " GB/s", "", ""});
  for (const Precision precision : every_precision) {
    print({"limit: cuBLASLt, 8192 x 8192 x 8192, " + name(precision),
           short_number(limits.products[static_cast<std::size_t>(precision)] * 1e-12) + " TFLOP/s", "", ""});
  }
}

}  // namespace

void gpu_ops_section() {
  const Limits limits;
  if (measures()) print_limits(limits);
  std::vector<double> worst(every_precision.size());
  std::vector<unsigned> checked(every_precision.size()), wrong(every_precision.size());
  for (const OpCase& it : op_cases()) {
    const OpRun drawn(it, Column::reference);  // `reference` may overwrite its own values in backward
    OpRun reference(it, Column::reference);
    reference.forward_and_backward();
    for (const Precision precision : every_precision) {
      if (precision != Precision::float32 && it.flops(1) == 0) continue;
      const auto i = static_cast<std::size_t>(precision);
      try {
        ++checked[i];
        worst[i] = std::max(worst[i], check(it, drawn, reference, precision));
        if (measures()) measure(it, drawn, precision, limits);
      } catch (const std::exception& trouble) {  // continue with the other ops
        ++wrong[i];
        print({"op " + it.title() + ", " + name(precision), "WRONG", "", trouble.what()});
      }
    }
  }
  if (!measures()) print({"times of ops", "", "", "times on the host executor are meaningless"});
  for (const Precision precision : every_precision) {
    const auto i = static_cast<std::size_t>(precision);
    print({"ops against the reference, " + name(precision),
           wrong[i] == 0 ? "correct" : std::to_string(wrong[i]) + " WRONG",
           "correct ones differ by at most " + short_number(worst[i] * 1e6) + " ppm",
           std::to_string(checked[i]) + " cases"});
  }
  expect(std::ranges::all_of(wrong, [](unsigned n) { return n == 0; }), "ops give wrong results");
}

}  // namespace steelyard::bench
