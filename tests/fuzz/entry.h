// What the fuzzers call: one function a reader of bytes from outside. Whatever the bytes are, it returns; a
// crash, a CHECK or a report of a sanitizer is a bug.
//
// script/fuzz runs them: with mutations that are drawn, or guided by what is reached (fuzz_guided.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace steelyard::fuzz {

// First byte: the role that receives. Second and third: bytes of payload, taken from the end. The rest is the
// header. What decodes is encoded again, twice: a message that was believed once is the same ever after.
// Returns whether it was believed.
bool decode(std::span<const std::byte> bytes);

// A frame between links (transport/shared_memory/lending_frames.h); likewise.
bool decode_lending(std::span<const std::byte> frame);

// First byte, even: a safetensors file follows; odd: a manifest. Returns whether it was believed.
bool read_checkpoint_file(std::span<const std::byte> bytes);

// First byte: the code; second: so many values. What is decoded is finite or was no number when it came.
bool read_float_code(std::span<const std::byte> bytes);

// Returns whether there was a record.
bool read_journal(std::span<const std::byte> bytes);

// Text that people write. Each returns whether it was believed.
bool read_job(std::span<const std::byte> text);
bool read_hosts(std::span<const std::byte> text);
bool read_scenario(std::span<const std::byte> text);
bool read_sync(std::span<const std::byte> text);  // what is believed is written and read the same
bool read_keys(std::span<const std::byte> text);  // likewise

// First byte: which file of which data set (data_inputs()); the file follows, its others are as they
// should be. All samples of what is believed are read.
bool read_data_file(std::span<const std::byte> bytes);
std::vector<std::vector<std::byte>> data_inputs();  // valid ones, one a file

// What a mirror hears. Each message: u16 bytes of header, u16 of payload, both
// little-endian, then they. All come from its primary.
bool hear_as_mirror(std::span<const std::byte> said);
std::vector<std::vector<std::byte>> mirror_inputs();  // what a primary really says

// What a standby hears of its scheduler and of the shard that decides, what a scheduler hears of its
// standby, and what a shard hears of both. Before each word a byte says from whom it is. Nothing is
// confirmed that is not written, nothing is said before the standby knows, only one of both leads.
bool hear_as_standby(std::span<const std::byte> said);
bool hear_of_standby(std::span<const std::byte> said);
bool hear_claims(std::span<const std::byte> said);
std::vector<std::vector<std::byte>> standby_inputs();
std::vector<std::vector<std::byte>> feed_inputs();
std::vector<std::vector<std::byte>> claims();

// What a run left behind: job.toml, rounds.jsonl, events.jsonl and result.json, with a 0 between.
// read_run makes a page of them (report/run); read_trial a row of a comparison. Returns whether rounds
// were found.
bool read_run(std::span<const std::byte> files);
bool read_trial(std::span<const std::byte> files);
std::vector<std::vector<std::byte>> run_inputs();

// First byte: which file (recorded_inputs()); the file follows: measurements, profiles, records of
// runs, traces.
bool read_recorded_file(std::span<const std::byte> bytes);
std::vector<std::vector<std::byte>> recorded_inputs();

// A line between a launcher and its hosts. What is believed is written and read the same.
bool read_launch_line(std::span<const std::byte> line);
std::vector<std::vector<std::byte>> launch_inputs();

// Lines of a host to its launcher. Only those about processes of that host are taken, and no file appears but
// their logs and that of the host. Returns whether one was taken.
bool hear_host(std::span<const std::byte> lines);
std::vector<std::vector<std::byte>> host_inputs();

// First byte: a name, an endpoint to connect to, one with a key, a place of a page, a line of an HTTP host.
// No name is looked up. What is believed is believed again as it was written.
bool read_place(std::span<const std::byte> bytes);
std::vector<std::vector<std::byte>> place_inputs();

// The C interface of policies: the set-up, a 0, and calls: an even byte and eight of a batch plan, an odd one
// and one for each worker observe. Shares sum to the batch; what fails says why.
bool use_policy(std::span<const std::byte> bytes);
std::vector<std::vector<std::byte>> policy_inputs();

// First byte: which policy; the state follows that a checkpoint has of it. What is restored is saved
// the same, and plans; what is refused has changed nothing.
bool restore_policy(std::span<const std::byte> bytes);
std::vector<std::vector<std::byte>> policy_states();

// What a caller of the C interface says of its worker (bindings/c/description.h).
bool read_description(std::span<const std::byte> text);
std::vector<std::vector<std::byte>> description_inputs();

// A request to the page of a running job, over a socket. Returns whether it was answered with a page.
bool ask_page(std::span<const std::byte> request);
std::vector<std::vector<std::byte>> page_inputs();

}  // namespace steelyard::fuzz
