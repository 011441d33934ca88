#include "tests/scheduler/transcript_script.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "balancing/policies.h"
#include "protocol/codec.h"
#include "tests/scheduler/script_words.h"

namespace steelyard::test {

// The words of a line: first plain words, then key=value.
struct Script::Words {
  explicit Words(std::istream& in) {
    for (std::string word; in >> word;) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) {
        plain.push_back(word);
      } else {
        values[word.substr(0, equals)] = word.substr(equals + 1);
      }
    }
  }
  [[nodiscard]] std::uint64_t count(const std::string& key, std::uint64_t otherwise) const {
    return values.contains(key) ? std::stoull(values.at(key)) : otherwise;
  }
  [[nodiscard]] double real(const std::string& key, double otherwise) const {
    return values.contains(key) ? std::stod(values.at(key)) : otherwise;
  }
  [[nodiscard]] std::uint64_t number(std::size_t at) const { return std::stoull(plain.at(at)); }
  [[nodiscard]] bool has(const std::string& word) const {
    return std::ranges::find(plain, word) != plain.end();
  }
  [[nodiscard]] std::string rest(std::size_t from) const {
    std::string all;
    for (std::size_t i = from; i < plain.size(); ++i) all += (i == from ? "" : " ") + plain[i];
    return all;
  }

  std::vector<std::string> plain;
  std::map<std::string, std::string> values;
};

namespace {

// "1,2,5" or "0-8,16-20".
std::vector<std::string> parts(const std::string& list, char between) {
  std::vector<std::string> all;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, between);) all.push_back(part);
  return all;
}

// The encoded message; a message to the recorder in words, since it is never encoded.
std::string bytes_of(const Envelope& it) {
  if (std::holds_alternative<ToRecorder>(it.message)) return in_words(it) + '\n';
  const std::vector<std::byte> header = encode(it.message).header;
  return to_string(it.to) + std::string(reinterpret_cast<const char*>(header.data()), header.size()) + '\n';
}

}  // namespace

std::vector<std::string> Script::run(const std::string& line) {
  answers_.clear();
  std::istringstream in(line);
  std::string first;
  in >> first;
  if (first.empty() || first[0] == '#') return {};
  if (first.back() == ':') {
    std::string what;
    in >> what;
    send_words(node_of_word(first.substr(0, first.size() - 1)), what, Words(in));
    return answers_;
  }
  if (first == "gone") {
    send(link_node, Goodbye{});
    return answers_;
  }
  const Words words(in);
  if (first == "job") {
    begin(words);
  } else if (first == "lost") {
    send(link_node, Disconnected{node_of_word(words.plain.at(0))});
  } else if (first == "version_mismatch") {
    send(node_of_word(words.plain.at(0)), VersionMismatch{static_cast<std::uint32_t>(words.number(1))});
  } else if (first == "interrupt") {
    send(link_node, Interrupt{});
  } else if (first == "save") {
    send(link_node, Interrupt{{}, true});
  } else if (first == "wait") {
    now_ = now_ + from_seconds(std::stod(words.plain.at(0)));
    apply([&](auto& machine, Outbox& out) { machine.wake(now_, out); });
  } else if (first == "killed") {
    scheduler_ = replayed().scheduler;
    begin_journal();
    Outbox out(scheduler_node);
    journaled_->restarted(now_, false, out);
    take(out.take());
  } else {
    throw std::runtime_error("unknown command: " + line);
  }
  return answers_;
}

