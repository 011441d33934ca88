#include "app/tools/eval_command.h"

#include <cstdio>

#include "app/tools/saved_model.h"
#include "core/error.h"
#include "app/report/terminal_text.h"

namespace steelyard {

int run_eval(const EvalCommand& command, const Extensions& extensions) {
  SavedModel saved = find_saved(command.saved, extensions);
  open_workload(saved, extensions);
  const std::uint64_t samples = saved.workload.data.test->size(), answers = samples * saved.job.labels;
  std::vector<nn::Sums> parts(most_parts());
  in_parts(samples, [&](std::size_t part, Interval positions) {
    const auto engine = saved.workload.make_engine();
    TestSamples stream(saved.workload.data, positions, engine->micro_batch_sizes());
    parts[part] = engine->evaluate(saved.snapshot.parameters, stream);
  });
  nn::Sums sums;
  for (const nn::Sums& it : parts) sums += it;

  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("checkpoint %s: %s\n", shown_line(saved.path).c_str(),
              place_of(saved.snapshot.progress).c_str());
  std::printf("  model               %s, %llu parameters\n", shown_line(saved.job.model).c_str(),
              number(saved.snapshot.layout.size()));
  std::printf("  data                %s, %llu test samples\n", shown_line(saved.job.data).c_str(),
              number(samples));
  std::printf("  test loss           %.6g\n", sums.loss / static_cast<double>(samples));
  std::printf("  test accuracy       %.2f %%   (%llu of %llu)\n",
              100 * static_cast<double>(sums.correct) / static_cast<double>(answers), number(sums.correct),
              number(answers));
  return static_cast<int>(ExitCode::ok);
}

}  // namespace steelyard
