#include "app/web/run_web.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <thread>
#include <utility>
#include <variant>

#include "app/report/live/live_run.h"
#include "app/report/page/page.h"
#include "app/web/http_server.h"
#include "app/web/place.h"
#include "core/queue.h"
#include "protocol/machine.h"
#include "transport/address.h"

namespace steelyard {
namespace {

constexpr std::size_t most_lines = 20'000;  // in the queue
constexpr Duration at_least = std::chrono::seconds(1);
constexpr int times_as_long = 20;  // a page is renewed after this multiple of the time that making it took
constexpr auto answer_patience = std::chrono::seconds(5);

double now_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

HttpAnswer plain(int status, const std::string& text) {
  return {status, "text/plain; charset=utf-8", std::make_shared<const std::string>(text)};
}

HttpAnswer script(const char* text) {
  return {200, "text/javascript; charset=utf-8", std::make_shared<const std::string>(text)};
}

struct Line {
  bool event;
  std::string text;
  double now;
};
struct Question {
  std::string path;
  std::promise<HttpAnswer> answer;
};

// The pages of a run, cached.
class Pages {
 public:
  explicit Pages(LiveRun& run) : run_(run) {
    pages_["/"] = {"text/html; charset=utf-8", [this] { return run_.page(); }};
    pages_["/part"] = {"text/html; charset=utf-8", [this] { return run_.part(); }};
    pages_["/status"] = {"application/json", [this] { return run_.status(); }};
    pages_["/metrics"] = {"text/plain; version=0.0.4; charset=utf-8", [this] { return run_.metrics(); }};
  }

  HttpAnswer answer(const std::string& path) {
    const auto found = pages_.find(path);
    if (found == pages_.end()) return plain(404, "Not found. The pages are /, /metrics and /status.\n");
    Page& it = found->second;
    const Time now = steady_now();
    const bool old = it.of != run_.changes() && now - it.made > std::max(at_least, it.took * times_as_long);
    if (!it.body || old) {
      it.of = run_.changes();
      it.body = std::make_shared<const std::string>(it.make());
      it.made = steady_now();
      it.took = it.made - now;
    }
    return {200, it.type, it.body, "\"" + std::to_string(getpid()) + "-" + std::to_string(it.of) + "\""};
  }

 private:
  struct Page {
    std::string type;
    std::function<std::string()> make;
    std::shared_ptr<const std::string> body{};
    std::uint64_t of = 0;  // LiveRun::changes() when it was made
    Time made{};
    Duration took{};
  };
  LiveRun& run_;
  std::map<std::string, Page> pages_;
};

}  // namespace

class RunWeb::State {
 public:
  explicit State(const std::string& place) : place_(web_place(place)), server_(place_, "--web") {}
  ~State() { told_.close(); }  // pending requests get "The job has ended."

  void begin(Beginning run) {
    thread_ = std::jthread([this, run = std::move(run)]() mutable { work(std::move(run)); });
    server_.serve([this](const std::string& path) { return asked(path); });
  }

  void tell(bool event, const std::string& line) { told_.try_push(Line{event, line, now_since_1970()}); }
  [[nodiscard]] std::string url() const { return server_.url(); }
  [[nodiscard]] bool for_others() const {
    return !is_loopback("tcp://" + with_port(place_.host, place_.port));
  }

 private:
  void work(Beginning beginning) {
    ::setpriority(PRIO_PROCESS, 0, 19);  // of this thread, on Linux
    LiveRun run(beginning.path, beginning.job);
    run.round_lines(beginning.rounds, 0);
    run.event_lines(beginning.events);
    beginning = {};
    Pages pages(run);
    while (auto told = told_.pop()) {
      std::visit(Overloaded{[&](const Line& it) {
                              if (it.event)
                                run.event_lines(it.text);
                              else
                                run.round_lines(it.text, it.now);
                            },
                            [&](Question& it) { it.answer.set_value(pages.answer(it.path)); }},
                 *told);
    }
  }

  // Called on threads of the server.
  HttpAnswer asked(const std::string& path) {
    if (path == "/page.js") return script(page_script);
    if (path == "/live.js") return script(live_script);
    Question question{path, {}};
    std::future<HttpAnswer> answer = question.answer.get_future();
    if (!told_.try_push(std::move(question)) || answer.wait_for(answer_patience) != std::future_status::ready)
      return plain(503, "Busy: try again in a few seconds.\n");
    try {
      return answer.get();
    } catch (const std::future_error&) {  // destroyed without an answer
      return plain(503, "The job has ended.\n");
    }
  }

  const HostPort place_;
  BoundedQueue<std::variant<Line, Question>> told_{most_lines};
  std::jthread thread_;
  HttpServer server_;  // destroyed first, since it sends requests to the thread
};

RunWeb::RunWeb(const std::string& place) : state_(std::make_unique<State>(place)) {}
RunWeb::~RunWeb() = default;
void RunWeb::begin(Beginning run) { state_->begin(std::move(run)); }
void RunWeb::tell(bool event, const std::string& line) { state_->tell(event, line); }
std::string RunWeb::url() const { return state_->url(); }
bool RunWeb::for_others() const { return state_->for_others(); }

}  // namespace steelyard
