#include "protocol/endpoint_trouble.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "protocol/keyed_endpoint.h"

namespace steelyard {
namespace {

constexpr std::string_view tcp = "tcp://";

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

}  // namespace

std::string endpoint_trouble(const std::string& told) {
  const std::string endpoint = split_key(told).address;
  const auto strange = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  if (std::ranges::any_of(endpoint, strange)) return "there are blanks or control characters in it";
  if (!endpoint.starts_with(tcp)) return {};
  const std::string_view address = std::string_view(endpoint).substr(tcp.size());
  const std::size_t colon = address.rfind(':');
  const std::string_view host = address.substr(0, colon);
  if (host.empty() || host == "*" || host == "0.0.0.0" || host == "[::]")
    return "that is no address of a machine";
  const bool bracketed = host.front() == '[' && host.back() == ']';
  if (!bracketed && host.find(':') != host.npos) return "there is more than a host and a port in it";
  if (colon != address.npos && !is_port(address.substr(colon + 1)))
    return "a port is a number from 1 to 65535";
  return {};
}

}  // namespace steelyard
