// The real thing under virtual time: gradients of a real model on real data, by the compute node of the
// product's own workers (worker/compute/compute_node.h). Only how long that takes is made up, by the device
// models.
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
  std::string model_name = "model", data_name = "data";  // as people call them
  std::uint32_t labels = 1;                              // of each sample
  nn::Optimizer optimizer;
  double outer_rate = 1, outer_momentum = 0;  // Job's
  nn::Schedule schedule;                      // its length is that of the training
  double clip_norm = 0;
  std::uint64_t evaluate_every = 1;  // epochs; 0: never
};

}  // namespace steelyard::sim
