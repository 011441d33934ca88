// How processes of one host give each other values in the memory of their devices, without a copy to the
// host.
//
// A process lends values by their *place*; another process opens the memory there for its own device and
// reads the values where they are. Links agree on it when they connect, by a trial
// (transport/shared_memory/shared_memory_transfer.h), and guarantee the lifetime: lent values are kept, and
// unchanged, until the reader returns them or the connection closes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/device_values.h"

namespace steelyard {

struct DevicePlace {
  // The driver's name of memory, valid on this host.
  using Name = std::array<std::uint64_t, 8>;

  Name memory{};
  std::uint64_t bytes = 0;             // of that memory; 0: no place
  std::uint64_t offset = 0, size = 0;  // bytes in it
};

// The values of one device. Any thread may call the functions, which throw Failure if the device fails.
class DeviceExchange {
 public:
  virtual ~DeviceExchange() = default;

  // A place with known contents, valid as long as this object. Without bytes if the device cannot lend.
  [[nodiscard]] virtual DevicePlace trial() const = 0;
  // Whether the device of this process reads these contents at another process's place.
  [[nodiscard]] virtual bool reads(const DevicePlace& trial) = 0;

  // The place of these values, once they are complete: waits for them. Returns nothing if they are not on
  // this device, or if it lends no more. Values that are borrowed here are not lent on.
  [[nodiscard]] virtual std::optional<DevicePlace> lend(const DeviceValues& values) = 0;
  // The borrower of these values was lost and may still read them. They are neither overwritten nor freed any
  // more, and this process lends no further ones, so the lost memory has a limit.
  virtual void retire(const DeviceValues& values) = 0;

  // The values at a place of another process. `lease` is released when nothing reads them any more. Null if
  // the memory cannot be opened, or if the place is not in it.
  [[nodiscard]] virtual std::shared_ptr<const DeviceValues> borrow(const DevicePlace& place,
                                                                   std::shared_ptr<const void> lease) = 0;
  // A connection has closed: closes memory of other processes as soon as nothing reads it.
  virtual void forget_unused() = 0;
};

}  // namespace steelyard
