#include "protocol/keyed_endpoint.h"

#include "protocol/keys.h"

namespace steelyard {
namespace {

constexpr char separator = ';';  // no letter of a key

}  // namespace

std::vector<std::string> split_places(const std::string& endpoints) {
  const std::size_t comma = endpoints.rfind(',');
  if (comma == std::string::npos) return {endpoints};
  std::vector<std::string> places = split_places(endpoints.substr(0, comma));
  places.push_back(endpoints.substr(comma + 1));
  return places;
}

KeyedEndpoint split_key(const std::string& endpoint) {
  const std::size_t at = endpoint.rfind(separator);
  if (at == std::string::npos || !is_key(std::string_view(endpoint).substr(at + 1))) return {endpoint, {}};
  return {endpoint.substr(0, at), endpoint.substr(at + 1)};
}

std::string with_key(const std::string& address, const std::string& key) {
  return key.empty() ? address : address + separator + key;
}

}  // namespace steelyard
