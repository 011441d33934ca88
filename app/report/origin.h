// When and where this process trains, and what it is: the first line of events.jsonl (app/report/recorder.h).
#pragma once

#include <string>

namespace steelyard {

std::string origin_line();

}  // namespace steelyard
