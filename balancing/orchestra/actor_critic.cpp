#include "balancing/orchestra/actor_critic.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <span>

#include "core/check.h"
#include "core/random.h"

namespace steelyard::balancing::orchestra {
namespace {

using Eigen::Index;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row = Eigen::RowVectorXd;

constexpr Index inputs = 4, hidden = 32, actions = 3, outputs = actions + 1;  // logits, then the value
constexpr std::size_t horizon = 5;                                            // decisions between two updates
constexpr double gamma = 0.5, rate = 3e-3, beta = 0.01, decay = 0.99, tiny = 1e-6;
constexpr std::size_t most_rows = most_workers;

// Views of the parameters in the flat vector.
template <class Scalar>
struct Layers {
  template <class Plain>
  using Map = Eigen::Map<std::conditional_t<std::is_const_v<Scalar>, const Plain, Plain>>;
  Map<Matrix> w1, w2, w3;
  Map<Row> b1, b2, b3;

  explicit Layers(Scalar* at)
      : w1(at, inputs, hidden),
        w2(at + inputs * hidden, hidden, hidden),
        w3(at + (inputs + hidden) * hidden, hidden, outputs),
        b1(w3.data() + hidden * outputs, hidden),
        b2(b1.data() + hidden, hidden),
        b3(b2.data() + hidden, outputs) {}
};
constexpr std::size_t size = (inputs + hidden + outputs + 2) * hidden + outputs;

// A forward pass of one state; one row per worker.
struct Pass {
  Eigen::Map<const Matrix> x;
  Matrix h1, h2;
  Row pi;          // probabilities
  double entropy;  // H(pi)
  double value;

  Pass(const std::vector<double>& parameters, const std::vector<double>& rows)
      : x(rows.data(), static_cast<Index>(rows.size()) / inputs, inputs) {
    const Layers<const double> p(parameters.data());
    h1 = ((x * p.w1).rowwise() + p.b1).array().tanh();
    h2 = ((h1 * p.w2).rowwise() + p.b2).array().tanh();
    const Row mean = (h2 * p.w3).colwise().mean() + p.b3;
    const Row z = mean.head(actions);
    pi = (z.array() - z.maxCoeff()).exp();
    pi /= pi.sum();
    entropy = -(pi.array() * (pi.array() + tiny).log()).sum();
    value = mean(actions);
  }

  // Adds the gradient to `to`; `mean` is the gradient with respect to the mean outputs.
  void add_gradient(const std::vector<double>& parameters, const Row& mean, std::vector<double>& to) const {
    const Layers<const double> p(parameters.data());
    Layers<double> g(to.data());
    const Matrix d3 = (mean / static_cast<double>(x.rows())).replicate(x.rows(), 1);
    const Matrix d2 = (d3 * p.w3.transpose()).array() * (1 - h2.array().square());
    const Matrix d1 = (d2 * p.w2.transpose()).array() * (1 - h1.array().square());
    g.w3.noalias() += h2.transpose() * d3, g.b3 += d3.colwise().sum();
    g.w2.noalias() += h1.transpose() * d2, g.b2 += d2.colwise().sum();
    g.w1.noalias() += x.transpose() * d1, g.b1 += d1.colwise().sum();
  }
};

std::vector<double> rows_of(const BarrierView& view) {
  CHECK(!view.workers.empty(), "no worker to decide for");
  std::vector<double> rows;
  for (const BarrierView::Worker& worker : view.workers) {
    rows.push_back(std::log1p(static_cast<double>(view.barriers)) / 8);
    rows.push_back(std::log2(worker.steps) / 2);
    rows.push_back(view.accuracy);
    rows.push_back(worker.waiting);
  }
  return rows;
}

}  // namespace

ActorCritic::ActorCritic(std::uint64_t seed) : seed_(seed), parameters_(size), squares_(size) {
  Random random(seed);
  Layers<double> p(parameters_.data());
  for (double& weight : std::span(p.w1.data(), inputs * hidden)) weight = random.normal() / std::sqrt(inputs);
  for (double& weight : std::span(p.w2.data(), hidden * hidden)) weight = random.normal() / std::sqrt(hidden);
  // The last layer stays 0: at first all actions are equally likely, and all values 0.
}

std::vector<double> ActorCritic::chances(const BarrierView& view) const {
  const std::vector<double> rows = rows_of(view);
  const Pass pass(parameters_, rows);
  return {pass.pi.begin(), pass.pi.end()};
}

int ActorCritic::decide(const BarrierView& view, int reward) {
  Step step{rows_of(view)};
  if (!steps_.empty()) steps_.back().reward = reward;
  if (steps_.size() == horizon) learn(Pass(parameters_, step.rows).value);
  const Pass pass(parameters_, step.rows);
  double left = unit(hash(seed_, decisions_++));
  while (step.action + 1 < actions && left >= pass.pi(static_cast<Index>(step.action))) {
    left -= pass.pi(static_cast<Index>(step.action++));
  }
  const int action = static_cast<int>(step.action) - 1;
  steps_.push_back(std::move(step));
  return action;
}

void ActorCritic::learn(double value_after) {
  std::vector<double> gradient(size);
  double wanted = value_after;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    wanted = step->reward + gamma * wanted;
    const Pass pass(parameters_, step->rows);
    const double advantage = wanted - pass.value;
    Row mean(outputs);
    mean.head(actions) = advantage * pass.pi.array() +
                         beta * pass.pi.array() * ((pass.pi.array() + tiny).log() + pass.entropy);
    mean(static_cast<Index>(step->action)) -= advantage;
    mean(actions) = -advantage;
    pass.add_gradient(parameters_, mean, gradient);
  }
  for (std::size_t i = 0; i < size; ++i) {
    squares_[i] = decay * squares_[i] + (1 - decay) * gradient[i] * gradient[i];
    parameters_[i] -= rate * gradient[i] / std::sqrt(squares_[i] + tiny);
  }
  steps_.clear();
}

template <class Fields>
void ActorCritic::all(Fields& fields) {
  fields(decisions_);
  for (std::vector<double>* values : {&parameters_, &squares_}) {
    fields(at_most(size, *values));
    fields.require(values->size() == size, "a network of another size");
  }
  for (const double square : squares_) fields.require(square >= 0, "a mean of squares is negative");
  std::size_t count = steps_.size();
  fields(at_most(horizon, count));
  steps_.resize(count);
  for (Step& step : steps_) {
    fields(at_most(most_rows * inputs, step.rows), at_most(actions - 1, step.action), step.reward);
    fields.require(!step.rows.empty() && step.rows.size() % inputs == 0, "rows of another width");
  }
}

void ActorCritic::serialize(StateWriter& fields) { all(fields); }
void ActorCritic::serialize(StateReader& fields) { all(fields); }

}  // namespace steelyard::balancing::orchestra
