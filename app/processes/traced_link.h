// A traced link writes down what the node behind it does: when it was busy with which message, what it said
// to others and heard of them, and when its worker computed (app/report/trace_file.h).
//
// It passes everything on and changes nothing. One thread, the link's.
#pragma once

#include <memory>
#include <string>

#include "transport/link.h"

namespace steelyard {

// A traced link in the place of this one, which outlives it; null without a directory. Throws Failure (io).
std::unique_ptr<Link> traced(Link& link, const std::string& directory, NodeId self, const std::string& name);

}  // namespace steelyard
