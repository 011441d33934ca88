// The close rule of modes with hubs (protocol/hubs.h): MLL-SGD (Castiglia, Das, Patterson, ICLR 2021, section 3).
//
// Each slice has a copy for every hub, h, beside its own, which is the average of them. A push goes to the
// copy of its piece's hub. When the round is covered, with n(h) = the weights of the pushes that have come
// to h since the hubs mixed last, and N(h) = h and its neighbours:
//
//   w(h) = w(h) - rate * sum / weight                          where something was pushed to h
//   w(h) = sum over j in N(h) of n(j) w(j) / sum of n(j)       in every Q-th round, from the w of all
//   w    = sum over h of n(h) w(h) / sum of n(h)               the slice's next version
//
// A hub that had no workers stands still until the others reach it by mixing. All copies begin with what was
// loaded, so a job that is resumed begins with hubs that are alike. The ledger is the slice's: a position
// counts once, whichever hub it is pushed to.
#pragma once

#include <memory>

#include "server/shard/close_rule.h"

namespace steelyard {

std::unique_ptr<CloseRule> hub_rule(const Job& job);

}  // namespace steelyard
