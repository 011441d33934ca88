#include "app/report/timeline.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <tuple>

#include "app/report/message_times.h"
#include "app/report/terminal_text.h"
#include "core/error.h"
#include "core/json.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

constexpr int messages_lane = 1, computing_lane = 2;

struct Span {
  std::string what;
  double from = 0, to = 0;
  std::uint64_t samples = 0;
};
struct Word {  // said or heard
  std::string what, peer;
  double at = 0;
};
struct Node {
  std::string id, name, machine;
  std::vector<Span> busy, computed;
  std::vector<Word> said, heard;
};

// False where the line is not whole, or not of a trace.
bool read_line(const std::string& line, Node& node) {
  const Json json = parse_json(line);
  if (!json.is_object()) return false;
  try {
    if (json.contains("node")) {
      node.id = json.at("node");
      node.name = json.at("name");
      node.machine = json.at("machine");
    } else if (json.contains("busy")) {
      node.busy.push_back({json.at("busy"), json.at("from"), json.at("to"), 0});
    } else if (json.contains("computed")) {
      node.computed.push_back({json.at("computed"), json.at("from"), json.at("to"), json.at("samples")});
    } else if (json.contains("said")) {
      node.said.push_back({json.at("said"), json.at("peer"), json.at("at")});
    } else if (json.contains("heard")) {
      node.heard.push_back({json.at("heard"), json.at("peer"), json.at("at")});
    }
  } catch (const Json::exception&) {
    return false;
  }
  return !node.id.empty();
}

Node read_node(const std::string& path, std::vector<std::string>& notes) {
  std::ifstream in(path);
  if (!in)
    throw Failure(ExitCode::io,
                  "trace " + path + " cannot be read: give a run directory, or what --trace wrote");
  Node node;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (read_line(line, node)) continue;
    notes.push_back(path + ":" + std::to_string(number) + ": cut off there: what stands before it counts");
    break;
  }
  return node;
}

std::vector<std::string> files_in(const std::string& path) {
  if (!fs::is_directory(path)) return {path};
  const fs::path inner = fs::path(path) / "trace";
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::is_directory(inner) ? inner : fs::path(path)))
    if (entry.path().extension() == ".jsonl" && !entry.path().filename().string().starts_with("rounds."))
      files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

// The n-th message of a name from one node to another is the same at both ends, unless one was lost before.
using Flow = std::tuple<std::string, std::string, std::string, std::size_t>;  // from, to, what, n

std::map<Flow, double> flows(const std::vector<Node>& nodes, std::vector<Word> Node::*words, bool said) {
  std::map<Flow, double> found;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> counts;
  for (const Node& node : nodes) {
    for (const Word& word : node.*words) {
      const auto& from = said ? node.id : word.peer;
      const auto& to = said ? word.peer : node.id;
      found[{from, to, word.what, counts[{from, to, word.what}]++}] = word.at;
    }
  }
  return found;
}

// By machine, how far its clock is ahead of the first one's, in microseconds.
class Clocks {
 public:
  Clocks(const std::vector<Node>& nodes, const std::map<Flow, double>& said,
         const std::map<Flow, double>& heard, std::vector<std::string>& notes)
      : first_(nodes.front().machine) {
    for (const Node& node : nodes) machine_of_[node.id] = node.machine;
    for (const auto& [flow, at] : said) {
      if (const auto end = heard.find(flow); end != heard.end()) look(flow, end->second - at);
    }
    for (const Node& node : nodes) {
      if (node.machine == first_ || ahead_.contains(node.machine)) continue;
      align(node, notes);
    }
  }

  [[nodiscard]] double ahead(const std::string& node) const {
    const auto found = ahead_.find(machine_of_.at(node));
    return found == ahead_.end() ? 0 : found->second;
  }

 private:
  void look(const Flow& flow, double seems_to_take) {
    const auto from = machine_of_.find(std::get<0>(flow)), to = machine_of_.find(std::get<1>(flow));
    if (from == machine_of_.end() || to == machine_of_.end() || from->second == to->second) return;
    if (from->second == first_) keep_least(there_[to->second], seems_to_take);
    if (to->second == first_) keep_least(back_[from->second], seems_to_take);
  }
  static void keep_least(std::optional<double>& least, double value) {
    least = std::min(least.value_or(value), value);
  }
  void align(const Node& node, std::vector<std::string>& notes) {
    const auto there = there_[node.machine], back = back_[node.machine];
    ahead_[node.machine] = there && back ? (*there - *back) / 2 : 0;
    std::string how = "no message there and back was traced: its times are its own clock's";
    if (there && back) how = "its clock is aligned within " + fixed((*there + *back) / 2000, 3) + " ms";
    notes.push_back("the machine of '" + node.name + "': " + how);
  }

