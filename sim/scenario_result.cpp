#include "sim/scenario_result.h"

#include <charconv>
#include <cmath>

#include "core/check.h"
#include "protocol/sync_mode.h"

namespace steelyard::sim {
namespace {

template <class Values, class Write>
std::string json_list(const Values& values, Write write) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ",") + write(values[i]);
  return text + "]";
}

std::string whole(std::uint64_t value) { return std::to_string(value); }

std::string json_ms(double ms) { return json_number(std::round(ms * 1e6) / 1e6); }

std::string json_share(double share) { return share < 0 ? "null" : json_number(share); }

std::string json_round(const RoundResult& round, bool trained) {
  return "{\"round\":" + whole(round.round) + ",\"shares\":" + json_list(round.shares, whole) +
         ",\"compute_ms\":" + json_list(round.compute_ms, json_ms) +
         ",\"round_ms\":" + json_ms(round.round_ms) + ",\"se\":" + json_number(round.se) +
         (trained ? ",\"loss\":" + json_number(round.loss) : "") + "}";
}

std::string json_evaluation(const Evaluation& it) {
  return "{\"round\":" + whole(it.round) + ",\"seconds\":" + json_number(it.seconds) +
         ",\"accuracy\":" + json_share(it.accuracy) + ",\"loss\":" + json_number(it.loss) + "}";
}

// The additions to a result with evaluations, and to its "final".
std::string json_evaluations(const Result& result) {
  if (!result.trained) return "";
  return ",\"evaluations\":" + json_list(result.evaluations, json_evaluation);
}
std::string json_staleness(const Result& result) {
  return result.staleness.empty() ? "" : ",\"staleness\":" + json_list(result.staleness, whole);
}
std::string json_last_evaluation(const Result& result) {
  if (result.evaluations.empty()) return "";
  const Evaluation& last = result.evaluations.back();
  return ",\"accuracy\":" + json_share(last.accuracy) + ",\"loss\":" + json_number(last.loss);
}

}  // namespace

double Result::total_s() const {
  double ms = 0;
  for (const RoundResult& round : rounds) ms += round.round_ms;
  return ms / 1000;
}

double Result::samples_per_s() const {
  std::uint64_t samples = 0;
  for (const RoundResult& round : rounds) samples += round.samples;
  return total_s() > 0 ? static_cast<double>(samples) / total_s() : 0;
}

double Result::percent_of_ideal() const { return total_s() > 0 ? 100 * ideal_s / total_s() : 0; }

balancing::WorkTime Result::work() const {
  balancing::WorkTime sum;
  if (is_sync(sync) && parse_sync(sync).on_arrival) return sum;
  for (const RoundResult& round : rounds) {
    balancing::RoundTimes times{round.round, round.round_ms / 1000, {}};
    for (std::size_t i = 0; i < round.shares.size(); ++i) {
      times.workers.push_back({static_cast<std::uint32_t>(i), round.shares[i], round.compute_ms[i] / 1000});
    }
    sum += balancing::work_time(times);
  }
  return sum;
}

std::vector<double> Result::epoch_s() const {
  std::vector<double> epochs;
  for (const RoundResult& round : rounds) {
    epochs.resize(round.epoch + 1, 0.0);
    epochs.back() += round.round_ms / 1000;
  }
  return epochs;
}

const RoundResult& Result::last_full() const {
  CHECK(!rounds.empty(), "a simulation has rounds");
  const RoundResult* last = &rounds.back();
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
    if (round->samples > last->samples) return *round;
    if (round->epoch + 1 < rounds.back().epoch) break;  // an epoch of full length was searched
  }
  return *last;
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string json_text(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (code < 0x20) {
      result += "\\u00";
      result += "0123456789abcdef"[code >> 4];
      result += "0123456789abcdef"[code & 15];
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string to_json(const Result& result) {
  const RoundResult& last = result.last_full();
  return "{\"scenario\":" + json_text(result.scenario) + ",\"policy\":" + json_text(result.policy) +
         ",\"sync\":" + json_text(result.sync) + ",\"seed\":" + whole(result.seed) + ",\"rounds\":" +
         json_list(result.rounds,
                   [&](const RoundResult& round) { return json_round(round, result.trained); }) +
         ",\"epoch_s\":" + json_list(result.epoch_s(), json_number) +
         ",\"total_s\":" + json_number(result.total_s()) +
         ",\"samples_per_s\":" + json_number(result.samples_per_s()) +
         ",\"ideal_s\":" + json_number(result.ideal_s) +
         ",\"percent_of_ideal\":" + json_number(result.percent_of_ideal()) +
         ",\"computing\":" + json_share(result.work().computing()) +
         ",\"efficiency\":" + json_share(result.work().efficiency()) +
         ",\"updates\":" + whole(result.updates) + json_staleness(result) + json_evaluations(result) +
         ",\"final\":{\"workers\":" + json_list(result.workers, json_text) +
         ",\"shares\":" + json_list(last.shares, whole) +
         ",\"compute_ms\":" + json_list(last.compute_ms, json_ms) +
         ",\"round_ms\":" + json_ms(last.round_ms) + ",\"se\":" + json_number(last.se) +
         json_last_evaluation(result) + "}}\n";
}

}  // namespace steelyard::sim
