#include "app/hosts/conversation.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "protocol/codec.h"

namespace steelyard {
namespace {

constexpr Duration tick = std::chrono::milliseconds(1);  // clocks are compared to this precision

}  // namespace

Conversation::Conversation(const LaunchHost& host, std::string roles)
    : host_(host), roles_(std::move(roles)), command_(host) {}

void Conversation::ask(const Json& question) {
  answer_.reset();
  asked_ = true;
  command_.send(dump_json(question));
}

void Conversation::look() {
  if (failure_) return;
  (void)command_.look();
  for (const std::string& line : command_.answers()) {
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
  if (!command_.status() || answer_ || failure_) return;
  failure_ = unreachable(host_, roles_, *command_.status(), command_.last_words());
}

void Conversation::give_up(const std::string& why) {
  failure_ = Failure(ExitCode::unreachable, "host '" + name() + "': " + why);
  command_.close();
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
