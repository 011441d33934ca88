#include "launch/lines.h"

#include <nlohmann/json.hpp>

#include "wire/machine.h"

namespace steelyard {
namespace {

using Json = nlohmann::json;

// Processes may say what is no UTF-8; that is shown as such and stops nothing.
std::string text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// The value of a key if it is there and of the kind; the default otherwise.
template <class Value>
Value get(const Json& json, const char* key, Value fallback) {
  const auto found = json.find(key);
  if (found == json.end()) return fallback;
  try {
    return found->get<Value>();
  } catch (const Json::exception&) {
    return fallback;
  }
}

std::optional<Json> object(const std::string& line) {
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

}  // namespace

std::string to_line(const ToHost& message) {
  Json json;
  std::visit(Overloaded{
                 [&](const StartProcess& it) {
                   json["start"] = it.name;
                   json["arguments"] = it.arguments;
                   json["input"] = it.input;
                 },
                 [&](const SignalProcess& it) {
                   json["to"] = it.name;
                   json["signal"] = it.signal;
                 },
                 [&](const Beat&) { json["beat"] = 1; },
             },
             message);
  return text(json);
}

std::string to_line(const FromHost& message) {
  Json json;
  std::visit(Overloaded{
                 [&](const HostReady& it) {
                   json["ready"] = it.release;
                   json["protocol"] = it.protocol;
                 },
                 [&](const Said& it) {
                   json["from"] = it.name;
                   json[it.error ? "error" : "out"] = it.text;
                 },
                 [&](const ProcessEnded& it) {
                   json["ended"] = it.name;
                   json["status"] = it.status;
                 },
             },
             message);
  return text(json);
}

std::optional<ToHost> to_host(const std::string& line) {
  const std::optional<Json> json = object(line);
  if (!json) return std::nullopt;
  if (json->contains("start")) {
    return StartProcess{get(*json, "start", std::string()),
                        get(*json, "arguments", std::vector<std::string>()),
                        get(*json, "input", std::string())};
  }
  if (json->contains("to")) {
    return SignalProcess{get(*json, "to", std::string()), get(*json, "signal", 0)};
  }
  if (json->contains("beat")) return Beat{};
  return std::nullopt;
}

std::optional<FromHost> from_host(const std::string& line) {
  const std::optional<Json> json = object(line);
  if (!json) return std::nullopt;
  if (json->contains("ready")) {
    return HostReady{get(*json, "protocol", std::uint64_t{0}), get(*json, "ready", std::string())};
  }
  if (json->contains("from")) {
    const bool error = json->contains("error");
    return Said{get(*json, "from", std::string()), error, get(*json, error ? "error" : "out", std::string())};
  }
  if (json->contains("ended")) {
    return ProcessEnded{get(*json, "ended", std::string()), get(*json, "status", 0)};
  }
  return std::nullopt;
}

}  // namespace steelyard
