// SPDX-License-Identifier: GPL-2.0-or-later
//
// It is one file because the parts of a run (nodes, flows, logs, results) are set up and taken down in one order.
#include "sim/ns3/scenario.h"

#include "sim/ns3/air-channel.h"
#include "sim/ns3/air-net-device.h"
#include "sim/ns3/air-simulator-impl.h"
#include "sim/ns3/cbr-flow.h"
#include "sim/ns3/exact-flow.h"
#include "sim/ns3/exact-log.h"
#include "sim/ns3/exact-node.h"
#include "sim/ns3/flow-logs.h"
#include "sim/ns3/flow.h"
#include "sim/ns3/host-routing.h"
#include "sim/ns3/ip-stack.h"
#include "sim/ns3/node-address.h"
#include "sim/ns3/queue-log.h"
#include "sim/ns3/routes.h"
#include "sim/ns3/running-scenario.h"
#include "sim/ns3/scripted-events.h"
#include "sim/ns3/tcp-flow.h"
#include "sim/ns3/tfrc-flow.h"
#include "sim/ns3/wire-ports.h"

#include "host/core/routing/aodv_router.hpp"

#include "ns3/boolean.h"
#include "ns3/global-value.h"
#include "ns3/node-container.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>

namespace ns3
{
namespace
{

using perhop::run::config_error;
using perhop::run::run_config;

/// A chain may be longer than ns-3's default of 64 hops.
constexpr uint8_t TIME_TO_LIVE = 255;

/// Somebody looks at the bytes of packets.
bool
WantsBytes(const run_config& config)
{
    return config.outputs.pcapng || config.air.mac.fidelity == perhop::air::mac_fidelity::bytes;
}

double
CpuSeconds()
{
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

/// CPU seconds by where they went. The air's shares are estimates from a sample, and so is what they leave.
perhop::run::cpu_times
CpuTimes(const perhop::air::air_counters& counters, double cpuSetUpS, double cpuRunS)
{
    const double scale = std::min(1.0, cpuRunS / std::max(counters.rtl_s + counters.medium_s, 1e-9));
    perhop::run::cpu_times cpu;
    cpu.total_s = cpuSetUpS + cpuRunS;
    cpu.rtl_s = counters.rtl_s * scale;
    cpu.medium_s = counters.medium_s * scale;
    cpu.transport_s = cpuRunS - cpu.rtl_s - cpu.medium_s;
    cpu.other_s = cpuSetUpS;
    return cpu;
}

/// ns-3's global simulator, ours for the time of one run.
class SimulatorLease
{
  public:
    explicit SimulatorLease(uint64_t seed)
    {
        // One time step is one tick of the air. The resolution can be set once in a process.
        if (Time::GetResolution() != Time::US)
        {
            Time::SetResolution(Time::US);
        }
        RngSeedManager::SetSeed(1);
        RngSeedManager::SetRun(seed);
        m_impl = CreateObject<AirSimulatorImpl>();
        Simulator::SetImplementation(m_impl);
    }

    ~SimulatorLease()
    {
        m_impl->SetTickSource(nullptr);
        Simulator::Destroy();
    }

    SimulatorLease(const SimulatorLease&) = delete;
    SimulatorLease& operator=(const SimulatorLease&) = delete;

    AirSimulatorImpl& Get()
    {
        return *m_impl;
    }

  private:
    Ptr<AirSimulatorImpl> m_impl;
};

std::unique_ptr<std::ofstream>
OpenOutput(const run_config& config, bool wanted, const char* name)
{
    if (!wanted)
    {
        return nullptr;
    }
    const std::filesystem::path path = config.outputs.directory / name;
    auto file = std::make_unique<std::ofstream>(path);
    if (!*file)
    {
        throw std::runtime_error("cannot write " + path.string() + ": check that its directory exists and is writable");
    }
    return file;
}

void
Finish(std::ofstream* file, const char* name)
{
    if (file != nullptr && !file->flush())
    {
        throw std::runtime_error(std::string("writing ") + name + " failed: is the disk full?");
    }
}

/// Nodes with IP, their devices and their routes.
class Network
{
  public:
    /// @param exactLog for nodes with EXACT; nullptr: none has it
    Network(const run_config& config, AirSimulatorImpl& simulator, perhop::run::run_report& report, ExactLog* exactLog)
    {
        const std::size_t count = config.node_count();
        if (count > MAX_NODES)
        {
            throw config_error("field nodes: " + std::to_string(count) + " nodes, but only " + std::to_string(MAX_NODES) +
                               " IPv4 addresses; use fewer nodes");
        }
        m_channel = CreateObject<AirChannel>(config.air, simulator, report);
        m_nodes.Create(count);
        for (uint32_t i = 0; i < count; ++i)
        {
            AddDevice(config, i, exactLog);
        }
        JoinByWires(config, m_devices, report);
        SetRoutes(config, m_devices);
        simulator.SetTickSource(PeekPointer(m_channel));
    }

    ~Network()
    {
        m_channel->Dispose();
    }

    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    Ptr<Node> GetNode(uint32_t i) const
    {
        return m_nodes.Get(i);
    }

    AirNetDevice& GetDevice(uint32_t i) const
    {
        return *m_devices[i];
    }

    AirChannel& GetChannel() const
    {
        return *m_channel;
    }

    /// Packets that nodes have marked as having met congestion.
    uint64_t CountMarks() const
    {
        uint64_t marks = 0;
        for (const Ptr<AirNetDevice>& device : m_devices)
        {
            marks += device->GetHop().GetShim().counters().congestion_marks;
        }
        return marks;
    }

    /// The routers' allocations, into the log.
    void LogExact(uint64_t nowUs) const
    {
        for (const Ptr<AirNetDevice>& device : m_devices)
        {
            if (device->GetExact() != nullptr)
            {
                device->GetExact()->Log(nowUs);
            }
        }
    }

  private:
    void AddDevice(const run_config& config, uint32_t i, ExactLog* exactLog)
    {
        Ptr<Node> node = m_nodes.Get(i);
        Ptr<HostRouting> routes = CreateObject<HostRouting>();
        routes->SetNode(i);
        Ptr<AirNetDevice> device = CreateObject<AirNetDevice>();
        device->SetAttribute("PurgeOnLinkFailure", BooleanValue(config.link_failure == perhop::run::link_failure_kind::purge));
        const std::vector<perhop::air::node_id>& silent = config.exact.silent_routers;
        if (exactLog == nullptr)
        {
            device->Attach(m_channel, i, routes);
        }
        else if (std::find(silent.begin(), silent.end(), i) != silent.end())
        {
            device->Attach(m_channel, i, routes);
            device->SetSilent();
        }
        else
        {
            device->Attach(m_channel, i, routes, ExactNode::RouterConfig(config, i));
            const perhop::hop::exact_ends_config ends{.sender = {.max_rate_bps = config.air.mac.fastest_rate_from_bps(i)}};
            device->SetExact(std::make_unique<ExactNode>(i, device->GetHop(), ends, *exactLog));
        }
        if (config.swan)
        {
            device->GetHop().SlowBestEffort(*config.swan);
        }
        node->AddDevice(device);
        m_channel->Add(device);
        m_devices.push_back(device);

        Ptr<Ipv4L3Protocol> ip = InstallIp(node);
        const uint32_t interface = ip->AddInterface(device);
        ip->AddAddress(interface, Ipv4InterfaceAddress(NodeIpv4Address(i), Ipv4Mask("255.0.0.0")));
        ip->SetUp(interface);
        // AODV tells by it how far a packet has come.
        const bool aodv = config.routing == perhop::run::routing_kind::aodv;
        ip->SetDefaultTtl(aodv ? perhop::routing::aodv_config{}.network_diameter : TIME_TO_LIVE);
        ip->SetRoutingProtocol(routes);
        if (!WantsBytes(config))
        {
            device->ShortenWayOfTcp(ip);
        }
    }

    Ptr<AirChannel> m_channel;
    NodeContainer m_nodes;
    std::vector<Ptr<AirNetDevice>> m_devices;
};

std::unique_ptr<Flow>
MakeExactFlow(const run_config& config, std::size_t index, const Network& network, ExactLog& log)
{
    const perhop::run::flow_config& flow = config.flows[index];
    for (const uint32_t end : {flow.src, flow.dst})
    {
        if (network.GetDevice(end).GetExact() == nullptr)
        {
            throw config_error("field exact.silent_routers: node " + std::to_string(end) + " is an end of flows[" + std::to_string(index) +
                               "]; leave it out");
        }
    }
    const auto measureFromUs = static_cast<uint64_t>(Seconds(config.warmup_s).GetMicroSeconds());
    const auto endUs = static_cast<uint64_t>(Seconds(config.duration_s).GetMicroSeconds());
    ExactNode& sender = *network.GetDevice(flow.src).GetExact();
    auto made =
        std::make_unique<ExactFlow>(flow, index, network.GetNode(flow.src), network.GetNode(flow.dst), measureFromUs, endUs, sender, log);
    for (uint32_t i = 0; i < config.air.nodes.size(); ++i)
    {
        if (ExactNode* node = network.GetDevice(i).GetExact())
        {
            node->AddFlow(*made);
        }
    }
    return made;
}

std::unique_ptr<Flow>
MakeFlow(const run_config& config, std::size_t index, const Network& network, const FlowLogs& logs)
{
    const perhop::run::flow_config& flow = config.flows[index];
    const auto measureFromUs = static_cast<uint64_t>(Seconds(config.warmup_s).GetMicroSeconds());
    const auto endUs = static_cast<uint64_t>(Seconds(config.duration_s).GetMicroSeconds());
    Ptr<Node> source = network.GetNode(flow.src);
    Ptr<Node> sink = network.GetNode(flow.dst);
    switch (flow.kind)
    {
    case perhop::run::flow_kind::tcp:
        return std::make_unique<TcpFlow>(flow, index, source, sink, measureFromUs);
    case perhop::run::flow_kind::cbr:
        return std::make_unique<CbrFlow>(flow, index, source, sink, measureFromUs, endUs);
    case perhop::run::flow_kind::exact:
        return MakeExactFlow(config, index, network, *logs.exact);
    case perhop::run::flow_kind::tfrc:
        return std::make_unique<TfrcFlow>(flow, index, source, sink, measureFromUs, endUs, *logs.tfrc);
    case perhop::run::flow_kind::mac_saturated:
    case perhop::run::flow_kind::mac_poisson:
        break;
    }
    throw config_error("field flows[" + std::to_string(index) +
                       "].kind: traffic of the MAC alone is perhop-air's; run this file with perhop-air, or use kind tcp");
}

/// Nodes between the ends know of a flow only what they do to its packets.
void
MarkOnTheWay(const run_config& config, std::size_t index, const Network& network, const TcpFlow& flow)
{
    for (uint32_t i = 0; i < config.node_count(); ++i)
    {
        if (i != config.flows[index].src && i != config.flows[index].dst)
        {
            network.GetDevice(i).GetHop().AddForwardedFlow(flow);
        }
    }
}

Flows
StartFlows(const run_config& config, const Network& network, const FlowLogs& logs)
{
    if (config.flows.size() > Flow::MAX_FLOWS)
    {
        throw config_error("field flows: " + std::to_string(config.flows.size()) + " flows, but only " + std::to_string(Flow::MAX_FLOWS) +
                           " have ports of their own; use fewer flows");
    }
    Flows flows;
    for (std::size_t i = 0; i < config.flows.size(); ++i)
    {
        const perhop::run::flow_config& flow = config.flows[i];
        flows.push_back(MakeFlow(config, i, network, logs));
        flows.back()->Attach(network.GetDevice(flow.src).GetHop(), network.GetDevice(flow.dst).GetHop());
        flows.back()->Start();
        if (flow.kind == perhop::run::flow_kind::tcp && (flow.policy.marks() || flow.policy.brakes()))
        {
            MarkOnTheWay(config, i, network, static_cast<const TcpFlow&>(*flows.back()));
        }
    }
    return flows;
}

/// intervals.csv, one row a flow and interval.
class IntervalWriter
{
  public:
    IntervalWriter(std::ostream& csv, Flows& flows, Time interval, const Network& network)
        : m_csv(csv),
          m_flows(flows),
          m_network(network),
          m_interval(interval)
    {
        m_csv << "flow," << FlowInterval::HEADER << '\n';
        Simulator::Schedule(m_interval, &IntervalWriter::Tick, this);
    }

    void WriteRows(uint64_t nowUs)
    {
        if (nowUs == m_writtenUs)
        {
            return; // the run ends with an interval
        }
        m_writtenUs = nowUs;
        for (std::size_t i = 0; i < m_flows.size(); ++i)
        {
            m_csv << i << ',';
            m_flows[i]->TakeInterval(nowUs).Write(m_csv);
            m_csv << '\n';
        }
        m_network.LogExact(nowUs);
    }

  private:
    void Tick()
    {
        WriteRows(static_cast<uint64_t>(Simulator::Now().GetMicroSeconds()));
        Simulator::Schedule(m_interval, &IntervalWriter::Tick, this);
    }

    std::ostream& m_csv;
    Flows& m_flows;
    const Network& m_network;
    Time m_interval;
    uint64_t m_writtenUs = 0;
};

} // namespace

ScenarioResult
RunScenario(const run_config& config, const std::function<bool(double)>& poll, const std::function<void(ScenarioSteps&)>& drive)
{
    if (!config.programs.empty())
    {
        throw config_error("field programs: programs need Linux kernels; run this file with perhop-kernel, or leave them out");
    }
    const double cpuAtStartS = CpuSeconds();
    const auto traceLines = OpenOutput(config, config.outputs.trace, "trace.txt");
    const auto completions = OpenOutput(config, config.outputs.completions, "completions.csv");
    const auto intervals = OpenOutput(config, true, "intervals.csv");
    perhop::run::run_report report(config, traceLines.get(), completions.get());

    ScenarioResult result;
    {
        // What has bytes has real checksums; otherwise nobody looks at them and they would cost a pass over every byte.
        GlobalValue::Bind("ChecksumEnabled", BooleanValue(WantsBytes(config)));
        SimulatorLease simulator(config.seed);
        const FlowLogs logs(config);
        Network network(config, simulator.Get(), report, logs.exact.get());
        if (config.outputs.pcapng)
        {
            network.GetChannel().CaptureTo(config.outputs.directory / "packets.pcapng", config.outputs.pcapng_nodes);
        }
        ScheduleEvents(config.events, network.GetChannel());
        const Time warmup = Seconds(config.warmup_s);
        auto flows = StartFlows(config, network, logs);
        network.GetChannel().SetLossCallback(
            [&flows](const perhop::shim::ip_packet_view& packet, FlowLoss loss)
            {
                const std::size_t index = Flow::IndexOf(packet.flow);
                if (index >= flows.size())
                {
                    return;
                }
                const perhop::shim::flow_key& key = flows[index]->GetKey();
                if (key == packet.flow || key == packet.flow.reversed())
                {
                    flows[index]->OnPacketLost(packet, loss);
                }
            });
        Simulator::Schedule(warmup,
                            [&flows]
                            {
                                for (const auto& flow : flows)
                                {
                                    flow->StartMeasuring(static_cast<uint64_t>(Simulator::Now().GetMicroSeconds()));
                                }
                            });
        IntervalWriter writer(*intervals, flows, Seconds(config.outputs.interval_s), network);
        QueueLog queues(config,
                        config.node_count(),
                        [&network](uint32_t node)
                        {
                            return network.GetDevice(node).GetHop().GetPath().queue().size();
                        });
        const auto goOn = [&]
        {
            result.interrupted = !poll(static_cast<double>(simulator.Get().NowTick()) / 1e6);
            return !result.interrupted;
        };
        simulator.Get().SetPoll(goOn);
        Simulator::Stop(Seconds(config.duration_s));

        const double cpuAtRunS = CpuSeconds();
        if (goOn() && drive)
        {
            RunningScenario steps(config, simulator.Get(), network.GetChannel(), flows, result.interrupted);
            drive(steps);
            result.interrupted = result.interrupted || steps.GetNowUs() < steps.GetEndUs();
        }
        else if (!result.interrupted)
        {
            Simulator::Run();
        }
        const double cpuRunS = CpuSeconds() - cpuAtRunS;

        const uint64_t endUs = simulator.Get().NowTick();
        writer.WriteRows(endUs);
        queues.Finish();
        network.GetChannel().FinishCapture();
        std::vector<perhop::run::flow_result> flowResults;
        for (const auto& flow : flows)
        {
            flowResults.push_back(flow->GetResult(endUs));
            result.maxPacketsInFlight.push_back(flow->GetMaxPacketsInFlight());
        }
        const perhop::air::air_counters& counters = network.GetChannel().GetCounters();
        const perhop::run::cpu_times cpu = CpuTimes(counters, cpuAtRunS - cpuAtStartS, cpuRunS);
        result.json = report.result(endUs, counters, cpu, flowResults, result.interrupted);
        if (const uint64_t marks = network.CountMarks(); marks != 0)
        {
            result.json["congestion_marks"] = marks;
        }
        logs.Finish();
    }
    Finish(traceLines.get(), "trace.txt");
    Finish(completions.get(), "completions.csv");
    Finish(intervals.get(), "intervals.csv");
    return result;
}

} // namespace ns3
