#include "nn/cuda/cuda_network.h"

#include <algorithm>
#include <iterator>

#include "core/buffer_pool.h"
#include "core/check.h"
#include "core/error.h"
#include "core/interval.h"
#include "core/random.h"
#include "nn/cuda/runtime.h"
#include "nn/models.h"
#include "nn/network.h"
#include "tests/nn/cuda/schedules.h"
#include "tests/nn/lifted_norms.h"
#include "tests/nn/network_models.h"

#if !defined(STEELYARD_ON_DEVICE)
#include "nn/cuda/host/executor.h"
#endif

namespace steelyard::nn::cuda::network_test {
namespace {

// Micro-batches of these sizes, from the first sample on; the last one has one sample of padding.
struct Piece {
  std::vector<std::uint32_t> sizes;

  template <class Visit>
  void each(const Data& data, Visit visit) const {
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool last = i + 1 == sizes.size();
      const std::uint32_t count = last && sizes[i] > 1 ? sizes[i] - 1 : sizes[i];
      visit(data.batch(begin, sizes[i], count), last);
      begin += count;
    }
  }
};

struct Result {
  std::vector<float> gradient;
  Sums sums;
};

// The CPU computes the same samples in micro-batches of at most `max_size`.
Result on_cpu(const Model& model, const std::vector<float>& parameters, const Data& data, const Piece& piece,
              std::uint32_t max_size = largest_micro_batch) {
  nn::Network network(model);
  Result result{std::vector<float>(model.parameters()), {}};
  bool add = false;
  piece.each(data, [&](const MicroBatch& batch, bool) {
    for (std::uint32_t begin = 0; begin < batch.count; begin += max_size) {
      MicroBatch part = batch;
      part.inputs += begin * model.input().size();
      part.labels += begin * model.labels();
      part.positions += begin;
      part.size = std::min(max_size, batch.size);
      part.count = std::min(max_size, batch.count - begin);
      result.sums += network.train(parameters, part, result.gradient, add, nullptr);
      add = true;
    }
  });
  return result;
}

Result on_device(Network& network, const Model& model, const std::vector<float>& parameters, const Data& data,
                 const Piece& piece) {
  Result result{std::vector<float>(model.parameters(), NAN), {}};
  network.begin(parameters);
  piece.each(data, [&](const MicroBatch& batch, bool last) { network.train(batch, last); });
  IntervalSet reported;
  result.sums = network.finish(result.gradient, [&](std::uint64_t begin, std::uint64_t end) {
    EXPECT_EQ(reported.gaps({begin, end}).size(), 1U) << "reported twice";
    reported.add({begin, end});
  });
  EXPECT_TRUE(reported.gaps({0, model.parameters()}).empty()) << "a part of the gradient was never reported";
  return result;
}

// The distance of two gradients, relative to the norm of the second.
double distance(const std::vector<float>& actual, const std::vector<float>& expected) {
  CHECK(actual.size() == expected.size(), "gradients of two models");
  double distance = 0, length = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double difference = double{actual[i]} - expected[i];
    distance += difference * difference;
    length += double{expected[i]} * expected[i];
  }
  return std::sqrt(distance / length);
}

void expect_same(const Result& actual, const Result& expected) {
  EXPECT_NEAR(actual.sums.loss, expected.sums.loss, 1e-4 * (1 + std::abs(expected.sums.loss)));
  EXPECT_EQ(actual.sums.correct, expected.sums.correct);
  EXPECT_LE(distance(actual.gradient, expected.gradient), 1e-4);
}

// A piece may be cut behind a micro-batch that was not announced as the last.
TEST(CudaNetwork, APieceThatEndsEarlyHasItsGradient) {
  for (const auto& [name, model] : models()) {
    SCOPED_TRACE(name);
    Network network(model, 0, 8);
    const std::vector<float> parameters = initial(model);
    const Data data(model, 12, 6);
    const auto train = [&](bool announced) {
      Result result{std::vector<float>(model.parameters(), NAN), {}};
      IntervalSet reported;
      network.begin(parameters);
      network.train(data.batch(0, 8, 8), false);
      network.train(data.batch(8, 4, 4), announced);
      result.sums = network.finish(result.gradient, [&](std::uint64_t begin, std::uint64_t end) {
        reported.add({begin, end});
      });
      EXPECT_TRUE(reported.gaps({0, model.parameters()}).empty());
      return result;
    };
    const Result whole = train(true), cut = train(false);
    EXPECT_EQ(cut.gradient, whole.gradient);
    EXPECT_EQ(cut.sums, whole.sums);
  }
}

