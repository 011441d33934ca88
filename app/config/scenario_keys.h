// The keys of a scenario file.
#pragma once

#include "app/config/job_keys.h"
#include "sim/scenario.h"
#include "sim/simulation.h"

namespace steelyard {

inline constexpr std::uint64_t most_simulated_workers = 100'000;

// The members that the keys of a scenario file fill, before they become a scenario.
struct ScenarioDraft {
  // `own`: a user's policies, beside the built-in ones.
  explicit ScenarioDraft(const balancing::PolicyTable& own = {}) : policies(sim::simulated_policies(own)) {}

  sim::Scenario scenario;

  bool train = false;
  Job job;  // the training, if `train`
  TrainingWords training;

  std::string recorded;  // of [network]
  std::string readings = sim::readings_names().at(1);
  std::string push_encoding = "float32", pull_encoding = "float32";
  std::vector<std::string> policies;  // valid names of policies
  OptionTexts policy_options;         // of the [policy.NAME] being read

  struct Worker {  // the [[worker]] being read
    sim::Device device;
    std::string kind = "cpu";
    std::uint64_t count = 1;
    double samples_per_s = 0;
    std::string profile, recorded, recorded_worker, trace;
  } worker;

  struct Event {  // the [[event]] being read
    sim::Event event;
    std::string worker;
    std::string shape = sim::shape_names().front();
  } event;
};

Schema schema_of(ScenarioDraft& draft);

// The keys of [job] that are valid only with train = true.
std::vector<Key> simulated_training_keys(ScenarioDraft& draft);

}  // namespace steelyard
