// SPDX-License-Identifier: GPL-2.0-or-later
//
// perhop-sim RUN.JSON: TCP over the MAC gateware. Reads one run (see sim/air/README.md), writes its outputs, says on standard output
// how far it is. Exit status: 0 done, 2 the run file is wrong, 130 interrupted (with the results so far), 1 anything else.

#include "sim/ns3/scenario.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

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
RunWithProgress(const std::string& file, const perhop::run::run_config& config)
{
    Progress progress(config.duration_s);
    progress.Print(0);
    try
    {
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
    catch (const perhop::run::config_error& error)
    {
        throw perhop::run::config_error(file + ": " + error.what());
    }
}

int
Run(const std::string& file)
{
    const perhop::run::run_config config = perhop::run::load_run_config(file);
    if (config.air.mac.fidelity == perhop::air::mac_fidelity::samples)
    {
        throw perhop::run::config_error("run.json: field mac.fidelity: samples needs perhop-air and its flows; give core or bytes");
    }
    std::filesystem::create_directories(config.outputs.directory);

    const ns3::ScenarioResult result = RunWithProgress(file, config);
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
    if (argc != 2)
    {
        std::fprintf(stderr, "usage: perhop-sim RUN.JSON\n");
        return perhop::run::exit_bad_config;
    }
    std::signal(SIGINT, OnInterrupt);
    try
    {
        return Run(argv[1]);
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
