// What computes for all workers of a world: how long an order takes, and what comes back then.
#pragma once

#include <functional>

#include "protocol/messages.h"

namespace steelyard::sim {

class ComputeModel {
 public:
  struct Order {
    NodeId worker;
    Compute compute;  // with parameters
    Time begun;
    double seconds = 0;  // that it takes
  };
  using Say = std::function<void(ToWorker)>;

  virtual ~ComputeModel() = default;
  [[nodiscard]] virtual double seconds_for(NodeId worker, const Compute& order, Time now) = 0;
  // With hand-over: positions of a micro-batch of it; 0: it is computed as a whole.
  [[nodiscard]] virtual std::uint64_t micro_batch(const Compute&) const { return 0; }
  // How long the first of its positions take.
  [[nodiscard]] virtual double seconds_until(const Order& order, std::uint64_t done) {
    return order.seconds * static_cast<double>(done) /
           static_cast<double>(order.compute.piece.positions.size());
  }
  // Says what its worker is answered, in order. Not asked for orders that were given up, or whose worker is
  // gone; the worker may go while it is answered.
  virtual void finish(const Order& done, const Say& say) = 0;
};

}  // namespace steelyard::sim
