// The smallest scenario with something to balance: one worker is twice as fast as the other.
#pragma once

namespace steelyard {

inline constexpr char two_to_one[] = R"([job]
global_batch = 120
rounds = 20
policy = "equal"
[[worker]]
name = "quick"
time_ms = [0, 1]
[[worker]]
name = "slow"
time_ms = [0, 2]
)";

}  // namespace steelyard
