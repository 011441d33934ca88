// Jobs with a known result: gradients are small integers, so sums are exact in any order.
#pragma once

#include "protocol/messages.h"

namespace steelyard::test {

// A job of `epochs` epochs over `samples` samples with a model of `parameters` floats in small slices.
Job toy_job(std::uint64_t samples, std::uint64_t batch, std::uint64_t epochs, std::uint32_t workers,
            std::uint32_t shards, std::uint64_t parameters = 24, std::uint64_t slice_size = 5);

// The same for a mode that applies pushes on arrival: slices with one float per round, plain SGD.
Job footprint_job(const std::string& sync, std::uint64_t samples, std::uint64_t batch, std::uint64_t epochs,
                  std::uint32_t workers, std::uint32_t shards, std::uint64_t slices = 4);

// The gradient of one position: small integers.
float toy_gradient(Position position, std::uint64_t epoch, std::uint64_t element);

}  // namespace steelyard::test
