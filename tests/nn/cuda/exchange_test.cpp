// The exchange of a network's values, with copies in place of its kernels.
#include "nn/cuda/exchange.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <span>

#include "core/buffer_pool.h"
#include "core/interval.h"
#include "tests/nn/cuda/arrays.h"

namespace steelyard::nn::cuda::exchange_test {
namespace {

using testing::Each;

struct Exchanges : testing::TestWithParam<std::uint64_t> {
  Model model = Model({1, 1, 5}, 3).linear("a", 40).relu().linear("b", 30).linear("c", 20).linear("d", 3);
  Plan plan = make_plan(model, Backend::reference);
  Stream compute;
  Exchange exchange{model, plan, compute, GetParam()};

  // In place of a forward and a backward: the gradient of a step is its parameters.
  void issue() {
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      exchange.wait_for(i);
      each(i, [&](const Interval& range) { copy(seen.data(), exchange.parameters(), range); });
    }
    for (std::size_t i = plan.steps.size(); i-- > 0;) {
      each(i, [&](const Interval& range) { copy(exchange.gradient(), seen.data(), range); });
      exchange.give(i);
    }
  }
  void each(std::size_t step, const std::function<void(const Interval&)>& visit) {
    for (const Interval& range : plan.steps[step].final) visit(range);
  }
  void copy(float* to, const float* from, const Interval& range) {
    compute.copy_array(to + range.begin, from + range.begin, range.size());
  }

  // Sends other numbers there and back each time.
  void expect_a_round(const std::function<void()>& run) {
    std::vector<float> parameters(model.parameters()), gradient(model.parameters(), NAN);
    expect_a_round(run, parameters, gradient, false);
  }
  // `told`: where the gradient will be written.
  void expect_a_round(const std::function<void()>& run, std::span<float> parameters,
                      std::span<float> gradient, bool told) {
    for (float& value : parameters) value = static_cast<float>(++last);
    exchange.bring(parameters, told ? gradient : std::span<float>());
    run();
    exchange.take_back();
    IntervalSet reported;
    exchange.collect(gradient, [&](std::uint64_t begin, std::uint64_t end) {
      EXPECT_TRUE(reported.add_if_absent({begin, end})) << "reported twice";
      EXPECT_EQ(gradient[begin], parameters[begin]) << "reported too early";
      EXPECT_EQ(gradient[end - 1], parameters[end - 1]) << "reported too early";
    });
    EXPECT_EQ(reported.count(), model.parameters());
    EXPECT_TRUE(std::ranges::equal(gradient, parameters));
    compute.synchronize();
    exchange.synchronize();
  }

  DeviceArray<float> seen{model.parameters()};
  int last = 0;
};

TEST_P(Exchanges, CarriesValuesThereAndBack) {
  for (int i = 0; i < 3; ++i) expect_a_round([&] { issue(); });
}

// A graph does not contain the copies: it waits for them, and they for it, in each run.
TEST_P(Exchanges, CarriesValuesOfAGraph) {
  const Captured captured = capture(compute, [&] { issue(); });
  ASSERT_NE(captured.graph, nullptr) << captured.refusal;
  for (int i = 0; i < 3; ++i) expect_a_round([&] { compute.run(*captured.graph); });
  expect_a_round([&] { issue(); });
}

// The device reads and writes them itself, so nothing more is allocated, and each round may use others.
TEST_P(Exchanges, UsesBuffersOfPoolsDirectly) {
  const Captured captured = capture(compute, [&] { issue(); });
  BufferPool pool(model.parameters());
  for (int i = 0; i < 3; ++i) {
    const auto parameters = pool.take(), gradient = pool.take(), spare = i == 1 ? pool.take() : nullptr;
    const Calls before = calls_of_this_thread();
    expect_a_round([&] { compute.run(*captured.graph); }, parameters->span(), gradient->span(), true);
    EXPECT_EQ(calls_of_this_thread().allocations - before.allocations, i == 0 ? 2 : 0) << "registrations";
  }
}

TEST_P(Exchanges, MixesBothKindsOfMemory) {
  BufferPool pool(model.parameters());
  std::vector<float> parameters(model.parameters()), gradient(model.parameters());
  const auto pooled = pool.take(), other = pool.take();
  expect_a_round([&] { issue(); }, pooled->span(), gradient, true);
  expect_a_round([&] { issue(); }, parameters, pooled->span(), true);
  expect_a_round([&] { issue(); }, other->span(), pooled->span(), false);
  expect_a_round([&] { issue(); });
}

TEST_P(Exchanges, BringsZeros) {
  exchange.bring_zeros();
  issue();
  compute.synchronize();
  exchange.synchronize();
  EXPECT_THAT(to_host(compute, seen), Each(0.0F));
}

// Buckets of one step each, of some, and of all.
INSTANTIATE_TEST_SUITE_P(Buckets, Exchanges, testing::Values(1, 1000, 1'000'000));

}  // namespace
}  // namespace steelyard::nn::cuda::exchange_test
