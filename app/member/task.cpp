#include "app/member/task.h"

#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr std::uint32_t most_tasks = 1 << 20;

struct Found {
  std::string variable;
  std::uint32_t value = 0;
};

std::uint32_t number_of(const std::string& variable, std::string_view text) {
  const auto value = number_in<std::uint32_t>(text);
  if (value && *value <= most_tasks) return *value;
  refuse_usage("the environment variable " + variable + " is '" + std::string(text) +
               "', which is no number of a task: unset it, or give --rank and --size");
}

// The value on which all variables of a column agree.
std::optional<Found> agreed(const char* TaskVariables::*column, const char* option,
                            const std::function<const char*(const char*)>& variable) {
  std::optional<Found> first;
  for (const TaskVariables& row : task_variables()) {
    const char* const name = row.*column;
    const char* const text = name == nullptr ? nullptr : variable(name);
    if (text == nullptr || *text == '\0') continue;
    const Found found{name, number_of(name, text)};
    if (!first) {
      first = found;
    } else if (found.value != first->value) {
      refuse_usage(
          "the environment variables " + first->variable + "=" + std::to_string(first->value) + " and " +
          found.variable + "=" + std::to_string(found.value) +
          " disagree: unset the one that is not of the engine that starts this task (env -u), or give " +
          option);
    }
  }
  return first;
}

std::string all_names(const char* TaskVariables::*column) {
  std::vector<std::string> names;
  for (const TaskVariables& row : task_variables())
    if (row.*column != nullptr) names.emplace_back(row.*column);
  return joined(names);
}

std::uint32_t known(const std::optional<std::uint32_t>& given, const char* TaskVariables::*column,
                    const char* option, const std::function<const char*(const char*)>& variable) {
  if (given) return *given;
  if (const auto found = agreed(column, option, variable)) return found->value;
  refuse_usage(std::string("no engine has numbered this task: none of ") + all_names(column) +
               " is set: start it with srun, mpirun or torchrun, or give " + option);
}

}  // namespace

const std::vector<TaskVariables>& task_variables() {
  static const std::vector<TaskVariables> all{
      {"any, set by the user", "STEELYARD_RANK", "STEELYARD_SIZE"},
      {"Slurm (srun)", "SLURM_PROCID", "SLURM_NTASKS"},
      {"Open MPI (mpirun)", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"MPICH, Intel MPI (mpirun)", "PMI_RANK", "PMI_SIZE"},
      {"PyTorch (torchrun)", "RANK", "WORLD_SIZE"},
      {"Kubernetes (Indexed Job)", "JOB_COMPLETION_INDEX", nullptr},
  };
  return all;
}

Task task_of(const TaskNumbers& given, const std::function<const char*(const char*)>& variable) {
  const Task task{known(given.rank, &TaskVariables::rank, "--rank", variable),
                  known(given.size, &TaskVariables::size, "--size", variable)};
  if (task.rank < task.size) return task;
  refuse_usage("this is task " + std::to_string(task.rank) + " of " + std::to_string(task.size) +
               ": tasks are numbered from 0: correct --rank or --size, or what sets the variables");
}

}  // namespace steelyard
