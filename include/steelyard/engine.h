// Engines of your own: what computes gradients for a worker, and the workload that it belongs to.
//
// Promised: the meaning of what the headers in this folder declare stays within a minor version. What they
// include is part of that; all other headers may change with any release.
#pragma once

#include "worker/compute/workload.h"
