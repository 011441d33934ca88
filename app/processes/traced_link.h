// A traced link records what its node does: when it handled which message, the messages it sent and received,
// and when its worker computed (app/report/trace_file.h).
//
// Forwards all messages unchanged. One thread, the link's.
#pragma once

#include <memory>
#include <string>

#include "transport/link.h"

namespace steelyard {

// Wraps this link, which must outlive the result; null if `directory` is empty. Throws Failure (io).
std::unique_ptr<Link> traced(Link& link, const std::string& directory, NodeId self, const std::string& name);

}  // namespace steelyard
