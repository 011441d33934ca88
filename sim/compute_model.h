// What computes for all workers of a world: how long an order takes, and what comes back then.
#pragma once

#include <functional>

#include "wire/messages.h"

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
  // Says what its worker is answered, in order. Not asked for orders that were given up, or whose worker is
  // gone; the worker may go while it is answered.
  virtual void finish(const Order& done, const Say& say) = 0;
};

}  // namespace steelyard::sim
