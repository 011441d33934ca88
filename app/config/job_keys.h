// What a job file can say.
#pragma once

#include "app/config/job_file.h"
#include "app/config/schema.h"
#include "app/config/worker_keys.h"

namespace steelyard {

// Of a name that float_code_names() has.
FloatCode float_code(const std::string& name);

// What of a training is chosen by a word.
struct TrainingWords {
  std::string optimizer = "momentum";
  std::string schedule = "constant";

  void put_into(Job& job) const;
};

// Why a schedule is none. Empty: it is one.
std::string schedule_trouble(const nn::Schedule& schedule);

const std::vector<std::string>& bad_gradient_names();  // in the order of BadGradient

// A job file on its way into settings.
struct JobDraft {
  JobFile file;
  WorkerSpec worker;           // the [[worker]] at hand
  OptionTexts policy_options;  // of the [policy.NAME] at hand
  TrainingWords training;
  std::string sync = "bsp";
  std::string bad_gradient = "recompute";
  std::string sum_order = "arrival";
  bool reproducible = false;
  std::string push_encoding = "float32", pull_encoding = "float32";
  std::uint32_t shards_per_server = 1;
};

Schema schema_of(JobDraft& draft);

// Keys that scenarios have too: how a model learns.
std::vector<Key> training_keys(Job& job, TrainingWords& words);

// The draft as TOML, with every key of the schema.
std::string resolved_text(JobDraft draft);

}  // namespace steelyard
