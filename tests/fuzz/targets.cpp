#include "tests/fuzz/targets.h"

#include "app/config/hosts_file.h"
#include "app/config/job_file.h"
#include "protocol/float_code.h"
#include "protocol/journal.h"
#include "protocol/keys.h"
#include "protocol/sync_mode.h"
#include "server/checkpoint/manifest.h"
#include "server/checkpoint/safetensors.h"
#include "tests/fuzz/accepts.h"
#include "tests/protocol/made_messages.h"
#include "transport/shared_memory/lending_frames.h"

namespace steelyard::fuzz {
namespace {

void append(Bytes& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

std::vector<Bytes> messages() {
  std::vector<Bytes> inputs;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const test::MadeMessage& made : test::messages_of_every_kind(seed)) {
      const Frames frames = encode(made.message);
      const std::size_t payload = frames.payload ? frames.payload->size() : 0;
      Bytes& input = inputs.emplace_back();
      input.push_back(static_cast<std::byte>(made.receiver));
      input.push_back(static_cast<std::byte>(payload & 0xff));
      input.push_back(static_cast<std::byte>(payload >> 8));
      append(input, frames.header);
      if (frames.payload) append(input, frames.payload->bytes());
    }
  }
  return inputs;
}

std::vector<Bytes> lending_frames() {
  const Bytes header(40, std::byte{'h'});
  const DevicePlace place{{1, 2, 3}, 1 << 20, 4096, 64};
  return {encode_lending(Introduction{77, 5, {{1, 2}, 3}, Reading::possible}),
          encode_lending(Introduction{77, 5, {{1, 2}, 3}, Reading::possible, place, Reading::untried}),
          encode_lending(Batch{{1, 2, 3}, {{{9, 3, 5, 64, 4096}, header}, {{}, header}}}),
          encode_lending(Batch{{}, {{{10, 0, 0, 0, 0, place}, header}}})};
}

std::vector<Bytes> checkpoint_files() {
  Manifest manifest;
  steelyard::append(manifest.layout, "conv.weight", {2, 3});
  steelyard::append(manifest.layout, "conv.bias", {2}, Rule::step, 0);
  manifest.layout.slice_size = 4;
  manifest.progress.policy_state = "state";
  manifest.files["model.safetensors"] = seal({});
  const std::string header =
      safetensors_header({{"conv.weight", {2, 3}}, {"conv.bias", {2}}}, {{"format", "pt"}});
  return {input_of('\1' + manifest_text(manifest)), input_of('\0' + header + std::string(32, '\0'))};
}

std::vector<Bytes> float_codes() {
  std::vector<Bytes> inputs;
  for (unsigned code = 0; code < float_code_names().size(); ++code) {
    for (const std::size_t thirds : {1, 90, 200}) {
      std::vector<float> values(3 * thirds);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 100;
      Bytes& input = inputs.emplace_back(Bytes{static_cast<std::byte>(code), static_cast<std::byte>(thirds)});
      append(input, encode(static_cast<FloatCode>(code), values).bytes());
    }
  }
  return inputs;
}

std::vector<Bytes> journals() {
  Bytes journal;
  steelyard::append(journal,
                    {Time{Duration(1)}, JournalHead{"this build", Job{}, {}, "tcp://127.0.0.1:7070"}});
  std::int64_t now = 1;
  for (test::MadeMessage& made : test::messages_of_every_kind(3)) {
    if (made.receiver != Role::scheduler) continue;
    steelyard::append(journal,
                      {Time{Duration(++now)}, Heard{{{Role::worker, 7}, scheduler_node, made.message}}});
  }
  steelyard::append(journal, {Time{Duration(++now)}, Woken{}});
  steelyard::append(journal, {Time{Duration(++now)}, Restarted{}});
  return {journal};
}

std::vector<Bytes> jobs() {
  return {input_of("[[worker]]\n"), input_of(parse_job("[[worker]]\n", "j.toml").resolved),
          input_of("[[worker]]\nname = \"ada\"\nslow = 2\n[[worker]]\ncpu = 0.5\nmax_batch = 64\n")};
}

std::vector<Bytes> hosts() {
  const std::string text =
      "[[host]]\nname = \"lion\"\naddress = \"10.0.0.1\"\nscheduler = true\nservers = 1\nshards = 2\n"
      "[[host.worker]]\nname = \"ada\"\n[[host]]\nname = \"ant\"\nssh = \"me@ant\"\naddress = \"10.0.0.2\"\n"
      "[[host.worker]]\nslow = 2\n";
  return {input_of(text), input_of(hosts_text(parse_hosts(text, "h.toml")))};
}

std::vector<Bytes> scenarios() {
  return {
      input_of("[[worker]]\nsamples_per_s = 1600\n"),
      input_of(
          "[job]\nglobal_batch = 512\nsamples_per_epoch = 50000\nepochs = 1\nseed = 3\nsync = \"bsp\"\n"
          "policy = \"lbb\"\n[policy.lbb]\nrapid = 0.3\n[network]\nstep_ms = 95\n[[worker]]\nname = \"gpu\"\n"
          "time_ms = [5.896, 0.59308]\nmax_batch = 1024\nnoise = 0.02\n[[worker]]\nsamples_per_s = 1600\n"
          "[[event]]\nworker = \"gpu\"\nfrom_round = 25\nto_round = 65\nadd_ms = 50\nscale = 2\n")};
}

std::vector<Bytes> sync_modes() {
  return {input_of("bsp"), input_of("ssp:3"), input_of("asp"), input_of("local:4"),
          input_of("local:4:equal")};
}

std::vector<Bytes> key_files() {
  const std::string one(key_letters, 'a'), two(key_letters, 'b');
  return {input_of("# for people\n\nsecret worker ada " + one + " " + two + "\nscheduler hub " + two + "\n"),
          input_of("worker ada " + one + "\r\nserver s0 " + two + "\n")};
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> all{
      {"decode", decode, messages, 100'000},
      {"decode_lending", decode_lending, lending_frames, 50'000},
      {"read_checkpoint_file", read_checkpoint_file, checkpoint_files, 20'000},
      {"read_float_code", read_float_code, float_codes, 50'000},
      {"read_journal", read_journal, journals, 20'000},
      {"read_job", read_job, jobs, 2'000},
      {"read_hosts", read_hosts, hosts, 5'000},
      {"read_scenario", read_scenario, scenarios, 2'000},
      {"read_sync", read_sync, sync_modes, 20'000},
      {"read_keys", read_keys, key_files, 20'000},
      {"read_data_file", read_data_file, data_inputs, 3'000},
      {"read_picture_file", read_picture_file, picture_inputs, 3'000},
      {"mirror_receives", mirror_receives, mirror_inputs, 5'000},
      {"standby_receives", standby_receives, standby_inputs, 20'000},
      {"scheduler_receives", scheduler_receives, feed_inputs, 20'000},
      {"arbiter_receives", arbiter_receives, claims, 20'000},
      {"read_run", read_run, run_inputs, 500},
      {"read_trial", read_trial, run_inputs, 5'000},
      {"read_recorded_file", read_recorded_file, recorded_inputs, 500},
      {"read_launch_line", read_launch_line, launch_inputs, 10'000},
      {"launcher_receives", launcher_receives, host_inputs, 5'000},
      {"read_place", read_place, place_inputs, 50'000},
      {"use_policy", use_policy, policy_inputs, 5'000},
      {"restore_policy", restore_policy, policy_states, 5'000},
      {"read_description", read_description, description_inputs, 10'000},
      {"ask_page", ask_page, page_inputs, 500}};
  return all;
}

}  // namespace steelyard::fuzz
