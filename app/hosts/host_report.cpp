#include "app/hosts/host_report.h"

#include <algorithm>
#include <cmath>

#include "app/report/terminal_text.h"
#include "app/report/text_table.h"

namespace steelyard {
namespace {

constexpr double clock_limit_s = 1;
constexpr std::size_t longest_cell = 30;  // columns

using Row = std::vector<std::string>;

std::string aligned(const std::vector<Row>& rows, std::size_t width) {
  std::string text;
  for (const std::string& line : aligned_lines(rows, Alignment::words, width)) text += line + "\n";
  return text;
}

std::string size_text(std::uint64_t bytes) {
  const double megabytes = static_cast<double>(bytes) / 1e6;
  return megabytes < 1000 ? fixed(megabytes, 0) + " MB" : fixed(megabytes / 1000, 1) + " GB";
}

std::string free_of(std::uint64_t free, std::uint64_t needed) {
  return size_text(free) + (needed > 0 ? " (" + size_text(needed) + ")" : "");
}

std::string state_of(const std::optional<bool>& state) { return !state ? "-" : *state ? "ok" : "no"; }

std::string clock_of(const HostFacts& host) {
  if (std::fabs(host.clock_offset_s) <= std::max(host.clock_error_s, 0.005)) return "ok";
  return printed("%+.2f s", host.clock_offset_s);
}

std::string devices_of(const HostFacts& host) {
  return count_of(host.cores, "core") + (host.gpus.empty() ? "" : ", " + count_of(host.gpus.size(), "GPU"));
}

std::string speed_of(double bytes_s) {
  const double megabits = bytes_s * 8 / 1e6;
  return bytes_s > 0 ? fixed(megabits, megabits < 10 ? 1 : 0) + " Mbit/s" : "-";
}

// The release alone, without the kernels and devices behind it.
std::string short_release(const std::string& release) {
  const std::string line = shown_line(release, 100);
  return line.starts_with("steelyard ") ? line.substr(10, line.find_first_of(",;(", 10) - 10) : line;
}

Row row_of(const HostFacts& host) {
  const std::string way = shown_line(host.way, longest_cell);
  if (!host.answered) return {host.name, way, "no answer", "-", "-", "-", "-", "-", "-"};
  return {host.name,
          way,
          shown_line(short_release(host.release), longest_cell),
          state_of(host.ports),
          state_of(host.data),
          free_of(host.memory_free, host.memory_needed),
          free_of(host.disk_free, host.disk_needed),
          clock_of(host),
          devices_of(host)};
}

Json problem_json(const Problem& it) {
  return {{"text", it.text}, {"code", static_cast<int>(it.code)}, {"warning", it.warning}};
}

Json host_json(const HostFacts& host) {
  Json json{{"name", host.name}, {"way", host.way}, {"roles", host.roles}, {"answered", host.answered}};
  if (host.answered) {
    const auto or_null = [](const std::optional<bool>& state) { return state ? Json(*state) : Json(); };
    json["release"] = host.release;
    json["cores"] = host.cores;
    json["processor"] = host.processor;
    json["gpus"] = host.gpus;
    json["directory"] = host.directory;
    json["ports"] = or_null(host.ports);
    json["data"] = or_null(host.data);
    json["memory_free_bytes"] = host.memory_free;
    json["memory_needed_bytes"] = host.memory_needed;
    json["disk_free_bytes"] = host.disk_free;
    json["disk_needed_bytes"] = host.disk_needed;
    json["clock_offset_s"] = host.clock_offset_s;
    json["clock_error_s"] = host.clock_error_s;
  }
  json["problems"] = Json::array();
  for (const Problem& it : host.problems) json["problems"].push_back(problem_json(it));
  return json;
}

Json line_json(const LineFacts& line) {
  Json json{{"from", line.from}, {"to", line.to}, {"endpoint", line.endpoint}};
  const auto or_null = [](double value) { return value > 0 ? Json(value) : Json(); };
  json["round_trip_s"] = or_null(line.round_trip_s);
  json["there_bytes_s"] = or_null(line.there_bytes_s);
  json["back_bytes_s"] = or_null(line.back_bytes_s);
  json["problem"] = line.problem ? problem_json(*line.problem) : Json();
  return json;
}

void judge_host(HostFacts& host) {
  const std::string start = "host '" + host.name + "': ";
  if (host.memory_free < host.memory_needed) {
    host.problems.push_back({ExitCode::configuration, start + size_text(host.memory_free) +
                                                          " of memory are free, and its processes need at "
                                                          "least " +
                                                          size_text(host.memory_needed) +
                                                          ": end other programs there, or give it fewer "
                                                          "[[host.worker]] or servers"});
  }
  if (host.disk_free < host.disk_needed) {
    host.problems.push_back({ExitCode::io, start + size_text(host.disk_free) + " are free on the disk of " +
                                               host.directory + ", and checkpoints need " +
                                               size_text(host.disk_needed) +
                                               ": free some space, or choose another directory ="});
  }
  if (std::fabs(host.clock_offset_s) > clock_limit_s + host.clock_error_s) {
    host.problems.push_back({ExitCode::configuration,
                             start + "its clock differs by " + printed("%+.1f s", host.clock_offset_s) +
                                 ", so times in logs do not match: `timedatectl set-ntp true` there",
                             true});
  }
}

}  // namespace

void HostsReport::judge() {
  for (HostFacts& host : hosts)
    if (host.answered) judge_host(host);
}

std::vector<Problem> HostsReport::problems() const {
  std::vector<Problem> all;
  for (const HostFacts& host : hosts) all.insert(all.end(), host.problems.begin(), host.problems.end());
  for (const LineFacts& line : lines)
    if (line.problem) all.push_back(*line.problem);
  return all;
}

ExitCode HostsReport::code() const {
  for (const Problem& it : problems())
    if (!it.warning) return it.code;
  return ExitCode::ok;
}

std::string table_of(const HostsReport& report, std::size_t width) {
  const std::string need = report.with_job ? " free (need)" : " free";
  std::vector<Row> rows{
      {"host", "reached by", "release", "ports", "data", "memory" + need, "disk" + need, "clock", "devices"}};
  for (const HostFacts& host : report.hosts) rows.push_back(row_of(host));
  std::string text = aligned(rows, width);
  if (report.lines.empty()) return text;
  rows = {{"from", "to", "connects to", "round trip", "speed there", "speed back"}};
  for (const LineFacts& it : report.lines) {
    rows.push_back({it.from, it.to, it.endpoint,
                    it.problem ? "no" : printed("%.2f ms", 1e3 * it.round_trip_s), speed_of(it.there_bytes_s),
                    speed_of(it.back_bytes_s)});
  }
  return text + "\n" + aligned(rows, width);
}

Json json_of(const HostsReport& report) {
  Json json{{"ok", report.code() == ExitCode::ok}, {"code", static_cast<int>(report.code())}};
  json["hosts"] = Json::array();
  for (const HostFacts& host : report.hosts) json["hosts"].push_back(host_json(host));
  json["lines"] = Json::array();
  for (const LineFacts& line : report.lines) json["lines"].push_back(line_json(line));
  return json;
}

}  // namespace steelyard
