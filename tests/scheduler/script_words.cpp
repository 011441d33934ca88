#include "tests/scheduler/script_words.h"

#include <iomanip>
#include <map>
#include <sstream>
#include <stdexcept>

namespace steelyard::test {
namespace {

std::string text(Interval it) { return '[' + std::to_string(it.begin) + ", " + std::to_string(it.end) + ')'; }
std::string text(double number) {
  std::ostringstream out;
  out << std::setprecision(4) << number;
  return out.str();
}
std::string text(std::uint64_t number) { return std::to_string(number); }
std::string text(Outcome outcome) {
  static const char* const names[] = {"running",     "finished", "interrupted",  "non_finite",
                                      "server_lost", "storage",  "worker_failed"};
  return names[static_cast<int>(outcome)];
}
std::string quoted(const std::string& words) { return words.empty() ? "" : " '" + words + "'"; }

std::string words(const Welcome& it) { return "Welcome slot " + std::to_string(it.slot); }
std::string words(const Refuse& it) {
  static const char* const names[] = {"other_job", "other_protocol", "full",   "finished",
                                      "name",      "endpoint",       "memory", "replaced"};
  return std::string("Refuse ") + names[static_cast<int>(it.reason)] + quoted(it.text);
}
std::string words(const Roster& it) {
  std::string all = "Roster";
  if (it.shards.empty()) all += " without shards";
  for (const ShardPlace& place : it.shards) {
    all += ' ' + node_word(place.node) + " slices " + text(Interval{place.first, place.last});
  }
  return all;
}
std::string text(const LocalSteps& it) {
  if (it.steps == 0) return {};
  return " steps " + text(it.steps) + (it.passes == 1 ? "" : " passes " + text(it.passes));
}
std::string words(const Start& it) {
  const Piece& piece = it.piece;
  return std::string("Start ") + (piece.purpose == Purpose::train ? "round " : "evaluation of ") +
         text(piece.round) + " epoch " + text(piece.epoch) + " piece " + text(piece.id) + ' ' +
         text(piece.positions) + (it.least == piece.round ? "" : " least " + text(it.least)) +
         text(piece.local);
}
std::string words(const Resend& it) { return "Resend round " + text(it.round) + ' ' + text(it.positions); }
std::string words(const Cut& it) { return "Cut piece " + text(it.piece_id) + " at " + text(it.end); }
std::string words(const UploadState& it) {
  return "UploadState " + text(it.attempt) + " of version " + text(it.version);
}
std::string words(const LoadState& it) {
  return "LoadState " + text(it.attempt) + " of version " + text(it.version);
}
std::string words(const SchedulerBeat&) { return "Beat"; }
std::string words(const Stop& it) { return "Stop " + text(it.outcome) + quoted(it.text); }
std::string words(const BeginRound& it) {
  std::string skipped;
  for (const Interval& part : it.skipped) skipped += (skipped.empty() ? " without " : " ") + text(part);
  return "BeginRound " + text(it.round) + " epoch " + text(it.epoch) + ' ' + text(it.positions) +
         (it.quorum == it.positions.size() ? "" : " quorum " + text(it.quorum)) +
         (it.clip_barrier ? " clip_barrier" : "") + (it.save ? " save" : "") + text(it.local) + skipped;
}
std::string words(const Commit& it) { return "Commit round " + text(it.round) + " scale " + text(it.scale); }
std::string words(const Save& it) {
  return "Save version " + text(it.progress.version) + " epoch " + text(it.progress.epoch) + " offset " +
         text(it.progress.offset);
}
std::string words(const RoundRecord& it) {
  std::string all = std::string(it.purpose == Purpose::train ? "round " : "evaluation of ") + text(it.round) +
                    ' ' + text(it.positions) + " loss " + text(it.loss) + " accuracy " + text(it.accuracy) +
                    ':';
  for (const RoundRecord::Part& part : it.parts) {
    all += ' ' + part.name + ' ' + text(part.share) + " in " + text(part.seconds) + " s";
  }
  return all;
}
std::string words(const Note& it) { return it.text; }
std::string words(const Ended& it) {
  return "ended: " + text(it.outcome) + quoted(it.text) + " at version " + text(it.progress.version) +
         ", epoch " + text(it.progress.epoch) + " offset " + text(it.progress.offset);
}
template <class Other>
std::string words(const Other&) {
  return "(a message that a scheduler never sends)";
}

}  // namespace

std::string node_word(NodeId node) {
  switch (node.role) {
    case Role::worker:
      return 'w' + std::to_string(node.number);
    case Role::shard:
      return 's' + std::to_string(node.number);
    case Role::checkpointer:
      return "k";
    case Role::recorder:
      return "*";
    default:
      return to_string(node);
  }
}

NodeId node_of_word(const std::string& word) {
  if (word == "k") return {Role::checkpointer, 1};
  if (word.size() < 2 || (word[0] != 'w' && word[0] != 's')) throw std::runtime_error("no node: " + word);
  return {word[0] == 'w' ? Role::worker : Role::shard, std::stoull(word.substr(1))};
}

std::string in_words(const Envelope& envelope) {
  const std::string message_words = std::visit(
      [](const auto& receiver) {
        return std::visit([](const auto& message) { return words(message); }, receiver);
      },
      envelope.message);
  return node_word(envelope.to) + (envelope.to == recorder_node ? " " : " <- ") + message_words;
}

}  // namespace steelyard::test
