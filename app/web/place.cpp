#include "app/web/place.h"

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr const char* here = "127.0.0.1";
constexpr std::string_view http = "http://";

[[noreturn]] void refuse_place(const std::string& text, const std::string& why) {
  refuse_usage("'" + text + "' is not an address for a page: " + why);
}

std::string without_http(std::string text) {
  if (!text.starts_with(http)) return text;
  text.erase(0, http.size());
  if (text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace

HostPort web_place(const std::string& text) {
  const bool alone = !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const std::string whole = (alone ? std::string(here) + ":" : text.starts_with(':') ? here : "") + text;
  const auto place = host_port("tcp://" + whole);
  if (!place) refuse_place(text, std::string("give ") + web_place_expected);
  const auto port = number_in<std::uint64_t>(place->port);
  if (!port || *port > 65535)
    refuse_place(text,
                 "there is no port " + place->port + ": give one from 1 to 65535, or 0 for any free port");
  if (place->host == "*")
    refuse_place(text, "access from other machines needs an explicit address: give 0.0.0.0:" + place->port +
                           " for all addresses of this machine, or :" + place->port +
                           " for this machine alone");
  return {place->host, std::to_string(*port)};
}

bool is_web_place(const std::string& text) {
  const std::string place = without_http(text);
  const std::size_t colon = place.rfind(':');
  return place.find('/') == std::string::npos && colon != std::string::npos &&
         number_in<std::uint64_t>(place.substr(colon + 1)).has_value();
}

HostPort asked_place(const std::string& text) { return web_place(without_http(text)); }

}  // namespace steelyard