void Script::begin(Words words) {
  job_ = {};
  job_.name = "toy";
  job_.train_samples = words.count("samples", 64);
  job_.test_samples = words.count("tests", 0);
  job_.global_batch = words.count("batch", 32);
  job_.grain = static_cast<std::uint32_t>(words.count("grain", 1));
  job_.labels = static_cast<std::uint32_t>(words.count("labels", 1));
  job_.epochs = words.count("epochs", 1);
  job_.rounds = words.count("rounds", 0);
  job_.workers = static_cast<std::uint32_t>(words.count("workers", 2));
  job_.shards = static_cast<std::uint32_t>(words.count("shards", 1));
  job_.clip_norm = words.real("clip", 0);
  job_.seconds = words.real("seconds", 0);
  job_.server_wait = words.real("server_wait", 0);
  job_.target_accuracy = words.real("target", 0);
  job_.checkpoint_every = words.count("save", 0);
  job_.checkpoint_rounds = words.count("save_rounds", 0);
  job_.checkpoint_minutes = words.real("save_minutes", 0);
  job_.profile = words.has("profile");
  job_.policy = words.values.contains("policy") ? words.values.at("policy") : "equal";
  if (words.values.contains("optimizer")) job_.optimizer.kind = nn::Optimizer::Kind::worker;
  if (words.values.contains("sync")) job_.sync = parse_sync(words.values.at("sync"));
  append(job_.layout, "w", {12});
  job_.layout.slice_size = 4;
  Progress from;
  from.version = words.count("version", 0);
  from.epoch = words.count("epoch", 0);
  from.offset = words.count("offset", 0);
  if (words.values.contains("names")) from.workers = parts(words.values.at("names"), ',');
  from_ = from;
  scheduler_ = std::make_unique<Scheduler>(job_, from, balancing::make_policy(job_.policy));
  journal_.clear();
  sent_.clear();
  append(journal_, {now_, JournalHead{"script", job_, from, {}}});
  begin_journal();
  invariants_ = {};
}

void Script::begin_journal() {
  journaled_ = std::make_unique<Journaled>(*scheduler_, [this](const std::vector<std::byte>& record) {
    journal_.insert(journal_.end(), record.begin(), record.end());
    return true;
  });
}

Script::Replayed Script::replayed() const {
  JournalReader journal(journal_);
  const JournalRecord first = journal.next().value();
  const auto& head = std::get<JournalHead>(first.what);
  Replayed it{std::make_unique<Scheduler>(*head.job, head.from, balancing::make_policy(head.job->policy)),
              {}};
  replay(journal, *it.scheduler, [&](const JournalRecord&, const std::vector<Envelope>& answers) {
    for (const Envelope& answer : answers) it.sent += bytes_of(answer);
  });
  return it;
}

void Script::send_words(NodeId from, const std::string& what, Words words) {
  if (what == "Hello") {
    Hello hello{words.count("fingerprint", 0), words.plain.at(0), "tcp://" + words.plain.at(0),
                DeviceKind::cpu, words.count("most", 0)};
    if (words.has("rightly")) hello.fingerprint = fingerprint(job_);
    send(from, hello);
  } else if (what == "Ready") {
    Ready ready{{}, words.count("most", 0)};
    for (const std::string& word : words.plain) {
      if (word.find(':') == std::string::npos) {  // what computes the model
        ready.computing = word;
        continue;
      }
      const auto time = parts(word, ':');
      ready.times.push_back({std::stoull(time.at(0)), std::stod(time.at(1))});
    }
    send(from, ready);
  } else if (what == "NoState") {
    send(from, Ready{{}, 0, false, words.count("loading", 0)});
  } else if (what == "Uploaded" || what == "NotUploaded") {
    send(from, StateUploaded{1, words.number(0), what == "Uploaded", words.rest(1)});
  } else if (what == "Goodbye") {
    send(from, Goodbye{words.rest(0)});
  } else if (what == "Report") {
    send(from, report_of(words.number(0), words));
  } else if (what == "Progress") {
    send(from, PieceProgress{1, words.number(0), words.number(1), words.count("micro_batch", 4)});
  } else if (what == "CutAnswer") {
    send(from, CutAnswer{1, words.number(0), words.number(1), words.count("end", words.number(1))});
  } else if (what == "Closed") {
    send(from, Closed{1, words.number(0), {}});
  } else if (what == "Covered") {
    Covered covered{1, words.number(0), 0, {}};
    for (const std::string& square : parts(words.plain.at(1), ','))
      covered.squares.push_back(std::stod(square));
    send(from, covered);
  } else if (what == "GradientRejected") {
    const Report it = report_of(words.number(0), words);
    send(from, GradientRejected{1, it.piece, 0, node_of_word(words.plain.at(1))});
  } else if (what == "Saved" || what == "Failed") {
    send(from, Saved{words.number(0), what == "Saved", words.rest(1)});
  } else if (what == "Beat" && from.role == Role::shard) {
    send_shard_beat(from, words);
  } else if (what == "Beat" && from.role == Role::worker) {
    WorkerBeat beat{
        1, {}, words.count("roster", roster_), {}, words.count("progress", 0), words.real("left", -1)};
    if (words.values.contains("unreached")) {
      for (const std::string& shard : parts(words.values.at("unreached"), ','))
        beat.unreached.push_back(node_of_word(shard));
    }
    if (!words.plain.empty()) {
      for (const std::string& piece : parts(words.plain[0], ',')) beat.held.push_back(std::stoull(piece));
    }
    send(from, beat);
  } else if (what == "Beat") {
    send(from, CheckpointerBeat{{}, words.count("roster", roster_)});
  } else {
    throw std::runtime_error("unknown message: " + what);
  }
}

