// Local steps compared with the plain loop, in which the optimizer itself steps the parameters.
#include "worker/compute/local_stepper.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace steelyard::local_steps_test {
namespace {

constexpr std::uint64_t size = 37, samples = 1000;

Job job_with(nn::Optimizer optimizer, const std::string& sync) {
  Job job;
  append(job.layout, "w", {size - 12});
  append(job.layout, "b", {5}, Rule::step, 0);
  append(job.layout, "c", {7}, Rule::step, 0.5, 0.9, 0.25);
  job.train_samples = samples;
  job.sync = parse_sync(sync);
  job.optimizer = optimizer;
  job.schedule.kind = nn::Schedule::Kind::cosine;
  job.schedule.base = 0.1;
  job.schedule.epochs = 2;
  return job;
}

std::vector<float> numbers(Random& random) {
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random.uniform() - 0.5);
  return values;
}

Piece piece(Interval positions, LocalSteps local) {
  return {1, 0, Purpose::train, 0, positions, {0, 300}, local};
}

TEST(LocalStepper, OneStepOfPlainSgdPushesTheGradientItself) {
  Random random(1);
  const Job job = job_with({nn::Optimizer::Kind::sgd, 0, 0}, "local:1");
  LocalStepper stepper(job);
  const std::vector<float> start = numbers(random), gradient = numbers(random);
  std::vector<float> moved(size, 99.0F);
  stepper.begin(piece({0, 171}, {1, 1}), start, moved);
  stepper.step(gradient, 171, 0, 0);
  EXPECT_EQ(moved, gradient) << "bit for bit";
}

// The server's update by one push gives the parameters at which the worker's own steps ended.
void expect_where_the_loop_ends(const nn::Optimizer& optimizer, const std::string& sync) {
  Random random(7);
  const Job job = job_with(optimizer, sync);
  const Interval positions{100, 221};
  const LocalSteps local{4, 2};
  LocalStepper stepper(job);
  const std::vector<float> start = numbers(random);
  std::vector<float> moved(size), state(size), plain = start;
  const Piece whole = piece(positions, local);
  stepper.begin(whole, start, moved);
  for (std::uint64_t pass = 0; pass < 2; ++pass) {
    for (std::uint64_t step = 0; step < 4; ++step) {
      const std::uint64_t count = part_of(positions, step, 4).size();
      const std::vector<float> gradient = numbers(random);
      const double rate = step_rate(job.schedule, samples, 0, whole.whole, local, pass, step);
      std::vector<float> next(size);
      for (const Range& range : job.layout.ranges) {
        const auto part = [&](auto& all) {
          return std::span(all).subspan(range.begin, range.end - range.begin);
        };
        nn::step(optimizer, {part(next), part(plain), part(gradient), 1.0 / static_cast<double>(count)},
                 nn::state_slots(optimizer) == 0 ? std::span<float>() : part(state), rate * range.rate,
                 range.decay);
      }
      plain = next;
      stepper.step(gradient, static_cast<double>(count), pass, step);
    }
  }
  const double rate = round_rate(job.schedule, samples, 0, whole.whole, local);
  const double weight = sync.ends_with("equal") ? 1 : static_cast<double>(positions.size());
  for (const Range& range : job.layout.ranges) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      EXPECT_NEAR(stepper.parameters()[i], plain[i], 1e-6);
      EXPECT_NEAR(start[i] - rate * range.rate / weight * moved[i], plain[i], 1e-6);
    }
  }
}

TEST(LocalStepper, EndsWhereThePlainLoopDoes) {
  using Kind = nn::Optimizer::Kind;
  for (const char* sync : {"local:4", "local:4:equal"}) {
    expect_where_the_loop_ends({Kind::sgd, 0, 0}, sync);
    expect_where_the_loop_ends({Kind::sgd, 0, 0.01}, sync);
    expect_where_the_loop_ends({Kind::momentum, 0.9, 0.01}, sync);
    expect_where_the_loop_ends({Kind::nesterov, 0.9, 0.01}, sync);
  }
}

TEST(LocalStepper, NothingRemainsOfThePreviousPiece) {
  Random random(3);
  LocalStepper stepper(job_with({nn::Optimizer::Kind::momentum, 0.9, 0}, "local:2"));
  const std::vector<float> start = numbers(random), gradient = numbers(random);
  std::vector<float> first(size), second(size);
  for (std::vector<float>* moved : {&first, &second}) {
    stepper.begin(piece({0, 64}, {2, 1}), start, *moved);
    for (std::uint64_t step = 0; step < 2; ++step) stepper.step(gradient, 32, 0, step);
  }
  EXPECT_EQ(first, second);
}

