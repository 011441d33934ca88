#include "protocol/journal.h"

#include <xxhash.h>

#include <cereal/types/string.hpp>
#include <cstring>

#include "protocol/archive.h"
#include "protocol/codec.h"

namespace steelyard {
namespace {

enum class Kind : std::uint8_t {
  head,
  message,
  disconnected,
  version_mismatch,
  interrupt,
  woken,
  restarted,
  followed,
  condensed,
  skipped,
  took_over,
  superseded
};
constexpr std::uint32_t longest_record = 64 << 20;  // bytes; a large layout or scheduler state
constexpr std::size_t start = sizeof(std::uint32_t) + sizeof(std::uint64_t);  // length and checksum

void put(Writer& writer, const Message& message) {
  const std::vector<std::byte> header = encode(message).header;
  writer(static_cast<std::uint32_t>(header.size()));
  writer.put(header.data(), header.size());
}

Message get(Reader& reader, Role receiver) {
  const std::size_t size = reader.get_count();
  auto message = decode(receiver, reader.view(size), {});
  if (auto* it = std::get_if<Message>(&message)) return std::move(*it);
  throw Malformed("has a message that cannot be read");
}

void start_record(Writer& writer, Kind kind, Time now, NodeId from = {}) {
  writer.header.reserve(256);
  const std::int64_t at = now.since_origin.count();
  writer(static_cast<std::uint8_t>(kind), at, static_cast<std::uint8_t>(from.role), from.number);
}

void put_heard(Writer& writer, Time now, const Envelope& it) {
  const auto* message = std::get_if<ToScheduler>(&it.message);
  if (message == nullptr) return;  // the message is not for this role and would be ignored
  if (const auto* lost = std::get_if<Disconnected>(message)) {
    start_record(writer, Kind::disconnected, now, it.from);
    writer(static_cast<std::uint8_t>(lost->node.role), lost->node.number);
  } else if (const auto* other = std::get_if<VersionMismatch>(message)) {
    start_record(writer, Kind::version_mismatch, now, it.from);
    writer(other->protocol);
  } else if (const auto* interrupt = std::get_if<Interrupt>(message)) {
    start_record(writer, Kind::interrupt, now, it.from);
    writer(interrupt->failure, interrupt->save_only);
  } else {
    start_record(writer, Kind::message, now, it.from);
    put(writer, it.message);
  }
}

// Job and Progress are encoded as in messages.
void put_head(Writer& writer, Time now, const JournalHead& it) {
  start_record(writer, Kind::head, now);
  writer(it.build);
  put(writer, Message(std::in_place_type<ToWorker>, Welcome{it.from.term, 0, it.job}));
  put(writer, Message(std::in_place_type<ToCheckpointer>, Save{it.from}));
  writer(it.remarks, it.record);
}

JournalHead get_head(Reader& reader) {
  JournalHead head;
  reader(head.build);
  head.job = std::get<Welcome>(std::get<ToWorker>(get(reader, Role::worker))).job;
  head.from = std::get<Save>(std::get<ToCheckpointer>(get(reader, Role::checkpointer))).progress;
  reader(head.remarks, head.record);
  return head;
}

NodeId get_node(Reader& reader) {
  NodeId node;
  reader(upto(node.role, Role::link), node.number);
  return node;
}

// A record of a type with this field only.
template <class It, class Field>
It get_one(Reader& reader, Field It::*field) {
  It it;
  reader(it.*field);
  return it;
}

template <class Said>
Heard heard(NodeId from, Said said) {
  return {{from, scheduler_node, Message(std::in_place_type<ToScheduler>, std::move(said))}};
}

JournalRecord get_record(Reader& reader) {
  Kind kind{};
  std::int64_t at = 0;
  reader(upto(kind, Kind::superseded), at);
  const Time now{Duration(at)};
  const NodeId from = get_node(reader);
  switch (kind) {
    case Kind::head:
      return {now, get_head(reader)};
    case Kind::message:
      return {now, Heard{{from, scheduler_node, get(reader, Role::scheduler)}}};
    case Kind::disconnected:
      return {now, heard(from, Disconnected{get_node(reader)})};
    case Kind::version_mismatch:
      return {now, heard(from, get_one(reader, &VersionMismatch::protocol))};
    case Kind::interrupt: {
      Interrupt interrupt;
      reader(interrupt.failure, interrupt.save_only);
      return {now, heard(from, std::move(interrupt))};
    }
    case Kind::woken:
      return {now, Woken{}};
    case Kind::restarted:
      return {now, Restarted{}};
    case Kind::followed: {
      Followed followed;
      reader(followed.attempt);
      followed.arbiter = get_node(reader);
      return {now, followed};
    }
    case Kind::condensed:
      return {now, get_one(reader, &Condensed::state)};
    case Kind::skipped:
      return {now, Skipped{get_node(reader)}};
    case Kind::took_over:
      return {now, get_one(reader, &TookOver::generation)};
    case Kind::superseded:
      break;
  }
  return {now, Superseded{}};
}

// The content of the first record; std::nullopt if it is truncated or damaged.
std::optional<std::span<const std::byte>> first_body(std::span<const std::byte> rest) {
  std::uint32_t length = 0;
  std::uint64_t checksum = 0;
  if (rest.size() < start) return std::nullopt;
  std::memcpy(&length, rest.data(), sizeof length);
  std::memcpy(&checksum, rest.data() + sizeof length, sizeof checksum);
  if (length > rest.size() - start) return std::nullopt;
  const auto body = rest.subspan(start, length);
  if (XXH3_64bits(body.data(), body.size()) != checksum) return std::nullopt;
  return body;
}

}  // namespace

void append(std::vector<std::byte>& journal, const JournalRecord& record) {
  Writer writer;
  std::visit(Overloaded{
                 [&](const JournalHead& it) { put_head(writer, record.now, it); },
                 [&](const Heard& it) { put_heard(writer, record.now, it.envelope); },
                 [&](const Woken&) { start_record(writer, Kind::woken, record.now); },
                 [&](const Restarted&) { start_record(writer, Kind::restarted, record.now); },
                 [&](const Followed& it) {
                   start_record(writer, Kind::followed, record.now);
                   writer(it.attempt, static_cast<std::uint8_t>(it.arbiter.role), it.arbiter.number);
                 },
                 [&](const Condensed& it) {
                   start_record(writer, Kind::condensed, record.now);
                   writer(it.state);
                 },
                 [&](const Skipped& it) {
                   start_record(writer, Kind::skipped, record.now);
                   writer(static_cast<std::uint8_t>(it.from.role), it.from.number);
                 },
                 [&](const TookOver& it) {
                   start_record(writer, Kind::took_over, record.now);
                   writer(it.generation);
                 },
                 [&](const Superseded&) { start_record(writer, Kind::superseded, record.now); },
             },
             record.what);
  if (writer.header.empty()) return;
  const auto length = static_cast<std::uint32_t>(writer.header.size());
  const std::uint64_t checksum = XXH3_64bits(writer.header.data(), length);
  const std::size_t at = journal.size();
  journal.resize(at + start + length);
  std::memcpy(&journal[at], &length, sizeof length);
  std::memcpy(&journal[at + sizeof length], &checksum, sizeof checksum);
  std::memcpy(&journal[at + start], writer.header.data(), length);
}

std::optional<JournalRecord> JournalReader::next() {
  const auto body = first_body(all_.subspan(read_));
  if (!body) return std::nullopt;
  try {
    Reader reader(*body, {});
    JournalRecord record = get_record(reader);
    if (reader.remaining() != 0) return std::nullopt;
    read_ += start + body->size();
    return record;
  } catch (const Malformed&) {
    return std::nullopt;
  } catch (const std::bad_variant_access&) {
    return std::nullopt;
  }
}

std::string JournalReader::build() const {
  const auto body = first_body(all_);
  if (!body) return "";
  try {
    Reader reader(*body, {});
    Kind kind{};
    std::int64_t at = 0;
    reader(upto(kind, Kind::superseded), at);
    (void)get_node(reader);
    std::string build;
    if (kind == Kind::head) reader(build);
    return build;
  } catch (const Malformed&) {
    return "";
  }
}

bool JournalReader::damaged() const {
  const auto rest = all_.subspan(read_);
  std::uint32_t length = 0;
  if (rest.size() < start) return false;
  std::memcpy(&length, rest.data(), sizeof length);
  if (length > longest_record) return true;
  return length <= rest.size() - start && !JournalReader(rest).next();
}

}  // namespace steelyard
