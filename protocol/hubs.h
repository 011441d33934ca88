// Hubs: two levels of averaging, MLL-SGD (Castiglia, Das, Patterson: "Multi-Level Local SGD", ICLR 2021).
//
// Every worker belongs to a hub, and every hub has parameters of its own: the workers of a hub start each
// round from them, and their average is the hub's next version. After every so many rounds the hubs mix:
// each takes the average of itself and its neighbours in a graph. All averages are weighted by the positions
// that a hub has had since the hubs mixed last. Hubs are numbered from 1; 0 stands for the average of all of
// them, which is what is evaluated, saved and taken home, and all there is in modes without hubs.
#pragma once

#include <cstdint>

namespace steelyard {

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

}  // namespace steelyard
