// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/step-commands.h"

#include "sim/run/event_config.hpp"
#include "sim/run/json_section.hpp"
#include "sim/run/table_fields.hpp"

#include "host/core/shim/flow_policy_fields.hpp"

#include <istream>
#include <ostream>
#include <string>
#include <string_view>

namespace ns3
{
namespace
{

using nlohmann::json;
using nlohmann::ordered_json;
using perhop::run::config_error;
using perhop::run::json_section;
using perhop::run::run_config;

enum class StepCommand
{
    RunUntil,
    Look,
    Event,
    Policy,
    Read,
    Write,
};

uint32_t
NodeOf(json_section& command, const run_config& config)
{
    return static_cast<uint32_t>(command.integer("node", 0, config.air.nodes.size() - 1));
}

uint32_t
WordOf(json_section& command, const char* key)
{
    return static_cast<uint32_t>(command.integer(key, 0, UINT32_MAX));
}

void
LetHappen(json_section& command, const run_config& config, ScenarioSteps& steps)
{
    json event = command.raw("event");
    command.finish();
    if (event.is_object())
    {
        event["at_s"] = 0; // it is now, whenever that is
    }
    steps.Play(perhop::run::read_event(json_section(event, "command", "event"), config.air.nodes.size(), config.node_count()));
}

void
ChangePolicy(json_section& command, const run_config& config, ScenarioSteps& steps)
{
    const auto flow = static_cast<std::size_t>(command.integer("flow", 0, config.flows.size() - 1));
    perhop::run::table_fields fields(command.object("policy"));
    const perhop::shim::flow_policy policy = perhop::shim::read_flow_policy(fields);
    command.finish();
    perhop::run::load_own_policy(policy, "field policy");
    if (!steps.SetPolicy(flow, policy))
    {
        command.fail("flow", "flow " + std::to_string(flow) + " is not TCP's; name one that is");
    }
}

ordered_json
ReadWord(json_section& command, const run_config& config, ScenarioSteps& steps)
{
    const uint32_t node = NodeOf(command, config);
    const uint32_t address = WordOf(command, "address");
    command.finish();
    const std::optional<uint32_t> word = steps.ReadRegister(node, address);
    if (!word)
    {
        command.fail("address", "a simulated MAC has no register at " + std::to_string(address));
    }
    return {{"value", *word}};
}

void
WriteWord(json_section& command, const run_config& config, ScenarioSteps& steps)
{
    const uint32_t node = NodeOf(command, config);
    const uint32_t address = WordOf(command, "address");
    const uint32_t value = WordOf(command, "value");
    command.finish();
    if (!steps.WriteRegister(node, address, value))
    {
        command.fail("address", "nothing can be written at " + std::to_string(address) + " of a simulated MAC but neighbour_select");
    }
}

/// @return what the answer has beside the time
ordered_json
Obey(json_section command, const run_config& config, ScenarioSteps& steps)
{
    switch (command.one_of<StepCommand>("command",
                                        "command",
                                        {{"run_until", StepCommand::RunUntil},
                                         {"look", StepCommand::Look},
                                         {"event", StepCommand::Event},
                                         {"policy", StepCommand::Policy},
                                         {"read", StepCommand::Read},
                                         {"write", StepCommand::Write}}))
    {
    case StepCommand::RunUntil:
    {
        const uint64_t untilUs = command.integer("us", steps.GetNowUs(), uint64_t{1} << 60);
        command.finish();
        steps.RunUntil(untilUs);
        break;
    }
    case StepCommand::Look:
        command.finish();
        return steps.Look();
    case StepCommand::Event:
        LetHappen(command, config, steps);
        break;
    case StepCommand::Policy:
        ChangePolicy(command, config, steps);
        break;
    case StepCommand::Read:
        return ReadWord(command, config, steps);
    case StepCommand::Write:
        WriteWord(command, config, steps);
        break;
    }
    return ordered_json::object();
}

ordered_json
Answer(const std::string& line, const run_config& config, ScenarioSteps& steps)
{
    try
    {
        const json command = json::parse(line);
        return Obey(json_section(command, "command", ""), config, steps);
    }
    catch (const config_error& error)
    {
        return {{"error", error.what()}};
    }
    catch (const json::exception& error)
    {
        return {{"error", std::string("command: is no JSON: ") + error.what()}};
    }
}

} // namespace

void
ServeSteps(const run_config& config, ScenarioSteps& steps, std::istream& commands, std::ostream& answers)
{
    std::string line;
    while (std::getline(commands, line))
    {
        ordered_json answer = Answer(line, config, steps);
        answer["now_us"] = steps.GetNowUs();
        answers << answer.dump() << std::endl; // NOLINT(performance-avoid-endl): somebody waits for it
    }
}

} // namespace ns3
