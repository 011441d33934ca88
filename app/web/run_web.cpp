#include "app/web/run_web.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
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
constexpr Duration at_most = std::chrono::seconds(10);  // a page shows how long ago the last round ended
constexpr int times_as_long = 20;                       // between two pages, as making one took
constexpr auto answer_timeout = std::chrono::seconds(5);
constexpr Duration recent_request = std::chrono::seconds(10), last_state_time = std::chrono::seconds(5);

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
struct Result {
  std::string text;
};
struct Answer {
  HttpAnswer http;
  bool last_state = false;
};
struct Question {
  std::string path;
  std::promise<Answer> answer;
};

// Makes the pages of a run, and keeps each for as long as the limits above say.
class Pages {
 public:
  explicit Pages(LiveRun& run) : run_(run) {
    pages_["/"] = {"text/html; charset=utf-8", [this] { return live_page(run_.document(now_since_1970())); }};
    pages_["/part"] = {"text/html; charset=utf-8",
                       [this] { return live_part(run_.document(now_since_1970())); }};
    pages_["/status"] = {"application/json", [this] { return run_.status(now_since_1970()); }};
    pages_["/metrics"] = {"text/plain; version=0.0.4; charset=utf-8",
                          [this] { return metrics_text(run_.metrics(now_since_1970())); }};
  }

  HttpAnswer answer(const std::string& path) {
    const auto found = pages_.find(path);
    if (found == pages_.end()) return plain(404, "Available: /, /metrics and /status.\n");
    Page& it = found->second;
    const Time now = steady_now();
    const Duration age = now - it.made;
    const bool old = it.of != run_.changes()
                         ? age > std::max(at_least, it.took * times_as_long) || run_.has_ended()
                         : age > at_most;
    if (!it.body || old) {
      it.of = run_.changes();
      it.body = std::make_shared<const std::string>(it.make());
      it.made = steady_now();
      it.took = it.made - now;
      ++versions_;
      it.tag = "\"" + std::to_string(getpid()) + "-" + std::to_string(versions_) + "\"";
    }
    return {200, it.type, it.body, it.tag};
  }

 private:
  struct Page {
    std::string type;
    std::function<std::string()> make;
    std::shared_ptr<const std::string> body{};
    std::string tag{};
    std::uint64_t of = 0;  // LiveRun::changes()
    Time made{};
    Duration took{};
  };
  LiveRun& run_;
  std::map<std::string, Page> pages_;
  std::uint64_t versions_ = 0;
};

}  // namespace

class RunWeb::State {
 public:
  explicit State(const std::string& place) : place_(web_place(place)), server_(place_, "--web") {}
  ~State() { queue_.close(); }  // pending requests get status 503

  void begin(Beginning run) {
    thread_ = std::jthread([this, run = std::move(run)]() mutable { work(std::move(run)); });
    server_.serve([this](const std::string& path) { return asked(path); });
  }

  void tell(bool event, const std::string& line) { queue_.try_push(Line{event, line, now_since_1970()}); }

  void finish(const std::string& result) {
    const Time now = steady_now();
    if (!was_requested_ || now - Time{Duration(requested_.load())} > recent_request) return;
    queue_.try_push(Result{result});
    last_state_sent_.pop(now + last_state_time);
  }
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
    while (auto next = queue_.pop()) {
      std::visit(Overloaded{[&](const Line& it) {
                              if (it.event)
                                run.event_lines(it.text);
                              else
                                run.round_lines(it.text, it.now);
                            },
                            [&](const Result& it) { run.ended(it.text); },
                            [&](Question& it) {
                              HttpAnswer answer = pages.answer(it.path);
                              it.answer.set_value({std::move(answer), run.has_ended()});
                            }},
                 *next);
    }
  }

  // Called on threads of the server.
  HttpAnswer asked(const std::string& path) {
    if (path == "/page.js") return script(page_script);
    if (path == "/dygraph.js") return script(chart_script);
    const bool page = path == "/" || path == "/part";
    if (page) {
      requested_ = steady_now().since_origin.count();
      was_requested_ = true;
    }
    Question question{path, {}};
    std::future<Answer> answer = question.answer.get_future();
    if (!queue_.try_push(std::move(question)) || answer.wait_for(answer_timeout) != std::future_status::ready)
      return plain(503, "Not available now: try again in some seconds.\n");
    try {
      Answer it = answer.get();
      // A browser that got "/" has yet to load the scripts; it fetches "part" after that.
      if (path == "/part" && it.last_state) it.http.sent = [this] { last_state_sent_.try_push(true); };
      return it.http;
    } catch (const std::future_error&) {  // the queue was closed before
      return plain(503, "The job has ended.\n");
    }
  }

  const HostPort place_;
  std::atomic<bool> was_requested_{false};
  std::atomic<Duration::rep> requested_{0};  // time of the last request of a page
  BoundedQueue<bool> last_state_sent_{1};
  BoundedQueue<std::variant<Line, Result, Question>> queue_{most_lines};
  std::jthread thread_;
  HttpServer server_;  // destroyed first: its threads use the queue
};

RunWeb::RunWeb(const std::string& place) : state_(std::make_unique<State>(place)) {}
RunWeb::~RunWeb() = default;
void RunWeb::begin(Beginning run) { state_->begin(std::move(run)); }
void RunWeb::tell(bool event, const std::string& line) { state_->tell(event, line); }
void RunWeb::finish(const std::string& result) { state_->finish(result); }
std::string RunWeb::url() const { return state_->url(); }
bool RunWeb::for_others() const { return state_->for_others(); }

}  // namespace steelyard
