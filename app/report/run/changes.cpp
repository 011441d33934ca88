#include "app/report/run/changes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "app/report/page/page.h"

namespace steelyard {
namespace {

constexpr double worth_telling = 0.05;  // of the round's samples
constexpr std::size_t workers_named = 4;
constexpr double fades = 0.8;  // weight of earlier rounds in a measured speed

struct Speed {
  double samples = 0, seconds = 0;
};
using Split = std::map<std::uint32_t, double>;  // parts of a round, since rounds have different sizes

Split split_of(const RunRound& round) {
  Split split;
  const auto all = static_cast<double>(std::max<std::uint64_t>(round.samples(), 1));
  for (const RunPart& part : round.parts) split[part.worker] += static_cast<double>(part.share) / all;
  return split;
}

double moved(const Split& from, const Split& to) {
  double sum = 0;
  for (const auto& [worker, share] : to) {
    const auto before = from.find(worker);
    sum += std::max(share - (before == from.end() ? 0 : before->second), 0.0);
  }
  return sum;
}

std::string share_text(double share) { return share > 0 ? percent(share, 1) : "none"; }

// The workers with the largest changes, in that order.
Change move_of(const RunRecord& record, const RunRound& round, Split from, Split to,
               std::map<std::uint32_t, Speed>& speeds) {
  std::vector<std::uint32_t> workers;
  for (const auto& [worker, share] : from) to.try_emplace(worker, 0);
  for (const auto& [worker, share] : to) workers.push_back(worker);
  std::ranges::stable_sort(workers, std::greater{},
                           [&](std::uint32_t it) { return std::abs(to[it] - from[it]); });
  Change change{round.begin, ChangeKind::move, "round " + grouped(static_cast<double>(round.round)) + ": ",
                ""};
  for (std::size_t i = 0; i < std::min(workers.size(), workers_named); ++i) {
    const std::string& name = record.workers[workers[i]];
    change.what +=
        (i > 0 ? ", " : "") + name + " " + share_text(from[workers[i]]) + " to " + share_text(to[workers[i]]);
    const Speed speed = speeds[workers[i]];
    if (speed.seconds > 0)
      change.why += (change.why.empty() ? "" : ", ") + name + " " + grouped(speed.samples / speed.seconds);
  }
  if (workers.size() > workers_named)
    change.what += " and " + std::to_string(workers.size() - workers_named) + " more";
  return change;
}

struct Move {
  Change change;
  double size = 0;
};

std::vector<Move> moves_of(const RunRecord& record) {
  std::vector<Move> moves;
  std::map<std::uint32_t, Speed> speeds;
  Split last;
  std::uint64_t whole = 1;  // the most samples of a round; the last round of an epoch may be short
  for (const RunRound& round : record.rounds) {
    if (!round.train) continue;
    whole = std::max(whole, round.samples());
    if (round.samples() < whole / 2) continue;
    const Split split = split_of(round);
    const double size = last.empty() ? 0 : moved(last, split);
    if (size >= worth_telling) moves.push_back({move_of(record, round, last, split, speeds), size});
    if (last.empty() || size >= worth_telling) last = split;
    for (const RunPart& part : round.parts) {
      Speed& speed = speeds[part.worker];
      speed.samples = fades * speed.samples + static_cast<double>(part.share);
      speed.seconds = fades * speed.seconds + part.seconds;
    }
  }
  return moves;
}

ChangeKind kind_of(const std::string& text) {
  if (text.find("checkpoint") != std::string::npos) return ChangeKind::checkpoint;
  if (text.starts_with("worker '")) return ChangeKind::worker;
  if (text.starts_with("server '") || text.starts_with("mirror '")) return ChangeKind::server;
  return ChangeKind::job;
}

}  // namespace

Changes changes_of(const RunRecord& record, bool barrier, std::size_t most) {
  Changes changes;
  std::vector<Move> moves = barrier ? moves_of(record) : std::vector<Move>();
  if (moves.size() > most) {
    changes.left_out += moves.size() - most;
    std::ranges::stable_sort(moves, std::greater{}, &Move::size);
    moves.resize(most);
  }
  for (Move& move : moves) changes.list.push_back(std::move(move.change));
  std::map<ChangeKind, std::size_t> all, seen;
  for (const RunEvent& it : record.events) ++all[kind_of(it.text)];
  for (const RunEvent& it : record.events) {
    const ChangeKind kind = kind_of(it.text);
    const std::size_t place = seen[kind]++, count = all[kind];
    if (count > most && place >= most / 2 && place < count - most / 2)
      ++changes.left_out;
    else
      changes.list.push_back({it.at, kind, it.text, ""});
  }
  std::ranges::stable_sort(changes.list, {}, &Change::at);
  return changes;
}

}  // namespace steelyard
