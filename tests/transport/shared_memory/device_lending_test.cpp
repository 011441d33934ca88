// Payloads in the memory of a device, lent by their place there.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "core/buffer_pool.h"
#include "core/error.h"
#include "transport/shared_memory/shared_memory_transfer.h"

namespace steelyard::device_lending_test {
namespace {

using Bytes = SharedMemoryTransfer::Bytes;

// Memory of a device of this test: numbers by name.
using There = std::map<std::uint64_t, float>;

struct Values final : DeviceValues {
  Values(std::uint64_t its_name, std::shared_ptr<const void> its_lease)
      : name(its_name), lease(std::move(its_lease)) {}
  [[nodiscard]] std::uint64_t size() const override { return host->size(); }
  [[nodiscard]] OnHost on_host() const override {
    ++copies;
    return {host->span(), host->segment()};
  }
  const std::uint64_t name;
  const std::shared_ptr<const void> lease;
  const std::shared_ptr<FloatBuffer> host = std::make_shared<FloatBuffer>(10, Memory::shared);
  mutable int copies = 0;
};

struct Devices final : DeviceExchange {
  [[nodiscard]] DevicePlace trial() const override {
    DevicePlace place;
    place.bytes = place.size = 4;
    return place;
  }
  [[nodiscard]] bool reads(const DevicePlace&) override {
    if (fails) throw Failure(ExitCode::failed, "the device fails");
    return can_read;
  }
  [[nodiscard]] std::optional<DevicePlace> lend(const DeviceValues& values) override {
    if (!lends) return std::nullopt;
    DevicePlace place;
    place.memory[7] = dynamic_cast<const Values&>(values).name;
    place.bytes = place.size = 40;
    return place;
  }
  void retire(const DeviceValues& values) override {
    retired.insert(dynamic_cast<const Values&>(values).name);
  }
  [[nodiscard]] std::shared_ptr<const DeviceValues> borrow(const DevicePlace& place,
                                                           std::shared_ptr<const void> lease) override {
    if (!can_borrow) return nullptr;
    return std::make_shared<Values>(place.memory[7], std::move(lease));
  }
  void forget_unused() override { ++forgotten; }

  bool can_read = true, can_borrow = true, lends = true, fails = false;
  std::set<std::uint64_t> retired;
  int forgotten = 0;
};

struct Side {
  explicit Side(bool has_device = true)
      : lending(
            std::make_unique<SharedMemoryTransfer>(trial.get(), memory, has_device ? &devices : nullptr)) {}
  const std::unique_ptr<Segment> trial = Segment::make(0);
  PeerMemory memory;
  Devices devices;
  std::unique_ptr<SharedMemoryTransfer> lending;
};

void introduce(Side& from, Side& to) {
  std::optional<Bytes> frame = from.lending->introduction();
  for (Side *sender = &from, *receiver = &to; frame; std::swap(sender, receiver))
    frame = receiver->lending->hear(*frame)->answer;
}

Frames message(const std::shared_ptr<const DeviceValues>& values) {
  Push push;
  push.values = Blob(values);
  return encode(Message(std::in_place_type<ToShard>, std::move(push)));
}

class DeviceLending : public testing::Test {
 protected:
  std::optional<SharedMemoryTransfer::Heard> send(const std::shared_ptr<const DeviceValues>& values) {
    if (!worker.lending->take(message(values))) return std::nullopt;
    return server.lending->hear(*worker.lending->batch());
  }
  Blob received(const std::shared_ptr<const DeviceValues>& values) {
    const auto heard = send(values);
    return heard && heard->messages.size() == 1 ? heard->messages[0].payload : Blob();
  }
  void return_leases() {
    if (const auto frame = server.lending->batch()) (void)worker.lending->hear(*frame);
  }

