// Push and pull through the product, compared with a bare ZeroMQ loop and raw TCP with the same messages, the
// same number in flight, and the same threads on the same cores. The limits send a value as one message; the
// product cuts it into slices as for a model of that size. If the two differ, there is another row with bare
// ZeroMQ cut in the same way.
#include <functional>

#include "bench/sections.h"
#include "bench/transport/exchange.h"
#include "bench/transport/server_rates.h"
#include "core/layout.h"

namespace steelyard::bench {
namespace {

constexpr std::uint64_t kb = 256;  // floats
constexpr std::uint64_t mb = 1024 * kb;
constexpr double bytes_per_float = 4;

using Carrier = double (*)(const Exchange&, Duration);
struct Side {
  Carrier carrier;
  Exchange exchange;
};

// Measures all sides in turn; `figure` converts seconds per round into the figure shown.
std::vector<Spread> compare(const Effort& effort, const std::vector<Side>& sides,
                            const std::function<double(double)>& figure) {
  std::vector<std::function<double()>> readings;
  for (const Side& side : sides) {
    readings.emplace_back([&] { return figure(side.carrier(side.exchange, effort.reading)); });
  }
  return alternate(effort.pairs, readings);
}

// `values` are the messages of the limits; the product cuts them into slices of `slice` floats.
void throughput(const Effort& effort, Table& table, const std::string& name, const Exchange& values,
                std::uint64_t slice, std::optional<double> target) {
  Exchange slices = values;
  slices.floats = slice;
  slices.pieces = values.size() / slice;
  std::vector<Side> sides{{product_rounds, slices}, {bare_zmq_rounds, values}, {raw_tcp_rounds, values}};
  if (slice != values.floats) sides.push_back({bare_zmq_rounds, slices});
  const double gigabytes = static_cast<double>(values.size()) * values.workers * bytes_per_float * 1e-9;
  const auto spreads = compare(effort, sides, [&](double round) { return gigabytes / round; });
  table.add({name, "GB/s", spreads[0], "bare ZeroMQ", spreads[1], false, target});
  if (sides.size() > 3)
    table.add({"", "GB/s", spreads[0], "bare ZeroMQ, cut the same way", spreads[3], false, {}});
  table.add({"", "GB/s", spreads[0], "raw TCP", spreads[2], false, {}});
}

// The values are slices of a larger model, or together form one model.
void as_slices(const Effort& effort, Table& table, const std::string& name, const Exchange& values) {
  throughput(effort, table, name, values, values.floats, {});
}
void as_model(const Effort& effort, Table& table, const std::string& name, const Exchange& values,
              std::optional<double> target) {
  throughput(effort, table, name, values, default_slice_size(values.size(), 1), target);
}

// On one host: values in shared memory, compared with values sent through ipc.
void in_one_host(const Effort& effort, Table& table, const std::string& name, const Exchange& values,
                 std::optional<double> target) {
  const double gigabytes = static_cast<double>(values.size()) * values.workers * bytes_per_float * 1e-9;
  const auto spreads = compare(effort, {{product_shared, values}, {product_by_ipc, values}},
                               [&](double round) { return gigabytes / round; });
  table.add({name, "GB/s", spreads[0], "the same through ipc", spreads[1], false, target});
}

// A model of 44.7 MB, as ResNet-18 has.
void server_alone(const Effort& effort, Table& table) {
  constexpr std::uint64_t model = 11'173'962;
  const auto milliseconds_of = [&](double (*measured)(std::uint64_t, Duration)) {
    return [&effort, measured] { return 1000 * measured(model, 10 * effort.reading); };
  };
  const auto spreads =
      alternate(effort.pairs, {milliseconds_of(push_seconds), milliseconds_of(update_seconds),
                               milliseconds_of(copy_seconds), milliseconds_of(pair_seconds),
                               milliseconds_of(separate_seconds), milliseconds_of(single_sweep_seconds)});
  table.add({"a push of 44.7 MB added", "ms", spreads[0], "a copy of it", spreads[2], true, {}});
  table.add({"a step with momentum", "ms", spreads[1], "a copy of it", spreads[2], true, {}});
  table.add({"44.7 MB from two workers, a step", "ms", spreads[3], "separate sweeps", spreads[4], true, {}});
  table.add({"", "ms", spreads[3], "one sweep over the same arrays", spreads[5], true, {}});
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
  table.add({"keys of 4 KB, 64 in a slice", "k/s", spreads[0], "one slice per key", spreads[1], false, 4.0});
  table.add({"", "k/s", spreads[0], "bare ZeroMQ, one message per key", spreads[2], false, {}});
}

}  // namespace

void transport_section(const Effort& effort, Table& table) {
  table.section("push + pull with summation, one server, GB/s each way");
  as_slices(effort, table, "4 KB values, 64 in flight", {4 * kb, 64});
  as_slices(effort, table, "64 KB values, 64 in flight", {64 * kb, 64});
  as_model(effort, table, "1 MB values, 16 in flight", {mb, 16}, 0.85);
  as_model(effort, table, "1 MB values, two workers summed", {mb, 16, 2}, {});
  as_model(effort, table, "1 MB value, one in flight", {mb, 1}, 0.85);
  as_model(effort, table, "16 MB value, one in flight", {16 * mb, 1}, {});
  as_slices(effort, table, "43 MB in 1 MB values, two workers summed", {mb, 43, 2});

  table.section("push + pull with summation on one host: values in shared memory, GB/s each way");
  in_one_host(effort, table, "4 KB values, 64 in flight", {4 * kb, 64}, {});
  in_one_host(effort, table, "1 MB values, 16 in flight", {mb, 16}, 3.0);
  in_one_host(effort, table, "1 MB values, two workers summed", {mb, 16, 2}, 3.0);
  in_one_host(effort, table, "1 MB value, one in flight", {mb, 1}, {});
  in_one_host(effort, table, "43 MB in 1 MB values, two workers summed", {mb, 43, 2}, {});

  table.section("push + pull without summation (repeated pushes, an existing version)");
  as_slices(effort, table, "4 KB values, 64 in flight", {4 * kb, 64, 1, false});
  as_slices(effort, table, "64 KB values, 64 in flight", {64 * kb, 64, 1, false});
  as_model(effort, table, "1 MB values, 16 in flight", {mb, 16, 1, false}, 0.9);
  as_model(effort, table, "16 MB value, one in flight", {16 * mb, 1, 1, false}, {});

  table.section("a server's thread alone: processor time");
  server_alone(effort, table);

  table.section("key operations (a push, the sum and a pull of 4 KB), thousands per second");
  coalescing(effort, table);

  table.section("small push: 64 bytes sent, summed and returned; microseconds");
  const Exchange one{16, 1};
  const auto spreads = compare(effort, {{product_rounds, one}, {bare_zmq_rounds, one}, {raw_tcp_rounds, one}},
                               [](double round) { return round * 1e6; });
  table.add({"push + pull of 64 B", "us", spreads[0], "bare ZeroMQ", spreads[1], true, {}});
  table.add({"", "us", spreads[0], "raw TCP", spreads[2], true, {}});
}

}  // namespace steelyard::bench
