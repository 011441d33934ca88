#include "balancing/predict/tanh_network.h"

#include <Eigen/Core>
#include <cmath>
#include <type_traits>

#include "core/check.h"
#include "core/random.h"

namespace steelyard::balancing {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::Map;
using Eigen::MatrixXd;
using Eigen::RowVectorXd;
using Eigen::VectorXd;

// Views of a flat vector, in the order of the parameters.
template <class Scalar>
struct Views {
  using Matrix = std::conditional_t<std::is_const_v<Scalar>, const MatrixXd, MatrixXd>;
  using Row = std::conditional_t<std::is_const_v<Scalar>, const RowVectorXd, RowVectorXd>;
  using Column = std::conditional_t<std::is_const_v<Scalar>, const VectorXd, VectorXd>;

  Map<Matrix> w1;  // inputs x hidden, so that X * w1 has one row per sample
  Map<Row> b1;
  Map<Column> w2;
  Scalar& b2;

  Views(Scalar* flat, Index inputs, Index hidden)
      : w1(flat, inputs, hidden),
        b1(flat + inputs * hidden, hidden),
        w2(flat + (inputs + 1) * hidden, hidden),
        b2(flat[(inputs + 2) * hidden]) {}
};

}  // namespace

TanhNetwork::TanhNetwork(std::size_t inputs, std::size_t hidden, std::uint64_t seed)
    : inputs_(inputs),
      hidden_(hidden),
      parameters_((inputs + 2) * hidden + 1),
      moment1_(parameters_.size()),
      moment2_(parameters_.size()) {
  Random random(seed);
  // Sums of `inputs` terms of about 1 then lie where tanh is nonlinear but not saturated.
  const double spread = 1 / std::sqrt(static_cast<double>(inputs));
  for (std::size_t i = 0; i < inputs * hidden; ++i) parameters_[i] = spread * random.normal();
}

double TanhNetwork::operator()(std::span<const double> input) const {
  CHECK(input.size() == inputs_, "an input of another size");
  const Views<const double> p(parameters_.data(), Index(inputs_), Index(hidden_));
  const Map<const RowVectorXd> x(input.data(), Index(inputs_));
  return (x * p.w1 + p.b1).array().tanh().matrix().dot(p.w2.transpose()) + p.b2;
}

void TanhNetwork::learn(std::span<const double> inputs, std::span<const double> targets, Training training) {
  CHECK(!targets.empty() && inputs.size() == inputs_ * targets.size(), "one row of inputs per target");
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto rows = Index(targets.size());
  const Map<const RowMajor> x(inputs.data(), rows, Index(inputs_));
  const Map<const VectorXd> wanted(targets.data(), rows);
  const Views<const double> p(parameters_.data(), Index(inputs_), Index(hidden_));

  // Forward, one row per sample; then back through the chain rule, tanh' = 1 - tanh^2.
  const MatrixXd h = ((x * p.w1).rowwise() + p.b1).array().tanh();
  const ArrayXd error = (h * p.w2 - wanted).array() + p.b2;
  const double most = training.linear_from;
  const VectorXd dy = error.cwiseMax(-most).cwiseMin(most) / static_cast<double>(rows);
  const MatrixXd dz = (dy * p.w2.transpose()).array() * (1 - h.array().square());

  std::vector<double> gradient(parameters_.size());
  Views<double> g(gradient.data(), Index(inputs_), Index(hidden_));
  g.w1.noalias() = x.transpose() * dz;
  g.b1 = dz.colwise().sum();
  g.w2.noalias() = h.transpose() * dy;
  g.b2 = dy.sum();

  // The moments start at 0, so at first they are too small by known factors, which Adam corrects.
  ++steps_;
  const auto size = Index(parameters_.size());
  const Map<const ArrayXd> d(gradient.data(), size);
  Map<ArrayXd> w(parameters_.data(), size), m(moment1_.data(), size), v(moment2_.data(), size);
  m = 0.9 * m + 0.1 * d;
  v = 0.999 * v + 0.001 * d.square();
  const double k = static_cast<double>(steps_);
  const double unbias1 = 1 / (1 - std::pow(0.9, k)), unbias2 = 1 / (1 - std::pow(0.999, k));
  w -= training.rate * (unbias1 * m / ((unbias2 * v).sqrt() + 1e-8) + training.decay * w);
}

}  // namespace steelyard::balancing
