// Task: which one of the equal tasks of an engine this process is. Each engine sets environment variables
// with the number of the task and of all tasks; the table of them is here only. `docs/member.md` has it for
// users.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace steelyard {

struct Task {
  std::uint32_t rank = 0, size = 1;
  friend bool operator==(const Task&, const Task&) = default;
};

struct TaskVariables {
  const char* engine;
  const char* rank;
  const char* size;  // null: the engine does not set it
};
const std::vector<TaskVariables>& task_variables();

// The numbers given on the command line, which go first.
struct TaskNumbers {
  std::optional<std::uint32_t> rank{}, size{};
};

// `variable` returns the value of an environment variable, or null. Throws Failure (usage): no number is
// known, two variables disagree, or a number is not possible.
Task task_of(const TaskNumbers& given, const std::function<const char*(const char*)>& variable);

}  // namespace steelyard