  const std::string first_;
  std::map<std::string, std::string> machine_of_;
  std::map<std::string, std::optional<double>> there_, back_;
  std::map<std::string, double> ahead_;
};

class Events {
 public:
  void add(const Json& event) { text_ += (text_.empty() ? "\n" : ",\n") + dump_json(event); }
  void name(const char* what, std::size_t process, int lane, const std::string& name) {
    add({{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", lane}, {"args", {{"name", name}}}});
  }
  void span(std::size_t process, int lane, const Span& it, double ahead) {
    Json event{{"ph", "X"},   {"name", it.what},       {"pid", process},
               {"tid", lane}, {"ts", it.from - ahead}, {"dur", std::max(0.0, it.to - it.from)}};
    if (it.samples > 0) event["args"] = {{"samples", it.samples}};
    add(event);
  }
  [[nodiscard]] std::string json() const {
    return R"({"displayTimeUnit":"ms","traceEvents":[)" + text_ + "\n]}\n";
  }

 private:
  std::string text_;
};

// Between two computations a worker waits: for parameters, for others, for work.
void add_computing(std::size_t process, const Node& node, double ahead, Events& events) {
  events.name("thread_name", process, computing_lane, "computing");
  double done = node.computed.front().from;
  for (const Span& it : node.computed) {
    if (it.from > done) events.span(process, computing_lane, {"waiting", done, it.from, 0}, ahead);
    events.span(process, computing_lane, {it.what, std::max(it.from, done), it.to, it.samples}, ahead);
    done = std::max(done, it.to);
  }
}

}  // namespace

Timeline timeline_of(const std::vector<std::string>& paths) {
  Timeline timeline;
  std::vector<Node> nodes;
  for (const std::string& path : paths) {
    for (const std::string& file : files_in(path)) {
      Node node = read_node(file, timeline.notes);
      if (!node.id.empty()) nodes.push_back(std::move(node));
    }
  }
  if (nodes.empty()) {
    refuse_setup(paths.front() + ": it has no trace: train with --trace to write one");
  }
  std::ranges::stable_sort(nodes, {}, &Node::id);  // by role
  const auto said = flows(nodes, &Node::said, true), heard = flows(nodes, &Node::heard, false);
  const Clocks clocks(nodes, said, heard, timeline.notes);
  Events events;
  MessageTimes times;
  std::map<std::string, std::size_t> process_of;
  for (const Node& node : nodes) {
    const std::size_t process = process_of[node.id] = process_of.size() + 1;
    events.name("process_name", process, 0, node.name + " (" + node.id.substr(0, node.id.find('-')) + ")");
    events.name("thread_name", process, messages_lane, "messages");
    for (const Span& it : node.busy) {
      events.span(process, messages_lane, it, clocks.ahead(node.id));
      times.handled(it.what, node.id, it.to - it.from);
    }
    if (!node.computed.empty()) add_computing(process, node, clocks.ahead(node.id), events);
  }
  std::size_t id = 0;
  for (const auto& [flow, at] : said) {
    const auto& [from, to, what, n] = flow;
    const auto end = heard.find(flow);
    if (end == heard.end() || !process_of.contains(from) || !process_of.contains(to)) continue;
    const Json arrow{{"name", what}, {"cat", "message"}, {"id", ++id}, {"tid", messages_lane}};
    Json begin = arrow, arrival = arrow;
    const double left_at = at - clocks.ahead(from), came_at = end->second - clocks.ahead(to);
    begin.update({{"ph", "s"}, {"pid", process_of[from]}, {"ts", left_at}});
    arrival.update({{"ph", "f"}, {"bp", "e"}, {"pid", process_of[to]}, {"ts", came_at}});
    times.travelled(what, from, to, came_at - left_at);
    events.add(begin);
    events.add(arrival);
  }
  timeline.json = events.json();
  timeline.times = times.table();
  return timeline;
}

}  // namespace steelyard
