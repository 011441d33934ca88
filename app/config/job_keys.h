// The keys of a job file.
#pragma once

#include "app/config/job_file.h"
#include "app/config/schema.h"
#include "app/config/worker_keys.h"

namespace steelyard {

// The code of a name in float_code_names().
FloatCode float_code(const std::string& name);

// The value of `servers` with which GPU workers host the shards.
inline constexpr char on_workers[] = "workers";

// The settings of a training that are chosen by name.
struct TrainingWords {
  std::string optimizer = "momentum";
  std::string schedule = "constant";
  std::string grain = "auto";

  void put_into(Job& job) const;
};

// Why a schedule is invalid, and the remedy. Empty: it is valid.
std::string schedule_trouble(const nn::Schedule& schedule);

const std::vector<std::string>& bad_gradient_names();  // in the order of BadGradient

// The members that the keys of a job file fill, before they become a JobFile.
struct JobDraft {
  JobFile file;
  WorkerSpec worker;           // the [[worker]] being read
  ModelLayer layer;            // the [[model.layer]] being read
  OptionTexts policy_options;  // of the [policy.NAME] being read
  TrainingWords training;
  std::string sync = "bsp";
  std::string bad_gradient = "recompute";
  std::string sum_order = "arrival";
  bool reproducible = false;
  std::string push_encoding = "float32", pull_encoding = "float32";
  std::string servers = "2";  // or on_workers
  std::uint32_t shards_per_server = 1;
  std::string profile_ms;  // Job::curves
};

Schema schema_of(JobDraft& draft);

// The keys of [train] that scenarios also have: optimizer, learning rate, evaluation.
std::vector<Key> training_keys(Job& job, TrainingWords& words);
// `grain` of [model], which scenarios also have.
Key grain_key(TrainingWords& words);

// The draft as TOML, with all keys of the schema.
std::string resolved_text(JobDraft draft);

}  // namespace steelyard
