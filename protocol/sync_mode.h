// Sync modes: when a round may begin, how long it is, and how what is pushed becomes the next version.
//
// A mode is numbers. Its text ("ssp:2") is parsed once, by the mode's own file in protocol/modes; scheduler,
// shards and workers read the numbers, and none of them asks for the name.
//
// See docs/protocol.md, "Sync modes".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

// Hubs: two levels of averaging, MLL-SGD (Castiglia, Das, Patterson: "Multi-Level Local SGD", ICLR 2021).
//
// Every worker belongs to a hub, and every hub has parameters of its own: the workers of a hub start each
// round from them, and their average is the hub's next version. After every so many rounds the hubs mix:
// each takes the average of itself and its neighbours in a graph. All averages are weighted by the positions
// that a hub has had since the hubs mixed last. Hubs are numbered from 1; 0 stands for the average of all of
// them, which is what is evaluated, saved and taken home, and all there is in modes without hubs.
using HubNumber = std::uint32_t;
inline constexpr HubNumber whole_model = 0;
inline constexpr HubNumber most_hubs = 64;  // servers hold the model once for each

struct Hubs {
  enum class Graph : std::uint8_t { complete, ring, line };

  HubNumber count = 0;          // 0: the mode has none
  std::uint64_t mix_every = 0;  // rounds
  Graph graph = Graph::complete;

  // Of the worker in this slot: one after the other, so that hubs have as many workers as each other.
  [[nodiscard]] HubNumber of(std::uint32_t slot) const { return count == 0 ? whole_model : 1 + slot % count; }
  [[nodiscard]] bool mix_after(std::uint64_t round) const { return (round + 1) % mix_every == 0; }
  // Whether two hubs are joined by an edge. No hub is its own neighbour.
  [[nodiscard]] bool are_neighbours(HubNumber a, HubNumber b) const {
    const HubNumber apart = a < b ? b - a : a - b;
    if (apart == 0) return false;
    if (graph == Graph::complete || apart == 1) return true;
    return graph == Graph::ring && apart == count - 1;
  }
  friend bool operator==(const Hubs&, const Hubs&) = default;
};

// Rounds that are open at a time, at the most, in any mode.
inline constexpr std::uint64_t most_open_rounds = 1024;

struct SyncMode {
  enum class Span : std::uint8_t { batch, epoch, job };
  enum class Compensation : std::uint8_t { none, constant, adaptive };
  struct Quorum {
    std::uint64_t parts = 0;  // 0: each push is a step of its own
    std::uint64_t of = 0;     // 0: as many as the job has workers
    friend bool operator==(const Quorum&, const Quorum&) = default;
  };

  // Round k may begin once the reports cover all rounds below k - slack.
  std::uint64_t slack = 0;
  // Global batches in a round, each a local step; 0: no local steps, gradients are pushed.
  std::uint64_t local = 0;
  // A worker's local steps are as many as its share is large, with batches of one size for all; otherwise
  // they are `local` for each, with batches as large as its share.
  bool balanced = false;
  // How many local steps each worker takes in a round, and so how long it is, is the policy's to say, anew
  // for each; `local` is what it is without a word of the policy.
  bool paced = false;
  // What a round is made of: so many global batches (one, without local steps), what is left of the epoch, or
  // of the job.
  Span span = Span::batch;
  // Pushes are applied as they arrive; otherwise a slice steps once, when it is covered.
  bool on_arrival = false;
  // At once: the push is divided by its own weight, a whole update; otherwise by the round's positions, a
  // part of one.
  bool divide_by_push = false;
  // Workers take pieces from the round as they become free; otherwise a round is dealt out when it begins.
  bool on_demand = false;
  // Every piece has the weight 1.
  bool equal_weights = false;
  // Within a round, who is ahead takes over the tails of pieces of those who are behind.
  bool steals_work = false;
  // Rounds do not wait for so many workers, the last ones. What they had is of the next round.
  std::uint64_t backup = 0;
  // On arrival: a slice steps when so large a share of a global batch has come since its last step.
  Quorum quorum = {};
  // A push that is tau steps late counts as 1 / tau of itself.
  bool damped = false;
  // What is known of how the parameters moved since they were pulled is added to the push
  // (server/shard/close_rule.h), so strongly.
  Compensation compensation = Compensation::none;
  double lambda = 0;
  // Workers average with those of their hub, and hubs with each other (protocol/local_steps.h). How many
  // steps a worker takes is then drawn.
  Hubs hubs = {};

  [[nodiscard]] bool is_local() const { return local > 0; }
  // Global batches in a round whose span is a batch.
  [[nodiscard]] std::uint64_t batches() const { return local > 0 ? local : 1; }
  // All workers compute a round from one version of the parameters, and its end is a barrier for them.
  [[nodiscard]] bool has_versions() const { return !on_arrival; }
  // Rounds have the length that the mode says, a number of batches.
  [[nodiscard]] bool has_fixed_rounds() const { return span == Span::batch && !paced; }
  [[nodiscard]] bool has_hubs() const { return hubs.count > 0; }
  // Whether one step may be of several pushes that arrived one by one.
  [[nodiscard]] bool gathers() const { return quorum.parts > 0; }
  friend bool operator==(const SyncMode&, const SyncMode&) = default;
};

// Throws Failure (configuration) that says what may stand there.
SyncMode parse_sync(std::string_view text);
// As parse_sync() reads it.
std::string sync_text(const SyncMode& mode);
// Whether parse_sync takes it.
bool is_sync(std::string_view text);
// Why a job with so many workers (0: not known) cannot have this mode, and what to do; empty: it can.
std::string sync_trouble(const SyncMode& mode, std::uint64_t workers);
// The modes as people write them.
struct SyncForm {
  std::string text;       // "ssp:S"
  std::string parameter;  // "S rounds ahead, up to 1000"; empty: it has none
  std::string meaning;    // a plain sentence
};
const std::vector<SyncForm>& sync_forms();
// "bsp, ssp:S (...), ...": for help and messages.
const std::string& sync_choices();

}  // namespace steelyard
