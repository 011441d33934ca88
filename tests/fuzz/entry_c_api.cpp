#include <steelyard/steelyard.h>

#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "balancing/policies.h"
#include "bindings/c/description.h"
#include "core/check.h"
#include "tests/fuzz/accepts.h"
#include "tests/fuzz/entry.h"

namespace steelyard::fuzz {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_workers = 64;  // more workers only take longer

struct Free {
  void operator()(steelyard_policy* it) const { steelyard_policy_free(it); }
};

std::uint64_t number_at(std::span<const std::byte> bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

double seconds_of(std::byte byte) {
  const auto number = std::to_integer<unsigned>(byte);
  switch (number) {
    case 255:
      return std::numeric_limits<double>::quiet_NaN();
    case 254:
      return std::numeric_limits<double>::infinity();
    case 253:
      return 1e308;
    case 252:
      return -1;
    case 251:
      return 5e-324;
    default:
      return number / 100.0;
  }
}

void plan(steelyard_policy* policy, std::uint64_t batch, std::vector<std::uint64_t>& shares) {
  if (steelyard_policy_plan(policy, batch, shares.data()) != 0) {
    CHECK(*steelyard_error() != 0, "a failure without a message");
    return;
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t share : shares) {
    CHECK(share <= batch - sum, "the shares exceed the batch");
    sum += share;
  }
  CHECK(sum == batch, "the shares do not sum to the batch");
}

// The number of workers of the set-up, for which the caller of plan provides room.
std::size_t workers_in(const std::string& setup) {
  const Json json = Json::parse(setup, nullptr, false);
  return json.is_object() && json.contains("workers") ? json["workers"].size() : 0;
}

balancing::Request request(std::uint64_t round) {
  balancing::Request it;
  it.round = round;
  it.positions = 100;
  for (std::uint32_t slot = 0; slot < 3; ++slot) it.workers.push_back({.slot = slot});
  return it;
}

std::unique_ptr<balancing::Policy> policy_number(std::size_t number) {
  static const std::vector<std::string> names = balancing::policy_names();
  const std::string& name = names[number % names.size()];
  const bool fixed = name == "static";
  return balancing::make_policy(
      name, fixed ? balancing::PolicyOptions{{"speeds", "4 2 1"}} : balancing::PolicyOptions{});
}

}  // namespace

bool use_policy(std::span<const std::byte> bytes) {
  std::string_view text = text_of(bytes);
  const std::string setup(taken_until(text, '\0'));
  auto calls = bytes.last(text.size());
  std::vector<std::uint64_t> shares(workers_in(setup));
  if (shares.size() > most_workers) return false;
  const std::unique_ptr<steelyard_policy, Free> policy(steelyard_policy_new(setup.c_str()));
  CHECK((policy == nullptr) == (*steelyard_error() != 0), "only failures have a message");
  if (!policy) return false;
  std::vector<double> seconds(shares.size());
  while (!calls.empty()) {
    const bool plans = std::to_integer<unsigned>(calls[0]) % 2 == 0;
    const std::size_t size = 1 + (plans ? sizeof(std::uint64_t) : shares.size());
    if (calls.size() < size) break;
    if (plans) {
      plan(policy.get(), number_at(calls.subspan(1)), shares);
    } else {
      for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] = seconds_of(calls[1 + i]);
      steelyard_policy_observe(policy.get(), seconds.data());
    }
    calls = calls.subspan(size);
  }
  return true;
}

std::vector<std::vector<std::byte>> policy_inputs() {
  std::string calls;
  for (int round = 0; round < 6; ++round)
    calls += std::string("\0\x80\1\0\0\0\0\0\0", 9) + "\1" + "\x14" + static_cast<char>(40 + round) + "\x50";
  std::vector<std::vector<std::byte>> inputs;
  for (const auto& row : balancing::built_in_policies()) {
    Json options = Json::object();
    for (const Option& option : row.options)
      if (!option.otherwise.empty()) options[option.name] = option.otherwise;
    if (row.name == "static") options["speeds"] = "4 2 1";
    const Json setup{{"policy", row.name},
                     {"grain", 2},
                     {"options", options},
                     {"workers", {{{"name", "a"}, {"kind", "gpu"}}, Json::object(), {{"max_batch", 300}}}}};
    inputs.push_back(input_of(setup.dump() + std::string(1, '\0') + calls));
  }
  return inputs;
}

bool restore_policy(std::span<const std::byte> bytes) {
  if (bytes.empty()) return false;
  const auto number = std::to_integer<std::size_t>(bytes[0]);
  const auto policy = policy_number(number);
  const std::string before = policy->save();
  const bool restored = accepts(bytes.subspan(1), [&](auto it) { policy->restore(std::string(it)); });
  CHECK(restored || policy->save() == before, "a refused state has an effect");
  if (restored) {
    const std::string saved = policy->save();
    const auto again = policy_number(number);
    again->restore(saved);
    CHECK(again->save() == saved, "a restored state is saved differently");
  }
  std::vector<std::uint64_t> shares;
  for (std::uint64_t round = 1000; round < 1003; ++round) {
    shares = policy->plan(request(round));
    CHECK(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}) == 100,
          "shares must sum to the round");
    for (std::uint32_t slot = 0; slot < shares.size(); ++slot)
      policy->observe({slot, round, shares[slot], 0.01 * static_cast<double>(shares[slot] * (slot + 1))});
  }
  return restored;
}

std::vector<std::vector<std::byte>> policy_states() {
  std::vector<std::vector<std::byte>> inputs;
  for (std::size_t number = 0; number < balancing::policy_names().size(); ++number) {
    const auto policy = policy_number(number);
    for (std::uint64_t round = 1; round <= 20; ++round) {
      const auto shares = policy->plan(request(round));
      for (std::uint32_t slot = 0; slot < shares.size(); ++slot)
        policy->observe({slot, round, shares[slot], 0.01 * static_cast<double>(shares[slot] * (slot + 1))});
      if (round == 2 || round == 20) inputs.push_back(input_of(static_cast<char>(number) + policy->save()));
    }
  }
  return inputs;
}

bool read_description(std::span<const std::byte> text) {
  return accepts(text, [](std::string_view it) {
    const c_api::Description read = c_api::read_description(std::string(it).c_str());
    CHECK(read.model.layout.size() > 0 && read.model.grain > 0, "an empty model");
    std::uint64_t end = 0;
    for (const auto& tensor : read.model.layout.tensors) {
      CHECK(tensor.offset == end, "a tensor has a wrong offset");
      end += tensor.size();
    }
    CHECK(end == read.model.layout.size(), "a layout must be the sum of its tensors");
  });
}

std::vector<std::vector<std::byte>> description_inputs() {
  return {
      input_of(
          R"({"scheduler": "box:7070", "train_samples": 50, "name": "ada", "kind": "gpu",)"
          R"("simulate_slowdown": "2",)"
          R"("tensors": [{"name": "w", "shape": [3, 2], )"
          R"("decay": 0.5, "rate": 2}, {"name": "b", "shape": []},)"
          R"({"name": "mean", "shape": [4], "rule": "mean"}], "test_samples": 7, "grain": 8, "quiet": true,)"
          R"("wait": 3.5, "data": "mine", "data_hash": "f00", "exchange": "sockets", "job": "[train]"})"),
      input_of(R"({"scheduler":"a:1","train_samples":1,"tensors":[{"name":"v","shape":[65536,65536]}]})")};
}

}  // namespace steelyard::fuzz
