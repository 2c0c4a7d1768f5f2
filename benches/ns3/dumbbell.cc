// The benchmark's dumbbell in ns-3, as one JSON line on standard output.
//
//   dumbbell FLOWS RATE_BPS DURATION_S QUEUE_PACKETS CC ACK_EVERY
//
// CC is reno (TcpNewReno) or cubic (TcpCubic), both with SACK and PRR, as by default.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

// 20 bytes of IP, 20 of TCP and 12 of timestamps: 1,500 bytes of IP packet.
constexpr uint32_t SEGMENT_BYTES = 1448;
// Above any window that the dumbbells below can use, so that congestion alone limits a flow.
constexpr uint32_t BUFFER_BYTES = 4 << 20;
// Loss is for the bottleneck alone.
const std::string UNLIMITED = "1000000p";
// A router's cost per packet grows with its interfaces.
constexpr uint32_t MOST_HOSTS = 10;

struct Arguments
{
    uint32_t flows;
    uint64_t rate_bps;
    double duration_s;
    uint32_t queue_packets;
    std::string cc;
    uint32_t ack_every;
};

Arguments
Parse(int argc, char* argv[])
{
    if (argc != 7)
    {
        std::cerr << "usage: dumbbell FLOWS RATE_BPS DURATION_S QUEUE_PACKETS CC ACK_EVERY\n";
        std::exit(2);
    }
    return {static_cast<uint32_t>(std::stoul(argv[1])),
            std::stoull(argv[2]),
            std::stod(argv[3]),
            static_cast<uint32_t>(std::stoul(argv[4])),
            argv[5],
            static_cast<uint32_t>(std::stoul(argv[6]))};
}

void
SetTcpDefaults(const Arguments& arguments)
{
    const std::map<std::string, std::string> types{{"reno", "ns3::TcpNewReno"},
                                                   {"cubic", "ns3::TcpCubic"}};
    const auto type = types.find(arguments.cc);
    if (type == types.end())
    {
        std::cerr << "unknown congestion control " << arguments.cc << ": reno or cubic\n";
        std::exit(2);
    }
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName(type->second)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT_BYTES));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(BUFFER_BYTES));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(BUFFER_BYTES));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(arguments.ack_every));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
}

// A helper whose devices drop at their own limit. With flow control (the default) a queue disc
// is installed above the device and stops one packet before the device is full.
PointToPointHelper
Link(const std::string& rate, const std::string& delay, const std::string& limit)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", StringValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(limit));
    link.DisableFlowControl();
    return link;
}

} // namespace

int
main(int argc, char* argv[])
{
    const Arguments arguments = Parse(argc, argv);
    SetTcpDefaults(arguments);

    NodeContainer routers;
    routers.Create(2);
    const uint32_t hosts = std::min(arguments.flows, MOST_HOSTS);
    NodeContainer sources;
    NodeContainer drains;
    sources.Create(hosts);
    drains.Create(hosts);
    InternetStackHelper stack;
    stack.Install(NodeContainer(routers, sources, drains));

    PointToPointHelper bottleneck = Link(std::to_string(arguments.rate_bps) + "bps",
                                         "20ms",
                                         std::to_string(arguments.queue_packets) + "p");
    PointToPointHelper access = Link("1Gbps", "1ms", UNLIMITED);

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    const NetDeviceContainer middle = bottleneck.Install(routers);
    addresses.Assign(middle);
    std::vector<Ipv4Address> drain_addresses;
    for (uint32_t i = 0; i < hosts; ++i)
    {
        addresses.NewNetwork();
        addresses.Assign(access.Install(sources.Get(i), routers.Get(0)));
        addresses.NewNetwork();
        const auto drain = addresses.Assign(access.Install(drains.Get(i), routers.Get(1)));
        drain_addresses.push_back(drain.GetAddress(0));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < arguments.flows; ++i)
    {
        const uint32_t host = i % hosts;
        const uint16_t port = static_cast<uint16_t>(5000 + i);
        PacketSinkHelper receiver("ns3::TcpSocketFactory",
                                  InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.push_back(DynamicCast<PacketSink>(receiver.Install(drains.Get(host)).Get(0)));
        BulkSendHelper sender("ns3::TcpSocketFactory",
                              InetSocketAddress(drain_addresses[host], port));
        sender.SetAttribute("SendSize", UintegerValue(SEGMENT_BYTES));
        sender.Install(sources.Get(host)).Start(Seconds(0.1 * i / arguments.flows));
    }

    Simulator::Stop(Seconds(arguments.duration_s));
    Simulator::Run();

    uint64_t delivered = 0;
    for (const auto& sink : sinks)
    {
        delivered += sink->GetTotalRx() / SEGMENT_BYTES;
    }
    const auto queue = DynamicCast<PointToPointNetDevice>(middle.Get(0))->GetQueue();
    // Beside data these are a SYN and an ACK per flow.
    const uint64_t offered = queue->GetTotalReceivedPackets() + queue->GetTotalDroppedPackets();
    std::cout << "{\"data_packets\": " << delivered
              << ", \"data_packets_sent\": " << offered - 2 * arguments.flows
              << ", \"dropped\": " << queue->GetTotalDroppedPackets()
              << ", \"events\": " << Simulator::GetEventCount() << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
