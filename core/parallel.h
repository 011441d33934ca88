// The one door to parallel loops: oneTBB, or plain threads where a sanitizer could not follow TBB.
//
// body(begin, end) runs on disjoint parts of [0, count) that together make all of it; the call returns when
// the last part is done. Bodies must not throw.
#pragma once

#include <cstddef>
#include <functional>

namespace steelyard {

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace steelyard
