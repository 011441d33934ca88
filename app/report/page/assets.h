// What every page has inside itself, app/report/page/style.css and page.js, and live.js of one under way:
// compiled in (assets.cpp.in).
#pragma once

namespace steelyard {

extern const char* const page_style;
extern const char* const page_script;
extern const char* const live_script;

}  // namespace steelyard
