// What networks rely on, one thing a case: the first wrong one explains failures of all that follow.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "bench/gpu/compared.h"
#include "bench/gpu/gpu_sections.h"
#include "bench/gpu/lent_memory.h"
#include "bench/gpu/native_facts.h"
#include "bench/gpu/rows.h"
#include "bench/gpu/timing.h"
#include "bench/pairs.h"
#include "core/random.h"
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/products.h"
#include "nn/cuda_devices.h"

namespace steelyard::bench {

using namespace nn::cuda;

namespace {

constexpr std::uint64_t numbers = 1000;

struct Numbers {
  PinnedArray<float> host{numbers};
  DeviceArray<float> device{numbers};
  explicit Numbers(float value) { std::fill_n(host.data(), numbers, value); }
  void up(Stream& stream) { stream.copy_array(device.data(), host.data(), numbers); }
  void down(Stream& stream) { stream.copy_array(host.data(), device.data(), numbers); }
  void expect_all(float value) const {
    expect(std::all_of(host.data(), host.data() + numbers, [=](float it) { return it == value; }),
           "wrong numbers came back");
  }
};

void kernel() {
  Stream stream;
  Numbers one(1), two(2);
  one.up(stream);
  two.up(stream);
  add_up(stream, numbers, one.device.data(), two.device.data());
  two.down(stream);
  stream.synchronize();
  spoil_if_planted({two.host.data(), numbers});
  two.expect_all(3);
}

template <class T>
void product(Precision precision, T /*of the factors*/) {
  constexpr std::uint32_t side = 64;
  constexpr std::uint64_t size = side * side;
  Stream stream;
  const PinnedArray<T> a(size), b(size), c(size);
  const DeviceArray<T> there_a(size), there_b(size), there_c(size);
  Random random(1);
  for (std::uint64_t i = 0; i < size; ++i) {
    a.data()[i] = static_cast<float>(2 * random.uniform() - 1);
    b.data()[i] = static_cast<float>(2 * random.uniform() - 1);
  }
  stream.copy_array(there_a.data(), a.data(), size);
  stream.copy_array(there_b.data(), b.data(), size);
  Products products(stream, precision);
  products.multiply(Product<T>{.rows = side,
                               .columns = side,
                               .inner = side,
                               .a = there_a.data(),
                               .b = there_b.data(),
                               .c = there_c.data()});
  stream.copy_array(c.data(), there_c.data(), size);
  stream.synchronize();
  std::vector<float> expected(size);
  for (std::uint32_t i = 0; i < side; ++i) {
    for (std::uint32_t j = 0; j < side; ++j) {
      double sum = 0;
      for (std::uint32_t k = 0; k < side; ++k)
        sum += double{float{a.data()[i * side + k]}} * b.data()[k * side + j];
      expected[i * side + j] = static_cast<float>(sum);
    }
  }
  std::vector<float> got(c.data(), c.data() + size);
  spoil_if_planted(got);
  const double share = relative_distance(got, expected);
  expect(share <= tolerance(precision), "the product differs by " + short_number(share) + " of its length");
}

// Adds on `other`, between events of `stream`.
void add_elsewhere(Stream& stream, Stream& other, Event& begun, Event& done, Numbers& from, Numbers& to) {
  begun.record(stream);
  other.wait(begun);
  add_up(other, numbers, from.device.data(), to.device.data());
  done.record(other);
  stream.wait(done);
}

void two_streams(bool captured) {
  Stream stream, other;
  Event begun, done;
  Numbers one(1), sum(0);
  one.up(stream);
  sum.up(stream);
  if (captured) {
    add_elsewhere(stream, other, begun, done, one, sum);  // modules are loaded outside of captures
    stream.synchronize();
    stream.begin_capture();
    add_elsewhere(stream, other, begun, done, one, sum);
    const auto graph = stream.end_capture();
    stream.run(*graph);
    stream.run(*graph);
    sum.down(stream);
    stream.synchronize();
    return sum.expect_all(3);
  }
  add_elsewhere(stream, other, begun, done, one, sum);
  sum.down(stream);
  stream.synchronize();
  sum.expect_all(1);
}

// Networks bring parameters and take gradients back on a second stream while a graph runs. Its events must
// wait for that stream, and let it go on before the graph ends.
void graph_events() {
  const std::uint64_t bytes = measures() ? 1 << 30 : 1 << 10;
  Stream stream, copies;
  Event brought(Event::Reach::outside), given(Event::Reach::outside), arrived(Event::Reach::outside);
  const DeviceMemory filled(bytes);
  Numbers in(0), sum(0);
  sum.up(stream);
  stream.fill_zero(filled.data(), bytes);  // modules are loaded outside of captures
  add_up(stream, numbers, in.device.data(), sum.device.data());
  sum.up(stream);
  stream.synchronize();
  stream.begin_capture();
  stream.wait(brought);
  add_up(stream, numbers, in.device.data(), sum.device.data());
  given.record(stream);
  for (int i = 0; i < 50; ++i) stream.fill_zero(filled.data(), bytes);
  const auto graph = stream.end_capture();
  for (const float expected : {1.0F, 3.0F}) {
    Numbers more(expected == 1 ? 1 : 2);
    more.up(copies);
    copies.copy_array(in.device.data(), more.device.data(), numbers);
    brought.record(copies);
    stream.run(*graph);
    copies.wait(given);
    sum.down(copies);
    arrived.record(copies);
    arrived.synchronize();
    expect(!stream.idle(), "another stream went on only at the end of the graph");
    sum.expect_all(expected);
    stream.synchronize();
  }
}

void shared_memory() {
  constexpr std::uint64_t bytes = 1 << 20;
  const int file = memfd_create("steelyard_gpu_check", 0);
  expect(file >= 0 && ftruncate(file, bytes) == 0, "the system gives no memfd");
  void* const there = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  expect(there != MAP_FAILED && mapped != MAP_FAILED, "a memfd cannot be mapped");
  {
    const auto registered = HostRegistration::make(there, bytes, true);
    expect(registered != nullptr, "a memfd cannot be registered");
    if (HostRegistration::make(mapped, bytes, false) == nullptr)
      print({"smoke: a mapping that can only be read", "", "",
             "is refused: copies pass through pinned memory"});
    Stream stream;
    Numbers five(5);
    five.up(stream);
    stream.copy_array(static_cast<float*>(there), five.device.data(), numbers);
    stream.synchronize();
    expect(static_cast<float*>(there)[numbers - 1] == 5, "wrong numbers came back");
  }
  munmap(there, bytes);
  munmap(mapped, bytes);
}

void nvml() {
  const auto monitor = nn::monitor_of(0);
  if (!monitor) return print({"smoke: clock and memory by NVML", "", "", "NVML does not know the device"});
  const nn::GpuCondition now = monitor->read();
  print({"smoke: clock and memory by NVML",
         now.clock ? short_number(100 * *now.clock) + " % of its clock" : "ok",
         now.temperature ? short_number(*now.temperature) + " degrees" : "", ""});
}

void facts() {
  for (const auto& [what, value] : native_facts()) print({"env: " + what, value, "", ""});
}

}  // namespace

std::vector<Case> smoke_cases() {
  std::vector<Case> cases{{"env: of the program", facts}};
  const auto add = [&](const std::string& what, const std::function<void()>& run) {
    const std::string title = "smoke: " + what;
    cases.push_back({title, [=] {
                       run();
                       print({title, "ok", "", ""});
                     }});
  };
  add("a kernel of ours", kernel);
  for (const Precision precision : every_precision) {
    add("a product, " + name(precision),
        [=] { in_storage(storage_of(precision), [&](auto number) { product(precision, number); }); });
  }
  for (Case& it : op_cases_on_device()) {
    if (it.title.find("conv2d 16x16x32, 3x3,") != std::string::npos) cases.push_back(std::move(it));
  }
  add("two streams that join", [] { two_streams(false); });
  add("a capture of two streams", [] { two_streams(true); });
  add("a graph that waits for a stream outside, and that one for it", graph_events);
  add("shared memory registered with the device", shared_memory);
  cases.push_back({"smoke: memory lent to another process", lend_to_a_process});
  cases.push_back({"smoke: clock and memory by NVML", nvml});
  return cases;
}

}  // namespace steelyard::bench
