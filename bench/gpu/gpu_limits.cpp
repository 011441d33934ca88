#include "bench/gpu/gpu_limits.h"

#include <cstring>
#include <thread>

#include "bench/gpu/compared.h"
#include "bench/gpu/gpu_sections.h"
#include "bench/gpu/rows.h"
#include "bench/gpu/timing.h"
#include "bench/pairs.h"
#include "core/random.h"
#include "core/time.h"
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/products.h"

namespace steelyard::bench {

using namespace nn::cuda;

double copied_bytes_per_second() {
  const std::uint64_t bytes = measures() ? 1 << 30 : 1 << 16;
  Stream stream;
  const DeviceMemory from(bytes), to(bytes);
  stream.fill_zero(from.data(), bytes);
  return 2 * static_cast<double>(bytes) /
         median_seconds(stream, [&] { stream.copy(to.data(), from.data(), bytes); });
}

namespace {

// The factors are random, because a GPU multiplies zeros with less power and so at a higher clock.
template <class T>
double multiplied_flops_per_second(Precision precision, T /*of the factors*/) {
  const std::uint32_t side = measures() ? 8192 : 32;
  const std::uint64_t size = std::uint64_t{side} * side;
  Stream stream;
  const DeviceArray<T> a(size), b(size), c(size);
  const PinnedArray<T> drawn(size);
  Random random(1);
  for (std::uint64_t i = 0; i < size; ++i) drawn.data()[i] = static_cast<float>(2 * random.uniform() - 1);
  stream.copy_array(a.data(), drawn.data(), size);
  stream.copy_array(b.data(), drawn.data(), size);
  stream.synchronize();
  Products products(stream, precision);
  const double taken = median_seconds(stream, [&] {
    products.multiply(Product<T>{
        .rows = side, .columns = side, .inner = side, .a = a.data(), .b = b.data(), .c = c.data()});
  });
  return 2.0 * side * static_cast<double>(size) / taken;
}

}  // namespace

double multiplied_flops_per_second(Precision precision) {
  return in_storage(storage_of(precision),
                    [&](auto number) { return multiplied_flops_per_second(precision, number); });
}

namespace {

void print_limit(const std::string& what, const std::string& figure) {
  if (!measures()) return print({"limit: " + what, "", "", "times on the host executor are meaningless"});
  print({"limit: " + what, figure, "", ""});
}
void print_rate(const std::string& what, double bytes_per_second) {
  print_limit(what, short_number(bytes_per_second * 1e-9) + " GB/s");
}
void print_time(const std::string& what, double seconds) {
  print_limit(what, short_number(seconds * 1e6) + " us");
}

// Seconds of one `add`, without capture, after one that is not measured.
double seconds_each(Stream& stream, unsigned repeats, const std::function<void()>& add) {
  add();
  stream.synchronize();
  const Duration begin = steady_now().since_origin;
  for (unsigned i = 0; i < repeats; ++i) add();
  stream.synchronize();
  return seconds(steady_now().since_origin - begin) / repeats;
}

std::uint64_t copied() { return measures() ? 256 << 20 : 1 << 12; }

void host_copies() {
  const std::uint64_t bytes = copied();
  Stream stream, other;
  const DeviceMemory there(bytes), also(bytes);
  const PinnedMemory here(bytes), and_here(bytes);
  std::vector<std::uint8_t> pageable(bytes), registered(bytes);
  const auto rate = [&](const std::string& what, void* to, const void* from) {
    print_rate(what,
               static_cast<double>(bytes) / seconds_each(stream, 5, [&] { stream.copy(to, from, bytes); }));
  };
  rate("to the device, pinned", there.data(), here.data());
  rate("to the host, pinned", here.data(), there.data());
  rate("to the device, pageable", there.data(), pageable.data());
  rate("to the host, pageable", pageable.data(), there.data());
  {
    const auto registration = HostRegistration::make(registered.data(), bytes, true);
    expect(registration != nullptr, "memory of the host cannot be registered");
    rate("to the device, registered", there.data(), registered.data());
    rate("to the host, registered", registered.data(), there.data());
  }
  print_rate("both directions at once, pinned", 2 * static_cast<double>(bytes) / seconds_each(stream, 5, [&] {
                                                  stream.copy(there.data(), here.data(), bytes);
                                                  other.copy(and_here.data(), also.data(), bytes);
                                                  Event done;
                                                  done.record(other);
                                                  stream.wait(done);
                                                }));
}

void small_work() {
  const unsigned repeats = measures() ? 1000 : 2;
  Stream stream;
  const DeviceMemory there(4096);
  const PinnedMemory here(4096);
  auto* const number = static_cast<float*>(there.data());
  for (const std::uint64_t bytes : {4U, 4096U}) {
    print_time("a copy of " + std::to_string(bytes) + " B to the host",
               seconds_each(stream, repeats, [&] { stream.copy(here.data(), there.data(), bytes); }));
  }
  const auto kernel = [&] { add_up(stream, 1, number, number + 1); };
  print_time("a launch", seconds_each(stream, repeats, kernel));
  stream.begin_capture();
  for (unsigned i = 0; i < repeats; ++i) kernel();
  const auto graph = stream.end_capture();
  print_time("a kernel of a graph", seconds_each(stream, 3, [&] { stream.run(*graph); }) / repeats);
}

// Copies in the memory of the processor, each thread its own part.
void copies_of_the_host() {
  const std::uint64_t bytes = copied();
  const std::vector<std::uint8_t> from(bytes, 1);
  std::vector<std::uint8_t> to(bytes, 0);
  for (const unsigned threads : {1U, 8U}) {
    const Duration begin = steady_now().since_origin;
    std::vector<std::jthread> all;
    for (unsigned i = 0; i < threads; ++i) {
      const std::uint64_t part = bytes / threads;
      all.emplace_back([&, i, part] { std::memcpy(to.data() + i * part, from.data() + i * part, part); });
    }
    all.clear();
    print_rate("memcpy of the host, " + std::to_string(threads) + " threads",
               static_cast<double>(bytes) / seconds(steady_now().since_origin - begin));
  }
}

}  // namespace

std::vector<Case> limit_cases() {
  std::vector<Case> cases{
      {"limit: copies on the device", [] { print_rate("copies on the device", copied_bytes_per_second()); }}};
  for (const Precision precision : every_precision) {
    const std::string what = "cuBLASLt, 8192 x 8192 x 8192, " + name(precision);
    cases.push_back({"limit: " + what, [=] {
                       print_limit(what,
                                   short_number(multiplied_flops_per_second(precision) * 1e-12) + " TFLOP/s");
                     }});
  }
  cases.push_back({"limit: copies between host and device", host_copies});
  cases.push_back({"limit: small copies and launches", small_work});
  cases.push_back({"limit: copies of the host", copies_of_the_host});
  return cases;
}

}  // namespace steelyard::bench
