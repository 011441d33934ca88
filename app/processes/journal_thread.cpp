#include "app/processes/journal_thread.h"

#include <atomic>
#include <exception>
#include <limits>
#include <utility>

#include "core/queue.h"

namespace steelyard {
namespace {

constexpr std::size_t at_once = 1 << 20;          // bytes of records written together
constexpr std::size_t most_collected = 64 << 10;  // bytes of records not queued yet
constexpr std::size_t most_since = 16 << 20;      // bytes kept for a reading that is not collected
constexpr std::size_t no_limit =
    std::numeric_limits<std::size_t>::max();  // the queues are limited in bytes instead

void append_bytes(std::vector<std::byte>& all, const std::vector<std::byte>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

struct JournalThread::Order {
  enum class What { write, begin_anew, read };
  What what = What::write;
  std::vector<std::byte> bytes{};
  std::uint64_t number = 0;  // of a reading
  std::size_t calls = 1;     // of write(), or one of begin_anew()
};

struct JournalThread::Answer {
  std::size_t written = 0;  // completed orders write or begin_anew
  JournalFile::News news = JournalFile::News::none;
  std::string text{};  // of the news
  std::uint64_t number = 0;
  std::optional<std::vector<std::byte>> read{};
};

struct JournalThread::Shared {
  explicit Shared(std::unique_ptr<JournalFile> its) : file(std::move(its)) {}

  // ---- the thread
  void run() {
    std::optional<Order> order = orders.pop();
    while (order && !given_up) {
      std::size_t written = order->what == Order::What::read ? 0 : order->calls;
      std::optional<Order> next = join_following(*order, written);
      carry_out(*order, written);
      order = next ? std::move(next) : orders.pop();
    }
    if (given_up) {
      const JournalFile::News news =
          file->give_up("its disk did not answer, and the buffer of waiting records is full");
      answers.try_push({no_limit, news, file->text_of(news)});
    }
    done = true;
    answers.close();
  }
  void carry_out(const Order& order, std::size_t written) {
    Answer answer{written};
    switch (order.what) {
      case Order::What::write:
        answer.news = file->write(order.bytes);
        answer.text = file->text_of(answer.news);
        break;
      case Order::What::begin_anew:
        file->begin_anew(order.bytes);
        break;
      case Order::What::read:
        answer.number = order.number;
        answer.read = read();
        break;
    }
    answers.try_push(std::move(answer));
  }
  // Joins the records queued after this one to it. Returns the next order of another kind, if it was popped.
  std::optional<JournalThread::Order> join_following(Order& order, std::size_t& written) {
    while (order.what == Order::What::write && order.bytes.size() < at_once && orders.size() > 0) {
      std::optional<Order> next = orders.pop();
      if (!next || next->what != Order::What::write) return next;
      append_bytes(order.bytes, next->bytes);
      written += next->calls;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::vector<std::byte> read() const;

  const std::unique_ptr<JournalFile> file;  // used only by the thread
  BoundedQueue<Order> orders{no_limit};
  BoundedQueue<Answer> answers{no_limit};
  std::atomic<bool> given_up{false};  // the remaining orders are dropped
  std::atomic<bool> done{false};
};

// If the journal cannot be read, no standby can follow, as if it had ended.
std::vector<std::byte> JournalThread::Shared::read() const try {
  return file->whole();
} catch (const std::exception&) {
  return {};
}

// ---- the owner's thread

JournalThread::JournalThread(std::unique_ptr<JournalFile> file, People people, Options options)
    : people_(std::move(people)), options_(options), shared_(std::make_shared<Shared>(std::move(file))) {
  ended_ = !shared_->file->trouble().empty();
  if (ended_) people_.note(shared_->file->text_of(JournalFile::News::ends));
  thread_ = std::thread([its = shared_] { its->run(); });
}

JournalThread::~JournalThread() { finish(); }

bool JournalThread::write(const std::vector<std::byte>& record) {
  take_answers(Time{});
  if (ended_) return false;
  const bool too_much = waiting_bytes_ > 0 && waiting_bytes_ + record.size() > options_.most_waiting;
  if (too_much) return give_up(), false;
  add_to_reading(record);
  const Time now = steady_now();
  if (collected_calls_++ == 0) collected_since_ = now;
  append_bytes(collected_, record);
  waiting_.push_back(record.size());
  waiting_bytes_ += record.size();
  if (collected_.size() >= most_collected || now - collected_since_ >= options_.collected)
    hand_over_collected();
  return true;
}

void JournalThread::hand_over_collected() {
  if (collected_calls_ == 0) return;
  shared_->orders.try_push(
      {Order::What::write, std::exchange(collected_, {}), 0, std::exchange(collected_calls_, 0)});
}

bool JournalThread::begin_anew(std::vector<std::byte> head, const std::vector<std::byte>& records) {
  take_answers(Time{});
  if (!is_sound()) return false;
  append_bytes(head, records);
  add_to_reading(records);
  hand_over({Order::What::begin_anew, std::move(head)});
  return true;
}

void JournalThread::hand_over(Order order) {
  hand_over_collected();
  waiting_.push_back(order.bytes.size());
  waiting_bytes_ += order.bytes.size();
  shared_->orders.try_push(std::move(order));
}

std::size_t JournalThread::pending() {
  hand_over_collected();
  take_answers(late_ ? Time{} : steady_now() + options_.wait);
  late_ = !waiting_.empty();
  if (late_) tell_of_silence();
  return waiting_.size();
}

void JournalThread::tell_of_silence() {
  if (silence_.due(steady_now(), options_.silence))
    people_.show("the run directory does not answer: the job waits until the journal is written there");
}

void JournalThread::end_silence() {
  if (!late_) return;
  const Duration lasted = std::exchange(silence_, {}).lasted(steady_now());
  if (lasted < options_.silence) return;
  const auto whole = std::chrono::round<std::chrono::seconds>(lasted).count();
  people_.note("the run directory did not answer for " + std::to_string(whole) +
               " s: the job waited for it, and continues");
}

// Waits until nothing is pending, at most until this time.
void JournalThread::take_answers(Time until) {
  const bool waits = until > Time{};
  while (!waiting_.empty() && (waits || shared_->answers.size() > 0)) {
    std::optional<Answer> answer = shared_->answers.pop(until);
    if (!answer) return;
    take(std::move(*answer));
  }
}

void JournalThread::take(Answer answer) {
  end_silence();
  for (std::size_t i = 0; i < answer.written && !waiting_.empty(); ++i) {
    waiting_bytes_ -= waiting_.front();
    waiting_.pop_front();
  }
  if (answer.read && reading_ && reading_->number == answer.number) reading_->file = std::move(answer.read);
  if (answer.news == JournalFile::News::none) return;
  waits_for_room_ = answer.news == JournalFile::News::waits;
  ended_ |= answer.news == JournalFile::News::ends;
  people_.note(answer.text);
}

void JournalThread::give_up() {
  ended_ = true;
  reading_.reset();
  collected_.clear();
  collected_calls_ = 0;
  shared_->given_up = true;
  shared_->orders.close();
}

// ---- reading it

std::optional<std::vector<std::byte>> JournalThread::whole() {
  if (!is_sound()) return std::vector<std::byte>();
  hand_over_collected();
  if (!reading_) {
    reading_ = Reading{++readings_, {}, {}};
    shared_->orders.try_push({Order::What::read, {}, reading_->number});
  }
  const Time until = steady_now() + options_.wait;
  while (!reading_->file) {
    std::optional<Answer> answer = shared_->answers.pop(until);
    if (!answer) return std::nullopt;
    take(std::move(*answer));
  }
  std::vector<std::byte> all = std::move(*reading_->file);
  if (!all.empty()) append_bytes(all, reading_->since);
  reading_.reset();
  return all;
}

void JournalThread::add_to_reading(const std::vector<std::byte>& records) {
  if (!reading_) return;
  append_bytes(reading_->since, records);
  if (reading_->since.size() > most_since) reading_.reset();
}

// ---- the end

void JournalThread::finish() {
  if (!thread_.joinable()) return;
  hand_over_collected();
  shared_->orders.close();
  const Time until = steady_now() + options_.at_end;
  while (std::optional<Answer> answer = shared_->answers.pop(until)) take(std::move(*answer));
  if (shared_->done) {
    thread_.join();
  } else {
    thread_.detach();  // it shares ownership of everything it uses
  }
}

}  // namespace steelyard
