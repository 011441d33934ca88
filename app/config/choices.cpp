#include "app/config/choices.h"

#include <algorithm>

#include "app/config/prepare_job.h"
#include "app/config/registry.h"
#include "core/processor.h"
#include "worker/compute/throttle.h"

namespace steelyard {

std::vector<WorkerSpec> each_worker(const WorkerSpec& spec) {
  const std::vector<std::string> devices = each_device(spec.device);
  if (devices.size() == 1) {
    WorkerSpec only = spec;
    only.device = devices.front();
    return {only};
  }
  std::vector<WorkerSpec> each;
  for (const std::string& device : devices) {
    each.push_back(spec);
    each.back().name += "-" + std::to_string(device_in(device)->number);
    each.back().device = device;
  }
  return each;
}

std::string device_trouble(const WorkerSpec& spec, const Device& device) {
  if (kind(device) == DeviceKind::gpu && !Throttle::parse("1", spec.simulate_cpu_share).cpu.is_always(1)) {
    return "simulate_cpu_share = \"" + spec.simulate_cpu_share +
           "\" limits a processor, and this worker computes on " + name(device) +
           ": slow it down with simulate_slowdown, or give it device = \"cpu\"";
  }
  if (device.type == Device::Type::cpu && spec.precision == name(Precision::tf32)) {
    return "precision = \"" + spec.precision +
           "\" is for CUDA devices, and this worker computes on the processor: choose \"float32\" or "
           "\"bf16\", or give it a GPU, as in device = \"cuda:0\"";
  }
  return {};
}

std::string processor_trouble(const WorkerSpec& spec, const Device& device, bool has_bf16) {
  if (has_bf16 || device.type != Device::Type::cpu || spec.precision != name(Precision::bf16)) return {};
  return "precision = \"bf16\" needs a processor that multiplies bfloat16 (AVX-512 BF16 or AMX), and " +
         processor_name() + " does not: give this worker precision = \"float32\"";
}

std::string device_trouble(const WorkerSpec& spec) {
  const auto device = device_in(each_device(spec.device).front());
  return device ? device_trouble(spec, *device) : std::string();
}

namespace {

template <class Make>
std::optional<OptionTrouble> trouble(const std::string& kind, const std::string& name,
                                     const OptionTexts& options, const Choices<Make>& own,
                                     const Choices<Make>& built_in) {
  const Choice<Make>* row = find_choice(name, own, built_in);
  if (row == nullptr) {
    return OptionTrouble{"", "unknown " + kind + " '" + name + "'" + among(name, names_of(own, built_in))};
  }
  return trouble_in(kind + " '" + name + "'", row->options, options);
}

// The policy's own error about options that are valid one by one. Empty if they are valid together.
std::string complaint(const std::string& policy, const OptionTexts& options) {
  try {
    (void)balancing::make_policy(policy, options, registry().policies, registry().predictors);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return {};
}

}  // namespace

std::optional<OptionTrouble> model_trouble(const std::string& name, const OptionTexts& options) {
  nn::ModelTable own;
  for (const auto& row : registry().engines) own.emplace_back(row.name, nullptr, row.help, row.options);
  own.emplace_back(external_model, nullptr, "", std::vector<Option>());
  own.insert(own.end(), registry().models.begin(), registry().models.end());
  return trouble("model", name, options, own, nn::built_in_models());
}

std::optional<OptionTrouble> layer_trouble(const std::string& kind, const OptionTexts& options) {
  return trouble("layer", kind, options, {}, nn::layer_table());
}

std::optional<OptionTrouble> data_trouble(const std::string& name, const OptionTexts& options) {
  return trouble("data set", name, options, registry().data_sets, built_in_data_sets());
}

std::optional<OptionTrouble> policy_trouble(const std::string& policy, const OptionTexts& options,
                                            const std::vector<std::string>& known) {
  if (std::ranges::find(known, policy) == known.end())
    return OptionTrouble{"", "unknown policy '" + policy + "'" + among(policy, known)};
  if (options.empty()) return {};
  const balancing::PolicyTable built_in = balancing::built_in_policies(registry().predictors);
  const auto* row = find_choice(policy, registry().policies, built_in);
  if (row == nullptr)  // the oracle, which only a simulation can make
    return OptionTrouble{options.begin()->first, "policy '" + policy + "' has no options: leave them out"};
  if (auto found = trouble_in("policy '" + policy + "'", row->options, options)) return found;
  const std::string whole = complaint(policy, options);
  if (whole.empty()) return {};
  // The error concerns one option: removing that one changes the message.
  for (const auto& [option, value] : options) {
    OptionTexts others = options;
    others.erase(option);
    if (complaint(policy, others) != whole) return OptionTrouble{option, whole};
  }
  return OptionTrouble{options.begin()->first, whole};
}

}  // namespace steelyard
