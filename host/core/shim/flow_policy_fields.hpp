// SPDX-License-Identifier: GPL-2.0-or-later
//
// The object `policy` of run.json and of a daemon's configuration. What is in it follows from policy/policies.yaml: keys,
// words, ranges and what they configure. Whoever reads one brings the reader of its own format, and the words in which that refuses:
//
//   word(key, what, words, otherwise)    one of `words`      count(key, otherwise, most, least = 0)   a whole number of that range
//   flag(key, otherwise)                 true or false       refuse(key, problem)                     does not come back
//   own(key)                             the source of the policy of one's own that the object `key` names
//   finish()                             refuses what was not asked for

#pragma once

#include "host/core/shim/flow_policy.hpp"
#include "host/core/shim/generated/policy_fields.hpp"

namespace perhop::shim {

/// What only one kind has may be there for others too, at its default.
template <typename fields>
flow_policy read_flow_policy(fields& from) {
  flow_policy found = no_policy;
  read_policy_fields(from, found);
  if (found.own_at_sender() || found.own_at_receiver()) found.own = from.own("own");
  from.finish();
  return found;
}

}  // namespace perhop::shim
