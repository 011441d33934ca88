// The only entry to parallel loops: oneTBB, or plain threads in builds with a sanitizer that cannot follow
// TBB.
//
// body(begin, end) runs on disjoint parts that together cover [0, count). Returns after the last part is
// done. Bodies must not throw.
#pragma once

#include <cstddef>
#include <functional>

namespace steelyard {

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace steelyard
