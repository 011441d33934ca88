// Compares predictors: their error one round ahead, and the cost of a prediction. Deterministic except for
// the cost. Errors are compared with that of `last`, which predicts no change.
//
// Traces: six synthetic ones with 3 % of noise, and two recorded in real runs (bench/traces). An error is 100
// times the root mean square of ln(predicted / measured speed), from the 40th round on, because predictors
// start with different rules (NARX: simple ones until 32 samples). Small errors are approximately percent of
// the speed.
//
// The co-tenant trace exists three times, as sim::Readings. A co-tenant comes or goes inside a round; before
// the round is known: the mean share of the round (oracle), the share at the end of the round before
// (barrier, as real workers read it), or the mean of the round before (late).
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "balancing/predict/predictors.h"
#include "bench/sections.h"
#include "core/random.h"

namespace steelyard::bench {
namespace {

struct Point {
  double speed;
  double cpu = -1;     // mean of the round; -1: not measured
  double before = -1;  // at the end of the round before
  double told = -1;    // known before the round; -1: unknown
};
// The speeds of several workers; each worker has its own predictor.
struct Trace {
  std::string name;
  std::vector<std::vector<Point>> workers;
};

constexpr std::size_t settled = 40, length = 600;

// `speed_at` returns the speed without noise, and may set the CPU share.
template <class SpeedAt>
Trace made_up(const std::string& name, std::uint64_t seed, SpeedAt speed_at) {
  Trace trace{name, {}};
  for (std::uint64_t worker = 0; worker < 4; ++worker) {
    Random random(hash(seed, worker));
    std::vector<Point>& points = trace.workers.emplace_back();
    for (std::size_t k = 0; k < length; ++k) {
      Point point{0};
      point.speed = speed_at(k, random, point) * std::exp(0.03 * random.normal());
      points.push_back(point);
    }
  }
  return trace;
}

std::vector<Trace> made_up_traces(std::uint64_t seed) {
  std::vector<Trace> all;
  all.push_back(made_up("steady", seed, [](std::size_t, Random&, Point&) { return 1000.0; }));
  all.push_back(made_up("steps", seed,
                        [](std::size_t k, Random&, Point&) { return k / 60 % 2 == 0 ? 1000.0 : 500.0; }));
  all.push_back(made_up("waves", seed, [](std::size_t k, Random&, Point&) {
    return 1000 * (1 + 0.4 * std::sin(0.2 * static_cast<double>(k)));
  }));
  all.push_back(made_up("walk", seed, [level = 1000.0](std::size_t k, Random& random, Point&) mutable {
    level = k == 0 ? 1000 : std::clamp(level * std::exp(0.05 * random.normal()), 300.0, 3000.0);
    return level;
  }));
  // The speed is proportional to the CPU share, which changes after a random part of the work.
  all.push_back(
      made_up("co-tenant, oracle", seed, [share = 1.0](std::size_t, Random& random, Point& point) mutable {
        point.before = share;
        if (random.below(10) == 0) share = random.below(2) == 0 ? 1 : 0.3 + 0.6 * random.uniform();
        const double done = random.uniform();
        point.cpu = point.told = 1 / (done / point.before + (1 - done) / share);
        return 1000 * point.cpu;
      }));
  Trace barrier = all.back(), late = all.back();
  barrier.name = "co-tenant, barrier", late.name = "co-tenant, late";
  for (std::size_t worker = 0; worker < late.workers.size(); ++worker) {
    for (Point& point : barrier.workers[worker]) point.told = point.before;
    std::vector<Point>& points = late.workers[worker];
    for (std::size_t k = points.size(); k-- > 0;) points[k].told = k == 0 ? -1 : points[k - 1].cpu;
  }
  all.push_back(std::move(barrier));
  all.push_back(std::move(late));
  return all;
}

// Each line has "samples ms" for every worker; # starts a comment.
Trace recorded(const std::string& name) {
  const auto file = std::filesystem::path(STEELYARD_TRACES) / (name + ".txt");
  std::ifstream stream(file);
  expect(stream.is_open(), "predictors: " + file.string() + " cannot be read");
  Trace trace{name + ", recorded", {}};
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    double samples = 0, ms = 0;
    for (std::size_t worker = 0; words >> samples >> ms; ++worker) {
      if (worker == trace.workers.size()) trace.workers.emplace_back();
      trace.workers[worker].push_back({1000 * samples / ms});
    }
  }
  expect(!trace.workers.empty() && trace.workers[0].size() > 2 * settled,
         "predictors: " + file.string() + " is too short");
  return trace;
}

// 100 times the root mean square of ln(predicted / measured).
double error(const std::string& predictor, const Trace& trace, std::uint64_t seed) {
  double squares = 0;
  std::size_t count = 0;
  for (const std::vector<Point>& points : trace.workers) {
    const auto it = balancing::make_predictor(predictor, seed);
    for (std::size_t k = 0; k < points.size(); ++k) {
      const double predicted = it->predict(points[k].told, -1);
      if (k >= settled) {
        expect(predicted > 0 && std::isfinite(predicted),
               "predictors: " + predictor + " gives a prediction that is not positive and finite");
        squares += std::pow(std::log(predicted / points[k].speed), 2), ++count;
      }
      it->observe(points[k].speed, points[k].told, -1);
    }
  }
  return 100 * std::sqrt(squares / static_cast<double>(count));
}

// Microseconds of one round of one worker: predict, then learn.
double cost(const std::string& predictor, const Trace& trace, std::uint64_t seed, Duration duration) {
  const auto it = balancing::make_predictor(predictor, seed);
  std::size_t rounds = 0;
  double sum = 0;
  const Duration begin = thread_cpu_time();
  // The clock is read once per `length` rounds, because reading it takes longer than the simplest predictor.
  for (; rounds % length != 0 || rounds == 0 || thread_cpu_time() - begin < duration; ++rounds) {
    const Point& point = trace.workers[0][rounds % length];
    sum += it->predict(point.told, -1);
    it->observe(point.speed, point.told, -1);
  }
  expect(sum > 0, "predictors: " + predictor + " predicts only zeros");
  return seconds(thread_cpu_time() - begin) * 1e6 / static_cast<double>(rounds);
}

Spread exactly(double value) { return {value, value, value}; }

}  // namespace

void predictor_section(const Effort& effort, Table& table) {
  const std::vector<std::string> names = balancing::predictor_names();
  std::vector<Trace> traces = made_up_traces(effort.seed);
  for (const char* name : {"demo", "quick"}) traces.push_back(recorded(name));
  table.section("predictors: error one round ahead, 100 x RMSE of ln(predicted / measured speed)");
  for (const Trace& trace : traces) {
    const double last = error("last", trace, effort.seed);
    for (const std::string& name : names) {
      table.add({trace.name + ": " + name,
                 "",
                 exactly(error(name, trace, effort.seed)),
                 "last",
                 exactly(last),
                 true,
                 {}});
    }
  }
  table.section("predictors: microseconds to predict and to learn, per worker and round");
  std::vector<std::function<double()>> sides;
  for (const std::string& name : names) {
    sides.emplace_back([&, name] { return cost(name, traces[4], effort.seed, effort.reading / 4); });
  }
  const std::vector<Spread> spreads = alternate(effort.pairs, sides);
  for (std::size_t i = 0; i < names.size(); ++i) {
    table.add({names[i], "us", spreads[i], "last", spreads[0], true, {}});
  }
}

}  // namespace steelyard::bench
