#include "app/tools/report_command.h"

#include <cstdio>

#include "core/error.h"
#include "app/report/output_file.h"
#include "app/report/run/run_page.h"
#include "app/report/terminal_text.h"

namespace steelyard {

int run_report(const ReportCommand& command, const Extensions& extensions) {
  const std::string output = command.output.empty() ? command.runs.front() + "/report.html" : command.output;
  std::vector<ReportedRun> runs;
  for (const std::string& path : command.runs) {
    runs.push_back(read_run(path, extensions));
    if (!runs.back().trouble.empty()) {
      std::fprintf(stderr, "steelyard: the page has less to say of this run: %s\n",
                   shown_lines(runs.back().trouble).c_str());
    }
  }
  check_output("--output", output);
  write_output("--output", output, run_page(runs));
  if (output != "-") std::printf("%s shows it\n", shown_line(output).c_str());
  return static_cast<int>(ExitCode::ok);
}

}  // namespace steelyard
