#include "app/config/device_files.h"
#include "app/report/timeline.h"
#include "app/tools/candidates.h"
#include "core/check.h"
#include "tests/fuzz/accepts.h"
#include "tests/fuzz/entry.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::fuzz {
namespace {

void positive(const std::vector<sim::MeasuredTime>& times) {
  CHECK(!times.empty(), "accepted measurements are empty");
  for (const sim::MeasuredTime& it : times)
    CHECK(it.samples > 0 && it.ms > 0, "a time or batch size is not positive");
}

void read_measurements(const std::string& text) {
  const auto measured = parse_measurements(text, "fuzz.json");
  for (const MeasuredWorker& it : measured) positive(it.curve);
  CHECK(parse_measurements(measurements_text(measured), "again") == measured,
        "measurements change when they are written and read");
}

}  // namespace

bool read_recorded_file(std::span<const std::byte> bytes) {
  if (bytes.empty()) return false;
  static const TemporaryFolder folder;
  const unsigned kind = std::to_integer<unsigned>(bytes[0]) % 5;
  const auto file = bytes.subspan(1);
  const std::string path = (folder.path() / "given.jsonl").string();
  if (kind != 0)
    folder.write("given.jsonl", {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
  return accepts(file, [&](std::string_view text) {
    if (kind == 0) return read_measurements(std::string(text));
    if (kind == 1) return positive(read_profile(path));
    if (kind == 2) {
      const sim::SpeedTrace trace = read_trace(path);
      CHECK(trace.at_s.size() == trace.levels.size(), "a step of a trace has no level");
      return;
    }
    if (kind == 3) {
      CHECK(read_exchange_ms(path) >= 0, "a negative exchange time");
      static_cast<void>(read_record(path));
      static_cast<void>(read_recording(path, "ada"));
      return;
    }
    const Timeline timeline = timeline_of({path});
    CHECK(!timeline.json.empty(), "an empty timeline");
  });
}

std::vector<std::vector<std::byte>> recorded_inputs() {
  const std::string measured = measurements_text({{"ada", {{8, 1.5}, {64, 9.25}}, 0.02, 0.5, 1.25}}),
                    profile =
                        "{\"steelyard_profile\": 1, \"alone\": [{\"samples\": 32, \"ms\": 1.9}, "
                        "{\"samples\": 64, \"ms\": 3}], \"together\": [{\"samples\": 32, \"ms\": 2}]}",
                    trace = "# it\ntime_s,cpu\n0,1\n12.5,0.25\n30,1\n",
                    round =
                        "{\"purpose\":\"train\",\"end\":96,\"workers\":[\"ada\",\"bob\"],\"shares\":[64,32],"
                        "\"compute_ms\":[5.5,6],\"round_ms\":25}\n",
                    node =
                        "{\"node\":\"worker-1\",\"name\":\"ada\",\"machine\":\"lion\"}\n"
                        "{\"busy\":\"Push\",\"from\":1,\"to\":2.5}\n{\"said\":\"Push\",\"peer\":\"worker-1\","
                        "\"at\":2}\n{\"heard\":\"Push\",\"peer\":\"worker-1\",\"at\":3}\n"
                        "{\"computed\":\"train\",\"from\":3,\"to\":4,\"samples\":7}\n";
  std::vector<std::vector<std::byte>> inputs;
  for (const std::string& file : {measured, profile, trace, round + round, node})
    inputs.push_back(input_of(static_cast<char>(inputs.size()) + file));
  return inputs;
}

}  // namespace steelyard::fuzz
