// A full micro-batch of zeros, to try out and to measure a network.
#pragma once

#include <steelyard/micro_batch.h>
#include <steelyard/model.h>

#include <cstdint>
#include <vector>

#include "nn/loss.h"

namespace steelyard::nn::cuda {

struct ZeroBatch {
  ZeroBatch(const Model& model, std::uint32_t samples)
      : inputs(model.input().size() * samples),
        targets(takes_targets(model.loss()) ? std::size_t{model.classes()} * samples : 0),
        labels(std::size_t{model.labels()} * samples),
        positions(samples) {
    batch.inputs = inputs.data();
    batch.labels = labels.data();
    batch.targets = targets.empty() ? nullptr : targets.data();
    batch.positions = positions.data();
    batch.size = batch.count = samples;
  }
  ZeroBatch(const ZeroBatch&) = delete;
  ZeroBatch& operator=(const ZeroBatch&) = delete;

  std::vector<float> inputs, targets;
  std::vector<std::uint32_t> labels;
  std::vector<std::uint64_t> positions;
  MicroBatch batch;
};

}  // namespace steelyard::nn::cuda
