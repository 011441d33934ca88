#include "app/report/run/run_notes.h"

#include <algorithm>
#include <string_view>

namespace steelyard {
namespace {

// The name between the quotes that follow `before`; empty if it is not there.
std::string quoted_after(const std::string& text, const std::string& before) {
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + before.size(), end = text.find('\'', begin);
  return end == std::string::npos ? "" : text.substr(begin, end - begin);
}

// The server that a note leaves without a filled mirror; empty: it is about something else.
std::string left_alone(const std::string& text) {
  if (std::string place = quoted_after(text, "is lost; its mirror '"); !place.empty()) return place;
  if (!text.starts_with("mirror '")) return "";
  if (text.ends_with("' continues without a mirror")) return quoted_after(text, "; '");
  return quoted_after(text, "' has fallen behind '");
}

// The server that a note gives a filled mirror.
std::string given_mirror(const std::string& text) {
  return text.starts_with("server '") ? quoted_after(text, "' mirrors '") : "";
}

}  // namespace

std::map<std::string, std::string> last_notes(const RunRecord& record) {
  static constexpr std::string_view before = "worker '";
  std::map<std::string, std::string> notes;
  for (const RunEvent& event : record.events) {
    if (!event.text.starts_with(before)) continue;
    const std::size_t end = event.text.find("' ", before.size());
    if (end == std::string::npos) continue;
    notes[event.text.substr(before.size(), end - before.size())] = event.text.substr(end + 2);
  }
  return notes;
}

std::vector<std::string> servers_without_mirror(const RunRecord& record) {
  std::vector<std::string> servers;
  for (const RunEvent& event : record.events) {
    std::erase(servers, given_mirror(event.text));
    if (const std::string alone = left_alone(event.text); !alone.empty()) {
      // The server whose place it took is no member any more.
      if (event.text.starts_with("server '")) std::erase(servers, quoted_after(event.text, "server '"));
      std::erase(servers, alone);
      servers.push_back(alone);
    }
  }
  return servers;
}

std::set<std::string> mirrored_servers(const RunRecord& record) {
  std::set<std::string> servers;
  for (const RunEvent& event : record.events) {
    if (const std::string of = given_mirror(event.text); !of.empty()) servers.insert(of);
    if (const std::string alone = left_alone(event.text); !alone.empty()) {
      servers.erase(alone);
      if (event.text.starts_with("server '")) servers.erase(quoted_after(event.text, "server '"));
    }
  }
  return servers;
}

}  // namespace steelyard
