// The one table of what a job file can say. Reading, defaults, ranges, the resolved text and the help all
// come from it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "config/job_file.h"

namespace steelyard {

// A job file on its way into settings: the struct's own values are the defaults.
struct JobDraft {
  JobFile file;
  WorkerSpec worker;  // the [[worker]] at hand
  std::string optimizer = "momentum";
  std::string schedule = "constant";
  std::string sync = "bsp";
  std::string sums = "arrival";
  std::uint32_t shards_per_server = 1;
};

// Where a value lives. Its type says what kind of value it is: a text, a whole number or a number.
using JobField = std::variant<std::string*, std::uint64_t*, std::uint32_t*, double*>;

struct JobLimits {
  double least = 0, most = std::numeric_limits<double>::infinity();
  bool above = false, below = false;  // the bounds themselves are not allowed
  std::vector<std::string> choices;   // of a text; empty: any name
  // Of a text with a grammar of its own, which may be written as a number: whether it is one, and what may be
  // given, in words.
  bool (*accepts)(std::string_view) = nullptr;
  const std::string& (*expected)() = nullptr;
};

struct JobKey {
  const char* section;
  const char* name;
  JobField (*field)(JobDraft&);
  JobLimits limits;
  const char* help;
};

struct JobSection {
  const char* name;
  const char* help;
  const char* options;  // what further keys mean; null if there are none
};

std::span<const JobSection> job_sections();
std::span<const JobKey> job_keys();

// "a whole number of at least 1", "one of "sgd", "momentum"": how a message ends that begins with "give".
std::string allowed(const JobKey& key);

// The draft as TOML, with every key of the table.
std::string resolved_text(JobDraft draft);

// A name (wire/name.h) that can be a file's too: without ':', '/', '@' and '+', and no '.' or '-' first.
bool is_plain_name(std::string_view name);

}  // namespace steelyard
