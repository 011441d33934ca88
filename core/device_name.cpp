#include "core/device_name.h"

#include <utility>

#include "core/text.h"

namespace steelyard {
namespace {

constexpr std::string_view of_the_host = "host-cuda", before_number = "cuda:";
constexpr unsigned most_devices = 256;  // on one machine

std::optional<unsigned> number_of(std::string_view text) {
  const auto number = number_in<unsigned>(text);
  return number && *number < most_devices ? number : std::nullopt;
}

// First and last number of "cuda:FIRST-LAST".
std::optional<std::pair<unsigned, unsigned>> range_in(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (!text.starts_with(before_number) || dash == std::string_view::npos) return std::nullopt;
  const auto first = number_of(text.substr(before_number.size(), dash - before_number.size()));
  const auto last = number_of(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return std::pair(*first, *last);
}

}  // namespace

std::string name(const Device& device) {
  if (device.type == Device::Type::cuda) return std::string(before_number) + std::to_string(device.number);
  return device.type == Device::Type::cpu ? "cpu" : std::string(of_the_host);
}

DeviceKind kind(const Device& device) {
  return device.type == Device::Type::cpu ? DeviceKind::cpu : DeviceKind::gpu;
}

std::optional<Device> device_in(std::string_view text) {
  if (text == "cpu") return Device{};
  if (text == of_the_host) return Device{Device::Type::host_cuda};
  if (!text.starts_with(before_number)) return std::nullopt;
  const auto number = number_of(text.substr(before_number.size()));
  return number ? std::optional(Device{Device::Type::cuda, *number}) : std::nullopt;
}

bool is_device(std::string_view text) { return text == automatic_device || device_in(text); }

const std::string& device_expected() {
  static const std::string text =
      "\"cpu\", \"cuda:0\" (or another number: `steelyard devices` lists them), or \"auto\" for a GPU if "
      "there is one";
  return text;
}

bool is_device_list(std::string_view text) { return is_device(text) || range_in(text); }

const std::string& device_list_expected() {
  static const std::string text = device_expected() + ", or \"cuda:0-3\" for one worker on each of four GPUs";
  return text;
}

std::vector<std::string> each_device(const std::string& text) {
  const auto range = range_in(text);
  if (!range) return {text};
  std::vector<std::string> each;
  for (unsigned i = range->first; i <= range->second; ++i) each.push_back(name({Device::Type::cuda, i}));
  return each;
}

}  // namespace steelyard
