// Sync modes: when a round may begin, its length, and how pushes become the next version.
//
// A mode is a set of numbers. The mode's file in protocol/modes parses its text ("ssp:2"). Scheduler, shards
// and workers use only the numbers, never the name: scheduler/rounds/rounds.h (when a round begins and is
// done), server/shard/close_rule.h (when a slice steps and closes), worker/pull_rule.h (parameters to compute
// from).
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
// Every worker belongs to a hub, and every hub has its own parameters. The hub's workers start each round
// from them, and the average of the workers' results is the hub's next version. After every `mix_every`
// rounds the hubs mix: each becomes the average of itself and its neighbours in a graph, weighted by the
// positions that each hub has had since the last mixing (equation: server/shard/close_rule.h). Hubs are
// numbered from 1. 0 is the average of all hubs, which is evaluated, saved and returned; modes without hubs
// have only that.
using HubNumber = std::uint32_t;
inline constexpr HubNumber whole_model = 0;
inline constexpr HubNumber most_hubs = 64;  // servers hold one copy of the model per hub

struct Hubs {
  enum class Graph : std::uint8_t { complete, ring, line };

  HubNumber count = 0;          // 0: the mode has none
  std::uint64_t mix_every = 0;  // rounds
  Graph graph = Graph::complete;

  // The hub of the worker in this slot: round-robin, so hubs have about equal numbers of workers.
  [[nodiscard]] HubNumber of(std::uint32_t slot) const { return count == 0 ? whole_model : 1 + slot % count; }
  [[nodiscard]] bool mix_after(std::uint64_t round) const { return (round + 1) % mix_every == 0; }
  // Whether two hubs share an edge. No hub is its own neighbour.
  [[nodiscard]] bool are_neighbours(HubNumber a, HubNumber b) const {
    const HubNumber apart = a < b ? b - a : a - b;
    if (apart == 0) return false;
    if (graph == Graph::complete || apart == 1) return true;
    return graph == Graph::ring && apart == count - 1;
  }
  friend bool operator==(const Hubs&, const Hubs&) = default;
};

// Maximum number of rounds that are open at a time, in any mode.
inline constexpr std::uint64_t most_open_rounds = 1024;

struct SyncMode {
  enum class Span : std::uint8_t { batch, epoch, job };
  enum class Compensation : std::uint8_t { none, constant, adaptive };
  // The share parts / of.
  struct Quorum {
    std::uint64_t parts = 0;  // 0: each push is a step
    std::uint64_t of = 0;     // 0: the job's number of workers
    friend bool operator==(const Quorum&, const Quorum&) = default;
  };
  // Once `ready` pushes wait in a slice, a step applies the average of the `applied` oldest.
  struct Wait {
    std::uint64_t ready = 0;    // 0: no push waits
    std::uint64_t applied = 0;  // 1 to `ready`
    friend bool operator==(const Wait&, const Wait&) = default;
  };

