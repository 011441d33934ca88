// The profile of a worker (Job::profile): from the times in its Ready, or from the job.
//
// LBB (Yao, Liu, Gao: J. Supercomputing 2024), Alg. 1: a cubic through the measured times, by least squares.
// Ours: if a worker measured no batch as large as its largest possible share, the time continues along the
// line through its last two points; a cubic alone would fall or explode there.
//
// A worker without a usable profile gets none, and counts as the mean of the others.
#pragma once

#include <string>

#include "protocol/messages.h"
#include "scheduler/members/members.h"

namespace steelyard {

inline constexpr double longest_batch = 86'400;  // seconds; a longer time in a profile is an error

// Sets the worker's curve, and lowers its `most` to what its memory held. Returns a line for the log: the
// curve with its Pearson and Spearman correlations, or why the times are not used; empty without a profile.
std::string adopt_profile(const Job& job, const Ready& ready, WorkerMember& worker);

}  // namespace steelyard
