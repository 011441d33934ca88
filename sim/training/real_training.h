// Real training in virtual time: gradients of a real model on real data, computed by the compute node of the
// product's workers (worker/compute/compute_node.h). Only the times are simulated, by the device models.
#pragma once

#include <string>

#include "sim/training_model.h"
#include "worker/compute/compute_node.h"

namespace steelyard::sim {

struct RealTraining final : Training {
  explicit RealTraining(Workload its_workload) : workload(std::move(its_workload)) {}

  void describe(Job& job) const override;
  void initialize(std::span<float> parameters, std::uint64_t seed) const override;
  [[nodiscard]] std::unique_ptr<Trainer> trainer(const Job& job) const override;

  Workload workload;
  std::string model_name = "model", data_name = "data";  // for users
  std::uint32_t labels = 1;                              // per sample
  nn::Optimizer optimizer;
  double outer_rate = 1, outer_momentum = 0;  // Job's
  nn::Schedule schedule;                      // its length is that of the training
  double clip_norm = 0;
  std::uint64_t evaluate_every = 1;  // epochs; 0: never
};

}  // namespace steelyard::sim