TEST(CudaNetwork, MatchesTheGradientsOfTheCpu) {
  for (const auto& [name, model] : models()) {
    SCOPED_TRACE(name);
    const std::vector<float> parameters = initial(model);
    const Data data(model, 64, 6);
    Network network(model, 0, thorough ? 16 : 4);
    const std::vector<Piece> few{{{4, 4}}}, all{{{16, 16, 8}}, {{16}}, {{4, 1}}};
    for (const Piece& piece : thorough ? all : few) {
      expect_same(on_device(network, model, parameters, data, piece), on_cpu(model, parameters, data, piece));
    }
  }
}

// With activations in bfloat16, a gradient may differ as in the worker's own check: by ten times its change
// if each parameter moves by the rounding, and by at least 5 %.
TEST(CudaNetwork, InBf16GradientsAreThoseOfTheCpuUpToRounding) {
  auto all = models();
  if (thorough) std::ranges::move(models_with_grains(), std::back_inserter(all));
  std::size_t rounded = 0;
  for (const auto& [name, model] : all) {
    SCOPED_TRACE(name);
    std::vector<float> parameters = initial(model), near;
    lift_norms(model, parameters);
    const Data data(model, 32, 6);
    const Piece piece{thorough ? std::vector{16U, 8U} : std::vector{4U, 4U}};
    const Result expected = on_cpu(model, parameters, data, piece);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      near.push_back(parameters[i] * (1 + (hash(i) % 2 == 0 ? 0x1p-9F : -0x1p-9F)));
    const double change = distance(on_cpu(model, near, data, piece).gradient, expected.gradient);
    Network network(Model(model).multiply_in(Precision::bf16), 0, 16);
    const Result actual = on_device(network, model, parameters, data, piece);
    EXPECT_NEAR(actual.sums.loss, expected.sums.loss, 2e-2 * (1 + std::abs(expected.sums.loss)));
    EXPECT_LE(distance(actual.gradient, expected.gradient), std::max(0.05, 10 * change));
    if (distance(actual.gradient, expected.gradient) > 1e-5) ++rounded;
  }
  EXPECT_GE(rounded, all.size() - 2) << "all but single convolutions, whose results are the scores";
}

// Statistics are computed per grain, even if several grains are computed at once.
TEST(CudaNetwork, StatisticsAreThoseOfEachGrain) {
  for (const auto& [name, model] : models_with_grains()) {
    SCOPED_TRACE(name);
    const std::vector<float> parameters = initial(model);
    const Data data(model, 160, 6);
    Network network(model, 0, 64);
    const std::vector<Piece> few{{{64}}, {{8}}}, all{{{64}}, {{64, 64}}, {{32, 16}}, {{8}}};
    for (const Piece& piece : thorough ? all : few) {
      expect_same(on_device(network, model, parameters, data, piece), on_cpu(model, parameters, data, piece));
    }
  }
}

// A share is one micro-batch, in which up to half of the places are padding.
TEST(CudaNetwork, StatisticsMayBeThoseOfAWholeShare) {
  for (auto& [name, model] : models_with_grains()) {
    SCOPED_TRACE(name);
    model.normalize_shares(64);
    const std::vector<float> parameters = initial(model);
    const Data data(model, 64, 6);
    Network network(model, 0, 16);
    EXPECT_EQ(network.micro_batch_sizes().front(), 64U) << "although 16 were asked for";
    for (const std::uint32_t share : thorough ? std::vector{64U, 41U, 20U} : std::vector{41U}) {
      const MicroBatch batch = data.batch(0, 64, share);
      Result expected{std::vector<float>(model.parameters()), {}}, actual = expected;
      expected.sums = nn::Network(model).train(parameters, batch, expected.gradient, false, nullptr);
      network.begin(parameters);
      network.train(batch, true);
      actual.sums = network.finish(actual.gradient, {});
      expect_same(actual, expected);
    }
  }
}

// A micro-batch size is run directly the first time, captured the second time, and then run as a graph.
TEST(CudaNetwork, EqualPiecesAlwaysGiveEqualBits) {
  const Model model = models_with_grains().front().second;
  const std::vector<float> parameters = initial(model);
  const Data data(model, 160, 6);
  Network network(model, 0, 32);
  const Piece piece{thorough ? std::vector{32U, 32U, 32U, 16U} : std::vector{8U, 8U, 8U, 4U}};
  const Result first = on_device(network, model, parameters, data, piece);
  for (int i = 0; i < 3; ++i) {
    const Result again = on_device(network, model, parameters, data, piece);
    EXPECT_EQ(again.gradient, first.gradient);
    EXPECT_EQ(again.sums, first.sums);
  }
}

