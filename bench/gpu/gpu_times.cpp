// The time of both passes of each op for 512 samples, compared with a limit: for ops with products
// cuBLASLt's own rate, for all others the rate of memory copies, by the bytes that they must at least
// touch.
#include "bench/gpu/compared.h"
#include "bench/gpu/device_op.h"
#include "bench/gpu/gpu_limits.h"
#include "bench/gpu/gpu_sections.h"
#include "bench/gpu/rows.h"
#include "bench/gpu/timing.h"
#include "bench/nn/op_cases.h"

namespace steelyard::bench {
namespace {

constexpr std::uint32_t measured_samples = 512;

struct Limits {
  double copies = copied_bytes_per_second();
  std::vector<double> products;  // in the order of Precision
  Limits() {
    for (const Precision precision : every_precision) {
      products.push_back(multiplied_flops_per_second(precision));
    }
  }
};
const Limits& limits() {
  static const Limits measured;
  return measured;
}

void measure(const OpCase& it, Precision precision, const std::string& title) {
  if (!measures()) return print({title, "", "", "times on the host executor are meaningless"});
  const OpRun material(it, Column::reference);
  DeviceOp op(it, material, measured_samples, precision);
  const double taken = median_seconds(op.stream(), [&] { op.add_passes(); });
  const bool products = it.flops(1) > 0;
  const double short_share =
      precision == Precision::bf16 ? 0.5 : 1;  // activations are nearly all of the bytes
  const double bytes = short_share * it.bytes(op.traits(), measured_samples);
  const double rate = (products ? it.flops(measured_samples) : bytes) / taken;
  const double limit = products ? limits().products[static_cast<std::size_t>(precision)] : limits().copies;
  print({title,
         short_number(taken * 1e6) + " us, " +
             (products ? short_number(rate * 1e-12) + " TFLOP/s" : short_number(rate * 1e-9) + " GB/s"),
         short_number(100 * rate / limit) + (products ? " % of cuBLASLt" : " % of copies"),
         op.implementation()});
}

}  // namespace

std::vector<Case> op_time_cases() {
  std::vector<Case> cases;
  for (const OpCase& it : op_cases()) {
    for (const Precision precision : every_precision) {
      const bool products = it.flops(1) > 0;
      if (precision == Precision::tf32 && !products) continue;
      const std::string title = "op " + it.title() + ", " + name(precision);
      cases.push_back({title, [=] { measure(it, precision, title); }});
    }
  }
  return cases;
}

}  // namespace steelyard::bench
