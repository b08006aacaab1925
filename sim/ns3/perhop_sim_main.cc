// SPDX-License-Identifier: GPL-2.0-or-later
//
// perhop-sim [--steps] RUN.JSON: TCP over the MAC gateware. Reads one run (see sim/air/README.md), writes its outputs, says on standard
// output how far it is; with --steps commands on standard input let its time pass (sim/ns3/step-commands.h). Exit status: 0 done, 2 the
// run file is wrong, 130 interrupted (with the results so far), 1 anything else.

#include "sim/ns3/scenario.h"
#include "sim/ns3/step-commands.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

namespace
{

volatile std::sig_atomic_t g_interrupted = 0;

void
OnInterrupt(int)
{
    g_interrupted = 1;
}

/// Tells the simulated time about twice a second of real time.
class Progress
{
  public:
    explicit Progress(double durationS)
        : m_durationS(durationS)
    {
    }

    void Tell(double simulatedS)
    {
        const auto now = std::chrono::steady_clock::now();
        if (now - m_told >= std::chrono::milliseconds(500))
        {
            m_told = now;
            Print(simulatedS);
        }
    }

    void Print(double simulatedS) const
    {
        std::printf("PROGRESS %.3f %.3f\n", simulatedS, m_durationS);
        std::fflush(stdout);
    }

  private:
    double m_durationS;
    std::chrono::steady_clock::time_point m_told = std::chrono::steady_clock::now();
};

ns3::ScenarioResult
RunByCommands(const perhop::run::run_config& config)
{
    return ns3::RunScenario(
        config,
        [](double)
        {
            return g_interrupted == 0;
        },
        [&config](ns3::ScenarioSteps& steps)
        {
            ns3::ServeSteps(config, steps, std::cin, std::cout);
        });
}

ns3::ScenarioResult
RunWithProgress(const perhop::run::run_config& config)
{
    Progress progress(config.duration_s);
    progress.Print(0);
    ns3::ScenarioResult result = ns3::RunScenario(config,
                                                  [&progress](double simulatedS)
                                                  {
                                                      progress.Tell(simulatedS);
                                                      return g_interrupted == 0;
                                                  });
    if (!result.interrupted)
    {
        progress.Print(config.duration_s);
    }
    return result;
}

/// What only ns-3 can tell of a run file names the file, too.
ns3::ScenarioResult
RunNamed(const std::string& file, const perhop::run::run_config& config, bool steps)
{
    try
    {
        return steps ? RunByCommands(config) : RunWithProgress(config);
    }
    catch (const perhop::run::config_error& error)
    {
        throw perhop::run::config_error(file + ": " + error.what());
    }
}

int
Run(const std::string& file, bool steps)
{
    const perhop::run::run_config config = perhop::run::load_run_config(file);
    perhop::run::load_own_policies(config);
    if (config.air.mac.fidelity == perhop::air::mac_fidelity::samples)
    {
        throw perhop::run::config_error("run.json: field mac.fidelity: samples needs perhop-air and its flows; give core or bytes");
    }
    for (std::size_t flow = 0; flow < config.flows.size(); ++flow)
    {
        if (config.flows[flow].policy.paces_by_exact())
        {
            throw perhop::run::config_error("run.json: field flows[" + std::to_string(flow) +
                                            "].policy.pacing: exact is for Linux' TCP; use perhop-kernel, or another one");
        }
    }
    std::filesystem::create_directories(config.outputs.directory);

    const ns3::ScenarioResult result = RunNamed(file, config, steps);
    const std::filesystem::path path = config.outputs.directory / "result.json";
    std::ofstream json(path);
    json << result.json.dump(1) << '\n';
    if (!json.flush())
    {
        throw std::runtime_error("cannot write " + path.string() + ": check that its directory is writable and the disk not full");
    }
    return result.interrupted ? perhop::run::exit_interrupted : 0;
}

} // namespace

int
main(int argc, char** argv)
{
    const bool steps = argc == 3 && std::string_view(argv[1]) == "--steps";
    if (argc != 2 && !steps)
    {
        std::fprintf(stderr, "usage: perhop-sim [--steps] RUN.JSON\n");
        return perhop::run::exit_bad_config;
    }
    std::signal(SIGINT, OnInterrupt);
    try
    {
        return Run(argv[argc - 1], steps);
    }
    catch (const perhop::run::config_error& error)
    {
        std::fprintf(stderr, "perhop-sim: %s\n", error.what());
        return perhop::run::exit_bad_config;
    }
    catch (const std::exception& error)
    {
        std::fprintf(stderr, "perhop-sim: %s\n", error.what());
        return 1;
    }
}
