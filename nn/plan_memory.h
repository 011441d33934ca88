// Where values and gradients lie in the arena of a plan.
//
// A value lives from the step that delivers it to the last that reads it, forward or backward; a gradient
// from the first step that gives to it to the step whose output it belongs to. What does not live at the same
// time may lie in the same place: the largest are placed first, each as low as it fits.
#pragma once

#include "nn/network_plan.h"

namespace steelyard::nn {

// Completes a plan whose steps and values are there: gives, places, sizes of the arena.
void plan_memory(Plan& plan);

}  // namespace steelyard::nn
