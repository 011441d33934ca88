#include "app/cli/help.h"

#include "app/config/hosts_file.h"
#include "app/config/job_keys.h"
#include "app/config/prepare_job.h"
#include "app/config/registry.h"
#include "app/config/scenario_keys.h"
#include "balancing/policies.h"
#include "nn/models.h"
#include "protocol/sync_mode.h"
#include "worker/data/data_sets.h"

namespace steelyard {
namespace {

constexpr std::size_t name_column = 15, value_column = 28;

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

std::string option_text(const Option& option) {
  const std::string value = option.otherwise.empty() ? "" : " = " + option.otherwise;
  std::string text = padded("    " + option.name + value, value_column);
  if (text.size() > value_column) text += "\n" + std::string(value_column, ' ');
  text += option.help + "\n";
  if (option.allowed != "a text") text += std::string(value_column + 2, ' ') + option.allowed + "\n";
  return text;
}

template <class Make>
std::string rows_text(const Choices<Make>& own, const Choices<Make>& built_in) {
  std::string text;
  for (const Choices<Make>* rows : {&own, &built_in}) {
    for (const Choice<Make>& row : *rows) {
      text += padded("  " + row.name, name_column + 2) +
              (row.help.empty() ? "of this program's own" : row.help) + "\n";
      for (const Option& option : row.options) text += option_text(option);
    }
  }
  return text;
}

std::string describe_models() {
  return "[model] name = \"...\", and its options in the same section:\n" +
         rows_text(registry().engines, {}) + rows_text(registry().models, nn::built_in_models()) +
         padded(std::string("  ") + external_model, name_column + 2) +
         "comes with the workers: the first one that joins tells layout and first weights\n";
}

std::string describe_data() {
  return "[data] name = \"...\", and its options in the same section:\n" +
         rows_text(registry().data_sets, built_in_data_sets());
}

std::string describe_policies() {
  return "[cluster] policy = \"...\", and its options in [policy.NAME]:\n" +
         rows_text(registry().policies, balancing::built_in_policies(registry().predictors)) +
         padded("  oracle", name_column + 2) + "knows the true time curves; in simulations only\n" +
         "Predictors that lb-bsp can be told:\n" +
         rows_text(registry().predictors, balancing::built_in_predictors());
}

std::string describe_sync() {
  std::string text = "[cluster] sync = \"...\":\n";
  for (const SyncForm& form : sync_forms()) {
    text += padded("  " + form.text, name_column + 2) + form.meaning + "\n";
    if (!form.parameter.empty()) text += std::string(name_column + 4, ' ') + form.parameter + "\n";
  }
  return text;
}

template <class Draft>
std::string keys_of() {
  Draft draft;
  return steelyard::describe(schema_of(draft));
}

template <class Draft>
std::string schema_for() {
  Draft draft;
  return json_schema(schema_of(draft));
}

struct Topic {
  std::string name;
  std::string (*text)();
};

const std::vector<Topic>& topics() {
  static const std::vector<Topic> all{{"job", keys_of<JobDraft>},
                                      {"scenario", keys_of<ScenarioDraft>},
                                      {"hosts", keys_of<HostsDraft>},
                                      {"model", describe_models},
                                      {"data", describe_data},
                                      {"policy", describe_policies},
                                      {"sync", describe_sync},
                                      {"schema", schema_for<JobDraft>},
                                      {"schema-scenario", schema_for<ScenarioDraft>},
                                      {"schema-hosts", schema_for<HostsDraft>}};
  return all;
}

}  // namespace

const std::vector<std::string>& help_topics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Topic& topic : topics()) list.push_back(topic.name);
    return list;
  }();
  return names;
}

std::optional<std::string> describe(const std::string& topic) {
  for (const Topic& it : topics()) {
    if (it.name == topic) return it.text();
  }
  return std::nullopt;
}

}  // namespace steelyard
