#include "app/report/run/changes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "app/report/page/page.h"

namespace steelyard {
namespace {

constexpr double worth_telling = 0.05;  // of the round's samples
constexpr std::size_t workers_named = 8;
constexpr double fades = 0.8;  // of what is known of a speed, from round to round

struct Speed {
  double samples = 0, seconds = 0;
};

// As parts of a round: rounds have different lengths.
using Split = std::map<std::uint32_t, double>;
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

std::string share_text(const Split& split, std::uint32_t worker) {
  const auto found = split.find(worker);
  return found == split.end() ? "none" : fixed(100 * found->second, 1) + " %";
}

// The workers whose share changed most first.
std::vector<std::uint32_t> by_change(const Split& from, const Split& to) {
  std::map<std::uint32_t, double> change;
  for (const auto& [worker, share] : from) change[worker] -= share;
  for (const auto& [worker, share] : to) change[worker] += share;
  std::vector<std::uint32_t> workers;
  for (const auto& [worker, by] : change) workers.push_back(worker);
  std::ranges::stable_sort(workers, std::greater{}, [&](std::uint32_t it) { return std::abs(change[it]); });
  return workers;
}

std::string what_of(const RunRecord& record, const RunRound& round, const Split& from, const Split& to,
                    const std::vector<std::uint32_t>& workers) {
  std::string text = "from round " + std::to_string(round.round) + ": ";
  for (std::size_t i = 0; i < std::min(workers.size(), workers_named); ++i) {
    text += (i > 0 ? ", " : "") + record.workers[workers[i]] + " " + share_text(from, workers[i]) + " to " +
            share_text(to, workers[i]);
  }
  return workers.size() > workers_named
             ? text + " and " + std::to_string(workers.size() - workers_named) + " more"
             : text;
}

std::string why_of(const RunRecord& record, const std::map<std::uint32_t, Speed>& speeds,
                   const std::vector<std::uint32_t>& workers) {
  std::string text;
  for (std::size_t i = 0; i < std::min(workers.size(), workers_named); ++i) {
    const auto speed = speeds.find(workers[i]);
    if (speed == speeds.end() || !(speed->second.seconds > 0)) continue;
    text += (text.empty() ? "measured before: " : ", ") + record.workers[workers[i]] + " " +
            fixed(speed->second.samples / speed->second.seconds, 0);
  }
  return text.empty() ? "" : text + " samples/s";
}

struct Move {
  Change change;
  double size = 0;
};

std::vector<Move> moves_of(const RunRecord& record) {
  std::vector<Move> moves;
  std::map<std::uint32_t, Speed> speeds;
  Split told;
  std::uint64_t whole = 1;  // samples of the largest round so far: the last one of an epoch may be short
  for (const RunRound& round : record.rounds) {
    if (!round.train) continue;
    whole = std::max(whole, round.samples());
    if (round.samples() < whole / 2) continue;
    const Split split = split_of(round);
    const double size = told.empty() ? 0 : moved(told, split);
    if (told.empty()) told = split;
    if (size >= worth_telling) {
      const std::vector<std::uint32_t> workers = by_change(told, split);
      moves.push_back(
          {{round.begin, true, what_of(record, round, told, split, workers), why_of(record, speeds, workers)},
           size});
      told = split;
    }
    for (const RunPart& part : round.parts) {
      Speed& speed = speeds[part.worker];
      speed.samples = fades * speed.samples + static_cast<double>(part.share);
      speed.seconds = fades * speed.seconds + part.seconds;
    }
  }
  return moves;
}

}  // namespace

Changes changes_of(const RunRecord& record, bool barrier, std::size_t most) {
  Changes changes;
  const std::size_t each = most / 2;
  std::vector<Move> moves = barrier ? moves_of(record) : std::vector<Move>();
  if (moves.size() > each) {
    changes.left_out += moves.size() - each;
    std::ranges::stable_sort(moves, std::greater{}, &Move::size);
    moves.resize(each);
  }
  for (Move& move : moves) changes.list.push_back(std::move(move.change));
  const std::size_t said = record.events.size(), ends = each / 2;
  for (std::size_t i = 0; i < said; ++i) {
    if (said > each && i >= ends && i < said - ends) {
      ++changes.left_out;
      continue;
    }
    changes.list.push_back({record.events[i].at, false, record.events[i].text, ""});
  }
  std::ranges::stable_sort(changes.list, {}, &Change::at);
  return changes;
}

}  // namespace steelyard