void Script::send_shard_beat(NodeId from, Words words) {
  ShardBeat beat{1,  words.count("version", 0), words.count("opened", 0), words.has("loaded"),
                 {}, words.has("covered")};
  beat.added = words.count("added", 0);
  if (words.values.contains("gaps")) {
    for (const std::string& gap : parts(words.values.at("gaps"), ',')) {
      const auto edges = parts(gap, '-');
      beat.gaps.push_back({std::stoull(edges.at(0)), std::stoull(edges.at(1))});
    }
  }
  send(from, beat);
}

// A valid report of the piece; an invalid one if the piece does not exist.
Report Script::report_of(PieceId id, const Words& words) const {
  Report report;
  report.term = words.count("term", 1);
  report.piece.id = id;
  report.seconds = words.real("seconds", 1);
  report.loss = words.real("loss", 0);
  report.correct = words.count("correct", 0);
  for (const RoundState& round : scheduler_->rounds()) {
    const OwedPiece* piece = round.find(id);
    if (piece == nullptr) continue;
    report.piece.round = round.round();
    report.piece.purpose = round.purpose();
    report.piece.positions = piece->positions;
    report.piece.positions.end = words.count("end", piece->positions.end);
  }
  return report;
}

template <class Body>
void Script::send(NodeId from, Body sent) {
  const Envelope envelope{from, scheduler_node, Message(std::in_place_type<ToScheduler>, std::move(sent))};
  apply([&](auto& machine, Outbox& out) { machine.step(now_, envelope, out); });
}

// A twin restored from the saved state must send the same answers and end in the same state.
template <class Do>
void Script::apply(Do act) {
  Scheduler twin(job_, from_, balancing::make_policy(job_.policy));
  twin.restore(scheduler_->save(now_), now_);
  Outbox out(scheduler_node), twins(scheduler_node);
  act(*journaled_, out);
  act(twin, twins);
  std::vector<Envelope> sent = out.take();
  std::string answer, twins_answer;
  for (const Envelope& it : sent) answer += bytes_of(it);
  for (const Envelope& it : twins.take()) twins_answer += bytes_of(it);
  EXPECT_EQ(answer, twins_answer);
  EXPECT_EQ(scheduler_->save(now_), twin.save(now_));
  take(sent);
}

void Script::take(const std::vector<Envelope>& sent) {
  for (const Envelope& envelope : sent) {
    answers_.push_back(in_words(envelope));
    sent_ += bytes_of(envelope);
    const auto* to_worker = std::get_if<ToWorker>(&envelope.message);
    if (const auto* it = to_worker != nullptr ? std::get_if<Roster>(to_worker) : nullptr)
      roster_ = it->number;
  }
  const std::string trouble = invariants_.check(*scheduler_);
  if (!trouble.empty()) answers_.push_back("BROKEN: " + trouble);
}

}  // namespace steelyard::test