  Side worker, server;
  const std::shared_ptr<const Values> values = std::make_shared<Values>(77, nullptr);
};

TEST_F(DeviceLending, ThePlaceTravelsAndNotTheValues) {
  introduce(worker, server);
  EXPECT_TRUE(worker.lending->agreed_on_devices());
  EXPECT_TRUE(server.lending->agreed_on_devices());
  const Blob payload = received(values);
  ASSERT_TRUE(payload.device());
  EXPECT_EQ(dynamic_cast<const Values&>(*payload.device()).name, 77U);
  EXPECT_EQ(values->copies, 0);
}

TEST_F(DeviceLending, TheLeaseEndsWithTheLastCopy) {
  introduce(worker, server);
  Blob payload = received(values), copy = payload;
  payload = {};
  return_leases();
  EXPECT_EQ(worker.lending->lent(), 1U);
  copy = {};
  return_leases();
  EXPECT_EQ(worker.lending->lent(), 0U);
  worker.lending.reset();
  EXPECT_TRUE(worker.devices.retired.empty());
}

TEST_F(DeviceLending, ALostConnectionRetiresWhatIsLent) {
  introduce(worker, server);
  const Blob payload = received(values);
  worker.lending.reset();
  EXPECT_EQ(worker.devices.retired, std::set<std::uint64_t>{77});
  EXPECT_EQ(values->copies, 0);
  server.lending.reset();
  EXPECT_EQ(server.devices.forgotten, 1);
  EXPECT_TRUE(payload.device()) << "borrowed values outlive the connection";
}

// Then values are lent in memory of the host, as before.
TEST_F(DeviceLending, EachObstacleLeadsThroughTheHost) {
  const auto through_the_host = [&](Side& from, Side& to) {
    introduce(from, to);
    EXPECT_EQ(from.lending->agreed(), true);
    EXPECT_FALSE(from.lending->agreed_on_devices());
    const auto its = std::make_shared<Values>(5, nullptr);
    EXPECT_TRUE(from.lending->take(message(its)));
    const auto heard = to.lending->hear(*from.lending->batch());
    ASSERT_EQ(heard->messages.size(), 1U);
    EXPECT_FALSE(heard->messages[0].payload.device());
    EXPECT_TRUE(heard->messages[0].payload.holds_floats(10));
    EXPECT_GT(its->copies, 0);
  };
  for (const bool first : {false, true}) {
    Side one(first), two(!first);  // one of them has no device
    through_the_host(one, two);
    Side can(true), cannot(true);
    cannot.devices.can_read = false;
    first ? through_the_host(can, cannot) : through_the_host(cannot, can);
    Side sound(true), faulty(true);
    faulty.devices.fails = true;
    through_the_host(sound, faulty);
  }
}

TEST_F(DeviceLending, ValuesThatTheDeviceDoesNotLendAreLentByTheHost) {
  introduce(worker, server);
  worker.devices.lends = false;
  const Blob payload = received(values);
  EXPECT_FALSE(payload.device());
  EXPECT_TRUE(payload.holds_floats(10));
  worker.lending.reset();
  EXPECT_TRUE(worker.devices.retired.empty());
  EXPECT_TRUE(values->host->segment()->retired());
}

// The message is lost, as others are, and requested again; from then on values go through the host.
TEST_F(DeviceLending, AnUnreadablePlaceEndsLendingByDevices) {
  introduce(worker, server);
  server.devices.can_borrow = false;
  const auto heard = send(values);
  ASSERT_TRUE(heard && heard->messages.empty() && heard->answer);
  (void)worker.lending->hear(*heard->answer);
  EXPECT_FALSE(worker.lending->agreed_on_devices());
  EXPECT_EQ(worker.lending->agreed(), true);
  return_leases();
  EXPECT_EQ(worker.lending->lent(), 0U);
  EXPECT_TRUE(received(values).holds_floats(10));
}

TEST_F(DeviceLending, ASideWithoutDevicesRefusesAPlace) {
  Side plain(false);
  introduce(worker, plain);
  Loan loan;
  loan.lease = 1;
  loan.device.bytes = loan.device.size = 40;
  const Bytes header = message(values).header;
  const auto heard = plain.lending->hear(encode_lending(Batch{{}, {{loan, header}}}));
  ASSERT_TRUE(heard);
  EXPECT_TRUE(heard->messages.empty());
}

}  // namespace
}  // namespace steelyard::device_lending_test
