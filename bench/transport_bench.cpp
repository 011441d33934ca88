// Push and pull through the product, beside a bare ZeroMQ loop and raw TCP with the same messages, the same
// number in flight, the same threads on the same cores.
#include <functional>

#include "bench/sections.h"
#include "bench/transport/exchange.h"

namespace steelyard::bench {
namespace {

constexpr std::uint64_t kb = 256;  // floats
constexpr std::uint64_t mb = 1024 * kb;
constexpr double bytes_per_float = 4;

using Carrier = double (*)(const Exchange&, Duration);
constexpr Carrier carriers[] = {product_rounds, bare_zmq_rounds, raw_tcp_rounds};

// All carriers in turn; `figure` turns seconds per round into what is shown.
std::vector<Spread> compare(const Effort& effort, const Exchange& exchange,
                            const std::function<double(double)>& figure) {
  std::vector<std::function<double()>> sides;
  for (const Carrier carrier : carriers) {
    sides.emplace_back([&, carrier] { return figure(carrier(exchange, effort.reading)); });
  }
  return alternate(effort.pairs, sides);
}

void throughput(const Effort& effort, Table& table, const std::string& name, const Exchange& exchange,
                std::optional<double> target) {
  const double gigabytes = static_cast<double>(exchange.size()) * exchange.workers * bytes_per_float * 1e-9;
  const auto spreads = compare(effort, exchange, [&](double round) { return gigabytes / round; });
  table.add({name, "GB/s", spreads[0], "bare ZeroMQ", spreads[1], false, target});
  table.add({"", "GB/s", spreads[0], "raw TCP", spreads[2], false, {}});
}

void coalescing(const Effort& effort, Table& table) {
  constexpr std::uint64_t keys = 1024, key = kb * 4;  // 4 KB each
  const Exchange coalesced{64 * key, keys / 64}, single{key, keys};
  const auto rate = [&](Carrier carrier, const Exchange& exchange) {
    return [&effort, carrier, exchange] {
      return static_cast<double>(keys) * 1e-3 / carrier(exchange, effort.reading);
    };
  };
  const auto spreads = alternate(effort.pairs, {rate(product_rounds, coalesced), rate(product_rounds, single),
                                                rate(bare_zmq_rounds, single)});
  table.add({"keys of 4 KB, 64 in a slice", "k/s", spreads[0], "a slice a key", spreads[1], false, 4.0});
  table.add({"", "k/s", spreads[0], "bare ZeroMQ, a message a key", spreads[2], false, {}});
}

}  // namespace

void transport_section(const Effort& effort, Table& table) {
  table.section("push + pull with summation, one server, GB/s each way");
  throughput(effort, table, "4 KB values, 64 in flight", {4 * kb, 64}, {});
  throughput(effort, table, "64 KB values, 64 in flight", {64 * kb, 64}, {});
  throughput(effort, table, "1 MB values (4 slices), 16 in flight", {256 * kb, 64}, 0.85);
  throughput(effort, table, "1 MB values, two workers summed", {256 * kb, 32, 2}, 0.85);
  throughput(effort, table, "1 MB value (4 slices), one in flight", {256 * kb, 4}, 0.85);
  throughput(effort, table, "16 MB value, slices of 1 MB", {mb, 16}, {});

  table.section("push + pull without summation (repeated pushes, the version that is there)");
  throughput(effort, table, "4 KB values, 64 in flight", {4 * kb, 64, 1, false}, {});
  throughput(effort, table, "64 KB values, 64 in flight", {64 * kb, 64, 1, false}, {});
  throughput(effort, table, "1 MB values (4 slices), 16 in flight", {256 * kb, 64, 1, false}, 0.9);
  throughput(effort, table, "16 MB value, slices of 1 MB", {mb, 16, 1, false}, {});

  table.section("key operations (a push, the sum and a pull of 4 KB), thousands a second");
  coalescing(effort, table);

  table.section("small push: 64 bytes there, summed, and back; microseconds");
  const auto spreads = compare(effort, {16, 1}, [](double round) { return round * 1e6; });
  table.add({"push + pull of 64 B", "us", spreads[0], "bare ZeroMQ", spreads[1], true, {}});
  table.add({"", "us", spreads[0], "raw TCP", spreads[2], true, {}});
}

}  // namespace steelyard::bench
