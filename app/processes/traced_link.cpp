#include "app/processes/traced_link.h"

#include <string_view>
#include <utility>

#include "app/report/trace_file.h"

namespace steelyard {
namespace {

// Shorter handling of timers is not recorded.
constexpr Duration shortest_timer = std::chrono::microseconds(20);

template <class Named>
constexpr std::string_view type_name() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t begin = text.find("Named = ") + 8;
  std::string_view name = text.substr(begin, text.find_first_of(";]", begin) - begin);
  return name.substr(name.rfind(':') + 1);
}

std::string name_of(const Message& message) {
  return std::visit(
      [](const auto& receiver) {
        return std::visit([]<class Said>(const Said&) { return std::string(type_name<Said>()); }, receiver);
      },
      message);
}

std::string numbered(const char* what, std::uint64_t number) { return what + std::to_string(number); }

// The name of a round's message, the same at sender and receiver; empty for other messages.
std::string flow_of(const Message& message) {
  const auto one = Overloaded{
      [](const Start& it) { return numbered("start ", it.piece.id); },
      [](const Report& it) { return numbered("report ", it.piece.id); },
      [](const BeginRound& it) { return numbered("open ", it.round); },
      [](const Closed& it) { return numbered("closed ", it.version); },
      [](const Pull& it) { return numbered("pull ", it.version); },
      [](const Parameters& it) { return numbered("parameters ", it.version) + numbered("/", it.slice); },
      [](const Push& it) { return numbered("push ", it.piece.id) + numbered("/", it.slice); },
      [](const auto&) { return std::string(); },
  };
  return std::visit([&](const auto& receiver) { return std::visit(one, receiver); }, message);
}

class TracedLink final : public Link {
 public:
  TracedLink(Link& link, const std::string& directory, NodeId self, const std::string& name)
      : link_(link), file_(directory, self, name) {}

  void connect(NodeId peer, const std::string& endpoint) override { link_.connect(peer, endpoint); }
  void disconnect(NodeId peer) override { link_.disconnect(peer); }
  void post(std::vector<Envelope> envelopes) override { link_.post(std::move(envelopes)); }

  void send(Envelope envelope) override {
    const std::string flow = flow_of(envelope.message);
    if (!flow.empty()) file_.said(flow, envelope.to, steady_now());
    link_.send(std::move(envelope));
  }

  std::optional<Envelope> receive(Time deadline) override {
    const Time asked = steady_now();
    const bool is_message = !handling_.empty();
    if (is_message || (since_ != Time{} && asked - since_ > shortest_timer))
      file_.busy(is_message ? handling_ : "timer", since_, asked);
    std::optional<Envelope> in = link_.receive(deadline);
    since_ = steady_now();
    handling_ = in ? name_of(in->message) : "";
    if (in) heard(*in);
    return in;
  }

 private:
  void heard(const Envelope& in) {
    const std::string flow = flow_of(in.message);
    if (!flow.empty()) file_.heard(flow, in.from, since_);
    const auto* to_worker = std::get_if<ToWorker>(&in.message);
    const auto* computed = to_worker != nullptr ? std::get_if<Computed>(to_worker) : nullptr;
    if (computed == nullptr) return;
    const Piece& piece = computed->report.piece;
    const Time begun{since_.since_origin - from_seconds(computed->report.seconds)};
    file_.computed(piece.purpose == Purpose::train ? numbered("round ", piece.round) : "evaluation",
                   piece.positions.size(), begun, since_);
  }

  Link& link_;
  TraceFile file_;
  std::string handling_;  // the message that the last receive() returned
  Time since_{};
};

}  // namespace

std::unique_ptr<Link> traced(Link& link, const std::string& directory, NodeId self, const std::string& name) {
  if (directory.empty()) return nullptr;
  return std::make_unique<TracedLink>(link, directory, self, name);
}

}  // namespace steelyard
