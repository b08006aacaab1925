// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/on-demand-routing.h"

#include "sim/ns3/node-address.h"

#include "ns3/arp-cache.h"
#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-l3-protocol.h"

#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace ns3
{

const OnDemandRouting&
Aodv()
{
    static const OnDemandRouting& loaded = []() -> const OnDemandRouting&
    {
        void* module = dlopen(PERHOP_AODV_MODULE, RTLD_NOW | RTLD_GLOBAL);
        void* entry = module == nullptr ? nullptr : dlsym(module, "PerhopAodv");
        if (entry == nullptr)
        {
            throw std::runtime_error(std::string("cannot load AODV: ") + dlerror() + "; run `make build` again");
        }
        return *reinterpret_cast<const OnDemandRouting* (*)()>(entry)();
    }();
    return loaded;
}

void
ResolveAllNodes(Ptr<Ipv4> ip, uint32_t interface, uint32_t nodes)
{
    Ptr<ArpCache> cache = DynamicCast<Ipv4L3Protocol>(ip)->GetInterface(interface)->GetArpCache();
    for (uint32_t node = 0; node < nodes; ++node)
    {
        ArpCache::Entry* entry = cache->Add(NodeIpv4Address(node));
        entry->SetMacAddress(ToMac48Address(perhop::air::mac_address(node)));
        entry->MarkPermanent();
    }
}

} // namespace ns3
