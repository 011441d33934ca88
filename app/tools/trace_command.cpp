#include "app/tools/trace_command.h"

#include <cstdio>

#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "app/report/timeline.h"

namespace steelyard {

void run_trace(const TraceCommand& command) {
  check_output("--output", command.output);
  const Timeline timeline = timeline_of(command.paths);
  for (const std::string& note : timeline.notes)
    std::fprintf(stderr, "steelyard: %s\n", shown_line(note).c_str());
  write_output("--output", command.output, timeline.json);
  if (command.output != "-")
    std::printf("%s%s: open it in ui.perfetto.dev\n", timeline.times.c_str(), command.output.c_str());
}

}  // namespace steelyard