// All memory is allocated before. The host waits for the two streams at the start of a round, for one at its
// end, for a free place for the next samples, and for each bucket of the gradient, of which there is one.
TEST(CudaNetwork, ASteadyStateRoundAllocatesNoMemory) {
  const Model model = models_with_grains().front().second;
  const std::vector<float> parameters = initial(model);
  const Data data(model, 160, 6);
  Network network(model, 0, 32);
  const Piece piece{{32, 32, 32, 16}};
  for (int i = 0; i < 2; ++i) on_device(network, model, parameters, data, piece);
  const Calls before = calls_of_this_thread();
  on_device(network, model, parameters, data, piece);
  const Calls after = calls_of_this_thread();
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.stream_waits - before.stream_waits, 3);
  EXPECT_EQ(after.event_waits - before.event_waits, piece.sizes.size() + 1);
}

TEST(CudaNetwork, MeasuringHasNoOtherEffect) {
  const Model model = Model({1, 1, 20}, 5).linear("a", 33).relu().linear("b", 5);
  const std::vector<float> parameters = initial(model);
  const Data data(model, 64, 6);
  Network network(model, 0, 16);
  const Result before = on_device(network, model, parameters, data, {{16, 8}});
  std::vector<std::uint32_t> sizes;
  for (const MicroBatchTime& it : network.measure()) {
    sizes.push_back(it.size);
    EXPECT_GT(it.seconds, 0);
  }
  EXPECT_EQ(sizes, network.micro_batch_sizes());
  const Result after = on_device(network, model, parameters, data, {{16, 8}});
  EXPECT_EQ(after.gradient, before.gradient);
  EXPECT_EQ(after.sums, before.sums);
}

TEST(CudaNetwork, EachCallUsesItsOwnParameters) {
  const Model model = Model({1, 1, 20}, 5).linear("a", 33).relu().linear("b", 5);
  std::vector<float> parameters = initial(model);
  const Data data(model, 64, 6);
  Network network(model, 0, 16);
  for (int i = 0; i < 4; ++i) {
    expect_same(on_device(network, model, parameters, data, {{16, 8}}),
                on_cpu(model, parameters, data, {{16, 8}}));
    for (float& value : parameters) value *= 0.7F;
  }
}

TEST(CudaNetwork, EvaluationMatchesTheCpu) {
  const Model model = models_with_grains().front().second;
  const std::vector<float> parameters = initial(model);
  const Data data(model, 160, 6);
  nn::Network cpu(model);
  Network network(model, 0, 32);
  for (int i = 0; i < 3; ++i) {
    network.begin(parameters);
    network.evaluate(data.batch(0, 32, 32));
    network.evaluate(data.batch(32, 16, 9));
    const Sums sums = network.finish({}, {});
    Sums expected = cpu.evaluate(parameters, data.batch(0, 32, 32));
    expected += cpu.evaluate(parameters, data.batch(32, 16, 9));
    EXPECT_NEAR(sums.loss, expected.loss, 1e-4 * expected.loss);
    EXPECT_EQ(sums.correct, expected.correct);
  }
}

TEST(CudaNetwork, AnAbandonedPieceHasNoEffect) {
  const Model model = Model({1, 1, 20}, 5).linear("a", 33).relu().linear("b", 5);
  const std::vector<float> parameters = initial(model);
  const Data data(model, 64, 6);
  Network network(model, 0, 16);
  network.begin(parameters);
  EXPECT_EQ(network.finish({}, {}), Sums{}) << "a piece without micro-batches";
  network.begin(parameters);
  network.train(data.batch(0, 16, 16), false);  // and no finish()
  expect_same(on_device(network, model, parameters, data, {{16, 8}}),
              on_cpu(model, parameters, data, {{16, 8}}));
}

