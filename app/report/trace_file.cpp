#include "app/report/trace_file.h"

#include <chrono>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/json.h"

namespace steelyard {
namespace {

std::string file_in(const std::string& directory, NodeId node) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw Failure(ExitCode::io,
                  "trace directory " + directory + ": " + error.message() + ": give one that can be written");
  }
  return directory + "/" + to_string(node) + ".jsonl";
}

double microseconds(Time time) {
  return std::chrono::duration<double, std::micro>(time.since_origin).count();
}

}  // namespace

std::string this_boot() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

TraceFile::TraceFile(const std::string& directory, NodeId node, const std::string& name)
    : file_(file_in(directory, node)) {
  const Json line{{"node", to_string(node)}, {"name", name}, {"machine", this_boot()}};
  add(dump_json(line), steady_now());
}

TraceFile::~TraceFile() { file_.flush(steady_now()); }

void TraceFile::busy(const std::string& what, Time from, Time to) {
  add(dump_json(Json{{"busy", what}, {"from", microseconds(from)}, {"to", microseconds(to)}}), to);
}

void TraceFile::computed(const std::string& what, std::uint64_t samples, Time from, Time to) {
  add(dump_json(Json{
          {"computed", what}, {"samples", samples}, {"from", microseconds(from)}, {"to", microseconds(to)}}),
      to);
}

void TraceFile::said(const std::string& what, NodeId peer, Time at) {
  add(dump_json(Json{{"said", what}, {"peer", to_string(peer)}, {"at", microseconds(at)}}), at);
}

void TraceFile::heard(const std::string& what, NodeId peer, Time at) {
  add(dump_json(Json{{"heard", what}, {"peer", to_string(peer)}, {"at", microseconds(at)}}), at);
}

void TraceFile::add(const std::string& line, Time now) {
  if (left_ == 0) return;
  file_.add(--left_ > 0 ? line : R"({"full":true})", now);
}

}  // namespace steelyard
