#include "transport/direct/direct_lines.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace steelyard {
namespace {

std::span<const std::byte> raw_bytes(const auto& value) { return std::as_bytes(std::span(&value, 1)); }

}  // namespace

std::optional<DirectLines::Bytes> DirectLines::ask(NodeId peer) {
  Line* line = make_line(peer);
  if (line == nullptr) return std::nullopt;
  line->calls = true;
  return encode_direct(DirectRequest{});
}

// Peers on other hosts ask and never connect: if there are too many lines, the oldest of these is replaced.
// Returns null if all are connected.
DirectLines::Line* DirectLines::make_line(NodeId peer) {
  lines_.erase(peer);
  if (lines_.size() >= most_lines) {
    auto oldest = lines_.end();
    for (auto line = lines_.begin(); line != lines_.end(); ++line) {
      if (line->second.socket) continue;
      if (oldest == lines_.end() || line->second.number < oldest->second.number) oldest = line;
    }
    if (oldest == lines_.end()) return nullptr;
    lines_.erase(oldest);
  }
  Line& made = lines_[peer];
  made.number = lines_made_++;
  return &made;
}

bool DirectLines::hear(NodeId peer, std::span<const std::byte> frame, Bytes& to_send) {
  const auto decoded = decode_direct(frame);
  const auto* said = std::get_if<DirectFrame>(&decoded);
  if (said == nullptr) return false;
  if (std::holds_alternative<DirectRequest>(*said)) {
    const auto known = lines_.find(peer);
    if (known != lines_.end() && known->second.calls) return false;
    if (auto its = answer(peer)) to_send = std::move(*its);
    return true;
  }
  const auto line = lines_.find(peer);
  if (line == lines_.end() || !line->second.calls || line->second.socket) return false;
  line->second.received = 1;  // the answer
  if (!connect(line->second, std::get<DirectAnswer>(*said))) lines_.erase(line);
  return true;
}

// Both sides count from here: the frames after the request, and the answer and those after it.
std::optional<DirectLines::Bytes> DirectLines::answer(NodeId peer) {
  lines_.erase(peer);
  if (!listener_) listener_ = DirectListener::make();
  const std::optional<DirectName> ticket = draw_direct_name();
  if (!listener_ || !ticket) return std::nullopt;
  Line* line = make_line(peer);
  if (line == nullptr) return std::nullopt;
  line->ticket = *ticket;
  return encode_direct(DirectAnswer{listener_->name(), line->ticket});
}

bool DirectLines::connect(Line& line, const DirectAnswer& answer) {
  auto socket = DirectSocket::to(answer.place);
  if (!socket || !socket->send(raw_bytes(answer.ticket))) return false;
  line.ticket = answer.ticket;
  line.socket = std::move(socket);
  return true;
}

void DirectLines::sent(NodeId peer) {
  if (const auto line = lines_.find(peer); line != lines_.end()) ++line->second.sent;
}

void DirectLines::received(NodeId peer) {
  if (const auto line = lines_.find(peer); line != lines_.end()) ++line->second.received;
}

bool DirectLines::send(NodeId peer, const Frames& frames) {
  const auto line = lines_.find(peer);
  if (line == lines_.end() || !line->second.agreed || frames.payload || frames.header.size() > longest)
    return false;
  return line->second.socket->send(raw_bytes(line->second.sent), frames.header);
}

std::optional<std::span<const std::byte>> DirectLines::next(NodeId peer) {
  const auto found = lines_.find(peer);
  if (found == lines_.end() || !found->second.socket) return std::nullopt;
  Line& line = found->second;
  if (!line.held && !read(line)) return std::nullopt;
  std::uint64_t before = 0;
  std::memcpy(&before, line.packet.data(), sizeof before);
  line.held = before > line.received;
  if (line.held) return std::nullopt;
  return std::span<const std::byte>(line.packet).subspan(sizeof before, line.size - sizeof before);
}

// The next packet; before it, the ticket if it has not come yet.
bool DirectLines::read(Line& line) {
  constexpr std::size_t number = sizeof line.sent;
  line.packet.resize(number + longest);
  line.size = line.socket->receive(line.packet).value_or(0);
  if (line.agreed || line.size == 0) return line.size >= number;
  const std::span first(line.packet.data(), line.size);
  line.agreed = std::ranges::equal(first, raw_bytes(line.ticket));
  return line.agreed && read(line);
}

// A packet that is held will be read again when a frame arrives through ZeroMQ.
void DirectLines::watch(std::vector<pollfd>& watched) {
  const auto add = [&](int descriptor) { watched.push_back({descriptor, POLLIN, 0}); };
  watched_.clear();
  for (const auto& [peer, line] : lines_) {
    if (!line.socket || line.held) continue;
    add(line.socket->descriptor());
    watched_.push_back(peer);
  }
  for (const DirectSocket& socket : unnamed_) add(socket.descriptor());
  watched_unnamed_ = unnamed_.size();
  if (listener_) add(listener_->descriptor());
}

std::vector<NodeId> DirectLines::readable(std::span<const pollfd> watched) {
  std::vector<NodeId> peers;
  for (std::size_t i = 0; i < watched_.size(); ++i)
    if (watched[i].revents != 0) peers.push_back(watched_[i]);
  const auto unnamed = watched.subspan(watched_.size());
  for (std::size_t i = watched_unnamed_; i-- > 0;)
    if (unnamed[i].revents != 0) name_one(i);
  if (unnamed.size() > watched_unnamed_ && unnamed.back().revents != 0) accept_some();
  return peers;
}

// Further connections are accepted in the next turn. One that sends no ticket keeps no other from its place.
void DirectLines::accept_some() {
  int most = most_accepted;
  while (auto socket = listener_->accept(most)) {
    if (unnamed_.size() >= most_unnamed) unnamed_.erase(unnamed_.begin());
    unnamed_.push_back(std::move(*socket));
  }
  if (listener_->failed()) listener_.reset();  // those that wait use ZeroMQ
}

// The first packet is the ticket. Without a line of this ticket, the connection is closed.
void DirectLines::name_one(std::size_t index) {
  DirectName ticket{};
  const auto size = unnamed_[index].receive(std::as_writable_bytes(std::span(ticket)));
  if (!size && !unnamed_[index].ended()) return;
  DirectSocket socket = std::move(unnamed_[index]);
  unnamed_.erase(unnamed_.begin() + static_cast<std::ptrdiff_t>(index));
  if (size != sizeof ticket) return;
  for (auto& [peer, line] : lines_) {
    if (line.calls || line.socket || line.ticket != ticket || !socket.send(raw_bytes(ticket))) continue;
    line.socket = std::move(socket);
    line.agreed = true;
    return;
  }
}

void DirectLines::drop_ended() {
  std::erase_if(lines_,
                [](const auto& entry) { return entry.second.socket && entry.second.socket->ended(); });
}

bool DirectLines::connected(NodeId peer) const {
  const auto line = lines_.find(peer);
  return line != lines_.end() && line->second.agreed;
}

std::vector<NodeId> DirectLines::peers() const {
  std::vector<NodeId> peers;
  for (const auto& [peer, line] : lines_)
    if (line.socket) peers.push_back(peer);
  return peers;
}

}  // namespace steelyard