TEST(LocalStepper, ClipsEachStep) {
  Job job = job_with({nn::Optimizer::Kind::sgd, 0, 0}, "local:1");
  job.clip_norm = 0.5;
  LocalStepper stepper(job);
  std::vector<float> moved(size);
  stepper.begin(piece({0, 10}, {1, 1}), std::vector<float>(size), moved);
  stepper.step(std::vector<float>(size, 100.0F), 10, 0, 0);
  double squares = 0;
  for (const float value : moved) squares += double{value} * value;
  EXPECT_NEAR(std::sqrt(squares) / 10, 0.5, 1e-6);
}

// The servers' result of two pieces is the average, weighted by positions, of the workers' own running
// averages. Their result of one step is the same as without local steps.
TEST(LocalStepper, StatisticsEndAsTheAverageOverPositions) {
  Job job = job_with({nn::Optimizer::Kind::sgd, 0, 0}, "local:3");
  job.clip_norm = 1e-3;  // does not apply to statistics
  append(job.layout, "statistics", {1}, Rule::ema, 0, 0.75);
  append(job.layout, "differences", {1}, Rule::mean, 0);
  const std::size_t ema = size, mean = size + 1;
  Random random(5);
  std::vector<float> start(size + 2), moved(size + 2), gradient(size + 2);
  start[ema] = 2, start[mean] = 3;
  double pushed_ema = 0, pushed_mean = 0, ends_ema = 0, ends_mean = 0, weights = 0;
  LocalStepper stepper(job);
  for (const Interval positions : {Interval{0, 200}, Interval{200, 300}}) {
    const Piece whole = piece(positions, {3, 1});
    stepper.begin(whole, start, moved);
    double average = 2, walked = 3;
    for (std::uint64_t step = 0; step < 3; ++step) {
      const auto count = static_cast<double>(part_of(positions, step, 3).size());
      const double statistic = random.uniform(), difference = random.uniform() - 0.5;
      gradient[ema] = static_cast<float>(statistic * count);
      gradient[mean] = static_cast<float>(difference * count);
      stepper.step(gradient, static_cast<double>(part_of(positions, step, 3).size()), 0, step);
      average = 0.75 * average + 0.25 * statistic;
      walked += difference;
      EXPECT_NEAR(stepper.parameters()[ema], average, 1e-5);
      EXPECT_NEAR(stepper.parameters()[mean], walked, 1e-5);
    }
    const auto weight = static_cast<double>(positions.size());
    pushed_ema += double{moved[ema]}, pushed_mean += double{moved[mean]};
    ends_ema += weight * average, ends_mean += weight * walked;
    weights += weight;
  }
  EXPECT_NEAR(0.75 * 2 + 0.25 * pushed_ema / weights, ends_ema / weights, 1e-5) << "the server's ema";
  EXPECT_NEAR(3 + pushed_mean / weights, ends_mean / weights, 1e-5) << "the server's mean";
  stepper.begin(piece({0, 171}, {1, 1}), start, moved);
  stepper.step(gradient, 171, 0, 0);
  EXPECT_EQ(moved[ema], gradient[ema]) << "bit for bit";
  EXPECT_EQ(moved[mean], gradient[mean]);
}