// Once a piece has ended, in whatever way, the device does not use its memory: the executor would find it.
TEST(CudaNetwork, MemoryOfAnEndedPieceMayBeFreed) {
  const Model model = Model({1, 1, 20}, 5).linear("a", 33).relu().linear("b", 5);
  const std::vector<float> parameters = initial(model);
  const Data data(model, 64, 6);
  const Result expected = on_cpu(model, parameters, data, {{16, 8}});
  Network network(model, 0, 16);
  for (const char* end : {"finished", "abandoned", "abandoned early", "without micro-batches"}) {
    BufferPool pool(model.parameters());
    const auto brought = pool.take(), gradient = pool.take();
    std::ranges::copy(parameters, brought->data());
    network.begin(brought->span(), gradient->span());
    if (end != std::string("without micro-batches")) network.train(data.batch(0, 16, 16), false);
    if (end == std::string("finished") || end == std::string("abandoned"))
      network.train(data.batch(16, 8, 7), true);
    if (end == std::string("finished")) {
      Result result{std::vector<float>(model.parameters()), network.finish(gradient->span(), {})};
      std::ranges::copy(gradient->span(), result.gradient.begin());
      expect_same(result, expected);
    } else if (end == std::string("without micro-batches")) {
      network.finish({}, {});
    } else {
      network.abandon();
    }
  }
  expect_same(on_device(network, model, parameters, data, {{16, 8}}), expected);
}

// Steps on the device, and with its gradients on the host: the same bits, also with other calls
// in between.
TEST(CudaNetwork, MakesLocalStepsWithTheBitsOfTheHost) {
  const Model model = models_with_grains().front().second;
  const std::vector<float> parameters = initial(model);
  const Data data(model, 160, 6);
  Network network(model, 0, 32);
  const std::uint64_t middle = model.parameters() / 2;
  const auto ranges_of = [&](int step) {
    const float f = 0.01F + 0.003F * static_cast<float>(step);
    return std::vector<LocalRange>{
        {0, middle, LocalRange::Kind::momentum, {0.3F, 0.01F, 0.9F, 1.1F, f}},
        {middle, model.parameters(), LocalRange::Kind::nesterov, {0.7F, 0, 0.8F, 1.3F, f}}};
  };
  for (int piece = 0; piece < 3; ++piece) {
    std::vector<float> local = parameters, kept(local.size()), moved(local.size()), there(local.size());
    std::vector<Sums> expected, sums;
    for (int step = 0; step < 3; ++step) {
      const Result its = on_device(network, model, local, data, {{32, 16}});
      expected.push_back(its.sums);
      local_step(ranges_of(step), step == 0, its.gradient, local, kept, moved);
    }
    network.begin_steps(parameters, there);
    for (int step = 0; step < 3; ++step) {
      Piece{{32, 16}}.each(data, [&](const MicroBatch& batch, bool last) { network.train(batch, last); });
      sums.push_back(network.finish_gradient());
      network.step(ranges_of(step), step == 0);
    }
    IntervalSet reported;
    network.finish_steps(there, [&](std::uint64_t begin, std::uint64_t end) { reported.add({begin, end}); });
    EXPECT_EQ(reported.count(), model.parameters());
    EXPECT_EQ(there, moved);
    EXPECT_EQ(sums, expected);
  }
}

TEST(CudaNetwork, InvalidLabelsAreRefused) {
  const Model model = Model({1, 1, 4}, 3).linear("a", 3);
  Data data(model, 4, 6);
  data.labels[2] = 3;
  Network network(model, 0, 4);
  network.begin(initial(model));
  network.train(data.batch(0, 4, 4), true);
  std::vector<float> gradient(model.parameters());
  EXPECT_THROW(network.finish(gradient, {}), Failure);
}

TEST(CudaNetwork, AnUnknownDeviceIsRefused) {
  EXPECT_THROW(Network(Model({1, 1, 4}, 3).linear("a", 3), 99), Failure);
}

#if !defined(STEELYARD_ON_DEVICE)

// A device with less memory uses smaller micro-batches and gives the same gradients.
TEST(CudaNetwork, UsesTheLargestMicroBatchThatFits) {
  const Model model = Model({1, 1, 20}, 5).linear("a", 4000).relu().linear("b", 5);
  const std::vector<float> parameters = initial(model);
  const Data data(model, 64, 6);
  const std::uint64_t all = Network(model, 0, 64).bytes();
  host::limit_memory(host::used_memory() + all - all / 4);
  {
    Network network(model, 0, 64);
    EXPECT_EQ(network.micro_batch_sizes(), (std::vector<std::uint32_t>{32, 16, 8, 4, 2, 1}));
    expect_same(on_device(network, model, parameters, data, {{32, 32}}),
                on_cpu(model, parameters, data, {{32, 32}}));
  }
  host::limit_memory(host::used_memory() + 100'000);
  try {
    const Network network(model, 0, 64);
    ADD_FAILURE() << "accepted a model that does not fit";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(), testing::HasSubstr("does not fit on the device, even at 1 samples at once"));
  }
  host::limit_memory(0);
}