  // Round k may begin when the scheduler has all reports of the rounds below k - slack.
  std::uint64_t slack = 0;
  // Global batches in a round, each a local step; 0: no local steps, gradients are pushed.
  std::uint64_t local = 0;
  // If set, all batches have one size, and a worker's number of local steps is proportional to its share.
  // Otherwise each worker takes `local` steps, with batches proportional to its share.
  bool balanced = false;
  // The policy decides how many local steps each worker takes in each round, and thereby the round's length;
  // `local` is the default.
  bool paced = false;
  // Length of a round: `local` global batches (one without local steps), the rest of the epoch, or the rest
  // of the job.
  Span span = Span::batch;
  // Pushes are applied as they arrive; otherwise a slice steps once, when it is covered.
  bool on_arrival = false;
  // On arrival: divide a push by its own weight, which makes it a whole update; otherwise by the round's
  // positions, which makes it a part of one.
  bool divide_by_push = false;
  // Workers take pieces as they become free; otherwise a round is divided when it begins.
  bool on_demand = false;
  // Every piece has the weight 1.
  bool equal_weights = false;
  // Within a round, workers that are ahead take over the ends of slower workers' pieces.
  bool steals_work = false;
  // A round does not wait for the last `backup` workers. Their positions go to the next round.
  std::uint64_t backup = 0;
  // On arrival: a slice steps when this share of a global batch has arrived since its last step. Unrelated to
  // BeginRound::quorum, which closes a round.
  Quorum quorum = {};
  // On arrival: pushes wait in the slice, and each worker waits for the step that applies its push.
  Wait wait = {};
  // A push that is tau > 1 steps late is divided by tau (n-softsync; Zhang et al., IJCAI 2016).
  bool damped = false;
  // Corrects a push for the change of the parameters since they were pulled, with factor `lambda`
  // (server/shard/close_rule.h).
  Compensation compensation = Compensation::none;
  double lambda = 0;
  // On arrival: the step of a push that is tau steps late has the rate / (tau + 1) (DynSGD).
  bool slows_late = false;
  // On arrival: this part of the training, in percent, has rounds as under bsp: each ends with a barrier and
  // is one step, and the policy divides it. The other numbers apply to the rest (Sync-Switch). In rounds:
  // rounds_with_barrier() in protocol/job.h.
  double barrier_percent = 0;
  // On arrival: if not 0, the scheduler chooses the length of each round, so that workers end it at nearly
  // the same time after 1 to `lookahead` pieces each (Elastic BSP; balancing/allocate/elastic_barrier.h).
  std::uint64_t lookahead = 0;
  // With hubs, the number of local steps of a worker is drawn at random (scheduler/rounds/epoch_cursor.h).
  Hubs hubs = {};

  [[nodiscard]] bool is_local() const { return local > 0; }
  // Global batches in a round with Span::batch.
  [[nodiscard]] std::uint64_t batches() const { return local > 0 ? local : 1; }
  // All workers compute a round from one version of the parameters, and the end of a round is a barrier.
  [[nodiscard]] bool has_versions() const { return !on_arrival; }
  // The length of a round is chosen before it begins, by the policy (paced) or the scheduler (lookahead).
  [[nodiscard]] bool chooses_length() const { return paced || lookahead > 0; }
  // Rounds have a fixed number of batches.
  [[nodiscard]] bool has_fixed_rounds() const { return span == Span::batch && !chooses_length(); }
  // The slack of this round if the first `barriers` rounds end with a barrier: later ones follow the last of
  // these, too.
  [[nodiscard]] std::uint64_t slack_at(std::uint64_t round, std::uint64_t barriers) const {
    const std::uint64_t after = round < barriers ? 0 : round - barriers;
    return after < slack ? after : slack;
  }
  [[nodiscard]] bool has_hubs() const { return hubs.count > 0; }
  // Whether a step may combine several pushes.
  [[nodiscard]] bool gathers() const { return quorum.parts > 0 || waits(); }
  [[nodiscard]] bool waits() const { return wait.ready > 0; }
  friend bool operator==(const SyncMode&, const SyncMode&) = default;
};

// Throws Failure (configuration), which lists the valid modes, if the text is invalid.
SyncMode parse_sync(std::string_view text);
// The text that parse_sync() reads.
std::string sync_text(const SyncMode& mode);
// Whether parse_sync() accepts the text.
bool is_sync(std::string_view text);
// Why this mode is impossible with this number of workers (0: unknown), and the remedy; empty if it is
// possible.
std::string sync_trouble(const SyncMode& mode, std::uint64_t workers);
// The modes as users write them.
struct SyncForm {
  std::string text;       // "ssp:S"
  std::string parameter;  // "S rounds ahead, up to 1000"; empty: none
  std::string meaning;    // a plain sentence
};
const std::vector<SyncForm>& sync_forms();
// "bsp, ssp:S (...), ...", for help and messages.
const std::string& sync_choices();

}  // namespace steelyard
