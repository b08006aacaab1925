// SPDX-License-Identifier: GPL-2.0-or-later
//
// The logs of a run that only flows of some kinds write.
#pragma once

#include "sim/ns3/exact-log.h"
#include "sim/ns3/tfrc-log.h"
#include "sim/run/run_config.hpp"

#include <algorithm>
#include <memory>

namespace ns3
{

/// What flows of a kind tell beside intervals.csv, in runs that have any.
struct FlowLogs
{
    explicit FlowLogs(const perhop::run::run_config& config)
        : exact(Has(config, perhop::run::flow_kind::exact) ? std::make_unique<ExactLog>(config) : nullptr),
          tfrc(Has(config, perhop::run::flow_kind::tfrc) ? std::make_unique<TfrcLog>(config) : nullptr)
    {
    }

    void Finish() const
    {
        if (exact)
        {
            exact->Finish();
        }
        if (tfrc)
        {
            tfrc->Finish();
        }
    }

    std::unique_ptr<ExactLog> exact;
    std::unique_ptr<TfrcLog> tfrc;

  private:
    static bool Has(const perhop::run::run_config& config, perhop::run::flow_kind kind)
    {
        return std::any_of(config.flows.begin(),
                           config.flows.end(),
                           [kind](const perhop::run::flow_config& flow)
                           {
                               return flow.kind == kind;
                           });
    }
};

} // namespace ns3
