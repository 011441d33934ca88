#include "app/launch/lines.h"

#include <concepts>

#include "core/json.h"
#include "protocol/machine.h"

namespace steelyard {
namespace {

// The fields of each message; a line is of the kind whose first field it has.
void each_field(auto& it, auto&& field) {
  using Kind = std::remove_cvref_t<decltype(it)>;
  if constexpr (std::is_same_v<Kind, StartProcess>) {
    field("start", it.name), field("arguments", it.arguments), field("input", it.input);
    field("program", it.program), field("environment", it.environment), field("sharing", it.sharing),
        field("keys", it.keys);
  } else if constexpr (std::is_same_v<Kind, SignalProcess>) {
    field("to", it.name), field("signal", it.signal);
  } else if constexpr (std::is_same_v<Kind, Beat>) {
    int always = 1;
    field("beat", always);
  } else if constexpr (std::is_same_v<Kind, HostReady>) {  // the same in all releases
    field("ready", it.release), field("protocol", it.protocol);
  } else if constexpr (std::is_same_v<Kind, Said>) {
    field("from", it.name), field("error", it.error), field("text", it.text);
  } else {
    field("ended", it.name), field("status", it.status);
  }
}

template <class Message>
std::string written(const Message& message) {
  Json json;
  std::visit([&](const auto& it) { each_field(it, [&](auto key, const auto& value) { json[key] = value; }); },
             message);
  // Processes may say what is no UTF-8; that is shown as such and stops nothing.
  return dump_json(json);
}

// A value of another kind than it should be is passed over.
template <class Message, class... Kinds>
std::optional<Message> read(const std::string& line, std::variant<Kinds...>*) {
  const Json json = parse_json(line);
  std::optional<Message> message;
  const auto try_kind = [&](auto it) {
    bool is_kind = json.is_object(), first = true;
    each_field(it, [&](auto key, auto& value) {
      const auto found = json.find(key);
      is_kind &= !std::exchange(first, false) || found != json.end();
      if (!is_kind || found == json.end()) return;
      // Of a number that does not fit, the conversion to a whole one could be anything.
      if (std::integral<std::remove_cvref_t<decltype(value)>> && found->is_number_float()) return;
      try {
        found->get_to(value);
      } catch (const Json::exception&) {
      }
    });
    if (is_kind) message = it;
  };
  (try_kind(Kinds{}), ...);
  return message;
}

}  // namespace

std::string to_line(const ToHost& message) { return written(message); }
std::string to_line(const FromHost& message) { return written(message); }

std::optional<ToHost> to_host(const std::string& line) {
  return read<ToHost>(line, static_cast<ToHost*>(nullptr));
}
std::optional<FromHost> from_host(const std::string& line) {
  return read<FromHost>(line, static_cast<FromHost*>(nullptr));
}

}  // namespace steelyard