#endif

struct Tried {
  std::string name;
  ModelOptions options;
  std::uint32_t samples = 16;  // enough for variances of more than three numbers
  bool lifted = false;
};

void PrintTo(const Tried& tried, std::ostream* out) { *out << tried.name; }  // NOLINT: GoogleTest's name

// Small inputs keep the test short.
const std::vector<Tried>& small_models() {
  static const std::vector<Tried> all{{"softmax", {{4, 4, 1}, 3, {}}},
                                      {"svm", {{4, 4, 1}, 3, {}}},
                                      {"mlp", {{4, 4, 1}, 3, {}}},
                                      {"lenet5", {{28, 28, 1}, 3, {}}, 4},
                                      {"resnet20", {{8, 8, 3}, 3, {}}, 8, true},
                                      {"vit", {{8, 8, 3}, 3, {}}, 4},
                                      {"transformer", {{1, 6, 1}, 3, {}}, 4},
                                      {"gpt", {{1, 8, 1}, 256, {{"width", "24"}}}, 2},
                                      {"gpt2", {{1, 8, 1}, 50, {{"width", "24"}, {"layers", "2"}}}, 2}};
  return all;
}
const std::vector<Tried>& large_models() {
  static const std::vector<Tried> all{{"cifarnet", {{32, 32, 3}, 3, {}}, 4},
                                      {"resnet32", {{8, 8, 3}, 3, {}}, 16, true},
                                      {"resnet18", {{8, 8, 3}, 3, {}}, 16, true},
                                      {"resnet101", {{32, 32, 3}, 3, {}}, 16, true},
                                      {"densenet121", {{32, 32, 3}, 3, {}}, 16, true},
                                      {"inception_v3", {{75, 75, 3}, 3, {}}, 8, true},
                                      {"shufflenet_v2", {{32, 32, 3}, 3, {}}, 16, true},
                                      {"efficientnet_b0", {{32, 32, 3}, 3, {}}},
                                      {"efficientnet_b1", {{32, 32, 3}, 3, {}}},
                                      {"vit_b16", {{16, 16, 3}, 3, {}}, 2},
                                      {"albert", {{1, 3, 1}, 3, {}}, 2}};
  return all;
}

// All other models, at the first of these inputs that they accept. (A model of no layers accepts none.)
std::vector<Tried> other_models() {
  std::vector<Tried> others;
  const auto tried = [](const std::vector<Tried>& all, const std::string& name) {
    return std::ranges::find(all, name, &Tried::name) != all.end();
  };
  for (const auto& row : built_in_models()) {
    if (tried(small_models(), row.name) || tried(large_models(), row.name)) continue;
    for (const Shape input : {Shape{4, 4, 1}, Shape{8, 8, 3}, Shape{1, 6, 1}, Shape{32, 32, 3}}) {
      try {
        (void)make_model(row.name, {input, 3, {}});
      } catch (const Failure&) {
        continue;
      }
      others.push_back({row.name, {input, 3, {}}, 16, true});
      break;
    }
  }
  return others;
}

class CudaModels : public testing::TestWithParam<Tried> {};

TEST_P(CudaModels, MatchTheCpuInTraining) {
  const Tried& tried = GetParam();
  const Model model = make_model(tried.name, tried.options);
  if (!thorough && model.parameters() > 300'000) {
    GTEST_SKIP() << "too slow under a sanitizer; small models have the same ops";
  }
  std::vector<float> parameters = initial(model);
  if (tried.lifted) lift_norms(model, parameters);
  const Data data(model, tried.samples, 6);
  Network network(model, 0, tried.samples);
  const Piece piece{{tried.samples}};
  expect_same(on_device(network, model, parameters, data, piece), on_cpu(model, parameters, data, piece));
}

std::string name_of(const testing::TestParamInfo<Tried>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Small, CudaModels, testing::ValuesIn(small_models()), name_of);
INSTANTIATE_TEST_SUITE_P(Large, CudaModels, testing::ValuesIn(large_models()), name_of);
INSTANTIATE_TEST_SUITE_P(Other, CudaModels, testing::ValuesIn(other_models()), name_of);

TEST(CudaNetwork, EachBuiltInModelIsTested) {
  // `layers` is made of the job file's ops, which other tests cover.
  EXPECT_EQ(small_models().size() + large_models().size() + other_models().size(),
            built_in_models().size() - 1);
}

}  // namespace
}  // namespace steelyard::nn::cuda::network_test
