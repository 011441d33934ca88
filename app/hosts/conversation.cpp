#include "app/hosts/conversation.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "app/report/terminal_text.h"
#include "protocol/codec.h"

namespace steelyard {
namespace {

constexpr Duration tick = std::chrono::milliseconds(1);  // clocks are compared to this precision
constexpr std::size_t kept_words = 5;                    // lines
constexpr std::size_t longest_word = 300;                // columns

}  // namespace

Conversation::Conversation(const LaunchHost& host, std::string roles)
    : host_(host), roles_(std::move(roles)) {
  const Pipe in = std::move(to_host_), out = std::move(from_host_), error = std::move(errors_);
  children_.start(host.spec.name, {.path = host.command.front(),
                                   .arguments = {host.command.begin() + 1, host.command.end()},
                                   .in = in.read.get(),
                                   .out = out.write.get(),
                                   .error = error.write.get(),
                                   .exits_with_input = true});
}

void Conversation::ask(const Json& question) {
  answer_.reset();
  asked_ = true;
  in_.add(dump_json(question));
}

void Conversation::look() {
  if (failure_) return;
  in_.flush();
  for (const Child& child : children_.ended()) status_ = child.status;  // before its last lines
  for (std::string& line : error_.read()) {
    if (line.ends_with('\r')) line.pop_back();  // ssh writes for a terminal
    words_.push_back(shown_line(line, longest_word));
    if (words_.size() > kept_words) words_.pop_front();
  }
  for (const std::string& line : out_.read()) {
    Json json = parse_json(line);
    if (!json.is_object() || !json.contains(asked_ ? "answer" : "ready")) continue;
    if (!asked_) {
      const double protocol = number_at(json, "protocol", 0);
      if (protocol != static_cast<double>(protocol_version))
        failure_ = other_release(host_, roles_, text_at(json, "ready"), protocol);
    }
    answer_ = std::move(json);
    answered_ = steady_now();
  }
  if (!status_ || answer_ || failure_) return;
  std::string said;
  for (const std::string& line : words_) said += (said.empty() ? "" : "; ") + line;
  failure_ = unreachable(host_, roles_, *status_, said);
}

void Conversation::give_up(const std::string& why) {
  failure_ = Failure(ExitCode::unreachable, "host '" + name() + "': " + why);
  in_.close();
}

void wait_for(const std::vector<Conversation*>& all, Duration limit, const std::string& what) {
  const auto waits = [](const Conversation* it) { return !it->answer() && !it->failure(); };
  const Time end = steady_now() + limit;
  while (std::ranges::any_of(all, waits) && steady_now() < end) {
    std::this_thread::sleep_for(tick);
    for (Conversation* it : all) it->look();
  }
  for (Conversation* it : all)
    if (waits(it)) it->give_up(what + " within " + std::to_string(std::lround(seconds(limit))) + " s");
}

}  // namespace steelyard