// Balanced DiLoCo under plain SGD at a constant rate, with the loss <c_i, w> of sample i: for any division
// of a round into whole batches, its result is that of H steps of bsp.
TEST(LocalStepper, BalancedStepsWeighAllSamplesEqually) {
  constexpr std::uint64_t H = 8, workers = 4, inner = 16, round = H * workers * inner;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    Job job = job_with({nn::Optimizer::Kind::sgd, 0, 0}, "diloco:8");
    job.schedule = {};
    job.schedule.base = 0.1;
    std::vector<std::vector<float>> c;  // by position
    for (std::uint64_t i = 0; i < round; ++i) c.push_back(numbers(random));
    const std::vector<float> start = numbers(random);
    std::vector<double> pushed(size), right(start.begin(), start.end());
    LocalStepper stepper(job);
    for (Position at = 0; at < round;) {
      const std::uint64_t steps = std::min((round - at) / inner, 1 + random.below(2 * H));
      const Interval positions{at, at + steps * inner};
      std::vector<float> moved(size);
      stepper.begin({1, 0, Purpose::train, 0, positions, {0, round}, {H, 1, inner}}, start, moved);
      for (std::uint64_t step = 0; step < steps; ++step) {
        std::vector<float> gradient(size);
        for (std::uint64_t i = 0; i < inner; ++i, ++at) {
          for (std::size_t e = 0; e < size; ++e) gradient[e] += c[at][e];
        }
        stepper.step(gradient, inner, 0, step);
      }
      for (std::size_t e = 0; e < size; ++e) pushed[e] += double{moved[e]};
    }
    for (std::uint64_t i = 0; i < round; ++i) {
      for (const Range& range : job.layout.ranges) {
        for (std::size_t e = range.begin; e < range.end; ++e)
          right[e] -= 0.1 * range.rate / (workers * inner) * double{c[i][e]};
      }
    }
    for (const Range& range : job.layout.ranges) {
      for (std::size_t e = range.begin; e < range.end; ++e)
        EXPECT_NEAR(double{start[e]} - 0.1 * range.rate * pushed[e] / round, right[e], 1e-6)
            << "seed " << seed;
    }
  }
}

// With 8, 4 and 2 steps the longest walk would otherwise count most. Under a constant gradient all go as far
// as H steps.
TEST(LocalStepper, BalancedStepsOfMomentumGoAsFarAsHStepsDo) {
  using Kind = nn::Optimizer::Kind;
  for (const Kind kind : {Kind::sgd, Kind::momentum, Kind::nesterov}) {
    Job job = job_with({kind, 0.9, 0}, "diloco:4");
    job.schedule = {};
    job.schedule.base = 0.1;
    LocalStepper stepper(job);
    const std::vector<float> start(size);
    for (const std::uint64_t steps : {8U, 4U, 2U}) {
      const Interval positions{0, 10 * steps};
      std::vector<float> moved(size);
      stepper.begin({1, 0, Purpose::train, 0, positions, {0, 140}, {4, 1, 10}}, start, moved);
      for (std::uint64_t step = 0; step < steps; ++step)
        stepper.step(std::vector<float>(size, 10.0F), 10, 0, step);
      EXPECT_NEAR(moved[0] / static_cast<double>(positions.size()), walk(job.optimizer, 4), 1e-4);
    }
  }
}

TEST(LocalStepper, BalancedStepsWithEqualCountsAreLocalSteps) {
  Random random(11);
  const Job local = job_with({nn::Optimizer::Kind::momentum, 0.9, 0.01}, "local:3");
  Job diloco = local;
  diloco.sync = parse_sync("diloco:3");
  const std::vector<float> start = numbers(random);
  std::vector<std::vector<float>> gradients{numbers(random), numbers(random), numbers(random)};
  std::vector<float> first(size), second(size);
  LocalStepper one(local), other(diloco);
  one.begin(piece({100, 190}, {3, 1}), start, first);
  other.begin(piece({100, 190}, {3, 1, 30}), start, second);
  for (std::uint64_t step = 0; step < 3; ++step) {
    one.step(gradients[step], 30, 0, step);
    other.step(gradients[step], 30, 0, step);
  }
  EXPECT_EQ(first, second) << "bit for bit";
}

// Orchestra (Du, Huang, Xiang 2022), equation 2: the plain mean of the workers' results.
TEST(LocalStepper, PacedStepsPushTheirWholeChange) {
  using Kind = nn::Optimizer::Kind;
  for (const Kind kind : {Kind::sgd, Kind::momentum, Kind::nesterov}) {
    Random random(5);
    Job job = job_with({kind, 0.9, 0}, "orchestra");
    job.schedule = {};
    job.schedule.base = 0.1;
    LocalStepper stepper(job);
    const std::vector<float> start = numbers(random);
    for (const std::uint64_t steps : {8U, 2U}) {
      std::vector<float> moved(size);
      stepper.begin({1, 0, Purpose::train, 0, {0, 10 * steps}, {0, 100}, {5, 1, 10}}, start, moved);
      for (std::uint64_t step = 0; step < steps; ++step) stepper.step(numbers(random), 10, 0, step);
      for (const Range& range : job.layout.ranges) {
        for (std::size_t e = range.begin; e < range.end; ++e)
          EXPECT_NEAR(start[e] - 0.1 * range.rate * moved[e], stepper.parameters()[e], 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace steelyard::local_steps_test
