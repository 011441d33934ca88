// The barrier of Elastic BSP (Zhao, Papagelis, An, Chen, Liu, Hu: "Elastic bulk synchronous parallel model
// for distributed deep learning", ICDM 2019; "ZipLine: an optimized algorithm for the elastic bulk
// synchronous parallel model", Machine Learning, 2021).
//
// Worker p ends its i-th piece at e_p(i) = i t_p, for i = 1 .. R. The barrier is the choice of one end for
// each worker for which the fastest worker waits least:
//
//   n = argmin over n_p in 1 .. R of  max_p e_p(n_p) - min_p e_p(n_p)
//
// Of equal choices, up to rounding, the earliest. It is the smallest window over the sorted ends that
// contains an end of each worker, found by one pass over them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace steelyard::balancing {

// `seconds`: t_p, above 0. Returns n_p, in the same order; all 1 if some time is not known (0).
std::vector<std::uint64_t> pieces_before_barrier(std::span<const double> seconds, std::uint64_t lookahead);

}  // namespace steelyard::balancing
