// Entry points for fuzzers: one function per reader of untrusted bytes. Each must return for any input; a
// crash, a failed CHECK or a report of a sanitizer is a bug. Unless stated otherwise, they return whether the
// input was accepted.
//
// script/fuzz runs them with random mutations, or guided by coverage (fuzz_guided.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace steelyard::fuzz {

// First byte: the receiving role. Second and third: size of the payload, which is at the end. The rest is the
// header. An accepted message is encoded again, twice, and must not change.
bool decode(std::span<const std::byte> bytes);

// The same for a frame between links (transport/shared_memory/lending_frames.h).
bool decode_lending(std::span<const std::byte> frame);

// If the first byte is even, a safetensors file follows, else a manifest.
bool read_checkpoint_file(std::span<const std::byte> bytes);

// First byte: the code; second: a third of the number of values. Checks that decode and add_decoded agree.
bool read_float_code(std::span<const std::byte> bytes);

// Returns whether the input has a record.
bool read_journal(std::span<const std::byte> bytes);

// Text written by users.
bool read_job(std::span<const std::byte> text);
bool read_hosts(std::span<const std::byte> text);
bool read_scenario(std::span<const std::byte> text);
bool read_sync(std::span<const std::byte> text);  // accepted text must survive writing and reading
bool read_keys(std::span<const std::byte> text);  // the same

// First byte: the data set and file (data_inputs()), which follows; its other files are valid. Reads all
// samples of accepted data.
bool read_data_file(std::span<const std::byte> bytes);
std::vector<std::vector<std::byte>> data_inputs();  // valid inputs, one per file

// First byte: channels and size of the sample; the file of a picture follows. Two reads give the same bytes.
bool read_picture_file(std::span<const std::byte> bytes);
std::vector<std::vector<std::byte>> picture_inputs();

// Messages from a primary to its mirror. Each has the sizes of header and payload (u16, little-endian), then
// both.
bool mirror_receives(std::span<const std::byte> messages);
std::vector<std::vector<std::byte>> mirror_inputs();  // messages of a real primary

// Messages from scheduler and arbiter to a standby, from a standby to a scheduler, and from both to an
// arbiter. A byte before each message selects the sender and preceding events. Only written records may be
// acknowledged, no answer may leave before the standby has its records, and only one of the two may lead.
bool standby_receives(std::span<const std::byte> messages);
bool scheduler_receives(std::span<const std::byte> messages);
bool arbiter_receives(std::span<const std::byte> messages);
std::vector<std::vector<std::byte>> standby_inputs();
std::vector<std::vector<std::byte>> feed_inputs();
std::vector<std::vector<std::byte>> claims();

// The files of a run: job.toml, rounds.jsonl, events.jsonl and result.json, separated by 0. read_run makes a
// page of them (report/run), read_trial a row of a comparison. Both return whether the files are readable.
bool read_run(std::span<const std::byte> files);
bool read_trial(std::span<const std::byte> files);
std::vector<std::vector<std::byte>> run_inputs();

// First byte: the kind of the file that follows (recorded_inputs()): measurements, profiles, records of runs,
// traces.
bool read_recorded_file(std::span<const std::byte> bytes);
std::vector<std::vector<std::byte>> recorded_inputs();

// A line between a launcher and its hosts. Accepted lines must survive writing and reading.
bool read_launch_line(std::span<const std::byte> line);
std::vector<std::vector<std::byte>> launch_inputs();

// Lines of a host to its launcher. Only lines about processes of that host may be accepted, and only their
// logs and the host's log may be written. Returns whether a line was accepted.
bool launcher_receives(std::span<const std::byte> lines);
std::vector<std::vector<std::byte>> host_inputs();

// First byte: a name, an endpoint to connect to, an endpoint with a key, an address of the web page, or an
// HTTP Host line. Names are not resolved. Accepted text must be accepted again as it is written.
bool read_place(std::span<const std::byte> bytes);
std::vector<std::vector<std::byte>> place_inputs();

// The C interface of policies: the set-up, a 0, then calls. An even byte and eight bytes of batch size call
// plan; an odd byte and one byte per worker call observe. Shares must sum to the batch, and failures must
// have a message.
bool use_policy(std::span<const std::byte> bytes);
std::vector<std::vector<std::byte>> policy_inputs();

// First byte: the policy; its state in a checkpoint follows. A restored state must be saved unchanged and be
// able to plan; a refused one must have no effect.
bool restore_policy(std::span<const std::byte> bytes);
std::vector<std::vector<std::byte>> policy_states();

// The description of a worker by a caller of the C interface (bindings/c/description.h).
bool read_description(std::span<const std::byte> text);
std::vector<std::vector<std::byte>> description_inputs();

// A request to the web page of a running job, over a socket. Returns whether the answer is a page.
bool ask_page(std::span<const std::byte> request);
std::vector<std::vector<std::byte>> page_inputs();

}  // namespace steelyard::fuzz
